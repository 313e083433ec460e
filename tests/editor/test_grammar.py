"""The TextMate grammar knows the words of the language, all of them and no others, and colours what they are."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cuts.editor import words
from cuts.lang.keywords import RESERVED
from cuts.lang.syntax import KIND_ALIASES
from cuts.vocab.functions import NAMED_FUNCTIONS
from cuts.vocab.names import DISTRIBUTION, measures, statistics

ROOT = Path(__file__).parents[2]
EDITORS = ROOT / "editors"
GRAMMAR = json.loads((EDITORS / "cuts.tmLanguage.json").read_text(encoding="utf-8"))


def rules(name: str) -> list[Any]:
    """The rules of an entry of the grammar."""
    entry = GRAMMAR["repository"][name]
    return list(entry.get("patterns", [entry]))


def listed(name: str) -> set[str]:
    """The words that the rules of an entry list."""
    groups = [re.search(r"\\b\(([^()]*)\)\\b", rule["match"]) for rule in rules(name)]
    return {word.replace(r"\s+", " ") for group in groups if group is not None for word in group[1].split("|")}


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ("keyword", RESERVED),
        ("kind", set(KIND_ALIASES)),
        ("statistic", {*statistics(), DISTRIBUTION}),
        ("measure", set(measures())),
        ("function", set(NAMED_FUNCTIONS)),
        ("option", set(words.OPTIONS)),
    ],
)
def test_the_grammar_lists_the_words_of_the_language(entry: str, expected: set[str]) -> None:
    assert listed(entry) == expected


def tokens(line: str) -> Iterator[tuple[str, str]]:
    """The coloured parts of a line: at each place the leftmost match wins, of these the rule that comes first."""
    ordered = [rule for pattern in GRAMMAR["patterns"] for rule in rules(pattern["include"].removeprefix("#"))]
    start = 0
    while start < len(line):
        found = [(match.start(), i, match) for i, rule in enumerate(ordered) if (match := _search(rule, line, start))]
        if not found:
            return
        _, number, match = min(found, key=lambda each: each[:2])
        rule = ordered[number]
        if "captures" in rule:
            yield from ((match[int(group)], capture["name"]) for group, capture in rule["captures"].items())
        else:
            yield match.group(), rule["name"]
        start = max(match.end(), start + 1)


def _search(rule: Any, line: str, start: int) -> re.Match[str] | None:
    return re.compile(rule["match"]).search(line, start)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("SYNTHESIZE: data/people.csv;", [("SYNTHESIZE", "keyword.control"), ("data/people.csv", "entity.name.type")]),
        ("synthesize: adult; # END;", [("adult", "entity.name.type"), ("# END;", "comment.line")]),
        ("LET x := 'END' -- IN", [("LET", "keyword.control"), ("'END'", "string.quoted"), ("-- IN", "comment.line")]),
        (
            "ENFORCE: ROW CONSTRAINT: 18 <= age < 65.5;",
            [("ENFORCE", "keyword.control"), ("ROW CONSTRAINT", "storage.type"), ("18", "constant.numeric"),
             ("<=", "keyword.operator"), ("65.5", "constant.numeric")],
        ),
        (
            "ENFORCE: E[age | race IN {`a-b`, 11th}] == <goal> WITHIN 1e-3;",
            [("E", "support.function.statistic"), ("IN", "keyword.operator.word"), ("`a-b`", "variable.other.quoted"),
             ("<goal>", "variable.other.placeholder"), ("WITHIN", "keyword.control"), ("1e-3", "constant.numeric")],
        ),
        ("Q(0.5)[x] >= 50 %", [("Q", "support.function.statistic"), ("50 %", "constant.numeric")]),
        (
            "MINIMIZE: BIAS: DEMOGRAPHIC_PARITY(protected=sex, target=salary)",
            [("BIAS", "storage.type"), ("DEMOGRAPHIC_PARITY", "support.function.measure"),
             ("protected", "variable.parameter"), ("target", "variable.parameter")],
        ),
        ("x IS NOT NULL", [("IS", "keyword.operator.word"), ("NULL", "constant.language")]),
    ],
)  # fmt: skip
def test_a_line_is_coloured(line: str, expected: list[tuple[str, str]]) -> None:
    found = [(text, scope.removesuffix(".cuts")) for text, scope in tokens(line)]
    assert [pair for pair in found if pair in expected] == expected


@pytest.mark.parametrize(
    ("line", "word"),
    [("ENFORCE: bias > 3", "bias"), ("ENFORCE: e == 1", "e"), ("x == 11th", "11"), ("endless > 1", "end"),
     ("LET target := 1", "target"), ('y == "AND"', "AND")],
)  # fmt: skip
def test_a_name_is_not_taken_for_a_word_of_the_language(line: str, word: str) -> None:
    assert word not in [text for text, _ in tokens(line)]


def test_programs_of_this_repository_are_coloured_word_by_word() -> None:
    for path in (ROOT / "examples").glob("*.cuts"):
        for line in path.read_text(encoding="utf-8").splitlines():
            code = re.sub(r"(#|--).*|\"[^\"]*\"|'[^']*'|`[^`]*`|(?<=SYNTHESIZE:).*", "", line)
            written = {word for word in re.findall(r"\w+", code) if word.upper() in RESERVED}
            coloured = {text for text, scope in tokens(line) if scope.startswith(("keyword", "constant.language"))}
            assert written <= coloured, line


def test_the_extension_names_files_that_exist() -> None:
    package = json.loads((EDITORS / "vscode" / "package.json").read_text(encoding="utf-8"))
    (language,), (grammar,) = package["contributes"]["languages"], package["contributes"]["grammars"]
    for name in (package["main"], language["configuration"], grammar["path"]):
        assert (EDITORS / "vscode" / name).is_file(), name
    copied = json.loads((EDITORS / "vscode" / grammar["path"]).read_text(encoding="utf-8"))
    assert copied == GRAMMAR, "copy editors/cuts.tmLanguage.json into editors/vscode"
    assert grammar["scopeName"] == GRAMMAR["scopeName"]
    assert language["extensions"] == [".cuts"]
