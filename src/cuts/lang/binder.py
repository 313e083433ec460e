"""A program and a schema to a typed `Spec`: every command bound, every problem reported at once."""

from __future__ import annotations

from cuts.data.columns import is_written_as_text
from cuts.data.schema import Schema
from cuts.lang import rows, syntax
from cuts.lang.commands import bind_command
from cuts.lang.lets import expand_lets
from cuts.lang.placeholders import open_placeholder
from cuts.lang.privacy import (
    asks_for_domain,
    private_schema,
    private_texts,
    unknown_domain,
    unstated_schema,
    without_values,
)
from cuts.lang.rewrite import nodes
from cuts.lang.scope import Scope
from cuts.lang.spec import Pred, Privacy, Spec
from cuts.lang.syntax import Command, Program
from cuts.text.diagnostic import CutsError, Diagnostic, has_errors


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
    """The spec, if there are no errors, and all errors and warnings in order of position."""
    scope = Scope(schema)
    for node in nodes(program.statements):
        if isinstance(node, syntax.Placeholder):
            scope.add(open_placeholder(node))
    if scope.diagnostics:
        return None, scope.diagnostics
    refused = refused_schema(program, schema)
    if refused is not None:
        return None, (refused,)  # alone: other messages could show what the private rows hold
    if schema.is_inferred and any(isinstance(c.body, syntax.Settings) for c in program.commands):
        return None, _privacy_alone(program, scope)
    expanded = expand_lets(program, scope)
    bound = [bind_command(command, number, program.source, scope) for number, command in expanded]
    for second in [c for _, c in expanded if isinstance(c.body, syntax.Settings)][1:]:
        scope.add(duplicate_privacy(second))
    diagnostics = tuple(sorted(scope.diagnostics, key=lambda d: d.span.start if d.span is not None else 0))
    if has_errors(diagnostics):
        return None, diagnostics
    return Spec(schema, tuple(command for command in bound if command is not None)), diagnostics


def refused_schema(program: Program, schema: Schema | None) -> Diagnostic | None:
    """Why a private program cannot use a schema: it is, or with `None` would be, inferred, or it does not say.

    Columns with numbers in text cells are refused too.
    """
    private = next((c for c in program.commands if isinstance(c.body, syntax.Settings)), None)
    if private is None:
        return None
    if schema is not None and schema.provenance == "unstated":
        return unstated_schema(schema.name, private.span)
    if schema is None or (schema.is_inferred and not asks_for_domain(private)):
        return private_schema(program.data, private.span, schema)
    texts = [column.name for column in schema if is_written_as_text(column)]
    return private_texts(texts[0], private.span) if texts else None


def bind_privacy(program: Program, schema: Schema) -> Privacy | None:
    """The privacy command alone, which needs only the names of a schema; raises `CutsError` with its problems."""
    scope = Scope(schema)
    bound = _bound_privacy(program, scope)
    if scope.diagnostics:
        raise CutsError(scope.diagnostics, program.source)
    return bound


def _bound_privacy(program: Program, scope: Scope) -> Privacy | None:
    for number, command in enumerate(program.commands, start=1):
        if isinstance(command.body, syntax.Settings):
            bound = bind_command(command, number, program.source, scope)
            return bound if isinstance(bound, Privacy) else None
    return None


def _privacy_alone(program: Program, scope: Scope) -> tuple[Diagnostic, ...]:
    """The problems of the privacy command; without any, that the other commands wait for the domain to be found."""
    private = _bound_privacy(program, scope)
    _, problems = bind_all(program, without_values(scope.schema))
    names = [problem for problem in problems if problem.code == "unknown-column" and problem not in scope.diagnostics]
    return (*scope.diagnostics, *names, *(() if private is None else (unknown_domain(private),)))


def bind_predicate(expr: syntax.Expr, schema: Schema) -> Pred:
    """The predicate of one expression alone, as `--where` takes it."""
    scope = Scope(schema)
    pred = rows.predicate(expr, scope)
    if pred is None:
        raise CutsError(scope.diagnostics)
    return pred


# --- what is wrong


def duplicate_privacy(command: Command) -> Diagnostic:
    """A second privacy command."""
    return Diagnostic(
        "duplicate-privacy",
        "a program has at most one privacy command",
        command.span,
        "a second budget",
        "keep one: a release has one epsilon",
    )
