"""Which targets are out of reach."""

from __future__ import annotations

import pytest

from cuts.lang.binder import bind
from cuts.lang.parser import parse
from cuts.logic.reach import check_statistics
from reference import ADULT


def codes(*commands: str) -> list[str]:
    text = "SYNTHESIZE: adult; " + " ".join(f"ENFORCE: {command};" for command in commands) + " END;"
    return [d.code for d in check_statistics(bind(parse(text), ADULT))]


@pytest.mark.parametrize(
    "commands",
    [
        ("age > 35", "E[age] == 30"),
        ("sex == Female", "P[sex == Male] >= 0.1"),
        ("sex == Female", "DIST[sex] == {Male: 50%, Female: 50%}"),
        ("sex == Female", "H[sex] >= 0.1"),
        ("sex == Female", "E[age | sex == Male] == 40"),
        ("age < 30", "MEDIAN[age] >= 40"),
        ("age BETWEEN 30 AND 40", "STD[age] >= 6"),
        ("sex == Male IMPLIES age > 50", "E[age | sex == Male] <= 45"),
        ("age > 35", "E[age] == 30 OR E[age] == 20"),
        ("age > 35", "E[hours_per_week] >= 10 AND E[age] - 5 <= 25"),
        ("age > 20", "CORR[age, sex] > 1"),
        ("age > 20", "30 >= E[age + 20]"),
        ("race == White", "DIST[race] == {White: 60%, *: proportional}"),
        ("age > 20", "E[age | age < 20] == 18"),
    ],
)
def test_out_of_reach(commands: tuple[str, ...]) -> None:
    assert codes(*commands) == ["unreachable-target"]


@pytest.mark.parametrize(
    "commands",
    [
        ("age > 35", "E[age] == 36"),
        ("age > 35", "E[age] == 35.7"),  # within the default tolerance
        ("age > 35", "E[age] == 30 OR E[hours_per_week] == 40"),
        ("sex == Male IMPLIES age > 50", "E[age] <= 30"),
        ("E[age | sex == Male] == E[age | sex == Female]",),
        ("age - hours_per_week >= 0", "E[age] == 20"),
        ("COUNT[sex == Male] >= 1000",),
        ("H[race] == 1.6",),
        ("age > 20", "E[age | age < 20] == 18 OR E[age] == 40"),
        ("age > 20", "COUNT[sex == Male | age < 20] == 0"),
        ("age > 20", "E[age] == 40 IMPLIES E[age | age < 20] == 3"),
    ],
)
def test_within_reach(commands: tuple[str, ...]) -> None:
    assert codes(*commands) == []


@pytest.mark.parametrize(
    ("target", "label"),
    [
        ("E[age] == 30", "the mean of `age` can only lie between 36 and 90"),
        ("STD[age] >= 60", "the standard deviation of `age` can only lie between 0 and 27"),
        ("E[2 * age] == 30", "this mean can only lie between 72 and 180"),
        ("P[age > 20] <= 0.5", "this share of rows can only be 1"),
        ("E[age] - 5 <= 25", "the left side can only lie between 31 and 85"),
        ("E[hours_per_week | age < 20] == 30", "no row can satisfy its condition"),
    ],
)
def test_what_is_out_of_reach_is_said_in_words(target: str, label: str) -> None:
    program = parse(f"SYNTHESIZE: adult; ENFORCE: age > 35; ENFORCE: {target}; END;")
    (diagnostic,) = check_statistics(bind(program, ADULT))
    assert diagnostic.label == label


def test_two_targets_for_one_statistic_conflict() -> None:
    assert codes("E[age] == 30", "E[age] >= 40") == ["conflicting-statistics"]
    assert codes("E[age] == 30 WITHIN 6", "40 <= E[age] WITHIN 5") == []
    assert codes("E[age | sex == Male] == 30", "E[age] == 40") == []
    assert codes("E[age] == 30 AND E[age] == 50") == ["conflicting-statistics"]


def test_rounding_never_puts_a_target_out_of_reach() -> None:
    assert codes("age == 30", "E[0.1 * age] <= 3") == []
    assert codes("age == 30", "E[0.1 * age] == 3 WITHIN 0") == []
    assert codes("age == 30", "COV[age, log(capital_gain)] <= 0") == []


def test_a_measure_cannot_leave_its_range() -> None:
    assert codes("DEMOGRAPHIC_PARITY(protected=sex, target=salary) <= -1") == ["unreachable-target"]
    assert codes("DEMOGRAPHIC_PARITY(protected=sex, target=salary) <= 0.02") == []
