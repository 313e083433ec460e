"""One command to its bound form: by level, with its weight, tolerance and options; every problem is reported."""

from __future__ import annotations

from cuts.data.units import NUMBER
from cuts.lang import goals, models, printer, quantities, rows, syntax
from cuts.lang.domain import check_domain
from cuts.lang.levels import is_comparison, kind_of, level_of
from cuts.lang.options import (
    WrittenTolerance,
    by_key,
    missing_argument,
    number_option,
    tolerance_option,
    word_option,
    wrong_arguments,
)
from cuts.lang.privacy import EXAMPLE, KIND, privacy
from cuts.lang.scope import Scope
from cuts.lang.spec import (
    Bound,
    Direction,
    Level,
    ModelAim,
    ModelGoal,
    Origin,
    RowRule,
    TableAim,
    TableGoal,
)
from cuts.lang.syntax import Command, Kind
from cuts.lang.tolerance import GAP_TOLERANCE
from cuts.lang.walks import with_keys
from cuts.text.diagnostic import Diagnostic
from cuts.text.source import Source
from cuts.vocab.names import measures
from cuts.vocab.registry import LEARNER_OPTIONS

DEFAULT_BUDGET = 0.02  # share of the utility that an aim may cost, unless it closes a gap between groups
_METHODS = {
    Level.ROW: ("diagram", "penalty"),
    Level.TABLE: ("tilt", "penalty"),
    Level.MODEL: ("ridge", "unrolled"),
}


def bind_command(command: Command, number: int, source: Source, scope: Scope) -> Bound | None:
    """The meaning of the command with this number (from 1) in `source`; nothing after reporting what is wrong."""
    return _CommandBinder(command, number, source, scope).bound()


class _CommandBinder:
    """Binds one command."""

    def __init__(self, command: Command, number: int, source: Source, scope: Scope) -> None:
        self.command = command
        self.scope = scope
        line, _ = source.place(command.span.start)
        condition = command.body.left.span if isinstance(command.body, syntax.Implies) else None
        body = printer.expression(command.body)
        title = body if command.action == "ENFORCE" else f"{command.action}: {body}"
        text = printer.command(command)
        self.origin = Origin(number, line, command.span, command.body.span, text, title, condition)
        self.before = len(scope.diagnostics)

    def bound(self) -> Bound | None:
        """The bound command, or nothing after reporting why."""
        private = self.command.kind == "DIFFERENTIAL PRIVACY"
        level = Level.PRIVACY if private else level_of(self.command.body)
        self._check_kind(level)
        self._check_action(level)
        if level is Level.PRIVACY:
            return self._privacy()
        weight = self._weight()
        match level:
            case Level.ROW:
                return self._row(weight)
            case Level.TABLE:
                return self._table(weight)
            case _:
                return self._model(weight)

    # --- one method per level

    def _row(self, weight: float | None) -> RowRule | None:
        body = self._expr()
        if self._direction() is not None and not is_comparison(body):
            return None
        pred = rows.predicate(body, self.scope)
        mode = self._word("mode", ("repair", "condition"))
        method = self._method(Level.ROW)
        self._check_options("mode", "method")
        if self.command.tolerance is not None:
            self.scope.add(no_tolerance(self.command))
        if pred is not None:
            check_domain(pred, body, self.scope)
        if pred is None or self._failed():
            return None
        return RowRule(pred, self.origin, "condition" if mode == "condition" else "repair", method, weight)

    def _table(self, weight: float | None) -> TableGoal | TableAim | None:
        method = self._method(Level.TABLE)
        tolerance = self._tolerance()
        direction = self._direction()
        if direction is None:
            goal = goals.goal(self._expr(), self.scope, tolerance)
            self._check_options("tol", "method")
            if goal is None or self._failed():
                return None
            return TableGoal(with_keys(goal, self.origin.number), self.origin, method, weight)
        if is_comparison(self._expr()):
            self._not_a_number()
            return None
        value = quantities.quantity(self._expr(), self.scope)
        budget = self._budget()
        self._check_options("budget", "method")
        if value is None or self._failed():
            return None
        text = printer.expression(self._expr())
        limit = DEFAULT_BUDGET if budget is None else budget
        return TableAim(direction, value.value, self.origin, limit, method, weight, text, value.unit)

    def _model(self, weight: float | None) -> ModelGoal | ModelAim | None:
        method = self._method(Level.MODEL)
        tolerance = self._tolerance()
        direction = self._direction()
        parts = models.split(self._expr(), self.scope)
        if parts is None:
            return None
        call, op, bound = parts
        learner = tuple(o for o in self.command.options if o.key in LEARNER_OPTIONS)
        merged = syntax.Call(call.name, call.args, (*call.options, *learner), call.span, spelling=call.spelling)
        measure = models.measure(merged, self.scope)
        if direction is None:
            self._check_options("tol", "method", *LEARNER_OPTIONS)
            if op is None or bound is None:
                self.scope.add(goals.needs_comparison(call, self.scope.schema))
                return None
            if measure is None or self._failed():
                return None
            slack = tolerance.counting(NUMBER, self.scope) if tolerance is not None else None
            if self._failed():
                return None
            default = GAP_TOLERANCE if op == "==" else 0.0
            return ModelGoal(measure, op, bound, default if slack is None else slack, self.origin, method, weight)
        if op is not None:
            self._not_a_number()
        if direction == "MAXIMIZE" and call.name in measures() and measures()[call.name].kind == "FAIRNESS":
            self.scope.add(
                action_mismatch(self.command, "a fairness gap can be minimised or bounded, not maximised", "MINIMIZE")
            )
        budget = self._budget()
        self._check_options("budget", "method", *LEARNER_OPTIONS)
        if measure is None or self._failed():
            return None
        is_gap = measures()[measure.name].kind == "FAIRNESS"  # it ends at 0; nobody stated another limit
        limit = DEFAULT_BUDGET if budget is None and not is_gap else budget
        return ModelAim(direction, measure, self.origin, limit, method, weight)

    def _privacy(self) -> Bound | None:
        body = self.command.body
        if self.command.weight is not None:
            self.scope.add(bad_weight(self.command, "a privacy command has no weight"))
        if self.command.tolerance is not None:
            self.scope.add(no_tolerance(self.command))
        if not isinstance(body, syntax.Settings):
            self.scope.add(missing_argument(KIND, "EPSILON", body.span, EXAMPLE))
            return None
        return privacy((*body.options, *self.command.options), self.scope, self.origin)

    # --- kind and action

    def _check_kind(self, level: Level) -> None:
        kind, body = self.command.kind, self.command.body
        if kind is None:
            return
        right = kind_of(body, level, kind)
        if kind != right:
            self.scope.add(kind_mismatch(self.command, kind, right))

    def _check_action(self, level: Level) -> None:
        action = self.command.action
        if level is Level.PRIVACY and action != "ENSURE":
            self.scope.add(action_mismatch(self.command, "a privacy command begins with ENSURE", "ENSURE"))
        elif level is not Level.PRIVACY and action == "ENSURE":
            self.scope.add(action_mismatch(self.command, "ENSURE is for privacy only", "ENFORCE"))
        elif level is Level.ROW and self._direction() is not None:
            if is_comparison(self._expr()):
                self._not_a_number()
            else:
                self.scope.add(needs_number(self.command))

    def _direction(self) -> Direction | None:
        action = self.command.action
        return action if action == "MINIMIZE" or action == "MAXIMIZE" else None

    # --- weight, tolerance and options

    def _expr(self) -> syntax.Expr:
        assert not isinstance(self.command.body, syntax.Settings)
        return self.command.body

    def _weight(self) -> float | None:
        weight = self.command.weight
        if weight is None:
            return None
        if isinstance(weight, syntax.Number) and weight.value >= 0:
            return weight.value
        self.scope.add(bad_weight(self.command, "a weight must be a number of at least 0"))
        return None

    def _tolerance(self) -> WrittenTolerance | None:
        written = self.command.tolerance
        option = self._option("tol")
        if written is not None and option is not None:
            self.scope.add(wrong_arguments("the tolerance is given twice", option.span, "keep `WITHIN`, remove `tol`"))
        if option is not None:
            return tolerance_option(option, self.scope)
        if written is None:
            return None
        return tolerance_option(syntax.Option("WITHIN", written, written.span), self.scope)

    def _budget(self) -> float | None:
        option = self._option("budget")
        budget = number_option(option, self.scope, 0.0, 1.0) if option is not None else None
        if self.command.tolerance is not None:
            self.scope.add(no_tolerance(self.command))
        return budget

    def _method(self, level: Level) -> str | None:
        return self._word("method", _METHODS[level])

    def _word(self, key: str, words: tuple[str, ...]) -> str | None:
        option = self._option(key)
        return None if option is None else word_option(option, words, self.scope)

    def _option(self, key: str) -> syntax.Option | None:
        return next((option for option in self.command.options if option.key == key), None)

    def _check_options(self, *known: str) -> None:
        by_key(self.command.options, known, "this command", self.scope)

    def _not_a_number(self) -> None:
        title = f"{self.command.action} needs a number, not a comparison"
        self.scope.add(action_mismatch(self.command, title, "ENFORCE"))

    def _failed(self) -> bool:
        return self.scope.failed_since(self.before)


# --- what is wrong


def kind_mismatch(command: Command, written: Kind, right: Kind) -> Diagnostic:
    """A kind that does not fit the expression."""
    return Diagnostic(
        "kind-mismatch",
        f"this is not {'an' if written[0] in 'IU' else 'a'} {written} command",
        command.kind_span,
        f"the expression makes it {right}",
        f"write `{right}:`, or omit the kind",
    )


def action_mismatch(command: Command, title: str, right: str) -> Diagnostic:
    """An action that does not fit the expression."""
    return Diagnostic("action-mismatch", title, command.action_span, f"not {command.action}", f"write `{right}:` here")


def needs_number(command: Command) -> Diagnostic:
    """MINIMIZE or MAXIMIZE of a value of rows."""
    body = printer.expression(command.body)
    return Diagnostic(
        "action-mismatch",
        f"{command.action} needs a number of the whole table",
        command.body.span,
        "one value per row",
        f"for its mean, write {printer.code(f'{command.action}: E[{body}]')}",
    )


def no_tolerance(command: Command) -> Diagnostic:
    """A tolerance where there is nothing to compare within one."""
    span = command.tolerance.span if command.tolerance is not None else command.span
    return Diagnostic(
        "bad-option",
        "only an enforced statistic or measure has a tolerance",
        span,
        "no tolerance here",
        "remove `WITHIN`",
    )


def bad_weight(command: Command, title: str) -> Diagnostic:
    """A PARAM that is no weight."""
    span = command.weight.span if command.weight is not None else command.span
    return Diagnostic("bad-weight", title, span, "not a weight", "remove `PARAM`: weights are chosen automatically")
