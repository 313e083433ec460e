"""Private programs from rows to a model, and all that can be done with a transcript afterwards at no further cost.

Noise has no seed, so every bound on a noisy number here is many times its standard error.
"""

from __future__ import annotations

import gc
import json
import math
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone

import models
from cuts.assess.learners import CLASSIFIERS
from cuts.assess.verify import verify
from cuts.config import Config
from cuts.count.survey import MAX_ROWS
from cuts.data.codec import build_codec
from cuts.data.conform import check_table
from cuts.data.exchange.tables import from_frame
from cuts.data.schema import Category, Identifier, Integer, Real, Schema, Temporal
from cuts.data.schema_file import render_toml
from cuts.data.table import Table
from cuts.flow import private
from cuts.flow.release import Account
from cuts.flow.request import FittedModel
from cuts.flow.sample import sample
from cuts.lang.parser import parse
from cuts.model import store
from cuts.model.sampling import sample_table
from cuts.privacy.core import count_rows
from cuts.privacy.ledger import Event
from cuts.privacy.ledger_file import Entry, LedgerFile, Limit
from cuts.privacy.reading import cells_of
from cuts.privacy.secret import Secret, reveal
from cuts.privacy.transcript import Transcript, promise, render, transcript_from
from cuts.progress import Observer
from cuts.synthesizer import Synthesizer
from cuts.text.diagnostic import CutsError
from models import fit_transcript
from privacy.people import total_rho

ROWS = 1_500
SMALL = Config(components=20, steps=80, threads=1)
fit_private = partial(models.fit_private, options=models.QUICK_RELEASE)
SCHEMA = Schema(
    "people",
    (
        Integer("age", 18, 90, 16, binning="uniform"),
        Category("ward", ("surgery", "cardiology", "eye")),
        Category("smokes", ("no", "yes")),
    ),
    "smokes",
)
TERMS = "ENSURE: DIFFERENTIAL PRIVACY: EPSILON=3, DELTA=1e-6"
RULE = "ENFORCE: ward == surgery IMPLIES age >= 40"


def program(*commands: str, terms: str | None = TERMS) -> Any:
    said = "".join(f"{command}; " for command in (*([] if terms is None else [terms]), *commands))
    return parse(f"SYNTHESIZE: people; {said}END;")


def people(rows: int = ROWS, seed: int = 0) -> pa.Table:
    """Older people smoke, and those who smoke are in other wards."""
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 91, rows)
    smokes = rng.random(rows) < np.where(age > 55, 0.8, 0.2)
    ward = np.where(rng.random(rows) < 0.6, np.where(smokes, "cardiology", "eye"), "surgery")
    return pa.table({"age": age, "ward": ward, "smokes": np.where(smokes, "yes", "no")})


@pytest.fixture(scope="module", autouse=True)
def _quick() -> Iterator[None]:
    with models.quick_releases():
        yield


@pytest.fixture
def book(tmp_path: Path) -> LedgerFile:
    return LedgerFile(tmp_path / "ledger.jsonl")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> FittedModel:
    """A release of the people, with a row rule."""
    account = Account(LedgerFile(tmp_path_factory.mktemp("made") / "ledger.jsonl"), "people")
    return fit_private(program(RULE), SCHEMA, cells_of(people()), account, config=SMALL, seed=5)


@pytest.fixture(scope="module")
def transcript(made: FittedModel) -> Transcript:
    assert made.model.transcript is not None
    return made.model.transcript


def released(
    book: LedgerFile,
    rows: Any,
    *commands: str,
    schema: Schema = SCHEMA,
    terms: str = TERMS,
    data: str = "people",
    max_epsilon: float | None = None,
) -> FittedModel:
    account = Account(book, data, None if max_epsilon is None else Limit(max_epsilon))
    return fit_private(
        program(*commands, terms=terms),
        schema,
        cells_of(rows),
        account,
        config=replace(SMALL, steps=30),
        seed=5,
    )


def known(made: FittedModel) -> Transcript:
    assert made.model.transcript is not None
    return made.model.transcript


def drawn(model: store.Model, rows: int | None = None, **options: Any) -> Table:
    return sample_table(model, rows, **options)


def written(model: store.Model, folder: Path, name: str) -> bytes:
    store.save(model, folder / name)
    return (folder / name).read_bytes()


def holds(model: store.Model, table: Table, reference: Table | None = None) -> list[bool | None]:
    return [verdict.holds for verdict in verify(model.spec, table, reference=reference)]


# --- one release


def test_the_budget_is_spent_and_never_more(transcript: Transcript) -> None:
    ledger = transcript.ledger
    assert Fraction(999, 1000) * ledger.rho < ledger.spent <= ledger.rho
    assert ledger.spent == sum(event.cost for event in ledger.events)
    assert 2.9 < ledger.epsilon_spent <= 3.0
    assert (ledger.terms.epsilon, ledger.terms.delta, ledger.delta_spent) == (3.0, 1e-6, 0.0)
    assert len(ledger.events) == len(transcript.answers)
    assert {event.kind for event in ledger.events} == {"measure", "select"}


def test_about_as_many_rows_are_known_of(made: FittedModel) -> None:
    assert abs(made.model.facts.rows - ROWS) < 150
    assert made.model.facts.rows == known(made).rows
    assert made.reference.rows == made.model.facts.rows


def test_the_model_is_near_the_rows(made: FittedModel) -> None:
    free = made.reference  # before the rule was put in place
    for column, value in (("ward", "surgery"), ("ward", "eye"), ("smokes", "yes")):
        truth = np.mean(people().column(column).to_numpy(zero_copy_only=False) == value)
        assert abs(np.mean(np.array(free.column(column).to_pylist()) == value) - truth) < 0.12
    assert abs(np.mean(free.column("age").to_pylist()) - np.mean(people()["age"].to_pylist())) < 6
    rows = free.arrow.to_pylist()
    old, young = ([row["smokes"] == "yes" for row in rows if is_old(row)] for is_old in (
        lambda row: row["age"] > 60, lambda row: row["age"] < 50))  # fmt: skip
    assert np.mean(old) > np.mean(young) + 0.2


def test_rows_can_be_drawn_and_the_rule_holds_in_all(made: FittedModel) -> None:
    table = drawn(made.model)
    assert table.rows == made.model.facts.rows
    assert check_table(table, SCHEMA) == ()
    assert holds(made.model, table) == [None, True]
    old = drawn(made.model, 300, where="age > 61 AND ward == surgery", seed=3)
    assert min(old.column("age").to_pylist()) > 61


def test_a_saved_model_has_its_transcript(made: FittedModel, transcript: Transcript, tmp_path: Path) -> None:
    store.save(made.model, tmp_path / "m.synth")
    loaded = store.load(tmp_path / "m.synth")
    assert loaded.transcript is not None
    assert render(loaded.transcript) == render(transcript)
    assert loaded.transcript.ledger == transcript.ledger
    assert drawn(loaded, 50, seed=1).arrow.equals(drawn(made.model, 50, seed=1).arrow)


def test_a_model_is_made_from_its_transcript_again_to_the_last_byte(made: FittedModel, tmp_path: Path) -> None:
    whole = written(made.model, tmp_path, "m.synth")
    loaded = store.load(tmp_path / "m.synth").transcript
    assert loaded is not None
    again = fit_transcript(program(RULE), loaded, config=SMALL, seed=5)
    assert written(again.model, tmp_path, "again.synth") == whole
    assert again.reference.arrow.equals(made.reference.arrow)
    as_text = transcript_from(json.loads(render(loaded)))
    assert written(fit_transcript(program(RULE), as_text, config=SMALL, seed=5).model, tmp_path, "b.synth") == whole


@pytest.mark.parametrize("changed", ["seed", "program", "config"])
def test_another_seed_program_or_setting_makes_another_model(
    made: FittedModel, transcript: Transcript, tmp_path: Path, changed: str
) -> None:
    seed = 6 if changed == "seed" else 5
    rule = "ENFORCE: ward == surgery IMPLIES age >= 41" if changed == "program" else RULE
    config = replace(SMALL, steps=81) if changed == "config" else SMALL
    other = fit_transcript(program(rule), transcript, config=config, seed=seed)
    assert written(other.model, tmp_path, "other.synth") != written(made.model, tmp_path, "m.synth")
    assert render(known(other)) == render(transcript)


def test_the_same_seed_is_another_release_and_the_book_adds_up(book: LedgerFile) -> None:
    first, second = (known(released(book, people(200))) for _ in range(2))
    assert [a.values.tolist() for a in first.measurements[:3]] != [a.values.tolist() for a in second.measurements[:3]]
    (spent,) = book.spent()
    assert (spent.data, spent.releases) == ("people", 2)
    assert total_rho(spent.by_unit) == first.ledger.spent + second.ledger.spent
    assert spent.total is not None
    assert spent.total.epsilon > 3.5
    assert first.ledger.history.spent == ()
    assert second.ledger.history.spent == (first.ledger.spending,)
    assert first.ledger.history.data == second.ledger.history.data != "people"  # known by a salted hash


def test_seeding_every_generator_does_not_seed_the_noise(book: LedgerFile) -> None:
    import random

    import torch

    seen = []
    for _ in range(2):
        random.seed(1)
        np.random.seed(1)
        torch.manual_seed(1)
        seen.append([each.values.tolist() for each in known(released(book, people(150))).measurements])
    assert seen[0] != seen[1]


def test_more_than_allowed_is_refused_before_the_rows_are_read(book: LedgerFile) -> None:
    class Untouchable:
        def blocks(self, names: Sequence[str]) -> Iterator[Table]:
            raise AssertionError("the rows were read")

    for most in (2.9, 0.0):
        account = Account(book, "people", Limit(most))
        with pytest.raises(CutsError, match="budget-spent") as caught:
            fit_private(program(), SCHEMA, Untouchable(), account, config=SMALL)
        assert caught.value.exit_code == 5
    assert book.spent() == ()
    released(book, people(100), max_epsilon=3.1)
    with pytest.raises(CutsError, match="budget-spent"):
        released(book, people(100), max_epsilon=3.1)
    released(book, people(100), max_epsilon=3.1, data="other people")


@pytest.mark.parametrize(
    ("commands", "code"),
    [
        (["ENFORCE: agee > 3"], "unknown-column"),
        (["ENFORCE: ward == garden"], "unknown-category"),
        (["ENFORCE: age > 50", "ENFORCE: age < 40"], "contradiction"),
        (["ENFORCE: age > <least>"], "open-placeholder"),
        (["ENFORCE: age > 60", "ENFORCE: E[age] == 50"], "unreachable-target"),
    ],
)
def test_a_program_at_fault_costs_nothing(book: LedgerFile, commands: list[str], code: str) -> None:
    with pytest.raises(CutsError, match=code):
        released(book, people(50), *commands)
    assert book.spent() == ()


def test_a_setting_that_cannot_be_used_costs_nothing(book: LedgerFile) -> None:
    for config in (replace(SMALL, backbone="gpt"), replace(SMALL, device="abacus")):
        with pytest.raises(CutsError, match="bad-config"):
            fit_private(program(), SCHEMA, cells_of(people(50)), Account(book, "people"), config=config)
    with pytest.raises(CutsError, match="nothing-to-learn"):
        released(book, people(50), schema=Schema("people", (Identifier("age"),)))
    assert book.spent() == ()


def test_placeholders_are_filled(book: LedgerFile) -> None:
    asked = program("ENFORCE: age >= <least>", terms="ENSURE: EPSILON=<e>, DELTA=1e-6")
    values: dict[str, str | float] = {"least": 60, "e": 2.0}
    found = fit_private(
        asked, SCHEMA, cells_of(people(200)), Account(book, "x"), config=replace(SMALL, steps=20), values=values
    )
    assert known(found).ledger.terms.epsilon == 2.0
    assert min(drawn(found.model, 100).column("age").to_pylist()) >= 60


# --- what a transcript can be used for


def shaped(transcript: Transcript, *commands: str, config: Config = SMALL, **options: Any) -> FittedModel:
    found = fit_transcript(program(*commands, terms=None), transcript, config=config, seed=1, **options)
    assert known(found).ledger == transcript.ledger  # nothing more was spent
    return found


@pytest.mark.parametrize("backbone", ["table", "neural"])
def test_rules_that_cut_bins_apart_hold_in_every_row(transcript: Transcript, backbone: str) -> None:
    config = replace(SMALL, backbone=backbone, backbone_options={"batch": 40} if backbone == "neural" else {}, steps=25)
    found = shaped(
        transcript,
        "ENFORCE: age < 25 IMPLIES smokes == no",
        "ENFORCE: ward == eye IMPLIES age BETWEEN 31 AND 77",
        "ENFORCE: age != 52",
        config=config,
    )
    table = drawn(found.model, 3_000)
    assert holds(found.model, table) == [True, True, True]
    assert found.model.config.backbone == backbone
    edges = known(found).codec["age"].edges  # type: ignore[union-attr]
    assert not {25, 31, 52, 53, 78} & set(edges)  # what was measured has bins on both sides


def test_a_private_release_can_be_made_with_the_neural_backbone(book: LedgerFile) -> None:
    options = {"batch": 20, "final_components": 300}
    config = Config(backbone="neural", backbone_options=options, steps=15, threads=1)
    found = fit_private(program(RULE), SCHEMA, cells_of(people(300)), Account(book, "people"), config=config, seed=2)
    assert known(found).ledger.spent > Fraction(999, 1000) * known(found).ledger.rho
    assert holds(found.model, drawn(found.model, 500)) == [None, True]


def test_statistics_are_met_within_their_tolerance(transcript: Transcript) -> None:
    found = shaped(
        transcript,
        "ENFORCE: E[age] == 50 WITHIN 0.5",
        "ENFORCE: P[age > 33 AND smokes == yes] == 0.3 WITHIN 0.01",
        "ENFORCE: DIST[ward] == {surgery: 50%, *: proportional}",
        RULE,
    )
    table = drawn(found.model, 2_000)
    assert holds(found.model, table) == [True, True, True, True]
    assert abs(np.mean(table.column("age").to_pylist()) - 50) <= 0.5


def test_an_aim_is_pushed_within_its_budget(transcript: Transcript) -> None:
    def spread(found: FittedModel) -> float:
        shares = np.unique(drawn(found.model, 4_000).column("ward").to_pylist(), return_counts=True)[1] / 4_000
        return float(-(shares * np.log(shares)).sum())

    assert spread(shaped(transcript, "MAXIMIZE: H[ward] WITH budget=5%")) > spread(shaped(transcript)) - 0.01
    assert shaped(transcript, "MAXIMIZE: E[age]").model.facts.trade_offs


def test_classifiers_are_steered_on_rows_of_the_private_model(book: LedgerFile) -> None:
    rng = np.random.default_rng(1)
    age, sex = rng.integers(18, 91, ROWS), rng.choice(["f", "m"], ROWS)
    smokes = rng.random(ROWS) < np.where(age > 55, 0.6, 0.2) + np.where(sex == "m", 0.3, 0.0)
    table = pa.table({"age": age, "sex": sex, "smokes": np.where(smokes, "yes", "no")})
    schema = replace(SCHEMA, columns=(SCHEMA["age"], Category("sex", ("f", "m")), SCHEMA["smokes"]))
    transcript = known(released(book, table, schema=schema))
    stages: list[str] = []
    parity = "ENFORCE: DEMOGRAPHIC_PARITY(protected=sex, target=smokes) <= 0.2"
    with models.quick_steering(tables=2):
        found = shaped(transcript, parity, observer=Observer(stage=stages.append))
    assert "training classifiers on a sample" in stages
    gaps = []
    for made in (drawn(found.model), found.reference):
        (verdict,) = verify(found.model.spec, made, reference=found.reference, panel=CLASSIFIERS[:1])
        assert verdict.panel is not None
        assert verdict.panel.rows == found.reference.rows
        gaps.append(verdict.panel.deciding.value)
    assert gaps[0] < 0.7 * gaps[1]  # about a fifth


def test_a_column_can_be_hidden(transcript: Transcript) -> None:
    found = shaped(transcript, "MINIMIZE: DOWNSTREAM_ACCURACY(target=smokes)")
    rows = drawn(found.model, 3_000).arrow.to_pylist()
    old, young = ([r["smokes"] == "yes" for r in rows if low < r["age"] < high] for low, high in ((60, 91), (17, 50)))
    assert abs(np.mean(old) - np.mean(young)) < 0.15


def test_a_program_that_promises_something_else_is_refused(transcript: Transcript) -> None:
    for terms in (
        TERMS.replace("EPSILON=3", "EPSILON=2.9"),
        TERMS.replace("1e-6", "1e-5"),
        f"{TERMS} WITH relation=replace",
        f"{TERMS} WITH max_rows_per_person=2",
    ):
        with pytest.raises(CutsError, match="other-terms") as caught:
            fit_transcript(program(terms=terms), transcript, config=SMALL)
        assert caught.value.exit_code == 5
    fit_transcript(program(terms=TERMS), transcript, config=replace(SMALL, steps=5))


def test_a_transcript_of_very_many_rows_does_not_draw_them_all(transcript: Transcript) -> None:
    data = json.loads(render(transcript))
    for answer in data["answers"]:
        if answer["type"] == "measure":
            answer["values"] = [2_000 * value for value in answer["values"]]
    many = transcript_from(data)
    assert many.rows > 2_000_000
    found = shaped(many, RULE, config=replace(SMALL, steps=5))
    assert found.model.facts.rows == many.rows
    assert found.reference.rows <= 2 * MAX_ROWS  # what programs that are not private look at


# --- rows that are not as they should be


ODD: list[dict[str, Any]] = [
    {"age": "30", "ward": "nowhere", "smokes": "no"},
    {"age": "1e308", "ward": "eye", "smokes": "no"},
    {"age": "-7", "ward": "eye", "smokes": "no"},
    {"age": "nan", "ward": "eye", "smokes": "yes"},
    {"age": "inf", "ward": "eye", "smokes": "yes"},
    {"age": None, "ward": None, "smokes": None},
    {"age": "", "ward": "", "smokes": ""},
    {"age": "thirty", "ward": "\x00", "smokes": "💥"},
    {"age": "9" * 400, "ward": "x" * 10_000, "smokes": "yes"},
]


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("rows", [[], ODD[:1], [ODD[5]] * 40, ODD, ODD * 60])
def test_whatever_rows_hold_a_release_is_a_release(book: LedgerFile, rows: list[dict[str, Any]], missing: bool) -> None:
    schema = replace(SCHEMA, columns=tuple(replace(column, missing=missing) for column in SCHEMA.columns))
    table = pa.Table.from_pylist(rows, schema=pa.schema([(name, pa.string()) for name in SCHEMA.names]))
    found = released(book, table, RULE, schema=schema)
    ledger = known(found).ledger
    assert Fraction(999, 1000) * ledger.rho < ledger.spent <= ledger.rho
    assert [event.clique for event in ledger.events[:3]] == [("age",), ("ward",), ("smokes",)]
    assert check_table(drawn(found.model, 50), schema) == ()
    assert holds(found.model, drawn(found.model, 50)) == [None, True]


def test_numbers_outside_their_range_count_at_its_ends(book: LedgerFile) -> None:
    ages = ["1e300"] * 2_000 + ["-inf"] * 2_000
    table = pa.table({"age": ages, "ward": ["eye"] * 4_000, "smokes": ["yes"] * 4_000})
    found = drawn(released(book, table).model, 1_000).column("age").to_pylist()
    assert np.mean([age > 85 or age < 23 for age in found]) > 0.9


def test_missing_cells_dates_reals_and_many_bins_are_learned(book: LedgerFile) -> None:
    rng = np.random.default_rng(3)
    rows = 3_000
    days = rng.integers(18_000, 18_400, rows)
    dose = [
        None if gone else round(float(x), 2) for gone, x in zip(rng.random(rows) < 0.5, rng.random(rows), strict=True)
    ]
    table = pa.table(
        {"dose": dose, "seen": pa.array(days, pa.int32()).cast(pa.date32()), "size": rng.exponential(20, rows)}
    )
    schema = Schema(
        "visits",
        (
            Real("dose", 0.0, 1.0, 8, missing=True),
            Temporal("seen", "date", 17_897, 18_627),
            Real("size", 0.0, 1_000.0, 16, binning="quantile"),
        ),
    )
    found = released(book, table, "ENFORCE: dose IS NULL IMPLIES size < 33.3", schema=schema)
    made = drawn(found.model, 2_000)
    assert check_table(made, schema) == ()
    assert 0.3 < made.column("dose").null_count / 2_000 < 0.7
    assert holds(found.model, made) == [None, True]
    assert np.median(found.reference.column("size").to_pylist()) < 60  # of a range up to 1,000
    numbers = np.array(found.reference.column("seen").cast(pa.int32()).to_pylist())
    assert np.mean((numbers >= 17_990) & (numbers <= 18_410)) > 0.85


# --- persons and relations


PERSONAL = replace(SCHEMA, columns=(Identifier("patient", "P-####"), *SCHEMA.columns))


def visits(often: int, others: int) -> pa.Table:
    """One person with many rows, and others with one each."""
    table = people(often + others)
    names = [*["BUSY-77"] * often, *(f"other-{number}" for number in range(others))]
    return table.add_column(0, "patient", pa.array(names))


def test_a_person_with_very_many_rows_counts_a_few_times(book: LedgerFile) -> None:
    rows = cells_of(visits(1_000, 500))
    codec = build_codec(PERSONAL, {})
    for most in (1, 3, 2_000):
        counts = reveal(count_rows(rows, codec, [("ward",), ("age", "smokes")], person="patient", max_rows=most))
        assert counts.table(("ward",)).sum() == counts.table(("age", "smokes")).sum() == 500 + min(most, 1_000)
    found = released(
        book, visits(1_000, 500), schema=PERSONAL, terms=f"{TERMS} WITH max_rows_per_person=3, person=patient"
    )
    assert abs(found.model.facts.rows - 503) < 350  # not 1,500
    ledger = known(found).ledger
    assert (ledger.terms.person, ledger.terms.max_rows_per_person) == ("patient", 3)
    assert str(ledger.terms.unit) == "one person (`patient`) with at most 3 rows"
    assert str(ledger.terms.unit) in promise(known(found))
    ids = drawn(found.model, 60).column("patient").to_pylist()
    assert len(set(ids)) == 60
    assert not any("BUSY" in name or "other" in name for name in ids)


@pytest.mark.parametrize(("options", "times"), [("max_rows_per_person=3", 9), ("relation=replace", 2)])
def test_the_same_noise_costs_more_for_more_rows_and_for_replacing(book: LedgerFile, options: str, times: int) -> None:
    ledger = known(released(book, visits(5, 200), schema=PERSONAL, terms=f"{TERMS} WITH {options}")).ledger
    for event in ledger.events:
        if event.kind == "measure":
            plain = 1 / (2 * event.scale**2)
            assert float(event.cost) == pytest.approx(times * plain, rel=1e-9)
            assert event.sensitivity**2 == pytest.approx(times, rel=1e-9)
    assert ledger.spent <= ledger.rho
    assert ledger.epsilon_spent <= 3.0


def test_rows_of_a_person_without_a_column_to_tell_them_are_promised_together(book: LedgerFile) -> None:
    # Nothing can be left out then: that nobody has more rows is the owner's word, and the unit says so.
    unit = str(known(released(book, people(100), terms=f"{TERMS} WITH max_rows_per_person=3")).ledger.terms.unit)
    assert "3 rows" in unit


def test_replacing_is_told(book: LedgerFile) -> None:
    found = known(released(book, people(100), terms=f"{TERMS} WITH relation=replace"))
    assert found.ledger.terms.relation == "replace"
    assert "the values of one row" in promise(found)
    assert "relation replace" in promise(found)
    assert "the presence of one row" in promise(known(released(book, people(100))))


# --- runs that do not end


def test_what_an_interrupted_run_was_charged_stays(book: LedgerFile, monkeypatch: pytest.MonkeyPatch) -> None:
    record, charged = Entry.record, list[Event]()

    def stopping(self: Entry, event: Event) -> None:
        if len(charged) == 4:
            raise KeyboardInterrupt
        record(self, event)
        charged.append(event)

    monkeypatch.setattr(Entry, "record", stopping)
    with pytest.raises(KeyboardInterrupt):
        released(book, people(100))
    monkeypatch.undo()
    (spent,) = book.spent()
    assert (spent.releases, total_rho(spent.by_unit)) == (1, sum(event.cost for event in charged))
    with pytest.raises(CutsError, match="budget-spent"):
        released(book, people(100), max_epsilon=3.0)
    assert known(released(book, people(100))).ledger.history.spent == spent.by_unit


def test_a_ledger_that_cannot_be_written_stops_before_a_row_is_read(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CutsError, match="unwritable-file"):
        released(LedgerFile(tmp_path / "file" / "ledger.jsonl"), people(50))


INTERRUPTED = """
import signal, sys
from pathlib import Path
import pyarrow as pa
from cuts.config import Config
from cuts.data.schema import Category, Schema
from cuts.lang.parser import parse
from cuts.privacy import core
from cuts.flow.private import fit_private
from cuts.flow.request import PrivacyOptions
from cuts.flow.run import make_request
from cuts.progress import Observer

grouped = core.grouped
def stopping(*given):
    signal.raise_signal(signal.SIGINT)  # as Ctrl-C does it while the counts are in the hands of OpenDP
    return grouped(*given)
core.grouped = stopping
schema = Schema("t", (Category("a", ("x", "y")), Category("b", ("x", "y"))))
program = parse("SYNTHESIZE: t; ENSURE: EPSILON=1, DELTA=1e-6; END;")
try:
    rows = pa.table({"a": ["x"] * 9, "b": ["y"] * 9})
    config, privacy = Config(steps=1, components=2), PrivacyOptions(Path(sys.argv[1]), "t")
    fit_private(make_request(program, rows, schema=schema, config=config, privacy=privacy), Observer())
except KeyboardInterrupt:
    print("stopped")
"""


def test_ctrl_c_in_the_middle_of_a_read_stops_and_does_not_crash(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, str(tmp_path / "ledger.jsonl")], capture_output=True, text=True
    )
    assert (done.stdout, done.stderr, done.returncode) == ("stopped\n", "", 0)
    (spent,) = LedgerFile(tmp_path / "ledger.jsonl").spent()
    assert total_rho(spent.by_unit) > 0


# --- the synthesizer


def kinds_of_frames(folder: Path) -> dict[str, Any]:
    table = people(300)
    frames = {"pandas": table.to_pandas(), "polars": pl.DataFrame(table), "arrow": table}
    pa_csv = folder / "people.csv"
    table.to_pandas().to_csv(pa_csv, index=False)
    return {**frames, "lazy": pl.LazyFrame(table), "path": pa_csv, "text": str(pa_csv)}


@pytest.mark.parametrize(
    ("kind", "type_"),
    [
        ("pandas", pd.DataFrame),
        ("polars", pl.DataFrame),
        ("lazy", pl.LazyFrame),
        ("arrow", pa.Table),
        ("path", pa.Table),
        ("text", pa.Table),
    ],
)
def test_the_same_kind_of_frame_comes_back(tmp_path: Path, kind: str, type_: type) -> None:
    synthesizer = Synthesizer(
        program(RULE),
        SCHEMA,
        config={"steps": 20, "components": 10},
        ledger=tmp_path / "ledger.jsonl",
        data_id="people of test",
    )
    sample = synthesizer.fit(kinds_of_frames(tmp_path)[kind]).sample(200)
    assert isinstance(sample, type_)
    table = from_frame(sample)
    assert (table.rows, table.names) == (200, SCHEMA.names)
    assert all(verdict.holds in (True, None) for verdict in synthesizer.verify(sample))
    assert [spent.data for spent in LedgerFile(tmp_path / "ledger.jsonl").spent()] == ["people of test"]


def test_a_private_synthesizer_is_cloned_saved_and_loaded(tmp_path: Path) -> None:
    (tmp_path / "schema.toml").write_text(render_toml(SCHEMA))
    made = Synthesizer(
        "SYNTHESIZE: people; ENSURE: EPSILON=3, DELTA=1e-6; END;",
        tmp_path / "schema.toml",
        seed=4,
        config={"steps": 20, "components": 10},
        ledger=str(tmp_path / "ledger.jsonl"),
        max_epsilon=3.5,
    )
    assert clone(made).get_params() == made.get_params()
    assert made.get_params()["max_epsilon"] == 3.5
    made.fit(people(300).to_pandas())
    made.save(tmp_path / "m.synth")
    loaded = Synthesizer.load(tmp_path / "m.synth")
    assert loaded.model_.transcript is not None
    assert made.model_.transcript is not None
    assert render(loaded.model_.transcript) == render(made.model_.transcript)
    assert loaded.sample(40).to_dict("records") == made.sample(40).to_dict("records")
    with pytest.raises(CutsError, match="budget-spent"):
        clone(made).fit(people(300))
    assert [spent.data for spent in LedgerFile(tmp_path / "ledger.jsonl").spent()] == ["people"]


def test_a_synthesizer_without_a_public_schema_refuses_and_says_nothing_of_the_rows(tmp_path: Path) -> None:
    frame = pa.table({"name": ["Xanthippe-Quux"] * 40, "sum": [987654.5] * 40})
    made = Synthesizer("SYNTHESIZE: people; ENSURE: EPSILON=1, DELTA=1e-9; END;", ledger=tmp_path / "l.jsonl")
    with pytest.raises(CutsError) as caught:
        made.fit(frame)
    assert caught.value.exit_code == 5
    told = " ".join(f"{d.title} {d.label} {d.help}" for d in caught.value.diagnostics)
    assert not any(value in told for value in ("Xanthippe", "987654", "name", "40"))


# --- what is told


def test_who_watches_is_told_nothing_of_the_rows(book: LedgerFile) -> None:
    told: list[str] = []
    observer = Observer(
        told.append,
        lambda rows: told.append(f"counted {rows}"),
        lambda progress: told.append("fit"),
        lambda last: told.append(f"round {last.number}"),
    )
    fit_private(
        program(RULE),
        SCHEMA,
        cells_of(people(777)),
        Account(book, "people"),
        config=replace(SMALL, steps=25),
        observer=observer,
    )
    assert "counting in the trusted core" in told
    assert "measuring noisy counts" in told
    assert not any("777" in line or line.startswith("counted") for line in told)
    assert told.count("round 1") == 1


def test_the_promise_is_that_of_the_terms(transcript: Transcript) -> None:
    said = promise(transcript)
    for part in (
        "(3, 1e-06)-differential privacy",
        "the presence of one row",
        "relation add/remove",
        "taken as public",
    ):
        assert part in said
    assert f"rho = {float(transcript.ledger.rho):.6g}" in said
    assert math.isclose(transcript.ledger.epsilon_spent, 3.0, rel_tol=1e-2)


def test_free_models_and_draws_of_a_transcript_are_the_same_for_a_seed(transcript: Transcript) -> None:
    config = replace(SMALL, steps=20)
    first, again = (private.fit_free(transcript, config, seed=3, observer=Observer()) for _ in range(2))
    assert private.draw_free(first).arrow.equals(private.draw_free(again).arrow)
    assert private.draw_free(first).rows == transcript.rows


@pytest.mark.parametrize("terms", [TERMS, f"{TERMS} WITH domain_budget=30%"])
def test_no_true_count_is_kept_in_memory(book: LedgerFile, terms: str) -> None:
    gc.collect()
    before = {id(each) for each in _secrets()}
    schema = replace(SCHEMA, provenance="inferred" if "domain" in terms else "declared")
    found = fit_private(program(terms=terms), schema, cells_of(people(5_000)), Account(book, "people"), config=SMALL)
    assert found.model.transcript is not None
    left = [each for each in _secrets() if id(each) not in before]
    assert [reveal(each) for each in left] == [None] * len(left)


def _secrets() -> list[Secret[object]]:
    return [each for each in gc.get_objects() if type(each) is Secret]


def test_declared_decimals_of_moments_are_written(book: LedgerFile, tmp_path: Path) -> None:
    columns = (
        Temporal("at", "timestamp", 1_704_067_200.0, 1_735_689_599.0, 12),
        Temporal("measured", "timestamp", 1_704_067_200.0, 1_735_689_599.0, 12, decimals=3),
        Temporal("opens", "time", 0.0, 86_399.0, 12),
        Temporal("stay", "duration", 0.0, 864_000.0, 12),
    )
    texts = ["2024-03-01 08:30:00", "2024-03-01 08:30:00.250", "08:30:00", "1 days 02:00:00"]
    rows = pa.table({column.name: [text] * 200 for column, text in zip(columns, texts, strict=True)})
    found = fit_private(program(), Schema("t", columns), cells_of(rows), Account(book, "t"), config=SMALL)
    sample(found.model, 50, output=tmp_path / "t.csv")
    written = [line.split(",") for line in (tmp_path / "t.csv").read_text().splitlines()[1:]]
    patterns = [r"2024-\d\d-\d\d \d\d:\d\d:\d\d", r"2024-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}"]
    patterns += [r"\d\d:\d\d:\d\d", r"\d days \d\d:\d\d:\d\d"]
    for row in written:
        assert [re.fullmatch(pattern, cell) is not None for pattern, cell in zip(patterns, row, strict=True)] == [
            True
        ] * 4
