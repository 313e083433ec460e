"""Every problem of a text, as an editor underlines it, and how to correct the ones whose correction is known."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Literal

from cuts.editor.library import Known, Library
from cuts.editor.outline import sketch
from cuts.flow import checks
from cuts.lang import printer
from cuts.lang.parser import parse_source
from cuts.lang.rewrite import nodes
from cuts.lang.syntax import Let, Name, Placeholder, Program, Statement
from cuts.text.diagnostic import CutsError, Diagnostic
from cuts.text.source import Source, Span

Severity = Literal["error", "warning", "information"]
_MEANT = re.compile(r"did you mean `(.+)`\?")
_WRITE = re.compile(r"write `([^`]+)`")
_WITHOUT_PLACEHOLDERS = ("empty-program", "unused-let")  # not known before all statements are


@dataclass(frozen=True, slots=True)
class Edit:
    """Other text for a span."""

    span: Span
    text: str


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem at a span: its code, its message with what to do, other places with their labels, a correction."""

    span: Span
    severity: Severity
    code: str | None
    message: str
    notes: tuple[tuple[Span, str], ...] = ()
    fix: Edit | None = None


def problems(source: Source, library: Library) -> tuple[Problem, ...]:
    """Everything that `cuts check` reports about a text, in order of position.

    A placeholder without a value is no error here, because its value comes from outside; statements without
    placeholders are checked all the same.
    """
    try:
        program = parse_source(source)
    except CutsError as error:
        return _shown(error.diagnostics, sketch(source))
    known = library.look_up(program)
    if known.schema is None:
        return (*_shown(known.problems, program), *_note(known, program))
    checked, opened = _with_values(program)
    found = checks.check(checked, known.schema).diagnostics
    if opened:
        found = tuple(problem for problem in found if problem.code not in _WITHOUT_PLACEHOLDERS)
    return tuple(sorted((*opened, *_shown(found, program)), key=lambda problem: problem.span.start))


def _shown(diagnostics: tuple[Diagnostic, ...], program: Program) -> tuple[Problem, ...]:
    return tuple(_problem(diagnostic, program) for diagnostic in diagnostics)


def _problem(found: Diagnostic, program: Program) -> Problem:
    span = found.span if found.span is not None else program.data_span
    message = found.title if not found.label else f"{found.title} ({found.label})"
    if found.help is not None:
        message += f"\nhelp: {found.help}"
    notes = tuple((note.span, note.label) for note in found.notes)
    return Problem(span, found.severity, found.code, message, notes, _fix(found, program.source))


def _note(known: Known, program: Program) -> tuple[Problem, ...]:
    return () if known.note is None else (Problem(program.data_span, "information", None, known.note),)


def _with_values(program: Program) -> tuple[Program, tuple[Problem, ...]]:
    """The program without the statements that wait for the value of a placeholder, and these placeholders."""
    opened = tuple(
        Problem(node.span, "information", "open-placeholder", f"`<{node.name}>` is filled by `--set {node.name}=VALUE`")
        for node in nodes(program.statements)
        if isinstance(node, Placeholder)
    )
    if not opened:
        return program, ()
    left, names = program.statements, set[str]()
    while True:
        kept = tuple(statement for statement in left if not _waits(statement, names))
        if kept == left:
            return replace(program, statements=kept), opened
        names |= {statement.name.text for statement in left if isinstance(statement, Let) and statement not in kept}
        left = kept


def _waits(statement: Statement, names: set[str]) -> bool:
    return any(
        isinstance(node, Placeholder) or (isinstance(node, Name) and node.text in names) for node in nodes(statement)
    )


def _fix(found: Diagnostic, source: Source) -> Edit | None:
    """The correction that a diagnostic's help proposes, if it says exactly what to write."""
    if found.span is None:
        return None
    if found.code == "missing-semicolon":
        return Edit(found.span, ";")
    if found.code == "missing-end":
        return Edit(found.span, ";\nEND;\n" if "`; END;`" in (found.help or "") else "\nEND;\n")
    written = source.slice(found.span)
    meant = _MEANT.fullmatch(found.help or "")
    if meant is not None and written:
        if found.code == "unknown-option":  # its span is the whole `key=value`
            return Edit(Span(found.span.start, found.span.start + len(written.partition("=")[0].rstrip())), meant[1])
        return Edit(found.span, printer.name(meant[1]) if found.code == "unknown-column" else meant[1])
    write = _WRITE.fullmatch(found.help or "")
    if found.code == "syntax-error" and write is not None and written and "..." not in write[1]:
        return Edit(found.span, write[1])
    return None
