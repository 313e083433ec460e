"""Tables whose numbers depend on each other inside bins, and fine levels learned from them, for tests."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import pyarrow as pa

from cuts.data.binning import fit_codec
from cuts.data.codec import Codec, Codes, NumericBins, encode
from cuts.data.conform import conform
from cuts.data.infer import infer_schema
from cuts.data.table import Floats, Table
from cuts.model.fine_trees import FineRows


@cache
def line(rows: int = 1_200) -> Table:
    """Numbers of every kind: `y` is 3 `x` and a little noise, `when` a time as hhmm, `price` has two decimals."""
    rng = np.random.default_rng(11)
    x = rng.normal(size=rows)
    minutes = 5 * rng.integers(0, 24 * 12, rows)
    return Table(
        pa.table(
            {
                "x": x,
                "y": 3 * x + rng.normal(0, 0.05, rows),
                "n": pa.array(rng.poisson(40, rows), mask=rng.random(rows) < 0.2),
                "price": np.round(np.exp(3 + 0.5 * x), 2),
                "when": 100 * (minutes // 60) + minutes % 60,
                "kind": np.where(x > 0, rng.choice(["a", "b"], rows), "c"),
                "paid": np.where(x + rng.normal(0, 0.3, rows) > 0, "yes", "no"),
            }
        )
    )


@dataclass(frozen=True, slots=True, eq=False)
class FineCase:
    """Coarse bins of a table, its rows in them, and what a fine level is learned from."""

    codec: Codec
    codes: Codes
    rows: FineRows


def fine_case(table: Table, hidden: frozenset[str] = frozenset(), label: str | None = "paid") -> FineCase:
    """The coarse bins of a table and its rows."""
    schema = infer_schema(table, "t")
    codec = fit_codec(table, schema, coarse=True)
    codes, typed = encode(table, codec), conform(table, schema)
    values = {b.column.name: typed.numbers(b.column.name) for b in codec.columns if isinstance(b, NumericBins)}
    return FineCase(codec, codes, FineRows(codes, values, label, hidden))


def random_codes(codec: Codec, rows: int, seed: int) -> Codes:
    """Rows of any bins, most of which occur in no table."""
    rng = np.random.default_rng(seed)
    return {name: rng.integers(0, size, rows) for name, size in codec.sizes.items()}


def in_bins(values: Floats, bins: NumericBins, codes: np.ndarray) -> bool:
    """Whether values lie in their bins, and are missing exactly where the bin says so."""
    missing = codes >= len(bins.edges)  # or texts
    if (np.isnan(values) != missing).any():
        return False
    place = np.searchsorted(np.array(bins.edges), values[~missing], side="right") - 1
    within = (values[~missing] >= bins.column.low) & (values[~missing] <= bins.column.high)
    return bool((place == codes[~missing]).all() and within.all())
