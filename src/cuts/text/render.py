"""Diagnostics as text for people and as JSON values for machines."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from cuts.text.diagnostic import Diagnostic
from cuts.text.source import Source, Span


def as_text(diagnostics: Iterable[Diagnostic], source: Source | None = None) -> str:
    """All diagnostics, each with the lines of the source it is about, separated by blank lines."""
    return "\n\n".join(_block(d, source) for d in diagnostics)


def as_data(diagnostics: Iterable[Diagnostic], source: Source | None = None) -> list[dict[str, Any]]:
    """The same as JSON values."""
    return [
        {
            "severity": d.severity,
            "code": d.code,
            "title": d.title,
            "place": _place(d.span, source),
            "label": d.label,
            "help": d.help,
            "notes": [{"place": _place(note.span, source), "label": note.label} for note in d.notes],
        }
        for d in diagnostics
    ]


def _place(span: Span | None, source: Source | None) -> dict[str, Any] | None:
    if span is None or source is None:
        return None
    line, column = source.place(span.start)
    end_line, end_column = source.place(span.end)
    return {"file": source.name, "line": line, "column": column, "end_line": end_line, "end_column": end_column}


def _block(d: Diagnostic, source: Source | None) -> str:
    lines = [f"{d.severity}[{d.code}]: {d.title}"]
    margin = 1
    if d.span is not None and source is not None:
        places = [(d.span, d.label), *((note.span, note.label) for note in d.notes)]
        margin = max(len(str(source.place(span.start)[0])) for span, _ in places)
        line, column = source.place(d.span.start)
        lines += [f"{' ' * margin}--> {source.name}:{line}:{column}", f"{' ' * margin} |"]
        for span, label in places:
            lines += _excerpt(span, label, source, margin)
    if d.help is not None:
        first, *more = d.help.split("\n")
        lines += [f"{' ' * margin} = help: {first}", *(f"{' ' * margin}         {line}" for line in more)]
    return "\n".join(lines)


def _excerpt(span: Span, label: str, source: Source, margin: int) -> list[str]:
    number, column = source.place(span.start)
    text = source.line(number)
    width = max(1, min(span.end - span.start, len(text) - column + 1))
    # Tabs are kept before the carets so that they stand below the text they point at.
    lead = "".join(letter if letter == "\t" else " " for letter in text[: column - 1])
    marks = "^" * width
    return [f"{number:>{margin}} | {text}", f"{' ' * margin} | {lead}{marks} {label}".rstrip()]
