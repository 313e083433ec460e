"""The exact reading of a table that does not fit into memory: row rules and statistics from totals of its chunks.

A row rule is a count. A statistic depends on its rows only through the distinct values of its arguments and how often
each occurs, its cells: those of two chunks add up, and so every statistic of the whole table is exact, a median or an
entropy included. Real numbers can have more distinct values than is sensible to keep. Then a statistic of moments keeps
a few points with the same means, variances and covariance, which give it the same value; any other one is given up, and
whoever asks must look at a part of the rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np

from cuts.data.conform import conform
from cuts.data.table import Floats, Table
from cuts.lang.comparisons import comparisons
from cuts.lang.spec import Implies, Quantity, RowRule, Spec, Statistic
from cuts.lang.walks import columns_of, statistics_of
from cuts.read import exact
from cuts.vocab.names import statistics

MAX_CELLS = 200_000  # distinct values of the arguments of one statistic that are kept


@dataclass(frozen=True, slots=True)
class RuleCount:
    """How many rows satisfy a rule: of all rows, and of the rows it applies to."""

    satisfied: int
    applicable: int
    applicable_satisfied: int


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """The values of a statistic's arguments, one array per argument, and how many rows have them."""

    values: tuple[Floats, ...]
    rows: Floats


@dataclass(frozen=True, slots=True, eq=False)
class Totals:
    """What the verdicts on a table need of its rows: it adds up over chunks."""

    rows: int
    rules: tuple[RuleCount, ...]  # of the row rules, in the order written
    cells: Mapping[Statistic, Cells | None]  # None: too many values to keep

    def plus(self, other: Totals) -> Totals:
        """The totals of the rows of both."""
        rules = zip(self.rules, other.rules, strict=True)
        return Totals(
            self.rows + other.rows,
            tuple(
                RuleCount(
                    one.satisfied + two.satisfied,
                    one.applicable + two.applicable,
                    one.applicable_satisfied + two.applicable_satisfied,
                )
                for one, two in rules
            ),
            {stat: _joined(stat, cells, other.cells[stat]) for stat, cells in self.cells.items()},
        )

    def value(self, quantity: Quantity) -> float | None:
        """A number of the whole table, not a number where it is undefined; None if a statistic of it was given up."""
        if any(self.cells.get(stat) is None for stat in statistics_of(quantity)):
            return None
        return float(exact.combine(quantity, self._statistic))

    def _statistic(self, stat: Statistic) -> float:
        cells = self.cells[stat]
        assert cells is not None
        values: tuple[Any, ...] = cells.values
        if statistics()[stat.name].argument == "column":
            values = tuple(np.unique(column, return_inverse=True)[1].astype(np.int64) for column in values)
        every = np.arange(len(cells.rows))
        return exact.weighted(exact.Prepared(stat, None, every, values), cells.rows)


def count_totals(spec: Spec, table: Table) -> Totals:
    """The totals of a table's rows, for all row rules and statistics of a program.

    The table must be one of the schema's: a category that the schema lacks would count as missing.
    """
    rules, stats = _rules(spec), _statistics(spec)
    needed = frozenset().union(*(columns_of(rule.pred) for rule in rules), *map(columns_of, stats))
    typed = conform(table, spec.schema, needed) if needed else table
    return Totals(
        table.rows, tuple(_count(rule, typed) for rule in rules), {stat: _cells(stat, typed, spec) for stat in stats}
    )


def totals_data(totals: Totals) -> dict[str, Any]:
    """The totals as JSON values; `totals_from` reads them."""
    cells = [
        each and [*(column.tolist() for column in each.values), each.rows.tolist()] for each in totals.cells.values()
    ]
    rules = [[rule.satisfied, rule.applicable, rule.applicable_satisfied] for rule in totals.rules]
    return {"rows": totals.rows, "rules": rules, "cells": cells}


def totals_from(data: Mapping[str, Any], spec: Spec) -> Totals:
    """The totals in JSON values, of the same program."""
    cells = [
        each
        and Cells(tuple(np.array(column, dtype=np.float64) for column in each[:-1]), np.array(each[-1], dtype=float))
        for each in data["cells"]
    ]
    rules = tuple(RuleCount(*rule) for rule in data["rules"])
    return Totals(data["rows"], rules, dict(zip(_statistics(spec), cells, strict=True)))


def _rules(spec: Spec) -> list[RowRule]:
    return [command for command in spec.commands if isinstance(command, RowRule)]


def _statistics(spec: Spec) -> list[Statistic]:
    return list(dict.fromkeys(stat for number in comparisons(spec) for stat in statistics_of(number.measured)))


def _count(rule: RowRule, typed: Table) -> RuleCount:
    satisfied = exact.mask(rule.pred, typed)
    applicable = exact.mask(rule.pred.left, typed) if isinstance(rule.pred, Implies) else np.ones_like(satisfied)
    return RuleCount(int(satisfied.sum()), int(applicable.sum()), int((applicable & satisfied).sum()))


def _cells(stat: Statistic, typed: Table, spec: Spec) -> Cells | None:
    values = tuple(
        exact.numbers(arg, typed, spec.schema)
        if isinstance(arg, Quantity)
        else exact.mask(arg, typed).astype(np.float64)
        for arg in stat.args
    )
    present = np.logical_and.reduce([~np.isnan(column) for column in values])
    if stat.given is not None:
        present &= exact.mask(stat.given, typed)
    return _merged(stat, tuple(column[present] for column in values), np.ones(int(present.sum())))


def _joined(stat: Statistic, one: Cells | None, two: Cells | None) -> Cells | None:
    if one is None or two is None:
        return None
    values = tuple(np.concatenate(both) for both in zip(one.values, two.values, strict=True))
    return _merged(stat, values, np.concatenate([one.rows, two.rows]))


def _merged(stat: Statistic, values: tuple[Floats, ...], rows: Floats) -> Cells | None:
    """The cells with equal values as one, or what is kept of too many."""
    prepared = exact.merged(exact.Prepared(stat, None, None, values))
    assert prepared.cells is not None
    rows = np.bincount(prepared.cells, rows, minlength=len(prepared.values[0])).astype(np.float64)
    cells = Cells(tuple(np.asarray(column, dtype=np.float64) for column in prepared.values), rows)
    if len(rows) <= MAX_CELLS:
        return cells
    entry = statistics()[stat.name]
    if entry.needs_order or entry.argument == "column" or len(values) > 2:
        return None
    return _condensed(cells.values, rows)


def _condensed(values: Sequence[Floats], rows: Floats) -> Cells:
    """A few points with the same moments: the first three of one number; means, variances, covariance of two."""
    total = rows.sum()
    means = [float((rows * column).sum() / total) for column in values]
    apart = [column - mean for column, mean in zip(values, means, strict=True)]
    spreads = [sqrt(float((rows * column**2).sum() / total)) for column in apart]
    units = [column / (spread or 1.0) for column, spread in zip(apart, spreads, strict=True)]
    if len(values) == 1:
        half = float((rows * units[0] ** 3).sum() / total) / 2  # two points: the roots of x^2 - skewness x - 1
        places = np.array([half - sqrt(1 + half**2), half + sqrt(1 + half**2)])
        share = places[1] / (places[1] - places[0])
        return Cells((means[0] + spreads[0] * places,), total * np.array([share, 1.0 - share]))
    correlation = min(max(float((rows * units[0] * units[1]).sum() / total), -1.0), 1.0)
    first = np.array([1.0, -1.0, 1.0, -1.0])
    other = np.array([1.0, 1.0, -1.0, -1.0])  # uncorrelated with the first
    second = correlation * first + sqrt(1.0 - correlation**2) * other
    return Cells((means[0] + spreads[0] * first, means[1] + spreads[1] * second), np.full(4, total / 4))
