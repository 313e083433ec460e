"""New identifiers: unique, in the pattern of the real ones, never equal to one of them.

A pattern counts up like an odometer, starting after the greatest real identifier; when it runs out of values, its first
counted character is repeated, which makes identifiers longer.
"""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa

from cuts.data.columns import Identifier

UUID = "uuid"
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
    if column.pattern is None:
        return pa.array(np.arange(column.start + first, column.start + first + rows, dtype=np.int64))
    if column.pattern == UUID:
        return _uuids(rows, first, [seed, *column.name.encode()])
    signs = _parse(column.pattern)
    fitting = _spell_all(signs, column.start + first, rows)
    return pa.array([_spell(signs, column.start + first + i) for i in range(rows)]) if fitting is None else fitting


def start_after(column: Identifier, values: list[str | int]) -> int:
    """The column's start, or if larger, the number after the greatest of `values` that follow its pattern.

    >>> start_after(Identifier("id", "C-##", 5), ["C-03", "C-120", "other"])
    121
    """
    if column.pattern == UUID:
        return column.start
    numbers = [_number(column.pattern, str(value)) for value in values]
    return max([column.start, *(number + 1 for number in numbers if number is not None)])


def recognise(values: list[str]) -> tuple[str, int] | None:
    """The pattern all values follow and the number after the greatest of them, or None.

    >>> recognise(["C-01", "C-07"])
    ('C-##', 8)
    """
    if all(_UUID.fullmatch(value.lower()) for value in values):
        return UUID, 0
    if len({len(value) for value in values}) != 1:
        return None
    pattern = "".join(_sign(column) for column in zip(*values, strict=True))
    signs = _parse(pattern)
    if "?" in [sign for sign, counted in signs if not counted] or not any(counted for _, counted in signs):
        return None
    return pattern, max(_count(signs, value) for value in values) + 1


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


def _number(pattern: str | None, text: str) -> int | None:
    """The number whose value is `text`, or None."""
    if pattern is None:
        return int(text) if re.fullmatch(r"-?[0-9]{1,18}", text) else None
    signs = _parse(pattern)
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
