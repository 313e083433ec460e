"""Classifiers trained on draws of a model and tried on real rows, while it is steered or a column is hidden."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from cuts.assess.downstream import has_target
from cuts.assess.learners import CLASSIFIERS, missing_libraries
from cuts.assess.panel import Predictions, ReferenceRows
from cuts.data.codec import Codes
from cuts.data.table import Table
from cuts.lang.spec import MeasureOf
from cuts.model.facts import TradeOff
from cuts.model.sampling import sample_table
from cuts.model.store import Model
from cuts.model.surrogate import fit_ridge

SEED_OFFSET = 1_000  # so that classifiers are not tried on the very rows that will be written


@dataclass(frozen=True, slots=True, eq=False)
class Track:
    """Where classifiers are tried: real rows, the same as codes, and how many rows are drawn for them."""

    bench: ReferenceRows
    codes: Codes
    drawn: int
    seed: int

    @property
    def label(self) -> str | None:
        """The column to predict."""
        return self.bench.schema.label


def predict(model: Model, measure: MeasureOf, track: Track, repeat: int) -> Predictions:
    """What the classifier that decides predicts for the reference rows; without its library, the one in closed form."""
    if missing_libraries():
        return by_ridge(model, measure, track)
    return track.bench.predict(CLASSIFIERS[0], draw_table(model, track, repeat), measure)


def draw_table(model: Model, track: Track, repeat: int) -> Table:
    """One of the tables classifiers are trained on."""
    return sample_table(model, track.drawn, seed=track.seed + SEED_OFFSET + repeat)


def by_ridge(model: Model, measure: MeasureOf, track: Track) -> Predictions:
    """What the classifier in closed form predicts for the reference rows."""
    classifier = fit_ridge(model.mixture, measure.target, model.codec.modelled(measure.features))
    known = np.flatnonzero(has_target(track.bench.sample, measure.target))
    codes = {name: code[known] for name, code in track.codes.items()}
    predicted = classifier.scores(codes).argmax(1).numpy()
    return Predictions(predicted, codes[measure.target], track.bench.sample.take(known))


def with_curves(model: Model, curves: Sequence[TradeOff]) -> Model:
    """The model with further trade-offs among its facts."""
    return replace(model, facts=replace(model.facts, trade_offs=(*model.facts.trade_offs, *curves)))
