"""The fine level in models: values inside bins keep every promise that bins made, and damaged trees are refused."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import safetensors.numpy as files
from hypothesis import given, settings
from hypothesis import strategies as st

from cuts.config import Config
from cuts.data.binning import fit_codec
from cuts.data.codec import Codec, ColumnBins, NumericBins, encode
from cuts.data.conform import check_table, conform
from cuts.data.infer import infer_schema
from cuts.data.table import Table
from cuts.flow.run import fit, make_request
from cuts.model import draw
from cuts.model.fine_trees import FineRows, FineSettings, FineTrees, learn, read
from cuts.model.sampling import complete_rows, sample_table
from cuts.model.store import Model
from fine_tables import fine_case, in_bins, line, random_codes
from strategies import schemas, tables

QUICK = Config(steps=40, components=40, smoothing=0.01, threads=1)


@cache
def line_model(commands: str = "", config: Config = QUICK) -> Model:
    return fit(make_request(f"SYNTHESIZE: t; {commands} END;", line(), config=config)).model


def numbers(table: Table, model: Model, name: str) -> np.ndarray:
    return conform(table, model.codec.schema).numbers(name)


# --- trees


TreeCase = tuple[Codec, FineRows, FineSettings]


@st.composite
def tree_cases(draw_: st.DrawFn) -> TreeCase:
    """Tables of every kind, and settings of trees."""
    schema = draw_(schemas(texts=True))
    table = draw_(tables(schema, most=40))
    codec = fit_codec(table, schema, coarse=draw_(st.booleans()))
    codes, typed = encode(table, codec), conform(table, schema)
    values = {b.column.name: typed.numbers(b.column.name) for b in codec.columns if isinstance(b, NumericBins)}
    hidden = draw_(st.frozensets(st.sampled_from(list(codes)), max_size=1))
    label = draw_(st.none() | st.sampled_from(list(codes)))
    max_rows, max_inputs = draw_(st.sampled_from([7, 1_000])), draw_(st.sampled_from([1, 2, 24]))
    chosen = FineSettings(draw_(st.integers(1, 8)), max_rows, max_inputs)
    return codec, FineRows(codes, values, label, hidden), chosen


@settings(max_examples=50)
@given(tree_cases(), st.integers(0, 2**32 - 1))
def test_trees_of_any_table_draw_values_in_their_bins(case: TreeCase, seed: int) -> None:
    codec, rows, chosen = case
    trees = learn(rows, codec, 0, chosen)
    codes = random_codes(codec, 200, seed)
    values = trees.draw(codes, codec, np.random.default_rng(seed))
    assert len(values) == len(trees.trees)
    for name, drawn in values.items():
        assert name not in rows.hidden
        assert in_bins(drawn, codec[name], codes[name])
    again = read(files.load(files.save(trees.arrays())), codec).draw(codes, codec, np.random.default_rng(seed))
    for name, drawn in values.items():
        np.testing.assert_array_equal(drawn, again[name])


@settings(max_examples=50)
@given(tree_cases())
def test_a_leaf_has_many_ranks_in_order_and_nothing_else_of_a_row(case: TreeCase) -> None:
    codec, rows, chosen = case
    for tree in learn(rows, codec, 0, chosen).trees:
        is_leaf = tree.feature < 0
        assert (np.diff(tree.start)[is_leaf] >= chosen.min_leaf).all()
        assert not np.diff(tree.start)[~is_leaf].any()
        assert ((tree.ranks >= 0) & (tree.ranks <= 1)).all()
        for first, last in zip(tree.start[:-1], tree.start[1:], strict=True):  # the order of the rows is gone
            assert (np.diff(tree.ranks[first:last]) >= 0).all()
        assert len(tree.inputs) <= chosen.max_inputs
        assert tree.column in tree.inputs


def test_hidden_columns_are_never_an_input_and_the_label_is_refined_last() -> None:
    case = fine_case(line(), frozenset({"kind", "n"}), label="x")
    names = [bins.column.name for bins in case.codec.columns]
    trees = learn(case.rows, case.codec, 0).trees
    refined = [names[tree.column] for tree in trees]
    assert refined[-1] == "x"
    assert "n" not in refined
    assert not {"kind", "n"} & {names[i] for tree in trees for i in tree.inputs.tolist()}


# --- models


def test_a_dependence_inside_bins_is_kept_by_trees_and_lost_without_them() -> None:
    schema = infer_schema(line(), "t")
    few = replace(schema, columns=tuple(replace(c, bins=8) if c.name in ("x", "y") else c for c in schema.columns))
    spread = {}
    for level in ("trees", "none"):
        config = replace(QUICK, steps=150, components=100, fine=level)
        model = fit(make_request("SYNTHESIZE: t; END;", line(), schema=few, config=config)).model
        assert (model.fine is None) == (level == "none")
        assert model.codec.sizes["x"] == model.codec.sizes["y"] == 8
        made = sample_table(model, 1_000)
        x, y = (numbers(made, model, name) for name in "xy")
        assert np.corrcoef(x, y)[0, 1] > 0.8  # what the bins say is kept by both
        spread[level] = np.median(np.abs(y - 3 * x))
    assert spread["trees"] < 0.5 * spread["none"]


def test_the_same_seed_draws_the_same_rows_in_any_number_of_chunks_and_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(draw, "CHUNK", 150)
    model = line_model()
    one = sample_table(model, 500, seed=5)
    assert one.arrow.equals(sample_table(model, 500, seed=5).arrow)
    assert not one.arrow.equals(sample_table(model, 500, seed=6).arrow)
    x = numbers(one, model, "x")
    assert len(np.unique(x)) > 450
    assert check_table(one, model.codec.schema) == ()


@settings(max_examples=12)
@given(st.floats(-1.5, 1.5), st.floats(0.01, 1.0), st.integers(0, 99))
def test_a_condition_that_splits_bins_holds(low: float, width: float, seed: int) -> None:
    model = line_model()
    made = sample_table(model, 200, where=f"x > {low:.4f} AND x <= {low + width:.4f} AND when >= 731", seed=seed)
    x = numbers(made, model, "x")
    assert ((x > round(low, 4)) & (x <= round(low + width, 4))).all()
    assert (numbers(made, model, "when") >= 731).all()
    assert made.rows == 200


def test_rows_under_a_condition_still_depend_on_each_other() -> None:
    model = line_model(config=replace(QUICK, steps=150, components=100))
    inside = {}
    for level in (model.fine, None):
        made = sample_table(replace(model, fine=level), 400, where="x > 0.0301 AND x < 0.9003")
        x, y = (numbers(made, model, name) for name in "xy")
        same = [rows for rows in _same_bin(x, model.codec["x"]) if len(rows) > 30]
        inside[level is None] = np.mean([np.corrcoef(x[rows], y[rows])[0, 1] for rows in same])
    assert inside[False] > 0.3
    assert inside[True] < 0.2


def _same_bin(values: np.ndarray, bins: ColumnBins) -> list[np.ndarray]:
    assert isinstance(bins, NumericBins)
    place = np.searchsorted(np.array(bins.edges), values, side="right")
    return [np.flatnonzero(place == number) for number in np.unique(place)]


@pytest.mark.parametrize("rule", ["x <= y", "2 * x + y < 4", "price - n <= 3 OR n IS NULL", "n < when"])
@pytest.mark.parametrize("ties", [False, True])
def test_rules_that_compare_columns_hold(rule: str, ties: bool) -> None:
    model = line_model(f"ENFORCE: {rule};", replace(QUICK, ties=ties))
    made = sample_table(model, 400, seed=1)  # rows that violate the rule would be an error
    assert made.rows == 400
    x, y, price, n, when = (numbers(made, model, name) for name in ("x", "y", "price", "n", "when"))
    holds = {
        "x <= y": x <= y,
        "2 * x + y < 4": 2 * x + y < 4,
        "price - n <= 3 OR n IS NULL": np.isnan(n) | (price - n <= 3),
        "n < when": n < when,
    }
    assert holds[rule].all()
    assert model.fine is not None


def test_values_of_codes_and_decimals_are_kept() -> None:
    model = line_model()
    made = sample_table(model, 2_000)
    real = conform(line(), model.codec.schema)
    # Times as hhmm: 1360 is none.
    assert set(numbers(made, model, "when").tolist()) <= set(real.numbers("when").tolist())
    price = numbers(made, model, "price")
    assert (np.round(price, 2) == price).all()
    missing = made.missing("n").mean()
    assert abs(missing - line().missing("n").mean()) < 0.1


def test_given_cells_are_kept_and_the_others_drawn_in_their_bins() -> None:
    model = line_model()
    given_rows = Table(pa.table({"x": [0.25, None, -1.0], "kind": ["a", "c", None]}))
    made = complete_rows(model, given_rows, seed=2)
    assert made.column("x").to_pylist()[::2] == [0.25, -1.0]
    assert made.column("kind").to_pylist()[:2] == ["a", "c"]
    assert check_table(made, model.codec.schema) == ()


def test_a_column_that_a_command_makes_unpredictable_is_no_input() -> None:
    model = line_model("MINIMIZE: DOWNSTREAM_ACCURACY(features=all, target=kind);")
    names = list(model.codec.sizes)
    for fine, is_hidden in ((model.fine, True), (line_model().fine, False)):
        assert isinstance(fine, FineTrees)
        inputs = {names[i] for tree in fine.trees for i in tree.inputs.tolist()}
        assert ("kind" not in inputs) == is_hidden


# --- levels that watch, or always draw badly


class Watching:
    """A level that draws nothing and keeps the first random number it is given."""

    def __init__(self) -> None:
        self.seen: list[float] = []

    def draw(self, codes: Any, codec: Any, rng: np.random.Generator) -> dict[str, Any]:
        del codes, codec
        self.seen.append(float(rng.random()))
        return {}

    def arrays(self) -> dict[str, Any]:
        return {}


def test_every_chunk_has_random_numbers_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(draw, "CHUNK", 50)
    seen = []
    for seed in (3, 3, 4):
        level = Watching()
        sample_table(replace(line_model(), fine=level), 200, seed=seed)
        seen.append(set(level.seen))
    assert len(seen[0]) == 4
    assert seen[0] == seen[1]
    assert seen[0].isdisjoint(seen[2])


class Stubborn:
    """A level that draws the lowest value of every bin, whatever is asked."""

    def draw(self, codes: Any, codec: Any, rng: np.random.Generator) -> dict[str, Any]:
        del rng
        made = {}
        for bins in codec.columns:
            if isinstance(bins, NumericBins):
                missing = codes[bins.column.name] == len(bins.edges)
                code = np.where(missing, 0, codes[bins.column.name])
                made[bins.column.name] = np.where(missing, np.nan, bins.contents.at(code, np.zeros(len(code))))
        return made

    def arrays(self) -> dict[str, Any]:
        return {}


@pytest.mark.parametrize("where", [None, "x > 0.123", "y > 3 * x", "x > 0.1 AND price + n > 80"])
def test_values_of_a_level_that_never_fits_are_left_to_the_codec(where: str | None) -> None:
    model = replace(line_model(), fine=Stubborn())
    made = sample_table(model, 300, where=where)
    assert made.rows == 300  # every row is checked when it is drawn
    assert check_table(made, model.codec.schema) == ()
