"""Warnings that need rows: conditions and groups too small to verify the targets of the program."""

from __future__ import annotations

from collections.abc import Iterator
from math import sqrt
from typing import assert_never

import numpy as np

from cuts.data.conform import conform
from cuts.data.table import Table
from cuts.data.units import spread
from cuts.lang import units
from cuts.lang.printer import code
from cuts.lang.spec import (
    AllOf,
    AnyOf,
    Apply,
    ColumnValue,
    Const,
    Distribution,
    Goal,
    MeasureOf,
    ModelAim,
    ModelGoal,
    Privacy,
    Relation,
    RowRule,
    Spec,
    Statistic,
    TableAim,
    TableGoal,
)
from cuts.lang.walks import statistics_of
from cuts.read import exact
from cuts.text.diagnostic import Diagnostic, counted
from cuts.vocab.names import statistics

STANDARD_ERRORS_95 = 1.96  # half the width of a 95 % interval of the normal distribution
MIN_GROUP_ROWS = 385  # from here on the margin of error of a rate is at most 5 percentage points


def check_support(spec: Spec, table: Table) -> tuple[Diagnostic, ...]:
    """One warning per condition and group with too few rows; not for private programs, whose rows must not be read."""
    typed = conform(table, spec.schema)
    diagnostics: list[Diagnostic] = []
    for command in spec.commands:
        match command:
            case TableGoal(goal):
                for relation in _relations(goal):
                    for stat in statistics_of(relation):
                        diagnostics += _thin_condition(stat, relation, command, typed, spec)
            case ModelGoal(measure) | ModelAim(_, measure):
                diagnostics += _small_groups(measure, command, typed)
            case RowRule() | TableAim() | Privacy():
                continue
            case _:
                assert_never(command)
    return tuple(diagnostics)


def _relations(goal: Goal) -> Iterator[Relation]:
    match goal:
        case Relation():
            yield goal
        case AllOf(parts) | AnyOf(parts):
            for part in parts:
                yield from _relations(part)
        case Distribution():
            return


def _thin_condition(
    stat: Statistic, relation: Relation, command: TableGoal, table: Table, spec: Spec
) -> Iterator[Diagnostic]:
    """A mean or share over so few rows that its margin of error exceeds the tolerance."""
    tolerance = relation.tolerance
    if stat.given is None or not statistics()[stat.name].is_mean or tolerance == 0:
        return
    rows = exact.mask(stat.given, table)
    (arg,) = stat.args
    if isinstance(arg, Const | ColumnValue | Apply | Statistic):
        values = exact.numbers(arg, table, spec.schema)[rows]
        values = values[~np.isnan(values)]
    else:
        values = exact.mask(arg, table)[rows].astype(np.float64)
    margin = STANDARD_ERRORS_95 * float(values.std()) / sqrt(len(values)) if len(values) else float("inf")
    if len(values) < 2 or margin > tolerance:
        unit = spread(relation.unit)
        asked = f"you ask for {units.show(tolerance, unit, 3)}"
        known = f"the margin of error in the real data is {units.show(margin, unit, 3)}"
        why = f"{known}; {asked}" if len(values) > 1 else "too few to estimate a margin of error"
        yield rare_condition(command, stat.condition, len(values), why)


def _small_groups(measure: MeasureOf, command: ModelGoal | ModelAim, table: Table) -> Iterator[Diagnostic]:
    for name in measure.protected:
        counts = {str(v["values"]): v["counts"] for v in table.column(name).value_counts().to_pylist()}
        small = [(group, count) for group, count in counts.items() if count < MIN_GROUP_ROWS]
        if small:
            yield small_group(command, name, *min(small, key=lambda pair: pair[1]))


def rare_condition(command: TableGoal, condition: str, rows: int, why: str) -> Diagnostic:
    """A statistic whose margin of error exceeds its tolerance; `condition` is what its rows meet."""
    return Diagnostic(
        "rare-condition",
        f"too few rows meet {code(condition)} for the tolerance",
        command.origin.body_span,
        f"{counted(rows, 'row')}: {why}",
        "widen the tolerance with `WITHIN`, or use a condition that more rows meet",
        severity="warning",
    )


def small_group(command: ModelGoal | ModelAim, column: str, group: str, rows: int) -> Diagnostic:
    """A group whose rates are imprecise."""
    return Diagnostic(
        "small-group",
        f"the group `{column}` = `{group}` has only {counted(rows, 'row')}: its rates are imprecise",
        command.origin.body_span,
        f"fewer than {MIN_GROUP_ROWS} rows",
        "merge small groups in the data, or protect a column with larger groups",
        severity="warning",
    )
