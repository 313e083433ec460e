"""Where in a statement the cursor stands: what a word written there would be.

Read from the tokens before the cursor, because a statement that is being written does not parse yet.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from cuts.editor.outline import statement_at
from cuts.lang.keywords import RESERVED
from cuts.lang.syntax import ACTIONS, KIND_ALIASES
from cuts.text.source import Span
from cuts.vocab.names import DISTRIBUTION, canonical, measures

Place = Literal[
    "comment",  # nothing is completed
    "statement",  # where a statement begins
    "data",  # after SYNTHESIZE:
    "command",  # after the action: a kind, or an expression
    "expression",
    "operator",  # after an operand
    "value",  # compared with a column
    "share",  # a value and its share in a distribution
    "option",  # after WITH
    "setting",  # of a privacy command
    "argument",  # of a measure
    "column",  # the value of an argument that is a column
    "outcome",  # the value of `desired_outcome=`
    "nothing",  # a name of one's own
]

_TOKEN = re.compile(
    r"""(?P<comment>(?:\#|--)[^\n]*)
      | (?P<text>"[^"\n]*(?:"|(?=\n)|\Z)|'[^'\n]*(?:'|(?=\n)|\Z))
      | (?P<name>`[^`\n]*(?:`|(?=\n)|\Z)|\w+)
      | (?P<sign>:=|==|!=|<=|>=|\S)""",
    re.VERBOSE,
)
_COMPARES = ("==", "=", "!=", "<", "<=", ">", ">=")
_CLOSING = {"]": "[", ")": "(", "}": "{"}
_OPENINGS = tuple(_CLOSING.values())


@dataclass(frozen=True, slots=True)
class Context:
    """A place, the part of the text that a completion replaces, and the column, measure or target it belongs to."""

    place: Place
    span: Span
    owner: str | None = None


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str

    @property
    def word(self) -> str:
        return self.text.upper() if self.kind == "name" and not self.text.startswith("`") else ""

    @property
    def name(self) -> str:
        return self.text.strip("`")


def context_at(text: str, offset: int) -> Context:
    """What stands at an offset of a text.

    >>> written = "SYNTHESIZE: adult; ENFORCE: sex == Fem"
    >>> found = context_at(written, len(written))
    >>> found.place, found.owner, written[found.span.start:found.span.end]
    ('value', 'sex', 'Fem')
    """
    begin = _begin(text, offset)
    tokens: list[_Token] = []
    span = Span(offset, offset)
    for found in _TOKEN.finditer(text, 0, offset):
        kind = found.lastgroup or "sign"
        if kind == "comment" and found.end() == offset:
            return Context("comment", span)
        if kind == "comment" or found.start() < begin:
            continue
        if found.end() == offset and _is_open(kind, found.group()):
            closed = text[offset : offset + 1] == found.group()[0]  # the quote that many editors add at once
            span = Span(found.start(), offset + (closed and found.group()[0] in "\"'`"))
        else:
            tokens.append(_Token(kind, found.group()))
    place, owner = _place(tokens)
    if place == "data":  # the name of a file may have any signs
        start = text.rfind(":", begin, offset) + 1
        blanks = len(text[start:offset]) - len(text[start:offset].lstrip(" \t\"'"))
        span = Span(start + blanks, offset)
    return Context(place, span, owner)


def _begin(text: str, offset: int) -> int:
    """Where the statement begins that an offset is in; the offset itself between statements."""
    part = statement_at(text, offset)
    if part is None:
        return offset
    if part.stopped and ";" in text[part.span.end : offset]:
        return offset
    return part.span.start


def _is_open(kind: str, text: str) -> bool:
    """Whether the last token before the cursor is still being written."""
    if kind == "text" or text.startswith("`"):
        return len(text) == 1 or text[-1] != text[0]
    return kind == "name"


def _place(tokens: list[_Token]) -> tuple[Place, str | None]:
    if not tokens:
        return "statement", None
    first = tokens[0].word
    if first == "SYNTHESIZE":
        return ("data", None) if len(tokens) > 1 else ("nothing", None)
    if first == "LET":
        return ("nothing", None) if all(token.text != ":=" for token in tokens) else _inside(tokens)
    if first not in ACTIONS or len(tokens) == 1:
        return "nothing", None
    if any(token.word == "WITH" for token in tokens):
        return ("option", None) if tokens[-1].word == "WITH" or tokens[-1].text == "," else ("nothing", None)
    if tokens[-1].text == ":" and (len(tokens) == 2 or _is_head(tokens)):
        private = first == "ENSURE"
        return ("setting" if private and len(tokens) > 2 else "command"), first
    if first == "ENSURE":
        return ("setting", None) if tokens[-1].text == "," else ("nothing", None)
    return _inside(tokens)


def _is_head(tokens: list[_Token]) -> bool:
    """Whether the tokens are the action, the kind and perhaps the weight of a command, up to the last `:`."""
    middle = [token.word for token in tokens[2:-1]]
    return " ".join(middle) in KIND_ALIASES or "PARAM" in middle[:-1]


def _inside(tokens: list[_Token]) -> tuple[Place, str | None]:
    """The place inside an expression: by the innermost open bracket, then what the last token asks for."""
    opened = _innermost(tokens)
    if opened is not None:
        before, inside = tokens[:opened], tokens[opened + 1 :]
        bracket = tokens[opened].text
        call = canonical(before[-1].name) if before and before[-1].kind == "name" else ""
        if bracket == "(" and call in measures():
            return _argument(inside, call)
        if bracket == "[" and len(before) > 1 and before[-1].text == "=":  # a list, as the value of an argument
            return "column", None
        if bracket == "{" and before and before[-1].word == "IN":
            return _after_comma(inside, "value", _column_before(before[:-1]))
        if bracket == "{" and len(before) > 3 and canonical(_distribution(before)) == DISTRIBUTION:
            return _after_comma(inside, "share", _inner_name(before))
    last = tokens[-1]
    if last.text in _COMPARES and last.kind == "sign":
        return "value", _column_before(tokens[:-1])
    if last.kind == "text" or (last.kind == "name" and last.word not in RESERVED) or last.text in _CLOSING:
        return "operator", None
    return ("nothing", None) if last.word in ("WITHIN", "PARAM", "IN") else ("expression", last.word or None)


def _innermost(tokens: list[_Token]) -> int | None:
    """The index of the innermost bracket that is open at the end."""
    opened: list[int] = []
    for index, token in enumerate(tokens):
        if token.kind == "sign" and token.text in _OPENINGS:
            opened.append(index)
        elif token.kind == "sign" and opened and token.text in _CLOSING:
            opened.pop()
    return opened[-1] if opened else None


def _argument(inside: list[_Token], call: str) -> tuple[Place, str | None]:
    if not inside or inside[-1].text == ",":
        return "argument", call
    if inside[-1].text == "=" and len(inside) > 1:
        key = inside[-2].name.lower()
        if key == "desired_outcome":
            words = [token.name for token in inside]
            target = next((words[i + 2] for i in range(len(words) - 2) if words[i : i + 2] == ["target", "="]), None)
            return "outcome", target
        return ("column", key) if key in ("target", "protected", "features") else ("nothing", None)
    return "nothing", None


def _after_comma(inside: list[_Token], place: Place, owner: str | None) -> tuple[Place, str | None]:
    return (place, owner) if not inside or inside[-1].text == "," else ("nothing", None)


def _column_before(tokens: list[_Token]) -> str | None:
    """The name that a comparison after these tokens is about; None if it is about something else than one name."""
    if tokens and tokens[-1].word == "NOT":
        tokens = tokens[:-1]
    if not tokens or tokens[-1].kind != "name" or tokens[-1].word in RESERVED:
        return None
    return tokens[-1].name


def _distribution(before: list[_Token]) -> str:
    """The name before the bracket of `DIST[race] ==`."""
    for index in range(len(before) - 1, 0, -1):
        if before[index].text == "[":
            return before[index - 1].name
    return ""


def _inner_name(before: list[_Token]) -> str | None:
    for index in range(len(before) - 1, 0, -1):
        if before[index].text == "[" and index + 1 < len(before):
            return before[index + 1].name
    return None
