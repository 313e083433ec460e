"""How well a private release will know its columns, or knows them, as text and as JSON values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from cuts.assess.render import plain
from cuts.data.schema import Schema
from cuts.data.units import spread, unit_of
from cuts.flow.before_release import Expected
from cuts.lang import units
from cuts.privacy.precision import MAX_MEAN_ERROR, MAX_MOVED, Precision
from cuts.text.columns import align
from cuts.text.diagnostic import counted, listed

ADVICE = "a narrower range, fewer categories or `bins`, fewer columns, or a larger EPSILON"


def expected_text(expected: Sequence[Expected], schema: Schema) -> str:
    """What noise will do to each column, by number of rows."""
    heads = ["column", "bins", "standard error of", *(counted(each.rows, "row") for each in expected)]
    cells = []
    for first, *others in zip(*(each.columns for each in expected), strict=True):
        errors = [_error(precision, schema) for precision in (first, *others)]
        cells.append([first.column, str(first.bins), "the mean" if first.is_numeric else "a share", *errors])
    pairs = [
        "",
        "",
        f"pairs within {100 * MAX_MOVED:g} %",
        *(f"{each.good_pairs} of {each.pairs}" for each in expected),
    ]
    table = align(heads, [*cells, pairs], right=[1, *range(3, len(heads))])
    return (
        "How well the release will know each column, by the number of rows (`--rows`). Errors are those of the noise "
        f"alone, without sampling variation:\n{table}\n"
        f"The last line counts the pairs of columns in which noise misplaces at most {100 * MAX_MOVED:g} % of the "
        f"rows. What helps: {ADVICE}."
    )


def expected_data(expected: Sequence[Expected]) -> list[Any]:
    """The same as JSON values."""
    return [plain(asdict(each)) for each in expected]


def badly_known(columns: Sequence[Precision], schema: Schema) -> str:
    """The columns that a release does not know well, and what would help; nothing if there are none."""
    bad = [precision for precision in columns if not precision.is_good]
    if not bad:
        return ""
    cells = [
        [
            precision.column,
            str(precision.bins),
            _error(precision, schema),
            "-" if precision.deviation is None else _shown(precision.deviation, precision, schema),
            f"{100 * min(precision.moved, 1.0):.0f} %",
        ]
        for precision in bad
    ]
    heads = ["column", "bins", "standard error", "standard deviation", "rows misplaced by noise"]
    names = listed([precision.column for precision in bad])
    return (
        f"Not known well: {names}. Noise makes the mean uncertain by more than {100 * MAX_MEAN_ERROR:g} % of the "
        f"standard deviation, or misplaces more than {100 * MAX_MOVED:g} % of the rows, so the table says little about "
        f"them. What helps in another release: {ADVICE}.\n{align(heads, cells, right=range(1, 5))}"
    )


def _error(precision: Precision, schema: Schema) -> str:
    if not precision.is_numeric:
        return f"± {100 * precision.error:.2g} %"
    return f"± {_shown(precision.error, precision, schema)}"


def _shown(number: float, precision: Precision, schema: Schema) -> str:
    """A difference of values of a column, with its unit."""
    return units.show(number, spread(unit_of(schema[precision.column])), 2)
