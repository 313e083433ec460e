"""Bugs put into the real code, one line each: every one is noticed by a check that the code without it passes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from types import ModuleType
from unittest.mock import patch

import pyarrow as pa
import pytest

from cuts.data.codec import build_codec
from cuts.data.schema import Category, Integer, Schema
from cuts.data.table import IntArray, Table
from cuts.privacy import core, domain, ledger, ledger_chain, ledger_file, secret, transcript, units
from cuts.privacy.accountant import below, epsilon_of, rho_of
from cuts.privacy.ledger import Event, ReleaseLedger, Terms
from cuts.privacy.ledger_file import Limit
from cuts.privacy.query import fine
from cuts.privacy.reading import cells_of
from cuts.privacy.units import Spending, Unit
from cuts.text.diagnostic import CutsError
from privacy.mutants import Mutant
from privacy.people import PEOPLE, counts_of, draw_people, open_core, opened, plentiful, sizes_of, uniform, workload_of
from privacy.twin import event

Check = Callable[[ModuleType, Path], None]


@dataclass(frozen=True)
class Blocks:
    """Private rows in blocks, as a long file has them."""

    tables: Sequence[pa.Table]

    def blocks(self, names: Sequence[str]) -> Iterator[Table]:
        return (Table(table.select(list(dict.fromkeys(names)))) for table in self.tables)


VISITS = Blocks([pa.table({"who": ["p", "p", "q"], "city": ["oslo", "oslo", "rome"]})] * 3)


# --- counting


def check_rows_of_a_person_are_limited_over_all_blocks(module: ModuleType, _: Path) -> None:
    texts = secret.reveal(module.count_values(VISITS, ["city"], person="who", max_rows=2)["city"])
    assert texts == {"oslo": 2, "rome": 2}, "a person counts again in every block"
    codec = build_codec(Schema("visits", (Category("city", ("oslo", "rome")),)), {})
    counts = secret.reveal(module.count_rows(VISITS, codec, [("city",)], person="who", max_rows=2))
    assert counts.table(("city",)).tolist() == [2, 2], "a person counts again in every block"


def check_counts_are_dropped(module: ModuleType, _: Path) -> None:
    counts = secret.Secret(counts_of(draw_people(50, 1)))
    with module.Core(counts, plentiful()) as opened_core:
        opened_core.measure(fine(("a",), sizes_of(PEOPLE)), 20.0)
    texts = secret.Secret({"oslo": 400})
    module.discover(texts, "city", plentiful(), 10.0, 1e-10, lambda _: None)
    for each in (counts, texts, *opened_core._tables.values()):
        assert secret.reveal(each) is None, "true counts stay in memory"


# --- discovering


def found(module: ModuleType, rows: object, inferred: Schema, ledger_: ReleaseLedger) -> tuple[Schema, ReleaseLedger]:
    result = module.discover_domain(rows, inferred, ledger_, rho=0.1 * float(ledger_.rho), record=lambda _: None)
    assert isinstance(result, tuple)
    return result


def with_discovery(epsilon: float, delta: float, share: float) -> ReleaseLedger:
    """A ledger whose budget sets a share of delta apart."""
    part = Fraction(delta * share)
    return ReleaseLedger(Terms(epsilon, delta), Fraction(rho_of(epsilon, below(Fraction(delta) - part))), part)


CITIES = Schema("cities", tuple(Category(name, ("?",)) for name in "abc"), provenance="inferred")


def check_delta_is_divided_among_columns(module: ModuleType, _: Path) -> None:
    """With risks as large as they may be, all columns together spend the delta set apart for them and no more."""
    rows = cells_of(pa.table({name: ["oslo"] * 5_000 for name in "abc"}))
    asked: list[float] = []

    def at_its_bound(
        counts: object, column: str, before: ReleaseLedger, scale: float, delta: float, _: object
    ) -> object:
        asked.append(delta)
        return ("oslo",), before

    with patch.object(module, "discover", at_its_bound):
        found(module, rows, CITIES, with_discovery(10.0, 1e-6, 0.1))
    assert len(asked) == 3
    assert sum(map(Fraction, asked)) <= Fraction(1e-6 * 0.1), "more delta is asked for than there is"
    assert sum(asked) > 0.99e-7


def check_ranges_ignore_the_inferred_ones(module: ModuleType, _: Path) -> None:
    """Whatever minimum and maximum stand in an inferred schema, the same answers give the same range."""
    rows = cells_of(pa.table({"age": [20] * 3_000 + [37] * 3_000 + [61] * 3_000}))
    schemas = [Schema("t", (Integer("age", *ends),), provenance="inferred") for ends in ((20, 61), (0, 64), (-9, 999))]

    def exact(self: object, query: object, sigma: float) -> IntArray:
        return self._count(self._counts, query)  # type: ignore[attr-defined, no-any-return]

    with patch.object(core.Core, "measure", exact):
        ranges = {
            (each["age"].low, each["age"].high) for each, _ in (found(module, rows, s, plentiful()) for s in schemas)
        }
    assert len(ranges) == 1, f"what was inferred reaches the schema: {ranges}"


# --- charging


def check_delta_is_refused_beyond_its_budget(module: ModuleType, _: Path) -> None:
    budget = module.ReleaseLedger(Terms(1.0, 1e-6), Fraction(1, 100), Fraction(1e-7))
    read = Event("discover", ("a",), 100.0, 1.0, Fraction(1, 20_000), 0.6e-7)
    budget = budget.charged(read)
    refused(lambda: budget.charged(read), "more delta is spent than was set apart")
    refused(
        lambda: module.ReleaseLedger(Terms(1.0, 1e-6), Fraction(1, 100)).charged(read), "delta that nobody set apart"
    )


def check_a_budget_keeps_its_promise(module: ModuleType, _: Path) -> None:
    terms = Terms(1.0, 1e-6)
    rho = Fraction(rho_of(1.0, 1e-6))
    module.ReleaseLedger(terms, rho)
    for more, part in ((rho * Fraction(101, 100), Fraction(0)), (rho, Fraction(1e-6) / 2), (rho, Fraction(1e-6))):
        refused(lambda more=more, part=part: module.ReleaseLedger(terms, more, part), "the promise does not cover it")


def refused(act: Callable[[], object], otherwise: str) -> None:
    """Raise an assertion unless something ends with an error of ours."""
    try:
        act()
    except (CutsError, ValueError):
        return
    raise AssertionError(otherwise)


# --- adding up


def check_larger_units_cost_more(module: ModuleType, _: Path) -> None:
    """The total of a release for a larger unit is what the core charges for that unit with the same noise."""
    for small, large in (
        (Unit(1), Unit(3, "id")),
        (Unit(2), Unit(6)),
        (Unit(1), Unit(1, None, "replace")),
        (Unit(4, "id"), Unit(1, "id", "replace")),
    ):
        spent = [Spending(unit, 1, Fraction(1, 8), 1e-9) for unit in (small, large)]
        steps = 1 if small.person is not None else large.max_rows_per_person // small.max_rows_per_person
        steps *= 2 if large.relation != small.relation else 1
        total = module.total(spent)
        assert total.spent.rho == Fraction(1, 8) * (steps**2 + 1), f"{small} for {large} is too cheap"


def check_units_without_a_bound_are_not_added(module: ModuleType, _: Path) -> None:
    persons = [Spending(Unit(2, name), 1, Fraction(1, 8), 1e-9) for name in ("id", "household")]
    assert module.total(persons) is None, "persons of different columns were added up"
    discovered = Spending(Unit(), 1, Fraction(1, 8), 1e-9, Fraction(1, 10**10))
    assert module.total([discovered, persons[0]]) is None, "delta of a group is not delta"
    assert module.total([discovered, discovered]).spent.discovery_delta == Fraction(2, 10**10)


# --- the ledger file


def check_limit_is_at_the_smallest_delta(module: ModuleType, folder: Path) -> None:
    file = module.LedgerFile(folder / "delta.jsonl")
    strict = opened(1.0, 1e-9)
    entry = file.open("data", strict, "schema", limit=Limit(1.0))
    entry.record(event("measure", 6.0, 1.0, ("a",)))
    refused(lambda: file.open("data", opened(0.9, 0.5), "schema", limit=Limit(1.0)), "a laxer delta passes the limit")


def check_a_charge_needs_its_release(module: ModuleType, folder: Path) -> None:
    file = module.LedgerFile(folder / "gone.jsonl")
    entry = file.open("data", opened(), "schema", limit=Limit(5.0))
    file.path.unlink()
    ledger_chain.head_path(file.path).unlink()
    refused(lambda: entry.record(event("measure", 20.0, 1.0, ("a",))), "a charge without a release")


def check_lines_cut_off_are_noticed(module: ModuleType, folder: Path) -> None:
    path = folder / "cut.jsonl"
    with module.locked(path, 5.0) as chain:
        chain.append({"type": "begin", "salt": "ab"})
        chain.append({"type": "charge", "release": "r", "rho": "1/2"})
    path.write_bytes(path.read_bytes().splitlines(keepends=True)[0])

    def read() -> None:
        with module.locked(path, 5.0):
            pass

    refused(read, "a line was cut off")


def check_earlier_releases_count_while_they_go_on(module: ModuleType, folder: Path) -> None:
    file = module.LedgerFile(folder / "both.jsonl")
    read = event("measure", 6.0, 1.0, ("a",))
    earlier = file.open("data", opened(), "schema")
    entry = file.open("data", opened(), "schema", limit=Limit(epsilon_of(opened().rho * 2, 0.01)))
    for _ in range(8):
        earlier.record(read)
    refused(lambda: [entry.record(read) for _ in range(8)], "another release was not counted")


# --- transcripts


def check_a_forged_promise_is_refused(module: ModuleType, _: Path) -> None:
    from cuts.privacy.adaptive import release

    made = release(open_core(counts_of(draw_people(500, 0)), opened(10.0, 1e-6)), PEOPLE, workload_of(PEOPLE), uniform)
    module.transcript_from(json.loads(transcript.render(made)))
    for change in (_cheaper_selection, _inferred_schema):
        data = json.loads(transcript.render(made))
        change(data)
        refused(lambda data=data: module.transcript_from(data), "a forged transcript was read")


def _cheaper_selection(data: dict[str, object]) -> None:
    events = data["ledger"]["events"]  # type: ignore[index, call-overload]
    choice = next(each for each in events if each["type"] == "select")
    choice["sensitivity"] = 1024.0
    choice["rho"] = str(Fraction(1024) ** 2 / (2 * Fraction(choice["scale"]) ** 2))


def _inferred_schema(data: dict[str, object]) -> None:
    data["codec"]["schema"]["provenance"] = "inferred"  # type: ignore[index, call-overload]


CHECKS: dict[Check, ModuleType] = {
    check_rows_of_a_person_are_limited_over_all_blocks: core,
    check_counts_are_dropped: core,
    check_delta_is_divided_among_columns: domain,
    check_ranges_ignore_the_inferred_ones: domain,
    check_delta_is_refused_beyond_its_budget: ledger,
    check_a_budget_keeps_its_promise: ledger,
    check_larger_units_cost_more: units,
    check_units_without_a_bound_are_not_added: units,
    check_limit_is_at_the_smallest_delta: ledger_file,
    check_a_charge_needs_its_release: ledger_file,
    check_earlier_releases_count_while_they_go_on: ledger_file,
    check_lines_cut_off_are_noticed: ledger_chain,
    check_a_forged_promise_is_refused: transcript,
}

_TEXTS = (
    "    seen: dict[str, int] = {}\n    for block in rows.blocks([*columns, *([] if person is None else [person])]):\n"
)
_ROWS = (
    "    seen: dict[str, int] = {}\n    for block in rows.blocks([*names, *([] if person is None else [person])]):\n"
)

MUTANTS: list[tuple[Mutant, Check]] = [
    (
        Mutant(
            "rows per person limited in each block, when texts are counted",
            "cuts.privacy.core",
            _TEXTS,
            f"{_TEXTS}        seen = {{}}\n",
        ),
        check_rows_of_a_person_are_limited_over_all_blocks,
    ),
    (
        Mutant(
            "rows per person limited in each block, when rows are counted",
            "cuts.privacy.core",
            _ROWS,
            f"{_ROWS}        seen = {{}}\n",
        ),
        check_rows_of_a_person_are_limited_over_all_blocks,
    ),
    (
        Mutant("the core keeps its counts", "cuts.privacy.core", "        forget(self._counts)\n", ""),
        check_counts_are_dropped,
    ),
    (
        Mutant("counts of texts are kept", "cuts.privacy.core", "        forget(counts)\n", "        pass\n"),
        check_counts_are_dropped,
    ),
    (
        Mutant(
            "every column discovered with all of the delta",
            "cuts.privacy.domain",
            "below(ledger.discovery_delta / len(texts))",
            "below(ledger.discovery_delta)",
        ),
        check_delta_is_divided_among_columns,
    ),
    (
        Mutant(
            "a discovered range clipped to the real minimum and maximum",
            "cuts.privacy.domain",
            "    return replace(column, bins=bins, binning=before.binning, missing=True)",
            "    column = replace(column, low=max(column.low, before.low), high=min(column.high, before.high))\n"
            "    return replace(column, bins=bins, binning=before.binning, missing=True)",
        ),
        check_ranges_ignore_the_inferred_ones,
    ),
    (
        Mutant(
            "delta is not enforced",
            "cuts.privacy.ledger",
            " or Fraction(event.delta) > self.discovery_delta - self.delta_spent",
            "",
        ),
        check_delta_is_refused_beyond_its_budget,
    ),
    (
        Mutant(
            "delta of a single read is compared with all that was set apart",
            "cuts.privacy.ledger",
            "self.discovery_delta - self.delta_spent:",
            "self.discovery_delta:",
        ),
        check_delta_is_refused_beyond_its_budget,
    ),
    (
        Mutant(
            "the budget is not compared with the promise",
            "cuts.privacy.ledger",
            "        if left <= 0 or delta_of(above(self._spendable), epsilon) > left:",
            "        if left <= 0:",
        ),
        check_a_budget_keeps_its_promise,
    ),
    (
        Mutant(
            "all of delta converts rho, whatever discovery takes",
            "cuts.privacy.ledger",
            "below(Fraction(self.terms.delta) - self.discovery_delta)",
            "self.terms.delta",
        ),
        check_a_budget_keeps_its_promise,
    ),
    (
        Mutant(
            "groups cost in proportion to their size",
            "cuts.privacy.units",
            "steps**2 * spending.rho",
            "steps * spending.rho",
        ),
        check_larger_units_cost_more,
    ),
    (
        Mutant("units are added as if they were one", "cuts.privacy.units", "steps**2 * ", ""),
        check_larger_units_cost_more,
    ),
    (
        Mutant("replacing a unit is one step", "cuts.privacy.units", "return rows * (2 if", "return rows * (1 if"),
        check_larger_units_cost_more,
    ),
    (
        Mutant(
            "any persons are the same persons", "cuts.privacy.units", "if len(persons) > 1:", "if len(persons) > 2:"
        ),
        check_units_without_a_bound_are_not_added,
    ),
    (
        Mutant(
            "delta of groups is that of single units",
            "cuts.privacy.units",
            "if steps > 1 and spending.discovery_delta:",
            "if steps > 9:",
        ),
        check_units_without_a_bound_are_not_added,
    ),
    (
        Mutant(
            "the limit is checked at the delta of the newest release",
            "cuts.privacy.ledger_file",
            "delta = after.spent.delta if limit.delta is None",
            "delta = more.delta if limit.delta is None",
        ),
        check_limit_is_at_the_smallest_delta,
    ),
    (
        Mutant(
            "a charge is written without looking for its release",
            "cuts.privacy.ledger_file",
            "if not isinstance(opening, Opening) or opening.release != entry.release:",
            "if opening == 0:",
        ),
        check_a_charge_needs_its_release,
    ),
    (
        Mutant(
            "releases that opened before this one are not counted any more",
            "cuts.privacy.ledger_file",
            "_spending(chain.lines, entry.data, entry.others)",
            "_spending(chain.lines, entry.data)",
        ),
        check_earlier_releases_count_while_they_go_on,
    ),
    (
        Mutant(
            "the head is not compared",
            "cuts.privacy.ledger_chain",
            "if head is not None and hashes.get(head.lines) != head.hash:",
            "if head is None and False:",
        ),
        check_lines_cut_off_are_noticed,
    ),
    (
        Mutant(
            "weights of selected tables are not looked at",
            "cuts.privacy.transcript",
            "min_sensitivity = float(rows * GRID * weight * ",
            "min_sensitivity = float(rows * GRID * ",
        ),
        check_a_forged_promise_is_refused,
    ),
    (
        Mutant(
            "where a schema comes from is not looked at",
            "cuts.privacy.transcript",
            "    _check_schema(transcript)\n",
            "",
        ),
        check_a_forged_promise_is_refused,
    ),
]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_the_real_code_passes(check: Check, tmp_path: Path) -> None:
    check(CHECKS[check], tmp_path)


@pytest.mark.parametrize(("mutant", "check"), MUTANTS, ids=[mutant.name for mutant, _ in MUTANTS])
def test_a_bug_is_noticed(mutant: Mutant, check: Check, tmp_path: Path) -> None:
    with pytest.raises(AssertionError):
        check(mutant.load(), tmp_path)
