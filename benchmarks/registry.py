"""All tables of the benchmarks, in the order of the page."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.table import Table
from benchmarks.tables import (
    count,
    draw,
    encode,
    fidelity,
    growth,
    language,
    paper,
    paper_programs,
    paper_update,
    peers,
    wide,
)

TABLES: tuple[Table, ...] = (
    *paper.tables(),
    *paper.further_tables(),
    *fidelity.tables(),
    *peers.tables(),
    *language.tables(),
    *encode.tables(),
    *count.tables(),
    *draw.tables(),
    *growth.tables(),
    *wide.tables(),
    *paper_update.tables(),
    *paper_programs.tables(),
)


def select(words: Sequence[str]) -> list[Table]:
    """The tables of some names: whole ones, beginnings such as `adult`, or `all`.

    >>> [table.name for table in select(["adult-logical", "german"])][:2]
    ['adult-logical', 'german-unconstrained']
    """
    found: dict[str, Table] = {}
    for word in words:
        named = [table for table in TABLES if table.name == word or table.name.startswith(f"{word}-")]
        chosen = [table for table in TABLES if table.in_all] if word == "all" else named
        if not chosen:
            known = ", ".join(table.name for table in TABLES)
            raise SystemExit(f"there is no table `{word}`; the tables are {known}")
        found |= {table.name: table for table in chosen}
    return list(found.values())
