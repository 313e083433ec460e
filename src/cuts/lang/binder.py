"""A program and a schema to a typed `Spec`: each command to its level, every problem reported at once."""

from __future__ import annotations

from cuts.data.schema import Schema
from cuts.lang import models, printer, rows, syntax, tables
from cuts.lang.domain import check_domain
from cuts.lang.lets import expand_lets
from cuts.lang.options import number_option, word_option
from cuts.lang.placeholders import open_placeholder
from cuts.lang.privacy import (
    EXAMPLE,
    KIND,
    asks_for_domain,
    privacy,
    private_schema,
    unknown_domain,
    without_values,
)
from cuts.lang.rewrite import nodes
from cuts.lang.scope import Scope
from cuts.lang.spec import (
    Bound,
    Direction,
    Level,
    ModelAim,
    ModelGoal,
    Origin,
    Pred,
    Privacy,
    RowRule,
    Spec,
    TableAim,
    TableGoal,
)
from cuts.lang.syntax import Command, Kind, Program
from cuts.lang.tolerance import GAP_TOLERANCE
from cuts.lang.walks import with_keys
from cuts.text.diagnostic import CutsError, Diagnostic, has_errors, nearest
from cuts.vocab.functions import NAMED_FUNCTIONS
from cuts.vocab.names import measures
from cuts.vocab.registry import LEARNER_OPTIONS

DEFAULT_BUDGET = 0.02
_METHODS = {
    Level.ROW: ("diagram", "penalty"),
    Level.TABLE: ("tilt", "penalty"),
    Level.MODEL: ("ridge", "unrolled"),
}


def bind(program: Program, schema: Schema) -> Spec:
    """The program's meaning for tables of `schema`; raises `CutsError` with every problem found.

    >>> from cuts.data.schema import Integer
    >>> from cuts.lang.parser import parse
    >>> bind(parse("SYNTHESIZE: t; ENFORCE: age > 35; END;"), Schema("t", (Integer("age", 17, 90),))).rules[0].pred
    LinearCompare(form=Linear(terms=(('age', 1.0),)), op='>', bound=35.0)
    """
    spec, diagnostics = bind_all(program, schema)
    if spec is None:
        raise CutsError(diagnostics, program.source)
    return spec


def bind_all(program: Program, schema: Schema) -> tuple[Spec | None, tuple[Diagnostic, ...]]:
    """The spec, if there are no errors, and all errors and warnings in order of place."""
    scope = Scope(schema)
    for hole in nodes(program.statements):
        if isinstance(hole, syntax.Placeholder):
            scope.add(open_placeholder(hole))
    if scope.found:
        return None, tuple(scope.found)
    refused = refused_schema(program, schema)
    if refused is not None:
        return None, (refused,)  # alone: other messages could show what the private rows hold
    if schema.provenance == "inferred" and any(isinstance(c.body, syntax.Settings) for c in program.commands):
        return None, _privacy_alone(program, scope)
    expanded = expand_lets(program, scope)
    bound = [_Binder(command, number, program, scope).bound() for number, command in expanded]
    for second in [c for _, c in expanded if isinstance(c.body, syntax.Settings)][1:]:
        scope.add(duplicate_privacy(second))
    found = tuple(sorted(scope.found, key=lambda d: d.span.start if d.span is not None else 0))
    if has_errors(found):
        return None, found
    return Spec(schema, tuple(command for command in bound if command is not None)), found


def refused_schema(program: Program, schema: Schema | None) -> Diagnostic | None:
    """Why a private program cannot use a schema read from the rows (`None` if it still would have to be read)."""
    private = next((c for c in program.commands if isinstance(c.body, syntax.Settings)), None)
    if private is None or (schema is not None and (schema.provenance != "inferred" or asks_for_domain(private))):
        return None
    return private_schema(program.data, private.span, schema)


def bind_privacy(program: Program, schema: Schema) -> Privacy | None:
    """The privacy command alone, which needs no more of a schema than its names; `CutsError` if it is at fault."""
    scope = Scope(schema)
    bound = _bound_privacy(program, scope)
    if scope.found:
        raise CutsError(scope.found, program.source)
    return bound


def _bound_privacy(program: Program, scope: Scope) -> Privacy | None:
    for number, command in enumerate(program.commands, start=1):
        if isinstance(command.body, syntax.Settings):
            bound = _Binder(command, number, program, scope).bound()
            return bound if isinstance(bound, Privacy) else None
    return None


def _privacy_alone(program: Program, scope: Scope) -> tuple[Diagnostic, ...]:
    """What is wrong with the privacy command; if nothing is, that the others wait for the domain to be found."""
    private = _bound_privacy(program, scope)
    said = bind_all(program, without_values(scope.schema))[1]
    names = [each for each in said if each.code == "unknown-column" and each not in scope.found]
    return (*scope.found, *names, *(() if private is None else (unknown_domain(private),)))


def bind_predicate(expr: syntax.Expr, schema: Schema) -> Pred:
    """The predicate of one expression alone, as `--where` takes it."""
    scope = Scope(schema)
    held = rows.predicate(expr, scope)
    if held is None:
        raise CutsError(scope.found)
    return held


class _Binder:
    """Binds one command."""

    def __init__(self, command: Command, number: int, program: Program, scope: Scope) -> None:
        self.command = command
        self.scope = scope
        line, _ = program.source.place(command.span.start)
        condition = command.body.left.span if isinstance(command.body, syntax.Implies) else None
        body = printer.expression(command.body)
        title = body if command.action == "ENFORCE" else f"{command.action}: {body}"
        text = printer.command(command)
        self.origin = Origin(number, line, command.span, command.body.span, text, title, condition)
        self.before = len(scope.found)

    def bound(self) -> Bound | None:
        """The bound command, or nothing after reporting why."""
        private = self.command.kind == "DIFFERENTIAL PRIVACY"
        level = Level.PRIVACY if private else _level(self.command.body)
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

    # --- one method a level

    def _row(self, weight: float | None) -> RowRule | None:
        body = self._expr()
        if self._direction() is not None and not _compares(body):
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
            goal = tables.goal(self._expr(), self.scope, tolerance)
            self._check_options("tol", "method")
            if goal is None or self._failed():
                return None
            return TableGoal(with_keys(goal, self.origin.number), self.origin, method, weight)
        if _compares(self._expr()):
            self._not_a_number()
            return None
        value = tables.quantity(self._expr(), self.scope)
        budget = self._budget()
        self._check_options("budget", "method")
        if value is None or self._failed():
            return None
        text = printer.expression(self._expr())
        return TableAim(direction, value, self.origin, budget, method, weight, text)

    def _model(self, weight: float | None) -> ModelGoal | ModelAim | None:
        method = self._method(Level.MODEL)
        tolerance = self._tolerance()
        direction = self._direction()
        found = models.split(self._expr(), self.scope)
        if found is None:
            return None
        call, op, bound = found
        learner = tuple(o for o in self.command.options if o.key in LEARNER_OPTIONS)
        merged = syntax.Call(call.name, call.args, (*call.options, *learner), call.span, spelling=call.spelling)
        measure = models.measure(merged, self.scope)
        if direction is None:
            self._check_options("tol", "method", *LEARNER_OPTIONS)
            if op is None or bound is None:
                self.scope.add(tables.needs_comparison(call))
                return None
            if measure is None or self._failed():
                return None
            slack = tolerance if tolerance is not None else GAP_TOLERANCE if op == "==" else 0.0
            return ModelGoal(measure, op, bound, slack, self.origin, method, weight)
        if op is not None:
            self._not_a_number()
        if direction == "MAXIMIZE" and call.name in measures() and measures()[call.name].kind == "FAIRNESS":
            self.scope.add(action_mismatch(self.command, "a gap between groups is minimised or bounded", "MINIMIZE"))
        budget = self._budget()
        self._check_options("budget", "method", *LEARNER_OPTIONS)
        if measure is None or self._failed():
            return None
        return ModelAim(direction, measure, self.origin, budget, method, weight)

    def _privacy(self) -> Bound | None:
        body = self.command.body
        if self.command.weight is not None:
            self.scope.add(bad_weight(self.command, "privacy is a promise, it has no weight"))
        if self.command.tolerance is not None:
            self.scope.add(no_tolerance(self.command))
        if not isinstance(body, syntax.Settings):
            self.scope.add(models.missing_argument(KIND, "EPSILON", body.span, EXAMPLE))
            return None
        return privacy((*body.options, *self.command.options), self.scope, self.origin)

    # --- kind and action

    def _check_kind(self, level: Level) -> None:
        kind, body = self.command.kind, self.command.body
        if kind is None:
            return
        right = _kind(body, level, kind)
        if kind != right:
            self.scope.add(kind_mismatch(self.command, kind, right))

    def _check_action(self, level: Level) -> None:
        action = self.command.action
        if level is Level.PRIVACY and action != "ENSURE":
            self.scope.add(action_mismatch(self.command, "privacy is ensured", "ENSURE"))
        elif level is not Level.PRIVACY and action == "ENSURE":
            self.scope.add(action_mismatch(self.command, "only privacy is ensured", "ENFORCE"))
        elif level is Level.ROW and self._direction() is not None:
            if _compares(self._expr()):
                self.scope.add(action_mismatch(self.command, "a condition on rows holds or fails", "ENFORCE"))
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
        self.scope.add(bad_weight(self.command, "a weight is a number of at least 0"))
        return None

    def _tolerance(self) -> float | None:
        written = self.command.tolerance
        option = self._option("tol")
        if written is not None and option is not None:
            self.scope.add(tables.wrong_arguments("the tolerance is given twice", option.span, "keep `WITHIN`"))
        if option is not None:
            return number_option(option, self.scope, 0.0)
        if written is None:
            return None
        return number_option(syntax.Option("WITHIN", written, written.span), self.scope, 0.0)

    def _budget(self) -> float:
        option = self._option("budget")
        found = number_option(option, self.scope, 0.0, 1.0) if option is not None else None
        if self.command.tolerance is not None:
            self.scope.add(no_tolerance(self.command))
        return DEFAULT_BUDGET if found is None else found

    def _method(self, level: Level) -> str | None:
        return self._word("method", _METHODS[level])

    def _word(self, key: str, words: tuple[str, ...]) -> str | None:
        option = self._option(key)
        return None if option is None else word_option(option, words, self.scope)

    def _option(self, key: str) -> syntax.Option | None:
        return next((option for option in self.command.options if option.key == key), None)

    def _check_options(self, *known: str) -> None:
        seen: set[str] = set()
        for option in self.command.options:
            if option.key not in known:
                self.scope.add(models.unknown_option(option, known, "this command"))
            elif option.key in seen:
                self.scope.add(tables.wrong_arguments(f"`{option.key}` is given twice", option.span))
            seen.add(option.key)

    def _not_a_number(self) -> None:
        what = f"{self.command.action} needs a number, not a comparison"
        self.scope.add(action_mismatch(self.command, what, "ENFORCE"))

    def _failed(self) -> bool:
        return has_errors(self.scope.found[self.before :])


# --- levels


def _level(body: syntax.Expr | syntax.Settings) -> Level:
    if isinstance(body, syntax.Settings):
        return Level.PRIVACY
    if any(isinstance(node, syntax.Call) and _is_measure(node) for node in nodes(body)):
        return Level.MODEL
    return Level.TABLE if any(isinstance(node, syntax.Stat) for node in nodes(body)) else Level.ROW


def _is_measure(call: syntax.Call) -> bool:
    """Whether a call names a measure, or is meant to."""
    known = call.name in measures() or call.name in NAMED_FUNCTIONS
    return call.name in measures() if known else bool(call.options) or nearest(call.name, measures()) is not None


def _kind(body: syntax.Expr | syntax.Settings, level: Level, written: Kind) -> Kind:
    """The kind an expression makes its command; `written` where nothing is known of a measure."""
    match level:
        case Level.PRIVACY:
            return "DIFFERENTIAL PRIVACY"
        case Level.TABLE:
            return "STATISTICAL"
        case Level.ROW:
            return "IMPLICATION" if isinstance(body, syntax.Implies) else "ROW CONSTRAINT"
        case Level.MODEL:
            names = [n.name for n in nodes(body) if isinstance(n, syntax.Call) and n.name in measures()]
            return measures()[names[0]].kind if names else written


def _compares(expr: syntax.Expr) -> bool:
    return isinstance(
        expr, syntax.Compare | syntax.And | syntax.Or | syntax.Not | syntax.Implies | syntax.Member | syntax.Between
    )


# --- what is wrong


def kind_mismatch(command: Command, written: Kind, right: Kind) -> Diagnostic:
    """A kind that does not fit the expression."""
    return Diagnostic(
        "kind-mismatch",
        f"this is not {'an' if written[0] in 'IU' else 'a'} {written} command",
        command.kind_span,
        f"the expression makes it {right}",
        f"write `{right}:`, or leave the kind out",
    )


def action_mismatch(command: Command, why: str, right: str) -> Diagnostic:
    """An action that does not fit the expression."""
    return Diagnostic("action-mismatch", why, command.action_span, f"not {command.action}", f"write `{right}:` here")


def needs_number(command: Command) -> Diagnostic:
    """MINIMIZE or MAXIMIZE of a value of rows."""
    body = printer.expression(command.body)
    return Diagnostic(
        "action-mismatch",
        f"{command.action} needs a number of the table",
        command.body.span,
        "a value of each row",
        f"write `{command.action}: E[{body}]` for its mean",
    )


def no_tolerance(command: Command) -> Diagnostic:
    """A tolerance where nothing is near or far."""
    span = command.tolerance.span if command.tolerance is not None else command.span
    return Diagnostic(
        "bad-option", "a tolerance belongs to an enforced statistic", span, "not possible here", "leave `WITHIN` out"
    )


def bad_weight(command: Command, why: str) -> Diagnostic:
    """A PARAM that is no weight."""
    span = command.weight.span if command.weight is not None else command.span
    return Diagnostic("bad-weight", why, span, "not a weight", "leave `PARAM` out: weights are found automatically")


def duplicate_privacy(command: Command) -> Diagnostic:
    """A second privacy command."""
    return Diagnostic(
        "duplicate-privacy",
        "a program has at most one privacy command",
        command.span,
        "a second budget",
        "keep one: a release has one epsilon",
    )
