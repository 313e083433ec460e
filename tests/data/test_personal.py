"""What is taken for personal data, and what is not."""

from __future__ import annotations

import pyarrow as pa
import pytest

from cuts.data.columns import Category, Identifier, Integer
from cuts.data.infer import infer_schema
from cuts.data.personal import NEW_EMAIL, NEW_FULL_NAME, NEW_NAME, is_free_text, look_of, personal_columns
from cuts.data.schema import Column, Schema
from cuts.data.table import Table
from cuts.text.diagnostic import CutsError

FIRST = ["Anna", "Bob", "Clara", "David", "Eva", "Frank", "Greta", "Hans", "Ida", "José", "Kim-Lea"]
FULL = [f"{name} de la Cruz" if name == "José" else f"{name} Meier" for name in FIRST]
EMAILS = [f"{name.lower()}@mail.com" for name in FIRST]
PHONES = [f"+41 79 {n:03d} {n:02d}" for n in range(10, 21)]


def inferred(heading: str, values: list[object], **options: list[str]) -> Column:
    (column,) = infer_schema(Table(pa.table({heading: values * 9})), "t", **options).columns  # type: ignore[arg-type]
    return column


@pytest.mark.parametrize(
    ("heading", "values", "regex"),
    [
        ("email", EMAILS, NEW_EMAIL),
        ("contact", EMAILS, NEW_EMAIL),
        ("first_name", FIRST, NEW_NAME),
        ("surname", [name.upper() for name in FIRST], NEW_NAME),
        ("Patient Name", FULL, NEW_FULL_NAME),
        ("name", FULL, NEW_FULL_NAME),
        ("fullName", [f"Meier, {name}" for name in FIRST], NEW_FULL_NAME),
    ],
)
def test_addresses_and_names_are_replaced_however_often_they_repeat(
    heading: str, values: list[object], regex: str
) -> None:
    assert inferred(heading, values) == Identifier(heading, regex=regex)
    assert isinstance(inferred(heading, values, keep=[heading]), Category)


def test_codes_with_leading_zeros_are_no_phone_numbers() -> None:
    codes = [f"{n:09d}" for n in range(99, 2_000, 50)]
    (column,) = infer_schema(Table(pa.table({"number": codes})), "t").columns
    assert column == Identifier("number", "#########")
    assert personal_columns(Schema("t", (column, Integer("n", 0, 1)))) == ()


def test_phone_numbers_are_replaced_by_others_that_look_the_same() -> None:
    assert inferred("contact", [*PHONES]) == Identifier("contact", "+41 ## ### ##")
    local = [f"0{n} {n}{n}{n} 11" for n in range(30, 41)]
    assert inferred("Telephone no.", [*local]) == Identifier("Telephone no.", "0## ###### ##")
    assert isinstance(inferred("part", [*local]), Category), "nothing says that these are phone numbers"
    numbers: list[object] = [*range(790_000_000, 790_000_050)]
    assert inferred("mobile", numbers) == Identifier("mobile")
    assert isinstance(inferred("balance", numbers), Integer)
    assert isinstance(inferred("mobile", numbers, keep=["mobile"]), Integer)


@pytest.mark.parametrize(
    ("heading", "values"),
    [
        ("city", FULL),  # nothing says that these are persons
        ("name", FIRST),  # one word each: of anything
        ("first_name", [f"user{n}" for n in range(20)]),
        ("email", EMAILS[:5]),  # of an office
        ("hotel", [f"{n}00 {n}000" for n in range(10, 30)]),
        ("product name", FULL),
    ],
)
def test_other_texts_are_categories(heading: str, values: list[object]) -> None:
    assert isinstance(inferred(heading, values), Category)


def test_texts_that_hardly_repeat_are_free_text_even_if_they_are_short() -> None:
    notes = [f"bill {n}" for n in range(2_408)]
    assert is_free_text(notes, 2_000, 3_000)
    assert not is_free_text(notes[:464], 200, 3_000)
    long = [f"asked about the bill of {n} May" for n in range(700)]
    assert is_free_text(long, 0, 3_000), "longer texts need to repeat more often"
    assert not is_free_text(long[:500], 0, 3_000)
    assert is_free_text(long[:300], 290, 3_000), "nearly all rows have one of ten texts, but most texts have one row"
    assert not is_free_text(notes[:40], 40, 60), "in few rows values may differ by chance"
    rows = [f"{note} again" for note in notes] + ["paid late"] * 592
    with pytest.raises(CutsError, match="free-text: the column `note` looks like free text or personal data: 2,409"):
        infer_schema(Table(pa.table({"note": rows})), "t")
    mostly = [*long[:200], *["nothing to say"] * 2_800]
    with pytest.raises(CutsError, match="free-text: the column `note`"):
        infer_schema(Table(pa.table({"note": mostly})), "t")


def test_an_identifier_that_is_asked_for_is_named_by_its_column() -> None:
    texts: list[object] = ["some max", "other", "more than one"]
    column = inferred("max", texts, ids=["max"])
    assert column == Identifier("max", r"m\a\x-######")
    assert inferred("mail", EMAILS, ids=["mail"]) == Identifier("mail", regex=NEW_EMAIL)


def test_a_warning_names_the_columns_that_nobody_decided_on() -> None:
    table = Table(pa.table({"email": EMAILS, "name": FULL, "tel": PHONES, "age": range(11)}))
    schema = infer_schema(table, "t")
    (warning,) = personal_columns(schema)
    assert warning.severity == "warning"
    assert "`email` (e-mail addresses), `name` (names of persons), `tel` (phone numbers)" in warning.title
    assert personal_columns(schema, ["email", "name", "tel"]) == ()


def test_long_texts_are_judged_at_once() -> None:
    texts = [f"{'Ab' * 20_000} {n}" for n in range(10)]
    assert look_of("name", texts) is None
    assert look_of("email", [f"{text}@{'a.' * 1_000}" for text in texts]) is None


def test_few_values_look_like_nothing() -> None:
    assert look_of("email", EMAILS[:9]) is None
    assert look_of("email", EMAILS[:10]) is not None
