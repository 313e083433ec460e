"""EQUALIZED_ODDS: equal true and false positive rates (Hardt, Price and Srebro 2016, definition 2.1)."""

from cuts.vocab.fairness_measures import FALSE_POSITIVE_RATE, TRUE_POSITIVE_RATE, add_fairness_measure

add_fairness_measure(
    "EQUALIZED_ODDS",
    rates=(TRUE_POSITIVE_RATE, FALSE_POSITIVE_RATE),
    meaning="largest difference between groups in true and false positive rates",
    heading="odds",
)
