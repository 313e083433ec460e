"""A verdict for every command of a spec on a table, with the numbers behind it."""

from __future__ import annotations

from dataclasses import dataclass
from math import isnan
from typing import Any, assert_never

import numpy as np

from cuts.data.conform import conform
from cuts.data.schema import Schema
from cuts.data.table import Table
from cuts.lang.spec import (
    AllOf,
    AnyOf,
    Bound,
    Goal,
    Implies,
    Level,
    ModelAim,
    ModelGoal,
    Privacy,
    Relation,
    RowRule,
    Spec,
    Spread,
    TableAim,
    TableGoal,
    columns_of,
    level,
)
from cuts.read import exact

EXAMPLES = 3  # counterexample rows shown


@dataclass(frozen=True, slots=True)
class Rows:
    """How many rows satisfy a rule, of all and of those it applies to (where its condition holds)."""

    total: int
    satisfied: int
    applicable: int
    applicable_satisfied: int
    first_violations: tuple[int, ...]  # row numbers, from 1
    examples: tuple[dict[str, Any], ...]  # those rows; empty in private programs


@dataclass(frozen=True, slots=True)
class Fact:
    """One comparison of a goal, or one number without a target."""

    value: float
    target: float | None
    op: str | None
    tolerance: float | None
    holds: bool | None
    about: str = ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The outcome of one command; `holds` is None when a table alone cannot tell."""

    number: int
    line: int
    command: str
    title: str
    level: Level
    holds: bool | None
    rows: Rows | None = None
    facts: tuple[Fact, ...] = ()
    note: str = ""


def verify(spec: Spec, table: Table) -> tuple[Verdict, ...]:
    """A verdict for every command, decided on the table's values as written."""
    needed = frozenset().union(*(_needed(command) for command in spec.commands))
    typed = conform(table, spec.schema, needed) if needed else table
    return tuple(_verdict(command, typed, table, spec) for command in spec.commands)


def holds(verdicts: tuple[Verdict, ...]) -> bool:
    """Whether no command fails."""
    return all(verdict.holds is not False for verdict in verdicts)


def _needed(command: Bound) -> frozenset[str]:
    match command:
        case RowRule(pred):
            return columns_of(pred)
        case TableGoal(goal):
            return columns_of(goal)
        case TableAim(_, value):
            return columns_of(value)
        case ModelGoal() | ModelAim() | Privacy():
            return frozenset()
        case _:
            assert_never(command)


def _verdict(command: Bound, table: Table, written: Table, spec: Spec) -> Verdict:
    """The verdict on a conformed table; `written` is the same as it came, for examples."""
    origin = command.origin
    held: bool | None = None
    rows: Rows | None = None
    facts: tuple[Fact, ...] = ()
    note = ""
    match command:
        case RowRule():
            rows = _rows(command, table, None if spec.privacy is not None else written)
            held = rows.satisfied == rows.total
        case TableGoal(goal):
            held, facts = _goal(goal, table, spec.schema)
        case TableAim(direction, value):
            facts = (Fact(exact.value(value, table, spec.schema), None, None, None, None),)
            note = f"{direction.lower()}d: no target to meet"
        case ModelGoal() | ModelAim():
            note = "needs classifiers trained on the table"
        case Privacy():
            note = "a promise about how the table was made, not visible in it"
        case _:
            assert_never(command)
    return Verdict(origin.number, origin.line, origin.text, origin.title, level(command), held, rows, facts, note)


def _rows(rule: RowRule, table: Table, written: Table | None) -> Rows:
    satisfied = exact.mask(rule.pred, table)
    applicable = exact.mask(rule.pred.left, table) if isinstance(rule.pred, Implies) else np.ones_like(satisfied)
    violating = [int(row) for row in np.flatnonzero(~satisfied)[:EXAMPLES]]
    names = [name for name in table.names if name in columns_of(rule.pred)]
    return Rows(
        total=table.rows,
        satisfied=int(satisfied.sum()),
        applicable=int(applicable.sum()),
        applicable_satisfied=int((applicable & satisfied).sum()),
        first_violations=tuple(row + 1 for row in violating),
        examples=() if written is None else tuple(written.first(violating, names)),
    )


def _goal(goal: Goal, table: Table, schema: Schema) -> tuple[bool, tuple[Fact, ...]]:
    match goal:
        case Relation(left, op, right, tolerance):
            value, target = exact.value(left, table, schema), exact.value(right, table, schema)
            held = _within(value, op, target, tolerance)
            return held, (Fact(value, target, op, tolerance, held),)
        case Spread(column, shares, rest, given, tolerance):
            rows = np.ones(table.rows, dtype=np.bool_) if given is None else exact.mask(given, table)
            targets = [*shares, *((("*", 1.0 - sum(share for _, share in shares)),) if rest else ())]
            known = [exact.share(column, category, rows, table) for category, _ in shares]
            values = [*known, *((1.0 - sum(known),) if rest else ())]
            facts = tuple(
                Fact(value, target, "==", tolerance, _within(value, "==", target, tolerance), f"{column} {category}")
                for (category, target), value in zip(targets, values, strict=True)
            )
            return all(fact.holds for fact in facts), facts
        case AllOf(parts) | AnyOf(parts):
            outcomes = [_goal(part, table, schema) for part in parts]
            joined = all if isinstance(goal, AllOf) else any
            return joined(held for held, _ in outcomes), tuple(fact for _, facts in outcomes for fact in facts)
        case _:
            assert_never(goal)


def _within(value: float, op: str, target: float, tolerance: float) -> bool:
    """Whether a comparison holds up to its tolerance; what is undefined does not."""
    if isnan(value) or isnan(target):
        return False
    rounding = 1e-12 * max(1.0, abs(target))  # what differs in the last digit is equal
    slack = tolerance + rounding
    match op:
        case "==":
            return abs(value - target) <= slack
        case "!=":
            return abs(value - target) > slack
        case "<=":
            return value <= target + slack
        case "<":
            return value < target + tolerance - rounding
        case ">=":
            return value >= target - slack
        case _:
            return value > target - tolerance + rounding
