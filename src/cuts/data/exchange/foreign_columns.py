"""Columns as other tools declare them: SDV metadata and pandera schemas, read into one form.

`foreign_schemas.py` makes a `Schema` of them. Neither tool is imported: SDV metadata are JSON values, and of a pandera
schema only attributes are read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite
from typing import Any, Literal

ForeignKind = Literal["integer", "real", "number", "category", "boolean", "moment", "id", "any"]


@dataclass(frozen=True, slots=True)
class ForeignColumn:
    """What another tool says of a column; None where it says nothing. `unmapped` has no counterpart in a schema."""

    name: str
    kind: ForeignKind
    low: Any = None
    high: Any = None
    categories: tuple[str, ...] | None = None
    ordered: bool = False
    missing: bool | None = None
    regex: str | None = None
    unmapped: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ForeignSchema:
    """A table as another tool declares it."""

    tool: str
    name: str | None
    columns: tuple[ForeignColumn, ...]
    unmapped: tuple[str, ...] = ()


# --- SDV

_SDV_KINDS: dict[str, ForeignKind] = {
    "numerical": "number",
    "categorical": "category",
    "boolean": "boolean",
    "datetime": "moment",
    "id": "id",
}


def sdv_tables(data: Mapping[str, Any]) -> dict[str | None, Mapping[str, Any]]:
    """The tables of SDV metadata by name; metadata of a single table have none."""
    tables = data.get("tables")
    return {str(name): table for name, table in tables.items()} if isinstance(tables, Mapping) else {None: data}


def from_sdv(name: str | None, table: Mapping[str, Any]) -> ForeignSchema:
    """The columns of a table in SDV metadata.

    >>> from_sdv("people", {"columns": {"age": {"sdtype": "numerical"}}}).columns[0].kind
    'number'
    """
    keys = {*_names(table.get("primary_key")), *_names(table.get("alternate_keys"))}
    columns = tuple(_sdv_column(str(column), fields, keys) for column, fields in table.get("columns", {}).items())
    sequence = table.get("sequence_key")
    unmapped = () if sequence is None else (f"`sequence_key` is {sequence!r}: rows are modelled one by one",)
    return ForeignSchema("SDV", name, columns, unmapped)


def _names(keys: Any) -> Iterator[str]:
    """The columns of a key: one name, or lists of them."""
    if isinstance(keys, str):
        yield keys
    elif isinstance(keys, Sequence):
        for key in keys:
            yield from _names(key)


def _sdv_column(name: str, fields: Any, keys: set[str]) -> ForeignColumn:
    stated = fields if isinstance(fields, Mapping) else {}
    sdtype = str(stated.get("sdtype"))
    kind = _SDV_KINDS.get(sdtype)
    if kind is None:  # what SDV calls a concept, such as an email address: personal unless it is said not to be
        kind = "id" if stated.get("pii", True) else "category"
    if kind == "number":
        shape = str(stated.get("computer_representation", "")).lower()
        kind = "real" if "float" in shape else "integer" if "int" in shape else "number"
    regex = stated.get("regex_format")
    unmapped = () if "sdtype" in stated else ("it has no `sdtype`",)
    return ForeignColumn(name, "id" if name in keys else kind, regex=regex, unmapped=unmapped)


# --- pandera

_LOW = {"greater_than_or_equal_to": 0, "greater_than": 1}
_HIGH = {"less_than_or_equal_to": 0, "less_than": -1}
_STATED = {"title", "description", "dtype", "nullable", "unique", "coerce", "required", "regex", "checks", "metadata"}
_IGNORED = {"report_duplicates", "drop_invalid_rows", "default", "parsers"}


def is_pandera(source: object) -> bool:
    """Whether an object is a pandera schema or model; pandera is there if it is."""
    family = source if isinstance(source, type) else type(source)
    return any(base.__module__.partition(".")[0] == "pandera" for base in family.__mro__)


def pandera_data(source: Any) -> dict[str, Any]:
    """A pandera schema, or a model of one, as the values that its own JSON files hold."""
    schema = source.to_schema() if hasattr(source, "to_schema") else source
    columns = {str(name): _pandera_fields(column) for name, column in schema.columns.items()}
    checks = [str(check.name or check) for check in schema.checks or ()]
    return {"schema_type": "dataframe", "name": schema.name, "columns": columns, "checks": checks}


def _pandera_fields(column: Any) -> dict[str, Any]:
    categories = getattr(column.dtype, "categories", None)
    fields: dict[str, Any] = {
        "dtype": None if column.dtype is None else str(column.dtype),
        "nullable": column.nullable,
        "unique": column.unique,
        "regex": column.regex,
    }
    if categories is not None:
        fields |= {"categories": list(categories), "ordered": bool(getattr(column.dtype, "ordered", False))}
    for check in column.checks or ():
        values = dict(check.statistics or {})
        values = values if check.name == "in_range" or not values else next(iter(values.values()))
        fields[str(check.name or check)] = values
    return fields


def from_pandera(data: Mapping[str, Any]) -> ForeignSchema:
    """The columns of a pandera schema in the values of its JSON files.

    >>> from_pandera({"columns": {"age": {"dtype": "int64", "greater_than": 17}}}).columns[0].low
    18
    """
    columns = tuple(_pandera_column(str(name), fields or {}) for name, fields in data["columns"].items())
    checks = data.get("checks") or ()
    unmapped = tuple(
        f"the check `{check}` of the whole frame: write it as a command of the program" for check in checks
    )
    return ForeignSchema("pandera", data.get("name"), columns, unmapped)


def _pandera_column(name: str, fields: Mapping[str, Any]) -> ForeignColumn:
    unique, nullable = bool(fields.get("unique")), bool(fields.get("nullable"))
    column = ForeignColumn(name, _pandera_kind(fields.get("dtype"), unique), missing=nullable)
    if fields.get("categories"):
        ordered = bool(fields.get("ordered"))
        column = replace(column, kind="category", categories=tuple(map(str, fields["categories"])), ordered=ordered)
    unmapped = ["its name is a regular expression"] if fields.get("regex") else []
    for check, value in fields.items():
        if check in _STATED | _IGNORED | {"categories", "ordered"}:
            continue
        narrowed = _narrowed(column, check, value)
        if narrowed is None:
            unmapped.append(f"the check `{check}`: write it as a command of the program")
        else:
            column = narrowed
    return replace(column, unmapped=tuple(unmapped))


def _pandera_kind(dtype: Any, unique: bool) -> ForeignKind:
    text = str(dtype or "").lower()
    if text.startswith(("int", "uint")):
        return "id" if unique else "integer"
    if text.startswith(("float", "decimal")):
        return "real"
    if text.startswith("bool"):
        return "boolean"
    if text.startswith(("date", "timestamp", "time", "duration")):
        return "moment"
    if text.startswith(("str", "object", "category", "categorical", "enum", "large_string", "utf8")):
        return "id" if unique else "category"
    return "any"


def _narrowed(column: ForeignColumn, check: str, value: Any) -> ForeignColumn | None:
    """The column under a check too; None if the check has no counterpart in a schema."""
    if isinstance(value, Mapping) and "options" in value and "value" in value:
        value = value["value"]
    whole = column.kind == "integer"
    if check == "in_range" and isinstance(value, Mapping):
        low, high = value["min_value"], value["max_value"]
        low = _moved(low, 1 if whole and not value.get("include_min", True) else 0)
        return replace(column, low=low, high=_moved(high, -1 if whole and not value.get("include_max", True) else 0))
    if check in _LOW:
        return replace(column, low=_moved(value, _LOW[check] if whole else 0))
    if check in _HIGH:
        return replace(column, high=_moved(value, _HIGH[check] if whole else 0))
    if check in ("isin", "equal_to"):
        allowed = value if check == "isin" else [value]
        return replace(column, kind="category", categories=tuple(_text(each) for each in allowed))
    if check == "str_matches" and column.kind == "id":
        return replace(column, regex=str(value))
    return None


def _moved(limit: Any, step: int) -> Any:
    return limit + step if step and isinstance(limit, int | float) and isfinite(limit) else limit


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
