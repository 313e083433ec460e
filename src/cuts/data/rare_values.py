"""Rare values: categories and texts with so few rows that they are never sampled, and what a table loses by that.

A value in a handful of rows can identify one of them, so a schema that was inferred does not sample it, unless the
program names it (`data/binning.py`).
"""

from __future__ import annotations

from dataclasses import dataclass

from cuts.data.binning import text_counts
from cuts.data.codec import CategoryBins, Codec, ColumnBins
from cuts.data.table import Table
from cuts.text.diagnostic import Diagnostic, counted

MAX_SHOWN = 5  # columns that a warning lists


@dataclass(frozen=True, slots=True)
class Loss:
    """The values of a column that are never sampled: how many of how many, and how many of how many rows have them."""

    column: str
    values: int
    all_values: int
    rows: int
    all_rows: int

    def __str__(self) -> str:
        share = f"{self.rows:,} of {counted(self.all_rows, 'row')} ({100 * self.rows / self.all_rows:.2g} %)"
        return f"`{self.column}` ({self.values:,} of {counted(self.all_values, 'value')}, in {share})"


def never_sampled(bins: ColumnBins) -> list[str]:
    """The categories, or the texts beside numbers, that no bin can give."""
    if not isinstance(bins, CategoryBins):
        return [text for group in bins.texts for text in group[1:]]
    places = bins.contents.places[bins.contents.weights() == 0]
    return [bins.column.categories[place] for place in sorted(places.tolist())]


def find_losses(typed: Table, codec: Codec) -> tuple[Loss, ...]:
    """What a conformed table loses under a codec, by column."""
    losses = []
    for bins in codec.columns:
        texts = bins.column.categories if isinstance(bins, CategoryBins) else bins.column.texts
        if texts:
            present = {text: rows for text, rows in text_counts(typed, bins.column.name, texts).items() if rows}
            lost = [text for text in never_sampled(bins) if text in present]
            rows = sum(present[text] for text in lost)
            losses.append(Loss(bins.column.name, len(lost), len(present), rows, typed.rows))
    return tuple(loss for loss in losses if loss.values)


def rare_values(typed: Table, codec: Codec) -> tuple[Diagnostic, ...]:
    """A warning about the columns of a conformed table that lose values, those with the most rows first."""
    losses = sorted(find_losses(typed, codec), key=lambda loss: -loss.rows)
    if not losses:
        return ()
    more = f" and {counted(len(losses) - MAX_SHOWN, 'other column')}" if len(losses) > MAX_SHOWN else ""
    shown = ", ".join(map(str, losses[:MAX_SHOWN]))
    warning = Diagnostic(
        "rare-values",
        f"values with fewer than {codec.schema.min_count} rows are never sampled: {shown}{more}",
        help="keep all of them with `min_count = 0` in the schema, which `cuts schema infer` writes;\n"
        "values that the program names are always kept",
        severity="warning",
    )
    return (warning,)
