"""Private programs whose categories and ranges are not public: refused, or found for a part of the budget.

Noise has no seed, so every bound on what is found is many times its standard error.
"""

from __future__ import annotations

import datetime as dt
import json
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import models
from cuts.config import Config
from cuts.data.conform import check_table
from cuts.data.infer import infer_schema
from cuts.data.schema import Category, Identifier, Integer, Real, Schema
from cuts.data.table import Table
from cuts.flow.release import Account
from cuts.flow.request import FittedModel
from cuts.lang.parser import parse
from cuts.model import store
from cuts.model.sampling import sample_table
from cuts.privacy.ledger_file import LedgerFile
from cuts.privacy.reading import cells_of
from cuts.privacy.transcript import Transcript, promise
from cuts.text.diagnostic import CutsError
from cuts.text.render import as_text
from models import fit_transcript
from privacy.people import total_rho

ROWS = 4_000
SMALL = Config(components=10, steps=20, threads=1)
fit_private = partial(models.fit_private, options=models.QUICK_RELEASE)
TERMS = "ENSURE: DIFFERENTIAL PRIVACY: EPSILON=3, DELTA=1e-6"
DOMAIN = f"{TERMS} WITH domain_budget=20%"


def program(terms: str = DOMAIN, *commands: str) -> Any:
    return parse(f"SYNTHESIZE: people; {terms}; {''.join(f'{command}; ' for command in commands)}END;")


def people(rows: int = ROWS) -> pa.Table:
    """Three frequent cities and two rare ones, of 3 rows and of one."""
    rng = np.random.default_rng(0)
    city = rng.choice(["Graz-9f3a", "Linz", "Wien"], rows).astype(object)
    city[:4] = ["Ytterby", "Ytterby", "Ytterby", "Xanthippe"]
    return pa.table(
        {
            "city": pa.array(city),
            "kids": rng.integers(0, 6, rows),
            "pay": np.round(rng.uniform(1_000.0, 3_000.0, rows), 2),
        }
    )


SCHEMA = infer_schema(Table(people()), "people")


@pytest.fixture
def book(tmp_path: Path) -> LedgerFile:
    return LedgerFile(tmp_path / "ledger.jsonl")


def released(book: LedgerFile, rows: Any, schema: Schema, *commands: str, terms: str = DOMAIN) -> FittedModel:
    return fit_private(program(terms, *commands), schema, cells_of(rows), Account(book, "people"), config=SMALL, seed=1)


def known(made: FittedModel) -> Transcript:
    assert made.model.transcript is not None
    return made.model.transcript


def told(error: CutsError) -> str:
    return as_text(error.diagnostics, error.source)


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> LedgerFile:
    return LedgerFile(tmp_path_factory.mktemp("domain") / "ledger.jsonl")


@pytest.fixture(scope="module")
def made(shelf: LedgerFile) -> FittedModel:
    assert SCHEMA.provenance == "inferred"
    return released(shelf, people(), SCHEMA, "ENFORCE: city == Linz IMPLIES kids <= 2")


# --- refused


def test_an_inferred_schema_is_refused_and_its_values_are_not_told(book: LedgerFile) -> None:
    with pytest.raises(CutsError, match="private-schema") as caught:
        released(book, people(), SCHEMA, "ENFORCE: city == Ytterb", "ENFORCE: pay > 9000", terms=TERMS)
    assert caught.value.exit_code == 5
    text = told(caught.value)
    assert all(name in text for name in ("[columns.city]", "[columns.kids]", "[columns.pay]", "domain_budget"))
    pay = SCHEMA["pay"]
    assert isinstance(pay, Real)
    values = ["Graz", "Linz", "Wien", "Ytterby", "Xanthippe", str(pay.low), str(pay.high), str(ROWS), "= 5", "[0, 5]"]
    assert not [value for value in values if value in text]
    assert book.spent() == ()
    assert not book.path.exists() or "people" not in book.path.read_text()


# --- found


def test_frequent_categories_are_found_and_rare_ones_are_not(made: FittedModel) -> None:
    found = made.model.codec.schema
    city = found["city"]
    assert isinstance(city, Category)
    assert city.categories == ("Graz-9f3a", "Linz", "Wien")
    assert (city.missing, city.ordered, found.provenance) == (True, False, "discovered")


def test_ranges_cover_most_rows(made: FittedModel) -> None:
    for name in ("kids", "pay"):
        column, values = made.model.codec.schema[name], people()[name].to_numpy()
        assert isinstance(column, Integer | Real)
        assert ((column.low <= values) & (values <= column.high)).mean() > 0.9
        assert column.high - column.low < 3 * (values.max() - values.min())
        assert column.missing


def test_what_was_found_is_in_the_ledger_and_within_the_budget(made: FittedModel) -> None:
    ledger = known(made).ledger
    found = [event for event in ledger.events if event.kind == "discover"]
    assert [event.clique for event in found] == [("city",), ("kids",), ("pay",), ("kids",), ("pay",)]
    assert ledger.events[: len(found)] == tuple(found)
    assert [event.delta > 0 for event in found] == [True, False, False, False, False]
    assert 0 < ledger.delta_spent <= 0.2 * 1e-6
    share = sum((event.cost for event in found), Fraction(0)) / ledger.rho
    assert Fraction(19, 100) < share <= Fraction(1, 5)
    assert Fraction(999, 1000) * ledger.rho < ledger.spent <= ledger.rho
    assert 2.9 < ledger.epsilon_spent <= 3.0
    assert len(known(made).answers) == len(ledger.events) - len(found)
    assert "discovered with part of the budget" in promise(known(made))


def test_the_book_tells_no_less_than_the_ledger(made: FittedModel, shelf: LedgerFile) -> None:
    ledger = known(made).ledger
    (spent,) = shelf.spent()
    assert total_rho(spent.by_unit) == ledger.spent
    assert spent.total is not None
    assert (spent.total.epsilon, spent.total.delta) == (ledger.epsilon_spent, ledger.terms.delta)


def test_rows_are_drawn_of_what_was_found(made: FittedModel) -> None:
    table = sample_table(made.model, 500)
    assert check_table(table, made.model.codec.schema) == ()
    assert set(table.column("city").to_pylist()) <= {"Graz-9f3a", "Linz", "Wien", None}
    rows = table.arrow.to_pylist()
    assert all(row["kids"] <= 2 for row in rows if row["city"] == "Linz")


def test_a_model_of_a_found_domain_is_made_again_to_the_last_byte(made: FittedModel, tmp_path: Path) -> None:
    store.save(made.model, tmp_path / "m.synth")
    loaded = store.load(tmp_path / "m.synth").transcript
    assert loaded is not None
    again = fit_transcript(program(DOMAIN, "ENFORCE: city == Linz IMPLIES kids <= 2"), loaded, config=SMALL, seed=1)
    store.save(again.model, tmp_path / "again.synth")
    assert (tmp_path / "again.synth").read_bytes() == (tmp_path / "m.synth").read_bytes()


def test_only_names_and_kinds_of_the_schema_are_kept(book: LedgerFile) -> None:
    planted = replace(
        SCHEMA,
        columns=(
            Category("city", ("Ytterby", "Planted-771"), ordered=True),
            Integer("kids", 4_440_001, 4_440_002),
            Real("pay", -123_456.5, -123_455.5),
        ),
    )
    found = known(released(book, people(), planted))
    city, kids, pay = found.codec.schema.columns
    assert isinstance(city, Category)
    assert isinstance(kids, Integer)
    assert isinstance(pay, Real)
    assert city.categories == ("Graz-9f3a", "Linz", "Wien")
    assert (kids.low >= -2, kids.high <= 16, pay.low >= 0.0, pay.high <= 4_096.0) == (True, True, True, True)
    lines = [json.loads(line) for line in book.path.read_text().splitlines()]
    assert not [line for line in lines if "Planted" in json.dumps(line) or "444000" in json.dumps(line)]


def test_the_ledger_names_the_same_public_schema_whatever_the_rows_were(book: LedgerFile) -> None:
    other = replace(SCHEMA, columns=tuple(replace(column, missing=True) for column in SCHEMA.columns))
    for schema in (SCHEMA, other):
        released(book, people(), schema)
    opened = [line for line in map(json.loads, book.path.read_text().splitlines()) if line["type"] == "open"]
    assert opened[0]["schema"] == opened[1]["schema"]


def test_a_declared_schema_needs_no_domain_and_keeps_the_whole_budget(book: LedgerFile) -> None:
    declared = replace(SCHEMA, provenance="declared")
    ledger = known(released(book, people(), declared)).ledger
    assert {event.kind for event in ledger.events} <= {"measure", "select"}
    assert ledger.delta_spent == 0
    assert ledger.rho == known(released(book, people(), declared, terms=TERMS)).ledger.rho


def test_the_label_is_kept(book: LedgerFile) -> None:
    found = released(book, people(), replace(SCHEMA, label="city"))
    assert found.model.codec.schema.label == "city"


# --- nothing found


@pytest.mark.parametrize("rows", [0, 1, 12])
def test_of_a_tiny_table_nothing_is_found_and_what_it_cost_stays(book: LedgerFile, rows: int) -> None:
    with pytest.raises(CutsError, match="nothing-found") as caught:
        released(book, people().slice(0, rows), SCHEMA)
    assert caught.value.exit_code == 3
    text = told(caught.value)
    assert all(name in text for name in ("city", "kids", "pay"))
    cells = people().slice(0, rows).select(["city", "pay"]).to_pylist()
    assert not [cell for row in cells for cell in row.values() if str(cell) in text]
    (spent,) = book.spent()
    assert (spent.releases, total_rho(spent.by_unit) > 0) == (1, True)


def test_a_category_of_one_person_alone_is_not_found_however_often(book: LedgerFile) -> None:
    table = people()
    city = ["Ytterby" if i < 1_500 else each for i, each in enumerate(table["city"].to_pylist())]
    person = ["busy" if i < 1_500 else f"p{i}" for i in range(ROWS)]
    table = table.set_column(0, "city", pa.array(city)).append_column("who", pa.array(person))
    schema = replace(SCHEMA, columns=(*SCHEMA.columns, Identifier("who")))
    found = released(book, table, schema, terms=f"{DOMAIN}, max_rows_per_person=2, person=who")
    column = found.model.codec.schema["city"]
    assert isinstance(column, Category)
    assert column.categories == ("Graz-9f3a", "Linz", "Wien")
    assert known(found).ledger.terms.unit.in_words(assumed=False) == "one person (`who`) with at most 2 rows"


@pytest.mark.parametrize("share", ["20%", "90%"])
def test_a_domain_is_found_when_rows_are_replaced(book: LedgerFile, share: str) -> None:
    found = released(book, people(), SCHEMA, terms=f"{TERMS} WITH relation=replace, domain_budget={share}")
    column, ledger = found.model.codec.schema["city"], known(found).ledger
    assert isinstance(column, Category)
    assert column.categories == ("Graz-9f3a", "Linz", "Wien")
    assert ledger.spent <= ledger.rho
    assert ledger.delta_spent <= 1e-6


def test_a_range_that_is_seen_is_found_where_single_steps_are_not(book: LedgerFile) -> None:
    # Of 3,000 rows half lie between two powers of two, and 23 in each of the even steps: less than the noise.
    values = np.random.default_rng(1).integers(0, 1_001, 3_000)
    table = pa.table({"x": values})
    terms = "ENSURE: EPSILON=0.3, DELTA=1e-6 WITH domain_budget=20%"
    column = released(book, table, infer_schema(Table(table), "t"), terms=terms).model.codec.schema["x"]
    assert isinstance(column, Integer)
    assert ((column.low <= values) & (values <= column.high)).mean() > 0.6
    assert column.high <= 2_048


def days(start: dt.datetime, rows: int) -> list[dt.datetime]:
    rng = np.random.default_rng(2)
    return [start + dt.timedelta(seconds=int(s)) for s in rng.integers(0, 86_400 * 300, rows)]


@pytest.mark.parametrize("kind", ["date", "timestamp", "time", "duration"])
def test_ranges_of_moments_are_found(book: LedgerFile, kind: str) -> None:
    moments = days(dt.datetime(2019, 3, 1), ROWS)
    values: dict[str, list[Any]] = {
        "date": [moment.date() for moment in moments],
        "timestamp": moments,
        "time": [moment.time().replace(hour=8 + moment.hour // 4) for moment in moments],
        "duration": [dt.timedelta(minutes=10 + moment.minute) for moment in moments],
    }
    table = pa.table({"when": values[kind], "city": people()["city"]})
    schema = infer_schema(Table(table), "visits")
    found = released(book, table, schema)
    made = sample_table(found.model, 300)
    assert check_table(made, found.model.codec.schema) == ()
    made_values = [value for value in made.column("when").to_pylist() if value is not None]
    assert len(made_values) > 200
    if kind == "date":
        near = [dt.date(2018, 1, 1) < value < dt.date(2021, 1, 1) for value in made_values]
        assert np.mean(near) > 0.8


def test_cells_that_are_no_numbers_or_texts_do_no_harm(book: LedgerFile) -> None:
    odd = ["nan", "inf", "-inf", "1e999", "seven", "", None, "9" * 300]
    pay = [*odd * 20, *map(str, people()["pay"].to_pylist()[160:])]
    city = [*["\x00", " Linz ", "", None, "x" * 5_000, "é", "\ufffd", "💥"] * 20, *people()["city"].to_pylist()[160:]]
    table = people().set_column(2, "pay", pa.array(pay)).set_column(0, "city", pa.array(city))
    found = released(book, table, SCHEMA).model.codec.schema["city"]
    assert isinstance(found, Category)
    assert {"Graz-9f3a", "Linz", "Wien"} <= set(found.categories)


# --- programs about what is found


def test_a_program_with_errors_that_can_be_known_costs_nothing(book: LedgerFile) -> None:
    for command, code in (("ENFORCE: kidz > 3", "unknown-column"), ("ENFORCE: E[kids", "syntax-error")):
        with pytest.raises(CutsError, match=code):
            released(book, people(), SCHEMA, command)
    for terms, code in ((DOMAIN.replace("EPSILON=3", "EPSILON=0"), "bad-epsilon"), (f"{DOMAIN}, foo=1", "unknown-opt")):
        with pytest.raises(CutsError, match=code):
            released(book, people(), SCHEMA, terms=terms)
    assert book.spent() == ()


def test_a_program_about_a_category_that_is_not_found_is_told_without_it(book: LedgerFile) -> None:
    with pytest.raises(CutsError, match="unknown-category") as caught:
        released(book, people(), SCHEMA, "ENFORCE: city != Xantippe")
    text = told(caught.value)
    assert "Xanthippe" not in text  # what was asked for is spelt otherwise
    assert "Ytterby" not in text
