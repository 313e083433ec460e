"""What statistics can reach under the row rules: targets out of reach, targets that exclude each other.

The ranges are outer bounds: an error here is certain, silence is no proof.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf

import numpy as np

from cuts.data.schema import Category, Integer, Schema
from cuts.data.table import Floats
from cuts.lang.printer import number
from cuts.lang.spec import (
    AllOf,
    AnyOf,
    Apply,
    ColumnValue,
    Const,
    Goal,
    Not,
    Pred,
    Quantity,
    Relation,
    Spec,
    Spread,
    Statistic,
    TableGoal,
)
from cuts.logic.chances import condition
from cuts.logic.core import Grid, Variable, build_grid, comparisons
from cuts.logic.diagram import Diagram, compile_rules
from cuts.text.diagnostic import INFEASIBLE, Diagnostic, Note
from cuts.vocab.functions import FUNCTIONS
from cuts.vocab.interval import EVERYTHING, Interval
from cuts.vocab.names import statistics
from cuts.vocab.registry import Reach


class _Empty(Exception):
    """A condition no row can meet under the rules."""


def check_statistics(spec: Spec) -> tuple[Diagnostic, ...]:
    """Targets that no table can meet while its rows satisfy the rules."""
    rules = [rule.pred for rule in spec.rules]
    goals = [command for command in spec.commands if isinstance(command, TableGoal)]
    found = []
    for command in goals:
        try:
            why = _out_of_reach(command.goal, rules, spec.schema)
        except _Empty:
            why = "no row can satisfy its condition"
        if why is not None:
            found.append(unreachable(command, why))
    return tuple(found) if found else tuple(_conflicts(goals))


def attainable(value: Quantity, rules: Sequence[Pred], schema: Schema) -> Interval:
    """Bounds on a number of the table when every row satisfies the rules."""
    match value:
        case Const(amount):
            return Interval(amount, amount)
        case Apply(function, args):
            return FUNCTIONS[function].reach(*(attainable(arg, rules, schema) for arg in args))
        case Statistic():
            return _statistic(value, rules, schema)
        case ColumnValue():
            raise AssertionError("a column outside a statistic is refused by the binder")


def _statistic(stat: Statistic, rules: Sequence[Pred], schema: Schema) -> Interval:
    given = [*rules, *(() if stat.given is None else (stat.given,))]
    entry = statistics()[stat.name]
    room = _Room(given, schema)
    if entry.argument == "condition":
        (held,) = stat.args
        assert not isinstance(held, Const | ColumnValue | Apply | Statistic)
        low, high = 1.0, 0.0
        if _Room([*given, Not(held)], schema, strict=False).possible:
            low = 0.0
        if _Room([*given, held], schema, strict=False).possible:
            high = 1.0
        return entry.reach(Reach((Interval(min(low, high), high),), ()))
    ranges = tuple(room.range(arg) for arg in stat.args if isinstance(arg, Const | ColumnValue | Apply))
    sizes = tuple(room.size(arg.column) for arg in stat.args if isinstance(arg, ColumnValue))
    return entry.reach(Reach(ranges, sizes))


class _Room:
    """The values columns can still take under some predicates."""

    def __init__(self, preds: Sequence[Pred], schema: Schema, *, strict: bool = True) -> None:
        # Sums of columns are left out: fewer rules, wider bounds, still certain.
        simple = [pred for pred in preds if not _has_sum(pred)]
        self.schema = schema
        self.grid: Grid = build_grid(simple, schema, coarse=True)
        self.diagram: Diagram = compile_rules(simple, self.grid)
        self.possible = self.diagram.satisfiable
        if strict and not self.possible:
            raise _Empty
        even: dict[Variable, Floats] = {
            name: np.full((1, self.grid.size(name)), 1.0 / self.grid.size(name)) for name in schema.names
        }
        self._given = condition(self.diagram, even) if self.possible else {}

    def range(self, value: Quantity) -> Interval:
        """Bounds on a number of one row."""
        match value:
            case Const(amount):
                return Interval(amount, amount)
            case ColumnValue(column):
                return self._column(column)
            case Apply(function, args):
                return FUNCTIONS[function].reach(*(self.range(arg) for arg in args))
            case Statistic():
                raise AssertionError("a statistic of a statistic is refused by the binder")

    def size(self, name: str) -> float:
        """How many values a column can still take."""
        column = self.schema[name]
        if isinstance(column, Category):
            return float(len(self.bins(name)))
        limits = self._column(name)
        return limits.width + 1 if isinstance(column, Integer) else inf if limits.width > 0 else 1.0

    def bins(self, name: str) -> list[int]:
        """The bins with a value in them that some row can still have."""
        held = self._given[name][0] > 0
        last = self.grid.size(name) - self.grid.can_miss(name)
        found = [int(b) for b in np.flatnonzero(held[:last])]
        if not found:
            raise _Empty
        return found

    def _column(self, name: str) -> Interval:
        column, bins = self.schema[name], self.bins(name)
        if isinstance(column, Category):
            return Interval(float(bins[0]), float(bins[-1]))
        starts = self.grid.starts(name)
        if bins[-1] + 1 == len(starts):
            return Interval(starts[bins[0]], float(column.high))
        end = starts[bins[-1] + 1]
        return Interval(starts[bins[0]], end - 1.0 if isinstance(column, Integer) else end)


def _has_sum(pred: Pred) -> bool:
    return any(len(leaf.form.terms) > 1 for leaf in comparisons(pred))


# --- goals


def _out_of_reach(goal: Goal, rules: Sequence[Pred], schema: Schema) -> str | None:
    """Why a goal cannot be met, if that is certain."""
    match goal:
        case AllOf(parts):
            return next((why for part in parts if (why := _out_of_reach(part, rules, schema)) is not None), None)
        case AnyOf(parts):
            reasons = [_out_of_reach(part, rules, schema) for part in parts]
            return None if None in reasons else reasons[0]
        case Relation(left, op, right, tolerance):
            a, b = attainable(left, rules, schema), attainable(right, rules, schema)
            if _can_hold(a, op, b, tolerance):
                return None
            side, reach = ("right side", b) if isinstance(left, Const) else ("left side", a)
            return f"its {side} can only lie between {_show(reach.low)} and {_show(reach.high)}"
        case Spread(column, shares, _, given, tolerance):
            room = _Room([*rules, *(() if given is None else (given,))], schema)
            known = schema[column]
            assert isinstance(known, Category)
            left_out = set(known.categories) - {known.categories[b] for b in room.bins(column)}
            dead = [value for value, amount in shares if value in left_out and amount > tolerance]
            return f"no row can have `{column}` = `{dead[0]}`" if dead else None


def _can_hold(a: Interval, op: str, b: Interval, tolerance: float) -> bool:
    match op:
        case "==":
            return a.low <= b.high + tolerance and b.low <= a.high + tolerance
        case "<=":
            return a.low <= b.high + tolerance
        case "<":
            return a.low < b.high + tolerance
        case ">=":
            return a.high >= b.low - tolerance
        case ">":
            return a.high > b.low - tolerance
        case _:
            return not (a.low == a.high == b.low == b.high)


# --- statistics against each other


def _conflicts(goals: Sequence[TableGoal]) -> Iterator[Diagnostic]:
    """Pairs of commands that want one statistic in two places; on a line, pairs are enough."""
    wanted = [(command, stat, where) for command in goals for stat, where in _targets(command.goal)]
    for index, (command, stat, where) in enumerate(wanted):
        for earlier, same, elsewhere in wanted[:index]:
            apart = where.low > elsewhere.high or elsewhere.low > where.high
            if stat == same and apart and earlier is not command:
                yield conflicting(earlier, command)


def _targets(goal: Goal) -> Iterator[tuple[Statistic, Interval]]:
    """What a goal certainly demands of single statistics."""
    match goal:
        case AllOf(parts):
            for part in parts:
                yield from _targets(part)
        case Relation(Statistic() as stat, op, Const(bound), tolerance):
            yield stat, _target(op, bound, tolerance)
        case Relation(Const(bound), op, Statistic() as stat, tolerance):
            mirrored = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}.get(op, op)
            yield stat, _target(mirrored, bound, tolerance)
        case _:
            return


def _target(op: str, bound: float, tolerance: float) -> Interval:
    match op:
        case "==":
            return Interval(bound - tolerance, bound + tolerance)
        case "<" | "<=":
            return Interval(-inf, bound + tolerance)
        case ">" | ">=":
            return Interval(bound - tolerance, inf)
        case _:
            return EVERYTHING


# --- what is said


def unreachable(command: TableGoal, why: str) -> Diagnostic:
    """A target no table under the rules can meet."""
    return Diagnostic(
        "unreachable-target",
        "no table can meet this while its rows satisfy the rules",
        command.origin.body_span,
        why,
        "move the target into that range, or relax the row rules",
        exit_code=INFEASIBLE,
    )


def conflicting(one: TableGoal, other: TableGoal) -> Diagnostic:
    """Two targets for one statistic."""
    return Diagnostic(
        "conflicting-statistics",
        "no table can meet both of these commands",
        one.origin.body_span,
        "together with",
        "keep one of them, or widen their tolerances with `WITHIN`",
        notes=(Note(other.origin.body_span, "this"),),
        exit_code=INFEASIBLE,
    )


def _show(bound: float) -> str:
    return number(float(f"{bound:.6g}")) if abs(bound) < inf else ("minus infinity" if bound < 0 else "infinity")
