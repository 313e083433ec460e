"""The ledger file: what is spent on the same data adds up, and nothing makes it less."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from cuts.privacy.accountant import below, epsilon_of, rho_of
from cuts.privacy.adaptive import release
from cuts.privacy.core import Core
from cuts.privacy.ledger import Event, ReleaseLedger, Terms
from cuts.privacy.ledger_chain import head_path
from cuts.privacy.ledger_file import DataSpending, Entry, LedgerFile, Limit, default_ledger_file
from cuts.privacy.query import fine
from cuts.privacy.secret import Secret
from cuts.privacy.units import Total
from cuts.text.diagnostic import PRIVACY, CutsError
from privacy.people import PEOPLE, counts_of, draw_people, opened, sizes_of, total_rho, uniform, workload_of
from privacy.twin import event

ENVIRONMENT = {"PYTHONPATH": os.pathsep.join(sys.path)}  # of other processes


@pytest.fixture
def ledger_file(tmp_path: Path) -> LedgerFile:
    return LedgerFile(tmp_path / "state" / "ledger.jsonl")


def spend(entry: Entry, ledger: ReleaseLedger, share: Fraction, parts: int = 4) -> Fraction:
    """Record reads that cost that share of a budget; what they came to."""
    spent = Fraction(0)
    for _ in range(parts):
        cost = ledger.rho * share / parts
        scale = float(1 / (2 * cost)) ** 0.5 * (1 + 1e-9)
        entry.record(Event("measure", ("a",), scale, 1.0, cost))
        spent += cost
    return spent


def total_of(spending: DataSpending) -> Total:
    assert spending.total is not None
    return spending.total


def code_of(raised: pytest.ExceptionInfo[CutsError]) -> str:
    return raised.value.diagnostics[0].code


def refusal(act: Callable[[], object]) -> str | None:
    """The code of the error something ends with, if any."""
    try:
        act()
    except CutsError as error:
        return error.diagnostics[0].code
    return None


# --- adding up


def test_releases_of_the_same_data_add_up(ledger_file: LedgerFile) -> None:
    spent = Fraction(0)
    for number in range(3):
        entry = ledger_file.open("patients", opened(), "schema")
        assert (entry.history.releases, total_rho(entry.history.spent)) == (number, spent)
        spent += spend(entry, opened(), Fraction(1, 2))
    (found,) = ledger_file.spent()
    assert (found.data, found.releases, total_rho(found.by_unit)) == ("patients", 3, spent)
    assert total_of(found).epsilon == epsilon_of(spent, 0.01)


def test_other_data_is_counted_apart(ledger_file: LedgerFile) -> None:
    for data, share in (("patients", Fraction(1, 2)), ("customers", Fraction(1, 3)), ("patients", Fraction(1, 4))):
        spend(ledger_file.open(data, opened(), "schema"), opened(), share)
    rho = opened().rho
    assert [(each.data, each.releases, total_rho(each.by_unit)) for each in ledger_file.spent()] == [
        ("patients", 2, rho * Fraction(3, 4)),
        ("customers", 1, rho * Fraction(1, 3)),
    ]


def test_the_core_writes_every_charge_down_before_it_reads(ledger_file: LedgerFile) -> None:
    entry = ledger_file.open("patients", opened(), "schema")
    core = Core(Secret(counts_of(draw_people(50, 0))), opened(), entry.record)
    for number in range(1, 4):
        core.measure(fine(("a",), sizes_of(PEOPLE)), 20.0)
        (found,) = ledger_file.spent()
        assert total_rho(found.by_unit) == core.ledger.spent
        assert len(core.ledger.events) == number


def test_a_release_and_the_ledger_file_agree_on_its_cost(ledger_file: LedgerFile) -> None:
    entry = ledger_file.open("patients", opened(), "schema")
    core = Core(Secret(counts_of(draw_people(50, 0))), opened(), entry.record)
    transcript = release(core, PEOPLE, workload_of(PEOPLE), uniform)
    (found,) = ledger_file.spent()
    assert total_rho(found.by_unit) == transcript.ledger.spent
    assert total_of(found).epsilon <= 1.0


def test_what_a_crashed_run_spent_counts(ledger_file: LedgerFile) -> None:
    class Crash(Exception):
        pass

    entry = ledger_file.open("patients", opened(), "schema")
    core = Core(Secret(counts_of(draw_people(50, 0))), opened(), entry.record)

    def crashing(measurements: list[object], groups: object, before: object) -> object:
        if before is not None:
            raise Crash
        return uniform(measurements, groups, before)  # type: ignore[arg-type]

    with pytest.raises(Crash):
        release(core, PEOPLE, workload_of(PEOPLE), crashing)  # type: ignore[arg-type, type-var]
    (found,) = ledger_file.spent()
    assert total_rho(found.by_unit) == core.ledger.spent > 0
    assert ledger_file.open("patients", opened(), "schema").history.spent == found.by_unit


def test_a_killed_process_leaves_what_it_spent(ledger_file: LedgerFile) -> None:
    program = """
import os, sys
from pathlib import Path
from cuts.privacy.ledger_file import LedgerFile
from privacy.people import opened
from privacy.twin import event
entry = LedgerFile(Path(sys.argv[1])).open("patients", opened(), "schema")
entry.record(event("measure", 20.0, 1.0, ("a",)))
os._exit(9)
"""
    killed = subprocess.run(
        [sys.executable, "-c", program, str(ledger_file.path)],
        env=ENVIRONMENT,
        check=False,
    )
    assert killed.returncode == 9
    (found,) = ledger_file.spent()
    assert (found.releases, total_rho(found.by_unit)) == (1, Fraction(1, 800))


def test_a_release_that_read_nothing_counts_nothing(ledger_file: LedgerFile) -> None:
    ledger_file.open("patients", opened(), "schema")
    (found,) = ledger_file.spent()
    assert (found.releases, found.by_unit, found.total) == (0, (), None)


def test_the_name_of_the_data_is_not_in_a_model(ledger_file: LedgerFile, tmp_path: Path) -> None:
    one, again = (ledger_file.open("patients", opened(), "schema").history.data for _ in range(2))
    other = ledger_file.open("customers", opened(), "schema").history.data
    elsewhere = LedgerFile(tmp_path / "other.jsonl").open("patients", opened(), "schema").history.data
    assert one == again
    assert len({one, other, elsewhere}) == 3  # each ledger file has a salt of its own
    assert "patients" not in one


@settings(max_examples=20)
@example(data="line\u2028 and \x85 and \x0b line", steps=[Fraction(1, 2), Fraction(1, 4)])
@example(data="a path that is no text \udcff", steps=[Fraction(1, 2)])
@given(data=st.text(min_size=1), steps=st.lists(st.fractions(min_value="1/100", max_value=1), min_size=1, max_size=3))
def test_whatever_data_is_called_its_releases_add_up(
    tmp_path_factory: pytest.TempPathFactory, data: str, steps: list[Fraction]
) -> None:
    ledger_file = LedgerFile(tmp_path_factory.mktemp("ledger") / "ledger.jsonl")
    for share in steps:
        spend(ledger_file.open(data, opened(), "schema"), opened(), share, parts=1)
    (found,) = ledger_file.spent()
    assert (found.data, total_rho(found.by_unit)) == (data, sum(steps, Fraction(0)) * opened().rho)


def test_the_ledger_file_is_where_the_environment_says(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CUTS_LEDGER", str(tmp_path / "mine.jsonl"))
    assert default_ledger_file().path == tmp_path / "mine.jsonl"
    monkeypatch.delenv("CUTS_LEDGER")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    assert default_ledger_file().path == tmp_path / "state" / "cuts" / "ledger.jsonl"


# --- the cap


def test_a_release_beyond_the_cap_is_refused_and_nothing_is_written(ledger_file: LedgerFile) -> None:
    spend(ledger_file.open("patients", opened(), "schema", limit=Limit(1.5)), opened(), Fraction(1))
    before = ledger_file.path.read_bytes()
    with pytest.raises(CutsError) as raised:
        ledger_file.open("patients", opened(), "schema", limit=Limit(1.4))
    assert code_of(raised) == "budget-spent"
    assert raised.value.diagnostics[0].exit_code == PRIVACY
    assert ledger_file.path.read_bytes() == before
    ledger_file.open("customers", opened(), "schema", limit=Limit(1.4))


def test_the_cap_is_on_all_releases_together_in_rho(ledger_file: LedgerFile) -> None:
    # Twice the rho of epsilon 1 is epsilon 1.47 at this delta: less than twice epsilon 1.
    spend(ledger_file.open("patients", opened(), "schema"), opened(), Fraction(1))
    total = epsilon_of(2 * opened().rho, 0.01)
    assert 1.4 < total < 1.6
    ledger_file.open("patients", opened(), "schema", limit=Limit(total))
    with pytest.raises(CutsError):
        ledger_file.open("patients", opened(), "schema", limit=Limit(total - 0.001))


def test_releases_begun_at_once_stay_below_the_cap_together(ledger_file: LedgerFile) -> None:
    most = epsilon_of(opened().rho * Fraction(3, 2), 0.01)  # enough for one of them and a half
    entries: list[Entry] = []
    begin = lambda: entries.append(ledger_file.open("patients", opened(), "schema", limit=Limit(most)))  # noqa: E731
    refused = [refusal(begin), refusal(begin)]
    for _ in range(4):
        refused += [refusal(lambda entry=entry: spend(entry, opened(), Fraction(1, 4), parts=1)) for entry in entries]
    (found,) = ledger_file.spent()
    assert total_of(found).epsilon <= most
    assert set(refused) == {None, "budget-spent"}


@pytest.mark.parametrize("delta", [0.01, 0.5])
def test_a_limit_is_not_passed_by_a_laxer_delta(ledger_file: LedgerFile, delta: float) -> None:
    strict = opened(1.0, 1e-9)
    spend(ledger_file.open("patients", strict, "schema", limit=Limit(1.0)), strict, Fraction(99, 100))
    lax = opened(0.9, delta)
    assert refusal(lambda: ledger_file.open("patients", lax, "schema", limit=Limit(1.0))) == "budget-spent"
    with pytest.raises(CutsError, match="at delta 1e-09"):
        ledger_file.open("patients", lax, "schema", limit=Limit(1.0))


def test_a_limit_may_name_its_delta(ledger_file: LedgerFile) -> None:
    ledger = opened(1.0, 1e-9)
    spend(ledger_file.open("patients", ledger, "schema"), ledger, Fraction(1))
    both = epsilon_of(2 * ledger.rho, 1e-5)
    ledger_file.open("patients", ledger, "schema", limit=Limit(both, 1e-5))
    assert epsilon_of(2 * ledger.rho, 1e-9) > both
    assert refusal(lambda: ledger_file.open("patients", ledger, "schema", limit=Limit(both))) == "budget-spent"


def test_delta_spent_on_discovery_is_part_of_the_delta_of_a_limit(ledger_file: LedgerFile) -> None:
    share = Fraction(0.01) / 10
    ledger = ReleaseLedger(Terms(1.0, 0.01), Fraction(rho_of(1.0, below(Fraction(0.01) - share))), share)
    entry = ledger_file.open("patients", ledger, "schema", limit=Limit(1.0))
    found = Event("discover", ("a",), 100.0, 1.0, Fraction(1, 20_000), below(share))
    entry.record(found)
    assert refusal(lambda: entry.record(replace(found, delta=0.01))) == "budget-spent"
    assert total_of(ledger_file.spent()[0]).delta == 0.01
    assert refusal(lambda: ledger_file.open("patients", ledger, "schema", limit=Limit(99.0, 1e-3))) == "budget-spent"


def test_names_of_data_that_differ_in_blanks_are_one(ledger_file: LedgerFile) -> None:
    spend(ledger_file.open(" patients", opened(), "schema"), opened(), Fraction(1, 2))
    assert ledger_file.open("patients ", opened(), "schema").history.releases == 1
    assert refusal(lambda: ledger_file.open("  ", opened(), "schema")) == "bad-setting"


# --- units


def test_a_release_of_single_rows_costs_a_person_more(ledger_file: LedgerFile) -> None:
    row, person = opened(1.0, 1e-9), opened(1.0, 1e-9, max_rows_per_person=3, person="id")
    for ledger in (row, person):
        spend(ledger_file.open("patients", ledger, "schema"), ledger, Fraction(1))
    total = total_of(ledger_file.spent()[0])
    assert total.spent.rho == 9 * row.rho + person.rho
    assert round(total.epsilon, 2) == 3.37
    assert total.unit_in_words == "one person (`id`) with at most 3 rows (assumed, not enforced)"


def test_a_limit_counts_earlier_releases_at_what_they_cost_the_larger_unit(ledger_file: LedgerFile) -> None:
    row, person = opened(1.0, 1e-9), opened(1.0, 1e-9, max_rows_per_person=3, person="id")
    spend(ledger_file.open("patients", row, "schema"), row, Fraction(1))
    assert refusal(lambda: ledger_file.open("patients", person, "schema", limit=Limit(3.3))) == "budget-spent"
    ledger_file.open("patients", person, "schema", limit=Limit(3.4))


def test_a_row_release_assumes_something_about_persons_with_one_row_too(ledger_file: LedgerFile) -> None:
    for ledger in (opened(), opened(max_rows_per_person=1, person="id")):
        spend(ledger_file.open("patients", ledger, "schema"), ledger, Fraction(1))
    assert total_of(ledger_file.spent()[0]).unit_in_words.endswith("(assumed, not enforced)")


@pytest.mark.parametrize("rows", [300, 10**6])
def test_a_total_of_very_many_rows_is_still_a_number(ledger_file: LedgerFile, rows: int) -> None:
    row, person = opened(10.0, 1e-9), opened(10.0, 1e-9, max_rows_per_person=rows, person="id")
    for ledger in (row, person):
        spend(ledger_file.open("patients", ledger, "schema"), ledger, Fraction(1, 2))
    total = total_of(ledger_file.spent()[0])
    assert total.spent.rho < total.epsilon < float("inf")
    assert refusal(lambda: ledger_file.open("patients", person, "schema", limit=Limit(100.0))) == "budget-spent"


@pytest.mark.parametrize("limit", [(float("nan"), None), (-1.0, None), (1.0, 0.0), (1.0, 1.0), (1.0, float("nan"))])
def test_a_limit_that_is_none_is_refused(limit: tuple[float, float | None]) -> None:
    with pytest.raises(ValueError, match="a limit"):
        Limit(*limit)


def test_a_limit_on_releases_without_a_common_unit_is_refused(ledger_file: LedgerFile) -> None:
    person, household = (opened(1.0, 1e-9, max_rows_per_person=2, person=name) for name in ("id", "household"))
    spend(ledger_file.open("patients", person, "schema"), person, Fraction(1))
    with pytest.raises(CutsError, match="cannot be added up"):
        ledger_file.open("patients", household, "schema", limit=Limit(100.0))
    spend(ledger_file.open("patients", household, "schema"), household, Fraction(1))
    (found,) = ledger_file.spent()
    assert found.total is None
    assert [each.unit.person for each in found.by_unit] == ["id", "household"]


def test_a_laxer_delta_does_not_hide_what_stricter_releases_spent(ledger_file: LedgerFile) -> None:
    strict = opened(1.0, 1e-9)
    spend(ledger_file.open("patients", strict, "schema"), strict, Fraction(1))
    entry = ledger_file.open("patients", opened(1.0, 0.01), "schema")
    spend(entry, opened(1.0, 0.01), Fraction(1))
    (found,) = ledger_file.spent()
    assert total_rho(found.by_unit) == strict.rho + opened(1.0, 0.01).rho
    assert (total_of(found).delta, total_of(found).epsilon) == (1e-9, epsilon_of(total_rho(found.by_unit), 1e-9))


# --- changes


def lines_of(ledger_file: LedgerFile) -> list[dict[str, Any]]:
    return [json.loads(line) for line in ledger_file.path.read_text().splitlines()]


def write(ledger_file: LedgerFile, lines: list[dict[str, Any]]) -> None:
    ledger_file.path.write_text("".join(json.dumps(line) + "\n" for line in lines))


@pytest.fixture
def filled(ledger_file: LedgerFile) -> LedgerFile:
    """A ledger file with a begin, two releases and some charges."""
    for share in (Fraction(1, 2), Fraction(1, 4)):
        spend(ledger_file.open("patients", opened(), "schema"), opened(), share)
    return ledger_file


def refuse(ledger_file: LedgerFile) -> None:
    before = ledger_file.path.read_bytes()
    with pytest.raises(CutsError) as raised:
        ledger_file.spent()
    assert code_of(raised) == "bad-ledger"
    with pytest.raises(CutsError) as raised:
        ledger_file.open("patients", opened(), "schema")
    assert code_of(raised) == "bad-ledger"
    assert ledger_file.path.read_bytes() == before


def test_every_line_has_the_hash_of_the_one_before_it(filled: LedgerFile) -> None:
    lines = lines_of(filled)
    assert [line["type"] for line in lines] == ["begin", *["open", *["charge"] * 4] * 2]
    assert lines[0]["prev"] == ""
    assert len({line["prev"] for line in lines}) == len(lines)


@pytest.mark.parametrize("place", range(11))
def test_a_changed_line_is_found(filled: LedgerFile, place: int) -> None:
    lines = lines_of(filled)
    key = {"begin": "salt", "open": "data", "charge": "rho"}[lines[place]["type"]]
    lines[place][key] = "1/1000000" if key == "rho" else "another"
    write(filled, lines)
    refuse(filled)


@pytest.mark.parametrize("place", range(11))
def test_a_line_left_out_is_found(filled: LedgerFile, place: int) -> None:
    lines = lines_of(filled)
    del lines[place]
    write(filled, lines)
    refuse(filled)


@pytest.mark.parametrize("place", range(9))
def test_lines_in_another_order_are_found(filled: LedgerFile, place: int) -> None:
    lines = lines_of(filled)
    lines[place], lines[place + 1] = lines[place + 1], lines[place]
    write(filled, lines)
    refuse(filled)


@pytest.mark.parametrize("place", range(11))
def test_a_line_cut_short_is_found(filled: LedgerFile, place: int) -> None:
    texts = filled.path.read_text().splitlines()
    texts[place] = texts[place][: len(texts[place]) // 2]
    filled.path.write_text("\n".join(texts) + "\n")
    refuse(filled)


@pytest.mark.parametrize("line", ["", "[]", "null", "7", '{"type": "charge"}', '{"prev": ""}', "\x00", '{"prev": {}}'])
def test_a_line_that_is_none_is_found(filled: LedgerFile, line: str) -> None:
    with filled.path.open("a") as stream:
        stream.write(line + "\n")
    refuse(filled)


@pytest.mark.parametrize("line", ['{"prev": ""}', '{"prev": "", "type": "open"}', '{"prev": "", "type": "charge"}'])
def test_a_first_line_that_lacks_what_it_needs_is_found(ledger_file: LedgerFile, line: str) -> None:
    ledger_file.path.parent.mkdir(parents=True)
    ledger_file.path.write_text(line + "\n")
    refuse(ledger_file)


def test_bytes_that_are_no_text_are_found(filled: LedgerFile) -> None:
    filled.path.write_bytes(filled.path.read_bytes() + b"\xff\xfe\n")
    refuse(filled)


def test_a_ledger_file_without_its_last_line_end_is_refused_or_goes_on(filled: LedgerFile) -> None:
    filled.path.write_text(filled.path.read_text().rstrip("\n"))
    before = filled.path.read_text()
    if refusal(lambda: spend(filled.open("patients", opened(), "schema"), opened(), Fraction(1, 8))) is None:
        (found,) = filled.spent()
        assert total_rho(found.by_unit) == Fraction(7, 8) * opened().rho
    else:
        assert filled.path.read_text() == before


@pytest.mark.parametrize("kept", range(11))
def test_lines_cut_off_at_the_end_are_found(filled: LedgerFile, kept: int) -> None:
    write(filled, lines_of(filled)[:kept])
    refuse(filled)


def test_a_ledger_file_that_is_gone_is_found(filled: LedgerFile) -> None:
    filled.path.unlink()
    for act in (filled.spent, lambda: filled.open("patients", opened(), "schema")):
        with pytest.raises(CutsError, match="0 of the 11 lines"):
            act()
    assert not filled.path.exists()


@pytest.mark.parametrize("text", ["", "{}", '{"lines": -1, "hash": ""}', '{"lines": 11, "hash": "other"}', "\x00"])
def test_a_changed_head_is_found(filled: LedgerFile, text: str) -> None:
    head_path(filled.path).write_text(text)
    refuse(filled)


def test_a_crash_between_a_line_and_the_head_loses_nothing(filled: LedgerFile) -> None:
    head = head_path(filled.path).read_text()
    spend(filled.open("patients", opened(), "schema"), opened(), Fraction(1, 8), parts=1)
    head_path(filled.path).write_text(head)
    (found,) = filled.spent()
    assert total_rho(found.by_unit) == Fraction(7, 8) * opened().rho
    filled.open("patients", opened(), "schema")
    assert json.loads(head_path(filled.path).read_text())["lines"] == 14


def test_a_ledger_of_an_earlier_version_has_no_head_and_gets_one(filled: LedgerFile) -> None:
    head_path(filled.path).unlink()
    filled.open("patients", opened(), "schema")
    assert json.loads(head_path(filled.path).read_text())["lines"] == 12


# --- a ledger that changes while a release runs


def _remove(ledger_file: LedgerFile) -> None:
    ledger_file.path.unlink()


def _remove_with_head(ledger_file: LedgerFile) -> None:
    ledger_file.path.unlink()
    head_path(ledger_file.path).unlink()


def _start_another(ledger_file: LedgerFile) -> None:
    _remove_with_head(ledger_file)
    spend(ledger_file.open("patients", opened(), "schema"), opened(), Fraction(1, 8))


def _cut_off_the_release(ledger_file: LedgerFile) -> None:
    write(ledger_file, lines_of(ledger_file)[:1])
    head_path(ledger_file.path).unlink()


@pytest.mark.parametrize("change", [_remove, _remove_with_head, _start_another, _cut_off_the_release])
@pytest.mark.parametrize("limit", [None, Limit(10.0)])
def test_a_release_that_is_no_longer_in_the_ledger_cannot_be_charged(
    ledger_file: LedgerFile, change: Callable[[LedgerFile], None], limit: Limit | None
) -> None:
    entry = ledger_file.open("patients", opened(), "schema", limit=limit)
    entry.record(event("measure", 20.0, 1.0, ("a",)))
    change(ledger_file)
    before = ledger_file.path.read_bytes() if ledger_file.path.exists() else None
    with pytest.raises(CutsError) as raised:
        entry.record(event("measure", 20.0, 1.0, ("a",)))
    assert code_of(raised) == "bad-ledger"
    assert (ledger_file.path.read_bytes() if ledger_file.path.exists() else None) == before


def test_what_earlier_and_later_releases_spend_meanwhile_counts_towards_a_limit(ledger_file: LedgerFile) -> None:
    ledger = opened()
    earlier = ledger_file.open("patients", ledger, "schema")
    entry = ledger_file.open("patients", ledger, "schema", limit=Limit(epsilon_of(2 * ledger.rho, 0.01)))
    later = ledger_file.open("patients", ledger, "schema")
    for other in (earlier, later):
        spend(other, ledger, Fraction(1, 2))
    spend(entry, ledger, Fraction(1, 2))
    for other in (earlier, later):
        spend(other, ledger, Fraction(1, 4))
    assert refusal(lambda: spend(entry, ledger, Fraction(1, 4), parts=1)) == "budget-spent"


def test_a_message_about_a_bad_ledger_file_says_where(filled: LedgerFile) -> None:
    lines = lines_of(filled)
    lines[4]["rho"] = "0"
    write(filled, lines)
    with pytest.raises(CutsError, match="line 5"):
        filled.spent()


def test_a_folder_that_cannot_be_written_to_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CutsError):
        LedgerFile(tmp_path / "file" / "ledger.jsonl").open("patients", opened(), "schema")


# --- several at once


def test_processes_that_write_at_once_lose_nothing(ledger_file: LedgerFile) -> None:
    program = """
import sys
from pathlib import Path
from cuts.privacy.ledger_file import LedgerFile
from privacy.people import opened
from privacy.twin import event
entry = LedgerFile(Path(sys.argv[1])).open("patients", opened(), "schema")
for _ in range(10):
    entry.record(event("measure", 20.0, 1.0, ("a",)))
"""
    command = [sys.executable, "-c", program, str(ledger_file.path)]
    running = [subprocess.Popen(command, env=ENVIRONMENT) for _ in range(2)]
    assert [process.wait(120) for process in running] == [0, 0]
    (found,) = ledger_file.spent()
    assert (found.releases, total_rho(found.by_unit)) == (2, Fraction(20, 800))


def test_two_releases_may_take_turns(ledger_file: LedgerFile) -> None:
    one, other = (ledger_file.open("patients", opened(), "schema") for _ in range(2))
    for _ in range(3):
        one.record(event("measure", 20.0, 1.0, ("a",)))
        other.record(event("select", 4096.0, 1024.0, of=3))
    (found,) = ledger_file.spent()
    assert (found.releases, total_rho(found.by_unit)) == (2, 3 * (Fraction(1, 800) + Fraction(1, 32)))


HOLD = """
import sys
from pathlib import Path
from cuts.privacy.ledger_chain import locked
with locked(Path(sys.argv[1]), 60.0):
    print("held", flush=True)
    sys.stdin.readline()
"""


@contextmanager
def held_by_another_process(path: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that holds the lock of a ledger until a line is sent to it."""
    command = [sys.executable, "-c", HOLD, str(path)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, env=ENVIRONMENT, text=True, **pipes) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        try:
            yield process
        finally:
            process.communicate("go on\n", timeout=60)


def test_a_ledger_in_use_is_refused_after_a_while_and_free_again_when_given_back(ledger_file: LedgerFile) -> None:
    impatient = LedgerFile(ledger_file.path, max_wait=0.05)
    entry = ledger_file.open("patients", opened(), "schema")
    before = ledger_file.path.read_bytes()
    with held_by_another_process(ledger_file.path):
        for act in (
            impatient.spent,
            lambda: impatient.open("patients", opened(), "schema"),
            lambda: impatient.charge(entry, event("measure", 20.0, 1.0, ("a",))),
        ):
            with pytest.raises(CutsError, match=r"in use: another process held its lock for more than 0\.05 seconds"):
                act()
    assert ledger_file.path.read_bytes() == before
    assert [total.data for total in impatient.spent()] == ["patients"]


def test_a_link_to_a_ledger_shares_its_lock(ledger_file: LedgerFile, tmp_path: Path) -> None:
    ledger_file.open("patients", opened(), "schema")
    link = tmp_path / "link.jsonl"
    link.symlink_to(ledger_file.path)
    with held_by_another_process(ledger_file.path), pytest.raises(CutsError, match="in use"):
        LedgerFile(link, max_wait=0.05).open("patients", opened(), "schema")
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["link.jsonl"]  # no second lock file
    assert sorted(path.name for path in ledger_file.path.parent.iterdir()) == [
        "ledger.jsonl",
        "ledger.jsonl.head",
        "ledger.jsonl.lock",
    ]


def test_a_link_to_itself_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "loop.jsonl"
    path.symlink_to(path)
    with pytest.raises(CutsError):
        LedgerFile(path).open("patients", opened(), "schema")


def test_who_waits_long_enough_goes_on_when_the_other_process_is_killed(ledger_file: LedgerFile) -> None:
    with held_by_another_process(ledger_file.path) as process:
        process.kill()
        ledger_file.open("patients", opened(), "schema")
