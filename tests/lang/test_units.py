"""Units of time: what may be compared and computed, what is refused, and what the help says."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuts.data.computed import parse_formula, with_units
from cuts.data.schema import Category, Identifier, Integer, Numeric, Real, Schema, Temporal
from cuts.data.temporal import parse_duration, parse_moment
from cuts.data.units import DAY, Unit
from cuts.lang import units
from cuts.lang.binder import bind, bind_all, bind_predicate
from cuts.lang.parser import parse, parse_expression
from cuts.lang.placeholders import fill
from cuts.lang.spec import Const, LinearCompare, Pred, Relation, TableGoal
from cuts.text.diagnostic import CutsError, Diagnostic

FIRST = 19_723.0  # 2024-01-01
SCHEMA = Schema(
    "stays",
    (
        Temporal("born", "date", 0.0, 15_000.0),
        Temporal("admitted", "date", FIRST, FIRST + 365),
        Temporal("discharged", "date", FIRST, FIRST + 400, missing=True),
        Temporal("seen", "timestamp", FIRST * DAY, (FIRST + 365) * DAY),
        Temporal("gone", "timestamp", FIRST * DAY, (FIRST + 400) * DAY),
        Temporal("logged", "timestamp", FIRST * DAY, (FIRST + 400) * DAY, decimals=3),
        Temporal("stay", "duration", 0.0, 90.0 * DAY),
        Temporal("opens", "time", 0.0, DAY - 1.0),
        Integer("nights", 0, 90),
        Real("cost", 0.0, 1e4, decimals=2),
        Category("ward", ("a", "b")),
        Identifier("patient", "P###"),
    ),
)


def pred(text: str) -> Pred:
    return bind_predicate(parse_expression(text), SCHEMA)


def compared(text: str) -> tuple[dict[str, float], str, float]:
    leaf = pred(text)
    assert isinstance(leaf, LinearCompare)
    return dict(leaf.form.terms), leaf.op, leaf.bound


def problems(text: str, schema: Schema = SCHEMA) -> tuple[Diagnostic, ...]:
    return bind_all(parse(f"SYNTHESIZE: stays; ENFORCE: {text}; END;"), schema)[1]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('born >= "1980-01-01"', ({"born": 1.0}, ">=", 3652.0)),
        ('born >= "1980-01-01T12:00"', ({"born": 1.0}, ">=", 3652.5)),
        ('"2024-02-01" <= seen', ({"seen": 1.0}, ">=", (FIRST + 31) * DAY)),
        ("admitted <= seen", ({"admitted": 86_400.0, "seen": -1.0}, "<=", 0.0)),
        ('discharged - admitted <= "30 days"', ({"admitted": 1.0, "discharged": -1.0}, ">=", -30.0)),
        ('discharged - admitted <= "36 h"', ({"admitted": 1.0, "discharged": -1.0}, ">=", -1.5)),
        ('gone - seen <= "30 days"', ({"seen": 1.0, "gone": -1.0}, ">=", -2_592_000.0)),
        ('gone <= seen + "P1DT12H"', ({"seen": 1.0, "gone": -1.0}, ">=", -129_600.0)),
        ('seen - admitted < "36 h"', ({"admitted": 86_400.0, "seen": -1.0}, ">", -129_600.0)),
        ('stay <= nights * "1 day"', ({"stay": 1.0, "nights": -86_400.0}, "<=", 0.0)),
        (
            'nights * "1 day" == discharged - admitted',
            ({"admitted": 1.0, "discharged": -1.0, "nights": 1.0}, "==", 0.0),
        ),
        ('(gone - seen) / "1 h" <= 36', ({"seen": 1.0, "gone": -1.0}, ">=", -129_600.0)),
        ('"2024-12-31" - born >= "18 w"', ({"born": 1.0}, "<=", 20_088.0 - 126)),
        ('stay / 2 <= "1 day"', ({"stay": 1.0}, "<=", 172_800.0)),
        ('opens < "08:30"', ({"opens": 1.0}, "<", 30_600.0)),
        ('-stay >= "-1 day"', ({"stay": 1.0}, "<=", 86_400.0)),
    ],
)
def test_constants_are_converted_to_what_the_columns_count(
    text: str, expected: tuple[dict[str, float], str, float]
) -> None:
    assert compared(text) == expected


BARE = [
    "born >= 1980-01-01",
    "born >= 19800101",
    "born == 1980",
    "opens < 8",
    "stay <= 36",
    "0 <= stay",
    "discharged - admitted <= 30",
    "gone - seen <= 1",
    "admitted + 30 >= discharged",
    "seen <= gone - nights",
    "nights == discharged - admitted",
    "stay <= nights + 1",
    "stay BETWEEN 1 AND 2",
    "admitted IN {19800}",
    "E[stay] == 3",
    "E[born] >= 3652",
    "STD[born] <= 100",
    "MEDIAN[opens] == 9",
    "E[gone - seen] <= 3",
    "E[gone] - E[seen] <= 3",
    "P[stay > 3] >= 0.5",
    "E[stay | gone - seen > 3] <= E[stay]",
]


@pytest.mark.parametrize("text", BARE)
def test_a_bare_number_is_refused_and_the_help_works_when_pasted(text: str) -> None:
    lead = "SYNTHESIZE: stays; ENFORCE: "
    for _ in range(3):  # BETWEEN has two of them
        found = problems(text)
        errors = [problem for problem in found if problem.severity == "error"]
        if not errors:
            break
        first = errors[0]
        assert first.code == "unit-mismatch", first
        assert first.help is not None
        assert first.span is not None
        (meant,) = re.findall(r"`([^`]*)`", first.help)
        start, end = first.span.start - len(lead), first.span.end - len(lead)
        number = text[start:end]
        if first.title.startswith("cannot"):  # the whole sum is pointed at
            number = next(part for part in reversed(re.split(r" [-+] ", number)) if part in first.title)
            start, end = start + text[start:end].index(number), start + text[start:end].index(number) + len(number)
        text = text[:start] + meant + text[end:]
    else:
        pytest.fail(f"still refused: {text}")


@pytest.mark.parametrize(
    "text",
    [
        'admitted <= "30 days"',
        'stay <= "2024-01-01"',
        "opens <= admitted",
        "stay <= admitted",
        "admitted + discharged >= born",
        "2 * admitted >= born",
        "-admitted <= born",
        'stay * "1 day" <= stay',
        "ward == a IMPLIES seen <= nights",
        "VAR[stay] <= 3",
        'VAR[stay] <= "3 days"',
        "E[stay * stay] <= 3",
        "E[log(stay)] <= 3",
        "E[sqrt(stay)] <= 3",
        "E[max(stay, nights)] <= 3",
        "E[abs(born)] <= 3",
        "E[-born] <= 3",
        "E[born + admitted] <= 3",
        'E[stay] == "1 day" WITHIN 1',
        'E[nights] == 3 WITHIN "1 day"',
        'P[stay > "1 day"] == 0.5 WITHIN "1 day"',
        'DIST[ward] == {a: 50%, *: proportional} WITHIN "1 day"',
    ],
)
def test_units_that_do_not_go_together_are_refused(text: str) -> None:
    assert [problem.code for problem in problems(text)] == ["unit-mismatch"]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ('admitted <= "soon"', "a date"),
        ('gone - seen <= "30"', "a duration"),
        ('stay <= "3 months"', "a duration"),
        ('E[stay] == "P1M"', "a duration"),
        ('opens < "8"', "a time"),
        ('E[seen] >= "2024-13-01"', "a timestamp"),
    ],
)
def test_a_text_that_is_no_time_is_refused(text: str, kind: str) -> None:
    (problem,) = problems(text)
    assert problem.code == "type-mismatch"
    assert problem.title.endswith(f"is not {kind}")


@pytest.mark.parametrize(
    ("text", "target", "tolerance", "unit"),
    [
        ('E[stay] == "3 days" WITHIN "6 h"', 3.0 * DAY, 21_600.0, Unit(1)),
        ('E[discharged - admitted] == "3 days" WITHIN "6 h"', 3.0, 0.25, Unit(1, DAY)),
        ('E[gone - seen] == "3 days" WITH tol="1 day"', 3.0 * DAY, DAY, Unit(1)),
        ('E[seen - admitted] == "3 h" WITHIN "1 h"', 10_800.0, 3_600.0, Unit(1)),
        ('E[born] == "1980-01-01T12:00" WITHIN "1 day"', 3652.5, 1.0, Unit(1, DAY, "moment")),
        ('"08:30" == E[opens] WITHIN "5 min"', 30_600.0, 300.0, Unit(1, 1, "time")),
        ('STD[born] == "100 days" WITHIN "1 day"', 100.0, 1.0, Unit(1, DAY)),
        ('E[stay / "1 day"] == 3 WITHIN 0.5', 3.0, 0.5, Unit()),
        ('E[stay * cost] == "100 days" WITHIN "1 day"', 100.0 * DAY, DAY, Unit(1)),
        ('sqrt(VAR[stay]) == "1 day" WITHIN "1 h"', DAY, 3_600.0, Unit(1)),
    ],
)
def test_targets_and_tolerances_are_converted(text: str, target: float, tolerance: float, unit: Unit) -> None:
    (command,) = bind(parse(f"SYNTHESIZE: stays; ENFORCE: {text}; END;"), SCHEMA).commands
    assert isinstance(command, TableGoal)
    goal = command.goal
    assert isinstance(goal, Relation)
    assert goal.right == Const(target)
    assert (goal.tolerance, goal.unit) == (tolerance, unit)


def test_shorthands_and_placeholders_have_units_too() -> None:
    text = "SYNTHESIZE: stays; LET length := gone - seen; LET month := '30 days'; ENFORCE: length <= month;"
    program = fill(parse(f"{text} ENFORCE: length >= <least>; END;"), {"least": "30 min"})
    first, second = bind(program, SCHEMA).rules
    assert first.pred == pred('gone - seen <= "30 days"')
    assert second.pred == pred('gone - seen >= "30 min"')
    with pytest.raises(CutsError, match="unit-mismatch"):
        bind(fill(parse(f"{text} ENFORCE: length >= <least>; END;"), {"least": 30}), SCHEMA)


@pytest.mark.parametrize(
    ("column", "formula", "text", "meaning"),
    [
        (Integer("made", 0, 500), "(discharged - admitted) / '1 day'", "made > 5", 'discharged - admitted >= "132 h"'),
        (
            Temporal("made", "duration", 0.0, 1e9),
            "discharged - admitted",
            'made > "1 day"',
            'discharged - admitted >= "36 h"',
        ),
        (
            Temporal("made", "date", FIRST, 1e5),
            "admitted + '7 days'",
            'made >= "2024-02-01"',
            'admitted >= "2024-01-24T12:00"',
        ),
    ],
)
def test_a_computed_column_counts_what_it_says(column: Numeric, formula: str, text: str, meaning: str) -> None:
    numeric = {each.name: each for each in SCHEMA if isinstance(each, Numeric)}
    made = with_units(parse_formula(formula), column, numeric)
    schema = replace(SCHEMA, columns=(*SCHEMA.columns, column), formulas=(("made", made),))
    found = bind_predicate(parse_expression(text), schema)
    expected = pred(meaning)
    assert isinstance(found, LinearCompare)
    assert isinstance(expected, LinearCompare)
    assert (found.form, found.bound) == (expected.form, expected.bound)  # half a step beside every possible value


def test_a_range_of_durations_is_shown_with_units() -> None:
    (problem,) = problems('stay >= "100 days"')
    assert problem.title == "no value of `stay` satisfies this: its values range from 0 s to 90 days"


# --- texts


@given(st.integers(0, 10_000), st.sampled_from(["w", "d", "h", "min", "s"]))
def test_durations_in_words_and_in_iso_form_agree(amount: int, unit: str) -> None:
    iso = {"w": f"P{amount}W", "d": f"P{amount}D", "h": f"PT{amount}H", "min": f"PT{amount}M", "s": f"PT{amount}S"}
    assert parse_duration(f"{amount} {unit}") == parse_duration(iso[unit]) == parse_moment("duration", iso[unit])


@pytest.mark.parametrize("text", ["", "30", "P", "PT", "P1M", "P1Y", "1 month", "1 day ago", "P1D12H", "h", "1..5 h"])
def test_other_texts_are_no_durations(text: str) -> None:
    assert parse_duration(text) is None


@given(st.floats(-1e9, 1e9), st.sampled_from([1, DAY]))
def test_a_shown_duration_reads_back_as_the_same_length(value: float, seconds: int) -> None:
    shown = units.show(value, Unit(1, seconds))
    read = parse_duration(shown) if "e" not in shown else value * seconds
    assert read == pytest.approx(value * seconds, rel=1e-5, abs=1e-5)


@pytest.mark.parametrize(
    ("value", "unit", "expected"),
    [
        (3652.0, Unit(1, DAY, "moment"), "1980-01-01"),
        (3652.25, Unit(1, DAY, "moment"), "1980-01-01T06:00:00"),
        (1_704_067_200.0, Unit(1, 1, "moment"), "2024-01-01T00:00:00"),
        (30_600.4, Unit(1, 1, "time"), "08:30:00"),
        (1e300, Unit(1, DAY, "moment"), "1e300 days"),
        (-719_000.0, Unit(1, DAY, "moment"), "-719000 days"),
        (4.0, Unit(2, DAY), "4 days^2"),
        (float("nan"), Unit(1), "undefined"),
        (2.5, Unit(), "2.5"),
    ],
)
def test_numbers_are_shown_with_their_units(value: float, unit: Unit, expected: str) -> None:
    assert units.show(value, unit) == expected
