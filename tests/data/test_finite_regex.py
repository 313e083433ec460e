"""Simple regular expressions: each of their texts once, in the numbers from 0 to their size."""

from __future__ import annotations

import re
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cuts.data.finite_regex import finite_regex

EXPRESSIONS = st.recursive(
    st.sampled_from(["a", "b", "[ab]", r"\."]),
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3).map("".join),
        st.lists(inner, min_size=1, max_size=3).map(lambda parts: f"({'|'.join(parts)})"),
        st.builds("({}){}".format, inner, st.sampled_from(["?", "{0}", "{2}", "{0,2}", "{1,2}"])),
    ),
    max_leaves=4,
)


@settings(max_examples=200)
@given(EXPRESSIONS)
def test_the_texts_are_those_that_match_each_once_and_each_with_its_number(source: str) -> None:
    texts = finite_regex(source)
    made = [texts.spell(number) for number in range(min(texts.size, 500))]
    assert len(set(made)) == len(made)
    assert all(re.fullmatch(source, text) for text in made)
    assert [texts.number(text) for text in made] == list(range(len(made)))
    short = ["".join(letters) for length in range(5) for letters in product("ab.", repeat=length)]
    assert [text for text in short if texts.number(text) is not None] == [t for t in short if re.fullmatch(source, t)]


def test_classes_ranges_and_escapes_mean_what_they_mean_elsewhere() -> None:
    assert finite_regex(r"\d").size == 10
    assert finite_regex(r"\w{2}").size == 63**2
    assert finite_regex(r"[a-f\d_.-]").size == 6 + 10 + 3
    assert finite_regex(r"\+41 7\d(?: \d{2,3}){2}").spell(0) == "+41 70 00 00"


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("a+", "needs a limit"),
        ("[a-z]*@x", "needs a limit"),
        ("a{2,}", "needs a limit"),
        ("a.b", "any character at all"),
        ("[^a]", "list the characters that are allowed"),
        ("(ab", "not closed"),
        ("[ab", "not closed"),
        ("ab)", "too many"),
        ("?a", "nothing before"),
        ("^a", "leave out"),
        ("[z-a]", "does not end a range"),
        (r"\s", "not known here"),
        ("(?=a)", "cannot begin"),
        ("a{3,1}", "must rise"),
        ("a{2x}", "no number of repetitions"),
        ("(a{99}b{99}){9}", "more than 100 characters"),
        ("(" * 3_000 + "a" + ")" * 3_000, "too many brackets"),
    ],
)
def test_what_is_not_simple_is_refused_in_words(source: str, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        finite_regex(source)
