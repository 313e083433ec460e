"""Rows from a schema alone, where there is no real table: a starting point for rules and statistics."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from cuts.data.codec import ColumnBins, NumericBins, build_codec, decode
from cuts.data.schema import Schema
from cuts.data.table import Floats, Table


def uniform_rows(schema: Schema, rows: int, *, missing: float = 0.1, seed: int = 0) -> Table:
    """Independent columns, in which all values that the schema allows are equally likely.

    `missing` is the share of missing cells in columns that allow them, and of texts in columns of numbers with texts.
    Identifiers are generated and columns with a formula computed; a column that is derived from another is not.

    >>> from cuts.data.schema import Category, Integer
    >>> schema = Schema("dice", (Integer("throw", 1, 6), Category("hand", ("left", "right"))))
    >>> sorted(set(uniform_rows(schema, 100).arrow["throw"].to_pylist()))
    [1, 2, 3, 4, 5, 6]
    """
    if rows < 1:
        raise ValueError(f"the number of rows is at least 1, not {rows}")
    if not 0 <= missing < 0.5:
        raise ValueError(f"the share of missing cells is at least 0 and below 0.5, not {missing}")
    codec = build_codec(replace(schema, derived=()), {}, coarse=True)
    if not codec.columns:
        raise ValueError(f"the schema `{schema.name}` has no column with values to choose from")
    rng = np.random.default_rng(seed)
    codes = {bins.column.name: rng.choice(bins.size, rows, p=_shares(bins, missing)) for bins in codec.columns}
    return decode(codes, codec, seed=seed)


def _shares(bins: ColumnBins, missing: float) -> Floats:
    """The share of each bin: first those of values, then those of texts, then the one of missing cells."""
    texts = len(bins.texts) if isinstance(bins, NumericBins) else 0
    of_texts = [missing / texts for _ in range(texts)]
    of_missing = [missing] if bins.column.missing else []
    of_values = [(1 - sum(of_texts) - sum(of_missing)) / bins.numbers] * bins.numbers
    return np.array([*of_values, *of_texts, *of_missing])
