"""The trusted core: the only code that sees private rows. It answers `measure` and `select` while the budget lasts.

Rows are counted once, when the core opens; the counts stay in a `Secret`. Every answer is charged before the counts
are touched: first to our ledger, in exact fractions, then to OpenDP's filter, which would refuse on its own. Noise is
OpenDP's, exact and from the operating system; there is no seed. Costs are those of OpenDP's maps, which round up.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any, Literal, TypeAlias

import numpy as np
from opendp import combinators, domains, measurements, measures, metrics, transformations

from cuts.count.cover import Clique
from cuts.count.kernel import Counter
from cuts.count.marginals import Marginals
from cuts.data.codec import Codec
from cuts.data.table import Bools, IntArray, Table
from cuts.privacy.accountant import enable
from cuts.privacy.coding import cell_texts, encode_cells
from cuts.privacy.curator import GRID, Candidate
from cuts.privacy.ledger import Event, Kind, ReleaseLedger
from cuts.privacy.query import Query, grouped
from cuts.privacy.reading import PrivateRows
from cuts.privacy.secret import Secret, reveal
from cuts.text.diagnostic import PRIVACY, CutsError, Diagnostic
from cuts.text.interrupts import uninterrupted

Record: TypeAlias = Callable[[Event], None]

LARGEST = 2**62  # score


def score(counts: IntArray, candidate: Candidate) -> int:
    """How much a measurement is worth: `weight * (||counts - expected||_1 - penalty)`.

    One row more or less moves it by at most `weight * GRID`.
    """
    off = int(np.abs(GRID * counts - candidate.expected).sum())
    return min(max(candidate.weight * (off - candidate.penalty), -LARGEST), LARGEST)  # clipping moves nothing apart


class Core:
    """Answers about counts that nobody else sees; `record` is told of every charge before the counts are touched."""

    def __init__(
        self,
        counts: Secret[Marginals],
        ledger: ReleaseLedger,
        record: Record = lambda _: None,
        *,
        measured_as: Literal["measure", "discover"] = "measure",
    ) -> None:
        enable()
        self._ledger = ledger
        self._record = record
        self._kind = measured_as
        self._tables: dict[Query, Secret[IntArray]] = {}  # made once
        replaces = ledger.terms.relation == "replace"
        self._metric = metrics.change_one_distance() if replaces else metrics.symmetric_distance()
        self._moves = math.nextafter(math.sqrt(2.0), 2.0) if replaces else 1.0  # L2 of a histogram, by one row
        self._shifts = 2 if replaces else 1  # L1 of a histogram, by one row
        self._domain = domains.user_domain("Counts", lambda held: isinstance(held, Secret))
        meter = combinators.make_fully_adaptive_composition(
            self._domain, self._metric, measures.zero_concentrated_divergence()
        )
        budget = math.nextafter(float(ledger.rho - ledger.spent), 0.0)
        self._filter = combinators.make_privacy_filter(meter, d_in=ledger.terms.rows_each, d_out=budget)(counts)

    @property
    def ledger(self) -> ReleaseLedger:
        """What has been spent so far."""
        return self._ledger

    def measure(self, query: Query, sigma: float) -> IntArray:
        """The histogram with discrete Gaussian noise of that scale on every cell."""

        def histogram(counts: Secret[Marginals]) -> list[int]:
            return self._count(counts, query).ravel().tolist()

        read = transformations.make_user_transformation(
            self._domain, self._metric, _vector(), metrics.l2_distance(T=float), histogram, lambda d: d * self._moves
        )
        noisy = self._charged(
            self._kind, query.clique, sigma, self._moves, read >> measurements.then_gaussian(scale=sigma)
        )
        return np.array(noisy, dtype=np.int64).reshape(query.shape)

    def select(self, candidates: Sequence[Candidate], scale: float) -> int:
        """The place of the candidate with about the highest score: noisy maximum, Gumbel noise of that scale."""
        moves = self._shifts * GRID * max(candidate.weight for candidate in candidates)

        def scores(counts: Secret[Marginals]) -> list[int]:
            return [score(self._count(counts, candidate.query), candidate) for candidate in candidates]

        read = transformations.make_user_transformation(
            self._domain, self._metric, _vector(), metrics.linf_distance(T="i64"), scores, lambda d: d * moves
        )
        choose = read >> measurements.then_noisy_max(measures.zero_concentrated_divergence(), scale=scale)
        return int(self._charged("select", (), scale, float(moves), choose, len(candidates)))

    def _charged(
        self, kind: Kind, clique: Clique, scale: float, moves: float, measurement: Any, candidates: int = 0
    ) -> Any:
        """The answer, paid for first; what fails afterwards stays paid for."""
        rows = self._ledger.terms.rows_each
        cost = Fraction(measurement.map(rows))
        event = Event(kind, clique, scale, moves * rows, cost, candidates=candidates)
        self._ledger = self._ledger.charged(event)
        self._record(event)
        try:
            with uninterrupted():
                return self._filter(measurement)
        except Exception:  # whatever it was, its message could show a count
            problem = CutsError([core_failed()])
        raise problem  # outside, so that it does not carry the other one along

    def _count(self, counts: Secret[Marginals], query: Query) -> IntArray:
        if query not in self._tables:
            self._tables[query] = Secret(grouped(reveal(counts).table(query.clique), query))
        return reveal(self._tables[query])


def count_rows(
    rows: PrivateRows, codec: Codec, cliques: Sequence[Clique], *, person: str | None, most: int
) -> Secret[Marginals]:
    """The counts of private rows, at most `most` of each person if there is a column to tell persons by.

    The first rows of a person are kept, whatever others have; rows without a person, or with a cell that has no place
    in the schema, are left out.
    """
    counter = Counter(codec, cliques)
    names = [bins.column.name for bins in codec.columns]
    seen: dict[str, int] = {}
    for block in rows.blocks([*names, *([] if person is None else [person])]):
        codes, kept = encode_cells(block, codec)
        if person is not None:
            kept = kept & _first_rows(block, person, seen, most)
        places = np.flatnonzero(kept)
        counter.add({name: values[places] for name, values in codes.items()}, len(places))
    return Secret(counter.counts())


def count_values(
    rows: PrivateRows, columns: Sequence[str], *, person: str | None, most: int
) -> Mapping[str, Secret[dict[str, int]]]:
    """How often each text occurs in some columns, of at most `most` rows of each person; only for `discover`."""
    found: dict[str, dict[str, int]] = {name: {} for name in columns}
    seen: dict[str, int] = {}
    for block in rows.blocks([*columns, *([] if person is None else [person])]):
        kept = np.ones(block.rows, dtype=np.bool_) if person is None else _first_rows(block, person, seen, most)
        for name, counts in found.items():
            for text, is_kept in zip(cell_texts(block.column(name)), kept.tolist(), strict=True):
                bare = (text or "").strip()
                if is_kept and bare and "\0" not in bare:  # where OpenDP would cut a text short
                    counts[bare] = counts.get(bare, 0) + 1
    return {name: Secret(counts) for name, counts in found.items()}


def discover(
    counts: Secret[dict[str, int]], column: str, ledger: ReleaseLedger, scale: float, delta: float, record: Record
) -> tuple[tuple[str, ...], ReleaseLedger]:
    """The texts of a column whose noisy count is above a threshold, in order; and the ledger with their cost.

    Which texts there are is itself private: a text of one unit alone passes with probability `delta` at most.
    """
    rows, replaces = ledger.terms.rows_each, ledger.terms.relation == "replace"
    moves = (2 * rows, math.ceil(math.sqrt(2.0) * rows), rows) if replaces else (rows, rows, rows)
    measurement, cost, risk = _threshold(scale, delta, moves)
    distance = rows * math.nextafter(math.sqrt(2.0), 0.0) if replaces else float(rows)
    event = Event("discover", (column,), scale, distance, Fraction(cost), risk)
    ledger = ledger.charged(event)
    record(event)
    try:
        with uninterrupted():
            return tuple(sorted(measurement(reveal(counts)))), ledger
    except Exception:  # whatever it was, its message could show a text
        problem = CutsError([core_failed()])
    raise problem


def _threshold(scale: float, delta: float, moves: tuple[int, int, int]) -> tuple[Any, float, float]:
    """The measurement of texts with the lowest threshold tried whose risk is at most `delta`; its cost, its risk."""
    enable()
    space = domains.map_domain(domains.atom_domain(T=str), domains.atom_domain(T="i32"))
    metric = metrics.l02inf_distance(metrics.absolute_distance(T="i32"))
    noises = 2
    while True:
        threshold = moves[2] + math.ceil(noises * scale / 2)
        made = measurements.make_gaussian_threshold(space, metric, scale=scale, threshold=threshold)
        cost, risk = made.map(moves)  # type: ignore[no-untyped-call]
        if risk <= delta:
            return made, cost, risk
        noises += 1


def _first_rows(block: Table, person: str, seen: dict[str, int], most: int) -> Bools:
    """Which rows are among the first ones of their person; one without a readable person is not."""
    kept = np.zeros(block.rows, dtype=np.bool_)
    for place, key in enumerate(cell_texts(block.column(person))):
        if key is not None and "\ufffd" not in key:  # several unreadable texts look the same
            seen[key] = seen.get(key, 0) + 1
            kept[place] = seen[key] <= most
    return kept


def core_failed() -> Diagnostic:
    """A read that failed; why is not said, for it could depend on the rows."""
    return Diagnostic(
        "core-failed",
        "a private read failed; it stays charged",
        help="nothing was written; run the program again, and report this if it happens twice",
        exit_code=PRIVACY,
    )


def _vector() -> Any:
    return domains.vector_domain(domains.atom_domain(T="i64"))
