"""Two small invented tables, used by other examples: hospital stays with dates, and a questionnaire with skip logic.

As a script it writes both to the current folder: `stays.csv` and `survey.csv`.
"""

import random
from datetime import date, timedelta

import pyarrow as pa
import pyarrow.csv

WARDS = {"medicine": 7, "surgery": 5, "cardiology": 9, "maternity": 4}  # mean stay in days


def stays(rows: int = 1_500) -> pa.Table:
    """Hospital stays. Some are implausibly long, and in a few the dates are interchanged."""
    rng = random.Random(0)
    made = []
    for _ in range(rows):
        ward = rng.choice(list(WARDS))
        sex = "female" if ward == "maternity" else rng.choice(["female", "male"])
        age = rng.randint(18, 45) if ward == "maternity" else min(99, max(1, round(rng.gauss(62, 18))))
        days = min(120, int(rng.expovariate(1 / WARDS[ward]) * (1.5 if age > 75 else 1)))
        if rng.random() < 0.01:
            days = rng.randint(91, 120)
        admission = date(2024, 1, 1) + timedelta(rng.randrange(360))
        discharge = admission + timedelta(days)
        if rng.random() < 0.01:
            admission, discharge = discharge, admission
        died = "yes" if ward != "maternity" and rng.random() < 0.01 + max(0, age - 60) / 400 else "no"
        made.append((ward, age, sex, admission, discharge, died))
    return _table(made, "ward age sex admission discharge died")


def survey(rows: int = 1_500) -> pa.Table:
    """A questionnaire: who does not smoke skips the question about cigarettes, who has no job the one about hours."""
    rng = random.Random(0)
    made = []
    for _ in range(rows):
        age = rng.randint(16, 90)
        smokes = "yes" if rng.random() < (0.3 if age < 60 else 0.15) else "no"
        cigarettes = rng.choice([3, 5, 10, 15, 20, 20, 30]) if smokes == "yes" else None
        employed = "yes" if rng.random() < (0.75 if 20 <= age < 65 else 0.1) else "no"
        hours = rng.choice([20, 30, 40, 40, 40, 50]) if employed == "yes" else None
        health = "poor" if rng.random() < age / 300 + (cigarettes or 0) / 100 else "good"
        made.append((age, smokes, cigarettes, employed, hours, health))
    return _table(made, "age smokes cigarettes employed hours health")


def _table(rows: list[tuple], names: str) -> pa.Table:
    return pa.table(list(zip(*rows, strict=True)), names=names.split())


if __name__ == "__main__":
    for name, table in {"stays.csv": stays(), "survey.csv": survey()}.items():
        pyarrow.csv.write_csv(table, name)
        print(f"{name}: {table.num_rows:,} rows, {', '.join(table.column_names)}")
