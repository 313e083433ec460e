"""Files: one of each kind, parts matched by a pattern, and a folder of parts."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from cuts.data.exchange.files import save
from cuts.data.table import Table
from engines import Engine

PART_ROWS = 900


def _one(ending: str, folder: Path, table: pa.Table) -> Path:
    path = folder / f"awkward.{ending}"
    save(Table(table), path)
    return path


def _parts(ending: str, folder: Path, table: pa.Table) -> Path:
    """Parts of several sizes, one of them without rows, beside files that are not data."""
    folder.mkdir(exist_ok=True)
    for number, start in enumerate(range(0, table.num_rows, PART_ROWS)):
        save(Table(table.slice(start, PART_ROWS)), folder / f"part-{number:03d}.{ending}")
    save(Table(table.slice(0, 0)), folder / f"part-000-empty.{ending}")
    (folder / "_SUCCESS").write_text("")
    (folder / ".part-000.crc").write_text("x")
    return folder


def parquet_parts(folder: Path, table: pa.Table) -> str:
    """A pattern that matches parts in Parquet."""
    return f"{_parts('parquet', folder / 'parts', table)}/*.parquet"


def csv_parts(folder: Path, table: pa.Table) -> str:
    """A pattern that matches parts in CSV."""
    return f"{_parts('csv', folder / 'parts', table)}/*.csv"


ENGINES = (
    Engine("parquet", lambda folder, table: _one("parquet", folder, table)),
    Engine("parquet-parts", parquet_parts),
    Engine("parquet-folder", lambda folder, table: _parts("parquet", folder / "parts", table)),
    Engine("feather", lambda folder, table: _one("feather", folder, table)),
    Engine("csv-parts", csv_parts, keeps_types=False, keeps_lines=False),
)
