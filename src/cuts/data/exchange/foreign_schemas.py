"""Schemas of other tools as schemas of ours: SDV metadata and pandera schemas.

They say less than a schema needs: SDV knows no ranges and no categories. What is missing is read from rows, and then
the schema counts as inferred, which a private program refuses.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, assert_never

import pyarrow as pa

from cuts.data.columns import Category, Column, Identifier, Integer, Real, Temporal
from cuts.data.conform import check_table
from cuts.data.exchange.foreign_columns import (
    ForeignColumn,
    ForeignSchema,
    from_pandera,
    from_sdv,
    is_pandera,
    pandera_data,
    sdv_tables,
)
from cuts.data.exchange.tables import from_frame
from cuts.data.infer import infer_schema
from cuts.data.schema import Schema
from cuts.data.table import Table
from cuts.data.temporal import parse_moment
from cuts.text.diagnostic import CutsError, Diagnostic, listed, usage_error
from cuts.text.files import read_text

_NEEDS_ROWS = "give rows to read them from: `table=FRAME` in Python, `--table FILE` on the command line"
_LEAVE_OUT = "`partial=True` in Python, `--partial` on the command line, leaves out what a schema cannot say"


def schema_from(
    source: Any,
    *,
    table: Any = None,
    name: str | None = None,
    label: str | None = None,
    protected: Sequence[str] = (),
    partial: bool = False,
) -> Schema:
    """The schema that another tool's description of a table means.

    `source` is SDV metadata (the object, its dictionary, or the path of its JSON file) or a pandera schema (the object,
    a model class, or the path of its JSON file). Ranges and categories that it does not state are read from the rows of
    `table`, a frame or a table. `name` is the table of metadata with several. Raises `CutsError` with everything that
    has no counterpart in a schema; with `partial` that is left out.

    >>> import pyarrow as pa
    >>> metadata = {"columns": {"age": {"sdtype": "numerical"}, "sex": {"sdtype": "categorical"}}}
    >>> schema = schema_from(metadata, table=pa.table({"age": [30, 40], "sex": ["f", "m"]}), name="people")
    >>> schema, schema["age"].range
    (<Schema people: 2 columns, inferred>, Interval(low=30.0, high=40.0))
    """
    foreign = _read(source, name)
    problems = [] if partial else [_problem(what, _LEAVE_OUT) for what in _unmapped(foreign)]
    if not foreign.columns:
        raise CutsError([*problems, _problem("it has no columns", "describe at least one column")])
    rows = None if table is None else from_frame(table)
    inferred = _inferred(foreign, rows, problems)
    columns, is_declared = [], True
    for column in foreign.columns:
        known = None if inferred is None or column.name not in inferred else inferred[column.name]
        made = _column(column, known)
        if isinstance(made, Diagnostic):
            problems.append(made)
        else:
            columns.append(made)
            is_declared = is_declared and _is_stated(column)
    names = {column.name for column in foreign.columns}
    roles = [*protected, *([] if label is None else [label])]
    problems += [
        _problem(f"there is no column `{role}`", f"choose from {listed(sorted(names))}")
        for role in roles
        if role not in names
    ]
    if problems:
        raise CutsError(problems)
    schema = Schema(
        foreign.name or name or "table",
        tuple(columns),
        label,
        tuple(protected),
        "declared" if is_declared else "inferred",
        dropped=() if rows is None else tuple(column for column in rows.names if column not in names),
    )
    differences = () if rows is None else check_table(rows, schema)
    if any(problem.severity == "error" for problem in differences):
        raise CutsError(differences)
    return schema


# --- reading


def _read(source: Any, name: str | None) -> ForeignSchema:
    if isinstance(source, str | Path):
        path = Path(source)
        if path.suffix.lower() in (".yaml", ".yml"):
            help = "pandera writes JSON too: `schema.to_json(FILE)`"
            raise usage_error("unknown-format", f"{path} is YAML, which is not read", help)
        return _from_data(_parsed(path), name, path.stem)
    if is_pandera(source):
        return _from_data(pandera_data(source), name, None)
    if not isinstance(source, Mapping) and hasattr(source, "to_dict"):
        source = source.to_dict()  # metadata of SDV
    if isinstance(source, Mapping):
        return _from_data(source, name, None)
    raise TypeError(f"{type(source).__name__} is no description of a table: give SDV metadata or a pandera schema")


def _parsed(path: Path) -> Any:
    try:
        return json.loads(read_text(path, "schema"))
    except (ValueError, RecursionError) as error:
        raise usage_error("unreadable-schema", f"{path} is not JSON: {str(error)[:200]}") from None


def _from_data(data: Any, name: str | None, fallback: str | None) -> ForeignSchema:
    if not isinstance(data, Mapping) or not (isinstance(data.get("columns"), Mapping) or "tables" in data):
        help = "`metadata.save_to_json(FILE)` of SDV and `schema.to_json(FILE)` of pandera write such files"
        raise CutsError([_problem("these are neither SDV metadata nor a pandera schema", help)])
    if data.get("schema_type") == "dataframe":
        found = from_pandera(data)
        return replace(found, name=name or found.name or fallback)
    tables = sdv_tables(data)
    if None in tables:
        return from_sdv(name or fallback, data)
    if name is None and len(tables) > 1:
        help = "choose one: `name=NAME` in Python, `--name NAME` on the command line"
        raise CutsError([_problem(f"the metadata describe {listed([str(key) for key in tables])}", help)])
    chosen = next(iter(tables)) if name is None else name
    if chosen not in tables:
        known = listed([str(key) for key in tables])
        raise CutsError([_problem(f"the metadata have no table `{chosen}`", f"choose from {known}")])
    return from_sdv(chosen, tables[chosen])


def _unmapped(foreign: ForeignSchema) -> list[str]:
    columns = [f"column `{column.name}`: {what}" for column in foreign.columns for what in column.unmapped]
    return [*foreign.unmapped, *columns]


# --- what the rows add


def _inferred(foreign: ForeignSchema, rows: Table | None, problems: list[Diagnostic]) -> Schema | None:
    """What the rows say of the declared columns."""
    if rows is None:
        return None
    declared = {column.name: column for column in foreign.columns}
    absent = [name for name in declared if name not in rows.names]
    problems += [_problem(f"the rows have no column `{name}`", f"they have {listed(rows.names)}") for name in absent]
    present = [name for name in rows.names if name in declared]
    if not present:
        return None
    arrow = rows.arrow.select(present)
    for position, name in enumerate(present):
        if declared[name].kind == "category" and pa.types.is_integer(arrow.field(position).type):
            arrow = arrow.set_column(position, name, arrow.column(position).cast(pa.string()))
    kept = [name for name in present if declared[name].kind != "id" and not _may_be_numbers(declared[name], arrow)]
    ids = [name for name in present if declared[name].kind == "id"]
    try:
        return infer_schema(Table(arrow), foreign.name or "table", ids=ids, keep=kept)
    except CutsError as error:
        problems += error.diagnostics
        return None


def _may_be_numbers(column: ForeignColumn, arrow: pa.Table) -> bool:
    """Whether the cells are texts that should be read as numbers."""
    kind = arrow.schema.field(column.name).type
    is_text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
    return is_text and column.kind in ("integer", "real", "number", "any")


def _is_stated(column: ForeignColumn) -> bool:
    """Whether the description alone says all that a schema needs."""
    if column.kind in ("id", "boolean"):
        return True
    if column.kind == "category":
        return column.categories is not None
    return column.low is not None and column.high is not None


# --- columns


def _column(column: ForeignColumn, known: Column | None) -> Column | Diagnostic:
    missing = column.missing if column.missing is not None else known is not None and known.missing
    try:
        match column.kind:
            case "id":
                if column.regex is None and isinstance(known, Identifier):
                    return replace(known, missing=missing)
                return Identifier(column.name, missing=missing, regex=column.regex)
            case "boolean":
                stated = known if isinstance(known, Category) else Category(column.name, ("false", "true"))
                return replace(stated, missing=missing)
            case "category":
                return _category(column, known, missing)
            case "integer" | "real" | "number":
                return _number(column, known, missing)
            case "moment":
                return _moment(column, known, missing)
            case "any":
                return _lacks(column, "its type is") if known is None else known
            case _:
                assert_never(column.kind)
    except ValueError as error:
        return _problem(f"column `{column.name}`: {error}", _LEAVE_OUT)


def _category(column: ForeignColumn, known: Column | None, missing: bool) -> Column | Diagnostic:
    if column.categories is not None:
        return Category(column.name, column.categories, ordered=column.ordered, missing=missing)
    if known is None:
        return _lacks(column, "its categories are")
    return replace(known, missing=missing) if isinstance(known, Category) else _differs(column, known)


def _number(column: ForeignColumn, known: Column | None, missing: bool) -> Column | Diagnostic:
    limits = (column.low, column.high)
    if known is None:
        if None in limits:
            return _lacks(column, "its range is")
        if column.kind == "integer":
            return Integer(column.name, int(column.low), int(column.high), missing=missing)
        return Real(column.name, float(column.low), float(column.high), missing=missing)
    if not isinstance(known, Integer | Real):
        return _differs(column, known)
    low = known.low if column.low is None else column.low
    high = known.high if column.high is None else column.high
    if isinstance(known, Integer) and column.kind != "real" and int(low) == low and int(high) == high:
        return replace(known, low=int(low), high=int(high), missing=missing)
    texts = {"texts": known.texts, "format": known.format}
    decimals = known.decimals if isinstance(known, Real) else None
    return Real(column.name, float(low), float(high), missing=missing, decimals=decimals, **texts)  # type: ignore[arg-type]


def _moment(column: ForeignColumn, known: Column | None, missing: bool) -> Column | Diagnostic:
    if known is None:
        if column.low is None or column.high is None:
            return _lacks(column, "its range is")
        low, high = (parse_moment("timestamp", str(limit)) for limit in (column.low, column.high))
        if low is None or high is None:
            return _problem(f"column `{column.name}`: its range is not one of dates", _NEEDS_ROWS)
        return Temporal(column.name, "timestamp", low, high, missing=missing)
    if not isinstance(known, Temporal):
        help = "write them as 2020-01-31 or 2020-01-31T12:00:00, or read them with pandas first"
        return _problem(f"column `{column.name}`: its cells are not read as dates or times", help)
    low, high = known.low, known.high
    if column.low is not None:
        low = min(low, _limit(known, column.low, low))
    if column.high is not None:
        high = max(high, _limit(known, column.high, high))
    return replace(known, low=low, high=high, missing=missing)


def _limit(known: Temporal, limit: Any, otherwise: float) -> float:
    text = str(limit)
    found = parse_moment(known.kind, text[:10] if known.kind == "date" else text)
    return otherwise if found is None else found


def _lacks(column: ForeignColumn, what: str) -> Diagnostic:
    return _problem(f"column `{column.name}`: {what} not stated", _NEEDS_ROWS)


def _differs(column: ForeignColumn, known: Column) -> Diagnostic:
    found = type(known).__name__.lower()
    return _problem(
        f"column `{column.name}`: declared `{column.kind}`, but the rows have `{found}`", "correct one of them"
    )


def _problem(title: str, help: str) -> Diagnostic:
    return Diagnostic("bad-schema", title, help=help)
