"""What statistics can reach under the row rules: targets out of reach, targets that exclude each other.

The ranges are outer bounds: an error here is certain, silence is no proof. Which targets exclude each other is
`logic/conflict.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf

from cuts.data.lattice import before
from cuts.data.schema import Category, Schema
from cuts.lang.printer import short
from cuts.lang.spec import (
    AllOf,
    AnyOf,
    Apply,
    ColumnValue,
    Const,
    Distribution,
    Goal,
    ModelGoal,
    Pred,
    Quantity,
    Relation,
    Spec,
    Statistic,
    TableGoal,
)
from cuts.lang.walks import statistics_of
from cuts.logic.conflict import Conflict, find_conflicts
from cuts.logic.core import Grid, build_grid, lower
from cuts.logic.diagram import NO, Store
from cuts.logic.mean_bounds import can_hold, has_sum
from cuts.logic.solve import alive
from cuts.text.diagnostic import INFEASIBLE, Diagnostic, Note
from cuts.vocab.functions import FUNCTIONS
from cuts.vocab.interval import Interval
from cuts.vocab.names import measures, statistics
from cuts.vocab.registry import Reach


class _Empty(Exception):
    """A condition no row can meet under the rules."""


def check_statistics(spec: Spec) -> tuple[Diagnostic, ...]:
    """Targets that no table can meet while its rows satisfy the rules."""
    goals = [command for command in spec.commands if isinstance(command, TableGoal)]
    if not any(isinstance(command, TableGoal | ModelGoal) for command in spec.commands):
        return ()
    space = _Space([rule.pred for rule in spec.rules], [c.goal for c in goals], spec.schema)
    found = []
    for command in spec.commands:
        if not isinstance(command, TableGoal | ModelGoal):
            continue
        why = _why_not(command, space)
        if why is not None:
            found.append(unreachable(command, why, bool(spec.rules)))
    if found:
        return tuple(found)
    rules = [rule.pred for rule in spec.rules]
    return tuple(_excluded(conflict, bool(rules)) for conflict in find_conflicts(goals, rules, spec.schema))


class _Space:
    """The rows the rules allow, ready to be narrowed by the conditions of statistics."""

    def __init__(self, rules: Sequence[Pred], goals: Sequence[Goal], schema: Schema) -> None:
        # Sums of columns are left out: fewer rules, wider bounds, still certain.
        self.rules = [rule for rule in rules if not has_sum(rule)]
        conditions = [condition for goal in goals for condition in _conditions(goal) if not has_sum(condition)]
        self.schema = schema
        self.grid: Grid = build_grid([*self.rules, *conditions], schema, coarse=True)
        formulas = [lower(pred, self.grid) for pred in (*self.rules, *conditions)]
        self.store = Store(formulas, self.grid)
        self._nodes = dict(zip((*self.rules, *conditions), self.store.roots, strict=True))
        self._all = self.store.conjunction([self._nodes[rule] for rule in self.rules])

    def where(self, *conditions: Pred | None) -> _Room:
        """The rows on which conditions hold as well."""
        known = [self._nodes[c] for c in conditions if c is not None and c in self._nodes]
        return _Room(self, self.store.conjunction([self._all, *known]))

    def where_not(self, given: Pred | None, condition: Pred) -> _Room:
        """The rows on which `given` holds and `condition` does not."""
        room = self.where(given)
        if condition not in self._nodes:
            return room
        return _Room(self, self.store.join(room.root, self.store.opposite(self._nodes[condition])))


class _Room:
    """The values columns can still take."""

    def __init__(self, space: _Space, root: int) -> None:
        self.space, self.root = space, root
        self.possible = root != NO
        self._alive = dict(zip(space.store.variables, alive(space.store, root), strict=True))

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
        column = self.space.grid.codec[name].column
        if isinstance(column, Category):
            return float(len(self.bins(name)))
        limits = self._column(name)
        if column.per_unit is not None:
            return round(limits.width * column.per_unit) + 1.0
        return inf if limits.width > 0 else 1.0

    def bins(self, name: str) -> list[int]:
        """The bins with a value in them that some row can still have."""
        grid, store = self.space.grid, self.space.store
        found = list(range(grid.size(name) - grid.can_miss(name)))
        if name in self._alive:
            classes = store.classes[store.variables.index(name)]
            found = [b for b in found if int(classes[b]) in self._alive[name]]
        if not found or not self.possible:
            raise _Empty
        return found

    def _column(self, name: str) -> Interval:
        column, bins = self.space.grid.codec[name].column, self.bins(name)
        if isinstance(column, Category):
            return Interval(float(bins[0]), float(bins[-1]))
        starts = self.space.grid.starts(name)
        if bins[-1] + 1 == len(starts):
            return Interval(starts[bins[0]], float(column.high))
        end = starts[bins[-1] + 1]
        return Interval(starts[bins[0]], end if column.per_unit is None else before(end, column.per_unit))


def attainable(value: Quantity, space: _Space) -> Interval:
    """Bounds on a number of the table when every row satisfies the rules."""
    match value:
        case Const(amount):
            return Interval(amount, amount)
        case Apply(function, args):
            return FUNCTIONS[function].reach(*(attainable(arg, space) for arg in args))
        case Statistic():
            return _statistic(value, space)
        case ColumnValue():
            raise AssertionError("a column outside a statistic is refused by the binder")


def _statistic(stat: Statistic, space: _Space) -> Interval:
    entry = statistics()[stat.name]
    room = space.where(stat.given)
    if not room.possible:
        if entry.unit == "rows":
            return Interval(0.0, 0.0)
        raise _Empty
    if entry.argument == "condition":
        (held,) = stat.args
        assert not isinstance(held, Const | ColumnValue | Apply | Statistic)
        high = 1.0 if space.where(stat.given, held).possible else 0.0
        low = 0.0 if space.where_not(stat.given, held).possible else high
        return entry.reach(Reach((Interval(low, high),), ()))
    ranges = tuple(room.range(arg) for arg in stat.args if isinstance(arg, Const | ColumnValue | Apply))
    sizes = tuple(room.size(arg.column) for arg in stat.args if isinstance(arg, ColumnValue))
    return entry.reach(Reach(ranges, sizes))


def _conditions(goal: Goal) -> Iterator[Pred]:
    """The predicates a goal's statistics are about."""
    match goal:
        case AllOf(parts) | AnyOf(parts):
            for part in parts:
                yield from _conditions(part)
        case Distribution(given=given):
            if given is not None:
                yield given
        case Relation():
            for stat in statistics_of(goal):
                if stat.given is not None:
                    yield stat.given
                for arg in stat.args:
                    if not isinstance(arg, Const | ColumnValue | Apply | Statistic):
                        yield arg


# --- goals


def _why_not(command: TableGoal | ModelGoal, space: _Space) -> str | None:
    """Why a command cannot be met, if that is certain."""
    if isinstance(command, ModelGoal):
        return _beyond_measure(command)
    return _out_of_reach(command.goal, space)


def _out_of_reach(goal: Goal, space: _Space) -> str | None:
    """Why a goal cannot be met, if that is certain."""
    match goal:
        case AllOf(parts):
            return next((why for part in parts if (why := _out_of_reach(part, space)) is not None), None)
        case AnyOf(parts):
            reasons = [_out_of_reach(part, space) for part in parts]
            return None if None in reasons else reasons[0]
        case Relation(left, op, right, tolerance):
            try:
                a, b = attainable(left, space), attainable(right, space)
            except _Empty:
                return "no row can satisfy its condition"
            if can_hold(a, op, b, tolerance):
                return None
            side = f"`{left.name}[...]`" if isinstance(left, Statistic) else "its left side"
            where = f"be {short(a.low)}" if a.low == a.high else f"lie between {short(a.low)} and {short(a.high)}"
            return f"{side} can only {where}"
        case Distribution(column, shares, _, given, tolerance):
            known = space.schema[column]
            assert isinstance(known, Category)
            try:
                possible = {known.categories[b] for b in space.where(given).bins(column)}
            except _Empty:
                return "no row can satisfy its condition"
            dead = [value for value, amount in shares if value not in possible and amount > tolerance]
            if dead:
                return f"no row can have `{column}` = `{dead[0]}`"
            unnamed = possible - {value for value, _ in shares}
            rest = 1.0 - sum(amount for _, amount in shares)
            return f"no other value of `{column}` is left for the rest" if not unnamed and rest > tolerance else None


def _beyond_measure(command: ModelGoal) -> str | None:
    """Why a bound on a measure cannot be met: it lies outside the measure's range."""
    limits = measures()[command.measure.name].range
    if can_hold(limits, command.op, Interval(command.bound, command.bound), command.tolerance):
        return None
    return f"`{command.measure.name}(...)` can only lie between {short(limits.low)} and {short(limits.high)}"


# --- what is said


def unreachable(command: TableGoal | ModelGoal, why: str, under_rules: bool) -> Diagnostic:
    """A target no table under the rules can meet."""
    move = "move the target into that range" if " can only " in why else "change the condition or the target"
    return Diagnostic(
        "unreachable-target",
        f"no table can meet this while its rows {'satisfy the rules' if under_rules else 'follow the schema'}",
        command.origin.body_span,
        why,
        f"{move}, or {'relax the row rules' if under_rules else 'widen the schema'}",
        exit_code=INFEASIBLE,
    )


def _excluded(conflict: Conflict, under_rules: bool) -> Diagnostic:
    """What is said of a conflict: of one target alone, that it is out of reach."""
    match conflict.commands:
        case (TableGoal(Relation() | Distribution()) as alone,):
            return unreachable(alone, "no mix of such rows reaches it", under_rules)
        case commands:
            return conflicting(commands, conflict.by_rules)


def conflicting(commands: Sequence[TableGoal], by_rules: bool) -> Diagnostic:
    """Commands whose statistics exclude each other, or one whose parts do."""
    first, *others = commands
    which = "both of these commands" if len(others) == 1 else "all of these commands"
    what = "keep one of them" if len(others) == 1 else "leave one of them out"
    wider = "widen their tolerances with `WITHIN`"
    return Diagnostic(
        "conflicting-statistics",
        f"no table can meet {which if others else 'all of this command'}",
        first.origin.body_span,
        "together with" if others else "its parts exclude each other",
        f"{what}, {wider}, or relax the row rules" if by_rules else f"{what}, or {wider}",
        notes=tuple(
            Note(other.origin.body_span, "this" if place == 0 else "and this") for place, other in enumerate(others)
        ),
        exit_code=INFEASIBLE,
    )
