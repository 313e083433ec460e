"""What expressions mean."""

from __future__ import annotations

from fractions import Fraction
from operator import eq, ge, gt, le, lt, ne

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cuts.data.conform import conform
from cuts.data.schema import Category, Identifier, Integer, Real, Schema
from cuts.data.table import Table
from cuts.flow.checks import check
from cuts.lang.binder import bind, bind_all, bind_predicate
from cuts.lang.parser import parse, parse_expression
from cuts.lang.spec import (
    And,
    Distribution,
    InSet,
    Linear,
    LinearCompare,
    Missing,
    ModelGoal,
    Not,
    Or,
    Pred,
    Privacy,
    Relation,
    RowRule,
    TableAim,
    TableGoal,
)
from cuts.logic.core import build_grid, encode_variables
from cuts.logic.diagram import compile_rules, contains
from cuts.read import exact
from cuts.text.diagnostic import CutsError

SCHEMA = Schema(
    "people",
    (
        Integer("age", 17, 90),
        Integer("tenure", 0, 60, missing=True),
        Real("height", 1.0, 2.5),
        Category("sex", ("Female", "Male")),
        Category("marital-status", ("Never-married", "Divorced", "Never_married_x")),
        Category("A1", ("A11", "A12")),
        Integer("A11", 1, 4),
        Category("class", ("1", "2")),
        Category("school", ("none", "primary", "high"), ordered=True),
        Category("born", ("US", "UK")),
        Category("lives", ("UK", "FR", "US")),
    ),
)


def pred(text: str) -> Pred:
    return bind_predicate(parse_expression(text), SCHEMA)


def codes(text: str) -> list[str]:
    _, found = bind_all(parse(f"SYNTHESIZE: people; {text}; END;"), SCHEMA)
    return [d.code for d in found]


def age(op: str, bound: float) -> LinearCompare:
    return LinearCompare(Linear((("age", 1.0),)), op, bound)  # type: ignore[arg-type]


def one(column: str, *values: str, negated: bool = False) -> InSet:
    return InSet(column, frozenset(values), negated)


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("age > 35", age(">", 35)),
        ("35 < age", age(">", 35)),
        ("18 <= age < 65", And((age(">=", 18), age("<", 65)))),
        ("age BETWEEN 18 AND 65", And((age(">=", 18), age("<=", 65)))),
        ("age NOT BETWEEN 18 AND 65", Or((age("<", 18), age(">", 65)))),
        ("2 * age + 10 > 80", age(">", 35)),
        ("-age <= -18", age(">=", 18)),
        ("age in {20, 30}", Or((age("==", 20), age("==", 30)))),
        ("sex == Male", one("sex", "Male")),
        ("Male == sex", one("sex", "Male")),
        ("sex != Male", one("sex", "Male", negated=True)),
        ('sex = "Male"', one("sex", "Male")),
        ("marital_status == Never_married", one("marital-status", "Never-married")),
        ("`marital-status` in {Divorced}", one("marital-status", "Divorced")),
        ("A1 == A11", one("A1", "A11")),
        ("A11 > 2", LinearCompare(Linear((("A11", 1.0),)), ">", 2.0)),
        ("class == 1", one("class", "1")),
        ("class in {1, 2}", one("class", "1", "2")),
        ("school >= primary", one("school", "primary", "high")),
        ("none < school", one("school", "primary", "high")),
        ("tenure IS NULL", Missing("tenure")),
        ("tenure is not null", Not(Missing("tenure"))),
        ("age - tenure >= 16", LinearCompare(Linear((("age", 1.0), ("tenure", -1.0))), ">=", 16.0)),
        ("tenure <= age - 16", LinearCompare(Linear((("age", 1.0), ("tenure", -1.0))), ">=", 16.0)),
        ("2 * age >= 4 * tenure + 6", LinearCompare(Linear((("age", 1.0), ("tenure", -2.0))), ">=", 3.0)),
        (
            "born == lives",
            Or(
                (
                    And((one("born", "US"), one("lives", "US"))),
                    And((one("born", "UK"), one("lives", "UK"))),
                )
            ),
        ),
    ],
)
def test_a_row_expression_means_this(text: str, meaning: Pred) -> None:
    assert pred(text) == meaning


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("agee > 3", "unknown-column"),
        ("sex == Femal", "unknown-category"),
        ("sex == 3", "unknown-category"),
        ("sex > Female", "type-mismatch"),
        ("sex + 1 > 2", "type-mismatch"),
        ("age", "type-mismatch"),
        ("age == Male", "type-mismatch"),
        ('age == "Male"', "type-mismatch"),
        ("age * tenure > 3", "nonlinear-rule"),
        ("age / tenure > 3", "nonlinear-rule"),
        ("max(age, 3) > 3", "nonlinear-rule"),
        ("foo(age) > 3", "unknown-function"),
        ("(age > 3) IS NULL", "type-mismatch"),
        ("sex == Male AND E[age] == 30", "level-mismatch"),
        ("age > 120", "outside-domain"),
        ("age > 20 AND age < 3", "outside-domain"),
        ("age + E[age] > 3", "level-mismatch"),
        ("E[age]", "action-mismatch"),
        ("E[E[age]] == 3", "level-mismatch"),
        ("E[age, tenure] == 3", "wrong-arguments"),
        ("Q[age] == 3", "wrong-arguments"),
        ("Q(2)[age] == 3", "wrong-arguments"),
        ("foo[age] == 3", "unknown-function"),
        ("E[age > 3] == 0.5", "type-mismatch"),
        ("DIST[sex] == {Male: 50%}", "bad-distribution"),
        ("DIST[sex] == {Male: 150%, *: proportional}", "bad-distribution"),
        ("DIST[sex] <= {Male: 50%, Female: 50%}", "type-mismatch"),
        ("DIST[age] == {Male: 50%, Female: 50%}", "type-mismatch"),
        ("DEMOGRAPHIC_PARITY(protected=sex, target=class)", "action-mismatch"),
        ("DEMOGRAPHIC_PARITY(protected=sex, target=class) + 1 <= 3", "level-mismatch"),
        ("age > 3 WITH mode=foo", "bad-option"),
        ("age > 20 WITHIN 3", "bad-option"),
        ("age > 20 WITH tol=3", "unknown-option"),
        ("PARAM -1: age > 20", "bad-weight"),
        ("IMPLICATION: age > 20", "kind-mismatch"),
        ("STATISTICAL: age > 20", "kind-mismatch"),
    ],
)
def test_a_mistake_has_its_code(text: str, code: str) -> None:
    assert code in codes(f"ENFORCE: {text}")


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("MINIMIZE: age > 3", "action-mismatch"),
        ("MINIMIZE: E[age] == 3", "action-mismatch"),
        ("MAXIMIZE: DEMOGRAPHIC_PARITY(protected=sex, target=class)", "action-mismatch"),
        ("MINIMIZE: DEMOGRAPHIC_PARITY(protected=sex)", "missing-argument"),
        ("MINIMIZE: DEMOGRAPHIC_PARITY(protected=sex, target=class, foo=3)", "unknown-option"),
        ("MINIMIZE: DEMOGRAPHIC_PARITY(protected=sex, target=sex)", "protected-equals-target"),
        ("MINIMIZE: DEMOGRAPHIC_PARITY(protected=age, target=class)", "type-mismatch"),
        ("MINIMIZE: DOWNSTREAM_ACCURACY(features=[sex, class], target=class)", "target-in-features"),
        ("ENSURE: DIFFERENTIAL PRIVACY: EPSILON=0, DELTA=1e-9", "bad-epsilon"),
        ("ENSURE: DIFFERENTIAL PRIVACY: EPSILON=1, DELTA=2", "bad-delta"),
        ("ENSURE: DIFFERENTIAL PRIVACY: EPSILON=1", "missing-argument"),
        ("ENSURE: EPSILON=1, DELTA=1e-9; ENSURE: EPSILON=1, DELTA=1e-9", "duplicate-privacy"),
        ("ENSURE: age > 3", "action-mismatch"),
        ("LET age := 3; ENFORCE: sex == Male", "name-collision"),
        ("LET x := y; LET y := x; ENFORCE: age > x", "circular-let"),
    ],
)
def test_a_mistake_in_a_command_has_its_code(text: str, code: str) -> None:
    assert code in codes(text)


DOUBLING = "LET x0 := age; " + " ".join(f"LET x{i} := x{i - 1} + x{i - 1};" for i in range(1, 60))
CHAIN = "LET x0 := age; " + " ".join(f"LET x{i} := x{i - 1} + 1;" for i in range(1, 1200))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ENFORCE: marital-status == Divorced", ["unknown-column"]),
        ("ENFORCE: E[marital-status] == 1", ["unknown-column"]),
        ("ENFORCE: `marital-status` == Never-married", ["unknown-category"]),
        ("ENFORCE: agee == Malee", ["unknown-column"]),
        ("ENFORCE: age == 40.5", ["outside-domain"]),
        ("ENFORCE: age IS NULL", ["outside-domain"]),
        ("ENFORCE: E(age) == 40", ["unknown-function"]),
        ("ENFORCE: E[age] / 0 > 3", ["bad-number"]),
        ("ENFORCE: age / 0 > 3", ["bad-number"]),
        ("ENFORCE: E[age] == 40 OR E[age] IN {3, 4}", ["type-mismatch"]),
        ("ENSURE: DIFFERENTIAL PRIVACY: 1.0", ["missing-argument"]),
        ("ENSURE: EPSILON=1, DELTA=1e-9 WITHIN 3", ["bad-option"]),
        ("MINIMIZE: DEMOGRAPHIC_PARTY(protected=sex, target=class)", ["unknown-function"]),
        ("MINIMIZE: DEMOGRAPHIC_PARITY(sex, class)", ["wrong-arguments"]),
        ("MINIMIZE: H[sex] WITH budget=1%, budget=2%", ["wrong-arguments"]),
        ("MINIMIZE: age", ["action-mismatch"]),
        ("LET x := x + 1; ENFORCE: age > x", ["circular-let"]),
        ("LET x := y; LET y := x; ENFORCE: sex == Male", ["circular-let"]),
        ("LET Male := 3; ENFORCE: sex == Male", ["name-collision"]),
        ("ENFORCE: age > 1e308 * 1e308", ["bad-number"]),
        ("ENFORCE: age * 1e308 * 1e308 > 3", []),
        ("ENFORCE: age * 1e308 * 1e308 - tenure > 3", ["bad-number"]),
        ("ENFORCE: E[age] == 1e308*10 - 1e308*10", ["bad-number", "bad-number"]),
        ("ENFORCE: E[log(tenure)] == 3", ["needs-tolerance"]),
        ("ENFORCE: E[log(tenure)] == 3 WITHIN 1", []),
        ("ENFORCE: age > <x> AND sex IN {<y>}", ["open-placeholder", "open-placeholder"]),
        ("LET `old one` := age > 60; ENFORCE: `old one` IMPLIES sex == Male", []),
        ("MINIMIZE: DEMOGRAPHIC_PARITY(protected=sex, target=class, batch_size=0, n_epochs=1.5)", ["bad-option"] * 2),
        (f"{DOUBLING} ENFORCE: x59 > 3", ["syntax-error"]),
        (f"{CHAIN} ENFORCE: x1199 > 3", ["syntax-error"]),
    ],
)
def test_a_mistake_is_reported_once_and_nothing_else(text: str, expected: list[str]) -> None:
    assert codes(text) == expected


def test_all_mistakes_are_reported_at_once_in_order_of_place() -> None:
    assert codes("ENFORCE: agee > 3; ENFORCE: sex == Femal AND E[foo] == 3; MINIMIZE: age > 3") == [
        "unknown-column",
        "level-mismatch",
        "unknown-column",
        "action-mismatch",
    ]


def test_commands_of_every_level_are_bound() -> None:
    spec = bind(
        parse(
            """SYNTHESIZE: people;
            LET adults := age >= 18;
            ENSURE: EPSILON=1, DELTA=1e-9 WITH max_rows_per_person=2;
            ENFORCE: adults AND sex == Male WITH mode=condition;
            ENFORCE: E[height | adults] == 1.7;
            ENFORCE: DIST[sex] == {Male: 60%, *: proportional};
            MAXIMIZE: H[sex, class] WITH budget=1%;
            ENFORCE: DEMOGRAPHIC_PARITY(protected=[sex, born], target=class, desired_outcome=2) <= 0.02;
            END;"""
        ),
        SCHEMA,
    )
    privacy, rule, mean, shares, entropy, fair = spec.commands
    assert isinstance(privacy, Privacy)
    assert privacy.max_rows_per_person == 2
    assert isinstance(rule, RowRule)
    assert rule.mode == "condition"
    assert rule.pred == And((age(">=", 18), one("sex", "Male")))
    assert isinstance(mean, TableGoal)
    assert isinstance(mean.goal, Relation)
    assert mean.goal.tolerance == pytest.approx(0.005 * 1.5)
    assert isinstance(shares, TableGoal)
    assert isinstance(shares.goal, Distribution)
    assert shares.goal.rest
    assert isinstance(entropy, TableAim)
    assert entropy.budget == 0.01
    assert isinstance(fair, ModelGoal)
    assert fair.measure.protected == ("sex", "born")
    assert fair.measure.desired == "2"
    assert fair.tolerance == 0.0


@pytest.mark.parametrize(
    ("text", "tolerance"),
    [
        ("E[age] == 30", 0.365),
        ("E[age] == E[tenure]", 0.365),
        ("E[age] / 2 == 15", 0.1825),
        ("E[age] <= 30", 0.0),
        ("P[age > 30] == 0.5", 0.005),
        ("CORR[age, tenure] == 0", 0.005),
        ("H[sex] == 0.6", 0.01),
        ("(E[age * tenure] - E[age] * E[tenure]) == 0", 0.005),
        ("E[age] == 30 WITHIN 2", 2.0),
        ("E[age] == 30 +- 2", 2.0),
        ("E[age] <= 30 WITH tol=2", 2.0),
        ("STD[age] == 10", 0.365),
    ],
)
def test_the_tolerance_when_none_is_written(text: str, tolerance: float) -> None:
    (command,) = bind(parse(f"SYNTHESIZE: people; ENFORCE: {text}; END;"), SCHEMA).commands
    assert isinstance(command, TableGoal)
    assert isinstance(command.goal, Relation)
    assert command.goal.tolerance == pytest.approx(tolerance)


@pytest.mark.parametrize(
    "expression",
    [
        "VAR[age * 1e308] > 3",
        "VAR[exp(age * 7)] >= 3",
        "exp(E[age * 90]) - exp(E[age * 90]) >= 0",
        "E[exp(age * 90)] <= 1",
    ],
)
def test_arithmetic_that_leaves_the_numbers_is_answered(expression: str) -> None:
    found = check(parse(f"SYNTHESIZE: people; ENFORCE: {expression}; END;"), SCHEMA).diagnostics
    assert {d.code for d in found} <= {"strict-on-real", "unreachable-target"}


COEFFICIENTS = st.sampled_from(["1", "-1", "2", "3", "-3", "7", "0.1", "0.5", "-1.5", "10"])


@settings(max_examples=100, deadline=None)
@given(COEFFICIENTS, COEFFICIENTS, st.integers(-20, 40), st.sampled_from(["==", "!=", "<", "<=", ">", ">="]))
def test_a_linear_rule_holds_on_exactly_the_rows_it_says(a: str, b: str, c: int, op: str) -> None:
    schema = Schema("t", (Integer("x", 0, 12), Integer("y", 0, 12)))
    pairs = [(x, y) for x in range(13) for y in range(13)]
    table = Table(pa.table({"x": [x for x, _ in pairs], "y": [y for _, y in pairs]}))
    rule = bind_predicate(parse_expression(f"{a} * x {op} {c} - {b} * y"), schema)
    compare = {"==": eq, "!=": ne, "<": lt, "<=": le, ">": gt, ">=": ge}[op]
    expected = [compare(Fraction(a) * x + Fraction(b) * y, c) for x, y in pairs]
    exact_in_floats = all(float(k).is_integer() or k in ("0.5", "-1.5") for k in (a, b))
    if exact_in_floats or a == b:
        assert exact.mask(rule, conform(table, schema)).tolist() == expected
    grid = build_grid([rule], schema)
    assert (
        contains(compile_rules([rule], grid), encode_variables(table, grid)).tolist()
        == exact.mask(rule, conform(table, schema)).tolist()
    )


def test_an_ambiguous_number_offers_what_was_written_first() -> None:
    schema = Schema("t", (Category("grade", ("1.0", "1", "2")), Integer("n", 0, 9)))
    _, (problem,) = bind_all(parse("SYNTHESIZE: t; ENFORCE: grade == 1; END;"), schema)
    assert (problem.code, problem.help) == ("ambiguous-name", 'write it in quotes: "1" or "1.0"')


def test_a_word_beside_a_column_is_one_of_its_values() -> None:
    schema = Schema("t", (Category("grade", ("low", "high")), Integer("n", 0, 9), Identifier("key", "P###")))
    for text, code, title in (
        ("middle == grade", "unknown-category", "the column `grade` has no value `middle`"),
        ("n >= many", "type-mismatch", "`n` holds numbers, `many` is neither a number nor a column"),
        ("key != P001", "not-modelled", "a command cannot be about `key`"),
        ("P001 != key", "not-modelled", "a command cannot be about `key`"),
        ('key != "P001"', "not-modelled", "a command cannot be about `key`"),
    ):
        _, (problem,) = bind_all(parse(f"SYNTHESIZE: t; ENFORCE: {text}; END;"), schema)
        assert (problem.code, problem.title) == (code, title)


def test_an_ambiguous_name_is_an_error() -> None:
    schema = Schema("t", (Category("x", ("a-b", "a b")),))
    with pytest.raises(CutsError, match="ambiguous-name"):
        bind(parse("SYNTHESIZE: t; ENFORCE: x == a_b; END;"), schema)
    bind(parse('SYNTHESIZE: t; ENFORCE: x == "a b"; END;'), schema)


def test_an_inferred_schema_is_refused_in_private_mode() -> None:
    from dataclasses import replace

    private = parse("SYNTHESIZE: people; ENSURE: EPSILON=1, DELTA=1e-9; END;")
    with pytest.raises(CutsError) as caught:
        bind(private, replace(SCHEMA, provenance="inferred"))
    assert caught.value.exit_code == 5
