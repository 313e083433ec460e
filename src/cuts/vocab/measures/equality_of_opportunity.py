"""EQUALITY_OF_OPPORTUNITY: equal true positive rates (Hardt, Price and Srebro 2016, definition 2.2)."""

from cuts.vocab.fairness_measures import TRUE_POSITIVE_RATE, add_fairness_measure

add_fairness_measure(
    "EQUALITY_OF_OPPORTUNITY",
    rates=(TRUE_POSITIVE_RATE,),
    meaning="largest difference between groups in the true positive rate",
    heading="opportunity",
)
