"""The paper's tables and how the paper scores a synthetic one.

A table is a folder with `train.csv` (or `.csv.gz`), `test.csv` and `schema.json`, which lists the columns in order:
`continuous` with the lowest and highest train value, or `categorical` with its categories. Without a folder, Adult and
German Credit are those of the package, which are the same rows. The scores are the paper's:
XGBoost trained on the synthetic rows and tested on real ones it never saw, the gaps between groups of what it
predicts, and the total variation of three-way marginals over 32 even bins, divided by the number of cells.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cuts import datasets
from cuts.assess.distance import measure_marginals
from cuts.assess.fairness import gaps
from cuts.assess.grid import Grid, build_grid, cell
from cuts.assess.leakage import Leakage, measure_leakage
from cuts.assess.table_arrays import Role, Sample, read_sample
from cuts.data.columns import Category, Column, Integer, Numeric, Real
from cuts.data.exchange.tables import read_table
from cuts.data.schema import Schema
from cuts.data.table import Bools, IntArray, Table

Setting = Literal["uniform", "default"]
Features = Literal["bins", "raw"]
SETTINGS: tuple[Setting, ...] = get_args(Setting)
BINS = 32
ABOVE = 1e-7  # the highest value is inside the last bin
RANDOM_STATE = 42  # the paper's


@dataclass(frozen=True)
class PaperTable:
    """The two parts of a real table, its schema, and which label is desired."""

    name: str
    setting: Setting
    train: Table
    test: Table
    schema: Schema
    desired: str

    @property
    def label(self) -> str:
        """The column to predict."""
        assert self.schema.label is not None
        return self.schema.label

    @property
    def features(self) -> Features:
        """How the learner sees numbers: as the paper's bins where the model has the same, else as they are."""
        return "bins" if self.setting == "uniform" else "raw"

    def sample(self, table: Table, role: Role) -> Sample:
        """The rows of a table as arrays."""
        return read_sample(table, self.schema, role)

    def held_out(self, seed: int) -> PaperTable:
        """Three quarters of the train rows to fit to, the rest to try on, in the same bins."""
        order = np.random.default_rng(100 + seed).permutation(self.train.rows)
        parts = [Table(self.train.arrow.take(pa.array(some))) for some in np.split(order, [self.train.rows * 3 // 4])]
        made = replace(self, train=parts[0], test=parts[1])
        made.__dict__["grid"] = self.grid  # instead of one over the range of fewer rows
        return made

    @property
    def groups(self) -> tuple[str, ...]:
        """The groups of the protected column."""
        column = self.schema[self.schema.protected[0]]
        assert isinstance(column, Category)
        return column.categories

    @cached_property
    def known(self) -> Sample:
        """The train rows as arrays."""
        return self.sample(self.train, "train")

    @cached_property
    def unseen(self) -> Sample:
        """The test rows as arrays."""
        return self.sample(self.test, "test")

    @cached_property
    def grid(self) -> Grid:
        """The paper's bins, over the range of the train rows."""
        return build_grid(self.known, (self.unseen,), "uniform")


@dataclass(frozen=True, slots=True)
class Scores:
    """What the paper reports of a synthetic table; variations of all triples of columns, and of those with the label.

    `tv` is the paper's, half the mean over cells; `distance` half the sum. The gaps are none without a protected
    column.
    """

    accuracy: float  # percent
    demographic_parity: float | None
    equality_of_opportunity: float | None
    equalized_odds: float | None
    tv_all: float
    tv_label: float
    distance_all: float
    distance_label: float


@dataclass(frozen=True, slots=True)
class Predictions:
    """What XGBoost says of the test rows, as places in the label's list, and what they are."""

    predicted: NDArray[np.int64]
    truth: NDArray[np.int64]

    @property
    def accuracy(self) -> float:
        """Percent predicted right."""
        return 100 * float((self.predicted == self.truth).mean())


# --- tables


def load_table(data: Path | None, name: str, setting: Setting) -> PaperTable:
    """A table of the folder or the package, with the paper's bins (`uniform`) or those of `cuts` (`default`)."""
    if data is None or not (data / name).exists():
        return _embedded(name, setting)
    folder = data / name
    told = json.loads((folder / "schema.json").read_text())
    columns = tuple(_column(each, setting) for each in told["columns"])
    protected = (told["protected"],) if told.get("protected") else ()
    schema = Schema(name, columns, label=told["label"], protected=protected)
    label = schema[told["label"]]
    assert isinstance(label, Category), f"the label of {name} is no category"
    desired = str(told.get("favourable_outcome", label.categories[0]))
    return PaperTable(name, setting, _part(folder, "train"), _part(folder, "test"), schema, desired)


def _part(folder: Path, part: str) -> Table:
    found = sorted(folder.glob(f"{part}.csv*"))
    if not found:
        raise SystemExit(f"{folder} has no {part}.csv")
    return read_table(found[0])


def _embedded(name: str, setting: Setting) -> PaperTable:
    """A table of the package, with the ranges of its train rows instead of the declared ones."""
    found = datasets.find(name)
    if found is None:
        raise SystemExit(f"there is no table {name} in the package: give its folder with --data")
    train, declared = datasets.load(found), datasets.load_schema(found)
    columns = [_train_range(column, train, setting) if isinstance(column, Numeric) else column for column in declared]
    schema = replace(declared, columns=tuple(columns), provenance="declared")
    label = schema[declared.label or ""]
    assert isinstance(label, Category)
    return PaperTable(name, setting, train, datasets.load(found, "test"), schema, label.categories[0])


def _train_range(column: Numeric, train: Table, setting: Setting) -> Column:
    values = train.numbers(column.name)
    low, high = float(values.min()), float(values.max())
    binning: dict[str, Any] = {"bins": _edges(low, high)} if setting == "uniform" else {}
    return type(column)(column.name, low, high, **binning)


def _column(told: dict[str, Any], setting: Setting) -> Column:
    if told["kind"] == "categorical":
        return Category(told["name"], tuple(map(str, told["categories"])))
    kind = Integer if told.get("integer") else Real
    binning: dict[str, Any] = {"bins": _edges(told["min"], told["max"])} if setting == "uniform" else {}
    return kind(told["name"], told["min"], told["max"], **binning)


def _edges(low: float, high: float) -> tuple[float, ...]:
    """The paper's edges: its bins are a little wider than even ones, so that the highest value is inside the last."""
    step = (high + ABOVE - low) / BINS
    return tuple(low + place * step for place in range(1, BINS))


# --- scores


def score(synthetic: Table, real: PaperTable, features: Features) -> Scores:
    """All the paper reports of a synthetic table."""
    ours = real.sample(synthetic, "synthetic")
    found = _predict(ours, real, features)
    parity, opportunity, odds = _gaps(found, real)
    marginals = measure_marginals(ours, real.known, real.grid, target=real.label, seed=0, say=lambda _: None)
    every, label = (
        next(each for each in marginals.distances if each.ways == 3 and each.with_target == with_target)
        for with_target in (False, True)
    )
    assert (every.marginals, label.marginals) == (every.possible, label.possible), "only some of the triples"
    distances = (every.paper, label.paper, every.distance, label.distance)
    return Scores(found.accuracy, parity, opportunity, odds, *distances)


def predict(synthetic: Table, real: PaperTable, features: Features) -> Predictions:
    """What XGBoost trained on the synthetic rows says of the test rows."""
    return _predict(real.sample(synthetic, "synthetic"), real, features)


def leakage(synthetic: Table, real: PaperTable, *, seed: int) -> Leakage:
    """Synthetic rows found among train rows and among as many test rows, as written and on the paper's bins."""
    ours = real.sample(synthetic, "synthetic")
    return measure_leakage(ours, real.known, real.unseen, real.grid, seed=seed, say=lambda _: None)


def _predict(ours: Sample, real: PaperTable, features: Features) -> Predictions:
    from xgboost import XGBClassifier

    # On bins `hist` with 0.5 scores as the paper's `exact` does, and much faster. One thread predicts what several do.
    settings = {"tree_method": "hist", "base_score": 0.5} if features == "bins" else {}
    learner = XGBClassifier(random_state=RANDOM_STATE, n_jobs=1, **settings)
    learner.fit(_matrix(ours, real, features), ours.values[real.label].astype(np.int64))
    predicted = learner.predict(_matrix(real.unseen, real, features))
    return Predictions(predicted.astype(np.int64), real.unseen.values[real.label].astype(np.int64))


def _matrix(sample: Sample, real: PaperTable, features: Features) -> NDArray[np.float32]:
    """All columns but the label: one column a category and a bin, or numbers as they are."""
    parts = []
    for axis in real.grid.axes:
        name = axis.column.name
        if name == real.label:
            continue
        if features == "raw" and not isinstance(axis.column, Category):
            parts.append(sample.table.numbers(name).astype(np.float32)[:, None])
        else:
            parts.append(np.eye(axis.size, dtype=np.float32)[cell(sample, axis)])
    return np.concatenate(parts, axis=1)


def predict_gaps(found: Predictions, real: PaperTable) -> dict[str, float]:
    """The gaps between groups, and the signed differences of the rates: second group minus first.

    `odds` is the larger gap of the two rates, which is the definition; `odds_mean` is their mean, which is what the
    published code of the paper computes.
    """
    good, group = _good(real), real.unseen.values[real.schema.protected[0]].astype(np.int64)
    chosen, deserving = found.predicted == good, found.truth == good
    parity, opportunity, odds = _paper_gaps(chosen, deserving, group)
    signed = [
        float(chosen[among & (group == 1)].mean() - chosen[among & (group == 0)].mean())
        for among in (np.ones_like(chosen), deserving, ~deserving)
    ]
    return {
        "parity": parity,
        "opportunity": opportunity,
        "odds": odds,
        "odds_mean": (abs(signed[1]) + abs(signed[2])) / 2,
        "signed_parity": signed[0],
        "signed_tpr": signed[1],
        "signed_fpr": signed[2],
    }


def _good(real: PaperTable) -> int:
    label = real.schema[real.label]
    assert isinstance(label, Category)
    return label.categories.index(real.desired)


def _gaps(found: Predictions, real: PaperTable) -> tuple[float, float, float] | tuple[None, None, None]:
    if not real.schema.protected:
        return None, None, None
    good, group = _good(real), real.unseen.values[real.schema.protected[0]].astype(np.int64)
    return _paper_gaps(found.predicted == good, found.truth == good, group)


def _paper_gaps(chosen: Bools, deserving: Bools, group: IntArray) -> tuple[float, float, float]:
    found = gaps(chosen, deserving, group)
    return found["DEMOGRAPHIC_PARITY"], found["EQUALITY_OF_OPPORTUNITY"], found["EQUALIZED_ODDS"]
