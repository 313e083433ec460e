"""Reading programs: layout, comments, placeholders, syntax errors."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuts import check
from cuts.lang.keywords import RESERVED
from cuts.lang.parser import parse, parse_expression
from cuts.lang.placeholders import fill
from cuts.lang.printer import name as render_name
from cuts.lang.printer import render
from cuts.lang.syntax import Number, Text
from cuts.text.diagnostic import CutsError
from reference import ADULT


def codes(text: str) -> list[str]:
    with pytest.raises(CutsError) as caught:
        parse(text)
    return [d.code for d in caught.value.diagnostics]


def test_comments_and_blank_lines_survive_formatting() -> None:
    text = """# who
SYNTHESIZE: adult;  # census

    # grown-ups
    ENFORCE: age >= 18;  # by law

    -- inside
    ENFORCE: sex == Male -- here
        OR age > 20;

# done
END;  # really
# after"""
    formatted = render(parse(text))
    assert (
        formatted
        == """# who
SYNTHESIZE: adult;  # census

    # grown-ups
    ENFORCE: age >= 18;  # by law

    # inside
    # here
    ENFORCE: sex == Male OR age > 20;

# done
END;  # really
# after
"""
    )
    assert render(parse(formatted)) == formatted


def test_keywords_are_read_in_any_case_and_layout() -> None:
    loose = "synthesize:Adult;enforce : row\n constraint:age>35 and Age<55 or not sex=Male;end;"
    strict = "SYNTHESIZE: Adult; ENFORCE: ROW CONSTRAINT: age > 35 AND Age < 55 OR NOT sex == Male; END;"
    assert parse(loose) == parse(strict)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# only a comment", ["empty-program"]),
        ("SYNTHESIZE: adult; ENFORCE: age > 35;", ["missing-end"]),
        ("SYNTHESIZE: adult; ENFORCE: age > 35 END;", ["missing-semicolon"]),
        ("SYNTHESIZE: adult ENFORCE: age > 35; END", ["missing-semicolon", "missing-semicolon"]),
        ("SYNTHESISE: adult; END;", ["misspelt-keyword"]),
        ("SYNTHESIZE: adult; ENFROCE: age > 35; END;", ["misspelt-keyword"]),
        ("SYNTHESIZE: adult; ENFORCE: ROW CONSTRANT: age > 35; END;", ["misspelt-keyword"]),
        ("SYNTHESIZE: adult; ENFORCE: age > 35 ADN age < 55; END;", ["misspelt-keyword"]),
        ("SYNTHESIZE: adult; ENFORCE: sex == Male IMPLES age > 3; END;", ["misspelt-keyword"]),
        ("SYNTHESIZE: adult; END; ENFORCE: age > 3;", ["syntax-error"]),
        ("SYNTHESIZE: adult; ENFORCE: age > 35, sex == Male; END;", ["syntax-error"]),
        ("SYNTHESIZE: adult; ENFORCE: age > 1e999; END;", ["bad-number"]),
        ("SYNTHESIZE: adult; ENFORCE: age >; ENFORCE: (age > 3; END;", ["syntax-error", "syntax-error"]),
        ("SYNTHESIZE: adult; ENFORCE: age > 35 and and; END;", ["syntax-error"]),
        ("SYNTHESIZE: adult; SYNTHESIZE: german; END;", ["syntax-error"]),
    ],
)
def test_every_syntax_error_is_named(text: str, expected: list[str]) -> None:
    assert codes(text) == expected


@pytest.mark.parametrize(
    ("body", "written", "help"),
    [
        ("IF sex == Male THEN age > 3", "IF sex == Male THEN age > 3", "write `sex == Male IMPLIES age > 3`"),
        ("if a = 1\n then b = 2", "if a = 1\n then b = 2", "write `a = 1 IMPLIES b = 2`"),
        ("age > 3 THEN sex == Male", "THEN", "write `IMPLIES`"),
        ("age > 3 -> sex == Male", "->", "write `IMPLIES`"),
        ("age > 3 → sex == Male", "→", "write `IMPLIES`"),
        ("age > 3 && sex == Male", "&&", "write `AND`"),
        ("age > 3 & sex == Male", "&", "write `AND`"),
        ("age > 3 || sex == Male", "||", "write `OR`"),
        ("!(age > 3)", "!", "write `NOT`"),
        ("sex <> Male", "<>", "write `!=`"),
        ("sex === Male", "===", "write `==`"),
        ("age =< 3", "=<", "write `<=`"),
        ("age ≥ 3", "≥", "write `>=`"),
        ("age => 3", "=>", "write `>=`, or `IMPLIES` between conditions"),
        ("race NOT {White}", "NOT", "write `NOT IN {...}`"),
        ("race IN NOT {White}", "NOT", "write `NOT IN {...}`"),
        ("race == {White, Black}", "==", "write `IN {...}`"),
        ("race != {White}", "!=", "write `NOT IN {...}`"),
        ("race == NOT White", "NOT", "write `!=`, or `NOT` in front of the whole comparison"),
        ("race IN (White, Black)", "(", "write a set in braces: `IN {White, Black}`"),
        ("race IS White", "White", "write `==` or `!=`; `IS` is for `IS NULL` and `IS NOT NULL`"),
    ],
)
def test_spellings_of_other_languages_get_the_one_of_this_language(body: str, written: str, help: str) -> None:
    text = f"SYNTHESIZE: adult; ENFORCE: {body}; END;"
    for source, read in ((text, parse), (body, parse_expression)):
        with pytest.raises(CutsError) as caught:
            read(source)
        (problem,) = caught.value.diagnostics
        assert problem.code == "syntax-error"
        assert problem.span is not None
        assert (source[problem.span.start : problem.span.end], problem.help) == (written, help)


@given(st.from_regex(r"-?([0-9]{1,5}(\.[0-9]{0,3})?|\.[0-9]{1,3})(e[+-]?[0-9]{1,2})?", fullmatch=True))
def test_a_number_keeps_its_spelling(number: str) -> None:
    text = f"SYNTHESIZE: t;\n\n    ENFORCE: x <= {number} OR x IN {{{number}}};\n\nEND;\n"
    assert render(parse(text)) == text


@pytest.mark.parametrize("opening", ["NOT ", "(", "-(", "E[", "max(", "age > 3 AND (", "sex == Male IMPLIES ("])
@pytest.mark.parametrize("depth", [60, 1_500])
def test_deep_nesting_is_answered(opening: str, depth: int) -> None:
    closing = {"(": ")", "[": "]"}.get(opening[-1], "")
    text = f"SYNTHESIZE: adult; ENFORCE: {opening * depth}age > 3{closing * depth}; END;"
    try:
        program = parse(text)
    except CutsError as error:
        found = error.diagnostics
    else:
        assert parse(render(program)) == program
        found = check(program, ADULT).diagnostics
    assert {d.code for d in found} <= {
        "syntax-error",
        "type-mismatch",
        "level-mismatch",
        "action-mismatch",
        "redundant-command",
    }


def test_a_caret_points_at_the_mistake() -> None:
    text = "SYNTHESIZE: adult;\nENFORCE: age > 35 ADN age < 55;\nEND;"
    with pytest.raises(CutsError) as caught:
        parse(text)
    (found,) = caught.value.diagnostics
    assert found.span is not None
    assert text[found.span.start : found.span.end] == "ADN"


def test_the_reference_lists_the_reserved_words() -> None:
    page = (Path(__file__).parents[2] / "docs/reference/language.md").read_text()
    (paragraph,) = [part for part in page.split("\n\n") if part.startswith("**Reserved words**")]
    assert set(re.findall(r"`(\w+)`", paragraph)) == RESERVED


@pytest.mark.parametrize("word", sorted(RESERVED))
def test_a_reserved_word_is_a_name_only_in_backticks(word: str) -> None:
    assert parse_expression(f"`{word.lower()}` > 3") == parse_expression(render_name(word.lower()) + " > 3")
    with pytest.raises(CutsError):
        parse_expression(f"{word.lower()} > 3")


def test_placeholders_are_filled_with_numbers_and_texts() -> None:
    program = parse("SYNTHESIZE: t; ENFORCE: PARAM <w>: x > <low> AND sex == <who> WITHIN <tol>; END;")
    (command,) = fill(program, {"w": "0.5", "low": 3, "who": "Male", "tol": "0.1%"}).commands
    assert command.weight == Number(0.5)
    assert command.tolerance == Number(0.001, percent=True)
    assert Text("Male") in command.body.parts[1].operands  # type: ignore[union-attr]
    with pytest.raises(CutsError) as caught:
        fill(program, {"w": 1, "lowe": 3})
    assert [d.code for d in caught.value.diagnostics].count("open-placeholder") == 3
    assert caught.value.diagnostics[-1].help == "did you mean `low`?"


def test_an_expression_alone_takes_no_options() -> None:
    with pytest.raises(CutsError, match="syntax-error"):
        parse_expression("age > 3 WITHIN 2")
    with pytest.raises(CutsError, match="syntax-error"):
        parse_expression("age >")
