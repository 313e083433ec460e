"""Identifiers made fresh: unique, in the look of the real ones, never one of them.

A pattern is counted through like an odometer, from the number after the greatest one seen; when it runs out, its last
counted sign is doubled, which makes room for more.
"""

from __future__ import annotations

import re
import uuid

import numpy as np
import pyarrow as pa

from cuts.data.columns import Identifier

UUID = "uuid"
_DIGITS, _UPPER, _LOWER = "0123456789", "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz"
_SIGNS = {"#": _DIGITS, "A": _UPPER, "a": _LOWER, "x": _DIGITS + "abcdef", "X": _DIGITS + _UPPER}
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


def make_identifiers(column: Identifier, rows: int, seed: int) -> pa.Array:
    """So many new identifiers.

    >>> make_identifiers(Identifier("id", "C-##", 98), 3, 0).to_pylist()
    ['C-98', 'C-99', 'C-100']
    """
    if column.pattern is None:
        return pa.array(np.arange(column.start, column.start + rows, dtype=np.int64))
    if column.pattern == UUID:
        raw = np.random.Generator(np.random.Philox([seed, 7])).bytes(16 * rows)
        return pa.array([str(uuid.UUID(bytes=raw[16 * i : 16 * i + 16], version=4)) for i in range(rows)])
    signs = _parse(column.pattern)
    return pa.array([_spell(signs, column.start + i) for i in range(rows)])


def recognise(values: list[str]) -> tuple[str, int] | None:
    """The pattern all values follow and the number after the greatest of them, or nothing.

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
    """What stands at one place of all values: a sign they share, or a class they are in."""
    distinct = set(letters)
    if len(distinct) == 1:
        (only,) = distinct
        return "#" if only.isdigit() else f"\\{only}" if only in (*_SIGNS, "\\", "?") else only
    return next((sign for sign, members in _SIGNS.items() if distinct <= set(members)), "?")


def _parse(pattern: str) -> list[tuple[str, bool]]:
    """The signs of a pattern and whether each is counted."""
    found: list[tuple[str, bool]] = []
    escaped = False
    for letter in pattern:
        if escaped or letter not in (*_SIGNS, "\\"):
            found.append((letter, False))
            escaped = False
        elif letter == "\\":
            escaped = True
        else:
            found.append((letter, True))
    return found


def _count(signs: list[tuple[str, bool]], value: str) -> int:
    """The number of a value, as its pattern counts."""
    total = 0
    for (sign, counted), letter in zip(signs, value, strict=True):
        if counted:
            total = total * len(_SIGNS[sign]) + _SIGNS[sign].index(letter)
    return total


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
        number, place = divmod(number, len(members))
        letters.append(members[place])
        while i == first and number:
            number, place = divmod(number, len(members))
            letters.append(members[place])
    return "".join(reversed(letters))
