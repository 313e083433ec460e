"""Requirements of every table: columns with distinct names, one plain value per cell, and at least one row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pyarrow as pa

from cuts.text.diagnostic import CutsError, Diagnostic, usage_error


def check_names(names: Sequence[object], where: str) -> None:
    """Raise unless the column names are distinct strings that are not empty."""
    if not names:
        raise unreadable(f"{where} has no columns", "give a table with at least one column")
    for position, name in enumerate(names, start=1):
        if not isinstance(name, str):
            raise unreadable(
                f"{where} has a column named {name!r}, which is not a string",
                "rename the columns to strings, in pandas by `frame.columns = frame.columns.map(str)`",
            )
        if not name:
            raise unreadable(f"{where}: column {position} has no name", "give every column a name")
    name, count = Counter(names).most_common(1)[0]
    if count > 1:
        raise unreadable(f"{where} has two columns named `{name}`", "rename one of them")


def check_same_columns(path: object, names: Sequence[str], first: object, expected: Sequence[str]) -> None:
    """Raise unless a file has the columns of the first file, in any order."""
    absent = next((name for name in expected if name not in names), None)
    added = next((name for name in names if name not in expected), None)
    if absent is not None:
        raise unreadable(f"{path} has no column `{absent}`, which {first} has", "give all files the same columns")
    if added is not None:
        raise unreadable(
            f"{path} has a column `{added}`, which {first} does not have", "give all files the same columns"
        )


def check_type(name: str, kind: pa.DataType, where: str) -> None:
    """Raise unless a column of this Arrow type holds one plain value per row."""
    plain = kind.value_type if pa.types.is_dictionary(kind) else kind
    if isinstance(plain, pa.BaseExtensionType) or pa.types.is_nested(plain) or pa.types.is_run_end_encoded(plain):
        raise not_plain(name, f"is of type {kind}", where)


def check_rows(rows: int, where: str) -> None:
    """Raise unless there are rows."""
    if rows == 0:
        raise unreadable(f"{where} has no rows", "give a table with at least one row")


def unreadable(title: str, help: str | None = None) -> CutsError:
    """The error of a table that cannot be read; `help` says what to do."""
    return usage_error("unreadable-table", title, help)


def not_plain(name: str, what: str, where: str) -> CutsError:
    """A column whose values are not numbers, text, dates, times or truth values."""
    return unreadable(
        f"{where}: the column `{name}` {what}",
        f"drop `{name}`, or convert it to numbers, text, dates or true and false first",
    )


def other_columns(path: object) -> CutsError:
    """The error of a file that is read with the form of a file with other columns."""
    return unreadable(
        f"{path} does not have the same columns as the file read first", "give a file with the same columns"
    )


def undecodable(path: object, line: int, encoding: str) -> CutsError:
    """Bytes that are not valid in the encoding."""
    return unreadable(
        f"{path}, line {line}: some bytes are not valid {encoding}",
        "save the file as UTF-8, or state its encoding, such as cp1252",
    )


def bad_query(title: str, help: str) -> CutsError:
    """SQL that is not one statement that reads, or that fails."""
    return CutsError([Diagnostic("bad-query", title, help=help)])
