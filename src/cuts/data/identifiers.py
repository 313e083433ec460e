"""New identifiers: unique, in the form of the real ones, and none of them a real one where there is room.

The values of a pattern or a regular expression are numbered, and new identifiers count up from a random start: the real
ones must not show in it. `placed` chooses the start in a gap between the real ones; without rows, as in a private
program, the seed alone does. When a pattern runs out of values, its first counted character is repeated, which makes
identifiers longer.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import replace
from math import gcd, prod
from random import Random

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cuts.data.columns import Identifier
from cuts.data.finite_regex import FiniteRegex, finite_regex
from cuts.data.schema import Schema
from cuts.data.table import Table
from cuts.text.diagnostic import CutsError, Diagnostic

UUID = "uuid"
ATTEMPTS = 100  # random starts that are tried,
ROOM = (1_000, 10, 1)  # for this many times the rows before the next real identifier
LARGEST_START = 10**18  # of whole numbers, which are written with 64 bits
_DIGITS, _UPPER, _LOWER = "0123456789", "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz"
_SIGNS = {"#": _DIGITS, "A": _UPPER, "a": _LOWER, "x": _DIGITS + "abcdef", "X": _DIGITS + _UPPER}
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


def make_identifiers(column: Identifier, rows: int, seed: int, first: int = 0) -> pa.Array:
    """`rows` new identifiers, after the first `first` ones.

    >>> make_identifiers(Identifier("id", "C-##", 98), 3, 0).to_pylist()
    ['C-98', 'C-99', 'C-100']
    >>> make_identifiers(Identifier("id", "C-##", 98), 2, 0, first=1).to_pylist()
    ['C-99', 'C-100']
    """
    if column.pattern == UUID:
        return _uuids(rows, first, [seed, *column.name.encode()])
    start = first + (_random_start(column, seed) if column.start is None else column.start)
    if column.regex is not None:
        texts = finite_regex(column.regex)
        if first + rows > texts.size:
            raise CutsError([used_up(column, texts, first + rows)])
        step = _step(texts)
        return pa.array([texts.spell((start + i) * step % texts.size) for i in range(rows)], pa.string())
    if column.pattern is None:
        return pa.array(np.arange(start, start + rows, dtype=np.int64))
    signs = _parse(column.pattern)
    fitting = _spell_all(signs, start, rows)
    return pa.array([_spell(signs, start + i) for i in range(rows)]) if fitting is None else fitting


def placed(column: Identifier, values: Iterable[str | int], rows: int, seed: int) -> Identifier:
    """The column with a random start such that the first `rows` identifiers are none of `values`.

    If the pattern has no such place, identifiers are longer than it; a regular expression then may repeat a value.
    The start depends on the seed, and on the values only in that it avoids them. A start that is given is kept.

    >>> made = placed(Identifier("id", "C-##"), ["C-01", "C-40"], 20, 0)
    >>> made.start in (*range(2, 21), *range(41, 81))
    True
    """
    if column.start is not None or column.pattern == UUID:
        return column
    taken = sorted(number for value in values if (number := _number(column, str(value))) is not None)
    if column.pattern is None and column.regex is None and not (taken and taken[-1] > 0):
        return column
    low, high = _numbers(column, taken[-1:])
    random, limit = _random(column, seed), LARGEST_START if column.pattern is None else None
    while True:
        for room in (rows * times for times in ROOM for _ in range(ATTEMPTS)):
            start = random.randrange(low, high)
            after = bisect_left(taken, start)
            if (taken[after] if after < len(taken) else high) - start >= room:
                return replace(column, start=start)
        if column.regex is not None or (limit is not None and 10 * high > limit):
            return replace(column, start=start)
        low, high = high, 10 * high  # one more character


def place_all(schema: Schema, table: Table, seed: int) -> Schema:
    """The schema with a start for every column of identifiers, chosen apart from those in the rows of a table."""
    columns = [
        placed(column, identifiers_in(table, column.name).drop_null().to_pylist(), table.rows, seed)
        if isinstance(column, Identifier) and column.name in table.names
        else column
        for column in schema
    ]
    return replace(schema, columns=tuple(columns))


def identifiers_in(table: Table, name: str) -> pa.Array:
    """The identifiers in a column; whole numbers as integers, even if missing cells made the column float."""
    values = table.column(name).combine_chunks()
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    if not pa.types.is_floating(values.type):
        return values
    values = pc.if_else(pc.is_nan(values), None, values)
    whole = pc.all(pc.equal(values, pc.floor(values)), min_count=0).as_py()
    return values.cast(pa.int64()) if whole else values


def start_after(column: Identifier, values: list[str | int]) -> int | None:
    """The column's start, or if larger, the number after the greatest of `values` that follow its pattern.

    >>> start_after(Identifier("id", "C-##", 5), ["C-03", "C-120", "other"])
    121
    """
    if column.pattern == UUID:
        return column.start
    numbers = [_number(column, str(value)) for value in values]
    starts = [] if column.start is None else [column.start]
    return max([*starts, *(number + 1 for number in numbers if number is not None)], default=None)


def recognise(values: list[str]) -> str | None:
    """The pattern all values follow, or None.

    >>> recognise(["C-01", "C-07"])
    'C-##'
    """
    if all(_UUID.fullmatch(value.lower()) for value in values):
        return UUID
    if len({len(value) for value in values}) != 1:
        return None
    pattern = "".join(_sign(column) for column in zip(*values, strict=True))
    signs = _parse(pattern)
    if "?" in [sign for sign, counts in signs if not counts] or not any(counts for _, counts in signs):
        return None
    return pattern


def counts_up(pattern: str) -> bool:
    """Whether a pattern has more than one value."""
    return pattern == UUID or any(counts for _, counts in _parse(pattern))


def quoted(text: str) -> str:
    """The pattern that stands for a text itself.

    >>> quoted("max")
    'm\\\\a\\\\x'
    """
    return "".join(f"\\{letter}" if letter in (*_SIGNS, "\\") else letter for letter in text)


def used_up(column: Identifier, texts: FiniteRegex, rows: int) -> Diagnostic:
    """A regular expression that matches fewer texts than there are rows."""
    return Diagnostic(
        "bad-schema",
        f"the `regex` of `{column.name}` matches {texts.size:,} texts, but {rows:,} rows need one each",
        help=f"let `{texts.source}` match more, e.g. by repeating a part of it more often, or ask for fewer rows",
    )


# --- the numbers of identifiers


def _random(column: Identifier, seed: int) -> Random:
    return Random(f"{seed} {column.name}")  # a text is hashed alike on every machine


def _random_start(column: Identifier, seed: int) -> int:
    """A start where nothing is known of the real identifiers: a random one, or 1 for whole numbers."""
    if column.pattern is None and column.regex is None:
        return 1
    low, high = _numbers(column, ())
    return _random(column, seed).randrange(low, (low + high) // 2 + 1)  # the other half is there to count up


def _numbers(column: Identifier, taken: Iterable[int]) -> tuple[int, int]:
    """The first number of a column, and the one after its last; whole numbers have as many digits as the greatest."""
    if column.regex is not None:
        return 0, finite_regex(column.regex).size
    if column.pattern is not None:
        return 0, prod(len(_SIGNS[sign]) for sign, counts in _parse(column.pattern) if counts)
    digits = max(len(str(number)) for number in taken)
    return int(10 ** (digits - 1)), int(10**digits)


def _step(texts: FiniteRegex) -> int:
    """How far the texts of successive identifiers are apart: the golden ratio of all, so that they look unrelated."""
    step = max(1, texts.size * 618_033_989 // 10**9)
    while gcd(step, texts.size) > 1:
        step += 1
    return step


def _sign(letters: tuple[str, ...]) -> str:
    """The pattern of one position in all values: the character they share, or their class of characters."""
    distinct = set(letters)
    if len(distinct) == 1:
        (shared,) = distinct
        return "#" if shared.isdigit() else f"\\{shared}" if shared in (*_SIGNS, "\\", "?") else shared
    return next((sign for sign, members in _SIGNS.items() if distinct <= set(members)), "?")


def _parse(pattern: str) -> list[tuple[str, bool]]:
    """The characters of a pattern, each with whether it stands for a class of characters that counts up."""
    signs: list[tuple[str, bool]] = []
    escaped = False
    for letter in pattern:
        if escaped or letter not in (*_SIGNS, "\\"):
            signs.append((letter, False))
            escaped = False
        elif letter == "\\":
            escaped = True
        else:
            signs.append((letter, True))
    return signs


def _count(signs: list[tuple[str, bool]], value: str) -> int:
    """The number of a value in the counting order of its pattern."""
    total = 0
    for (sign, counted), letter in zip(signs, value, strict=True):
        if counted:
            total = total * len(_SIGNS[sign]) + _SIGNS[sign].index(letter)
    return total


def _number(column: Identifier, text: str) -> int | None:
    """The number whose value is `text`, or None."""
    if column.regex is not None:
        texts = finite_regex(column.regex)
        number = texts.number(text)
        return None if number is None else number * pow(_step(texts), -1, texts.size) % texts.size
    if column.pattern is None:
        return int(text) if re.fullmatch(r"-?[0-9]{1,18}", text) else None
    signs = _parse(column.pattern)
    first = next((i for i, (_, counted) in enumerate(signs) if counted), None)
    if first is None or len(text) < len(signs):
        return None
    signs[first:first] = [signs[first]] * (len(text) - len(signs))  # the first counted sign makes room for more
    fits = (c in _SIGNS[sign] if counted else c == sign for (sign, counted), c in zip(signs, text, strict=True))
    return _count(signs, text) if all(fits) else None


def _uuids(rows: int, first: int, entropy: list[int]) -> pa.Array:
    """Version 4 UUIDs; each depends only on its row number and the entropy."""
    bits = np.random.Philox(entropy)
    bits.advance(first // 2)  # a step of the counter is four words: two UUIDs
    odd = first % 2
    words = bits.random_raw(2 * (rows + odd)).reshape(-1, 2)[odd:]
    words[:, 0] = words[:, 0] & ~np.uint64(0xF000) | np.uint64(0x4000)
    words[:, 1] = words[:, 1] & ~np.uint64(0xC0 << 56) | np.uint64(0x80 << 56)
    halves = words.astype(">u8").view(np.uint8).reshape(rows, 16)
    digits = np.frombuffer(b"0123456789abcdef", np.uint8)
    letters = np.full((rows, 36), ord("-"), np.uint8)
    positions = [i for i in range(36) if i not in (8, 13, 18, 23)]
    letters[:, positions] = digits[np.stack([halves >> 4, halves & 15], axis=2).reshape(rows, 32)]
    return pa.array(letters.view("S36").ravel()).cast(pa.string())


def _spell_all(signs: list[tuple[str, bool]], start: int, rows: int) -> pa.Array | None:
    """The values of `rows` numbers starting at `start`, or None if one needs more characters than the pattern has."""
    letters = np.empty((rows, len(signs)), np.uint32)
    carry = np.arange(rows)
    for position in range(len(signs) - 1, -1, -1):
        sign, counted = signs[position]
        members = np.array([ord(letter) for letter in (_SIGNS[sign] if counted else sign)], np.uint32)
        if counted:
            start, digit = divmod(start, len(members))
            carry, chosen = np.divmod(carry + digit, len(members))
            letters[:, position] = members[chosen]
        else:
            letters[:, position] = members
    return None if start or carry.any() else pa.array(letters.view(f"U{len(signs)}").ravel())


def _spell(signs: list[tuple[str, bool]], number: int) -> str:
    """The value of a number."""
    letters: list[str] = []
    first = next(i for i, (_, counted) in enumerate(signs) if counted)
    for i in range(len(signs) - 1, -1, -1):
        sign, counted = signs[i]
        if not counted:
            letters.append(sign)
            continue
        members = _SIGNS[sign]
        number, index = divmod(number, len(members))
        letters.append(members[index])
        while i == first and number:
            number, index = divmod(number, len(members))
            letters.append(members[index])
    return "".join(reversed(letters))
