"""What a fit will need, before any row is read: the tables it counts, and its peak memory.

Nothing in a fit grows with the rows beyond a sample of them, so schema and settings say enough. With `n` rows and `C`
columns in the sample, `B` bins of all columns together, `K` components, `T` tables and `c` cells, in bytes:

    peak  = 1.2 (600 MB + sample + max(block, counts + fit))
    sample = 32 n C             as read, conformed, encoded, and a column's numbers
    block  = 32 * 65,536 C      the same for the block being counted
    counts = 8 c + 2,600 T      the cells, and what Python keeps for each table
    fit    = 40 K B             parameters, gradients and the moments of Adam, in float32
           + min(400 MB, 320 B^2)   targets of all pairs, and in slices of the label and others (`model/targets.py`)
           + 12,000 B + 75,000 K    boxes kept, and those of one step

The bins are those of `expected_sizes`. The workload is the one chosen without dependence; a wide table may have fewer
tables. The base and the factor are chosen so that all measured peaks are below the estimate, and above half of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cuts.config import Config
from cuts.count.cover import cells
from cuts.count.survey import sample_limit
from cuts.count.workload import choose_workload, fits_whole
from cuts.data.binning import expected_sizes
from cuts.data.exchange.streams import ROWS
from cuts.data.schema import Schema

MB = 1_000_000
BASE = 600 * MB  # Python with all libraries of a fit, and what they keep
MARGIN = 1.2  # above what is expected
CELL = 32  # of a sample or a block
TABLE = 2_600
MAX_TARGETS = 400 * MB
MAX_COMPONENTS = 1_000


@dataclass(frozen=True, slots=True)
class Footprint:
    """The tables of a fit and their cells, and bytes: of the counts, and of the process at its peak."""

    tables: int
    cells: int
    is_whole: bool  # all triples are counted, so that nothing is chosen by dependence
    counts: int
    peak: int
    rows: int | None = None  # that it is about; None for any number


def expect_footprint(schema: Schema, config: Config, *, rows: int | None = None) -> Footprint:
    """The footprint of a fit of a schema; without a number of rows, of as many as there may be."""
    columns = len(schema.modelled)
    limit = sample_limit(len(schema.columns))
    sampled = limit if rows is None else min(rows, limit)
    coarse = config.fine != "none" and config.bins is None
    sizes = expected_sizes(schema, rows=sampled, coarse=coarse)
    cliques = choose_workload(sizes, schema.label if schema.label in sizes else None)
    counted = sum(cells(clique, sizes) for clique in cliques)
    counts = 8 * counted + TABLE * len(cliques)
    bins, K = sum(sizes.values()), config.components or MAX_COMPONENTS
    fit = 40 * K * bins + min(MAX_TARGETS, 320 * bins**2) + 12_000 * bins + 75_000 * K
    held = BASE + CELL * sampled * columns + max(CELL * min(ROWS, rows or ROWS) * columns, counts + fit)
    return Footprint(len(cliques), counted, fits_whole(sizes), counts, int(MARGIN * held), rows)


def as_text(footprint: Footprint) -> str:
    """The footprint in two lines."""
    tables = f"{footprint.tables:,} tables"
    counted = f"{tables}, all triples of columns" if footprint.is_whole else f"at most {tables}, chosen by dependence"
    rows = "any number of" if footprint.rows is None else f"{footprint.rows:,}"
    return (
        f"counts: {counted}; about {_cells(footprint.cells)} cells, {_size(footprint.counts)}\n"
        f"memory: at most about {_size(footprint.peak)} for a fit of {rows} rows"
    )


def as_data(footprint: Footprint) -> dict[str, Any]:
    """The footprint as JSON values."""
    return {
        "tables": footprint.tables,
        "cells": footprint.cells,
        "all_triples": footprint.is_whole,
        "counts_bytes": footprint.counts,
        "peak_bytes": footprint.peak,
    }


def _cells(number: int) -> str:
    return f"{number / 1e6:.1f} million" if number >= 1_000_000 else f"{number:,}"


def _size(size: int) -> str:
    return f"{size / 1e9:.1f} GB" if size >= 1_000 * MB else f"{max(1, round(size / MB))} MB"
