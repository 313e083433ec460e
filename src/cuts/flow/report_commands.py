"""What a report says about each command: its verdict, its promise, how it was met, its numbers and its price."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from cuts.assess.render import broken_rows, percent, show_bootstrap, show_number, show_range, show_tolerance
from cuts.assess.verify import Fact, Rows, Verdict
from cuts.data.units import NUMBER
from cuts.lang import units
from cuts.lang.comparisons import comparisons_of
from cuts.lang.spec import Bound, Key, MeasureOf, ModelAim, ModelGoal, Privacy, RowRule, TableAim, TableGoal
from cuts.model.facts import Number, RuleFacts, TradeOff
from cuts.model.store import Model
from cuts.plan import Step, Way
from cuts.report.facts import CommandFacts, CommandNumber, Figure, Outcome, PanelLine, TradeOffFacts, TradeOffPoint
from cuts.report.figures import figure, share
from cuts.text.diagnostic import listed
from cuts.vocab.names import measures

_MET_BY: Mapping[Way, str] = {  # the way taken in place of the planned one
    "tilt": "the model was reweighted",
    "train": "the model was fine-tuned",
    "steer": "group rates were adjusted",
    "diagram": "rows were sampled so that they cannot break the rule, without refitting the model",
    "diagram + repair": "the model was adjusted to the rule",
    "train + diagram": "the model was trained with a penalty",
    "reject": "rows that break the rule were rejected",
    "penalty + reject": "the network was fine-tuned, and rows that break the rule were rejected",
    "penalty": "the network was fine-tuned",
    "hide": "the column was made independent of the others",
    "sharpen": "the column was made to depend on the others more clearly",
    "measure": "nothing could be done, and the command was measured only",
    "noise": "the rows were seen through noisy counts only",
}


def command_facts(
    model: Model, steps: Sequence[Step], departures: Mapping[int, Way], verdicts: Sequence[Verdict]
) -> tuple[CommandFacts, ...]:
    """One entry per command, in the order of the program."""
    known = _known_of(model, [verdict.number for verdict in verdicts])
    by_number = {step.number: step for step in steps}
    commands = {command.origin.number: command for command in model.spec.commands}
    return tuple(
        CommandFacts(
            line=verdict.line,
            command=verdict.title,
            level=verdict.level.value.lower(),
            outcome=_outcome(verdict, commands[verdict.number], model),
            promise=by_number[verdict.number].promise,
            how=_how(by_number[verdict.number], departures.get(verdict.number)),
            numbers=tuple(_numbers(verdict, commands[verdict.number], known)),
            price=known.price(verdict.number),
            note=verdict.note,
            broken_by=() if verdict.rows is None or known.is_private else tuple(broken_rows(verdict.rows)),
        )
        for verdict in verdicts
    )


def panel_lines(verdicts: Sequence[Verdict]) -> tuple[PanelLine, ...]:
    """One line per learner that was trained for a command about classifiers."""
    return tuple(
        PanelLine(
            verdict.line,
            verdict.title,
            result.learner,
            figure(result.value),
            show_bootstrap(result.interval),
            share(result.accuracy),
            result == verdict.panel.deciding,
        )
        for verdict in verdicts
        if verdict.panel is not None
        for result in verdict.panel.learners
    )


def trade_offs(model: Model) -> tuple[TradeOffFacts, ...]:
    """The trials of every command that was met step by step."""
    label = model.codec.schema.label
    utility = "closeness to the real rows" if label is None else f"accuracy of predicting `{label}`"
    if label is None and model.transcript is not None:
        utility = "closeness to the private model before any command"
    return tuple(
        TradeOffFacts(
            command.origin.line,
            command.origin.title,
            command.text if isinstance(command, TableAim) else measure_words(command.measure),
            utility,
            TradeOffPoint(curve.start.value, curve.start.utility),
            tuple(TradeOffPoint(trial.value, trial.utility) for trial in curve.trials),
            curve.chosen,
        )
        for command, curve in _curves(model)
    )


def measure_words(measure: MeasureOf) -> str:
    """What a measure is of, in words."""
    entry = measures()[measure.name]
    groups = f", groups of {listed(measure.protected)}" if measure.protected else ""
    return f"{entry.heading} of predicting `{measure.target}`{groups}"


@dataclass(frozen=True, slots=True)
class _Known:
    """What the fit knows of the commands, by their number, and of their numbers, by their key."""

    rules: Mapping[int, RuleFacts]
    numbers: Mapping[Key, Number]
    curves: Mapping[int, TradeOff]
    is_private: bool

    def real(self, value: Figure | None) -> Figure | None:
        """A number of the real rows, or None in a private program, where such rows come from the private model."""
        return None if self.is_private else value

    def price(self, number: int) -> Figure | None:
        """The share of utility that meeting a command took, if it was measured."""
        curve = self.curves.get(number)
        if curve is None or not curve.start.utility > 0:
            return None
        nearest = min(curve.trials, key=lambda trial: abs(trial.value - curve.chosen), default=curve.start)
        if abs(curve.start.value - curve.chosen) < abs(nearest.value - curve.chosen):
            nearest = curve.start
        return share(max(0.0, 1.0 - nearest.utility / curve.start.utility))


def _known_of(model: Model, numbers: Sequence[int]) -> _Known:
    facts = model.facts
    rules = [command for command in model.spec.commands if isinstance(command, RowRule)]
    by_rule = zip(rules, facts.rules, strict=True) if len(rules) == len(facts.rules) else ()
    return _Known(
        {rule.origin.number: found for rule, found in by_rule},
        {number.key: number for goal in facts.goals for number in goal.numbers},
        {command.origin.number: curve for command, curve in _curves(model)},
        model.transcript is not None,
    )


def _curves(model: Model) -> Iterator[tuple[TableAim | ModelGoal | ModelAim, TradeOff]]:
    """The curves of a model with their commands: a curve has a line, and one line may hold several commands."""
    waiting = [command for command in model.spec.commands if isinstance(command, TableAim | ModelGoal | ModelAim)]
    for curve in model.facts.trade_offs:
        command = next((each for each in waiting if each.origin.line == curve.line), None)
        if command is not None:
            waiting.remove(command)
            yield command, curve


def _outcome(verdict: Verdict, command: Bound, model: Model) -> Outcome:
    if isinstance(command, Privacy) and model.transcript is not None:
        ledger = model.transcript.ledger
        return "holds" if ledger.epsilon_spent <= ledger.terms.epsilon else "fails"
    if verdict.is_empty:
        return "no rows"
    return "measured" if verdict.holds is None else "holds" if verdict.holds else "fails"


def _how(step: Step, taken: Way | None) -> str:
    if taken is None:
        return step.how
    return f"planned: {step.how}; that did not suffice for these rows, so {_MET_BY[taken]}"


def _numbers(verdict: Verdict, command: Bound, known: _Known) -> Iterator[CommandNumber]:
    if verdict.rows is not None:
        yield from _of_rule(verdict.rows, verdict.holds, known.rules.get(verdict.number), known)
    elif isinstance(command, TableGoal | TableAim):
        for comparison, fact in zip(comparisons_of(command), verdict.facts, strict=True):
            yield _of_statistic(fact, known.numbers.get(comparison.key), known)
    elif isinstance(command, ModelGoal | ModelAim) and verdict.panel is not None:
        yield _of_classifier(verdict, command, known)


def _of_rule(rows: Rows, holds: bool | None, rule: RuleFacts | None, known: _Known) -> Iterator[CommandNumber]:
    """The share of rows that satisfy a rule, and of those that an implication applies to."""
    shares = [("rows that satisfy it", rows.satisfied, rows.total, "real", "before")]
    if 0 < rows.applicable < rows.total:
        applied = (rows.applicable_satisfied, rows.applicable, "real_applicable", "before_applicable")
        shares.append(("of the rows it applies to", *applied))
    for name, part, whole, real, before in shares:
        yield CommandNumber(
            name=name,
            real=None if rule is None else known.real(share(getattr(rule, real))),
            before=None if rule is None else share(getattr(rule, before)),
            after=Figure(part / whole, percent(part, whole)) if whole else Figure(None, "no rows"),
            target="every row",
            tolerance=None,
            range="",
            holds=holds,
        )


def _of_statistic(fact: Fact, number: Number | None, known: _Known) -> CommandNumber:
    def shown(value: float) -> Figure:
        return figure(value, show_number(value, fact))

    target = ""
    if fact.target is not None:
        target = f"{fact.op} {units.show(0.0 if fact.gap else fact.target, fact.measured_unit)}"
    return CommandNumber(
        name=fact.about or fact.statistic,
        real=None if fact.real is None else known.real(shown(fact.real)),
        before=None if number is None else shown(number.before),
        after=shown(fact.measured),
        target=target,
        tolerance=None if fact.tolerance is None else figure(fact.tolerance, show_tolerance(fact)),
        range="" if fact.interval is None else show_range(fact.interval, fact.measured_unit),
        holds=fact.holds,
    )


def _of_classifier(verdict: Verdict, command: ModelGoal | ModelAim, known: _Known) -> CommandNumber:
    assert verdict.panel is not None
    deciding, curve = verdict.panel.deciding, known.curves.get(verdict.number)
    goal = command if isinstance(command, ModelGoal) else None
    return CommandNumber(
        name=f"{measure_words(command.measure)}, by {deciding.learner}",
        real=None,
        before=None if curve is None else figure(curve.start.value),
        after=figure(deciding.value),
        target="" if goal is None else f"{goal.op} {units.show(goal.bound, NUMBER)}",
        tolerance=None if goal is None or not goal.tolerance else figure(goal.tolerance),
        range=show_bootstrap(deciding.interval),
        holds=None if goal is None else verdict.holds,
    )
