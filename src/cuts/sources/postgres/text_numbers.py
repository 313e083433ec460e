"""Numbers that texts spell, in SQL and without casts that fail: what `float` of Python reads, to the last bit.

A number with more than 1,000 characters, or with an exponent beyond 9,999, is none here.
"""

from __future__ import annotations

import unicodedata

from psycopg import sql

from cuts.sources.postgres.numbers import safe_float

BLANKS = "".join(chr(code) for code in range(0x3001) if chr(code).isspace())  # what `str.strip` removes
PLAIN_NUMBER = r"^-?(0|[1-9][0-9]*)(\.[0-9]*)?([eE][+-]?0*[0-9]{1,4})?$"  # `NUMBER` of privacy/coding.py
_DIGITS = "[0-9](_?[0-9])*"
_ANY_NUMBER = rf"^[+-]?({_DIGITS}(\.({_DIGITS})?)?|\.{_DIGITS})([eE][+-]?(0_?)*[0-9](_?[0-9]){{0,3}})?$"
_INFINITE = "^[+-]?inf(inity)?$"
_SHORT = r"^[+-]?([0-9]{1,40}(\.[0-9]{0,40})?|\.[0-9]{1,40})([eE][+-]?[0-9]{1,2})?$"  # a cast cannot fail
_MAX_CHARACTERS = 1_000


def bare(text: sql.Composable) -> sql.Composable:
    """A text without surrounding blanks."""
    return sql.SQL("btrim({}, {})").format(text, sql.Literal(BLANKS))


def plain_number(text: sql.Composable) -> sql.Composable:
    """The number of a text that matches `PLAIN_NUMBER`, NaN for one that is too long."""
    return sql.SQL(
        "CASE WHEN {0} ~ {1} THEN {0}::float8 WHEN length({0}) <= {2} THEN {3} ELSE 'NaN'::float8 END"
    ).format(text, sql.Literal(_SHORT), sql.Literal(_MAX_CHARACTERS), safe_float(sql.SQL("{}::numeric").format(text)))


def any_number(text: sql.Composable) -> sql.Composable:
    """The number that a text without surrounding blanks spells, NaN if it spells none."""
    ascii_text = sql.SQL("translate({}, {}, {})").format(text, *map(sql.Literal, _all_digits()))
    infinite = sql.SQL("CASE WHEN left({0}, 1) = '-' THEN '-Infinity'::float8 ELSE 'Infinity'::float8 END").format(text)
    return sql.SQL(
        "CASE WHEN {0} ~ {1} THEN {0}::float8 WHEN {2} ~ {3} THEN {4} WHEN {0} ~* {5} THEN {6} "
        "WHEN {0} IS NOT NULL THEN 'NaN'::float8 END"
    ).format(
        text,
        sql.Literal(_SHORT),
        ascii_text,
        sql.Literal(_ANY_NUMBER),
        plain_number(sql.SQL("replace({}, '_', '')").format(ascii_text)),
        sql.Literal(_INFINITE),
        infinite,
    )


def _all_digits() -> tuple[str, str]:
    """All decimal digits beyond ASCII, and the ASCII ones that they mean."""
    others = [chr(code) for code in range(128, 0x1FC00) if unicodedata.category(chr(code)) == "Nd"]
    return "".join(others), "".join(str(unicodedata.decimal(digit)) for digit in others)
