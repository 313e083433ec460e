"""The kinds of columns: which values they have, on which lattice, and how a schema names them.

The values of a numeric column (`Integer`, `Real`, `Temporal`) are float64 numbers: a date counts days since 1970-01-01;
a time, a timestamp and a duration count seconds. `per_unit` is the number of lattice points per unit: 1 for whole
numbers, 100 for two decimals, None for reals of any precision.

The cells of an `Integer` or `Real` column with `texts` or a `format` are written as text: its numbers in that format,
and beside them the texts, such as `<1.0` or `n.a.`, which are values of their own and not numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias, TypeGuard

from cuts.data.finite_regex import finite_regex
from cuts.vocab.interval import Interval

MomentKind = Literal["date", "time", "timestamp", "duration"]
Binning = Literal["quantile", "uniform"]
Bins: TypeAlias = int | tuple[float, ...]

DEFAULT_BINS = 32
LARGEST_WHOLE = 2**53  # above this, float64 skips whole numbers
LARGEST_NUMBER = 1e300  # above this, sums of columns overflow


@dataclass(frozen=True, slots=True)
class Category:
    """A column whose values are strings from a list; `ordered` when the order of the list matters."""

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
        """The positions of the categories, which stand for them in arithmetic."""
        return Interval(0.0, float(len(self.categories) - 1))


@dataclass(frozen=True, slots=True)
class Integer:
    """A column of whole numbers from `low` to `high`."""

    name: str
    low: int
    high: int
    bins: Bins = DEFAULT_BINS
    missing: bool = False
    binning: Binning = "quantile"
    texts: tuple[str, ...] = ()
    format: str = ""

    def __post_init__(self) -> None:
        _check_numbers(self.low, self.high, self.bins)
        _check_texts(self.texts)
        if max(abs(self.low), abs(self.high)) > LARGEST_WHOLE:
            raise ValueError("whole numbers beyond 2^53 cannot be distinguished; declare the column `id` or `category`")

    @property
    def range(self) -> Interval:
        """From the lowest to the highest value."""
        return Interval(float(self.low), float(self.high))

    @property
    def per_unit(self) -> int:
        """The number of lattice points per unit."""
        return 1


@dataclass(frozen=True, slots=True)
class Real:
    """A column of real numbers from `low` to `high`, with `decimals` decimals, or of any precision."""

    name: str
    low: float
    high: float
    bins: Bins = DEFAULT_BINS
    missing: bool = False
    binning: Binning = "quantile"
    decimals: int | None = None
    texts: tuple[str, ...] = ()
    format: str = ""

    def __post_init__(self) -> None:
        _check_numbers(self.low, self.high, self.bins)
        _check_texts(self.texts)
        if self.decimals is not None and not 1 <= self.decimals <= 15:
            raise ValueError("`decimals` must be from 1 to 15")

    @property
    def range(self) -> Interval:
        """From the lowest to the highest value."""
        return Interval(float(self.low), float(self.high))

    @property
    def per_unit(self) -> int | None:
        """The number of lattice points per unit, or None without a lattice."""
        return None if self.decimals is None else 10**self.decimals


@dataclass(frozen=True, slots=True)
class Temporal:
    """A column of dates (days), times, timestamps or durations (seconds, with 0, 3 or 6 decimals)."""

    name: str
    kind: MomentKind
    low: float
    high: float
    bins: Bins = DEFAULT_BINS
    missing: bool = False
    binning: Binning = "quantile"
    decimals: int = 0
    zone: str | None = None

    def __post_init__(self) -> None:
        _check_numbers(self.low, self.high, self.bins)

    @property
    def texts(self) -> tuple[str, ...]:
        """None: there are no texts beside dates and times."""
        return ()

    @property
    def range(self) -> Interval:
        """From the earliest to the latest value."""
        return Interval(float(self.low), float(self.high))

    @property
    def per_unit(self) -> int:
        """The number of lattice points per unit."""
        return int(10**self.decimals)


@dataclass(frozen=True, slots=True)
class Identifier:
    """A column with a different value in every row: never modelled; new values are generated in the same pattern.

    `pattern` is `uuid`, or a string in which `#` stands for a digit, `A` for an upper-case letter, `a` for a lower-case
    one, `X` for either of the first two, `x` for a hexadecimal digit, and a backslash quotes the next character.
    `regex` is a regular expression instead (`data/finite_regex.py`); with neither, values are whole numbers. Values
    count up through the pattern, starting at number `start`; None means at a random place.
    """

    name: str
    pattern: str | None = None
    start: int | None = None
    missing: bool = False
    regex: str | None = None

    def __post_init__(self) -> None:
        if self.regex is not None:
            finite_regex(self.regex)
            if self.pattern is not None:
                raise ValueError("it has a `pattern` and a `regex`: leave one of them out")


@dataclass(frozen=True, slots=True)
class Empty:
    """A column without any value."""

    name: str
    missing: bool = True


Numeric: TypeAlias = Integer | Real | Temporal
Modelled: TypeAlias = Category | Numeric
Unmodelled: TypeAlias = Identifier | Empty
Column: TypeAlias = Modelled | Unmodelled


def is_written_as_text(column: Column) -> TypeGuard[Integer | Real]:
    """Whether the cells of a numeric column are texts, with `texts` or a `format`."""
    return isinstance(column, Integer | Real) and bool(column.texts or column.format)


def size(column: Modelled) -> float:
    """The number of values a column can have.

    >>> size(Integer("age", 17, 90)), size(Real("x", 0.0, 1.0, decimals=2))
    (74.0, 101.0)
    """
    if isinstance(column, Category):
        return float(len(column.categories))
    if column.per_unit is not None:
        return float(round((column.high - column.low) * column.per_unit) + 1)
    return float("inf") if column.low < column.high else 1.0


def _check_texts(texts: tuple[str, ...]) -> None:
    if len(set(texts)) < len(texts):
        raise ValueError("it lists a text twice")


def _check_numbers(low: float, high: float, bins: Bins) -> None:
    if not (abs(low) <= LARGEST_NUMBER and abs(high) <= LARGEST_NUMBER):
        raise ValueError(f"its range must lie between -{LARGEST_NUMBER:g} and {LARGEST_NUMBER:g}")
    if low > high:
        raise ValueError(f"its range starts at {low} but ends at {high}")
    if isinstance(bins, int):
        if bins < 1:
            raise ValueError("it needs at least one bin")
    elif list(bins) != sorted(set(bins)) or any(not low < edge <= high for edge in bins):
        raise ValueError("its bin edges must increase and lie inside its range")
