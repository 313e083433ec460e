"""Rows from a network: candidates are drawn, and those that break a row rule are rejected.

This is the paper's way (Vero et al., ICML 2024, sec. 4.2). Rules are decided on the values that will be written, so
they hold exactly, whatever bins the network has. A chunk is a function of the seed and its number. Where hardly any row
is accepted, drawing ends with an error instead of going on forever.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import count

import numpy as np
import pyarrow as pa

from cuts.data.codec import Codec, decode, with_identifiers
from cuts.data.columns import Empty, Identifier
from cuts.data.conform import conform
from cuts.data.partial_rows import outside_ranges
from cuts.data.table import Bools, Table
from cuts.lang.spec import Pred
from cuts.model.network import Network, random_numbers
from cuts.read import exact
from cuts.text.diagnostic import INFEASIBLE, CutsError, Diagnostic

MIN_ACCEPTANCE = 0.001  # share of candidates; with fewer, drawing ends
MIN_CANDIDATES = 100_000  # after which the share is looked at


@dataclass(frozen=True, slots=True)
class Rejection:
    """How many candidate rows were drawn, and how many of them satisfied all row rules."""

    candidates: int
    accepted: int

    @property
    def acceptance(self) -> float:
        """The share of the candidates that satisfied all row rules."""
        return self.accepted / max(self.candidates, 1)

    def joined(self, other: Rejection) -> Rejection:
        """Both together."""
        return Rejection(self.candidates + other.candidates, self.accepted + other.accepted)


def draw_accepted(
    network: Network, codec: Codec, preds: Sequence[Pred], *, chunk: int, start: int, rows: int, seed: int
) -> tuple[Table, Rejection]:
    """One chunk of rows that satisfy all predicates, and what was rejected; `start` is the number of rows before it."""
    kept: list[Table] = []
    missing, rejection = rows, Rejection(0, 0)
    for batch in count():
        table = draw_candidates(network, codec, chunk=chunk, batch=batch, seed=seed)
        accepted = np.flatnonzero(satisfied(table, codec, preds))
        rejection = rejection.joined(Rejection(table.rows, len(accepted)))
        kept.append(Table(table.arrow.take(pa.array(accepted[:missing]))))
        missing -= kept[-1].rows
        if not missing:
            break
        if rejection.candidates >= MIN_CANDIDATES and rejection.acceptance < MIN_ACCEPTANCE:
            raise CutsError([low_acceptance(rejection)])
    return with_identifiers(Table.join(kept), codec, seed=seed, first=start), rejection


def draw_candidates(network: Network, codec: Codec, *, chunk: int, batch: int, seed: int) -> Table:
    """One batch of rows as the network makes them; without identifiers, which only accepted rows get."""
    codes = network.draw(random_numbers(seed, chunk, batch))
    own_seed = int(np.random.SeedSequence([seed, chunk, batch]).generate_state(1, np.uint64)[0]) >> 1
    columns = [Empty(column.name) if isinstance(column, Identifier) else column for column in codec.schema]
    return decode(codes, replace(codec, schema=replace(codec.schema, columns=tuple(columns))), seed=own_seed)


def satisfied(table: Table, codec: Codec, preds: Sequence[Pred]) -> Bools:
    """Which rows satisfy all predicates and have computed columns inside their ranges."""
    typed = conform(table, codec.schema)
    fits: Bools = ~outside_ranges(typed, codec)
    for pred in preds:
        fits &= exact.mask(pred, typed)
    return fits


def low_acceptance(rejection: Rejection) -> Diagnostic:
    """Rules that hardly any row of the network satisfies."""
    return Diagnostic(
        "low-acceptance",
        f"only {rejection.accepted:,} of {rejection.candidates:,} candidate rows satisfied the row rules",
        help='give the rules larger weights (`PARAM`) or more steps, or use `method = "exact"`, which rejects no rows',
        exit_code=INFEASIBLE,
    )
