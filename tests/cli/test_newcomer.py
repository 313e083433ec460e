"""A table as people have it: what the tool takes for personal data, it says."""

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
