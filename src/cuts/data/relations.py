"""Exact relations of numeric columns: `total == a + b`, `hhmm == hour * 100 + minute`, `bmi == weight / height ^ 2`.

A relation must hold in every row of a sample, up to the decimals of the column; where a part is missing, so is the
column. A few rows rule out nearly all formulas: sums by comparing random weighted sums of rows, products and quotients
one by one. Relations are reported; a schema that states one has the column computed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from cuts.data.columns import Numeric, Temporal, is_written_as_text
from cuts.data.computed import RELATIVE_ERROR, Formula, breaks, parse_formula, with_units, written_name
from cuts.data.schema import Schema
from cuts.data.table import Floats, Table
from cuts.data.units import DAY, Unit, spread, unit_of

FACTORS = (1, -1, 10, 60, 100, 1000, 3600)  # coefficients of columns in sums
MAX_ROWS = 20_000  # rows that are used, evenly spread
MIN_DISTINCT = 20  # distinct values of a column, so that a relation is unlikely to be chance
SUM_ROWS, PRODUCT_ROWS = 48, 8  # rows that rule out most formulas
MAX_COLUMNS = 200  # numeric columns; beyond, comparing them takes too long


@dataclass(frozen=True, slots=True)
class Relation:
    """A column that equals a formula of others in every row."""

    column: str
    formula: Formula
    rank: int  # of several ways to write one relation, the lowest is the simplest


def find_relations(typed: Table, schema: Schema) -> tuple[tuple[str, Formula], ...]:
    """The exact relations of a conformed table: columns and the formulas they equal. No column is in two of them.

    >>> import pyarrow as pa
    >>> from cuts.data.columns import Integer
    >>> rows = Table(pa.table({name: np.arange(30.0) ** power for power, name in enumerate("xyz", 1)}))
    >>> schema = Schema("t", tuple(Integer(name, 0, 30_000) for name in "xyz"))
    >>> [(name, formula.text) for name, formula in find_relations(rows, schema)]
    [('z', 'x * y')]
    """
    step = max(1, -(-typed.rows // MAX_ROWS))
    rows = Table(typed.arrow.take(np.arange(0, typed.rows, step)))
    columns = [c for c in schema.modelled if isinstance(c, Numeric) and not is_written_as_text(c)]
    numbers = {column.name: rows.numbers(column.name) for column in columns}
    varied = [column for column in columns if _is_varied(numbers[column.name], 2)]
    if len(varied) > MAX_COLUMNS:
        return ()
    found: dict[frozenset[str], Relation] = {}
    for column in varied:
        if _is_varied(numbers[column.name], MIN_DISTINCT):
            for relation in _relations_of(column, varied, numbers):
                key = frozenset({relation.column, *relation.formula.columns})
                if key not in found or relation.rank <= found[key].rank:  # of equals, the later column is computed
                    found[key] = relation
    return _apart(sorted(found.values(), key=lambda relation: relation.rank))


def _apart(relations: list[Relation]) -> tuple[tuple[str, Formula], ...]:
    """The relations, the simplest first, without those whose columns another one computes or is computed from."""
    chosen: list[tuple[str, Formula]] = []
    computed: set[str] = set()
    used: set[str] = set()
    for relation in relations:
        parts = set(relation.formula.columns)
        if relation.column not in computed | used and not parts & computed:
            chosen.append((relation.column, relation.formula))
            computed.add(relation.column)
            used |= parts
    return tuple(chosen)


def _relations_of(column: Numeric, columns: list[Numeric], numbers: Mapping[str, Floats]) -> Iterator[Relation]:
    """The relations of one column, confirmed on all rows."""
    target = numbers[column.name]
    rows = _spread_rows(target, SUM_ROWS)
    others = [c for c in columns if c.name != column.name and not np.isnan(numbers[c.name][rows]).any()]
    names = [c.name for c in others]
    if not names:
        return
    values = np.stack([numbers[name][rows] for name in names], axis=1)
    plain = [not isinstance(c, Temporal) for c in others]
    candidates = [*_sums(target[rows], values, column, others)]
    if not isinstance(column, Temporal):
        candidates += _products(target[rows], values, names, plain, column.per_unit)
    by_name = {c.name: c for c in others}
    for rank, text in candidates:
        formula = with_units(parse_formula(text), column, by_name)
        if not breaks(formula, column, numbers).any():
            yield Relation(column.name, formula, rank)


# --- candidates


def _sums(target: Floats, values: Floats, column: Numeric, others: list[Numeric]) -> Iterator[tuple[int, str]]:
    """The sums of two columns with simple coefficients that equal the target on some rows."""
    weights = np.random.default_rng(0).random(len(target)) + 0.5
    factors = np.repeat(FACTORS, values.shape[1])
    owners = np.tile(np.arange(values.shape[1]), len(FACTORS))
    parts = (weights @ values)[owners] * factors  # weighted sums of rows: equal columns have equal ones
    order = np.argsort(parts)
    wanted = weights @ target - parts
    slack = RELATIVE_ERROR * max(
        float(weights @ np.abs(target)), float((weights @ np.abs(values)).max(initial=0.0)), 1.0
    )
    first = np.searchsorted(parts[order], wanted - slack, "left")
    last = np.searchsorted(parts[order], wanted + slack, "right")
    for one in np.flatnonzero(last > first):
        for other in order[first[one] : last[one]]:
            if owners[one] < owners[other] and max(factors[one], factors[other]) > 0:
                rank = {(1, 1): 0, (-1, 1): 2}.get(
                    (min(factors[one], factors[other]), max(factors[one], factors[other])), 1
                )
                pair = [(int(factors[each]), others[owners[each]]) for each in (one, other)]
                text = _sum_text(sorted(pair, key=lambda term: -term[0]), column)
                if text is not None:
                    yield rank, text


def _products(
    target: Floats, values: Floats, names: list[str], plain: list[bool], per_unit: int | None
) -> Iterator[tuple[int, str]]:
    """The products, quotients and quotients by a square of two columns that equal the target on a few rows."""
    few = _spread_rows(target, PRODUCT_ROWS)
    wanted, left, right = target[few, None, None], values[few][:, :, None], values[few][:, None, :]
    half = 0.0 if per_unit is None else 0.5 / per_unit
    forms = {3: ("*", ""), 4: ("/", ""), 5: ("/", " ^ 2")}
    for rank, (sign, power) in forms.items():
        with np.errstate(all="ignore"):
            made = left * right if sign == "*" else left / (right**2 if power else right)
            close = np.abs(made - wanted) <= half + RELATIVE_ERROR * np.maximum(np.abs(wanted), 1.0)
        for one, other in np.argwhere(close.all(0)):
            symmetric = sign == "*" and one > other
            if one != other and not symmetric and plain[one] and plain[other]:
                yield rank, f"{written_name(names[one])} {sign} {written_name(names[other])}{power}"


def _sum_text(terms: list[tuple[int, Numeric]], column: Numeric) -> str | None:
    """A sum of two columns as it is written, the larger coefficient first; None if its units do not fit the column."""
    (first, one), (second, other) = terms
    own, unit = unit_of(column), unit_of(one)
    if unit.axis is not None and unit == unit_of(other) and (first, second) == (1, -1) and own.axis is None:
        difference = f"{written_name(one.name)} - {written_name(other.name)}"
        return difference if own == spread(unit) else f"({difference}) / '{_one(unit)}'" if not own.is_time else None
    texts = [_term(abs(factor), part, own) for factor, part in terms]
    joined = f"{texts[0]} {'-' if second < 0 else '+'} {texts[1]}"
    points = sum(unit_of(part).axis is not None for _, part in terms)
    return joined if None not in texts and points == (own.axis is not None) else None


def _term(factor: int, part: Numeric, own: Unit) -> str | None:
    """A column times a number, in the unit of a column it is part of; None where that has no meaning."""
    unit, name = unit_of(part), written_name(part.name)
    if unit.axis not in (None, own.axis) or (unit.axis is not None and factor != 1):
        return None
    if unit.is_time == own.is_time:
        return name if factor == 1 else f"{name} * {factor}"
    if own.is_time:
        return f"{name} * '{_one(own) if factor == 1 else f'{factor} {_many(own)}'}'"
    return f"{name} / '{_one(unit)}'" if factor == 1 else f"{name} * {factor} / '{_one(unit)}'"


def _one(unit: Unit) -> str:
    return "1 day" if unit.seconds == DAY else "1 s"


def _many(unit: Unit) -> str:
    return "days" if unit.seconds == DAY else "s"


# --- rows


def _spread_rows(values: Floats, count: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Rows with values evenly spread over those that are present, the extremes included."""
    present = np.flatnonzero(~np.isnan(values))
    ordered = present[np.argsort(values[present], kind="stable")]
    places = np.unique(np.linspace(0, len(ordered) - 1, min(count, len(ordered))).astype(np.int64))
    return ordered[places].astype(np.int64)


def _is_varied(values: Floats, count: int) -> bool:
    """Whether there are at least as many distinct values."""
    distinct = np.unique(values[~np.isnan(values)])
    return len(distinct) >= count
