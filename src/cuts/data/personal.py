"""Columns that look like personal data: e-mail addresses, phone numbers, names of persons, free text.

The judgement is made from the heading and the distinct texts of a column. It errs on the safe side: such a column is
not learned unless the owner says so. New values are generated in its place, or, for free text, the owner is asked.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from shlex import quote

from cuts.data.columns import Column, Identifier
from cuts.data.identifiers import UUID, make_identifiers, quoted
from cuts.data.schema import Schema
from cuts.text.diagnostic import Diagnostic

MIN_DISTINCT = 10  # texts; fewer are rather those of an office or a product
MIN_SHARE = 0.9  # of the texts look alike
MAX_TEXTS = 1_000  # that are looked at, the first in alphabetical order
MAX_PREFIX = 3  # characters that new phone numbers share with the real ones
MIN_TEXT_ROWS = 20  # with fewer rows, values may differ by chance
MIN_CODE_ROWS = 100  # the same where the texts are short
MIN_TEXT_WORDS = 4  # mean words per value of longer texts,
MIN_TEXT_REPEATS = 5  # which are free text if they have fewer rows each on average, or most of them have one row
NEW_EMAIL = r"([bdfgklmnprstv][aeiou]){5}@example\.(com|net|org)"  # domains that belong to nobody (RFC 2606)
_NEW_WORD = r"[BDFGHKLMNPRSTV][aeiou][lmnrst][aeiou]"
NEW_NAME, NEW_FULL_NAME = rf"{_NEW_WORD}([lmnrst][aeiou]){{2}}", rf"{_NEW_WORD}(n|r|s)? {_NEW_WORD}(ng|rk|ss|mann|son)"

_EMAIL = re.compile(r"[^@\s]+@[^@\s]+\.[A-Za-z]{2,}")
_PHONE = re.compile(r"\+?[0-9(][0-9 ()./-]{5,20}")
_NAME = re.compile(r"[^\W\d_a-z][^\W\d_]*(?:(?:['’.,-]+ ?| )[^\W\d_]+)*\.?")
_PERSON = r"first|last|given|family|full|middle|maiden|customer|client|patient|employee|person|contact|member|student"
_PERSON_HEADING = re.compile(rf"({_PERSON}|driver|passenger|doctor)[\W_]*names?|(sur|fore)names?", re.IGNORECASE)
_NAME_HEADING = re.compile(r"names?", re.IGNORECASE)
_PHONE_HEADING = re.compile(r"phone|(^|[\W_])(tel|telefon|mobile|fax)($|[\W_])", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Look:
    """What the values of a column look like, and how new ones are generated: by a pattern or a regular expression."""

    what: str
    pattern: str | None = None
    regex: str | None = None


def look_of(heading: str, texts: Sequence[str]) -> Look | None:
    """What the distinct texts of a column look like if that is personal data, else None.

    >>> look_of("contact", [f"{name}@mail.com" for name in "abcdefghij"]).what
    'e-mail addresses'
    """
    return _look(heading, texts[:MAX_TEXTS]) if len(texts) >= MIN_DISTINCT else None


def is_phone_number(heading: str, low: float, high: float) -> bool:
    """Whether whole numbers from `low` to `high` are phone numbers."""
    return low >= 10**6 and high < 10**15 and _PHONE_HEADING.search(heading) is not None


def is_free_text(texts: Sequence[str], once: int, rows: int) -> bool:
    """Whether the distinct texts of some rows hardly repeat, where `once` of them are in one row only."""
    if rows < MIN_TEXT_ROWS:
        return False
    if once == rows or 2 * len(texts) > rows >= MIN_CODE_ROWS:
        return True
    words = sum(text.count(" ") + 1 for text in texts[:MAX_TEXTS]) / len(texts[:MAX_TEXTS])
    few_rows = MIN_TEXT_REPEATS * len(texts) > rows  # on average; or one text has many rows and most have one
    return words >= MIN_TEXT_WORDS and (few_rows or (once >= MIN_TEXT_ROWS and 2 * once > len(texts)))


def personal_columns(schema: Schema, decided: Collection[str] = ()) -> tuple[Diagnostic, ...]:
    """A warning about the columns that look like personal data and so are not learned, if the owner did not decide it.

    The judgement was made when the schema was inferred; here it is read off the identifiers that will be generated.
    """
    looks = {column.name: _look_of_new(column) for column in schema if column.name not in decided}
    found = {name: look.what for name, look in looks.items() if look is not None}
    return (personal_data(found),) if found else ()


def _look_of_new(column: Column) -> Look | None:
    if not isinstance(column, Identifier) or column.pattern == UUID:
        return None
    if column.pattern is None and column.regex is None:
        return Look("phone numbers") if _PHONE_HEADING.search(column.name) else None
    return _look(column.name, make_identifiers(column, 1, 0).to_pylist())


def _look(heading: str, texts: Sequence[str]) -> Look | None:
    if _share(_EMAIL, texts) >= MIN_SHARE:
        return Look("e-mail addresses", regex=NEW_EMAIL)
    phones = [text for text in texts if _PHONE.fullmatch(text) and 7 <= sum(map(str.isdigit, text)) <= 15]
    is_phone = _PHONE_HEADING.search(heading) or all(text.startswith("+") for text in phones)
    if is_phone and len(phones) >= MIN_SHARE * len(texts):
        return Look("phone numbers", pattern=_most_common_shape(phones))
    is_full = 2 * sum(" " in text for text in texts) >= len(texts)
    is_person = _PERSON_HEADING.search(heading) or (is_full and _NAME_HEADING.fullmatch(heading))
    if is_person and _share(_NAME, texts) >= MIN_SHARE:
        return Look("names of persons", regex=NEW_FULL_NAME if is_full else NEW_NAME)
    return None


def _share(look: re.Pattern[str], texts: Sequence[str]) -> float:
    return sum(look.fullmatch(text) is not None for text in texts) / len(texts)


def _most_common_shape(texts: Sequence[str]) -> str:
    """The pattern that most texts follow: their digits vary, but for a prefix that all share, such as +41."""
    low, high = min(texts), max(texts)
    prefix = next(low[:k] for k in range(MAX_PREFIX, -1, -1) if low[:k] == high[:k])
    rests = (text.removeprefix(prefix) for text in texts)
    shapes = Counter("".join("#" if letter.isdigit() else quoted(letter) for letter in rest) for rest in rests)
    return quoted(prefix) + max(shapes, key=lambda shape: (shapes[shape], shape))


# --- what is said


def personal_data(found: Mapping[str, str]) -> Diagnostic:
    """Columns that are not learned because they look like personal data, by name, with what they look like."""
    columns = ", ".join(f"`{name}` ({what})" for name, what in found.items())
    first = quote(next(iter(found)))
    return Diagnostic(
        "personal-data",
        f"this looks like personal data and is not learned, new values are generated: {columns}",
        help=f"decide in a schema: `cuts schema infer` with `--drop {first}` leaves it out, with `--keep {first}`\n"
        "learns the real values; `pattern` or `regex` in the schema sets how new ones look",
        severity="warning",
    )


def free_text(name: str, distinct: int) -> Diagnostic:
    """A text column that hardly repeats: nothing to learn, much to leak."""
    typed = quote(name)
    return Diagnostic(
        "free-text",
        f"the column `{name}` looks like free text or personal data: {distinct:,} distinct values that hardly repeat",
        help=f"decide in a schema: `cuts schema infer` with `--drop {typed}` leaves it out, with `--id {typed}`\n"
        f"generates new values, with `--keep {typed}` learns the real ones, which then are in the schema",
    )
