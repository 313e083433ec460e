"""Numbers of the real rows that an editor shows; the rows are those of a program that is not private."""

from __future__ import annotations

from dataclasses import replace

import pyarrow.compute as pc

from cuts.data.schema import Category
from cuts.data.table import Table
from cuts.editor.library import Known
from cuts.flow import checks
from cuts.lang import quantities, syntax, units
from cuts.lang.lets import expand_lets
from cuts.lang.rewrite import nodes
from cuts.lang.scope import Scope
from cuts.lang.syntax import Command, Placeholder, Program
from cuts.read import exact
from cuts.vocab.names import DISTRIBUTION


def value_of(stat: syntax.Stat, program: Program, known: Known) -> str | None:
    """The value of a statistic on the rows, as people write it; None if it has none or may not be shown."""
    if known.schema is None or known.rows is None or checks.private_command(program) is not None:
        return None
    scope = Scope(known.schema)
    alone = replace(program, statements=(*program.lets, Command("MINIMIZE", stat)))
    expanded = expand_lets(alone, scope)
    if stat.name == DISTRIBUTION or not expanded:
        return None
    body = expanded[-1][1].body
    if isinstance(body, syntax.Settings) or any(isinstance(node, Placeholder) for node in nodes(body)):
        return None
    measured = quantities.quantity(body, scope)
    if measured is None:
        return None
    return units.show(exact.value(measured.value, known.rows, known.schema), measured.unit)


def category_shares(column: Category, rows: Table) -> tuple[tuple[str, float], ...]:
    """The share of the rows that have each category, the most frequent first."""
    counts = {
        str(pair["values"]): int(pair["counts"]) for pair in pc.value_counts(rows.column(column.name)).to_pylist()
    }
    shares = [(value, counts.get(value, 0) / max(1, rows.rows)) for value in column.categories]
    return tuple(sorted(shares, key=lambda pair: -pair[1]))
