"""Six kinds of tables as newcomers bring them, from file to file by the command line, judged by pandas alone.

The programs say what their owners know of the tables. Every rule, every statistic, the missing values, differences of
dates and the looks of the files are looked at in the written rows, with code that shares nothing with the product.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from console import run

FAST = "steps = 120\ncomponents = 60\nthreads = 1\nsmoothing = 0.02\n"  # no trials of the smoothing
Frame = pd.DataFrame
Rng = np.random.Generator


@dataclass(frozen=True)
class Owned:
    """A table, a program about it, and what pandas must find in its synthetic rows."""

    write: Callable[[Rng, Path], None]
    program: str
    check: Callable[[Frame, Frame], None]
    said: tuple[str, ...] = ()  # what the run must tell
    infer: str = ""  # options of `cuts schema infer`, for a table whose owner has to decide something
    reading: dict[str, Any] = field(default_factory=dict)  # how pandas reads the file


def near(real: float, synthetic: float, *, by: float) -> None:
    assert abs(real - synthetic) <= by, f"{synthetic} instead of {real}"


def same_missing(real: Frame, synthetic: Frame, columns: list[str], *, by: float = 0.06) -> None:
    for column in columns:
        near(real[column].isna().mean(), synthetic[column].isna().mean(), by=by)


# --- travel records: codes, rare carriers, cells that are missing for a reason


def write_travel(rng: Rng, path: Path) -> None:
    rows = 1_500
    carriers = np.array(["AA", "BA", "LH", "UA", *(f"Z{number}" for number in range(9))])
    chances = np.array([0.35, 0.25, 0.2, 0.18, *[0.02 / 9] * 9])
    carrier = rng.choice(carriers, rows, p=chances)
    carrier[:3] = "Z7"
    distance = np.where(np.char.startswith(carrier, "Z"), 3_000, 500) + rng.integers(0, 900, rows)
    cancelled = rng.random(rows) < 0.08
    delay = np.round(rng.gamma(2.0, 15.0, rows) - 12)
    minutes = rng.integers(5 * 60, 23 * 60, rows)
    frame = pd.DataFrame(
        {
            "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 365, rows), "D"),
            "carrier": carrier,
            "departure": [f"{minute // 60:02d}:{minute % 60:02d}" for minute in minutes],
            "distance": distance,
            "cancelled": np.where(cancelled, "yes", "no"),
            "delay": pd.array(np.where(cancelled, np.nan, delay), "Int64"),
        }
    )
    frame.to_csv(path, index=False)


def check_travel(real: Frame, synthetic: Frame) -> None:
    assert synthetic.loc[synthetic["cancelled"] == "yes", "delay"].isna().all()
    rare = synthetic[synthetic["carrier"] == "Z7"]
    assert (rare["distance"] >= 3_000).all()
    near(5.0, synthetic["delay"].mean(), by=1.0)
    assert synthetic["departure"].str.fullmatch(r"\d\d:\d\d").all()
    assert synthetic["day"].str.fullmatch(r"2024-\d\d-\d\d").all()
    same_missing(real, synthetic, list(real))
    assert synthetic["delay"].dropna().mod(1).eq(0).all()


TRAVEL = Owned(
    write_travel,
    """
    ENFORCE: cancelled == yes IMPLIES delay IS NULL;
    ENFORCE: carrier == Z7 IMPLIES distance >= 3000;
    ENFORCE: E[delay] == 5 WITHIN 1;
    """,
    check_travel,
    said=("carrier",),
)


# --- customers with German formats: thousands separators, dates, personal data


def german(number: float) -> str:
    return f"{number:,.2f}".replace(",", " ").replace(".", ",").replace(" ", ".")


def euros(texts: pd.Series) -> pd.Series:
    return texts.str.replace(".", "", regex=False).str.replace(",", ".", regex=False).astype(float)


def write_customers(rng: Rng, path: Path) -> None:
    rows = 800
    first = ["Anna", "Bernd", "Çelik", "Dörte", "Emil", "Franziska"]
    last = [
        start + end for start in ("Müll", "Schmid", "Weiß", "Stein", "Korn") for end in ("er", "mann", "bach", "feld")
    ]
    lines = ["Name;E-Mail;Geburtstag;Umsatz;Stadt;Newsletter;Notiz"]
    for number in range(rows):
        name = f"{rng.choice(first)} {rng.choice(last)}"
        born = pd.Timestamp("1950-01-01") + pd.Timedelta(days=int(rng.integers(0, 18_000)))
        sales = german(float(np.round(rng.lognormal(6.5, 1.2), 2)))
        city = rng.choice(["Köln", "Graz", "Zürich"])
        words = " ".join(rng.choice(["ruft", "gern", "spät", "zurück", "wünscht", "Rabatt"], 5))
        note = f"Kunde {number}: {words}"
        mail = f"{name.split()[0].lower()}.{number}@example.org"
        lines.append(f"{name};{mail};{born:%d.%m.%Y};{sales};{city};{rng.choice(['ja', 'nein'])};{note}")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def check_customers(real: Frame, synthetic: Frame) -> None:
    assert synthetic["Umsatz"].str.fullmatch(r"\d{1,3}(\.\d{3})*,\d\d").all()
    assert (euros(synthetic["Umsatz"]) >= 100).all()
    assert euros(synthetic["Umsatz"]).max() > 3_000
    assert synthetic["Geburtstag"].str.fullmatch(r"\d\d\.\d\d\.\d{4}").all()
    assert set(synthetic["Stadt"]) <= {"Köln", "Graz", "Zürich"}
    near(0.6, (synthetic["Newsletter"] == "ja").mean(), by=0.02)
    assert not set(synthetic["E-Mail"]) & set(real["E-Mail"])
    assert len(set(synthetic["Name"]) & set(real["Name"])) < 5
    assert "Notiz" not in synthetic


CUSTOMERS = Owned(
    write_customers,
    """
    ENFORCE: Umsatz >= 100;
    ENFORCE: P[Newsletter == ja] == 60% WITHIN 1%;
    """,
    check_customers,
    infer="--drop Notiz",
    reading={"sep": ";", "dtype": str},
)


# --- a questionnaire of 86 columns with skip logic


def write_questionnaire(rng: Rng, path: Path) -> None:
    rows = 250
    mood = rng.normal(size=rows)
    columns: dict[str, Any] = {"id": [f"R{number:04d}" for number in range(rows)]}
    columns["works"] = np.where(rng.random(rows) < 0.6, "yes", "no")
    for number in range(1, 85):
        answer = np.clip(np.rint(3 + mood + rng.normal(size=rows)), 1, 5).astype(int)
        skipped = (columns["works"] == "no") if 11 <= number <= 15 else rng.random(rows) < 0.02
        columns[f"q{number}"] = pd.array(np.where(skipped, np.nan, answer), "Int64")
    pd.DataFrame(columns).to_csv(path, index=False)


def check_questionnaire(real: Frame, synthetic: Frame) -> None:
    assert list(synthetic) == list(real)
    asked = [f"q{number}" for number in range(11, 16)]
    assert synthetic.loc[synthetic["works"] == "no", asked].isna().all(axis=None)
    assert synthetic.loc[synthetic["works"] == "yes", asked].notna().all(axis=None)
    near(3.5, synthetic["q1"].mean(), by=0.15)
    same_missing(real, synthetic, [f"q{number}" for number in (1, 11, 40, 84)])
    answers = synthetic[[f"q{number}" for number in range(1, 85)]].stack().dropna()
    assert answers.isin([1, 2, 3, 4, 5]).all()
    assert not synthetic["id"].duplicated().any()


QUESTIONNAIRE = Owned(
    write_questionnaire,
    "".join(
        f"ENFORCE: works == no IMPLIES q{number} IS NULL; ENFORCE: works == yes IMPLIES q{number} IS NOT NULL;\n"
        for number in range(11, 16)
    )
    + "    ENFORCE: E[q1] == 3.5 WITHIN 0.1;\n",
    check_questionnaire,
)


# --- clinical stays: two dates, a moment, a lab value with words


def write_stays(rng: Rng, path: Path) -> None:
    rows = 1_000
    admitted = pd.Timestamp("2023-01-01") + pd.to_timedelta(rng.integers(0, 500, rows), "D")
    days = np.minimum(rng.geometric(0.25, rows) - 1, 29)
    discharged = pd.Series(admitted + pd.to_timedelta(days, "D"))
    discharged[rng.random(rows) < 0.05] = pd.NaT
    seen = admitted + pd.to_timedelta(rng.integers(0, 24 * 60, rows), "min")
    lab = [f"{value:.1f}" for value in rng.lognormal(2.5, 1.0, rows)]
    odd = rng.random(rows)
    lab = [
        "<1.0" if o < 0.03 else ">200" if o < 0.05 else "n.a." if o < 0.06 else v for v, o in zip(lab, odd, strict=True)
    ]
    frame = pd.DataFrame({"admitted": admitted, "discharged": discharged, "seen": seen, "crp": lab})
    frame["ward"] = rng.choice(["surgery", "eye", "cardiology"], rows)
    frame.to_csv(path, index=False, date_format=None)


def check_stays(real: Frame, synthetic: Frame) -> None:
    dates = {name: pd.to_datetime(synthetic[name]) for name in ("admitted", "discharged", "seen")}
    stay = dates["discharged"] - dates["admitted"]
    assert (stay.dropna() >= pd.Timedelta(0)).all()
    assert (stay.dropna() <= pd.Timedelta(days=30)).all()
    assert (dates["seen"] >= dates["admitted"]).all()
    real_stay = pd.to_datetime(real["discharged"]) - pd.to_datetime(real["admitted"])
    near(real_stay.dt.days.mean(), stay.dt.days.mean(), by=1.0)
    same_missing(real, synthetic, ["discharged"], by=0.03)
    numbers, words = (
        (pd.to_numeric(frame["crp"], errors="coerce") for frame in (real, synthetic)),
        {"<1.0", ">200", "n.a."},
    )
    before, after = numbers
    assert after.max() > 0.4 * before.max()
    assert set(synthetic["crp"][after.isna()].dropna()) <= words
    for word in words:
        near((real["crp"] == word).mean(), (synthetic["crp"] == word).mean(), by=0.02)
    assert (after.dropna() < 150).all()


STAYS = Owned(
    write_stays,
    """
    ENFORCE: discharged IS NULL OR admitted <= discharged;
    ENFORCE: discharged IS NULL OR discharged - admitted <= "30 days";
    ENFORCE: admitted <= seen;
    ENFORCE: crp IS NULL OR crp == "<1.0" OR crp == ">200" OR crp == "n.a." OR crp < 150;
    """,
    check_stays,
    reading={"dtype": {"crp": str}, "keep_default_na": False, "na_values": {"discharged": [""]}},
)


# --- a trial of 60 persons


def write_trial(rng: Rng, path: Path) -> None:
    arm = np.repeat(["placebo", "drug"], 30)
    frame = pd.DataFrame(
        {
            "arm": arm,
            "age": rng.integers(40, 80, 60),
            "dose": np.where(arm == "drug", rng.choice([5.0, 10.0], 60), 0.0),
            "recovered": np.where(rng.random(60) < np.where(arm == "drug", 0.7, 0.4), "yes", "no"),
        }
    )
    frame.to_csv(path, index=False)


def check_trial(real: Frame, synthetic: Frame) -> None:
    assert len(synthetic) == 60
    assert (synthetic.loc[synthetic["arm"] == "placebo", "dose"] == 0).all()
    assert synthetic.loc[synthetic["arm"] == "drug", "dose"].isin([5.0, 10.0]).all()
    means = synthetic.groupby("arm")["age"].mean()
    near(means["drug"], means["placebo"], by=1.5)
    assert synthetic["age"].between(40, 79).all()


TRIAL = Owned(
    write_trial,
    """
    ENFORCE: arm == placebo IMPLIES dose == 0;
    ENFORCE: arm == drug IMPLIES dose >= 5;
    ENFORCE: E[age | arm == drug] == E[age | arm == placebo] WITHIN 1.5;
    """,
    check_trial,
)


# --- names and values that mean something elsewhere


def write_odd_names(rng: Rng, path: Path) -> None:
    rows = 400
    frame = pd.DataFrame(
        {
            "select": rng.choice(["null", "true", "NaN-ish"], rows),
            "größe (cm)": np.round(rng.normal(170, 9, rows), 1),
            "a;b": rng.integers(0, 50, rows),
            "END": rng.choice(["<=5", "yes, no", 'say "hi"'], rows),
            "1st": rng.integers(1, 4, rows),
            "line\nbreak": rng.integers(0, 9, rows),
        }
    )
    frame.to_csv(path, index=False)


def check_odd_names(real: Frame, synthetic: Frame) -> None:
    assert list(synthetic) == list(real)
    chosen = synthetic["END"] == "<=5"
    assert (synthetic.loc[chosen, "a;b"] <= 5).all()
    assert (synthetic["größe (cm)"] >= 150).all()
    near(172.0, synthetic["größe (cm)"].mean(), by=0.5)
    assert set(synthetic["select"]) <= {"null", "true", "NaN-ish"}
    assert set(synthetic["END"]) <= {"<=5", "yes, no", 'say "hi"'}


ODD_NAMES = Owned(
    write_odd_names,
    """
    ENFORCE: `END` == "<=5" IMPLIES `a;b` <= 5;
    ENFORCE: `größe (cm)` >= 150;
    ENFORCE: E[`größe (cm)`] == 172 WITHIN 0.3;
    """,
    check_odd_names,
    reading={"keep_default_na": False},
)


TABLES = {
    "travel": TRAVEL,
    "customers": CUSTOMERS,
    "questionnaire": QUESTIONNAIRE,
    "stays": STAYS,
    "trial": TRIAL,
    "odd names": ODD_NAMES,
}


@pytest.mark.parametrize("name", TABLES)
def test_a_table_comes_out_as_its_owner_expects(name: str, tmp_path: Path) -> None:
    table = TABLES[name]
    table.write(np.random.default_rng(5), tmp_path / "table.csv")
    (tmp_path / "p.cuts").write_text(f'SYNTHESIZE: "table.csv";\n{table.program}\nEND;\n', encoding="utf-8")
    (tmp_path / "fast.toml").write_text(FAST)
    command = "cuts run p.cuts -o out.csv --config fast.toml"
    if table.infer:
        refused, code = run(command.split(), tmp_path)
        assert (code, "looks like free text or personal data" in refused) == (1, True), refused
        output, code = run(f"cuts schema infer table.csv {table.infer} -o s.toml".split(), tmp_path)
        assert code == 0, output
        command += " --schema s.toml"
    output, code = run(command.split(), tmp_path)
    assert code == 0, output
    assert "Traceback" not in output
    for said in table.said:
        assert said in output, output
    reading = {"dtype_backend": "numpy_nullable", **table.reading}
    real, synthetic = (pd.read_csv(tmp_path / file, **reading) for file in ("table.csv", "out.csv"))
    assert [str(kind) for kind in synthetic.dtypes] == [str(kind) for kind in real[list(synthetic)].dtypes]
    table.check(real, synthetic)
