"""Warnings only rows can give: conditions and groups too small to certify what the program asks of them."""

from __future__ import annotations

from collections.abc import Iterator
from math import sqrt

import numpy as np

from cuts.data.conform import conform
from cuts.data.table import Table
from cuts.lang.printer import short
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
    Relation,
    Spec,
    Statistic,
    TableGoal,
    statistics_of,
)
from cuts.read import exact
from cuts.text.diagnostic import Diagnostic, counted
from cuts.vocab.names import statistics

CONFIDENCE = 1.96  # standard errors on each side of a 95 % interval
SMALLEST_GROUP = 385  # rows for a rate known to five points either way


def check_support(spec: Spec, table: Table) -> tuple[Diagnostic, ...]:
    """Conditions and groups with too few rows; not for private programs, whose rows must not be read."""
    typed = conform(table, spec.schema)
    found: list[Diagnostic] = []
    for command in spec.commands:
        match command:
            case TableGoal(goal):
                for relation in _relations(goal):
                    for stat in statistics_of(relation):
                        found += _thin_condition(stat, relation.tolerance, command, typed, spec)
            case ModelGoal(measure) | ModelAim(_, measure):
                found += _small_groups(measure, command, typed)
            case _:
                pass
    return tuple(found)


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
    stat: Statistic, tolerance: float, command: TableGoal, table: Table, spec: Spec
) -> Iterator[Diagnostic]:
    """A mean or share over so few rows that chance alone moves it by more than the tolerance."""
    if stat.given is None or not statistics()[stat.name].is_mean or tolerance == 0:
        return
    rows = exact.mask(stat.given, table)
    (arg,) = stat.args
    if isinstance(arg, Const | ColumnValue | Apply | Statistic):
        values = exact.numbers(arg, table, spec.schema)[rows]
        values = values[~np.isnan(values)]
    else:
        values = exact.mask(arg, table)[rows].astype(np.float64)
    spread = CONFIDENCE * float(values.std()) / sqrt(len(values)) if len(values) else float("inf")
    if len(values) < 2 or spread > tolerance:
        yield rare_condition(command, len(values), spread, tolerance)


def _small_groups(measure: MeasureOf, command: ModelGoal | ModelAim, table: Table) -> Iterator[Diagnostic]:
    for name in measure.protected:
        counts = {str(v["values"]): v["counts"] for v in table.column(name).value_counts().to_pylist()}
        small = [(group, count) for group, count in counts.items() if count < SMALLEST_GROUP]
        if small:
            yield small_group(command, name, *min(small, key=lambda pair: pair[1]))


def rare_condition(command: TableGoal, rows: int, spread: float, tolerance: float) -> Diagnostic:
    """A statistic whose tolerance its rows cannot certify."""
    return Diagnostic(
        "rare-condition",
        "too few rows meet the condition to certify the tolerance",
        command.origin.body_span,
        f"{counted(rows, 'row')}: known to about {short(spread, 3)}, asked to {short(tolerance, 3)}",
        "widen the tolerance with `WITHIN`, or ask of a larger group",
        severity="warning",
    )


def small_group(command: ModelGoal | ModelAim, column: str, group: str, rows: int) -> Diagnostic:
    """A group whose rates are mostly chance."""
    return Diagnostic(
        "small-group",
        f"the group `{column}` = `{group}` has only {rows} rows: its gap cannot be certified",
        command.origin.body_span,
        f"fewer than {SMALLEST_GROUP} rows",
        "merge small groups in the data, or protect a column with larger ones",
        severity="warning",
    )
