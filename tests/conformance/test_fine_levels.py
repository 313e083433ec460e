"""What every fine level must do, whatever it learns: one suite for all of them."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy as files

from cuts.config import Config
from cuts.data.codec import NumericBins
from cuts.data.table import Floats
from cuts.flow.run import fit, make_request
from cuts.model.fine import FINE_LEVELS, FineKind, FineLevel, find_fine
from cuts.model.sampling import sample_table
from cuts.model.store import load, save
from fine_tables import FineCase, fine_case, in_bins, line, random_codes

LEVELS = sorted(FINE_LEVELS)


@cache
def learned(level: str) -> tuple[FineKind, FineCase, FineLevel]:
    case = fine_case(line())
    kind = FINE_LEVELS[level]
    return kind, case, kind.learn(case.rows, case.codec, 3)


def drawn(level: FineLevel, case: FineCase, codes_seed: int = 0, seed: int = 1) -> dict[str, Floats]:
    return level.draw(random_codes(case.codec, 3_000, codes_seed), case.codec, np.random.default_rng(seed))


@pytest.mark.parametrize("level", LEVELS)
def test_settings_find_it_by_its_name(level: str) -> None:
    assert find_fine(Config(fine=level)) is FINE_LEVELS[level]


@pytest.mark.parametrize("level", LEVELS)
def test_values_stay_in_their_bins_and_missing_ones_missing(level: str) -> None:
    _, case, fine = learned(level)
    codes = random_codes(case.codec, 3_000, 0)
    values = drawn(fine, case)
    assert {"x", "y"} <= set(values) <= set(case.rows.values)
    for name, numbers in values.items():
        bins = case.codec[name]
        assert isinstance(bins, NumericBins)
        assert numbers.shape == (3_000,)
        assert in_bins(numbers, bins, codes[name])
        if bins.column.per_unit is not None:
            present = numbers[~np.isnan(numbers)] * bins.column.per_unit
            np.testing.assert_allclose(present, np.rint(present), rtol=0, atol=1e-6)


@pytest.mark.parametrize("level", LEVELS)
def test_codes_of_rows_and_of_no_row_can_be_drawn(level: str) -> None:
    _, case, fine = learned(level)
    for rows in (0, 1):
        values = fine.draw(random_codes(case.codec, rows, 0), case.codec, np.random.default_rng(0))
        assert all(len(numbers) == rows for numbers in values.values())
    again = fine.draw(case.codes, case.codec, np.random.default_rng(0))
    assert all(len(numbers) == len(case.codes[name]) for name, numbers in again.items())


@pytest.mark.parametrize("level", LEVELS)
def test_the_same_seed_draws_and_learns_the_same(level: str) -> None:
    kind, case, fine = learned(level)
    relearned = kind.learn(case.rows, case.codec, 3)
    one, same, other = drawn(fine, case), drawn(relearned, case), drawn(fine, case, seed=2)
    for name, numbers in one.items():
        np.testing.assert_array_equal(numbers, same[name])
    assert any((numbers != other[name]).any() for name, numbers in one.items())


@pytest.mark.parametrize("level", LEVELS)
def test_it_is_its_arrays(level: str) -> None:
    """Written to a file and read, it draws the same values."""
    kind, case, fine = learned(level)
    written = files.save({name: np.ascontiguousarray(part) for name, part in fine.arrays().items()})
    read = kind.read(files.load(written), case.codec)
    one, other = drawn(fine, case), drawn(read, case)
    assert one.keys() == other.keys()
    for name, numbers in one.items():
        np.testing.assert_array_equal(numbers, other[name])


@pytest.mark.parametrize("level", LEVELS)
def test_what_is_hidden_changes_nothing(level: str) -> None:
    """A column that a command hides is not refined, and no value depends on it."""
    kind, _, _ = learned(level)
    case = fine_case(line(), frozenset({"x", "kind"}))
    fine = kind.learn(case.rows, case.codec, 3)
    codes = random_codes(case.codec, 2_000, 0)
    other = codes | {name: random_codes(case.codec, 2_000, 9)[name] for name in ("x", "kind")}
    one, two = (fine.draw(some, case.codec, np.random.default_rng(0)) for some in (codes, other))
    assert "x" not in one
    assert one
    for name, numbers in one.items():
        np.testing.assert_array_equal(numbers, two[name])


@pytest.mark.parametrize("level", LEVELS)
def test_dependence_inside_bins_is_learned(level: str) -> None:
    _, case, fine = learned(level)
    values = fine.draw(case.codes, case.codec, np.random.default_rng(0))
    assert np.std(values["y"] - 3 * values["x"]) < 0.3
    rng = np.random.default_rng(0)
    alone = {}
    for name in "xy":
        bins = case.codec[name]
        assert isinstance(bins, NumericBins)
        alone[name] = bins.contents.draw(case.codes[name], rng)
    assert np.std(alone["y"] - 3 * alone["x"]) > 0.6


@pytest.mark.parametrize("level", LEVELS)
def test_a_model_file_holds_it(level: str, tmp_path: Path) -> None:
    config = Config(fine=level, steps=30, components=20, smoothing=0.01, threads=1)
    model = fit(make_request("SYNTHESIZE: t; END;", line(), config=config)).model
    assert model.fine is not None
    save(model, tmp_path / "t.synth")
    read = load(tmp_path / "t.synth")
    assert sample_table(read, 500, seed=4).arrow.equals(sample_table(model, 500, seed=4).arrow)
