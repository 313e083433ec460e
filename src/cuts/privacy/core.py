"""The trusted core: the only code that sees private rows. It answers `measure` and `select` while the budget lasts.

Rows are counted once, when the core opens; the counts stay in a `Secret` and are dropped when the core closes. Every
answer is charged before the counts are touched: first to our ledger, in exact fractions, then to OpenDP's filter, which
would refuse on its own. Discovering categories runs outside of that filter: its rho and its delta are charged to our
ledger alone. Noise comes from OpenDP, which samples exactly and from the operating system's randomness; there is no
seed. Costs in rho are those of OpenDP's privacy maps, which round up.
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
from cuts.privacy.reading import PrivateRows, PrivateRowsInPlace
from cuts.privacy.secret import Secret, forget, reveal
from cuts.text.diagnostic import INFEASIBLE, PRIVACY, CutsError, Diagnostic
from cuts.text.interrupts import uninterrupted

Record: TypeAlias = Callable[[Event], None]

MAX_SCORE = 2**62
MAX_THRESHOLD = 2**31 - 1  # of OpenDP's counts


def score(counts: IntArray, candidate: Candidate) -> int:
    """How much a measurement is worth: `weight * (||counts - expected||_1 - penalty)`.

    This is the quality score of AIM (McKenna, Mullins, Sheldon and Miklau 2022), with whole numbers in place of floats.
    One row more or less moves it by at most `weight * GRID`.
    """
    distance = int(np.abs(GRID * counts - candidate.expected).sum())
    return min(
        max(candidate.weight * (distance - candidate.penalty), -MAX_SCORE), MAX_SCORE
    )  # clipping never increases a distance


class Core:
    """Answers about counts that nobody else sees; `record` gets every charge before the counts are touched.

    At the end of a `with` block the counts are dropped, although OpenDP keeps what it was given.
    """

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
        self._counts = counts
        self._tables: dict[Query, Secret[IntArray]] = {}  # histograms over groups, each summed once
        replaces = ledger.terms.relation == "replace"
        self._metric = metrics.change_one_distance() if replaces else metrics.symmetric_distance()
        self._moves = math.nextafter(math.sqrt(2.0), 2.0) if replaces else 1.0  # L2 sensitivity of a histogram, per row
        self._shifts = 2 if replaces else 1  # L1 sensitivity of a histogram, per row
        self._domain = domains.user_domain("Counts", lambda counts: isinstance(counts, Secret))
        meter = combinators.make_fully_adaptive_composition(
            self._domain, self._metric, measures.zero_concentrated_divergence()
        )
        budget = math.nextafter(float(ledger.rho - ledger.spent), 0.0)
        rows = ledger.terms.max_rows_per_person
        self._filter = combinators.make_privacy_filter(meter, d_in=rows, d_out=budget)(counts)

    def __enter__(self) -> Core:
        return self

    def __exit__(self, *_: object) -> None:
        forget(self._counts)
        for table in self._tables.values():
            forget(table)

    @property
    def ledger(self) -> ReleaseLedger:
        """The ledger with every charge so far."""
        return self._ledger

    def measure(self, query: Query, sigma: float) -> IntArray:
        """The histogram with discrete Gaussian noise of that scale on every cell.

        Like the continuous one, it costs `sensitivity^2 / (2 sigma^2)` in zCDP (Canonne, Kamath and Steinke, "The
        Discrete Gaussian for Differential Privacy", 2020).
        """

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
        """The index of the candidate with the highest noisy score: the exponential mechanism by Gumbel noise.

        The maximum of scores with Gumbel noise of scale s is a draw with chances in proportion to `exp(score / s)`.
        Its price in zCDP is `sensitivity^2 / (2 s^2)`, OpenDP's map of its noisy maximum.
        """
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
        """The answer, charged first; a read that fails afterwards stays charged."""
        rows = self._ledger.terms.max_rows_per_person
        cost = Fraction(measurement.map(rows))
        event = Event(kind, clique, scale, moves * rows, cost, candidates=candidates)
        self._ledger = self._ledger.charged(event)
        self._record(event)
        try:
            with uninterrupted():
                return self._filter(measurement)
        except Exception:  # its message could show a count
            problem = CutsError([core_failed()])
        raise problem  # outside of `except`, so that it does not carry the first exception along

    def _count(self, counts: Secret[Marginals], query: Query) -> IntArray:
        if query not in self._tables:
            self._tables[query] = Secret(grouped(reveal(counts).table(query.clique), query))
        return reveal(self._tables[query])


def count_rows(
    rows: PrivateRows, codec: Codec, cliques: Sequence[Clique], *, person: str | None, max_rows: int
) -> Secret[Marginals]:
    """The counts of private rows, with at most `max_rows` of each person if a column identifies persons.

    The first rows of a person are kept, whatever other persons have. Rows without a person, or with a cell that fits
    no bin, are left out.
    """
    if isinstance(rows, PrivateRowsInPlace):
        return Secret(rows.count(codec, cliques, person, max_rows))
    counter = Counter(codec, cliques)
    names = [bins.column.name for bins in codec.columns]
    seen: dict[str, int] = {}
    for block in rows.blocks([*names, *([] if person is None else [person])]):
        codes, kept = encode_cells(block, codec)
        if person is not None:
            kept = kept & _first_rows(block, person, seen, max_rows)
        rows_kept = np.flatnonzero(kept)
        counter.add({name: values[rows_kept] for name, values in codes.items()}, len(rows_kept))
    return Secret(counter.counts())


def count_values(
    rows: PrivateRows, columns: Sequence[str], *, person: str | None, max_rows: int
) -> Mapping[str, Secret[dict[str, int]]]:
    """How often each text occurs in some columns, with at most `max_rows` rows per person; only for `discover`."""
    if isinstance(rows, PrivateRowsInPlace):
        return {name: Secret(counts) for name, counts in rows.count_values(columns, person, max_rows).items()}
    texts: dict[str, dict[str, int]] = {name: {} for name in columns}
    seen: dict[str, int] = {}
    for block in rows.blocks([*columns, *([] if person is None else [person])]):
        kept = np.ones(block.rows, dtype=np.bool_) if person is None else _first_rows(block, person, seen, max_rows)
        for name, counts in texts.items():
            for text, is_kept in zip(cell_texts(block.column(name)), kept.tolist(), strict=True):
                bare = (text or "").strip()
                if is_kept and bare and "\0" not in bare:  # OpenDP would cut a text short there
                    counts[bare] = counts.get(bare, 0) + 1
    return {name: Secret(counts) for name, counts in texts.items()}


def discover(
    counts: Secret[dict[str, int]], column: str, ledger: ReleaseLedger, scale: float, delta: float, record: Record
) -> tuple[tuple[str, ...], ReleaseLedger]:
    """The texts of a column whose noisy count reaches a threshold, sorted; and the ledger with their cost.

    Which texts occur is itself private: a text that only one unit has passes with probability `delta` at most. The
    counts are dropped.
    """
    rows, replaces = ledger.terms.max_rows_per_person, ledger.terms.relation == "replace"
    moves = (2 * rows, math.ceil(math.sqrt(2.0) * rows), rows) if replaces else (rows, rows, rows)
    measurement, threshold, cost, risk = _threshold(scale, delta, moves)
    distance = rows * math.nextafter(math.sqrt(2.0), 0.0) if replaces else float(rows)
    event = Event("discover", (column,), scale, distance, Fraction(cost), risk, threshold=threshold)
    ledger = ledger.charged(event)
    record(event)
    try:
        with uninterrupted():
            return tuple(sorted(measurement(reveal(counts)))), ledger
    except Exception:  # its message could show a text
        problem = CutsError([core_failed()])
    finally:
        forget(counts)
    raise problem


def _threshold(scale: float, delta: float, moves: tuple[int, int, int]) -> tuple[Any, int, float, float]:
    """The measurement with the lowest threshold, in steps of half the noise, whose risk is at most `delta`.

    With that threshold, its cost in rho, and its risk: the probability that a text of one unit alone passes. OpenDP
    prices a noisy count above the threshold but releases one equal to it as well (its issue 2922), so the risk is that
    of a threshold lower by one: discrete Gaussian noise reaches m with at most the probability that continuous noise
    reaches m - 1 (Canonne, Kamath and Steinke 2020).
    """
    enable()
    space = domains.map_domain(domains.atom_domain(T=str), domains.atom_domain(T="i32"))
    metric = metrics.l02inf_distance(metrics.absolute_distance(T="i32"))

    def above(threshold: int) -> Any:
        return measurements.make_gaussian_threshold(space, metric, scale=scale, threshold=threshold)

    steps = 2
    while True:
        threshold = moves[2] + math.ceil(steps * scale / 2)
        if threshold > MAX_THRESHOLD:
            raise CutsError([too_little_delta()])
        _, risk = above(threshold - 1).map(moves)
        if risk <= delta:
            measurement = above(threshold)
            cost, _ = measurement.map(moves)
            return measurement, threshold, cost, risk
        steps += 1


def _first_rows(block: Table, person: str, seen: dict[str, int], max_rows: int) -> Bools:
    """Which rows are among the first `max_rows` of their person; a row without a readable person is not."""
    kept = np.zeros(block.rows, dtype=np.bool_)
    for index, key in enumerate(cell_texts(block.column(person))):
        if key is not None and "\ufffd" not in key:  # several unreadable texts look the same
            seen[key] = seen.get(key, 0) + 1
            kept[index] = seen[key] <= max_rows
    return kept


def too_little_delta() -> Diagnostic:
    """A domain budget with which no category could ever be discovered; nothing was read for it."""
    return Diagnostic(
        "nothing-found",
        "the domain budget is too small to discover any category",
        help="raise `domain_budget`, EPSILON or DELTA, or declare the categories in the schema",
        exit_code=INFEASIBLE,
    )


def core_failed() -> Diagnostic:
    """A read that failed; the reason is withheld, because it could depend on the rows."""
    return Diagnostic(
        "core-failed",
        "a private read failed and stays charged; the reason is withheld, because it could depend on the rows",
        help="no output was written; run the program again, and report this if it happens twice",
        exit_code=PRIVACY,
    )


def _vector() -> Any:
    return domains.vector_domain(domains.atom_domain(T="i64"))
