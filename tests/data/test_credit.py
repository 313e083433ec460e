"""The table `credit` is the table `german` in words: same rows, same order, nothing lost and nothing added."""

from __future__ import annotations

from typing import get_args

import pytest

from cuts.data.schema import Category
from cuts.datasets import CREDIT, GERMAN, Split, load, load_schema
from cuts.datasets.credit import COLUMNS

SPLITS: tuple[Split, ...] = get_args(Split)


def test_every_column_and_code_of_german_has_words() -> None:
    german = load_schema(GERMAN)
    assert {column.source for column in COLUMNS} == set(german.names)
    for column in COLUMNS:
        coded = german[column.source]
        codes = set(coded.categories) if isinstance(coded, Category) else None
        assert (None if column.by_code is None else set(column.by_code)) == codes, column.name


def test_the_schema_of_credit_lists_exactly_the_words_of_the_code_book() -> None:
    credit = load_schema(CREDIT)
    assert credit.names == tuple(column.name for column in COLUMNS)
    for words in COLUMNS:
        column = credit[words.name]
        if words.by_code is not None:
            assert isinstance(column, Category)
            assert set(column.categories) == set(words.by_code.values())


@pytest.mark.parametrize("split", SPLITS)
def test_the_codes_of_german_can_be_read_back_from_credit(split: Split) -> None:
    credit, german = load(CREDIT, split).arrow, load(GERMAN, split).arrow
    by_source: dict[str, dict[tuple[object, ...], set[object]]] = {}
    for source in german.column_names:
        names = [column.name for column in COLUMNS if column.source == source]
        pairs = by_source.setdefault(source, {})
        for words, code in zip(
            zip(*(credit[n].to_pylist() for n in names), strict=True), german[source].to_pylist(), strict=True
        ):
            pairs.setdefault(words, set()).add(code)
    assert all(len(codes) == 1 for pairs in by_source.values() for codes in pairs.values())


def test_known_rows_read_as_the_code_book_says() -> None:
    german, credit = load(GERMAN).arrow.slice(0, 1).to_pylist()[0], load(CREDIT).arrow.slice(0, 1).to_pylist()[0]
    assert (german["A1"], german["A4"], german["A9"], german["class"]) == ("A11", "A49", "A93", "2")
    assert (credit["checking_account"], credit["purpose"], credit["risk"]) == ("below_0", "business", "bad")
    assert (credit["sex"], credit["marital_status"], credit["amount"]) == ("male", "single", german["A5"])
