"""A small world for the tests of privacy: a public schema, rows, their counts, a budget, and a model without torch."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from typing import TypeAlias

import numpy as np

from cuts.count.kernel import count_codes
from cuts.count.marginals import Marginals
from cuts.data.codec import Codec, Codes, build_codec
from cuts.data.schema import Category, Integer, Schema
from cuts.data.table import Floats, IntArray
from cuts.privacy.accountant import rho_of
from cuts.privacy.core import Core
from cuts.privacy.curator import Curator
from cuts.privacy.ledger import ReleaseLedger, Terms
from cuts.privacy.query import Owners, Query
from cuts.privacy.secret import Secret
from cuts.privacy.transcript import Measurement
from cuts.privacy.units import Spending
from cuts.privacy.workload import Workload, make_workload
from privacy.twin import Twin

Open: TypeAlias = Callable[[Marginals, ReleaseLedger], Curator]  # what is under test: the core, its twin, or a bug

LEVELS = ("low", "high", "rare")
PEOPLE = build_codec(Schema("people", tuple(Category(name, LEVELS) for name in "abcd")), {})
MIXED = build_codec(
    Schema("mixed", (Integer("age", 0, 63, 16), Category("sex", ("f", "m")), Category("city", ("x", "y", "z"))), "sex"),
    {},
)


def open_core(counts: Marginals, ledger: ReleaseLedger) -> Curator:
    """The real thing."""
    return Core(Secret(counts), ledger)


def open_twin(twin: type[Twin] = Twin) -> Open:
    """A twin with a seed of its own every time."""
    seeds = iter(range(10**9))
    return lambda counts, ledger: twin(counts, ledger, next(seeds))


def opened(epsilon: float = 1.0, delta: float = 0.01, **terms: object) -> ReleaseLedger:
    """A ledger nothing is charged to."""
    return ReleaseLedger(Terms(epsilon, delta, **terms), Fraction(rho_of(epsilon, delta)))  # type: ignore[arg-type]


def plentiful(**terms: object) -> ReleaseLedger:
    """A ledger that covers whatever a test reads."""
    return ReleaseLedger(Terms(2e9, 1e-9, **terms), Fraction(10**9), Fraction(1e-9) / 2)  # type: ignore[arg-type]


def total_rho(spendings: Iterable[Spending]) -> Fraction:
    """What releases cost, unit by unit, added up."""
    return sum((spending.rho for spending in spendings), Fraction(0))


def sizes_of(codec: Codec) -> dict[str, int]:
    return {bins.column.name: bins.size for bins in codec.columns}


def workload_of(codec: Codec, groups: Mapping[str, int] | None = None, label: str | None = None) -> Workload:
    """A workload, by default without a label: with one, nothing is selected from few rows."""
    return make_workload(sizes_of(codec), label, groups or {})


def counts_of(codes: Codes, codec: Codec = PEOPLE) -> Marginals:
    return count_codes(codes, codec, workload_of(codec).candidates)


def draw_people(rows: int, seed: int, codec: Codec = PEOPLE) -> Codes:
    """Rows whose columns depend on each other; of people, nobody has the last level of any column."""
    rng = np.random.default_rng(seed)
    hidden = rng.random(rows)
    codes = {}
    for bins in codec.columns:
        levels = bins.size - 1 if codec is PEOPLE else bins.size
        codes[bins.column.name] = (np.mod(hidden + 0.3 * rng.random(rows), 1.0) * levels).astype(np.int64)
    return codes


def with_row(codes: Codes, row: Sequence[int]) -> Codes:
    """The rows and one more."""
    return {name: np.append(values, code) for (name, values), code in zip(codes.items(), row, strict=True)}


def empty_table(cells: int, level: int = 0) -> Marginals:
    """One column whose bins hold `level` rows each."""
    return Marginals({"x": cells}, {("x",): np.full(cells, level, dtype=np.int64)}, level * cells, "")


@dataclass(frozen=True)
class Independent:
    """A model of independent columns."""

    columns: Mapping[str, Floats]

    def shares(self, query: Query) -> Floats:
        return reduce(np.multiply.outer, [self.columns[name] for name in query.clique])


def independent(
    measurements: Sequence[Measurement], groups: Mapping[str, Owners], before: Independent | None
) -> Independent:
    """Every column by all tables that have it, each counting by how exact it is."""
    held = {name: np.zeros(max(owner) + 1) for name, owner in groups.items()}
    for each in measurements:
        for axis, (name, owner) in enumerate(zip(each.query.clique, each.query.owners, strict=True)):
            own: IntArray = each.values.sum(tuple(a for a in range(each.values.ndim) if a != axis))
            if owner != groups[name]:
                own = np.bincount(groups[name], own)
            held[name] += own / (each.query.cells * each.sigma**2)
    kept = {name: np.maximum(own, 1e-12) for name, own in held.items()}
    return Independent({name: own / own.sum() for name, own in kept.items()})


def uniform(
    measurements: Sequence[Measurement], groups: Mapping[str, Owners], before: Independent | None
) -> Independent:
    """A model that learns nothing."""
    return Independent({name: np.full(max(owner) + 1, 1 / (max(owner) + 1)) for name, owner in groups.items()})
