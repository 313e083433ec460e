"""DOWNSTREAM_CROSS_ENTROPY: the logarithmic loss of a classifier trained on the table, in nats."""

from __future__ import annotations

from math import inf

from cuts.vocab.arrays import ln
from cuts.vocab.interval import Interval
from cuts.vocab.registry import Array
from cuts.vocab.utility_measures import utility_measure

MIN_PROBABILITY = 1e-12  # below, the logarithm is that of this


@utility_measure(
    "DOWNSTREAM_CROSS_ENTROPY",
    direction="lower is more useful",
    range=Interval(0.0, inf),
    meaning="cross-entropy in nats of a classifier that predicts the target from the features",
    heading="cross-entropy",
)
def cross_entropy(probabilities: Array, truth: Array) -> Array:
    """Minus the mean logarithm of the probability given to the true value, in nats."""
    of_truth = (probabilities * truth).sum(1)
    return -ln(of_truth + (of_truth < MIN_PROBABILITY) * MIN_PROBABILITY).sum() / len(truth)
