"""DEMOGRAPHIC_PARITY: groups get the desired outcome predicted equally often."""

from cuts.vocab.fairness_measures import SELECTION_RATE, add_fairness_measure

add_fairness_measure(
    "DEMOGRAPHIC_PARITY",
    rates=(SELECTION_RATE,),
    meaning="largest difference between groups in the rate of the desired outcome",
    heading="parity",
)
