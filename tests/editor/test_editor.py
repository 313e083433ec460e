"""What an editor shows: functions of the text and of what is known about its data."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from console import blocks
from cuts.cli.shared import checked
from cuts.editor import library as libraries
from cuts.editor import words
from cuts.editor.completion import Item, completions
from cuts.editor.context import context_at
from cuts.editor.formatting import formatted
from cuts.editor.hover import hover
from cuts.editor.library import Library
from cuts.editor.outline import symbols
from cuts.editor.positions import Encoding, Lines
from cuts.editor.problems import problems
from cuts.lang.keywords import RESERVED
from cuts.lang.privacy import _KEYS
from cuts.lang.syntax import KIND_ALIASES
from cuts.text.diagnostic import CutsError
from cuts.text.source import Source
from cuts.vocab.functions import NAMED_FUNCTIONS
from cuts.vocab.names import measures

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*.cuts"))
LIBRARY = Library()
PATIENTS = "sex,weight,ward\n" + "".join(
    f"{'fm'[i % 2]},{50 + i / 10},{'A-1' if i % 3 else 'B 2'}\n" for i in range(60)
)


def offered(written: str, folder: Path = Path(), library: Library = LIBRARY) -> dict[str, Item]:
    """The completions at the end of a text, by label."""
    found = completions(Source(str(folder / "p.cuts"), written), len(written), library)
    return {item.label: item for item in found}


def told(text: str, word: str, folder: Path = Path(), library: Library = LIBRARY) -> str:
    """What is said about the first place where a word stands."""
    found = hover(Source(str(folder / "p.cuts"), text), text.index(word), library)
    return "" if found is None else found.text


def codes(text: str, folder: Path = Path(), library: Library = LIBRARY) -> list[tuple[str | None, str]]:
    return [(p.code, text[p.span.start : p.span.end]) for p in problems(Source(str(folder / "p.cuts"), text), library)]


# --- positions


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
def test_every_offset_survives_the_way_to_a_position_and_back(encoding: Encoding) -> None:
    text = "é😀\r\n\nE[age]\rä\n"
    lines = Lines(text, encoding)
    for offset in range(len(text) + 1):
        if text[offset - 1 : offset + 1] == "\r\n":  # between the two signs of one line end
            continue
        assert lines.offset(*lines.position(offset)) == offset
    assert lines.position(2) == (0, {"utf-8": 6, "utf-16": 3, "utf-32": 2}[encoding])


def test_a_position_outside_the_text_is_the_nearest_inside() -> None:
    lines = Lines("ab\ncd")
    assert (lines.offset(0, 99), lines.offset(9, 0)) == (2, 5)


# --- problems


def test_all_problems_are_found_at_once_with_their_places() -> None:
    text = "SYNTHESIZE: adult; ENFORCE: agee > 35; ENFORCE: sex == Mal; ENFORCE: age IN {1; END;"
    assert [code for code, _ in codes(text)] == ["syntax-error"]
    text = text.replace("{1;", "{20};")
    assert codes(text) == [("unknown-column", "agee"), ("unknown-category", "Mal")]


def test_a_contradiction_points_at_both_commands() -> None:
    text = "SYNTHESIZE: adult;\nENFORCE: age > 35;\nENFORCE: age < 30;\nEND;"
    (found,) = problems(Source("p.cuts", text), LIBRARY)
    assert found.code == "contradiction"
    assert [text[span.start : span.end] for span, _ in found.notes] == ["age < 30"]


def test_an_open_placeholder_is_no_error_and_hides_no_other_problem() -> None:
    text = (
        'SYNTHESIZE: adult; LET old := age > <limit>; LET rich := salary == ">50K";'
        "ENFORCE: old IMPLIES rich; ENFORCE: agee > 3; END;"
    )
    found = problems(Source("p.cuts", text), LIBRARY)
    assert [(p.code, p.severity) for p in found] == [("open-placeholder", "information"), ("unknown-column", "error")]


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("SYNTHESIZE: adult; ENFORCE: agee > 35; END;", "SYNTHESIZE: adult; ENFORCE: age > 35; END;"),
        ("SYNTHESIZE: adult; ENFORCE: sex == Femal; END;", "SYNTHESIZE: adult; ENFORCE: sex == Female; END;"),
        ("SYNTHESIZE: adult; ENFORCE: salary == '>50k'; END;", 'SYNTHESIZE: adult; ENFORCE: salary == ">50K"; END;'),
        ("SYNTHESIZE: adult; ENFROCE: age > 35; END;", "SYNTHESIZE: adult; ENFORCE: age > 35; END;"),
        ("SYNTHESIZE: adlt; END;", "SYNTHESIZE: adult; END;"),
        ("SYNTHESIZE: adult; ENFORCE: age ≥ 35; END;", "SYNTHESIZE: adult; ENFORCE: age >= 35; END;"),
        ("SYNTHESIZE: adult; ENFORCE: age > 35 END;", "SYNTHESIZE: adult; ENFORCE: age > 35; END;"),
        ("SYNTHESIZE: adult; ENFORCE: age > 35;", "SYNTHESIZE: adult; ENFORCE: age > 35;\nEND;\n"),
        ("SYNTHESIZE: adult; ENFORCE: age > 35", "SYNTHESIZE: adult; ENFORCE: age > 35;\nEND;\n"),
        (
            "SYNTHESIZE: adult; ENFORCE: age > 35 WITH mod=condition; END;",
            "SYNTHESIZE: adult; ENFORCE: age > 35 WITH mode=condition; END;",
        ),
    ],
)
def test_a_proposed_correction_leaves_a_program_without_errors(wrong: str, right: str) -> None:
    (found,) = problems(Source("p.cuts", wrong), LIBRARY)
    assert found.fix is not None
    corrected = wrong[: found.fix.span.start] + found.fix.text + wrong[found.fix.span.end :]
    assert corrected == right
    assert codes(corrected) == []


EXAMPLES_OF_ERRORS = [
    pytest.param(block.body, id=f"{path.stem}-{number}")
    for path in sorted((ROOT / "docs" / "reference" / "errors").glob("*.md"))
    for number, block in enumerate(blocks(path.read_text(encoding="utf-8")))
    if block.kind == "cuts"
]


@pytest.mark.parametrize("text", EXAMPLES_OF_ERRORS)
def test_an_editor_shows_what_cuts_check_says(text: str, tmp_path: Path) -> None:
    path = tmp_path / "p.cuts"
    path.write_text(text)
    try:
        found = checked(path, None, None, {}).diagnostics
    except CutsError as error:
        found = error.diagnostics
    expected = [problem.code for problem in found]
    shown = [code for code, _ in codes(text, tmp_path)]
    if "open-placeholder" in expected:  # an editor goes on
        assert set(expected) <= set(shown)
    else:
        assert sorted(map(str, shown)) == sorted(expected)


# --- completion

HEAD = "SYNTHESIZE: adult;\n"


def test_statements_begin_with_keywords() -> None:
    assert list(offered("SYN")) == ["SYNTHESIZE"]
    assert {"ENFORCE", "MINIMIZE", "LET", "END"} <= set(offered(HEAD + "EN"))
    assert offered(HEAD + "ENFORCE: age > 35 # EN") == {}


def test_kinds_and_columns_follow_an_action() -> None:
    found = offered(HEAD + "ENFORCE: ")
    assert found["ROW CONSTRAINT"].text == "ROW CONSTRAINT: "
    assert found["hours_per_week"].detail == "integer, 1 to 99"
    assert "DIFFERENTIAL PRIVACY" not in found
    assert list(offered(HEAD + "ENSURE: ")) == ["DIFFERENTIAL PRIVACY"]


@pytest.mark.parametrize(
    "written",
    ["ENFORCE: salary == ", 'ENFORCE: salary == "', "ENFORCE: age > 3 AND salary IN {", "ENFORCE: P[salary != ",
     "MINIMIZE: DEMOGRAPHIC_PARITY(target=salary, desired_outcome="],
)  # fmt: skip
def test_the_values_of_the_compared_column_are_offered_in_quotes_if_they_need_them(written: str) -> None:
    found = offered(HEAD + written)
    assert {label: item.text for label, item in found.items()} == {">50K": '">50K"', "<=50K": '"<=50K"'}
    assert (HEAD + written)[found[">50K"].span.start :] == ('"' if written.endswith('"') else "")


def test_a_quote_that_the_editor_closed_is_replaced() -> None:
    text = HEAD + 'ENFORCE: salary == ">5"; END;'
    offset = text.index('"; END')
    item = completions(Source("p.cuts", text), offset, LIBRARY)[0]
    assert text[item.span.start : item.span.end] == '">5"'


def test_a_distribution_offers_values_with_their_colon() -> None:
    assert offered(HEAD + "ENFORCE: DIST[race] == {White: 50%, ")["Black"].text == "Black: "


def test_measures_come_with_columns_of_the_table_and_their_arguments_follow() -> None:
    assert offered(HEAD + "MINIMIZE: ")["DEMOGRAPHIC_PARITY"].text == "DEMOGRAPHIC_PARITY(protected=sex, target=salary)"
    entry = measures()["DEMOGRAPHIC_PARITY"]
    assert list(offered(HEAD + "MINIMIZE: DEMOGRAPHIC_PARITY(")) == [*entry.required, *entry.optional]
    columns = offered(HEAD + "MINIMIZE: DEMOGRAPHIC_PARITY(protected=[sex, ")
    assert "race" in columns
    assert "age" not in columns
    assert "all" in offered(HEAD + "MINIMIZE: DOWNSTREAM_ACCURACY(target=sex, features=")


def test_statistics_functions_and_shorthands_are_offered_in_expressions() -> None:
    found = offered(HEAD + "LET young := age < 30;\nENFORCE: E[age] <= ")
    assert found["MEDIAN[x | condition]"].text == "MEDIAN["
    assert {"young", "max", "age"} <= set(found)


def test_data_sets_and_table_files_are_offered(tmp_path: Path) -> None:
    (tmp_path / "patients.csv").write_text(PATIENTS)
    (tmp_path / "notes.txt").write_text("")
    assert [(i.label, i.text) for i in offered("SYNTHESIZE: ", tmp_path).values()] == [
        ("adult", "adult"), ("credit", "credit"), ("german", "german"), ("patients.csv", '"patients.csv"'),
    ]  # fmt: skip


def test_nothing_is_offered_where_a_name_is_chosen() -> None:
    for written in (HEAD + "LET yo", HEAD + "ENFORCE: E[age] == 4 WITHIN "):
        assert offered(written) == {}


# --- hover


def test_columns_values_and_statistics_show_what_the_rows_say() -> None:
    text = HEAD + 'ENFORCE: sex == Male IMPLIES salary == ">50K"; ENFORCE: E[age | sex == Male] == 39; END;'
    assert told(text, "sex") == (
        "**sex**: category, 2 values, protected. No value is missing.\n\n- `Male` 67.6 %\n- `Female` 32.4 %"
    )
    assert told(text, "Male") == "`Male`: a value of **sex**, 67.6 % of the rows (20,380 of 30,162)."
    assert told(text, '">50K"').startswith("`>50K`: a value of **salary**, 24.9 % of the rows")
    assert told(text, "E[age").startswith("`E[age | sex == Male]` is **39.184** in the 30,162 real rows.")
    assert told(text, "IMPLIES").startswith("**IMPLIES**: ")
    assert told(text, "adult").startswith("**adult**: 14 columns, 30,162 rows; schema declared.")


def test_a_shorthand_shows_what_it_stands_for_and_counts_in_statistics() -> None:
    text = HEAD + "LET young := age < 30; ENFORCE: P[young] >= 0.1; END;"
    assert told(text, "young]") == "`young` stands for `age < 30`"
    assert "is **0.2" in told(text, "P[young")


def test_words_are_explained_in_a_text_that_does_not_parse() -> None:
    text = HEAD + "MINIMIZE: DEMOGRAPHIC_PARITY(protected=sex, ; ENFORCE: age >"
    assert told(text, "DEMOGRAPHIC").startswith("**DEMOGRAPHIC_PARITY**: Largest difference between groups")
    assert told(text, "age >").startswith("**age**: integer, 17 to 90.")
    assert told(text + " # IMPLIES", "IMPLIES") == ""


def test_a_problem_is_explained_by_the_first_sentence_of_its_page() -> None:
    source = Source("p.cuts", HEAD + "ENFORCE: agee > 35; END;")
    found = hover(source, source.text.index("agee"), LIBRARY, problems(source, LIBRARY))
    assert found is not None
    assert found.text == "**unknown-column**: The program names a column that the schema does not have."


# --- the data


def test_a_file_beside_the_program_gives_columns_and_is_read_again_when_it_changes(tmp_path: Path) -> None:
    library = Library()
    table = tmp_path / "patients.csv"
    table.write_text(PATIENTS)
    text = "SYNTHESIZE: patients.csv; ENFORCE: ward == 'A-1'; ENFORCE: height > 160; END;"
    assert codes(text, tmp_path, library) == [("unknown-column", "height")]
    assert "66.7 % of the rows (40 of 60)" in told(text, "'A-1'", tmp_path, library)
    head, *lines = PATIENTS.splitlines()
    table.write_text("\n".join([f"{head},height", *(f"{line},{150 + i % 40}" for i, line in enumerate(lines))]))
    assert codes(text, tmp_path, library) == []


def test_a_schema_beside_the_program_is_used(tmp_path: Path) -> None:
    (tmp_path / "patients.toml").write_text(
        'name = "patients"\nprovenance = "declared"\n[columns.age]\nkind = "integer"\nrange = [0, 120]\n'
    )
    assert codes("SYNTHESIZE: patients; ENFORCE: agee > 3; END;", tmp_path, Library()) == [("unknown-column", "agee")]
    private = "SYNTHESIZE: patients; ENFORCE: age > 3; ENSURE: DIFFERENTIAL PRIVACY: EPSILON=1, DELTA=1e-9; END;"
    assert codes(private, tmp_path, Library()) == []


def test_rows_of_a_private_program_are_never_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "patients.csv").write_text(PATIENTS)
    (tmp_path / "patients.toml").write_text(
        'name = "patients"\nprovenance = "declared"\n[columns.sex]\nkind = "category"\ncategories = ["f", "m"]\n'
    )

    def refuse(*_: object) -> None:
        raise AssertionError("rows were read")

    monkeypatch.setattr(libraries, "_rows", refuse)
    for end in ("ENSURE: ", "ENSURE: DIFFERENTIAL PRIVACY: EPSILON=1, DELTA=1e-9; END;", "ENFORCE: epsilon=1, DELTA=1"):
        text = f"SYNTHESIZE: patients.csv; ENFORCE: P[sex == m] >= 0.5; {end}"
        codes(text, tmp_path, Library())
        assert "of the rows" not in told(text, "m]", tmp_path, Library())
        assert "is **" not in told(text, "P[", tmp_path, Library())
        here = completions(Source(str(tmp_path / "p.cuts"), text), text.index("m]"), Library())
        assert [item.label for item in here] == ["f", "m"]
    text = "SYNTHESIZE: patients.csv; ENFORCE: P[sex == m] >= 0.5; END;"
    codes(text, tmp_path, Library())  # the schema is enough
    with pytest.raises(AssertionError, match="rows were read"):
        told(text, "P[", tmp_path, Library())


def test_a_large_table_is_not_read_and_the_editor_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "patients.csv").write_text(PATIENTS)
    monkeypatch.setattr(libraries, "MAX_BYTES", 100)
    (found,) = problems(Source(str(tmp_path / "p.cuts"), "SYNTHESIZE: patients.csv; ENFORCE: x > 1; END;"), Library())
    assert found.severity == "information"
    assert found.message.endswith("`cuts schema infer patients.csv -o patients.toml`")


def test_what_cannot_be_read_is_a_problem_of_the_data(tmp_path: Path) -> None:
    (tmp_path / "patients.toml").write_text("= broken")
    assert codes("SYNTHESIZE: patients; END;", tmp_path, Library()) == [("unreadable-schema", "patients")]
    assert codes("SYNTHESIZE: nowhere.csv; END;", tmp_path, Library()) == [("unknown-data", "nowhere.csv")]


# --- the rest


def test_symbols_are_the_statements_also_of_a_broken_text() -> None:
    text = "SYNTHESIZE: adult;\n# first\nLET a := age <\nENFORCE: a AND; END;"
    assert [(s.name, s.opening) for s in symbols(text)] == [
        ("SYNTHESIZE: adult", "SYNTHESIZE"), ("LET a := age <", "LET"), ("ENFORCE: a AND", "ENFORCE"),
    ]  # fmt: skip


def test_formatting_is_that_of_fmt_and_leaves_broken_and_canonical_texts_alone() -> None:
    assert formatted(Source("p", "synthesize: adult; end;")) == "SYNTHESIZE: adult;\n\nEND;\n"
    assert formatted(Source("p", "SYNTHESIZE: adult;\n\nEND;\n")) is None
    assert formatted(Source("p", "SYNTHESIZE: adult; ENFORCE")) is None


def test_every_word_of_the_language_has_its_sentence() -> None:
    assert set(words.KEYWORDS) == RESERVED
    assert set(words.KINDS) == set(KIND_ALIASES.values())
    assert set(words._FUNCTIONS) == set(NAMED_FUNCTIONS)
    assert set(words.PRIVACY_OPTIONS) == set(_KEYS)
    arguments = {key for measure in measures().values() for key in (*measure.required, *measure.optional)}
    assert {*arguments, *words.COMMAND_OPTIONS, *words.PRIVACY_OPTIONS} == set(words.OPTIONS)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_no_text_on_the_way_to_a_program_makes_anything_fail(example: Path) -> None:
    text = example.read_text(encoding="utf-8")
    chance = random.Random(7)
    for _ in range(20):
        offset = chance.randrange(len(text) + 1)
        cut = chance.randrange(1, 20)
        noise = "".join(chance.choice("[](){}|:;,=<>\"'`#-\\ \n\0é😀aE1%") for _ in range(chance.randrange(3)))
        for written in (text[:offset], text[:offset] + noise + text[offset + cut :]):
            source = Source("p.cuts", written)
            found = problems(source, LIBRARY)
            assert all(0 <= problem.span.start <= problem.span.end for problem in found)
            hover(source, min(offset, len(written)), LIBRARY, found)
            for item in completions(source, min(offset, len(written)), LIBRARY):
                assert "\n" not in written[item.span.start : item.span.end]
            context_at(written, offset)
            symbols(written)
            formatted(source)
