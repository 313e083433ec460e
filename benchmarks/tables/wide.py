"""How close a model of a wide table is to new rows of the same population, and how well a classifier learns from it.

The table is that of `wide_table.py`, so new rows can be made at will. Total variation of single columns, of pairs in
blocks (dependent), of random pairs of different blocks (nearly independent; most of them are not counted), of all pairs
with the label, and of the label with two columns that matter only together; beside each, the same between two samples
of real rows. Numbers are in ten quantile bins. The classifier is XGBoost, trained on rows of the model or on real ones.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from benchmarks.harness import Clock, alone, peak
from benchmarks.markdown import NOT_YET, table
from benchmarks.records import Records
from benchmarks.table import Measured, Options, Table, Task
from benchmarks.wide_table import GROUP, LABEL, wide_rows, write_wide
from cuts.config import Config

Codes: TypeAlias = dict[str, NDArray[np.int64]]

FILE = "wide"
COLUMNS, ROWS, TEST_ROWS = 200, 1_000_000, 50_000
QUICK_COLUMNS, QUICK_ROWS, QUICK_TEST_ROWS, QUICK_STEPS = 21, 4_000, 2_000, 20
QUANTILES = 10
RANDOM_PAIRS = 1_500
LABEL_BLOCKS = 4  # whose columns decide the label
MAX_TRAIN = 50_000


def tables() -> Iterator[Table]:
    """The one table of this module."""
    yield Table("wide", "Fidelity of a table with 200 columns", "speed", tasks, page, in_all=False)


def tasks(options: Options) -> list[Task]:
    """One fit."""
    columns, rows = (QUICK_COLUMNS, QUICK_ROWS) if options.quick else (COLUMNS, ROWS)
    config = Config(threads=1, steps=QUICK_STEPS) if options.quick else Config(threads=1)
    test_rows = QUICK_TEST_ROWS if options.quick else TEST_ROWS
    title = f"wide: {columns} columns x {rows:,} rows"
    return [Task(title, FILE, (f"{columns}x{rows}",), measure, (columns, rows, test_rows, config))]


def measure(keys: tuple[str, ...], columns: int, rows: int, test_rows: int, config: Config) -> Measured:
    """Fit the table, and measure how close the model is."""
    for key in keys:
        synthetic, cost = fitted(columns, rows, test_rows, config)
        test, other = (real_rows(columns, test_rows, seed) for seed in (1, 2))
        found = compare(*encoded([test, other, synthetic.select(test.column_names)]))
        yield key, {"columns": columns, "rows": rows, "test_rows": test_rows, **cost, **found}


def fitted(columns: int, rows: int, drawn: int, config: Config) -> tuple[pa.Table, dict[str, Any]]:
    """Rows of a model fitted to a Parquet file, and what the fit took."""
    from cuts.flow.run import fit, make_request
    from cuts.model.sampling import sample_table

    clock = Clock()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "wide.parquet"
        alone(write_wide, path, columns, rows)
        with clock.running():
            model = fit(make_request("SYNTHESIZE: wide; END;", path, label=LABEL, config=config)).model
    return sample_table(model, drawn, seed=3).arrow, {"fit_seconds": clock.seconds, "fit_peak_mb": peak()}


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


def compare(test: Codes, other: Codes, synthetic: Codes) -> dict[str, Any]:
    """The distances of synthetic and of other real rows from test rows, and what classifiers learn from both."""
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
    distances = {
        what: {
            "number": len(chosen),
            "synthetic": float(np.mean([tv(test, synthetic, clique) for clique in chosen])),
            "real": float(np.mean([tv(test, other, clique) for clique in chosen])),
        }
        for what, chosen in cliques.items()
    }
    learned = {name: 100 * accuracy(rows, test) for name, rows in (("synthetic", synthetic), ("real", other))}
    return {"distances": distances, "accuracy": learned}


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


def page(records: Records) -> str:
    """Distances and accuracies of each fit."""
    found = records.read(FILE)
    if not found:
        return NOT_YET
    lines = []
    for each in sorted(found.values(), key=lambda result: (result["columns"], result["rows"])):
        size = f"{each['columns']} x {each['rows']:,}"
        for what, distance in each["distances"].items():
            name = f"total variation, {what} ({distance['number']:,})"
            lines.append([name, size, f"{distance['synthetic']:.4f}", f"{distance['real']:.4f}"])
        shares = [f"{each['accuracy'][name]:.2f}" for name in ("synthetic", "real")]
        lines.append(["accuracy of XGBoost, %", size, *shares])
        lines.append(["CPU s of the fit", size, f"{each['fit_seconds']:.0f}", ""])
        lines.append(["peak MB of the fit", size, f"{each['fit_peak_mb']:,.0f}", ""])
    intro = (
        "A model of a generated table, compared with new rows of the same population: total variation (0 is perfect) "
        "and the accuracy of a classifier tested on them. The last column has the same figures for other real rows, "
        "which is the best that a generator can reach."
    )
    return f"{intro}\n\n{table(['measure', 'columns x rows', 'synthetic', 'real rows'], lines)}"
