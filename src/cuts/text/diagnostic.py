"""Errors and warnings as data: what is wrong, where, what to do.

`text/render.py` prints them for terminals and as JSON; each code has a page, which `cuts explain CODE` prints.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Literal

from cuts.text.source import Source, Span

Severity = Literal["error", "warning"]
Code = Literal[  # every code has its page in docs/reference/errors
    "action-mismatch",
    "ambiguous-name",
    "bad-config",
    "bad-count",
    "bad-delta",
    "bad-distribution",
    "bad-epsilon",
    "bad-ledger",
    "bad-model",
    "bad-number",
    "bad-option",
    "bad-query",
    "bad-schema",
    "bad-setting",
    "bad-transcript",
    "bad-weight",
    "broken-formula",
    "budget-spent",
    "circular-let",
    "column-type",
    "conflicting-statistics",
    "contradiction",
    "core-failed",
    "dead-category",
    "deprecated-name",
    "duplicate-privacy",
    "empty-program",
    "empty-support",
    "extra-column",
    "failed-fit",
    "few-rows",
    "free-text",
    "impossible-row",
    "interrupted",
    "kind-mismatch",
    "level-mismatch",
    "low-acceptance",
    "missing-argument",
    "missing-column",
    "missing-end",
    "missing-extra",
    "missing-semicolon",
    "misspelt-keyword",
    "name-collision",
    "needs-tolerance",
    "nominal-arithmetic",
    "nonlinear-rule",
    "not-modelled",
    "not-supported",
    "nothing-found",
    "nothing-to-learn",
    "open-placeholder",
    "other-draw",
    "other-terms",
    "outside-domain",
    "outside-schema",
    "password-in-location",
    "personal-data",
    "private-schema",
    "protected-equals-target",
    "rare-condition",
    "rare-values",
    "reads-private-data",
    "redundant-command",
    "rules-too-large",
    "single-class",
    "small-group",
    "strict-on-real",
    "syntax-error",
    "target-in-features",
    "type-mismatch",
    "unexpected-missing",
    "unit-mismatch",
    "unknown-category",
    "unknown-code",
    "unknown-column",
    "unknown-data",
    "unknown-domain",
    "unknown-format",
    "unknown-function",
    "unknown-option",
    "unknown-placeholder",
    "unknown-table",
    "unreachable-server",
    "unreachable-target",
    "unreadable-file",
    "unreadable-schema",
    "unreadable-table",
    "unsupported-column",
    "unused-let",
    "unwritable-file",
    "vacuous-implication",
    "worker-lost",
    "wrong-arguments",
]

AT_FAULT, USAGE, INFEASIBLE, PRIVACY = 1, 2, 3, 5  # exit codes


@dataclass(frozen=True, slots=True)
class Note:
    """Another span that belongs to a diagnostic, with its label."""

    span: Span
    label: str


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One problem: a stable code, a title without full stop, the span it is about, and a help that works when pasted.

    `label` is shown at the span. `exit_code` is the one of the command line if nothing worse happens.
    """

    code: Code
    title: str
    span: Span | None = None
    label: str = ""
    help: str | None = None
    notes: tuple[Note, ...] = ()
    severity: Severity = "error"
    exit_code: int = AT_FAULT


class CutsError(Exception):
    """The program, the data or the call is at fault; `diagnostics` has every problem found."""

    def __init__(self, diagnostics: Iterable[Diagnostic], source: Source | None = None) -> None:
        self.diagnostics = tuple(diagnostics)
        self.source = source
        super().__init__("; ".join(f"{d.code}: {d.title}" for d in self.diagnostics if d.severity == "error"))

    @property
    def exit_code(self) -> int:
        """The exit code of all diagnostics together."""
        return exit_code(self.diagnostics)

    def _render_traceback_(self) -> list[str]:
        """What IPython and Jupyter show in place of a traceback: the message that the command line prints."""
        from cuts.text.render import as_text  # which needs this module

        return as_text(self.diagnostics, self.source).split("\n")


def exit_code(diagnostics: Iterable[Diagnostic]) -> int:
    """0 without errors, otherwise the smallest exit code of the errors.

    >>> exit_code([Diagnostic("contradiction", "", exit_code=INFEASIBLE)])
    3
    """
    codes = [d.exit_code for d in diagnostics if d.severity == "error"]
    return 0 if not codes else min(codes)


def has_errors(diagnostics: Iterable[Diagnostic]) -> bool:
    """Whether one of them is an error, not a warning."""
    return any(d.severity == "error" for d in diagnostics)


def usage_error(code: Code, title: str, help: str | None = None) -> CutsError:
    """The error for a call that cannot be served, such as a missing file."""
    return CutsError([Diagnostic(code, title, help=help, exit_code=USAGE)])


def nearest(word: str, candidates: Iterable[str]) -> str | None:
    """The candidate most similar to `word`, ignoring case, or nothing when none is similar.

    >>> nearest("Femal", ["Male", "Female"])
    'Female'
    """
    folded = {candidate.casefold(): candidate for candidate in candidates}
    matches = get_close_matches(word.casefold(), folded, n=1, cutoff=0.6)
    return folded[matches[0]] if matches else None


def did_you_mean(word: str, candidates: Iterable[str]) -> str | None:
    """A help that names the most similar candidate, or nothing when none is similar.

    >>> did_you_mean("agee", ["age", "sex"])
    'did you mean `age`?'
    """
    candidate = nearest(word, candidates)
    return None if candidate is None else f"did you mean `{candidate}`?"


def counted(count: int, noun: str) -> str:
    """The number with its noun.

    >>> counted(1, "row"), counted(1200, "row")
    ('1 row', '1,200 rows')
    """
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def listed(words: Sequence[str], *, limit: int = 8) -> str:
    """The words in backticks, joined by commas; only the first `limit` of them.

    >>> listed(["a", "b", "c"], limit=2)
    '`a`, `b` and 1 more'
    """
    shown = ", ".join(f"`{word}`" for word in words[:limit])
    return shown if len(words) <= limit else f"{shown} and {len(words) - limit} more"
