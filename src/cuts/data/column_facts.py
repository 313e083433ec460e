"""The inferred kind of each column of a table, and columns that are determined by others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from cuts.data.binning import Limits, category_counts, fit_codec
from cuts.data.codec import CategoryBins, NumericBins
from cuts.data.columns import is_written_as_text
from cuts.data.computed import Formula
from cuts.data.conform import conform
from cuts.data.describe import kind_in_words, values_in_words
from cuts.data.number_texts import MIN_NUMBERS, count_numbers
from cuts.data.rare_values import never_sampled
from cuts.data.relations import find_relations
from cuts.data.schema import Category, Column, Integer, Modelled, Real, Schema
from cuts.data.table import IntArray, Table
from cuts.text.diagnostic import counted, listed

MISSING_ELSEWHERE = frozenset({"NA", "N/A", "#N/A", "NaN", "nan", "null", "NULL", "None", "<NA>"})
MAX_KEYS = 1_000  # distinct values of a column from which others may follow
ROWS_PER_KEY = 5  # mean rows per distinct value, so that a dependency is unlikely to be chance
MAX_COLUMNS = 100  # above this, comparing all pairs takes too long
FIRST_ROWS = (100, 5_000)  # rows checked before all others, which rule most pairs out


@dataclass(frozen=True, slots=True)
class ColumnFacts:
    """A column: its kind, its values, the share of missing cells, its number of bins, and remarks."""

    name: str
    kind: str
    values: str
    missing: float
    bins: int
    notes: tuple[str, ...]


def column_facts(table: Table, schema: Schema, limits: Limits | None = None) -> tuple[ColumnFacts, ...]:
    """The facts of every column of a schema, from the rows of a table."""
    limits = limits or Limits(schema.max_categories, schema.min_count)
    codec = fit_codec(table, schema, limits=limits)
    typed = conform(table, schema)
    sizes = {bins.column.name: bins for bins in codec.columns}
    follows = {**dict(find_derived(table, schema)), **dict(schema.derived)}
    found = dict(find_relations(typed, schema))
    facts = []
    for column in schema:
        missing = float(table.missing(column.name).mean())
        bins = sizes.get(column.name)
        notes = [*_notes(column, follows.get(column.name), schema), *_formula_notes(column, found, schema)]
        notes += _missing_notes(column)
        if isinstance(column, Category) and isinstance(bins, CategoryBins):
            notes += _category_notes(typed, column, bins, limits, declared=not schema.is_inferred)
        if isinstance(bins, NumericBins):
            notes += _text_notes(bins, limits)
        facts.append(
            ColumnFacts(
                column.name,
                kind_in_words(column),
                values_in_words(column),
                missing,
                bins.size if bins else 0,
                tuple(notes),
            )
        )
    return tuple(facts)


def find_derived(table: Table, schema: Schema) -> tuple[tuple[str, str], ...]:
    """The functional dependencies, as pairs (column, the column it follows from)."""
    columns = [column for column in schema.modelled if not is_written_as_text(column)]
    if len(columns) > MAX_COLUMNS:
        return ()
    whole = _codes(table, schema, columns)
    heads = [{name: codes[:rows] for name, codes in whole.items()} for rows in FIRST_ROWS]
    pairs: list[tuple[str, str]] = []
    taken: set[str] = set()
    for column in columns:
        for source in columns:
            if source is column or source.name in taken or not _worth(whole[source.name], whole[column.name]):
                continue
            if all(_follows(head[column.name], head[source.name]) for head in (*heads, whole)):
                mutual = _follows(whole[source.name], whole[column.name])
                if not mutual or schema.names.index(source.name) < schema.names.index(column.name):
                    pairs.append((column.name, source.name))
                    taken.add(column.name)
                    break
    return tuple(pairs)


def _codes(table: Table, schema: Schema, columns: list[Modelled]) -> dict[str, IntArray]:
    """One array of small numbers per column, equal where the values are equal; missing counts as a value."""
    typed = conform(table, schema)
    codes_by_name: dict[str, IntArray] = {}
    for column in columns:
        values = typed.column(column.name).combine_chunks()
        codes = values.dictionary_encode("encode").indices
        codes_by_name[column.name] = np.asarray(codes.to_numpy(zero_copy_only=False), dtype=np.int64)
    return codes_by_name


def _worth(source: IntArray, column: IntArray) -> bool:
    keys, values = int(source.max()) + 1, int(column.max()) + 1
    return 1 < values <= keys <= MAX_KEYS and len(source) >= ROWS_PER_KEY * keys and keys > 2


def _follows(column: IntArray, source: IntArray) -> bool:
    pairs = np.unique(source * (int(column.max()) + 1) + column)
    return len(pairs) == len(np.unique(source))


def _notes(column: Column, source: str | None, schema: Schema) -> list[str]:
    notes = []
    if column.name == schema.label:
        notes.append("label")
    if column.name in schema.protected:
        notes.append("protected")
    if source is not None and column.name in dict(schema.derived):
        notes.append(f"follows from {source}, kept exactly")
    elif source is not None:
        notes.append(f'follows from {source}: keep it exactly with derived_from = "{source}"')
    return notes


def _missing_notes(column: Column) -> list[str]:
    """Texts that mean a missing value in other tools: here only an empty cell does."""
    match column:
        case Category():
            texts = column.categories
        case Integer() | Real():
            texts = column.texts
        case _:
            return []
    found = [text for text in texts if text in MISSING_ELSEWHERE]
    if not found:
        return []
    return [f"{listed(found)} is a value, not missing: leave the cells empty if it means missing"]


def _formula_notes(column: Column, found: Mapping[str, Formula], schema: Schema) -> list[str]:
    stated = dict(schema.formulas).get(column.name)
    if stated is not None:
        return [f"computed as {stated.text} in every row"]
    formula = found.get(column.name)
    if formula is None:
        return []
    return [f'equals {formula.text} in every row: keep it exactly with formula = "{formula.text}"']


def _category_notes(typed: Table, column: Category, bins: CategoryBins, limits: Limits, *, declared: bool) -> list[str]:
    notes = []
    numbers = count_numbers(column.categories)
    if not declared and numbers >= MIN_NUMBERS and 2 * numbers > len(column.categories):
        notes.append(f"{numbers} of {counted(len(column.categories), 'value')} look like numbers but are categories")
    shared = sum(len(group) for group in bins.groups if len(group) > 1)
    if shared:
        notes.append(f"{counted(shared, 'rarer value')} grouped")
    counts = category_counts(typed, column)
    few = f"fewer than {limits.min_count} rows"
    lost = never_sampled(bins)
    if lost:
        rows = sum(counts[category] for category in lost)
        share = f"{counted(len(lost), 'value')} in {100 * rows / typed.rows:.2g} % of the rows"
        notes.append(f"never sampled ({few}): {share}, {listed(lost, limit=3)}")
    elif not declared and max(counts.values()) < limits.min_count:
        notes.append(f"every value has {few}, so all are sampled")
    return notes


def _text_notes(bins: NumericBins, limits: Limits) -> list[str]:
    return [
        f"written as `{first}` (fewer than {limits.min_count} rows): {listed(rare, limit=3)}"
        for first, *rare in bins.texts
        if rare
    ]
