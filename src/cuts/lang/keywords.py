"""The reserved words of the language: the only list of them.

The terminals of the grammar, the words a name cannot be and the keywords a misspelt word is compared with all follow
from it.
"""

from __future__ import annotations

from cuts.lang.syntax import ACTIONS, KIND_ALIASES

# By terminal of the grammar; the parser drops a token whose terminal begins with `_`.
KEYWORDS: dict[str, tuple[str, ...]] = {
    "ACTION": ACTIONS,
    "WITHIN": ("WITHIN",),
    "NOT": ("NOT",),
    **{f"_{word}": (word,) for word in ("SYNTHESIZE", "END", "LET", "PARAM", "WITH")},
    **{f"_{word}": (word,) for word in ("AND", "OR", "IMPLIES", "IN", "BETWEEN", "IS", "NULL")},
}
RESERVED = frozenset(word for words in KEYWORDS.values() for word in words)
_SIGNS = {"WITHIN": (r"\+-", "±")}  # other ways to write a keyword


def terminals() -> str:
    r"""The grammar's terminals for words: the keywords, the kinds of commands, and names, which are none of the former.

    A kind is one only before a `:`, so that `bias` can be a column.

    >>> [line for line in terminals().splitlines() if line.startswith("WITHIN")]
    ['WITHIN.2: /(WITHIN)\\b|\\+-|±/i']
    """
    lines = []
    for terminal, words in KEYWORDS.items():
        patterns = (rf"({'|'.join(words)})\b", *_SIGNS.get(terminal, ()))
        lines.append(f"{terminal}.2: /{'|'.join(patterns)}/i")
    kinds = "|".join(kind.replace(" ", r"\s+") for kind in KIND_ALIASES)
    lines.append(rf"KIND.3: /({kinds})(?=(\s|(#|--)[^\n]*\n)*:)/i")
    lines.append(rf"NAME: /(?!({'|'.join(sorted(RESERVED))})\b)\w+/i")
    return "\n".join(lines)
