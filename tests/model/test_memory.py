"""Smoothing is chosen where rows would be learned by heart, and nowhere else."""

from __future__ import annotations

import numpy as np
import pytest

from cuts.config import Config
from cuts.data.codec import Codec, Codes, build_codec
from cuts.data.schema import Category, Schema
from cuts.model.memory import SmoothingSettings, choose_smoothing

FAST = Config(components=40, steps=80)


def table(rows: int, columns: int, bins: int, seed: int = 0) -> tuple[Codes, Codec]:
    names = [f"c{i}" for i in range(columns)]
    schema = Schema("t", tuple(Category(name, tuple(f"v{k}" for k in range(bins))) for name in names))
    rng = np.random.default_rng(seed)
    return {name: rng.integers(0, bins, rows) for name in names}, build_codec(schema, {})


def test_a_tiny_table_that_would_be_memorised_is_smoothed() -> None:
    codes, codec = table(60, 6, 6)
    few = SmoothingSettings(candidates=(0.0, 1.0, 3.0))
    chosen = choose_smoothing(codes, codec, None, FAST, seed=0, settings=few)
    assert chosen in [1.0 / np.sqrt(60), 3.0 / np.sqrt(60)]
    assert chosen == choose_smoothing(codes, codec, None, FAST, seed=0, settings=few)


def test_rows_that_repeat_anyway_are_not_smoothed() -> None:
    codes, codec = table(2_000, 2, 2)
    assert choose_smoothing(codes, codec, "c0", FAST, seed=0) == 0.0


def test_a_large_table_is_not_even_tried() -> None:
    small = SmoothingSettings(max_rows=50)
    assert choose_smoothing(*table(60, 6, 6), None, FAST, seed=0, settings=small) == 0.0


@pytest.mark.parametrize(("rows", "smoothing"), [(1, 0.5), (16, 0.25)])
def test_too_few_rows_to_hold_some_out_are_smoothed(rows: int, smoothing: float) -> None:
    assert choose_smoothing(*table(rows, 3, 4), None, FAST, seed=0) == smoothing


def test_one_column_is_not_smoothed() -> None:
    assert choose_smoothing(*table(60, 1, 4), None, FAST, seed=0) == 0.0


@pytest.mark.parametrize("setting", [0.0, 0.2])
def test_the_setting_wins(setting: float) -> None:
    assert choose_smoothing(*table(60, 6, 6), None, Config(smoothing=setting), seed=0) == setting
