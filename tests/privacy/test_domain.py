"""Discovering categories: what one unit can change in them, and what it costs to find them."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuts.privacy.core import count_values, discover
from cuts.privacy.ledger import Event, ReleaseLedger
from cuts.privacy.reading import cells_of
from cuts.privacy.secret import reveal
from cuts.text.diagnostic import CutsError
from privacy.checks import VARIANTS
from privacy.people import opened, plentiful

TEXTS = st.sampled_from(["a", "b", "a\x00b", "a\x00c", " a ", "", "é", "\ufffd", None]) | st.text(max_size=3)


def counted(texts: list[str | None], persons: list[str] | None = None, max_rows: int = 1) -> Mapping[str, int]:
    columns = {"city": pa.array(texts, pa.string())}
    if persons is not None:
        columns["who"] = pa.array(persons, pa.string())
    person = None if persons is None else "who"
    return reveal(count_values(cells_of(pa.table(columns)), ["city"], person=person, max_rows=max_rows)["city"])


def found_in(texts: list[str | None], ledger: ReleaseLedger | None = None) -> tuple[str, ...]:
    rows = cells_of(pa.table({"city": pa.array(texts, pa.string())}))
    counts = count_values(rows, ["city"], person=None, max_rows=1)["city"]
    return discover(counts, "city", ledger or plentiful(), 10.0, 1e-9, lambda _: None)[0]


def moved(one: Mapping[str, int], other: Mapping[str, int]) -> list[int]:
    return [abs(one.get(text, 0) - other.get(text, 0)) for text in {*one, *other}]


@given(st.lists(TEXTS, max_size=10), TEXTS)
def test_a_row_changes_the_count_of_one_text_by_one(texts: list[str | None], text: str | None) -> None:
    assert sum(moved(counted(texts), counted([*texts, text]))) <= 1


@given(st.lists(st.tuples(st.sampled_from("pq"), TEXTS), max_size=10), st.lists(TEXTS, max_size=6), st.integers(1, 3))
def test_a_person_changes_counts_by_the_most_that_count(
    others: list[tuple[str, str | None]], own: list[str | None], max_rows: int
) -> None:
    persons, texts = [who for who, _ in others], [text for _, text in others]
    one = counted(texts, persons, max_rows)
    other = counted([*own, *texts], ["me"] * len(own) + persons, max_rows)
    assert sum(moved(one, other)) <= max_rows


def test_frequent_texts_are_found_and_rare_ones_are_not() -> None:
    # The noise is 10, the threshold above 60: 400 rows are missed, or one is found, once in a billion times.
    assert found_in(["oslo"] * 400 + ["rome"] * 400 + ["me"]) == ("oslo", "rome")


@pytest.mark.parametrize("odd", ["oslo\x00", "oslo\x00me", "\x00oslo", "oslo ", "OSLO"])
def test_no_other_text_hides_a_frequent_one(odd: str) -> None:
    assert "oslo" in found_in(["oslo"] * 400 + [odd])


@pytest.mark.parametrize("terms", VARIANTS)
def test_discovery_is_charged_before_it_reads_at_what_it_costs(terms: dict[str, object]) -> None:
    ledger = plentiful(**terms)
    recorded: list[Event] = []
    counts = count_values(cells_of(pa.table({"city": ["oslo"] * 900})), ["city"], person=None, max_rows=1)["city"]
    found, after = discover(counts, "city", ledger, 10.0, 1e-9, recorded.append)
    assert found == ("oslo",)
    assert after.events == tuple(recorded)
    assert len(recorded) == 1
    rows, replaces = ledger.terms.max_rows_per_person, ledger.terms.relation == "replace"
    assert recorded[0].cost >= Fraction((2 if replaces else 1) * rows**2, 200)  # all rows of a unit in one text
    assert 0 < recorded[0].delta <= 1e-9


def test_discovery_beyond_the_budget_is_refused_before_it_reads() -> None:
    counts = count_values(cells_of(pa.table({"city": ["oslo"]})), ["city"], person=None, max_rows=1)["city"]
    recorded: list[Event] = []
    with pytest.raises(CutsError, match="budget"):
        discover(counts, "city", opened(), 0.5, 1e-9, recorded.append)
    assert recorded == []
