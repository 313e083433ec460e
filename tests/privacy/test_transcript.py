"""Transcripts are written exactly, and what was changed in one is found when it is read."""

from __future__ import annotations

import json
from collections.abc import Callable
from copy import deepcopy
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from cuts.data.codec import build_codec
from cuts.data.codec_file import fingerprint
from cuts.data.schema import Category, Identifier, Integer, Schema
from cuts.privacy.adaptive import release
from cuts.privacy.curator import Candidate
from cuts.privacy.ledger import Event, History, ReleaseLedger, Terms
from cuts.privacy.query import Query, fine
from cuts.privacy.release_json import LedgerJson, from_data, ledger_data, to_data
from cuts.privacy.transcript import (
    Choice,
    Measurement,
    Replay,
    Transcript,
    as_data,
    count_estimate,
    render,
    transcript_from,
)
from cuts.privacy.units import Spending, Unit
from cuts.text.diagnostic import CutsError
from privacy.people import counts_of, draw_people, independent, open_core, opened, workload_of

VISITS = build_codec(
    Schema(
        "visits",
        (Identifier("who"), Integer("age", 0, 63, 16), Category("sex", ("f", "m")), Category("city", ("x", "y", "z"))),
    ),
    {},
)
REFUSED = (ValueError, LookupError, TypeError, CutsError)


@cache
def made() -> Transcript:
    """A transcript of the core."""
    ledger = opened(1.0, 1e-6, max_rows_per_person=2, person="who")
    curator = open_core(counts_of(draw_people(500, 0, VISITS), VISITS), ledger)
    return release(curator, VISITS, workload_of(VISITS), independent)


def data_of(transcript: Transcript) -> dict[str, Any]:
    """As it comes out of a file."""
    found: dict[str, Any] = json.loads(render(transcript))
    return found


def test_a_transcript_is_read_as_it_was_written() -> None:
    found = transcript_from(data_of(made()))
    assert render(found) == render(made())
    assert found.ledger == made().ledger
    assert fingerprint(found.codec) == fingerprint(made().codec)
    assert found.rows == made().rows
    for one, other in zip(found.answers, made().answers, strict=True):
        if isinstance(one, Measurement):
            assert isinstance(other, Measurement)
            assert (one.query, one.sigma) == (other.query, other.sigma)
            assert_array_equal(one.values, other.values)
            assert one.values.dtype == np.int64
        else:
            assert one == other


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["measure", "select", "discover"]),
            st.floats(1e-3, 1e9),
            st.floats(1e-3, 1e3),
            st.integers(1, 10**12),
        ),
        max_size=6,
    ),
    st.fractions(min_value=0, max_value=3),
)
def test_a_ledger_is_read_as_it_was_written(reads: list[tuple[Any, float, float, int]], before: Fraction) -> None:
    earlier = History("ab12", (Spending(Unit(2, "id"), 3, before, 1e-7, Fraction(1, 10**9)),))
    terms = Terms(2e15, 1e-7, 4, "id", "replace")
    ledger = ReleaseLedger(terms, Fraction(10**15), Fraction(1, 10**8), earlier)
    for kind, scale, sensitivity, more in reads:
        cost = Fraction(sensitivity) ** 2 / (2 * Fraction(scale) ** 2) * (1 + Fraction(1, more))
        ledger = ledger.charged(Event(kind, ("a", "b"), scale, sensitivity, cost, 1e-10, 7))
    text = json.dumps(ledger_data(ledger))
    assert from_data(json.loads(text), LedgerJson).ledger() == ledger
    assert [from_data(to_data(event), Event) for event in ledger.events] == list(ledger.events)


def test_negative_and_huge_counts_are_read_as_they_were_written() -> None:
    values = np.array([-(2**62), -1, 2**62])
    ledger, sizes, answers = opened(), VISITS.sizes, []
    for name, size in sizes.items():
        ledger = ledger.charged(Event("measure", (name,), 1e9, 1.0, Fraction(1, 10**9)))
        answers.append(Measurement(fine((name,), sizes), 1e9, np.resize(values, size)))
    transcript = Transcript(VISITS, ledger, tuple(answers))
    for found, answer in zip(transcript_from(data_of(transcript)).measurements, answers, strict=True):
        assert_array_equal(found.values, answer.values)


def test_the_number_of_rows_is_the_mean_of_totals_by_exactness() -> None:
    one = Measurement(fine(("x",), {"x": 2}), 1.0, np.array([60, 40]))  # variance 2
    other = Measurement(fine(("y",), {"y": 4}), 2.0, np.array([100, 20, 30, -4]))  # variance 16
    assert count_estimate([one]) == 100.0
    assert count_estimate([one, other]) == pytest.approx((100 / 2 + 146 / 16) / (1 / 2 + 1 / 16))


# --- what was changed


def _edit(path: list[Any], value: Any) -> Callable[[dict[str, Any]], None]:
    def change(data: dict[str, Any]) -> None:
        for step in path[:-1]:
            data = data[step]
        data[path[-1]] = value(data[path[-1]]) if callable(value) else value

    return change


def _cheaper(data: dict[str, Any]) -> None:
    """The first read made out to have cost half: less noise than is told would have been needed for it."""
    data["rho"] = str(Fraction(data["rho"]) / 2)


def _cheaper_and_narrower(data: dict[str, Any]) -> None:
    """The same, and one row made out to move less."""
    data["rho"] = str(Fraction(data["rho"]) / 4)
    data["sensitivity"] /= 2


def _lighter(data: dict[str, Any]) -> None:
    """A selection made out to be among tables of the least weight, at the price of that."""
    events = zip(data["answers"], data["ledger"]["events"], strict=True)
    selections = [(answer, event) for answer, event in events if answer["type"] == "select"]
    choice, charge = max(selections, key=lambda pair: len(pair[0]["clique"]))
    assert len(choice["clique"]) > 1
    rows = data["ledger"]["max_rows_per_person"]
    charge["sensitivity"] = 1024.0 * rows
    charge["rho"] = str(Fraction(1024 * rows) ** 2 / (2 * Fraction(charge["scale"]) ** 2))


def _edit_first_choice(data: dict[str, Any], key: str, value: Any) -> None:
    """A selection changed in the answer and in its charge, so that the two still match."""
    index = next(index for index, answer in enumerate(data["answers"]) if answer["type"] == "select")
    data["answers"][index][key] = data["ledger"]["events"][index][key] = value


def _unmeasured(data: dict[str, Any]) -> None:
    index = next(index for index, answer in enumerate(data["answers"]) if answer["type"] == "select")
    del data["answers"][index + 1], data["ledger"]["events"][index + 1]


def _without_first(data: dict[str, Any]) -> None:
    name = data["answers"][0]["clique"]
    kept = [index for index, answer in enumerate(data["answers"]) if answer["clique"] != name]
    data["answers"] = [data["answers"][index] for index in kept]
    data["ledger"]["events"] = [data["ledger"]["events"][index] for index in kept]


def _earlier(data: dict[str, Any], **changes: Any) -> None:
    unit = {"max_rows_per_person": 2, "person": "who", "relation": "add/remove"}
    spent = {"unit": unit, "releases": 1, "rho": "1/100", "delta": 1e-6, "discovery_delta": "0"}
    data["ledger"]["history"]["spent"] = [spent | changes]


def _discovered(data: dict[str, Any]) -> None:
    first = data["ledger"]["events"][0]
    data["ledger"]["events"].insert(0, {**first, "type": "discover", "scale": 1e9, "rho": "1/1000000000"})


EDITS: dict[str, Callable[[dict[str, Any]], None]] = {
    "a lowered cost": lambda data: _cheaper(data["ledger"]["events"][0]),
    "a lowered cost and sensitivity": lambda data: _cheaper_and_narrower(data["ledger"]["events"][0]),
    "a budget below what was spent": _edit(["ledger", "rho"], "1/1000000"),
    "a negative cost": _edit(["ledger", "events", 2, "rho"], "-1/2"),
    "a missing charge": lambda data: data["ledger"]["events"].pop(),
    "a missing answer": lambda data: data["answers"].pop(),
    "a missing answer and another charge": lambda data: data["answers"].pop(0),
    "an answer twice": lambda data: data["answers"].append(data["answers"][-1]),
    "a cell less": lambda data: data["answers"][0]["values"].pop(),
    "a cell more": lambda data: data["answers"][0]["values"].append(0),
    "a cell that is no whole number": _edit(["answers", 0, "values", 0], 1.5),
    "a cell that is no number": _edit(["answers", 0, "values", 0], "many"),
    "a cell beyond all counts": _edit(["answers", 0, "values", 0], 10**30),
    "less noise than was paid for": _edit(["answers", 0, "sigma"], lambda sigma: sigma / 2),
    "less noise in a choice than was paid for": _edit(["answers", -2, "scale"], lambda scale: scale / 2),
    "no noise": _edit(["ledger", "events", 0, "scale"], 0.0),
    "endless noise": _edit(["ledger", "events", 0, "scale"], float("inf")),
    "other columns": _edit(["answers", 0, "clique"], ["city"]),
    "columns that are not there": _edit(["answers", 0, "clique"], ["nobody"]),
    "other groups": _edit(["groups", 0], lambda owner: [0] * len(owner)),
    "groups with a gap": _edit(["groups", 0, 0], 99),
    "groups that are not there": _edit(["answers", 0, "groups"], [99]),
    "groups below zero": _edit(["groups", 0, 0], -1),
    "a cost divided by zero": _edit(["ledger", "events", 0, "rho"], "1/0"),
    "a cost that is no number": _edit(["ledger", "events", 0, "rho"], "nan"),
    "another format": _edit(["format"], "cuts-counts"),
    "another version": _edit(["version"], 99),
    "no ledger": lambda data: data.pop("ledger"),
    "another relation": _edit(["ledger", "relation"], "replace"),
    "more rows a person": _edit(["ledger", "max_rows_per_person"], 3),
    "a choice in the place of a table": _edit(["answers", 0, "type"], "select"),
    "no columns selected": lambda data: _edit_first_choice(data, "clique", []),
    "no candidates": lambda data: _edit_first_choice(data, "of", -7),
    "a selection without its table": lambda data: _unmeasured(data),
    "a column less": lambda data: _without_first(data),
    "nothing at all": lambda data: (data["answers"].clear(), data["ledger"]["events"].clear()),
    "a budget beyond all numbers": _edit(["ledger", "rho"], "1e400"),
    "a budget of many digits": _edit(["ledger", "rho"], "9" * 4000),
    "earlier releases that gave something back": lambda data: _earlier(data, rho="-1/1000"),
    "earlier releases of nobody": lambda data: _earlier(data, unit={"max_rows_per_person": 0}),
    "earlier releases beyond delta": lambda data: _earlier(data, discovery_delta="2"),
    "a smaller epsilon": _edit(["ledger", "epsilon"], 0.1),
    "a hardly smaller epsilon": _edit(["ledger", "epsilon"], 0.999),
    "an endless epsilon": _edit(["ledger", "epsilon"], float("inf")),
    "a smaller delta": _edit(["ledger", "delta"], 1e-12),
    "a larger budget": _edit(["ledger", "rho"], lambda rho: str(Fraction(rho) * 2)),
    "delta for discovery": _edit(["ledger", "discovery_delta"], "1/2000000"),
    "a scale of scores that move less": lambda data: _lighter(data),
    "persons in a column that does not identify them": _edit(["ledger", "person"], "city"),
    "persons in no column": _edit(["ledger", "person"], "nobody"),
    "a schema that was read from the rows": _edit(["codec", "schema", "provenance"], "inferred"),
    "a schema that does not say": lambda data: data["codec"]["schema"].pop("provenance"),
    "a range that was discovered although it is declared": lambda data: _discovered(data),
}


@pytest.mark.parametrize("edit", EDITS)
def test_a_changed_transcript_is_refused(edit: str) -> None:
    data = data_of(made())
    EDITS[edit](data)
    with pytest.raises(REFUSED):
        transcript_from(data)


@st.composite
def damages(draw: st.DrawFn) -> dict[str, Any]:
    """A transcript with one value somewhere replaced by anything, or left out."""
    data = place = deepcopy(data_of(made()))
    while True:
        step: Any = draw(st.sampled_from(sorted(place)) if isinstance(place, dict) else st.integers(0, len(place) - 1))
        inner = place[step]
        if isinstance(inner, dict | list) and inner and draw(st.integers(0, 3)):
            place = inner
            continue
        if draw(st.booleans()):
            del place[step]
        else:
            place[step] = draw(
                st.none()
                | st.booleans()
                | st.integers()
                | st.floats()
                | st.text(max_size=4)
                | st.just([])
                | st.just({})
            )
        return data


@settings(max_examples=300)
@given(damages())
def test_a_damaged_transcript_is_read_or_refused_and_nothing_else(data: dict[str, Any]) -> None:
    try:
        found = transcript_from(data)
    except REFUSED:
        return
    assert found.ledger.spent <= found.ledger.rho
    for answer in found.measurements:
        assert answer.values.shape == answer.query.shape


# --- replaying


def test_a_replay_refuses_questions_that_were_not_asked() -> None:
    query = made().measurements[0].query
    sigma = made().measurements[0].sigma
    candidate = Candidate(query, np.zeros(query.shape, dtype=np.int64), 1, 0)
    with pytest.raises(ValueError, match="another answer"):
        Replay(made()).measure(query, sigma / 2)
    with pytest.raises(ValueError, match="another answer"):
        Replay(made()).measure(Query(query.clique, ((0,) * len(query.owners[0]),)), sigma)
    with pytest.raises(ValueError, match="another answer"):
        Replay(made()).select([candidate], 1.0)
    empty = Replay(Transcript(VISITS, opened(), ()))
    with pytest.raises(ValueError, match="ends here"):
        empty.measure(query, sigma)


def test_a_replay_spends_what_the_core_spent() -> None:
    replay = Replay(made())
    assert replay.ledger.spent == 0
    release(replay, VISITS, workload_of(VISITS), independent)
    assert replay.ledger == made().ledger


def test_equal_transcripts_are_equal_texts_and_groups_are_listed_once() -> None:
    data = as_data(made())
    assert len({tuple(owner) for owner in data["groups"]}) == len(data["groups"])
    assert render(transcript_from(data_of(made()))) == render(made())
    assert isinstance(made().answers[-2], Choice)
