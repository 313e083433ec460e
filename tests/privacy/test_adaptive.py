"""How a release goes: what it asks next is a function of answers, and of nothing else."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from cuts.count.marginals import Marginals
from cuts.data.codec import ColumnBins, build_codec
from cuts.data.schema import Category, Integer, Schema
from cuts.privacy.adaptive import DEFAULT_SETTINGS, MEAN_ABSOLUTE_NOISE, AdaptiveSettings, release
from cuts.privacy.curator import GRID, Candidate
from cuts.privacy.grouping import merge_rare
from cuts.privacy.ledger import ReleaseLedger
from cuts.privacy.noise_scale import gaussian_scale, gumbel_scale
from cuts.privacy.query import Query, fine, grouped
from cuts.privacy.transcript import Choice, Measurement, Transcript, count_estimate, render
from cuts.privacy.workload import column_weights, make_workload
from cuts.progress import Round
from privacy.people import (
    MIXED,
    PEOPLE,
    Independent,
    counts_of,
    draw_people,
    independent,
    open_core,
    opened,
    sizes_of,
    uniform,
    workload_of,
)
from privacy.twin import Twin


@dataclass(frozen=True)
class Heard:
    """A selection as the curator was asked for it."""

    candidates: Sequence[Candidate]
    scale: float


class Listening(Twin):
    """Remembers what it was asked to select from."""

    def __init__(self, counts: Marginals, ledger: ReleaseLedger, seed: int) -> None:
        super().__init__(counts, ledger, seed)
        self.heard: list[Heard] = []

    def select(self, candidates: Sequence[Candidate], scale: float) -> int:
        self.heard.append(Heard(candidates, scale))
        return super().select(candidates, scale)


def released(  # type: ignore[no-untyped-def]
    rows: int = 400, *, learner=independent, codec=PEOPLE, seed=0, settings=DEFAULT_SETTINGS, **terms
) -> tuple[Transcript, Listening]:
    curator = Listening(counts_of(draw_people(rows, 0, codec), codec), opened(**terms), seed)
    return release(curator, codec, workload_of(codec), learner, settings=settings), curator


def rounds_of(transcript: Transcript) -> list[tuple[list[Measurement], Choice, Measurement]]:
    """For each round what had been measured before it, what was chosen and what was measured."""
    found, before = [], []
    for one, other in pairwise(transcript.answers):
        if isinstance(one, Choice):
            assert isinstance(other, Measurement)
            found.append((list(before), one, other))
        else:
            before.append(one)
    return found


def singles_of(transcript: Transcript) -> list[Measurement]:
    """What is measured before any choice: all single columns, once or more often."""
    first = next(place for place, each in enumerate(transcript.answers) if isinstance(each, Choice))
    found = list(transcript.measurements[:first])
    columns = [(bins.column.name,) for bins in transcript.codec.columns]
    assert [each.query.clique for each in found] == columns * (first // len(columns))
    return found


# --- rounds


def test_every_column_is_measured_first_bin_by_bin_with_the_same_noise() -> None:
    transcript, _ = released(codec=MIXED)
    first = transcript.measurements[: len(MIXED.columns)]
    assert [each.query for each in first] == [fine((name,), sizes_of(MIXED)) for name in sizes_of(MIXED)]
    assert len({each.sigma for each in first}) == 1


def test_then_a_table_is_chosen_and_measured_in_turns() -> None:
    transcript, _ = released()
    kinds, first = [type(each) for each in transcript.answers], len(singles_of(transcript))
    assert kinds == [Measurement] * first + [Choice, Measurement] * ((len(kinds) - first) // 2)
    for _, chosen, measured in rounds_of(transcript):
        assert chosen.clique == measured.query.clique


@pytest.mark.parametrize("rows", [0, 20, 400, 20_000])
def test_tables_whose_noise_would_hide_all_rows_are_not_offered(rows: int) -> None:
    transcript, curator = released(rows)
    for (before, chosen, measured), heard in zip(rounds_of(transcript), curator.heard, strict=True):
        known = max(1.0, count_estimate(before))
        cells = {each.query.clique: each.query.cells for each in heard.candidates}
        assert chosen.candidates == len(cells)
        hopeless = [count for count in cells.values() if MEAN_ABSOLUTE_NOISE * measured.sigma * count > known]
        assert not hopeless or len(cells) == 1
    largest = max(len(each.query.clique) for heard in curator.heard for each in heard.candidates)
    assert largest == (3 if rows == 20_000 else largest)


def test_a_candidate_tells_what_the_model_expects_and_what_noise_would_add() -> None:
    transcript, curator = released()
    for (before, _, measured), heard in zip(rounds_of(transcript), curator.heard, strict=True):
        groups = {
            name: owner
            for each in heard.candidates
            for name, owner in zip(each.query.clique, each.query.owners, strict=True)
        }
        model, rows = independent(before, groups, None), max(1.0, count_estimate(before))
        for each in heard.candidates:
            assert_array_equal(each.expected, np.rint(GRID * rows * model.shares(each.query)))
            assert each.expected.dtype == np.int64
            assert each.weight == workload_of(PEOPLE).weight(each.query.clique) == 3 * len(each.query.clique)
            error = MEAN_ABSOLUTE_NOISE * measured.sigma * each.query.cells
            assert each.penalty == round(GRID * DEFAULT_SETTINGS.penalty_weight * error)


@pytest.mark.parametrize("terms", [{}, {"max_rows_per_person": 3}, {"relation": "replace"}])
def test_a_round_spends_a_tenth_on_choosing(terms: dict[str, object]) -> None:
    transcript, curator = released(**terms)
    for (_, chosen, measured), heard in zip(rounds_of(transcript), curator.heard, strict=True):
        heaviest = max(each.weight for each in heard.candidates)
        moves = transcript.ledger.terms.max_rows_per_person * (2 if terms.get("relation") == "replace" else 1)
        choosing = (moves * GRID * heaviest / chosen.scale) ** 2 / 2
        spread = transcript.ledger.terms.max_rows_per_person**2 * (2 if terms.get("relation") == "replace" else 1)
        measuring = spread / (2 * measured.sigma**2)
        assert math.isclose(choosing / (choosing + measuring), DEFAULT_SETTINGS.selection_share, rel_tol=1e-5)


def test_scales_are_those_of_a_cost() -> None:
    terms = opened(max_rows_per_person=2, relation="replace").terms
    assert math.isclose(gaussian_scale(0.01, terms), 2 * math.sqrt(2) * math.sqrt(1 / 0.02), rel_tol=1e-6)
    assert math.isclose(gumbel_scale(0.01, terms, 7), 2 * 2 * GRID * 7 / math.sqrt(0.02), rel_tol=1e-6)


# --- annealing


def scale_of_a_round(share: float) -> float:
    """The noise of a table in a round that costs that share of the budget."""
    cost = (1 - DEFAULT_SETTINGS.selection_share) * share * float(opened().rho)
    return gaussian_scale(cost, opened().terms)


class Leaping:
    """A learner whose model jumps to and fro as far as it can."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, measurements: object, groups: dict[str, tuple[int, ...]], before: object) -> Independent:
        self.calls += 1
        place = 0 if self.calls % 2 else -1
        columns = {name: np.full(max(owner) + 1, 1e-9) for name, owner in groups.items()}
        for share in columns.values():
            share[place] = 1.0
        return Independent({name: share / share.sum() for name, share in columns.items()})


def test_noise_falls_by_root_two_while_the_model_learns_nothing_until_rounds_are_as_dear_as_may_be() -> None:
    transcript, _ = released(20_000, learner=uniform)
    sigmas = [measured.sigma for _, _, measured in rounds_of(transcript)]
    first, dearest = (scale_of_a_round(share) for share in (0.0092, DEFAULT_SETTINGS.max_round_share))
    assert math.isclose(sigmas[0], first, rel_tol=1e-5)
    for one, other in pairwise(sigmas[:-2]):
        assert math.isclose(other, max(one / math.sqrt(2), dearest), rel_tol=1e-5)
    assert DEFAULT_SETTINGS.planned_rounds == 100


def test_noise_rises_by_root_two_while_the_model_is_far_off_until_rounds_are_as_cheap_as_may_be() -> None:
    transcript, _ = released(20_000, learner=Leaping(), settings=AdaptiveSettings(min_round_share=0.004))
    sigmas = [measured.sigma for _, _, measured in rounds_of(transcript)]
    noisiest = scale_of_a_round(0.004)
    for one, other in pairwise(sigmas[:-2]):
        assert math.isclose(other, min(one * math.sqrt(2), noisiest), rel_tol=1e-5)
    assert 220 < len(sigmas) < 230


@pytest.mark.parametrize("seed", range(5))
def test_noise_changes_as_the_paper_says_between_those_bounds(seed: int) -> None:
    transcript, _ = released(3_000, seed=seed)
    steps = rounds_of(transcript)
    groups = {
        name: owner
        for each in transcript.measurements
        for name, owner in zip(each.query.clique, each.query.owners, strict=True)
    }
    budget = float(opened().left)
    for (before, _, measured), (after, _, following) in list(pairwise(steps))[:-2]:
        rows = max(1.0, count_estimate(after))
        was, became = (independent(each, groups, None).shares(measured.query) for each in (before, after))
        error = MEAN_ABSOLUTE_NOISE * measured.sigma * measured.query.cells
        xi = rows * np.abs(became - was).sum() / (DEFAULT_SETTINGS.min_useful_change * error)
        wanted = measured.sigma * min(max(xi, math.sqrt(0.5)), math.sqrt(2))
        shares = (DEFAULT_SETTINGS.max_round_share, DEFAULT_SETTINGS.min_round_share)
        low, high = (math.sqrt(1 / (2 * (1 - DEFAULT_SETTINGS.selection_share) * share * budget)) for share in shares)
        assert math.isclose(following.sigma, min(max(wanted, low), high), rel_tol=1e-5)


# --- what is told


def test_who_watches_is_told_what_the_transcript_tells() -> None:
    heard: list[Round] = []
    curator = Twin(counts_of(draw_people(20_000, 0)), opened(), 0)
    transcript = release(curator, PEOPLE, workload_of(PEOPLE), independent, seen=heard.append)
    told = [(measured.query.clique, measured.sigma) for _, _, measured in rounds_of(transcript)]
    assert [(each.clique, each.sigma) for each in heard] == told
    assert [each.number for each in heard] == list(range(1, len(told) + 1))
    spent = [each.spent for each in heard]
    assert spent == sorted(spent)
    assert 0.08 < spent[0] < 0.11
    assert spent[-1] == pytest.approx(1.0, abs=1e-3)


def test_equal_answers_make_equal_transcripts() -> None:
    one, other = (released(seed=5)[0] for _ in range(2))
    assert render(one) == render(other)
    assert render(one) != render(released(seed=6)[0])


def test_the_number_of_rows_is_the_noisy_one() -> None:
    transcript, _ = released(400)
    assert transcript.rows == round(count_estimate(transcript.measurements))
    # The totals of the tables have a standard deviation of 8 rows together: 60 is beyond any chance.
    assert abs(transcript.rows - 400) < 60


def test_a_table_without_rows_is_released_like_any_other() -> None:
    transcript, _ = released(0)
    assert transcript.rows >= 1
    assert transcript.ledger.spent > 0.999 * transcript.ledger.rho


def test_a_table_of_one_column_is_released() -> None:
    codec = build_codec(Schema("one", (Category("a", ("x", "y")),)), {})
    counts = counts_of({"a": np.array([0, 1, 1])}, codec)
    transcript = release(Twin(counts, opened(), 0), codec, workload_of(codec), independent)
    assert {each.query.clique for each in transcript.measurements} == {("a",)}


# --- groups


@pytest.mark.parametrize("rows", [400, 20_000])
def test_rare_levels_share_a_group_in_all_tables_of_several_columns(rows: int) -> None:
    transcript, _ = released(rows)
    singles = singles_of(transcript)
    least = DEFAULT_SETTINGS.rare_bin_noise * singles[0].sigma / math.sqrt(len(singles) // 4)
    for each in transcript.measurements[len(singles) :]:
        for name, owner in zip(each.query.clique, each.query.owners, strict=True):
            found = [single.values for single in singles if single.query.clique == (name,)]
            assert owner == merge_rare(np.mean(found, axis=0), PEOPLE[name], least)


def test_a_number_cut_by_how_many_rows_its_bins_hold_gets_about_so_many_groups() -> None:
    codec = build_codec(Schema("t", (Integer("age", 0, 255, 256), Category("sex", ("f", "m")))), {})
    rng = np.random.default_rng(0)
    codes = {"age": rng.binomial(255, 0.3, 20_000), "sex": rng.integers(0, 2, 20_000)}
    curator = Twin(counts_of(codes, codec), opened(), 0)
    transcript = release(curator, codec, workload_of(codec, {"age": 8}), uniform)
    (owner,) = {
        owner
        for each in transcript.measurements[len(singles_of(transcript)) :]
        for name, owner in zip(each.query.clique, each.query.owners, strict=True)
        if name == "age"
    }
    assert 4 <= max(owner) + 1 <= 8
    assert len(owner) == 256


@st.composite
def noisy_columns(draw: st.DrawFn) -> tuple[ColumnBins, np.ndarray, float]:
    """A column, noisy counts of its bins, and what can be told apart."""
    missing, size = draw(st.booleans()), draw(st.integers(1, 12))
    kind = draw(st.sampled_from(["number", "category", "ordered"]))
    names = tuple(f"v{i}" for i in range(size))
    column = (
        Integer("x", 0, size - 1, size, missing)
        if kind == "number"
        else Category("x", names, kind == "ordered", missing)
    )
    bins = build_codec(Schema("t", (column,)), {}).columns[0]
    counts = draw(st.lists(st.integers(-60, 200), min_size=bins.size, max_size=bins.size))
    return bins, np.array(counts), draw(st.floats(0.1, 100.0))


@given(noisy_columns())
def test_groups_are_numbered_without_gaps_and_missing_values_are_alone(
    found: tuple[ColumnBins, np.ndarray, float],
) -> None:
    bins, counts, least = found
    owner = merge_rare(counts, bins, least)
    assert len(owner) == bins.size
    assert set(owner) == set(range(max(owner) + 1))
    if bins.column.missing:
        assert owner[-1] == max(owner)
        assert owner.count(owner[-1]) == 1


@given(noisy_columns())
def test_groups_of_an_ordered_column_are_neighbours_and_no_larger_than_needed(
    found: tuple[ColumnBins, np.ndarray, float],
) -> None:
    bins, counts, least = found
    if isinstance(bins.column, Category) and not bins.column.ordered:
        return
    known = len(counts) - bins.column.missing
    owner = merge_rare(counts, bins, least)[:known]
    assert list(owner) == sorted(owner)
    for group in range(max(owner) + 1):
        own = [int(counts[place]) for place in range(known) if owner[place] == group]
        assert all(sum(own[:size]) < least for size in range(1, len(own)))  # it ends as soon as it holds enough
        assert len(own) == 1 or max(own) < least  # a frequent bin is alone
        if sum(own) < least and group < max(owner):  # what holds too little stands before a frequent bin
            assert counts[owner.index(group + 1)] >= least


@given(noisy_columns())
def test_frequent_categories_are_alone_and_rare_ones_together(found: tuple[ColumnBins, np.ndarray, float]) -> None:
    bins, counts, least = found
    if not isinstance(bins.column, Category) or bins.column.ordered:
        return
    known = len(counts) - bins.column.missing
    owner = merge_rare(counts, bins, least)[:known]
    rare = {group for group, count in zip(owner, counts, strict=False) if count < least}
    assert len(rare) <= 1
    for group, count in zip(owner, counts, strict=False):
        assert count < least or owner.count(group) == 1


@given(st.data())
def test_a_histogram_over_groups_has_every_row_once(data: st.DataObject) -> None:
    shape = data.draw(st.lists(st.integers(1, 5), min_size=1, max_size=3))
    counts = np.random.default_rng(data.draw(st.integers(0, 99))).integers(0, 9, shape)
    owners = []
    for size in shape:
        drawn = data.draw(st.lists(st.integers(0, size - 1), min_size=size, max_size=size))
        number = {group: place for place, group in enumerate(dict.fromkeys(drawn))}
        owners.append(tuple(number[group] for group in drawn))
    query = Query(tuple("abc"[: len(shape)]), tuple(owners))
    expected = np.zeros(query.shape, dtype=np.int64)
    for cell in np.ndindex(*shape):
        expected[tuple(owner[code] for owner, code in zip(owners, cell, strict=True))] += counts[cell]
    assert_array_equal(grouped(counts, query), expected)


# --- workloads


def test_all_sets_of_up_to_three_columns_may_be_measured() -> None:
    found = workload_of(PEOPLE)
    assert len(found.candidates) == 4 + 6 + 4
    assert found.weight(("a",)) * 3 == found.weight(("a", "b", "c")) == 9


@given(st.integers(3, 9), st.integers(1, 6))
def test_a_column_weighs_as_much_as_the_triples_it_is_in(columns: int, label_weight: int) -> None:
    names = "abcdefghi"[:columns]
    found = column_weights(names, "b", label_weight)
    triples = [set(names[i] + names[j] + names[k]) for i in range(columns) for j in range(i) for k in range(j)]
    for name in names:
        assert found[name] == sum(label_weight if "b" in each else 1 for each in triples if name in each)


def test_a_workload_is_a_function_of_the_schema() -> None:
    sizes = {f"c{i}": 40 for i in range(60)}  # too many to count all triples of
    one, other = (make_workload(sizes, "c5", {}) for _ in range(2))
    assert one.candidates == other.candidates
    assert {name for clique in one.candidates for name in clique} == set(sizes)


# --- few rows


def test_from_few_rows_the_pairs_of_the_label_are_measured_and_nothing_is_selected() -> None:
    codec = MIXED
    label = codec.columns[-1].column.name
    curator = open_core(counts_of(draw_people(200, 0, codec), codec), opened(1.0, 1e-9))
    made = release(curator, codec, workload_of(codec, label=label), independent)
    assert all(isinstance(answer, Measurement) for answer in made.answers)
    pairs = [each.query.clique for each in made.measurements if len(each.query.clique) > 1]
    others = [bins.column.name for bins in codec.columns if bins.column.name != label]
    assert {frozenset(pair) for pair in pairs} == {frozenset((name, label)) for name in others}
    assert made.ledger.spent > Fraction(999, 1000) * made.ledger.rho


def test_from_many_rows_tables_are_selected_though_there_is_a_label() -> None:
    label = MIXED.columns[-1].column.name
    curator = open_core(counts_of(draw_people(20_000, 0, MIXED), MIXED), opened(1.0, 1e-9))
    made = release(curator, MIXED, workload_of(MIXED, label=label), independent)
    assert any(isinstance(answer, Choice) for answer in made.answers)


# --- the label's tables


LABELLED = build_codec(Schema("labelled", PEOPLE.schema.columns, "d"), {})


def labelled(rows: int, **settings: float) -> Transcript:
    counts = counts_of(draw_people(rows, 0, LABELLED), LABELLED)
    workload = workload_of(LABELLED, label="d")
    return release(Twin(counts, opened(), 0), LABELLED, workload, independent, settings=AdaptiveSettings(**settings))  # type: ignore[arg-type]


def before_choices(transcript: Transcript) -> list[Measurement]:
    """The tables of several columns that were measured before anything was selected."""
    first = next(place for place, each in enumerate(transcript.answers) if isinstance(each, Choice))
    return [each for each in transcript.measurements[:first] if len(each.query.clique) > 1]


def test_all_triples_with_the_label_are_measured_first_with_their_share_of_the_budget() -> None:
    found = before_choices(labelled(20_000))
    assert {each.query.clique for each in found} == {("a", "b", "d"), ("a", "c", "d"), ("b", "c", "d")}
    (sigma,) = {each.sigma for each in found}
    left = (1 - DEFAULT_SETTINGS.single_column_share) * float(opened().rho)
    assert math.isclose(3 / (2 * sigma**2), DEFAULT_SETTINGS.label_share * left, rel_tol=1e-3)


def test_of_the_tables_of_the_label_those_whose_noise_would_hide_the_rows_are_left_out() -> None:
    found = labelled(20_000)
    sizes = sorted(each.query.cells for each in before_choices(found))
    sigma = before_choices(found)[0].sigma
    share = MEAN_ABSOLUTE_NOISE * sigma * sizes[-1] / count_estimate(found.measurements)  # of the rows
    assert len(before_choices(labelled(20_000, max_label_table_error=1.2 * share))) == 3
    assert len(before_choices(labelled(20_000, max_label_table_error=share / 10))) == 0


def test_where_many_tables_of_the_label_would_be_too_noisy_all_are_left_to_the_selection() -> None:
    found = labelled(20_000)
    share = before_choices(found)[0].sigma / count_estimate(found.measurements)
    assert len(before_choices(labelled(20_000, max_label_cell_noise=1.1 * share))) == 3
    assert not before_choices(labelled(20_000, max_label_cell_noise=0.9 * share))


def test_without_a_label_everything_is_selected() -> None:
    transcript, _ = released(20_000)
    assert not before_choices(transcript)
