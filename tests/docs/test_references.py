"""The generated references say what the code says, and a stage of the site changes only what it should."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from pygments.token import Generic, Keyword, Name

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))
sys.path.insert(0, str(Path(__file__).parents[2] / "tools/site"))

import cli_reference
import grammar_reference
from check_docs import unlisted_pages
from lexers import ProgramLexer, SessionLexer
from stage import staged, with_navigation

from cuts.lang.keywords import RESERVED

ROOT = Path(__file__).parents[2]


def test_the_options_of_every_command_are_up_to_date() -> None:
    page = cli_reference.PAGE.read_text(encoding="utf-8")
    assert cli_reference.updated(page, cli_reference.commands()) == page, "run `make specs`"


def test_the_grammar_page_is_up_to_date_and_complete() -> None:
    page = grammar_reference.PAGE.read_text(encoding="utf-8")
    assert grammar_reference.written() == page, "run `make specs`"
    grammar = (ROOT / "src/cuts/lang/grammar.lark").read_text(encoding="utf-8")
    rules = [line for line in grammar.splitlines() if line and not line.startswith("//")]
    assert [line for line in rules if line not in page] == []


def test_a_command_without_a_section_is_an_error() -> None:
    known = [cli_reference.Command("cuts new", "Do something new.", ())]
    with pytest.raises(SystemExit, match="no section `## cuts new`"):
        cli_reference.updated("# The command line\n\n## Exit codes\n", known)


def test_generated_parts_replace_only_themselves() -> None:
    known = [cli_reference.Command("cuts new", "Do something new.", ())]
    page = "# The command line\n\n## cuts new\n\nWhat it does.\n\nWhat it means.\n"
    once = cli_reference.updated(page, known)
    assert "What it does.\n\n<!-- generated" in once
    assert once.endswith("\n\nWhat it means.\n")
    assert cli_reference.updated(once, known) == once


def test_every_reserved_word_of_a_program_is_coloured() -> None:
    tokens = {text: kind for kind, text in ProgramLexer().get_tokens("\n".join(sorted(RESERVED)))}
    assert [word for word in sorted(RESERVED) if tokens[word] not in Keyword] == []


def test_a_column_named_like_a_statistic_is_a_name() -> None:
    tokens = [(text, kind) for kind, text in ProgramLexer().get_tokens("ENFORCE: E[E] == 3;") if text == "E"]
    assert tokens == [("E", Name.Builtin), ("E", Name)]


def test_a_session_marks_commands_and_verdicts() -> None:
    text = "$ cuts verify p.cuts t.csv\nline  verdict\n   4  FAILS    3\n   5  holds    4\n"
    kinds = {text.strip(): kind for kind, text in SessionLexer().get_tokens(text)}
    assert (kinds["$"], kinds["FAILS"], kinds["holds"]) == (Generic.Prompt, Generic.Error, Generic.Inserted)


def test_a_staged_block_loses_the_words_for_the_tests_and_keeps_its_text() -> None:
    page = staged("```text figures exit=1\n$ cuts run p.cuts\n```\n", "docs/x.md", "x.md")
    assert page == "```{code-block} console\n:force:\n\n$ cuts run p.cuts\n```\n"


def test_links_in_blocks_and_to_other_sites_are_left_alone() -> None:
    text = "[a](https://example.org/x.md) [b](../benchmarks/README.md#protocol)\n"
    assert staged(text, "docs/x.md", "x.md") == text.replace("../benchmarks/README.md", "project/benchmarks.md")


def test_a_link_to_a_file_that_is_not_part_of_the_site_is_an_error() -> None:
    with pytest.raises(ValueError, match="not part of the site"):
        staged("[code](../src/cuts/cli/__init__.py)\n", "docs/x.md", "x.md")


def test_the_navigation_of_a_section_follows_the_links_of_its_index() -> None:
    page = with_navigation("# Errors\n\n[b](b.md), [a](a.md), [b](b.md#x), [up](../c.md)\n", "errors/index.md")
    assert page.endswith("```{toctree}\n:hidden:\n\nb\na\n```\n")


def test_a_page_that_its_index_does_not_link_to_is_found(tmp_path: Path) -> None:
    folder = tmp_path / "docs/how-to"
    folder.mkdir(parents=True)
    (folder / "index.md").write_text("[a](a.md)\n")
    (folder / "a.md").write_text("# A\n")
    (folder / "b.md").write_text("# B\n")
    assert unlisted_pages(tmp_path / "docs") == ["docs/how-to/index.md: add a link to b.md"]
