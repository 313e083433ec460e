"""Verdicts as text and as JSON values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from math import isfinite, isnan
from typing import Any

from cuts.assess.verify import Fact, Rows, Verdict
from cuts.lang.printer import number, short
from cuts.text.columns import align
from cuts.text.diagnostic import counted

_WORDS = {True: "holds", False: "FAILS", None: "-"}


def as_text(verdicts: Sequence[Verdict]) -> str:
    """A line a command with its numbers, then the rows that break a rule, then the sum."""
    table = align(
        ["line", "verdict", "measured", "command"],
        [[str(v.line), _WORDS[v.holds], _measured(v), v.title] for v in verdicts],
        right=[0],
    )
    examples = [line for verdict in verdicts for line in _examples(verdict)]
    counts = [sum(v.holds is outcome for v in verdicts) for outcome in (True, False, None)]
    sum_up = f"{counts[0]} hold, {counts[1]} fail" + (f", {counts[2]} not decided by a table" if counts[2] else "")
    return "\n".join([table, *(["", *examples] if examples else []), "", sum_up])


def as_data(verdicts: Sequence[Verdict]) -> list[dict[str, Any]]:
    """The same facts as JSON values; a number that is undefined is null."""
    return [plain({**asdict(verdict), "level": verdict.level.value}) for verdict in verdicts]  # type: ignore[misc]


def _measured(verdict: Verdict) -> str:
    if verdict.rows is not None:
        return _rows(verdict.rows)
    facts = "; ".join(_fact(fact) for fact in verdict.facts)
    return "; ".join(part for part in (facts, verdict.note) if part)


def _rows(rows: Rows) -> str:
    share = f"{_percent(rows.satisfied, rows.total)} of {counted(rows.total, 'row')}"
    if rows.applicable == rows.total:
        return share
    applied = _percent(rows.applicable_satisfied, rows.applicable)
    return f"{applied} of {counted(rows.applicable, 'row')} it applies to, {share}"


def _percent(part: int, whole: int) -> str:
    """A share in percent that shows 100 only when it is."""
    if whole == 0:
        return "100.00 %"
    shown = f"{100 * part / whole:.2f}"
    return f"{'99.99' if shown == '100.00' and part < whole else shown} %"


def _fact(fact: Fact) -> str:
    lead = f"{fact.about}: " if fact.about else ""
    if isnan(fact.value) or (fact.target is not None and isnan(fact.target)):
        return f"{lead}undefined (no rows, or a constant column)"
    if fact.target is None:
        return f"{lead}{short(fact.value)}"
    slack = f" within {short(fact.tolerance)}" if fact.tolerance else ""
    return f"{lead}{short(fact.value)}, wanted {fact.op} {short(fact.target)}{slack}"


def _examples(verdict: Verdict) -> list[str]:
    if verdict.rows is None or not verdict.rows.first_violations:
        return []
    shown = verdict.rows.examples
    if not shown:
        numbers = ", ".join(map(str, verdict.rows.first_violations))
        return [f"line {verdict.line} is broken first in rows {numbers}"]
    return [
        f"line {verdict.line} is broken by row {row}: {', '.join(f'{k}={_cell(v)}' for k, v in example.items())}"
        for row, example in zip(verdict.rows.first_violations, shown, strict=True)
    ]


def _cell(value: object) -> str:
    if isinstance(value, float):
        return number(value) if isfinite(value) else str(value)
    return "missing" if value is None else str(value)


def plain(value: object) -> object:
    """Facts as JSON values: a number that is undefined is null."""
    if isinstance(value, float):
        return value if isfinite(value) else None
    if isinstance(value, dict):
        return {key: plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    return value if value is None or isinstance(value, bool | int | str) else str(value)
