"""Schemas in files: TOML for people, JSON for machines, with the same meaning."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import tomli_w

from cuts.data.columns import Binning, Numeric, is_written_as_text
from cuts.data.computed import Formula, parse_formula, with_units
from cuts.data.exchange.text_format import pattern_of
from cuts.data.identifiers import counts_up
from cuts.data.number_texts import format_of
from cuts.data.schema import (
    MAX_CATEGORIES,
    MIN_COUNT,
    Category,
    Column,
    Empty,
    Identifier,
    Integer,
    Real,
    Schema,
    Temporal,
    as_data,
)
from cuts.data.temporal import parse_moment
from cuts.text.diagnostic import CutsError, Diagnostic, did_you_mean, listed, usage_error
from cuts.text.files import read_text

_TOP_KEYS = ("name", "label", "protected", "drop", "max_categories", "min_count", "provenance", "columns")
_MOMENT_KINDS = ("date", "time", "timestamp", "duration")
_KINDS = ("category", "integer", "real", *_MOMENT_KINDS, "id", "empty")
_NUMERIC_KEYS = ("kind", "range", "bins", "binning", "missing", "derived_from", "formula")
_RANGES = {
    "date": '["2020-01-31", "2026-12-31"]',
    "timestamp": '["2020-01-31T00:00:00", "2026-12-31T23:59:59"]',
    "time": '["08:00:00", "18:00:00"]',
    "duration": '["0 s", "30 days"]',
}
_TEXT_KEYS = ("texts", "format")
_FORMULA_HELP = (
    "a formula can use numbers, dates and times that are neither derived nor computed themselves\n"
    "and have no `texts` and no `format`"
)
_KEYS = {
    "category": ("kind", "categories", "ordered", "missing", "derived_from"),
    "integer": (*_NUMERIC_KEYS, *_TEXT_KEYS),
    "real": (*_NUMERIC_KEYS, *_TEXT_KEYS, "decimals"),
    **dict.fromkeys(_MOMENT_KINDS, (*_NUMERIC_KEYS, "decimals", "zone")),
    "id": ("kind", "pattern", "regex", "start", "missing"),
    "empty": ("kind",),
}


def read_schema(path: Path | str) -> Schema:
    """The schema of a `.toml` or `.json` file; raises `CutsError` with every problem."""
    path = Path(path)
    text = read_text(path, "schema")
    try:
        data = json.loads(text) if path.suffix.lower() == ".json" else tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # both decoders raise kinds of ValueError
        raise usage_error("unreadable-schema", f"{path} is not a schema: {str(error)[:200]}") from None
    return schema_from(data, str(path))


def render_toml(schema: Schema) -> str:
    """The schema as TOML, with one table per column and every list on one line."""
    data = as_data(schema)
    lines = [_line(key, value) for key, value in data.items() if key != "columns"]
    for name, column in data["columns"].items():
        lines += ["", _heading(name), *(_line(key, value) for key, value in column.items())]
    return "\n".join(lines) + "\n"


def render_declaration(schema: Schema) -> str:
    """The schema as TOML with names and kinds only; capitals mark what the owner of the data must fill in."""
    lines = [_line("name", schema.name), _line("provenance", "declared")]
    lines += [] if schema.label is None else [_line("label", schema.label)]
    for name, column in as_data(schema)["columns"].items():
        lines += ["", _heading(name), _line("kind", column["kind"])]
        lines += ["range = [LOWEST, HIGHEST]"] if "range" in column else []
        lines += ['categories = ["ALL", "OF", "THEM"]'] if "categories" in column else []
        lines += ["missing = TRUE_OR_FALSE"] if {"range", "categories"} & column.keys() else []
    return "\n".join(lines) + "\n"


def schema_from(data: object, title: str) -> Schema:
    """The schema in plain values; `title` names it in messages. Raises `CutsError` with every problem."""
    if not isinstance(data, Mapping):
        raise CutsError([bad_schema(title, "a schema must be a table of keys", "name = ..., [columns.NAME] ...")])
    problems = [
        bad_schema(title, f"there is no key `{key}` in a schema", _renamed(key) or did_you_mean(str(key), _TOP_KEYS))
        for key in data
        if key not in _TOP_KEYS
    ]
    tables = data.get("columns")
    if not isinstance(tables, Mapping) or not tables:
        example = '[columns.NAME]\nkind = "integer"\nrange = [LOWEST, HIGHEST]'
        raise CutsError([*problems, bad_schema(title, "the table `columns` is missing", example)])
    columns = [_column(str(name), fields, title, problems) for name, fields in tables.items()]
    derived = tuple(
        (str(name), str(fields["derived_from"]))
        for name, fields in tables.items()
        if isinstance(fields, Mapping) and "derived_from" in fields
    )
    names = set(map(str, tables))
    formulas = _formulas(tables, columns, title, problems)
    problems += [*_role_problems(data, names, title), *_setting_problems(data, title)]
    problems += [
        bad_schema(title, f"`{name}` is derived from `{source}`, which is not a column", did_you_mean(source, names))
        for name, source in derived
        if source not in names
    ]
    problems += [
        bad_schema(title, f"`{name}` is derived from `{source}`, which is derived itself", "name another column")
        for name, source in derived
        if source in names and source in dict(derived)
    ]
    follows = {name for pair in derived for name in pair} | {name for name, _ in formulas}
    problems += [
        bad_schema(f"{title}, column `{column.name}`", "a column with `texts` or a `format` cannot follow from another")
        for column in columns
        if column is not None and column.name in follows and is_written_as_text(column)
    ]
    if problems:
        raise CutsError(problems)
    return Schema(
        name=str(data.get("name", "table")),
        columns=tuple(column for column in columns if column is not None),
        label=data.get("label"),
        protected=tuple(data.get("protected", [])),
        provenance=data.get("provenance", "unstated"),
        derived=derived,
        dropped=tuple(data.get("drop", [])),
        max_categories=data.get("max_categories", MAX_CATEGORIES),
        min_count=data.get("min_count", MIN_COUNT),
        formulas=formulas,
    )


def _formulas(
    tables: Mapping[Any, Any], columns: Sequence[Column | None], title: str, problems: list[Diagnostic]
) -> tuple[tuple[str, Formula], ...]:
    """The formulas of computed columns; what is wrong with them is added to the problems."""
    texts = {str(name): fields["formula"] for name, fields in tables.items() if _has_formula(fields)}
    derived = {str(name) for name, fields in tables.items() if isinstance(fields, Mapping) and "derived_from" in fields}
    sources = {
        fields["derived_from"] for fields in tables.values() if isinstance(fields, Mapping) and "derived_from" in fields
    }
    numeric = {c.name: c for c in columns if isinstance(c, Numeric) and not is_written_as_text(c)}
    formulas = []
    for name, text in texts.items():
        where = f"{title}, column `{name}`"
        try:
            if not isinstance(text, str):
                raise ValueError('`formula` must be a string, e.g. "a + b"')
            formula = parse_formula(text)
        except ValueError as error:
            problems.append(bad_schema(where, str(error)[:200]))
            continue
        if name in derived or name in sources:
            problems.append(bad_schema(where, "a column with a `formula` can be neither derived nor derived from"))
        for used in formula.columns:
            if used not in map(str, tables):
                problems.append(bad_schema(where, f"`{used}` is not a column", did_you_mean(used, [*map(str, tables)])))
            elif used in texts or used in derived or used not in numeric:
                problems.append(bad_schema(where, f"`{used}` cannot be part of a formula", _FORMULA_HELP))
        if name in numeric and numeric.keys() >= set(formula.columns):
            try:
                formula = with_units(formula, numeric[name], numeric)
            except ValueError as error:
                problems.append(bad_schema(where, str(error)))
        formulas.append((name, formula))
    return tuple(formulas)


def _has_formula(fields: object) -> bool:
    return isinstance(fields, Mapping) and "formula" in fields


def _role_problems(data: Mapping[str, Any], names: set[str], title: str) -> Iterator[Diagnostic]:
    """The problems with `label`, `protected` and `drop`."""
    label, protected, dropped = data.get("label"), data.get("protected", []), data.get("drop", [])
    last = json.dumps(str(list(data["columns"])[-1]), ensure_ascii=False)
    if label is not None and not isinstance(label, str):
        yield bad_schema(title, "`label` must be the name of a column", f"label = {last}")
    elif label is not None and label not in names:
        yield bad_schema(title, f"the label `{label}` is not a column", did_you_mean(label, names))
    if not _is_list_of_strings(protected):
        yield bad_schema(title, "`protected` must be a list of columns", f"protected = [{last}]")
        protected = []
    for name in protected:
        if name not in names:
            yield bad_schema(title, f"the protected column `{name}` is not declared", did_you_mean(name, names))
    if not _is_list_of_strings(dropped) or not names.isdisjoint(dropped):
        yield bad_schema(title, "`drop` must be a list of columns that are not declared", 'drop = ["notes"]')


def _setting_problems(data: Mapping[str, Any], title: str) -> Iterator[Diagnostic]:
    """The problems with `max_categories`, `min_count` and `provenance`."""
    for key, smallest, default in (("max_categories", 16, MAX_CATEGORIES), ("min_count", 0, MIN_COUNT)):
        number = data.get(key, default)
        if not isinstance(number, int) or isinstance(number, bool) or number < smallest:
            yield bad_schema(title, f"`{key}` must be a whole number, at least {smallest}", f"{key} = {default}")
    if data.get("provenance", "declared") not in ("declared", "inferred", "discovered"):
        wanted = "`provenance` must be `declared`, `inferred` or `discovered`"
        yield bad_schema(title, wanted, 'provenance = "declared"')


def _is_list_of_strings(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _renamed(key: object) -> str | None:
    """A hint for a key of earlier versions, else None."""
    name = {"most_categories": "max_categories", "rare": "min_count"}.get(str(key))
    return None if name is None else f"it is now called `{name}`"


def bad_schema(title: str, what: str, help: str | None = None) -> Diagnostic:
    """A schema that does not describe a table."""
    return Diagnostic("bad-schema", f"{title}: {what}", help=help)


def _column(name: str, fields: object, title: str, problems: list[Diagnostic]) -> Column | None:
    where = f"{title}, column `{name}`"
    if not isinstance(fields, Mapping) or fields.get("kind") not in _KINDS:
        kind = fields.get("kind") if isinstance(fields, Mapping) else None
        help = did_you_mean(str(kind), _KINDS) or f"kind is one of {listed(_KINDS, limit=9)}"
        problems.append(
            bad_schema(where, "the column needs a kind" if kind is None else f"there is no kind `{kind}`", help)
        )
        return None
    kind = str(fields["kind"])
    unknown = [key for key in fields if key not in _KEYS[kind]]
    problems += [
        bad_schema(where, f"{kind} columns have no key `{key}`", did_you_mean(str(key), _KEYS[kind])) for key in unknown
    ]
    if unknown:
        return None
    try:
        return _make(name, kind, fields)
    except OverflowError:
        problems.append(bad_schema(where, "a number is too large"))
        return None
    except (ValueError, TypeError) as error:
        problems.append(bad_schema(where, str(error)[:200]))
        return None


def _make(name: str, kind: str, fields: Mapping[str, Any]) -> Column:
    missing = _flag(fields, "missing")
    match kind:
        case "category":
            return _category(name, fields, missing)
        case "id":
            return _identifier(name, fields, missing)
        case "empty":
            return Empty(name)
        case _:
            return _numeric(name, kind, fields, missing)


def _category(name: str, fields: Mapping[str, Any], missing: bool) -> Category:
    categories = fields.get("categories")
    if not isinstance(categories, list) or any(c is None or isinstance(c, list | dict | float) for c in categories):
        raise ValueError('it needs `categories`, a list of strings, e.g. ["no", "yes"]')
    texts = tuple(str(c).lower() if isinstance(c, bool) else str(c) for c in categories)
    return Category(name, texts, _flag(fields, "ordered"), missing)


def _identifier(name: str, fields: Mapping[str, Any], missing: bool) -> Identifier:
    start, pattern, regex = (fields.get(key) for key in ("start", "pattern", "regex"))
    is_whole = start is None or (isinstance(start, int) and not isinstance(start, bool))
    if not is_whole or not all(text is None or isinstance(text, str) for text in (pattern, regex)):
        raise ValueError("`pattern` and `regex` must be strings and `start` a whole number")
    if pattern is not None and not counts_up(pattern):
        raise ValueError("nothing in `pattern` stands for a character that varies; `#` is a digit, `A` a letter")
    return Identifier(name, pattern, start, missing, regex)


def _numeric(name: str, kind: str, fields: Mapping[str, Any], missing: bool) -> Column:
    low, high = _limits(kind, fields.get("range"))
    bins, binning = _bins(fields)
    decimals = fields.get("decimals")
    if decimals is not None and (not isinstance(decimals, int) or isinstance(decimals, bool)):
        raise ValueError("`decimals` must be a whole number")
    texts, format = _written(fields)
    match kind:
        case "integer":
            if low != int(low) or high != int(high):
                raise ValueError("`range` must be two whole numbers")
            return _checked(Integer(name, int(low), int(high), bins, missing, binning, texts, format))
        case "real":
            return _checked(Real(name, float(low), float(high), bins, missing, binning, decimals, texts, format))
        case _:
            zone = fields.get("zone")
            return Temporal(name, kind, low, high, bins, missing, binning, decimals or 0, zone)  # type: ignore[arg-type]


def _written(fields: Mapping[str, Any]) -> tuple[tuple[str, ...], str]:
    """The texts beside the numbers, and the format of the numbers."""
    texts, format = fields.get("texts", []), fields.get("format", "")
    if not _is_list_of_strings(texts):
        raise ValueError('`texts` must be a list of strings, e.g. ["<1.0", "n.a."]')
    if not isinstance(format, str):
        raise ValueError('`format` must be a string, e.g. "#,##0.00"')
    return tuple(texts), format


def _checked(column: Integer | Real) -> Integer | Real:
    """The column; raises `ValueError` if its format cannot be read, or one of its texts is a number in it."""
    pattern = pattern_of(format_of(column))
    for text in column.texts:
        if re.fullmatch(pattern, text) and any(sign.isdigit() for sign in text):
            raise ValueError(f"`texts` lists `{text}`, which is a number")
    return column


def _limits(kind: str, limits: object) -> tuple[float, float]:
    example = _RANGES.get(kind, "[0, 100]")
    if not isinstance(limits, list) or len(limits) != 2:
        raise ValueError(f"it needs `range`, its lowest and highest value, e.g. {example}")
    if kind in _MOMENT_KINDS:
        parsed = [parse_moment(kind, x if isinstance(x, str) else getattr(x, "isoformat", str)()) for x in limits]  # type: ignore[arg-type]
        if any(moment is None for moment in parsed):
            raise ValueError(f"`range` must be two {kind}s")
        return float(parsed[0] or 0.0), float(parsed[1] or 0.0)
    if not all(_is_number(number) for number in limits):
        raise ValueError(f"it needs `range`, its lowest and highest value, e.g. {example}")
    return limits[0], limits[1]


def _bins(fields: Mapping[str, Any]) -> tuple[int | tuple[float, ...], Binning]:
    bins, binning = fields.get("bins", 32), fields.get("binning", "quantile")
    if binning not in ("quantile", "uniform"):
        raise ValueError("`binning` must be `quantile` or `uniform`")
    if isinstance(bins, list) and all(_is_number(edge) for edge in bins):
        return tuple(float(edge) for edge in bins), binning
    if not isinstance(bins, int) or isinstance(bins, bool):
        raise ValueError("`bins` must be a number of bins or a list of edges")
    return bins, binning


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < float("inf")


def _flag(fields: Mapping[str, Any], key: str) -> bool:
    value = fields.get(key, False)
    if not isinstance(value, bool):
        raise ValueError(f"`{key}` must be true or false")
    return value


def _heading(name: str) -> str:
    """The heading of a column's table, its name quoted where TOML needs it."""
    return tomli_w.dumps({"columns": {name: {}}}).strip()


def _line(key: str, value: object) -> str:
    """One line with a key and its value; `tomli_w` alone would write every item of a list on its own line."""
    if isinstance(value, list):
        items = [_line("item", item).removeprefix("item = ") for item in value]
        return f"{key} = [{', '.join(items)}]"
    return tomli_w.dumps({key: value}).rstrip("\n")
