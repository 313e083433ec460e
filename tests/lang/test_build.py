"""Programs built in Python are the programs that their text says."""

from __future__ import annotations

import operator
from datetime import date, datetime, time, timedelta
from functools import reduce

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cuts
from cuts import build
from cuts.build import (
    CORR,
    COUNT,
    COV,
    DIST,
    MEDIAN,
    MI,
    STD,
    VAR,
    E,
    H,
    P,
    Q,
    c,
    command,
    demographic_parity,
    downstream_accuracy,
    enforce,
    ensure_private,
    equality_of_opportunity,
    equalized_odds,
    expression_of,
    function,
    implies,
    maximize,
    minimize,
    placeholder,
    program,
)
from cuts.lang.parser import parse_expression
from cuts.lang.printer import expression
from cuts.vocab.names import measures, statistics

SAME = [
    (c.age >= 18, "age >= 18"),
    (18 <= c.age, "age >= 18"),  # noqa: SIM300
    (c["marital-status"] != "Divorced", '`marital-status` != "Divorced"'),
    (c.paid == True, 'paid == "true"'),  # noqa: E712
    ((c.age > 18) & (c.age < 65) & ~c.sex.is_null(), "age > 18 AND age < 65 AND NOT (sex IS NULL)"),
    ((c.age > 18) | ((c.sex == "Male") & (c.age < 9)), 'age > 18 OR sex == "Male" AND age < 9'),
    (((c.age > 18) | (c.sex == "Male")) & (c.age < 9), '(age > 18 OR sex == "Male") AND age < 9'),
    (~c.ward.isin(["eye", 'the "A" ward']), """NOT (ward IN {"eye", 'the "A" ward'})"""),
    (c.age.between(18, c.limit + 1), "age BETWEEN 18 AND limit + 1"),
    (implies(c.age < 18, c.job.is_null()), "age < 18 IMPLIES job IS NULL"),
    (2 * (c.a + c.b) - c.x / 4 <= -c.y, "2 * (a + b) - x / 4 <= -y"),
    (1 - c.a > -2.5, "1 - a > -2.5"),
    (c.born >= date(1980, 1, 2), 'born >= "1980-01-02"'),
    (c.seen < datetime(2020, 1, 2, 3, 4, 5), 'seen < "2020-01-02 03:04:05"'),
    (c.at <= time(9, 30), 'at <= "09:30:00"'),
    (c.left - c.came <= timedelta(days=30, seconds=1), 'left - came <= "2592001 s"'),
    (E(c.age, given=c.sex == "M") == E(c.age, given=c.sex == "F"), 'E[age | sex == "M"] == E[age | sex == "F"]'),
    (Q(0.9, c.age) - MEDIAN(c.age) <= STD(c.age), "Q(0.9)[age] - MEDIAN[age] <= STD[age]"),
    (VAR(c.a) + COV(c.a, c.b) <= CORR(c.a, c.b), "VAR[a] + COV[a, b] <= CORR[a, b]"),
    (MI(c.a, c.b) <= H(c.a), "MI[a, b] <= H[a]"),
    (P(c.a > 1, given=c.b == 2) >= placeholder("share"), "P[a > 1 | b == 2] >= <share>"),
    (COUNT(c.a > 1) == 15_000, "COUNT[a > 1] == 15000"),
    (DIST(c.race) == {"White": 0.6, "*": "proportional"}, 'DIST[race] == {"White": 60%, *: proportional}'),
    (function("abs", E(c.a) - E(c.b)) <= 2, "abs(E[a] - E[b]) <= 2"),
    (expression_of("age > 35") & (c.sex == "Male"), 'age > 35 AND sex == "Male"'),
]  # fmt: skip


@pytest.mark.parametrize(("built", "text"), SAME, ids=[text for _, text in SAME])
def test_an_expression_is_the_tree_of_its_text(built: build.Expression, text: str) -> None:
    assert built.node == parse_expression(text)
    assert parse_expression(repr(built)) == built.node


GAP = "(protected=sex, target=salary)"
COMMANDS = [
    (enforce(E(c.age) == 30, within=0.1), "ENFORCE: E[age] == 30 WITHIN 0.1"),
    (enforce(E(c.age) == 30, within=placeholder("gap")), "ENFORCE: E[age] == 30 WITHIN <gap>"),
    (enforce(c.age > 3, weight=0.5, mode="condition"), "ENFORCE: PARAM 0.5: age > 3 WITH mode=condition"),
    (minimize(demographic_parity(protected=c.sex, target="salary")), f"MINIMIZE: DEMOGRAPHIC_PARITY{GAP}"),
    (enforce(equalized_odds(protected=c.sex, target="salary") <= 0.02), f"ENFORCE: EQUALIZED_ODDS{GAP} <= 0.02"),
    (
        minimize(equality_of_opportunity(protected=["sex", c.race], target="salary"), budget=0.02),
        "MINIMIZE: EQUALITY_OF_OPPORTUNITY(protected=[sex, race], target=salary) WITH budget=0.02",
    ),
    (
        maximize(downstream_accuracy(target="sex", features="all")),
        "MAXIMIZE: DOWNSTREAM_ACCURACY(target=sex, features=all)",
    ),
    (
        ensure_private(epsilon=1, delta=1e-9, person="patient"),
        "ENSURE: DIFFERENTIAL PRIVACY: EPSILON=1, DELTA=1e-9 WITH person=patient",
    ),
    (command("enforce: age > 35;"), "ENFORCE: age > 35"),
]  # fmt: skip


@pytest.mark.parametrize(("built", "text"), COMMANDS, ids=[text for _, text in COMMANDS])
def test_a_command_is_the_tree_of_its_text(built: cuts.lang.syntax.Command, text: str) -> None:
    assert program("adult", built) == cuts.parse(f"SYNTHESIZE: adult; {text}; END;")


def test_every_statistic_has_a_function_and_every_measure_a_name() -> None:
    for name in statistics():
        assert name in build.__all__, name
    for name in measures():
        built = build.measure(name, protected=c.sex, target=c.salary)
        assert parse_expression(repr(built)) == built.node


@given(st.recursive(
    st.sampled_from([c.age > 18, c["odd name"] == "x", ~c.job.is_null(), c.a + 2 * c.b <= 7, c.ward.isin(["eye"])]),
    lambda parts: st.one_of(
        st.lists(parts, min_size=2, max_size=3).map(lambda many: reduce(operator.and_, many)),
        st.lists(parts, min_size=2, max_size=3).map(lambda many: reduce(operator.or_, many)),
        parts.map(operator.invert),
        st.tuples(parts, parts).map(lambda two: implies(*two)),
    ),
    max_leaves=8,
))  # fmt: skip
def test_what_is_built_is_what_its_text_reads_as(built: build.Expression) -> None:
    assert parse_expression(expression(built.node)) == built.node


def test_a_program_of_conditions_runs_and_messages_show_its_lines() -> None:
    people = pa.table({"age": [20, 30, 40, 50] * 25, "paid": ["no", "yes"] * 50})
    built = program("people", c.age > 20, enforce(P(c.paid == "yes") == 0.3))
    assert str(built) == cuts.render(built)
    assert cuts.run(built, people, rows=50, config={"steps": 50}).holds
    with pytest.raises(cuts.CutsError) as error:
        cuts.run(program("people", c.agee > 20), people)
    assert error.value.diagnostics[0].code == "unknown-column"
    assert error.value.source is not None
    assert error.value.source.text == "SYNTHESIZE: people;\n\n    ENFORCE: agee > 20;\n\nEND;\n"


@pytest.mark.parametrize(
    ("wrong", "kind", "message"),
    [
        (lambda: 18 <= c.age <= 65, TypeError, "between"),
        (lambda: bool(c.age > 3), TypeError, "neither true nor false"),
        (lambda: c.age == object(), TypeError, "cannot contain"),
        (lambda: c.name == '"it\'s"', ValueError, "both kinds of quotes"),
        (lambda: c.ward.isin([E(c.age)]), TypeError, "cannot stand here"),
        (lambda: enforce("age > 3"), TypeError, "c.age >= 18"),
        (lambda: command("enforce: a > 1; enforce: b > 1"), ValueError, "not one command"),
        (lambda: DIST(c.race) == {"White": c.age}, TypeError, "a share is"),
        (lambda: hash(c.age), TypeError, "unhashable"),
    ],
)
def test_what_cannot_be_built_is_an_error_of_python(wrong: object, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        wrong()  # type: ignore[operator]


def test_a_tolerance_can_be_given_to_the_comparison_or_to_the_command() -> None:
    equal = E(c.age, given=c.sex == "Male") == 30
    assert equal.within(0.1) == enforce(E(c.age, given=c.sex == "Male") == 30, within=0.1)
    assert program("t", equal.within("2 years")) == program("t", enforce(equal, within="2 years"))
    assert "WITHIN <gap>" in str(program("t", equal.within(placeholder("gap"))))


def test_text_and_built_commands_make_one_program() -> None:
    mixed = program("t", "ENFORCE: age > 35;", c.sex == "Male", command("minimize: VAR[age]"))
    assert mixed == cuts.parse('SYNTHESIZE: t; ENFORCE: age > 35; ENFORCE: sex == "Male"; MINIMIZE: VAR[age]; END;')


def test_a_parsed_program_is_extended_and_keeps_its_lets_and_comments() -> None:
    text = "# of the clinic\nSYNTHESIZE: t;\nLET old := age > 60;  # retired\nENFORCE: old IMPLIES sex == Male;\nEND;"
    base = cuts.parse(text)
    longer = program(base, c.age >= 18)
    assert longer.lets == base.lets
    assert longer.commands == (*base.commands, enforce(c.age >= 18))
    assert base == cuts.parse(text), "the program that was given is unchanged"
    for comment in ("# of the clinic", "# retired"):
        assert comment in str(longer)


def test_a_text_that_is_not_one_command_is_refused() -> None:
    with pytest.raises(ValueError, match="not one command"):
        program("t", "ENFORCE: age > 35; ENFORCE: age > 36")
