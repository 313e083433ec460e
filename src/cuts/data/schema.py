"""What a table's columns are: names, kinds, domains. Files are `data/schema_file.py`."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from cuts.vocab.interval import Interval

Provenance = Literal["declared", "inferred"]
DEFAULT_BINS = 32
LARGEST = 1e300  # beyond, sums of columns overflow


@dataclass(frozen=True, slots=True)
class Category:
    """A column whose values are texts from a list; `ordered` when the list's order means something."""

    name: str
    categories: tuple[str, ...]
    ordered: bool = False
    missing: bool = False

    def __post_init__(self) -> None:
        if not self.categories:
            raise ValueError("it has no categories")
        if len(set(self.categories)) < len(self.categories):
            raise ValueError("it lists a category twice")

    @property
    def range(self) -> Interval:
        """The positions of the categories, which is what they count as in arithmetic."""
        return Interval(0.0, float(len(self.categories) - 1))

    @property
    def size(self) -> float:
        """Number of values."""
        return float(len(self.categories))


@dataclass(frozen=True, slots=True)
class Integer:
    """A column of whole numbers from `low` to `high`."""

    name: str
    low: int
    high: int
    bins: int | tuple[float, ...] = DEFAULT_BINS
    missing: bool = False

    def __post_init__(self) -> None:
        _check_numbers(self.low, self.high, self.bins)

    @property
    def range(self) -> Interval:
        """From the lowest to the highest value."""
        return Interval(float(self.low), float(self.high))

    @property
    def size(self) -> float:
        """Number of values."""
        return float(self.high - self.low + 1)


@dataclass(frozen=True, slots=True)
class Real:
    """A column of real numbers from `low` to `high`."""

    name: str
    low: float
    high: float
    bins: int | tuple[float, ...] = DEFAULT_BINS
    missing: bool = False

    def __post_init__(self) -> None:
        _check_numbers(self.low, self.high, self.bins)

    @property
    def range(self) -> Interval:
        """From the lowest to the highest value."""
        return Interval(float(self.low), float(self.high))

    @property
    def size(self) -> float:
        """Number of values: unbounded unless the range is a point."""
        return float("inf") if self.low < self.high else 1.0


Column: TypeAlias = Category | Integer | Real
Numeric: TypeAlias = Integer | Real


@dataclass(frozen=True, slots=True)
class Schema:
    """The columns of a table in order, which one is the label, which are protected, and who says so."""

    name: str
    columns: tuple[Column, ...]
    label: str | None = None
    protected: tuple[str, ...] = ()
    provenance: Provenance = "declared"

    def __post_init__(self) -> None:
        names = self.names
        if not names:
            raise ValueError("a schema needs at least one column")
        if len(set(names)) < len(names):
            raise ValueError("a column is named twice")
        for special in (*self.protected, *(() if self.label is None else (self.label,))):
            if special not in names:
                raise ValueError(f"there is no column `{special}`")

    def __iter__(self) -> Iterator[Column]:
        return iter(self.columns)

    def __getitem__(self, name: str) -> Column:
        for column in self.columns:
            if column.name == name:
                return column
        raise KeyError(name)

    def __contains__(self, name: object) -> bool:
        return any(column.name == name for column in self.columns)

    @property
    def names(self) -> tuple[str, ...]:
        """Column names in order."""
        return tuple(column.name for column in self.columns)

    def position(self, name: str) -> int:
        """Where a column stands, from 0."""
        return self.names.index(name)


def matches(name: str, candidates: tuple[str, ...]) -> tuple[str, ...]:
    """The candidates a bare name can mean: itself, else all that differ only in `_`, `-` and blanks.

    >>> matches("Never_married", ("Never-married", "Divorced"))
    ('Never-married',)
    """
    if name in candidates:
        return (name,)
    folded = _fold(name)
    return tuple(candidate for candidate in candidates if _fold(candidate) == folded)


def as_data(schema: Schema) -> dict[str, Any]:
    """The schema as JSON values, in the order people read it."""
    data: dict[str, Any] = {"name": schema.name, "provenance": schema.provenance}
    if schema.label is not None:
        data["label"] = schema.label
    if schema.protected:
        data["protected"] = list(schema.protected)
    data["columns"] = {column.name: _column_data(column) for column in schema}
    return data


def fingerprint(schema: Schema) -> str:
    """A hash that changes exactly when the schema does."""
    text = json.dumps([as_data(schema), list(schema.names)], sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _column_data(column: Column) -> dict[str, Any]:
    match column:
        case Category(_, categories, ordered, missing):
            data: dict[str, Any] = {"kind": "category", "categories": list(categories)}
            if ordered:
                data["ordered"] = True
        case Integer(_, low, high, bins, missing) | Real(_, low, high, bins, missing):
            data = {"kind": "integer" if isinstance(column, Integer) else "real", "range": [low, high]}
            if bins != DEFAULT_BINS:
                data["bins"] = list(bins) if isinstance(bins, tuple) else bins
    if missing:
        data["missing"] = True
    return data


def _check_numbers(low: float, high: float, bins: int | tuple[float, ...]) -> None:
    if not (abs(low) <= LARGEST and abs(high) <= LARGEST and low <= high):
        raise ValueError(f"there is no range from {low} to {high}")
    if isinstance(bins, int):
        if bins < 1:
            raise ValueError("it needs at least one bin")
    elif list(bins) != sorted(set(bins)) or any(not low < edge <= high for edge in bins):
        raise ValueError("its bin edges must rise and lie inside its range")


def _fold(name: str) -> str:
    return re.sub(r"[-_\s]", "_", name)
