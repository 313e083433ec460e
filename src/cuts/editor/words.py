"""What the words of the language mean, each in one sentence."""

from __future__ import annotations

from collections.abc import Mapping

from cuts.data.schema import Schema
from cuts.lang import examples
from cuts.lang.syntax import KIND_ALIASES
from cuts.vocab.functions import NAMED_FUNCTIONS
from cuts.vocab.names import DISTRIBUTION, canonical, measures, statistics
from cuts.vocab.registry import Statistic

KEYWORDS: Mapping[str, str] = {
    "SYNTHESIZE": "Names the data: an embedded table, a file, or a name whose schema is given.",
    "END": "Ends the program.",
    "LET": "Gives an expression a name: `LET young := age < 30`.",
    "ENFORCE": "The condition must hold: in every row, or of a statistic or a measure within its tolerance.",
    "ENSURE": "The release must be differentially private.",
    "MINIMIZE": "Makes a statistic or a measure as small as its budget allows.",
    "MAXIMIZE": "Makes a statistic or a measure as large as its budget allows.",
    "PARAM": "Fixes the weight of a command, as in the paper: the command is then only trained for.",
    "WITH": "Starts the options of a command: `WITH mode=condition`.",
    "WITHIN": "The tolerance of an enforced statistic or measure: `E[age] == 40 WITHIN 0.5`; also written `+-`.",
    "AND": "Both conditions hold.",
    "OR": "At least one of the conditions holds.",
    "NOT": "The condition does not hold; true where a value in it is missing.",
    "IMPLIES": "In every row where the left condition holds, the right one holds.",
    "IN": "The value is one of a set: `x IN {a, b}`.",
    "BETWEEN": "The value lies between two others, both included: `x BETWEEN a AND b`.",
    "IS": "Asks for missing values: `x IS NULL`, `x IS NOT NULL`.",
    "NULL": "A missing value: `x IS NULL`.",
}
KINDS: Mapping[str, str] = {
    "DIFFERENTIAL PRIVACY": "Settings of a private release: `EPSILON=1.0, DELTA=1e-9`.",
    "ROW CONSTRAINT": "A condition that every row satisfies.",
    "IMPLICATION": "A condition on rows of the form `a IMPLIES b`.",
    "STATISTICAL": "A comparison of statistics of the table.",
    "FAIRNESS": "A measure of how differently classifiers treat groups.",
    "UTILITY": "A measure of how well a column can be predicted.",
}
OPTIONS: Mapping[str, str] = {
    "tol": "Tolerance, the same as `WITHIN`.",
    "budget": "Share of utility that minimising or maximising may cost, from 0 to 1.",
    "method": "How the command is met; chosen automatically if omitted.",
    "mode": "`repair` keeps the population close to the original, `condition` selects the rows that satisfy the rule.",
    "lr": "Learning rate of the classifier of `method=unrolled`.",
    "n_epochs": "Epochs of the classifier of `method=unrolled`.",
    "batch_size": "Batch size of the classifier of `method=unrolled`.",
    "target": "Category column to predict.",
    "protected": "Column of groups, or a list of such columns.",
    "features": "Columns to predict from: `all`, or a list.",
    "desired_outcome": "Favourable value of the target.",
    "epsilon": "Privacy budget: smaller is more private.",
    "delta": "Probability that the guarantee does not hold, for example 1e-9.",
    "max_rows_per_person": "Maximum number of rows of one person.",
    "person": "Column that identifies persons.",
    "relation": "What a neighbouring table is: `add_remove` or `replace` a person.",
    "domain_budget": "Part of epsilon spent on finding the values that columns have.",
}
COMMAND_OPTIONS = ("tol", "budget", "method", "mode", "lr", "n_epochs", "batch_size")
PRIVACY_OPTIONS = ("epsilon", "delta", "max_rows_per_person", "person", "relation", "domain_budget")
_FUNCTIONS: Mapping[str, str] = {
    "min": "Smallest of several numbers.",
    "max": "Largest of several numbers.",
    "abs": "Absolute value.",
    "sqrt": "Square root.",
    "log": "Natural logarithm.",
    "exp": "Exponential function.",
}


def explain(word: str, schema: Schema | None = None) -> str | None:
    """What a keyword, kind, statistic, measure or function means, in Markdown; None for another word.

    >>> explain("implies")
    '**IMPLIES**: In every row where the left condition holds, the right one holds.'
    """
    upper, name = " ".join(word.upper().split()), canonical(word)
    if upper in KEYWORDS:
        return f"**{upper}**: {KEYWORDS[upper]}"
    if upper in KIND_ALIASES:
        return f"**{upper}**: {KINDS[KIND_ALIASES[upper]]}"
    if name == DISTRIBUTION:
        return "**DIST[x | condition]**: The share of each value of a category column."
    if name in statistics():
        entry = statistics()[name]
        return f"**{signature(entry)}**: The {entry.noun}."
    if name in measures():
        return _measure(name, schema)
    return f"**{name}**: {_FUNCTIONS.get(name, 'A function of numbers.')}" if name in NAMED_FUNCTIONS else None


def signature(entry: Statistic) -> str:
    """How a statistic is written.

    >>> signature(statistics()["Q"]), signature(statistics()["COV"])
    ('Q(p)[x | condition]', 'COV[x, y | condition]')
    """
    if entry.argument == "condition":
        return f"{entry.name}[condition | condition]"
    args = ", ".join("xyz"[: min(3, max(1, entry.min_args))])
    return f"{entry.name}{'(p)' if entry.levels else ''}[{args} | condition]"


def _measure(name: str, schema: Schema | None) -> str:
    entry = measures()[name]
    low, high = entry.range.low, entry.range.high
    limits = f"from {low:g} to {high:g}" if high < float("inf") else f"at least {low:g}"
    text = f"**{name}**: {entry.meaning[0].upper()}{entry.meaning[1:]}; {limits}, {entry.direction}."
    text += f"\n\nArguments: {', '.join(f'`{key}`' for key in entry.required)}"
    text += f"; optional: {', '.join(f'`{key}`' for key in entry.optional)}." if entry.optional else "."
    return text if schema is None else f"{text}\n\nExample: `{examples.measure(name, schema)}`"
