"""How close a model of a wide table is to new rows of the same population, and how well a classifier learns from it.

    python benchmarks/wide.py [--columns 200 --rows 1000000 --test-rows 50000] [--config my.toml]

The table is that of `wide_table.py`, so new rows can be made at will. Total variation of single columns, of pairs in
blocks (dependent), of random pairs of different blocks (nearly independent; most of them are not counted), of all pairs
with the label, and of the label with two columns that matter only together; beside each, the same between two samples
of real rows. Numbers are in ten quantile bins. The classifier is XGBoost, trained on rows of the model or on real ones.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pyarrow as pa
from harness import Clock, peak, say, show
from numpy.typing import NDArray
from wide_table import GROUP, LABEL, wide_rows, write_wide

from cuts.config import Config, read_config

Codes: TypeAlias = dict[str, NDArray[np.int64]]

QUANTILES = 10
RANDOM_PAIRS = 1_500
LABEL_BLOCKS = 4  # whose columns decide the label
MAX_TRAIN = 50_000


def main() -> None:
    """Fit the table and print how close the model is."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--columns", type=int, default=200)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--test-rows", type=int, default=50_000)
    parser.add_argument("--config", type=Path, help="settings, .toml")
    asked = parser.parse_args()
    config = Config(threads=1) if asked.config is None else read_config(asked.config)
    synthetic = fitted(asked.columns, asked.rows, asked.test_rows, config)
    test, other = (real_rows(asked.columns, asked.test_rows, seed) for seed in (1, 2))
    compare(*encoded([test, other, synthetic.select(test.column_names)]))


def fitted(columns: int, rows: int, drawn: int, config: Config) -> pa.Table:
    """Rows of a model fitted to a Parquet file."""
    from cuts.flow.run import fit, make_request
    from cuts.model.sampling import sample_table

    clock = Clock()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "wide.parquet"
        write_wide(path, columns, rows)
        with clock.running():
            model = fit(make_request("SYNTHESIZE: wide; END;", path, label=LABEL, config=config)).model
    say(f"fitted in {clock.seconds:.0f} CPU s, peak {peak():.0f} MB")
    return sample_table(model, drawn, seed=3).arrow


def real_rows(columns: int, rows: int, seed: int) -> pa.Table:
    """New rows of the population."""
    starts = range(0, rows, GROUP)
    return pa.concat_tables([wide_rows(columns, min(GROUP, rows - start), seed=(seed, start)) for start in starts])


def encoded(tables: Sequence[pa.Table]) -> list[Codes]:
    """All tables in the bins of the first; values that it lacks share a bin with missing ones."""
    found: list[Codes] = [{} for _ in tables]
    for name in tables[0].column_names:
        columns = [table[name] for table in tables]
        if pa.types.is_floating(columns[0].type) or pa.types.is_integer(columns[0].type):
            numbers = [column.cast(pa.float64()).to_numpy() for column in columns]
            inner = np.nanquantile(numbers[0], np.arange(1, QUANTILES) / QUANTILES)
            codes = [np.where(np.isnan(x), QUANTILES, np.searchsorted(np.unique(inner), x, "right")) for x in numbers]
        else:
            texts = [np.char.lower(np.asarray(column.to_pylist(), dtype=str)) for column in columns]
            known = np.unique(texts[0])
            codes = [np.where(np.isin(x, known), np.searchsorted(known, x), len(known)) for x in texts]
        for into, values in zip(found, codes, strict=True):
            into[name] = values.astype(np.int64)
    return found


def compare(test: Codes, other: Codes, synthetic: Codes) -> None:
    """Print the distances of synthetic and of other real rows from test rows, and what classifiers learn."""
    names = [name for name in test if name != LABEL]
    rng = np.random.default_rng(0)
    drawn = [tuple(rng.choice(names, 2, replace=False).tolist()) for _ in range(RANDOM_PAIRS)]
    together = [f"b{block:02d}" for block in range(LABEL_BLOCKS) if f"b{block:02d}_whole" in test]
    cliques: dict[str, list[tuple[str, ...]]] = {
        "single columns": [(name,) for name in test],
        "pairs within blocks": [(a, b) for a, b in combinations(names, 2) if a[:3] == b[:3]],
        "pairs of different blocks": [pair for pair in drawn if pair[0][:3] != pair[1][:3]],
        "pairs with the label": [(name, LABEL) for name in names],
        "label with two columns together": [(f"{block}_small", f"{block}_whole", LABEL) for block in together],
    }
    lines = [
        [
            what,
            f"{len(chosen):,}",
            *(f"{np.mean([tv(test, rows, c) for c in chosen]):.4f}" for rows in (synthetic, other)),
        ]
        for what, chosen in cliques.items()
    ]
    show("total variation from new rows", ["tables", "number", "synthetic", "real"], lines)
    scores = [[what, f"{100 * accuracy(rows, test):.2f}"] for what, rows in (("synthetic", synthetic), ("real", other))]
    show("accuracy on new rows", ["trained on", "accuracy %"], scores)


def tv(one: Codes, other: Codes, clique: Sequence[str]) -> float:
    """The total variation distance of a table of two sets of rows."""
    sizes = [1 + max(int(one[name].max()), int(other[name].max())) for name in clique]
    shares = [
        np.bincount(np.ravel_multi_index([codes[name] for name in clique], sizes), minlength=int(np.prod(sizes)))
        / len(codes[clique[0]])
        for codes in (one, other)
    ]
    return float(np.abs(shares[0] - shares[1]).sum() / 2)


def accuracy(train: Codes, test: Codes) -> float:
    """The accuracy of a classifier on test rows."""
    from xgboost import XGBClassifier

    def features(codes: Codes) -> NDArray[np.int64]:
        return np.stack([values for name, values in codes.items() if name != LABEL], axis=1)

    model = XGBClassifier(n_estimators=150, max_depth=6, learning_rate=0.1, n_jobs=1, random_state=0)
    model.fit(features(train)[:MAX_TRAIN], train[LABEL][:MAX_TRAIN])
    return float((model.predict(features(test)) == test[LABEL]).mean())


if __name__ == "__main__":
    main()
