"""Two tables as people have them: what the tool leaves out, takes for personal data or could not check, it says."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner, Result

from cuts.cli import app
from cuts.text.diagnostic import CutsError

FAST = "steps = 60\nsmoothing = 0.0\n"


def cuts(*words: str | Path) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words])


# --- travel records: rare values


@pytest.fixture(scope="module")
def travel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with 600 flights, 4 of them of the carrier HA and 2 of YV, and a program that names HA."""
    folder = tmp_path_factory.mktemp("travel")
    rng = np.random.default_rng(0)
    carriers = np.array(["AA", "DL", "UA"])[rng.integers(0, 3, 600)]
    carriers[:4], carriers[4:6] = "HA", "YV"
    distances = np.where(carriers == "HA", 2_500, rng.integers(100, 3_000, 600))
    pd.DataFrame({"carrier": carriers, "distance": distances}).to_csv(folder / "flights.csv", index=False)
    (folder / "fast.toml").write_text(FAST)
    rule = "ENFORCE: carrier == HA IMPLIES distance > 2000;"
    (folder / "flights.cuts").write_text(f'SYNTHESIZE: "flights.csv";\n    {rule}\nEND;\n')
    return folder


def test_inferring_a_schema_says_which_values_are_rare_and_how_to_keep_them(travel: Path) -> None:
    found = cuts("schema", "infer", travel / "flights.csv")
    assert found.exit_code == 0
    assert '"HA"' in found.stdout
    assert "warning[rare-values]: values with fewer than 5 rows are never sampled:" in found.stderr
    assert "`carrier` (2 of 5 values, in 6 of 600 rows (1 %))" in found.stderr
    assert "keep all of them with `min_count = 0` in the schema" in found.stderr
    shown = cuts("schema", "show", travel / "flights.csv").stdout
    assert "never sampled (fewer than 5 rows): 2 values in 1 % of the rows, `HA`, `YV`" in shown


def test_a_rare_value_that_a_rule_names_survives_and_the_others_are_named_as_lost(travel: Path) -> None:
    config = ("--config", travel / "fast.toml")
    result = cuts("run", travel / "flights.cuts", "-n", "5000", "-o", travel / "made.csv", *config)
    assert result.exit_code == 0, result.output
    assert "`carrier` (1 of 5 values, in 2 of 600 rows (0.33 %))" in result.stderr
    made = pd.read_csv(travel / "made.csv")
    assert set(made["carrier"]) == {"AA", "DL", "HA", "UA"}
    assert (made.loc[made["carrier"] == "HA", "distance"] > 2_000).all()
    fitted = cuts("fit", travel / "flights.cuts", "-o", travel / "m.synth", *config)
    assert "warning[rare-values]" in fitted.stderr
    schema = cuts("schema", "infer", travel / "flights.csv").stdout
    (travel / "all.toml").write_text(f"min_count = 0\n{schema}")
    kept = cuts("run", travel / "flights.cuts", "--schema", travel / "all.toml", "-o", travel / "all.csv", *config)
    assert "rare-values" not in kept.stderr


def test_a_rule_that_applies_to_no_row_is_a_warning_and_not_a_success(travel: Path) -> None:
    table = pd.read_csv(travel / "flights.csv")
    table[table["carrier"] == "AA"].to_csv(travel / "part.csv", index=False)
    schema = cuts("schema", "infer", travel / "flights.csv", "-o", travel / "flights.toml")
    assert schema.exit_code == 0
    result = cuts("verify", travel / "flights.cuts", travel / "part.csv", "--schema", travel / "flights.toml")
    assert result.exit_code == 0
    assert re.search(r"2  no rows  applies to none of \d+ rows ", result.stdout)
    assert "0 hold, 0 fail, 1 warning: line 2 applies to no row" in result.stdout
    assert "100" not in result.stdout


def test_a_rule_that_applied_to_no_real_row_has_no_share_of_them(travel: Path) -> None:
    table = pd.read_csv(travel / "flights.csv")
    table[table["carrier"] != "HA"].to_csv(travel / "without.csv", index=False)
    schema = cuts("schema", "infer", travel / "flights.csv", "-o", travel / "flights.toml")
    assert schema.exit_code == 0
    words = ("--data", travel / "without.csv", "--schema", travel / "flights.toml", "--config", travel / "fast.toml")
    result = cuts("run", travel / "flights.cuts", *words, "-q", "-o", travel / "without_made.csv")
    assert result.exit_code == 0, result.output
    assert re.search(r"2 +100.00 % +no rows ", result.stdout)


# --- customers: personal data


@pytest.fixture(scope="module")
def customers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with 400 customers: a number, names, addresses, phone numbers, notes, and two columns to learn."""
    folder = tmp_path_factory.mktemp("customers")
    rng = np.random.default_rng(1)
    first = rng.choice(["Anna", "Bob", "Clara", "David", "Eva", "Frank", "Greta", "Hans", "Ida", "Jon", "Kim"], 400)
    last = rng.choice(["Meier", "Keller", "Frei", "Huber", "Roth", "Baum", "Vogel", "Graf", "Koch", "Wolf"], 400)
    words = ["called", "bill", "refund", "moved", "late", "angry", "twice", "mail", "lost", "card", "old", "new"]
    pd.DataFrame(
        {
            "customer": [f"K-{n:05d}" for n in rng.permutation(np.arange(700, 1_100))],
            "name": [f"{a} {b}" for a, b in zip(first, last, strict=True)],
            "email": [f"{a}.{b}{i}@mail.ch".lower() for i, (a, b) in enumerate(zip(first, last, strict=True))],
            "phone": [f"+41 79 {n:07d}" for n in rng.integers(0, 10**7, 400)],
            "mobile": rng.integers(760_000_000, 799_999_999, 400),
            "note": [" ".join(rng.choice(words, 3)) for _ in range(400)],
            "plan": rng.choice(["basic", "plus"], 400),
            "age": rng.integers(18, 90, 400),
        }
    ).to_csv(folder / "customers.csv", index=False)
    (folder / "fast.toml").write_text(FAST)
    (folder / "customers.cuts").write_text('SYNTHESIZE: "customers.csv";\nEND;\n')
    return folder


PERSONAL = ["customer", "name", "email", "phone", "mobile", "note"]


def test_free_text_is_not_learned_before_its_owner_decided(customers: Path) -> None:
    for words in (("schema", "infer", customers / "customers.csv"), ("run", customers / "customers.cuts", "-q")):
        refused = cuts(*words).exception
        assert isinstance(refused, CutsError)
        (found,) = refused.diagnostics
        assert found.code == "free-text"
        assert "the column `note` looks like free text or personal data:" in found.title
        for option in ("--drop note", "--id note", "--keep note"):
            assert option in (found.help or "")
    kept = cuts("schema", "infer", customers / "customers.csv", "--keep", "note", "--keep", "name", "--keep", "mobile")
    assert kept.exit_code == 0
    assert '"Anna Meier"' in kept.stdout
    assert "`name` (names of persons)" not in kept.stderr
    assert '[columns.mobile]\nkind = "integer"' in kept.stdout


def test_no_text_of_a_person_is_in_an_inferred_schema_or_in_the_synthetic_table(customers: Path) -> None:
    real = pd.read_csv(customers / "customers.csv", dtype=str)
    texts = {text for column in PERSONAL for text in real[column]}
    schema = customers / "customers.toml"
    found = cuts("schema", "infer", customers / "customers.csv", "--id", "note", "-o", schema)
    assert found.exit_code == 0
    assert "warning[personal-data]: this looks like personal data and is not learned" in found.stderr
    said = "`name` (names of persons), `email` (e-mail addresses), `phone` (phone numbers), `mobile` (phone numbers)"
    assert said in found.stderr
    assert not [text for text in texts if text in schema.read_text()]

    words = ("--schema", schema, "--config", customers / "fast.toml", "--seed")
    for seed in ("1", "2"):
        result = cuts("run", customers / "customers.cuts", *words, seed, "-o", customers / f"made{seed}.csv", "-q")
        assert result.exit_code == 0, result.output
    made, other = (pd.read_csv(customers / f"made{seed}.csv", dtype=str) for seed in (1, 2))
    looks = {
        "customer": r"K-\d{5}",
        "name": r"[A-Z][a-z]+ [A-Z][a-z]+",
        "email": r"[a-z]+@example\.(com|net|org)",
        "phone": r"\+41 \d{2} \d{7}",
        "mobile": r"\d{9}",
        "note": r"note-\d{6}",
    }
    for column, look in looks.items():
        assert made[column].str.fullmatch(look).all()
        assert made[column].is_unique
        assert not set(made[column]) & set(real[column])
        assert made[column][0] != other[column][0], "the start follows from the seed"
    for column in ("customer", "phone", "mobile"):
        number, greatest = (int(re.sub(r"\D", "", text)) for text in (made[column][0], real[column].max()))
        assert number != greatest + 1


def test_a_run_without_a_schema_says_what_it_takes_for_personal_data(customers: Path) -> None:
    table = pd.read_csv(customers / "customers.csv").drop(columns="note")
    table.to_csv(customers / "contacts.csv", index=False)
    words = ("--data", customers / "contacts.csv", "--config", customers / "fast.toml")
    result = cuts("fit", customers / "customers.cuts", *words, "-o", customers / "m.synth")
    assert result.exit_code == 0, result.output
    assert "warning[personal-data]" in result.stderr
    assert "`email` (e-mail addresses)" in result.stderr


# --- a table of measurements: odd names, dates, NA


@pytest.fixture(scope="module")
def nests(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A CSV file with 200 rows: a code that hardly repeats, a date, coordinates, and numbers with NA among them."""
    rng = np.random.default_rng(1)
    masses = rng.integers(2_700, 6_300, 200).astype(str)
    masses[:9] = "NA"
    codes = [f"N{rng.integers(1, 150)}{'AB'[i % 2]}{rng.integers(1, 9)}" for i in range(200)]
    dates = pd.Timestamp("2007-11-09") + pd.to_timedelta(rng.integers(0, 60, 200), unit="D")
    table = {"Nest Code": codes, "Date Egg": dates, "lon": (-64 + rng.random(200)).round(7), "Body Mass (g)": masses}
    path = tmp_path_factory.mktemp("nests") / "nests.csv"
    pd.DataFrame(table).to_csv(path, index=False)
    return path


def test_a_refused_column_does_not_hide_the_others_and_its_options_can_be_pasted(nests: Path) -> None:
    shown = cuts("schema", "show", nests)
    assert shown.exit_code == 1
    assert re.search(r"^Nest Code +undecided +free-text: see below$", shown.stdout, re.MULTILINE)
    assert re.search(r"^Date Egg +date ", shown.stdout, re.MULTILINE)
    assert "`--drop 'Nest Code'`" in shown.stderr
    assert cuts("schema", "show", nests, "--format", "json").exit_code == 1
    decided = cuts("schema", "show", nests, "--drop", "Nest Code")
    assert decided.exit_code == 0
    assert "undecided" not in decided.stdout


def test_a_text_that_means_missing_elsewhere_is_named(nests: Path) -> None:
    shown = cuts("schema", "show", nests, "--drop", "Nest Code").stdout
    assert re.search(r"^Body Mass.*`NA` is a value, not missing", shown, re.MULTILINE)
    assert "lon            real, 7 decimals" in shown


def test_a_name_with_spaces_gets_its_backticks(nests: Path) -> None:
    program = nests.with_name("nests.cuts")
    program.write_text('SYNTHESIZE: "nests.csv";\nENFORCE: Date Egg >= "2007-11-15";\nEND;\n')
    checked = cuts("check", program)
    assert checked.exit_code == 1
    assert "a name with spaces needs backticks: `Date Egg`" in checked.output
