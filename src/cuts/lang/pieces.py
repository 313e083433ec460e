"""A source split into statements and comments, without parsing them.

The parser uses it twice: to attach to each statement the comments around it, and, when a program does not parse, to
parse each statement alone, so that all syntax errors are reported at once.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from cuts.lang.syntax import ACTIONS, Trivia
from cuts.text.source import Span

_HEADED = "|".join(("SYNTHESIZE", *ACTIONS))  # words that open a statement when a `:` follows
_TOKEN = re.compile(
    rf"""(?P<comment>(?:\#|--)[^\n]*)
      | (?P<quoted>"[^"\n]*"|'[^'\n]*'|`[^`\n]+`)
      | (?P<stop>;)
      | (?P<opening>\b(?:{_HEADED})\b(?=\s*:)|\bLET\b
                   |\bEND\b(?=(?:\s|(?:\#|--)[^\n]*)*(?:;|\Z)))
      | (?P<other>\w+|\S)""",
    re.VERBOSE | re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Piece:
    """One statement: its span without the `;`, whether the `;` is there, its comments, and its opening keyword."""

    span: Span
    stopped: bool
    trivia: Trivia
    opening: str


def pieces(text: str) -> tuple[tuple[Piece, ...], tuple[str, ...]]:
    """The statements of a text, and the comments after the last one.

    A statement ends at its `;`, or where the next one begins.

    >>> [text[p.span.start:p.span.end] for text in ["LET a := 1 END;"] for p in pieces(text)[0]]
    ['LET a := 1', 'END']
    """
    statements: list[Piece] = []
    comments: list[str] = []
    begin = end = 0
    opening = ""
    last_stop = 0  # where the statement before ended
    first_thing: int | None = None

    def close(stopped: bool) -> None:
        nonlocal comments, opening, first_thing
        gap = first_thing is not None and text.count("\n", last_stop, first_thing) > 1
        statements.append(Piece(Span(begin, end), stopped, Trivia(tuple(comments), None, gap), opening))
        comments, opening, first_thing = [], "", None

    inside = False
    for token in _TOKEN.finditer(text):
        kind = token.lastgroup
        if first_thing is None:
            first_thing = token.start()
        if kind == "comment":
            words = _tidy(token.group())
            if (
                not inside
                and statements
                and "\n" not in text[last_stop : token.start()]
                and statements[-1].trivia.beside is None
            ):
                before = statements[-1]
                statements[-1] = Piece(
                    before.span,
                    before.stopped,
                    Trivia(before.trivia.above, words, before.trivia.gap),
                    before.opening,
                )
                first_thing = None
                last_stop = token.end()
            else:
                comments.append(words)
        elif kind == "stop":
            if not inside:
                begin = end = token.start()
            close(stopped=True)
            inside, last_stop = False, token.end()
        else:
            if kind == "opening" and inside and not _names_data(text, begin, token.start(), opening):
                close(stopped=False)
                inside, last_stop, first_thing = False, end, token.start()
            if not inside:
                inside, begin = True, token.start()
                opening = token.group().upper() if kind == "opening" else ""
            end = token.end()
    if inside:
        close(stopped=False)
    return tuple(statements), tuple(comments)


def _names_data(text: str, begin: int, at: int, opening: str) -> bool:
    """Whether a word that could open a statement is (part of) the data's name: `SYNTHESIZE: END;`, `data/end`."""
    before = text[begin:at]
    return opening == "SYNTHESIZE" and (before.rstrip().endswith(":") or not before[-1].isspace())


def _tidy(comment: str) -> str:
    words = comment.lstrip("#") if comment.startswith("#") else comment.lstrip("-")
    return f"# {words.strip()}".rstrip()
