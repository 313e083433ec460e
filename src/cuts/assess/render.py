"""Verdicts as text and as JSON values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from math import floor, isfinite, isnan, log10
from typing import Any

from cuts.assess.verify import Fact, Rows, Verdict
from cuts.data.units import Unit, spread
from cuts.lang import units
from cuts.lang.printer import number, short
from cuts.lang.spec import Level
from cuts.lang.tolerance import shown
from cuts.text.columns import align
from cuts.text.diagnostic import counted

_NONE = "-"
_RANGE = "95 % range of a new sample"
_WORDS = {True: "holds", False: "FAILS", None: _NONE}


def as_text(verdicts: Sequence[Verdict]) -> str:
    """One line per command, then one per statistic and per learner, then rows that break a rule, then the counts."""
    return "\n\n".join(part for part in (_table(verdicts), details(verdicts), counts(verdicts)) if part)


def overview(verdicts: Sequence[Verdict]) -> str:
    """One line per command, then the counts."""
    return f"{_table(verdicts)}\n\n{counts(verdicts)}"


def _table(verdicts: Sequence[Verdict]) -> str:
    cells = [[str(v.line), word(v), _measured(v), v.title] for v in verdicts]
    return align(["line", "verdict", "measured", "command"], cells, right=[0])


def details(verdicts: Sequence[Verdict]) -> str:
    """One line per statistic and per learner, then rows that break a rule; empty if there is none of them."""
    examples = [line for verdict in verdicts for line in _examples(verdict)]
    return "\n\n".join(part for part in (_statistics(verdicts), _learners(verdicts), "\n".join(examples)) if part)


def word(verdict: Verdict) -> str:
    """The outcome in a word."""
    return "no rows" if verdict.is_empty else _WORDS[verdict.holds]


def cells(verdict: Verdict) -> tuple[str, str, str, str, str]:
    """The line, the outcome in a word, the number measured, its target, and the command."""
    facts = [fact for fact in verdict.facts if fact.target is not None]
    measured, target = _measured(verdict), "; ".join(_target_text(fact) for fact in facts)
    if facts:
        measured = "; ".join(part for part in ("; ".join(map(_value_text, verdict.facts)), verdict.note) if part)
    elif verdict.rows is not None:
        target = "every row"
    return (str(verdict.line), word(verdict), measured, target, verdict.title)


def counts(verdicts: Sequence[Verdict]) -> str:
    """How many commands hold and fail; a rule that applies to no row is a warning."""
    checked = [verdict for verdict in verdicts if not verdict.is_empty]
    hold, fail, unchecked = (sum(v.holds is outcome for v in checked) for outcome in (True, False, None))
    counts = f"{hold} hold, {fail} fail" + (f", {unchecked} without a verdict" if unchecked else "")
    empty = [f"line {verdict.line} applies to no row" for verdict in verdicts if verdict.is_empty]
    return f"{counts}, {counted(len(empty), 'warning')}: {', '.join(empty)}" if empty else counts


def as_data(verdicts: Sequence[Verdict]) -> list[dict[str, Any]]:
    """The verdicts as JSON values; an undefined number is null, as is the unit of a plain number."""
    return [_verdict_data(verdict) for verdict in verdicts]


def _verdict_data(verdict: Verdict) -> dict[str, Any]:
    facts = [_fact_data(fact) for fact in verdict.facts]
    return plain({**asdict(verdict), "level": verdict.level.value, "facts": facts})  # type: ignore[return-value]


def _fact_data(fact: Fact) -> dict[str, Any]:
    return {**asdict(fact), "unit": units.name(fact.unit)}


def _measured(verdict: Verdict) -> str:
    if verdict.rows is not None:
        return _rows(verdict.rows)
    if verdict.panel is not None:
        deciding = verdict.panel.deciding
        return "; ".join(part for part in (f"{short(deciding.value, 3)} with {deciding.learner}", verdict.note) if part)
    facts = "; ".join(_fact(fact) for fact in verdict.facts)
    return "; ".join(part for part in (facts, verdict.note) if part)


def _rows(rows: Rows) -> str:
    if rows.applicable == 0:
        return f"applies to none of {counted(rows.total, 'row')}"
    share = f"{percent(rows.satisfied, rows.total)} of {counted(rows.total, 'row')}"
    if rows.applicable == rows.total:
        return share
    applied = percent(rows.applicable_satisfied, rows.applicable)
    return f"{applied} of {counted(rows.applicable, 'row')} it applies to, {share}"


def percent(part: int, whole: int) -> str:
    """A share in percent; 100 only if it is exactly 1."""
    shown = f"{100 * part / whole:.2f}"
    return f"{'99.99' if shown == '100.00' and part < whole else shown} %"


def _fact(fact: Fact) -> str:
    value = _value_text(fact)
    return value if fact.target is None or _is_undefined(fact) else f"{value}, target {_target_text(fact)}"


def _value_text(fact: Fact) -> str:
    lead = f"{fact.about}: " if fact.about else ""
    if _is_undefined(fact):
        return f"{lead}undefined (no rows, or a constant column)"
    return f"{lead}{units.show(fact.value, fact.unit)}"


def _target_text(fact: Fact) -> str:
    if fact.target is None:
        return ""
    slack = f" within {shown(fact.tolerance, fact.basis, spread(fact.unit))}" if fact.tolerance else ""
    return f"{fact.op} {units.show(fact.target, fact.unit)}{slack}"


def _is_undefined(fact: Fact) -> bool:
    return isnan(fact.value) or (fact.target is not None and isnan(fact.target))


def _learners(verdicts: Sequence[Verdict]) -> str:
    """One line per learner: the measure on the rows it was evaluated on, its interval, and the accuracy."""
    cells = [
        [
            str(verdict.line),
            result.learner,
            short(result.value, 3),
            show_bootstrap(result.interval),
            f"{100 * result.accuracy:.2f} %",
            "decides" if result == verdict.panel.deciding else "",
        ]
        for verdict in verdicts
        if verdict.panel is not None
        for result in verdict.panel.learners
    ]
    if not cells:
        return ""
    private = any(verdict.level is Level.PRIVACY for verdict in verdicts)
    rows = "on rows of the private model" if private else "on real rows"
    heads = ["line", "learner trained on the table", rows, "95 % bootstrap interval", "accuracy", ""]
    return align(heads, cells, right=[0, 2, 4])


def _statistics(verdicts: Sequence[Verdict]) -> str:
    """One line per statistic: its value in each table, the target, and the 95 % range of a new sample."""
    facts = [fact for verdict in verdicts for fact in verdict.facts]
    if not facts:
        return ""
    columns = [
        ("line", [str(verdict.line) for verdict in verdicts for _ in verdict.facts]),
        ("statistic", [fact.statistic for fact in facts]),
        ("real", [show_number(fact.real, fact) for fact in facts]),
        ("model", [show_number(fact.model, fact) for fact in facts]),
        ("table", [show_number(fact.measured, fact) for fact in facts]),
        ("target", [show_target(fact) for fact in facts]),
        ("tolerance", [show_tolerance(fact) for fact in facts]),
        (_RANGE, [show_range(fact.interval, fact.measured_unit) for fact in facts]),
    ]
    optional = {"real", "model", _RANGE}  # left out if no fact has a value
    shown = [(head, cells) for head, cells in columns if head not in optional or set(cells) != {_NONE}]
    heads = [head for head, _ in shown]
    right = [index for index, head in enumerate(heads) if head not in ("statistic", _RANGE)]
    return align(heads, list(zip(*(cells for _, cells in shown), strict=True)), right=right)


def show_number(value: float | None, fact: Fact) -> str:
    """A number rounded to a hundredth of its tolerance."""
    if value is None:
        return _NONE
    if fact.tolerance and isfinite(value):
        value = round(value, 2 - floor(log10(fact.tolerance))) + 0.0  # no minus sign before a zero
    return units.show(value, fact.measured_unit)


def show_tolerance(fact: Fact) -> str:
    """How far the number may be from its target."""
    return _NONE if fact.tolerance is None else units.show(fact.tolerance, spread(fact.unit))


def show_target(fact: Fact) -> str:
    """What the number is compared with; without `==`, which is the usual way."""
    if fact.target is None:
        return _NONE
    target = units.show(0.0 if fact.gap else fact.target, fact.measured_unit)
    return target if fact.op == "==" else f"{fact.op} {target}"


def show_range(interval: tuple[float, float] | None, unit: Unit) -> str:
    """Both ends, rounded to two digits of the width."""
    if interval is None:
        return _NONE
    low, high = interval
    if unit.is_time or not high > low:
        return f"{units.show(low, unit)} .. {units.show(high, unit)}"
    decimals = 1 - floor(log10(high - low))
    return f"{number(round(low, decimals))} .. {number(round(high, decimals))}"


def show_bootstrap(interval: tuple[float, float]) -> str:
    """Both ends of a classifier's interval, to two digits."""
    return f"{short(interval[0], 2)} .. {short(interval[1], 2)}"


def _examples(verdict: Verdict) -> list[str]:
    if verdict.rows is None or not verdict.rows.first_violations:
        return []
    shown = broken_rows(verdict.rows)
    if not shown:
        numbers = ", ".join(map(str, verdict.rows.first_violations))
        return [f"line {verdict.line}: the first rows that break it are {numbers}"]
    return [f"line {verdict.line} is broken by {row}" for row in shown]


def broken_rows(rows: Rows) -> list[str]:
    """The first rows that break a rule, with the cells it is about; none in private programs."""
    if not rows.examples:
        return []
    return [
        f"row {row}: {', '.join(f'{k}={_cell(v)}' for k, v in example.items())}"
        for row, example in zip(rows.first_violations, rows.examples, strict=True)
    ]


def _cell(value: object) -> str:
    if isinstance(value, float):
        return number(value) if isfinite(value) else str(value)
    return "missing" if value is None else str(value)


def plain(value: object) -> object:
    """The value in JSON types; an undefined number is null."""
    if isinstance(value, float):
        return value if isfinite(value) else None
    if isinstance(value, dict):
        return {key: plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    return value if value is None or isinstance(value, bool | int | str) else str(value)
