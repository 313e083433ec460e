"""A text as its statements, also when it does not parse: the data it names, whether it is private, its symbols."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from cuts.lang.pieces import Piece, pieces
from cuts.lang.syntax import NOWHERE, Program
from cuts.text.source import Source, Span

MAX_SHOWN = 80  # letters of a statement in a list of symbols
_DATA = re.compile(r"SYNTHESIZE\s*:\s*(?P<data>\"[^\"\n]*\"?|'[^'\n]*'?|[^\s;\"'`#]+)", re.IGNORECASE)
_PRIVATE = re.compile(r"\b(?:ENSURE|PRIVACY|EPSILON)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Symbol:
    """One statement: its text on one line, its opening keyword, and where it stands."""

    name: str
    opening: str
    span: Span


def symbols(text: str) -> tuple[Symbol, ...]:
    """The statements of a text, without `END`.

    >>> [symbol.name for symbol in symbols("SYNTHESIZE: adult; ENFORCE:  age > 35; END;")]
    ['SYNTHESIZE: adult', 'ENFORCE: age > 35']
    """
    shown = (part for part in pieces(text)[0] if part.opening != "END" and part.span.start < part.span.end)
    return tuple(Symbol(_on_one_line(text, part.span), part.opening, part.span) for part in shown)


def sketch(source: Source) -> Program:
    """The data that a text names, as a program without statements."""
    for part in pieces(source.text)[0]:
        found = _DATA.match(source.slice(part.span))
        if found is not None:
            span = Span(part.span.start + found.start("data"), part.span.start + found.end("data"))
            return Program(found["data"].strip("\"'"), (), source, span)
    return Program("", (), source, NOWHERE)


def mentions_privacy(text: str) -> bool:
    """Whether a text, finished or not, may be a private program: it has a word that only such programs need.

    >>> mentions_privacy("SYNTHESIZE: adult; ENSURE: "), mentions_privacy("SYNTHESIZE: adult; # privacy comes later")
    (True, False)
    """
    return any(_PRIVATE.search(text, part.span.start, part.span.end) for part in pieces(text)[0])


def statement_at(text: str, offset: int) -> Piece | None:
    """The statement that an offset is in or directly after; None between statements."""
    for part in pieces(text)[0]:
        stop = text.find(";", part.span.end) if part.stopped else len(text)
        if part.span.start <= offset <= max(part.span.end, stop) and part.span.start < part.span.end:
            return part
    return None


def folder_of(source: Source) -> Path:
    """The folder of a program."""
    return Path(source.name).parent


def _on_one_line(text: str, span: Span) -> str:
    words = " ".join(re.sub(r"(#|--)[^\n]*", "", text[span.start : span.end]).split())
    return words if len(words) <= MAX_SHOWN else f"{words[: MAX_SHOWN - 1]}…"
