"""Every row a fitted model makes satisfies the program's rules, by our reading and by a database's."""

from __future__ import annotations

from functools import cache
from itertools import combinations

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from cuts.assess.verify import verify
from cuts.config import Config
from cuts.data.infer import infer_schema
from cuts.data.schema import Schema
from cuts.data.table import Table
from cuts.lang.binder import bind
from cuts.lang.parser import parse
from cuts.model.sampling import sample_table
from cuts.model.store import Model
from cuts.read import sql
from models import fit_model

QUICK = Config(steps=40, components=60)


@cache
def people(rows: int = 1500) -> Table:
    """People with dates, gaps and numbers that depend on each other."""
    rng = np.random.default_rng(11)
    age = rng.integers(18, 80, rows)
    begin = rng.integers(0, 2000, rows)
    return Table(
        pa.table(
            {
                "age": age,
                "tenure": np.clip(age - 14 - rng.integers(0, 30, rows), 0, None),
                "begin": pa.array(begin, pa.int32()).cast(pa.date32()),
                "finish": pa.array(begin + rng.integers(-20, 300, rows), pa.int32()).cast(pa.date32()),
                "score": pa.array(rng.normal(0, 1, rows), mask=rng.random(rows) < 0.1),
                "bonus": np.round(rng.normal(0, 1, rows), 2),
                "kind": rng.choice(["a", "b", "c"], rows),
                "paid": rng.choice(["no", "yes"], rows, p=[0.3, 0.7]),
            }
        )
    )


@cache
def schema(rows: int = 1500) -> Schema:
    return infer_schema(people(rows), "people", "paid")


@cache
def fitted(commands: str, rows: int = 1500, config: Config = QUICK) -> Model:
    return fit_model(parse(f"SYNTHESIZE: people; {commands} END;"), schema(rows), people(rows), config=config)


def violations(model: Model, made: Table) -> list[int]:
    """For every rule, how many rows a database finds to violate it."""
    spec = model.spec
    database = duckdb.connect()
    database.register("made", made.arrow)
    return [
        int(
            database.sql(f"SELECT count(*) FROM made WHERE NOT ({sql.predicate(rule.pred, spec.schema)})").fetchall()[
                0
            ][0]
        )
        for rule in spec.rules
    ]


PROGRAMS = {
    "set": "ENFORCE: age > 35 AND age < 55;",
    "implication": "ENFORCE: kind == a IMPLIES paid == yes;",
    "condition": "ENFORCE: kind == a IMPLIES age < 40 WITH mode=condition;",
    "modes together": "ENFORCE: kind != b WITH mode=condition; ENFORCE: paid == no IMPLIES age > 30;",
    "penalty": "ENFORCE: IMPLICATION: PARAM 0.00001: kind == a IMPLIES age < 40 WITH method=penalty;",
    "missing": "ENFORCE: score IS NULL OR score > 0.5;",
    "order of dates": "ENFORCE: begin <= finish;",
    "arithmetic": "ENFORCE: age - tenure >= 16; ENFORCE: kind == b IMPLIES score + bonus > 0;",
    "all": "ENFORCE: begin <= finish; ENFORCE: age - tenure >= 16; ENFORCE: kind == a IMPLIES age > 40;"
    " ENFORCE: age > 60 IMPLIES paid == yes AND score IS NOT NULL;",
    "rare": "ENFORCE: age > 75 AND kind == a AND score > 2;",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_rules_hold_in_every_row_by_two_readings(name: str) -> None:
    model = fitted(PROGRAMS[name])
    made = sample_table(model, 1000, seed=3)
    assert made.rows == 1000
    assert all(verdict.holds for verdict in verify(model.spec, made))
    assert violations(model, made) == [0] * len(model.spec.rules)


@pytest.mark.parametrize("name", ["implication", "all"])
@pytest.mark.parametrize("where", ["age > 50", "kind == a AND bonus > 0.3", 'finish >= begin + "30 days"'])
def test_conditions_compose_with_the_rules(name: str, where: str) -> None:
    model = fitted(PROGRAMS[name])
    made = sample_table(model, 500, where=where, seed=1)
    asked = bind(parse(f"SYNTHESIZE: people; ENFORCE: {where}; END;"), schema())
    assert made.rows == 500
    assert all(verdict.holds for spec in (model.spec, asked) for verdict in verify(spec, made))


def test_repair_keeps_what_the_rules_do_not_touch() -> None:
    model = fitted("ENFORCE: kind == a IMPLIES age > 40;", 3000, Config(steps=80, components=100))
    made = sample_table(model, 4000)
    for name in ("paid", "kind"):
        real = {v["values"]: v["counts"] / 3000 for v in people(3000).column(name).value_counts().to_pylist()}
        ours = {v["values"]: v["counts"] / 4000 for v in made.column(name).value_counts().to_pylist()}
        assert all(abs(real[value] - ours[value]) < 0.05 for value in real)
    facts = model.facts.rules[0]
    assert facts.real_applicable < 1.0
    assert facts.before_applicable < 1.0
    assert facts.after == pytest.approx(1.0, abs=1e-12)
    assert 0.0 < model.facts.moved < 1.0


def test_condition_is_the_original_distribution_given_the_rule() -> None:
    plain, given = fitted(""), fitted("ENFORCE: kind == a WITH mode=condition;")
    wanted = sample_table(plain, 4000, where="kind == a")
    made = sample_table(given, 4000)
    assert wanted.arrow.equals(made.arrow)


def test_sixty_rules_over_twenty_columns() -> None:
    rng = np.random.default_rng(5)
    names = [f"c{i}" for i in range(20)]
    table = Table(pa.table({name: rng.choice(["u", "v", "w"], 800) for name in names}))
    pairs = list(combinations(range(20), 2))
    chosen = [pairs[i] for i in rng.choice(len(pairs), 60, replace=False) if abs(pairs[i][0] - pairs[i][1]) < 20]
    rules = " ".join(f"ENFORCE: c{a} == u IMPLIES c{b} != w;" for a, b in chosen)
    letters = infer_schema(table, "letters")
    config = Config(steps=10, components=30, slices=0)
    model = fit_model(parse(f"SYNTHESIZE: letters; {rules} END;"), letters, table, config=config)
    made = sample_table(model, 500)
    assert violations(model, made) == [0] * 60


def test_the_neural_backbone_keeps_rules_too() -> None:
    config = Config(backbone="neural", backbone_options={"batch": 50, "final_components": 200}, steps=10)
    for mode in ("repair", "condition"):
        program = parse(f"SYNTHESIZE: people; ENFORCE: kind == a IMPLIES age > 40 WITH mode={mode}; END;")
        model = fit_model(program, schema(), people(), config=config)
        made = sample_table(model, 500)
        assert violations(model, made) == [0]
