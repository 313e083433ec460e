"""The settings of a privacy command: what they mean, what is wrong with them, and which schemas they refuse."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cuts.data.schema import Category, Identifier, Integer, Real, Schema
from cuts.lang.binder import bind, bind_all, bind_privacy
from cuts.lang.parser import parse
from cuts.lang.privacy import EXAMPLE
from cuts.lang.spec import Privacy
from cuts.text.diagnostic import CutsError, Diagnostic
from cuts.text.render import as_text

SCHEMA = Schema(
    "people",
    (
        Identifier("patient"),
        Integer("age", 18, 97),
        Real("dose", 0.0, 7.25),
        Category("ward", ("surgery", "zebra-ward")),
    ),
)
TWO_IDS = replace(SCHEMA, columns=(*SCHEMA.columns, Identifier("case")))
TERMS = "EPSILON=1, DELTA=1e-9"


def found(settings: str, schema: Schema = SCHEMA) -> list[Diagnostic]:
    program = parse(f"SYNTHESIZE: people; ENSURE: DIFFERENTIAL PRIVACY: {settings}; END;")
    return list(bind_all(program, schema)[1])


def codes(settings: str, schema: Schema = SCHEMA) -> list[str]:
    return [d.code for d in found(settings, schema)]


def bound(settings: str, schema: Schema = SCHEMA) -> Privacy:
    spec = bind(parse(f"SYNTHESIZE: people; ENSURE: DIFFERENTIAL PRIVACY: {settings}; END;"), schema)
    assert spec.privacy is not None
    return spec.privacy


# --- what they mean


def said(terms: Privacy) -> tuple[object, ...]:
    """All it says, wherever it was written."""
    return (
        *(terms.epsilon, terms.delta, terms.max_rows_per_person),
        *(terms.person, terms.relation, terms.domain_budget),
    )


@pytest.mark.parametrize(
    "settings", [TERMS, "delta=1e-9, Epsilon=1", "EPSILON=100%, DELTA=1e-9", f"{TERMS} WITH relation=add_remove"]
)
def test_only_epsilon_and_delta_are_needed(settings: str) -> None:
    assert said(bound(settings)) == (1.0, 1e-9, 1, None, "add/remove", None)


@pytest.mark.parametrize("between", [",", " WITH"])
def test_all_settings_are_taken(between: str) -> None:
    terms = bound(f"{TERMS}{between} max_rows_per_person=3, person=patient, relation=Replace, domain_budget=10%")
    assert said(terms) == (1.0, 1e-9, 3, "patient", "replace", 0.1)


@pytest.mark.parametrize("settings", ["EPSILON=1000, DELTA=1e-9", "EPSILON=0.001, DELTA=0.999", "EPSILON=1, DELTA=10%"])
def test_budgets_at_the_ends_are_possible(settings: str) -> None:
    assert codes(settings) == []


def test_the_only_identifier_tells_persons_apart_where_their_rows_are_limited() -> None:
    assert bound(f"{TERMS} WITH max_rows_per_person=3").person == "patient"
    assert bound(f"{TERMS} WITH max_rows_per_person=3, person=case", TWO_IDS).person == "case"
    assert bound(TERMS).person is None


def test_of_several_identifiers_one_has_to_be_named() -> None:
    # Silently none of them would be counted by, and a person with a thousand rows would not be protected.
    assert codes(f"{TERMS} WITH max_rows_per_person=3", TWO_IDS) == ["missing-argument"]


# --- what is wrong with them


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ("EPSILON=1", ["missing-argument"]),
        ("DELTA=1e-9", ["missing-argument"]),
        ("max_rows_per_person=2", ["missing-argument", "missing-argument"]),
        ("EPSILON=0, DELTA=1e-9", ["bad-epsilon"]),
        ("EPSILON=-1, DELTA=1e-9", ["bad-epsilon"]),
        ("EPSILON=1000.5, DELTA=1e-9", ["bad-epsilon"]),
        ("EPSILON=much, DELTA=1e-9", ["bad-epsilon"]),
        ('EPSILON="1", DELTA=1e-9', ["bad-epsilon"]),
        ("EPSILON=1, DELTA=0", ["bad-delta"]),
        ("EPSILON=1, DELTA=1", ["bad-delta"]),
        ("EPSILON=1, DELTA=-1e-9", ["bad-delta"]),
        ("EPSILON=1, DELTA=few", ["bad-delta"]),
        ("EPSILON=1, DELTA=1e-9, EPSILON=2", ["wrong-arguments"]),
        (f"{TERMS} WITH delta=0.1", ["wrong-arguments"]),
        (f"{TERMS}, seed=3", ["unknown-option"]),
        (f"{TERMS} WITH mode=repair", ["unknown-option"]),
        (f"{TERMS} WITH max_rows_per_person=0", ["bad-option"]),
        (f"{TERMS} WITH max_rows_per_person=-2", ["bad-option"]),
        (f"{TERMS} WITH max_rows_per_person=1.5", ["bad-option"]),
        (f"{TERMS} WITH max_rows_per_person=many", ["bad-option"]),
        (f"{TERMS} WITH max_rows_per_person=5000000000", ["bad-option"]),  # more than the noise library can count
        (f"{TERMS} WITH person=ward", ["type-mismatch"]),
        (f"{TERMS} WITH person=age", ["type-mismatch"]),
        (f"{TERMS} WITH person=patients", ["unknown-column"]),
        (f"{TERMS} WITH person=3", ["type-mismatch"]),
        (f"{TERMS} WITH person=[patient]", ["type-mismatch"]),
        (f"{TERMS} WITH relation=swap", ["bad-option"]),
        (f"{TERMS} WITH relation=3", ["bad-option"]),
        (f"{TERMS} WITH domain_budget=0", ["bad-option"]),
        (f"{TERMS} WITH domain_budget=100%", ["bad-option"]),
        (f"{TERMS} WITH domain_budget=150%", ["bad-option"]),
        (f"{TERMS} WITH domain_budget=some", ["bad-option"]),
        (f"{TERMS} WITHIN 3", ["bad-option"]),
    ],
)
def test_a_wrong_setting_has_its_code(settings: str, expected: list[str]) -> None:
    assert codes(settings) == expected


def test_all_that_is_wrong_is_said_at_once_in_order_of_place() -> None:
    wrong = (
        "EPSILON=0, DELTA=7"
        " WITH max_rows_per_person=0, person=age, relation=swap, domain_budget=1, foo=1; ENFORCE: agee > 3"
    )
    assert codes(wrong) == [
        "bad-epsilon",
        "bad-delta",
        "bad-option",
        "type-mismatch",
        "bad-option",
        "bad-option",
        "unknown-option",
        "unknown-column",
    ]


@pytest.mark.parametrize(
    ("settings", "help"),
    [
        ("DELTA=1e-9", EXAMPLE),
        ("EPSILON=0, DELTA=1e-9", "EPSILON=1.0"),
        (f"{TERMS} WITH person=patiens", "did you mean `patient`?"),
        (f"{TERMS} WITH person=ward", 'declare `ward` with `kind = "id"`'),
        (f"{TERMS} WITH relation=swap", "write `relation=add_remove` or `relation=replace`"),
        (f"{TERMS} WITH relation=replaced", "did you mean `replace`?"),
        (f"{TERMS} WITH domainbudget=1%", "did you mean `domain_budget`?"),
        (f"{TERMS} WITH foo=1", "max_rows_per_person, person, relation, domain_budget"),
    ],
)
def test_a_wrong_setting_says_what_to_write(settings: str, help: str) -> None:
    (problem,) = found(settings)
    assert problem.help is not None
    assert help in problem.help
    assert problem.span is not None


def test_privacy_is_ensured_once_and_has_no_weight() -> None:
    assert codes(f"{TERMS}; ENSURE: {TERMS}") == ["duplicate-privacy"]
    program = parse(f"SYNTHESIZE: people; ENSURE: PARAM 3: {TERMS}; END;")
    assert [d.code for d in bind_all(program, SCHEMA)[1]] == ["bad-weight"]
    program = parse(f"SYNTHESIZE: people; ENFORCE: DIFFERENTIAL PRIVACY: {TERMS}; END;")
    assert [d.code for d in bind_all(program, SCHEMA)[1]] == ["action-mismatch"]


# --- the privacy command alone, before a schema is known


def test_the_command_alone_is_bound_to_names_only() -> None:
    program = parse(f"SYNTHESIZE: people; ENFORCE: ward == nowhere; ENSURE: {TERMS} WITH domain_budget=10%; END;")
    alone = bind_privacy(program, replace(SCHEMA, provenance="inferred"))
    assert alone is not None
    assert (alone.epsilon, alone.domain_budget, alone.origin.number) == (1.0, 0.1, 2)
    assert bind_privacy(parse("SYNTHESIZE: people; END;"), SCHEMA) is None
    with pytest.raises(CutsError, match="bad-epsilon"):
        bind_privacy(parse("SYNTHESIZE: people; ENSURE: EPSILON=0, DELTA=7; END;"), SCHEMA)


def test_a_schema_read_from_the_rows_is_refused_with_names_and_kinds_alone() -> None:
    program = parse(f"SYNTHESIZE: people; ENSURE: {TERMS}; ENFORCE: ward == nowhere; ENFORCE: age > 300; END;")
    _, problems = bind_all(program, replace(SCHEMA, provenance="inferred"))
    assert [d.code for d in problems] == ["private-schema"]
    text = as_text(problems, program.source)
    for name in ("patient", "age", "dose", "ward", "LOWEST, HIGHEST", '["ALL", "OF", "THEM"]', "domain_budget"):
        assert name in text
    for value in ("surgery", "zebra", "18", "97", "7.25"):
        assert value not in text


def test_a_declared_and_a_discovered_schema_are_fine() -> None:
    assert codes(TERMS, replace(SCHEMA, provenance="declared")) == []
    assert codes(f"{TERMS} WITH domain_budget=10%", replace(SCHEMA, provenance="discovered")) == []
