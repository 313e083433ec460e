"""The texts that a simple regular expression matches: how many there are, the n-th of them, and the number of a text.

Characters, classes (`[a-z0-9]`, `\\d`, `\\w`), groups, alternatives and bounded repetition: finitely many texts. The
expression becomes an automaton, so every text has one number, however many ways there are to match it. A state is what
can be left to match after some characters: partial derivatives (Antimirov, Theoretical Computer Science 155, 1996).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from string import ascii_letters, digits
from typing import TypeAlias, assert_never

MAX_LENGTH = 100  # characters of a text
MAX_STATES = 5_000  # of the automaton
_CLASSES = {"d": digits, "w": ascii_letters + digits + "_"}
_UNBOUNDED = "a repetition needs a limit: write `{1,8}` in place of `+` or `*`"


@dataclass(frozen=True, slots=True)
class Chars:
    """One of some characters."""

    members: frozenset[str]


@dataclass(frozen=True, slots=True)
class Chain:
    """One expression after the other."""

    parts: tuple[Regex, ...]


@dataclass(frozen=True, slots=True)
class Either:
    """One of some expressions."""

    parts: tuple[Regex, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """An expression, `low` to `high` times."""

    part: Regex
    low: int
    high: int


Regex: TypeAlias = Chars | Chain | Either | Repeat


@dataclass(frozen=True, slots=True)
class Node:
    """A state of the automaton: whether a text can end here, and where it can go on, in the order of the characters.

    A branch has its characters, the number of the state after any of them, and how many texts go on from there.
    """

    is_end: bool
    branches: tuple[tuple[str, int, int], ...]

    @property
    def texts(self) -> int:
        """The number of ways to go on."""
        return self.is_end + sum(len(letters) * texts for letters, _, texts in self.branches)


@dataclass(frozen=True, slots=True)
class FiniteRegex:
    """The texts that an expression matches, numbered from 0 to below `size`; `finite_regex` makes it."""

    source: str
    size: int
    nodes: tuple[Node, ...]  # the last one is the start

    def spell(self, number: int) -> str:
        """The text with a number."""
        node, spelt = self.nodes[-1], ""
        while number or not node.is_end:
            number -= node.is_end
            for letters, after, texts in node.branches:
                if number < len(letters) * texts:
                    index, number = divmod(number, texts)
                    node, spelt = self.nodes[after], spelt + letters[index]
                    break
                number -= len(letters) * texts
        return spelt

    def number(self, text: str) -> int | None:
        """The number of a text, or None if the expression does not match it."""
        node, number = self.nodes[-1], 0
        for letter in text:
            number += node.is_end
            for letters, after, texts in node.branches:
                if letter in letters:
                    number, node = number + letters.index(letter) * texts, self.nodes[after]
                    break
                number += len(letters) * texts
            else:
                return None
        return number if node.is_end else None


@cache
def finite_regex(source: str) -> FiniteRegex:
    """The texts that a regular expression matches; raises `ValueError` if it is not a simple one.

    >>> texts = finite_regex("[AB]-[0-9]{2}")
    >>> texts.size, texts.spell(0), texts.spell(199), texts.number("B-07")
    (200, 'A-00', 'B-99', 107)
    """
    try:
        nodes = _nodes(source)
    except RecursionError:
        raise ValueError("the regular expression has too many brackets inside each other") from None
    return FiniteRegex(source, nodes[-1].texts, nodes)


# --- the automaton


def _nodes(source: str) -> tuple[Node, ...]:
    """The automaton of an expression, its start last."""
    parser = _Parser(source)
    regex = parser.alternatives()
    if parser.rest:
        raise ValueError(f"there is a `{parser.rest[0]}` too many in `{source}`")
    if _length(regex) > MAX_LENGTH:
        raise ValueError(f"`{source}` matches texts of more than {MAX_LENGTH} characters")
    automaton = _Automaton(regex)
    automaton.add(frozenset({regex}))
    return tuple(automaton.nodes)


class _Automaton:
    """An automaton in the making; a state comes after those that follow it, because each makes the rest shorter."""

    def __init__(self, regex: Regex) -> None:
        self.nodes: list[Node] = []
        self._places: dict[frozenset[Regex], int] = {}
        sets = set(_character_sets(regex))
        alike: dict[frozenset[frozenset[str]], str] = {}  # characters that no part of the expression tells apart
        for letter in sorted(frozenset().union(*sets)):
            signature = frozenset(members for members in sets if letter in members)
            alike[signature] = alike.get(signature, "") + letter
        self._alike = tuple(alike.values())

    def add(self, state: frozenset[Regex]) -> int:
        """The number of a state, which is added with all that follow it unless it is there."""
        if state not in self._places:
            afters: dict[frozenset[Regex], str] = {}
            for letters in self._alike:
                after = frozenset(rest for part in state for rest in _derivatives(part, letters[0]))
                if after:
                    afters[after] = afters.get(after, "") + letters
            places = {after: self.add(after) for after in afters}
            branches = tuple((c, places[after], self.nodes[places[after]].texts) for after, c in afters.items())
            if len(self.nodes) == MAX_STATES:
                raise ValueError("the regular expression has too many alternatives")
            self._places[state] = len(self.nodes)
            self.nodes.append(Node(any(map(_can_be_empty, state)), branches))
        return self._places[state]


def _character_sets(regex: Regex) -> Iterator[frozenset[str]]:
    match regex:
        case Chars(members):
            yield members
        case Chain(parts) | Either(parts):
            for part in parts:
                yield from _character_sets(part)
        case Repeat(part, _, _):
            yield from _character_sets(part)
        case _:
            assert_never(regex)


def _can_be_empty(regex: Regex) -> bool:
    match regex:
        case Chars():
            return False
        case Chain(parts):
            return all(map(_can_be_empty, parts))
        case Either(parts):
            return any(map(_can_be_empty, parts))
        case Repeat(part, low, _):
            return low == 0 or _can_be_empty(part)
        case _:
            assert_never(regex)


def _derivatives(regex: Regex, letter: str) -> frozenset[Regex]:
    """What can be left to match after a character."""
    match regex:
        case Chars(members):
            return frozenset({Chain(())}) if letter in members else frozenset()
        case Chain(()):
            return frozenset()
        case Chain(parts):
            rests = frozenset(_chain(rest, *parts[1:]) for rest in _derivatives(parts[0], letter))
            return rests | (_derivatives(Chain(parts[1:]), letter) if _can_be_empty(parts[0]) else frozenset())
        case Either(parts):
            return frozenset(rest for part in parts for rest in _derivatives(part, letter))
        case Repeat(_, _, 0):
            return frozenset()
        case Repeat(part, low, high):
            again = Repeat(part, max(low - 1, 0), high - 1)
            return frozenset(_chain(rest, again) for rest in _derivatives(part, letter))
        case _:
            assert_never(regex)


def _chain(*parts: Regex) -> Chain:
    """One expression after the other, in one form: without empty ones and without chains in chains."""
    flat = [inner for part in parts for inner in (part.parts if isinstance(part, Chain) else (part,))]
    return Chain(tuple(part for part in flat if not (isinstance(part, Repeat) and part.high == 0)))


def _length(regex: Regex) -> int:
    """The length of the longest text."""
    match regex:
        case Chars():
            return 1
        case Chain(parts):
            return sum(map(_length, parts))
        case Either(parts):
            return max(map(_length, parts))
        case Repeat(part, _, high):
            return high * _length(part)
        case _:
            assert_never(regex)


# --- reading


class _Parser:
    """Reads an expression from the left; `rest` is what is still to be read."""

    def __init__(self, source: str) -> None:
        self.rest = source

    def alternatives(self) -> Regex:
        """Up to the end or a closing bracket."""
        parts = [self._sequence()]
        while self.rest.startswith("|"):
            self._take()
            parts.append(self._sequence())
        return parts[0] if len(parts) == 1 else Either(tuple(parts))

    def _sequence(self) -> Regex:
        parts: list[Regex] = []
        while self.rest and self.rest[0] not in "|)":
            parts.append(self._repeated(self._single()))
        return _chain(*parts)

    def _single(self) -> Regex:
        letter = self._take()
        match letter:
            case "(":
                return self._group()
            case "[":
                return Chars(self._members())
            case "\\":
                return Chars(self._escaped())
            case ".":
                raise ValueError("`.` is any character at all: list them in brackets, or write `\\.` for a full stop")
            case "*" | "+" | "?" | "{":
                raise ValueError(f"there is nothing before `{letter}` to repeat")
            case "^" | "$":
                raise ValueError(
                    f"leave out `{letter}`: the whole text has to match; write `\\{letter}` for the character"
                )
            case _:
                return Chars(frozenset({letter}))

    def _group(self) -> Regex:
        self.rest = self.rest.removeprefix("?:")
        if self.rest.startswith("?"):
            raise ValueError("a group cannot begin with `?`")
        inner = self.alternatives()
        if self._take() != ")":
            raise ValueError("a `(` is not closed")
        return inner

    def _members(self) -> frozenset[str]:
        """The characters of a class, after its bracket was opened."""
        if self.rest.startswith("^"):
            raise ValueError("list the characters that are allowed: `[^` says only which are not")
        members: set[str] = set()
        while not self.rest.startswith("]"):
            letter = self._take()
            if not letter:
                raise ValueError("a `[` is not closed")
            first = self._escaped() if letter == "\\" else frozenset({letter})
            if self.rest.startswith("-") and self.rest[1:2] not in ("", "]"):
                self._take()
                first = _between(first, self._take())
            members |= first
        self._take()
        if not members:
            raise ValueError("`[]` has no characters")
        return frozenset(members)

    def _escaped(self) -> frozenset[str]:
        letter = self._take()
        if letter in _CLASSES:
            return frozenset(_CLASSES[letter])
        if not letter or letter.isalnum():
            raise ValueError(f"`\\{letter}` is not known here; write the characters in brackets, e.g. `[a-z0-9]`")
        return frozenset({letter})

    def _repeated(self, part: Regex) -> Regex:
        if self.rest.startswith(("*", "+")):
            raise ValueError(_UNBOUNDED)
        if self.rest.startswith("?"):
            self._take()
            return Repeat(part, 0, 1)
        if not self.rest.startswith("{"):
            return part
        inside, closed, self.rest = self.rest[1:].partition("}")
        low, comma, high = inside.partition(",")
        if not closed or not low.isdecimal() or not (high.isdecimal() or not comma):
            raise ValueError(
                _UNBOUNDED if closed and comma and not high else f"`{{{inside}` is no number of repetitions"
            )
        limits = int(low), int(high or low)
        if not limits[0] <= limits[1] <= MAX_LENGTH:
            raise ValueError(f"`{{{inside}}}` must rise, to at most {MAX_LENGTH}")
        return Repeat(part, *limits)

    def _take(self) -> str:
        letter, self.rest = self.rest[:1], self.rest[1:]
        return letter


def _between(first: frozenset[str], last: str) -> frozenset[str]:
    if len(first) != 1 or not last or min(first) > last:
        raise ValueError(f"`-{last}` does not end a range of characters")
    return frozenset(map(chr, range(ord(min(first)), ord(last) + 1)))
