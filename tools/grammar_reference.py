"""Write docs/reference/grammar.md: the grammar file that the parser reads, in sections, and the words of the language.

python tools/grammar_reference.py            # rewrite the page
python tools/grammar_reference.py --check    # exit with 1 if it is not up to date
"""

from __future__ import annotations

import sys
from importlib.resources import files
from pathlib import Path

from cuts.lang.keywords import RESERVED
from cuts.lang.syntax import ACTIONS, KIND_ALIASES
from cuts.vocab.functions import NAMED_FUNCTIONS
from cuts.vocab.names import DISTRIBUTION, fairness_measures, measures, statistics

PAGE = Path(__file__).parent.parent / "docs/reference/grammar.md"
# The heading of each part of the grammar file, by the first rule or terminal of the part. A part without one continues
# the section before it.
HEADINGS = {
    "program": "Programs",
    "source": "Statements",
    "?expr": "Expressions",
    "share": "Arguments, options and values",
    "COMPARE": "Operators, numbers and text",
    "COMMENT": "Comments and blanks",
}
INTRODUCTION = """# The grammar

<!-- written by tools/grammar_reference.py from src/cuts/lang/grammar.lark: do not edit -->

This is the grammar that the parser reads, in the notation of [Lark](https://lark-parser.readthedocs.io).
[The language](language.md) says what the constructs mean.

| notation | meaning |
|---|---|
| `rule : a b \\| c` | `a` followed by `b`, or `c` |
| `[a]`, `(a b)*`, `(a b)+` | at most once; any number of times; at least once |
| `"text"`, `/regex/` | this text; what the regular expression matches |
| `-> name` | the name of the node in the syntax tree |
| names in capitals | single words and signs; `_` in front: not kept in the syntax tree |
| `?` in front of a rule | no node of its own if it has one part only |
| `NAME.2` | this word is tried before those without a number |
"""


def main() -> int:
    """Rewrite the page, or with `--check` only say whether it is up to date."""
    page = written()
    if "--check" in sys.argv[1:]:
        is_stale = not PAGE.exists() or PAGE.read_text(encoding="utf-8") != page
        if is_stale:
            print(f"{PAGE.name} is not up to date: run `python tools/grammar_reference.py`")
        return int(is_stale)
    PAGE.write_text(page, encoding="utf-8")
    return 0


def written() -> str:
    """The page as Markdown."""
    grammar = files("cuts.lang").joinpath("grammar.lark").read_text(encoding="utf-8")
    sections: list[tuple[str, list[str]]] = []
    for part in grammar.strip().split("\n\n"):
        heading = HEADINGS.get(_first_rule(part))
        if heading:
            sections.append((heading, [part]))
        elif sections:
            sections[-1][1].append(part)
    texts = [f"## {heading}\n\n```text\n{chr(10).join(parts)}\n```\n" for heading, parts in sections]
    return "\n".join([INTRODUCTION, *texts, words()])


def words() -> str:
    """The words that the terminals of the grammar are made of, and the names that the language knows."""
    utility = [name for name in measures() if name not in {measure.name for measure in fairness_measures()}]
    rows = {
        "actions (`ACTION`)": ACTIONS,
        "kinds (`KIND`), only before `:`": tuple(KIND_ALIASES),
        "other reserved words": tuple(sorted(RESERVED - set(ACTIONS))),
        "statistics": tuple(sorted([*statistics(), DISTRIBUTION])),
        "fairness measures": tuple(measure.name for measure in fairness_measures()),
        "utility measures": tuple(utility),
        "functions": tuple(sorted(NAMED_FUNCTIONS)),
    }
    lines = [f"| {title} | {', '.join(f'`{word}`' for word in known)} |" for title, known in rows.items()]
    text = "All of them are case-insensitive. A reserved word is a name only in backticks; any other word is a `NAME`."
    return "\n".join(["## Words", "", text, "", "| kind | words |", "|---|---|", *lines, ""])


def _first_rule(part: str) -> str:
    rules = [line for line in part.splitlines() if line and not line.startswith(("//", " ", "%"))]
    return rules[0].partition(":")[0].split(".")[0].strip() if rules else ""


if __name__ == "__main__":
    sys.exit(main())
