"""One verdict per command of a spec on a table, with the numbers behind it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isnan
from typing import Any, assert_never

import numpy as np

from cuts.assess.bootstrap import intervals
from cuts.assess.learners import CLASSIFIERS, Classifier, missing_libraries
from cuts.assess.panel import PanelResult, ReferenceRows, evaluate_panel
from cuts.data.conform import conform
from cuts.data.schema import Schema
from cuts.data.table import Table
from cuts.data.units import NUMBER, Unit, spread
from cuts.lang.comparisons import Comparison, comparisons, comparisons_of
from cuts.lang.spec import (
    AllOf,
    AnyOf,
    Basis,
    Bound,
    Distribution,
    Goal,
    Implies,
    Key,
    Level,
    ModelAim,
    ModelGoal,
    Privacy,
    Quantity,
    Relation,
    RowRule,
    Spec,
    TableAim,
    TableGoal,
)
from cuts.lang.walks import columns_of, level, shares_of
from cuts.progress import Advanced, Observer
from cuts.read import exact
from cuts.read.totals import Totals

MAX_EXAMPLES = 3  # rows shown that break a rule
ALREADY_MET = "already met by the real rows"
_NOT_TRAINED = "needs classifiers trained on the table and evaluated on real rows (`--real`)"


@dataclass(frozen=True, slots=True)
class Rows:
    """How many rows satisfy a rule: of all rows, and of the rows it applies to (where its condition holds)."""

    total: int
    satisfied: int
    applicable: int
    applicable_satisfied: int
    first_violations: tuple[int, ...]  # row numbers, from 1
    examples: tuple[dict[str, Any], ...]  # those rows; empty in private programs


@dataclass(frozen=True, slots=True)
class Fact:
    """One comparison of a goal, or one number without a target.

    Where the target is a statistic of the table too, the fact is a `gap`: then `statistic`, `interval`, `real` and
    `model` are about `value - target`. `interval` is the 95 % range of the number in a new sample of as many rows
    (`assess/bootstrap.py`), `real` the number in the real table, `model` the number in the model. All numbers count the
    `unit`; a gap between two moments is a duration.
    """

    value: float
    target: float | None
    op: str | None
    tolerance: float | None
    holds: bool | None
    about: str = ""
    interval: tuple[float, float] | None = None
    real: float | None = None
    model: float | None = None
    gap: bool = False
    statistic: str = ""
    basis: Basis = "stated"  # of the tolerance
    unit: Unit = NUMBER

    @property
    def measured(self) -> float:
        """The number that decides: the value, or for a gap the value minus the target."""
        return self.value - self.target if self.gap and self.target is not None else self.value

    @property
    def measured_unit(self) -> Unit:
        """What that number counts."""
        return spread(self.unit) if self.gap else self.unit


@dataclass(frozen=True, slots=True, repr=False)
class Verdict:
    """The outcome of one command; `holds` is None when it cannot be checked from the table alone."""

    number: int
    line: int
    command: str
    title: str
    level: Level
    holds: bool | None
    rows: Rows | None = None
    facts: tuple[Fact, ...] = ()
    note: str = ""
    panel: PanelResult | None = None

    def __repr__(self) -> str:
        """The outcome in one line, without the numbers."""
        outcome = {True: "holds", False: "FAILS", None: "no verdict"}[self.holds]
        return f"<Verdict: line {self.line} {outcome}, {self.title}>"

    @property
    def is_empty(self) -> bool:
        """Whether the command is a rule that applies to no row: it holds, but nothing was checked."""
        return self.rows is not None and self.rows.applicable == 0


def verify(
    spec: Spec,
    table: Table,
    *,
    real: Table | None = None,
    reference: Table | None = None,
    model: Mapping[Key, float] | None = None,
    interval: bool = True,
    panel: Sequence[Classifier] = CLASSIFIERS,
    totals: Totals | None = None,
    advanced: Advanced = lambda _: None,
) -> tuple[Verdict, ...]:
    """One verdict per command, decided on the table's values as written.

    Each fact also shows the same number in the `real` table and in the `model`, a mapping from keys
    (`lang/comparisons.py`) to numbers. For commands about classifiers, the learners of the `panel` are trained on the
    table and tested on the `reference` rows, by default the real rows. The real table of a private program must not
    show in a verdict: `real` then raises ValueError, and the reference rows come from the private model before it was
    shaped.
    Without `interval` there is no bootstrap. `totals` are of a larger table that this one is a part of: the verdicts on
    rules and statistics are then about all of its rows. `advanced` hears of the share that is done.
    """
    if real is not None and spec.privacy is not None:
        raise ValueError("statistics of the real table of a private program are never shown")
    needed = frozenset().union(*(_needed(command) for command in spec.commands))
    typed = conform(table, spec.schema, needed) if needed else table
    measured = _Measured(typed, spec.schema, totals)
    facts = _facts(spec, measured, real, model or {}, interval)
    panels = _panels(spec, table, real if reference is None else reference, panel, advanced)
    verdicts = tuple(_verdict(command, typed, table, spec, facts, panels) for command in spec.commands)
    return verdicts if totals is None else tuple(_of_all_rows(spec, verdicts, measured, totals))


def holds(verdicts: tuple[Verdict, ...]) -> bool:
    """Whether no command fails."""
    return all(verdict.holds is not False for verdict in verdicts)


def _panels(
    spec: Spec, table: Table, reference: Table | None, learners: Sequence[Classifier], advanced: Advanced
) -> dict[int, PanelResult]:
    """By command number, the results on the reference rows of classifiers trained on the table."""
    commands = [command for command in spec.commands if isinstance(command, ModelGoal | ModelAim)]
    if not commands or reference is None or not learners or missing_libraries():
        return {}
    rows, panels = ReferenceRows(reference, spec.schema), {}
    for index, command in enumerate(commands):
        part = Observer(advanced=advanced).part(index, len(commands))
        panels[command.origin.number] = evaluate_panel(command.measure, table, rows, learners, advanced=part.advanced)
    return panels


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


@dataclass(frozen=True, slots=True, eq=False)
class _Measured:
    """The numbers of a table: from its rows, or from totals of a larger table that it is a part of."""

    table: Table
    schema: Schema
    totals: Totals | None

    def value(self, quantity: Quantity) -> float:
        """A number of the table."""
        found = None if self.totals is None else self.totals.value(quantity)
        return exact.value(quantity, self.table, self.schema) if found is None else found

    def intervals(self, quantities: Sequence[Quantity]) -> tuple[tuple[float, float] | None, ...]:
        """The range of every number in a new sample of as many rows."""
        whole = None if self.totals is None else (self.totals.rows, [self.value(quantity) for quantity in quantities])
        return intervals(quantities, self.table, self.schema, whole=whole)


def _facts(
    spec: Spec, measured: _Measured, real: Table | None, model: Mapping[Key, float], interval: bool
) -> dict[Key, Fact]:
    """The facts of all TABLE commands."""
    numbers = comparisons(spec)
    unknown = model.keys() - {number.key for number in numbers}
    if unknown:
        raise ValueError(f"the program compares no numbers named {sorted(unknown)}")
    quantities = [number.measured for number in numbers]
    rows = None if real is None else conform(real, spec.schema, frozenset().union(*map(columns_of, quantities)))
    ranges = measured.intervals(quantities) if interval else (None,) * len(quantities)
    return {
        number.key: replace(
            _fact(number, measured),
            interval=new_sample,
            real=None if rows is None else exact.value(number.measured, rows, spec.schema),
            model=model.get(number.key),
        )
        for number, new_sample in zip(numbers, ranges, strict=True)
    }


def _fact(number: Comparison, measured: _Measured) -> Fact:
    """A number of the table beside its target, if it has one."""
    value = measured.value(number.value)
    if number.target is None or number.op is None or number.tolerance is None:
        return Fact(value, None, None, None, None, statistic=number.text, unit=number.unit)
    target = measured.value(number.target)
    is_met = _within(value, number.op, target, number.tolerance)
    return Fact(
        value,
        target,
        number.op,
        number.tolerance,
        is_met,
        number.about,
        gap=number.is_gap,
        statistic=number.text,
        basis=number.basis,
        unit=number.unit,
    )


def _of_all_rows(spec: Spec, verdicts: tuple[Verdict, ...], measured: _Measured, totals: Totals) -> Iterator[Verdict]:
    """The verdicts with the rules counted over all rows, and a note where a statistic is about the first rows only."""
    counts = iter(totals.rules)
    for command, verdict in zip(spec.commands, verdicts, strict=True):
        if isinstance(command, RowRule) and verdict.rows is not None:
            count = next(counts)
            rows = replace(
                verdict.rows,
                total=totals.rows,
                satisfied=count.satisfied,
                applicable=count.applicable,
                applicable_satisfied=count.applicable_satisfied,
            )
            note = "" if rows.applicable else "applies to no row"
            yield replace(verdict, rows=rows, holds=rows.satisfied == rows.total, note=note)
        elif isinstance(command, TableGoal | TableAim) and any(
            totals.value(number.measured) is None for number in comparisons_of(command)
        ):
            note = f"measured on the first {measured.table.rows:,} of {totals.rows:,} rows"
            yield replace(verdict, note=f"{verdict.note}; {note}" if verdict.note else note)
        else:
            yield verdict


def _verdict(
    command: Bound,
    table: Table,
    written: Table,
    spec: Spec,
    facts_by_key: Mapping[Key, Fact],
    panels: Mapping[int, PanelResult],
) -> Verdict:
    """The verdict on a conformed table; `written` is the table before its types were conformed, for examples."""
    origin = command.origin
    is_met: bool | None = None
    rows: Rows | None = None
    facts: tuple[Fact, ...] = ()
    panel = panels.get(origin.number)
    note = ""
    match command:
        case RowRule():
            rows = _rows(command, table, None if spec.privacy is not None else written)
            is_met = rows.satisfied == rows.total
            note = "" if rows.applicable else "applies to no row"
        case TableGoal(goal):
            facts = tuple(facts_by_key[comparison.key] for comparison in comparisons_of(command))
            is_met = _met(goal, facts_by_key)
            note = ALREADY_MET if _met(goal, {key: _of_real(fact) for key, fact in facts_by_key.items()}) else ""
        case TableAim(direction):
            facts = (facts_by_key[command.key],)
            note = f"{direction.lower()}d: no target to meet"
        case ModelGoal(_, op, bound, tolerance):
            is_met = None if panel is None else _within(panel.deciding.value, op, bound, tolerance)
            note = _NOT_TRAINED if panel is None else _evaluated_on(spec)
        case ModelAim(direction):
            note = _NOT_TRAINED if panel is None else f"{direction.lower()}d: no target to meet"
        case Privacy():
            note = "a property of how the table was generated; `cuts ledger show` prints the budget spent"
        case _:
            assert_never(command)
    command_fields = (origin.number, origin.line, origin.text, origin.title, level(command))
    return Verdict(*command_fields, is_met, rows, facts, note, panel)


def _of_real(fact: Fact) -> Fact:
    """The fact of the real rows; without them it does not hold."""
    if fact.real is None or fact.op is None or fact.target is None or fact.tolerance is None:
        return replace(fact, holds=False)
    return replace(fact, holds=_within(fact.real, fact.op, 0.0 if fact.gap else fact.target, fact.tolerance))


def _evaluated_on(spec: Spec) -> str:
    return (
        "" if spec.privacy is None else "evaluated on rows of the private model before it was adjusted to the program"
    )


def _rows(rule: RowRule, table: Table, written: Table | None) -> Rows:
    satisfied = exact.mask(rule.pred, table)
    applicable = exact.mask(rule.pred.left, table) if isinstance(rule.pred, Implies) else np.ones_like(satisfied)
    violating = [int(row) for row in np.flatnonzero(~satisfied)[:MAX_EXAMPLES]]
    names = [name for name in table.names if name in columns_of(rule.pred)]
    return Rows(
        total=table.rows,
        satisfied=int(satisfied.sum()),
        applicable=int(applicable.sum()),
        applicable_satisfied=int((applicable & satisfied).sum()),
        first_violations=tuple(row + 1 for row in violating),
        examples=() if written is None else tuple(written.first(violating, names)),
    )


def _met(goal: Goal, facts: Mapping[Key, Fact]) -> bool:
    """Whether a goal is met according to the facts of its comparisons."""
    match goal:
        case Relation():
            return facts[goal.key].holds is True
        case Distribution():
            return all(_met(share, facts) for _, share in shares_of(goal))
        case AllOf(parts):
            return all(_met(part, facts) for part in parts)
        case AnyOf(parts):
            return any(_met(part, facts) for part in parts)
        case _:
            assert_never(goal)


def _within(value: float, op: str, target: float, tolerance: float) -> bool:
    """Whether a comparison holds up to its tolerance; False where a number is undefined."""
    if isnan(value) or isnan(target):
        return False
    rounding = 1e-12 * max(1.0, abs(target))  # numbers that differ in the last digit only are equal
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
