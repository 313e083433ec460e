"""The schema of a table: its columns, its label, and where this information comes from.

The kinds of columns are in `data/columns.py`, schema files in `data/schema_file.py`.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

from cuts.data.columns import (
    DEFAULT_BINS,
    Category,
    Column,
    Empty,
    Identifier,
    Integer,
    Modelled,
    Numeric,
    Real,
    Temporal,
    Unmodelled,
)
from cuts.data.computed import Formula, LinearSum
from cuts.data.describe import kind_in_words, values_listed
from cuts.data.temporal import show_moment
from cuts.text import html
from cuts.text.columns import align
from cuts.text.diagnostic import counted
from cuts.vocab.fairness_measures import default_outcome
from cuts.vocab.interval import Interval

# Where categories and ranges come from: stated by the owner of the data, read from the rows, discovered privately for a
# part of the budget, or a file that does not say. A private program needs to know.
Provenance = Literal["declared", "inferred", "discovered", "unstated"]
MAX_CATEGORIES = 64  # bins per category column
MIN_COUNT = 5  # rows per category
_HEADS = ("column", "kind", "values", "missing", "role")


@dataclass(frozen=True, slots=True, repr=False)
class Schema:
    """The columns of a table in order, its label, its protected columns, and where this information comes from."""

    name: str
    columns: tuple[Column, ...]
    label: str | None = None
    protected: tuple[str, ...] = ()
    provenance: Provenance = "declared"
    derived: tuple[tuple[str, str], ...] = ()  # (column, the column it follows from)
    dropped: tuple[str, ...] = ()  # columns of the table that are left out
    max_categories: int = (
        MAX_CATEGORIES  # bins per category column; if there are more categories, rarer ones share bins
    )
    min_count: int = MIN_COUNT  # rows a category needs to be sampled, unless the schema is declared
    formulas: tuple[tuple[str, Formula], ...] = ()  # computed columns, and what they are computed from
    # The middle half of numeric columns in known rows (`data/middles.py`): no part of what a schema declares.
    middles: tuple[tuple[str, Interval], ...] = field(default=(), repr=False, compare=False)
    _by_name: dict[str, Column] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_by_name", {column.name: column for column in self.columns})
        names = self.names
        if not names:
            raise ValueError("a schema needs at least one column")
        if len(set(names)) < len(names):
            raise ValueError("a column is named twice")
        mentioned = [*self.protected, *(() if self.label is None else (self.label,))]
        derived = (name for pair in self.derived for name in pair)
        computed = (name for column, formula in self.formulas for name in (column, *formula.columns))
        for special in (*mentioned, *derived, *computed):
            if special not in names:
                raise ValueError(f"there is no column `{special}`")

    def __iter__(self) -> Iterator[Column]:
        return iter(self.columns)

    def __getitem__(self, name: str) -> Column:
        return self._by_name[name]

    def __contains__(self, name: object) -> bool:
        return name in self._by_name

    def __repr__(self) -> str:
        """The schema in one line; `print` shows every column."""
        return f"<Schema {self.name}: {counted(len(self.columns), 'column')}, {self.provenance}>"

    def __str__(self) -> str:
        return f"{repr(self)[1:-1]}\n{align(_HEADS, self._cells())}"

    def _repr_html_(self) -> str:
        return html.paragraph(repr(self)[1:-1]) + html.table(_HEADS, self._cells())

    def _cells(self) -> list[list[str]]:
        """What people want to know of every column."""
        follows = {name: f"follows from {source}" for name, source in self.derived}
        follows |= {name: f"computed as {formula.text}" for name, formula in self.formulas}
        return [
            [
                column.name,
                kind_in_words(column),
                values_listed(column),
                "allowed" if column.missing else "",
                ", ".join(
                    role
                    for role in (
                        "label" if column.name == self.label else "",
                        "protected" if column.name in self.protected else "",
                        follows.get(column.name, ""),
                    )
                    if role
                ),
            ]
            for column in self.columns
        ]

    @property
    def names(self) -> tuple[str, ...]:
        """Column names in order."""
        return tuple(column.name for column in self.columns)

    @property
    def is_inferred(self) -> bool:
        """Whether categories and ranges were read from the rows; then rare ones may be left out."""
        return self.provenance == "inferred"

    def learned(self, name: str) -> Modelled:
        """A column that is neither an identifier nor empty."""
        column = self[name]
        assert not isinstance(column, Unmodelled), name
        return column

    @property
    def modelled(self) -> tuple[Modelled, ...]:
        """The columns a model learns: all but identifiers, empty, derived and computed columns."""
        follows = {name for name, _ in (*self.derived, *self.formulas)}
        return tuple(
            column for column in self.columns if not isinstance(column, Unmodelled) and column.name not in follows
        )

    def sum_of(self, name: str) -> LinearSum | None:
        """The formula of a column as a sum, if it is one whose values need no rounding; otherwise None."""
        formula = dict(self.formulas).get(name)
        linear = None if formula is None else formula.linear()
        if linear is None:
            return None
        units = [self.number(part).per_unit or 0 for part in linear[0]]
        per_unit = self.number(name).per_unit
        whole = all(value.denominator == 1 for value in (*linear[0].values(), linear[1]))
        return linear if per_unit is None or (whole and all(0 < unit <= per_unit for unit in units)) else None

    def number(self, name: str) -> Numeric:
        """A numeric column."""
        column = self[name]
        assert isinstance(column, Numeric), name
        return column


def matches(name: str, candidates: tuple[str, ...]) -> tuple[str, ...]:
    """The candidates a bare name can mean: itself, else all that differ only in `_`, `-` and blanks.

    >>> matches("Never_married", ("Never-married", "Divorced"))
    ('Never-married',)
    """
    if name in candidates:
        return (name,)
    folded = _fold(name)
    return tuple(candidate for candidate in candidates if _fold(candidate) == folded)


def desired_outcome(schema: Schema, target: str, named: str | None = None) -> str:
    """The desired outcome of a category column, for fairness: `named`, or by default the last category as in the paper.

    >>> desired_outcome(Schema("people", (Category("paid", ("no", "yes")),)), "paid")
    'yes'
    """
    column = schema[target]
    assert isinstance(column, Category), target
    return default_outcome(column.categories) if named is None else named


def as_data(schema: Schema) -> dict[str, Any]:
    """The schema as JSON values, in the order people read it."""
    data: dict[str, Any] = {"name": schema.name}
    if schema.provenance != "unstated":
        data["provenance"] = schema.provenance
    if schema.label is not None:
        data["label"] = schema.label
    if schema.protected:
        data["protected"] = list(schema.protected)
    if schema.dropped:
        data["drop"] = list(schema.dropped)
    if schema.max_categories != MAX_CATEGORIES:
        data["max_categories"] = schema.max_categories
    if schema.min_count != MIN_COUNT:
        data["min_count"] = schema.min_count
    follows = {name: {"derived_from": source} for name, source in schema.derived}
    follows.update({name: {"formula": formula.text} for name, formula in schema.formulas})
    data["columns"] = {column.name: {**_column_data(column), **follows.get(column.name, {})} for column in schema}
    return data


def fingerprint(schema: Schema) -> str:
    """A hash that changes exactly when the schema does."""
    text = json.dumps([as_data(schema), list(schema.names)], sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _column_data(column: Column) -> dict[str, Any]:
    match column:
        case Category(_, categories, ordered):
            data: dict[str, Any] = {"kind": "category", "categories": list(categories)}
            if ordered:
                data["ordered"] = True
        case Integer() | Real() | Temporal():
            data = _numeric_data(column)
        case Identifier(_, pattern, start, _, regex):
            form = {"pattern": pattern, "regex": regex, "start": start}
            data = {"kind": "id", **{key: value for key, value in form.items() if value is not None}}
        case Empty():
            return {"kind": "empty"}
    if column.missing:
        data["missing"] = True
    return data


def _numeric_data(column: Numeric) -> dict[str, Any]:
    limits: list[Any] = [column.low, column.high]
    kind = "integer" if isinstance(column, Integer) else "real"
    if isinstance(column, Temporal):
        kind = column.kind
        limits = [show_moment(column.kind, limit) for limit in limits]
    data: dict[str, Any] = {"kind": kind, "range": limits}
    if isinstance(column, Real | Temporal) and column.decimals:
        data["decimals"] = column.decimals
    if isinstance(column, Temporal) and column.zone is not None:
        data["zone"] = column.zone
    if column.bins != DEFAULT_BINS:
        data["bins"] = list(column.bins) if isinstance(column.bins, tuple) else column.bins
    if column.binning != "quantile":
        data["binning"] = column.binning
    if column.texts:
        data["texts"] = list(column.texts)
    if not isinstance(column, Temporal) and column.format:
        data["format"] = column.format
    return data


def _fold(name: str) -> str:
    return re.sub(r"[-_\s]", "_", name)


__all__ = [
    "MAX_CATEGORIES",
    "MIN_COUNT",
    "Category",
    "Column",
    "Empty",
    "Identifier",
    "Integer",
    "Modelled",
    "Numeric",
    "Real",
    "Schema",
    "Temporal",
    "Unmodelled",
    "as_data",
    "desired_outcome",
    "fingerprint",
    "matches",
]
