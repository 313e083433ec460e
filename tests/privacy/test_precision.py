"""How well columns are known: what is predicted is what noise does, and what is known badly is named."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from cuts.config import Config
from cuts.data.codec import Codec, build_codec
from cuts.data.schema import Category, Column, Integer, Real, Schema, Temporal
from cuts.flow.before_release import expect
from cuts.lang.binder import bind
from cuts.lang.parser import parse
from cuts.plan import plan
from cuts.privacy.accountant import rho_of
from cuts.privacy.adaptive import release
from cuts.privacy.ledger import ReleaseLedger, Terms
from cuts.privacy.precision import Precision, known, predicted
from privacy.people import counts_of, independent, open_core, sizes_of, workload_of

ROWS = 2_000


def codec_of(*columns: Column) -> Codec:
    return build_codec(Schema("t", columns), {})


def expected(*columns: Column, rows: int = ROWS, epsilon: float = 1.0) -> dict[str, Precision]:
    program = parse(f"SYNTHESIZE: t; ENSURE: EPSILON={epsilon}, DELTA=1e-9; END;")
    planned = plan(bind(program, Schema("t", columns)))
    (found,) = expect(planned, Config(), [rows])
    return {precision.column: precision for precision in found.columns}


@pytest.mark.parametrize("bins", [5, 40])
def test_the_predicted_error_of_a_mean_is_what_noise_does_to_it(bins: int) -> None:
    column = Real("x", 0.0, 100.0, bins, binning="uniform")
    counts = np.full(bins, ROWS / bins)  # the mean is in the middle
    middles = (np.arange(bins) + 0.5) * 100 / bins
    noisy = counts + np.random.default_rng(0).normal(0.0, 7.0, (4_000, bins))
    means = (noisy * middles).sum(1) / noisy.sum(1)
    (found,) = predicted(codec_of(column), 7.0, ROWS, {})
    assert found.error == pytest.approx(means.std(), rel=0.05)
    moved = np.abs(noisy - counts).sum(1).mean() / 2 / ROWS
    assert found.moved == pytest.approx(moved, rel=0.05)


def test_the_predicted_error_of_a_share_is_the_noise_per_row() -> None:
    (found,) = predicted(codec_of(Category("c", ("a", "b"))), 20.0, ROWS, {})
    assert (found.is_numeric, found.error, found.bins) == (False, 0.01, 2)


def test_errors_grow_with_the_range_and_fall_with_rows_and_budget() -> None:
    narrow, wide = (expected(Integer("age", 0, high), Category("c", ("a", "b")))["age"].error for high in (100, 2_000))
    assert wide > 10 * narrow
    assert expected(Integer("age", 0, 100), rows=20_000)["age"].error < narrow / 5
    assert expected(Integer("age", 0, 100), epsilon=4.0)["age"].error < narrow / 2


def test_nothing_but_the_schema_the_budget_and_the_number_of_rows_is_needed_to_count_pairs() -> None:
    program = parse("SYNTHESIZE: t; ENSURE: EPSILON=1, DELTA=1e-9; END;")
    columns = (Integer("age", 0, 100), Category("c", ("a", "b")), Temporal("day", "date", 0.0, 400.0))
    few, many = expect(plan(bind(program, Schema("t", columns))), Config(), [100, 1_000_000])
    assert (few.pairs, many.pairs) == (3, 3)
    assert few.good_pairs < many.good_pairs == 3


def test_a_column_that_is_declared_too_wide_is_not_known_well() -> None:
    found = {}
    for high in (60, 100_000):
        codec = codec_of(Integer("stay", 0, high, 32, binning="uniform"), Category("c", ("a", "b")))
        rng = np.random.default_rng(1)
        stays = np.minimum(rng.geometric(0.1, 300), 60)
        bins = np.searchsorted(np.array(codec["stay"].edges), stays, side="right") - 1  # type: ignore[union-attr]
        codes = {"stay": bins.astype(np.int64), "c": rng.integers(0, 2, 300)}
        ledger = ReleaseLedger(Terms(4.0, 1e-6), Fraction(rho_of(4.0, 1e-6)))
        made = release(open_core(counts_of(codes, codec), ledger), codec, workload_of(codec), independent)
        found[high] = {precision.column: precision for precision in known(made)}
        assert sizes_of(codec)["stay"] == 32
    assert found[60]["c"].is_good
    assert not found[100_000]["stay"].is_good
    assert found[60]["stay"].error < found[100_000]["stay"].error / 1_000
