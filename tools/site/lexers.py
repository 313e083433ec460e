"""Colours for the code blocks of the documentation: programs, and sessions at the command line.

The words of a program come from `cuts` itself, so a new keyword, statistic or measure is coloured without a change
here.
"""

from __future__ import annotations

import re

from pygments.lexer import RegexLexer, bygroups, words
from pygments.token import Comment, Generic, Keyword, Name, Number, Operator, Punctuation, String, Text, Whitespace

from cuts.lang.keywords import RESERVED
from cuts.lang.syntax import ACTIONS, KIND_ALIASES
from cuts.vocab.functions import NAMED_FUNCTIONS
from cuts.vocab.names import DISTRIBUTION, measures, statistics

_STATEMENTS = {*ACTIONS, "SYNTHESIZE", "END", "LET"}
_KINDS = "|".join(kind.replace(" ", r"\s+") for kind in KIND_ALIASES)


class ProgramLexer(RegexLexer):
    """Programs of the CuTS language.

    >>> [str(kind) for kind, text in ProgramLexer().get_tokens("ENFORCE: E[age] == 40;") if text in ("ENFORCE", "E")]
    ['Token.Keyword.Declaration', 'Token.Name.Builtin']
    """

    name = "CuTS"
    aliases = ("cuts",)
    filenames = ("*.cuts",)
    flags = re.IGNORECASE | re.MULTILINE
    tokens = {  # noqa: RUF012 (Pygments reads this attribute of the class)
        "root": [
            (r"\s+", Whitespace),
            (r"(#|--)[^\n]*", Comment.Single),
            (r'"[^"\n]*"|\'[^\'\n]*\'', String),
            (r"`[^`\n]+`", Name.Variable),
            (r"<[^\W\d]\w*>", Name.Entity),
            (rf"({_KINDS})(?=\s*:)", Keyword.Type),
            (words(sorted(_STATEMENTS), prefix=r"\b", suffix=r"\b"), Keyword.Declaration),
            (words(sorted(RESERVED - _STATEMENTS), prefix=r"\b", suffix=r"\b"), Keyword),
            (words(sorted([*statistics(), DISTRIBUTION]), suffix=r"(?=\s*[\[(])", prefix=r"\b"), Name.Builtin),
            (words(sorted([*measures(), *NAMED_FUNCTIONS]), suffix=r"(?=\s*\()", prefix=r"\b"), Name.Builtin),
            (r"(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?(\s*%)?(?![\w.])", Number),
            (r":=|\+-|±|[=!<>]=|[<>=+\-*/|]", Operator),
            (r"[:;,(){}\[\]]", Punctuation),
            (r"\w+", Name),
            (r".", Text),
        ]
    }


class SessionLexer(RegexLexer):
    """Commands after `$ `, and what they print: verdicts and the first words of diagnostics are marked."""

    name = "cuts session"
    aliases = ("console",)
    flags = re.MULTILINE
    tokens = {  # noqa: RUF012 (as above)
        "root": [
            (r"^(\$ )([^\n]*\n)", bygroups(Generic.Prompt, Generic.Strong)),
            (r"^(error)(\[[a-z-]+\])", bygroups(Generic.Error, Generic.Strong)),
            (r"^(warning)(\[[a-z-]+\])", bygroups(Generic.Subheading, Generic.Strong)),
            (r"^( *\d+  )(FAILS)\b", bygroups(Generic.Output, Generic.Error)),
            (r"^( *\d+  )(holds)\b", bygroups(Generic.Output, Generic.Inserted)),
            (r"[^\n]*\n", Generic.Output),
        ]
    }
