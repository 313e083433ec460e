"""Tables as people have them: laboratory values with `<1.0` and `n.a.`, and customers in German formats, end to end.

What was written is checked with the csv module and plain Python alone.
"""

from __future__ import annotations

import csv
import datetime as dt
import re
from pathlib import Path

import numpy as np
import pytest

from console import run

FAST = "components = 60\nsmoothing = 0.02\nslices = 0\n"
TEXTS = ("<1.0", ">200", "n.a.", "")  # the last one is missing


def cuts(command: str, folder: Path) -> str:
    """What a command prints; it must succeed."""
    text, code = run(["cuts", *command.split()], folder)
    assert code == 0, text
    return text


def rows_of(path: Path, delimiter: str = ",") -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter=delimiter))


def share(rows: list[dict[str, str]], column: str, value: str) -> float:
    return sum(row[column] == value for row in rows) / len(rows)


# --- laboratory values


def write_lab(path: Path, rows: int = 800) -> None:
    rng = np.random.default_rng(3)
    with path.open("w", encoding="utf-8") as file:
        file.write("sex,age,crp\n")
        for sex, age, z, kind in zip(
            rng.choice(["f", "m"], rows),
            rng.integers(18, 95, rows),
            rng.normal(size=rows),
            rng.random(rows),
            strict=True,
        ):
            value = np.exp(1.8 + age / 60 + 1.2 * z)
            cell = "<1.0" if value < 1 else ">200" if value > 200 else f"{value:.1f}"
            file.write(f"{sex},{age},{'' if kind < 0.03 else 'n.a.' if kind < 0.1 else cell}\n")


def number(text: str) -> float | None:
    return float(text) if re.fullmatch(r"\d+\.\d", text) else None


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("lab")
    write_lab(folder / "lab.csv")
    (folder / "fast.toml").write_text(FAST)
    (folder / "free.cuts").write_text('SYNTHESIZE: "lab.csv"; END;')
    (folder / "rules.cuts").write_text(
        'SYNTHESIZE: "lab.csv";\n'
        "    ENFORCE: age < 40 IMPLIES crp < 100 OR crp IN {'<1.0', 'n.a.'} OR crp IS NULL;\n"
        "    ENFORCE: sex == f IMPLIES NOT crp == '>200';\n"
        "    ENFORCE: E[crp] == 40 WITHIN 0.5;\n"
        "    ENFORCE: P[crp == 'n.a.'] == 12% WITHIN 0.5%;\n"
        "END;\n".replace("'", '"')
    )
    cuts("fit free.cuts --preview -q --config fast.toml -o free.synth", folder)
    return folder


def test_a_laboratory_value_keeps_its_tail_its_texts_and_its_look(lab: Path) -> None:
    cuts("sample free.synth -n 3000 -o made.csv", lab)
    real, made = rows_of(lab / "lab.csv"), rows_of(lab / "made.csv")
    for text in TEXTS:
        assert share(made, "crp", text) == pytest.approx(share(real, "crp", text), abs=0.015), text
    numbers = {
        name: [n for row in rows if (n := number(row["crp"])) is not None]
        for name, rows in (("real", real), ("made", made))
    }
    assert len(numbers["made"]) + sum(row["crp"] in TEXTS for row in made) == len(made), "there is nothing else"
    assert 0.8 * max(numbers["real"]) <= max(numbers["made"]) <= max(numbers["real"])
    assert np.mean(numbers["made"]) == pytest.approx(np.mean(numbers["real"]), rel=0.1)
    assert np.median(numbers["made"]) == pytest.approx(np.median(numbers["real"]), rel=0.1)


def test_rules_and_statistics_of_a_laboratory_value_hold(lab: Path) -> None:
    printed = cuts("run rules.cuts --preview -q --config fast.toml -n 1500 -o ruled.csv", lab)
    assert "4 hold, 0 fail" in printed
    made = rows_of(lab / "ruled.csv")
    for row in made:
        value = number(row["crp"])
        if int(row["age"]) < 40:
            assert row["crp"] in ("<1.0", "n.a.", "") or (value is not None and value < 100)
        if row["sex"] == "f":
            assert row["crp"] != ">200"
    values = [value for row in made if (value := number(row["crp"])) is not None]
    assert np.mean(values) == pytest.approx(40, abs=0.5)
    assert share(made, "crp", "n.a.") == pytest.approx(0.12, abs=0.005)


def test_rows_with_a_text_can_be_asked_for_and_given(lab: Path) -> None:
    cuts('sample free.synth -n 200 --where crp=="n.a." -o absent.csv', lab)
    assert {row["crp"] for row in rows_of(lab / "absent.csv")} == {"n.a."}
    (lab / "given.csv").write_text("crp,sex\n<1.0,f\n12.5,m\nn.a.,f\n")
    cuts("sample free.synth --seed-rows given.csv -o completed.csv", lab)
    assert [(row["crp"], row["sex"]) for row in rows_of(lab / "completed.csv")] == [
        ("<1.0", "f"),
        ("12.5", "m"),
        ("n.a.", "f"),
    ]


def test_such_a_table_is_evaluated(lab: Path) -> None:
    cuts("sample free.synth -n 800 -o same.csv", lab)
    printed = cuts("evaluate same.csv --train lab.csv --test lab.csv --target sex", lab)
    assert "outside" not in printed
    assert "Discriminator" in printed


# --- customers


def german(value: float) -> str:
    return f"{value:,.2f}".translate(str.maketrans({",": ".", ".": ","}))


def from_german(text: str) -> float:
    assert re.fullmatch(r"\d{1,3}(\.\d{3})*,\d\d", text), text
    return float(text.replace(".", "").replace(",", "."))


def test_customers_in_german_formats_come_back_in_them(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    (tmp_path / "fast.toml").write_text(FAST)
    with (tmp_path / "kunden.csv").open("w", encoding="utf-8") as file:
        file.write("Seit;Ort;Umsatz;Limit;Punkte\n")
        for _ in range(800):
            day = dt.date(2016, 1, 1) + dt.timedelta(days=int(rng.integers(0, 3200)))
            limit = "auf Anfrage" if rng.random() < 0.1 else german(500 * float(rng.integers(1, 40)))
            points = f"{int(rng.lognormal(6.5, 1)):,}".replace(",", ".")
            city = rng.choice(["Köln", "Graz", "Bern"])
            file.write(f"{day:%d.%m.%Y};{city};{german(rng.lognormal(7, 1))};{limit};{points}\n")
    (tmp_path / "kunden.cuts").write_text(
        'SYNTHESIZE: "kunden.csv";\n'
        '    ENFORCE: Seit >= "2017-01-01";\n'
        '    ENFORCE: Ort == Bern IMPLIES Limit == "auf Anfrage" OR Limit <= 10000;\n'
        "    ENFORCE: E[Umsatz] == 2000 WITHIN 20;\n"
        "    ENFORCE: E[Limit] == 9000 WITHIN 100;\n"
        "END;\n",
        encoding="utf-8",
    )
    printed = cuts("run kunden.cuts --preview -q --config fast.toml -o neu.csv", tmp_path)
    assert "4 hold, 0 fail" in printed
    real, made = (rows_of(tmp_path / name, ";") for name in ("kunden.csv", "neu.csv"))
    assert len(made) == len(real) == 800
    assert all(re.fullmatch(r"\d\d\.\d\d\.20\d\d", row["Seit"]) for row in made)
    assert all(row["Seit"][-4:] >= "2017" for row in made)
    assert all(re.fullmatch(r"\d{1,3}(\.\d{3})*", row["Punkte"]) for row in made)
    sales = [from_german(row["Umsatz"]) for row in made]
    assert np.mean(sales) == pytest.approx(2000, abs=20)
    assert max(sales) >= 0.5 * max(from_german(row["Umsatz"]) for row in real)
    limits = [from_german(row["Limit"]) for row in made if row["Limit"] != "auf Anfrage"]
    assert np.mean(limits) == pytest.approx(9000, abs=100)
    assert all(limit % 500 == 0 for limit in limits)
    assert share(made, "Limit", "auf Anfrage") == pytest.approx(share(real, "Limit", "auf Anfrage"), abs=0.03)
    in_bern = [row["Limit"] for row in made if row["Ort"] == "Bern"]
    assert all(text == "auf Anfrage" or from_german(text) <= 10_000 for text in in_bern)
