"""What is told of a synthetic table: the verdicts, and what rules, statistics and aims found and changed."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cuts.assess import render as verdicts
from cuts.assess.render import plain
from cuts.assess.verify import Verdict, holds
from cuts.lang.printer import short
from cuts.privacy.transcript import promise
from cuts.text.columns import align
from cuts.text.diagnostic import counted
from cuts.text.files import write_text

if TYPE_CHECKING:
    from cuts.model.calibrate import Calibration
    from cuts.model.facts import TradeOff
    from cuts.model.store import Model


@dataclass(frozen=True, slots=True)
class Made:
    """A table that was written, the model it is from, its verdicts, and how its rows were chosen, if they were."""

    output: str
    rows: int
    model: Model
    outcome: tuple[Verdict, ...]
    chosen: Calibration | None


def as_text(made: Made) -> str:
    """The verdicts, and what each row rule, statistic and aim found and changed."""
    if not made.outcome:
        return ""
    facts = made.model.facts
    parts = [verdicts.as_text(made.outcome)]
    if facts.rules:
        cells = [
            [str(r.line), *map(_percent, (r.real, r.real_applicable, r.before, r.before_applicable))]
            for r in facts.rules
        ]
        known = "real rows" if made.model.transcript is None else "drawn rows"
        heads = ["rule", known, "where it applies", "free model", "where it applies"]
        parts.append(f"Before the rules were put in place they held in\n{align(heads, cells, right=range(5))}")
    if facts.moved:
        parts.append(f"Repair moved {facts.moved:.2f} cells of a row on average.")
    parts += [_curve(curve, made.model) for curve in facts.trade_offs]
    if made.chosen is not None:
        parts.append(_choice(made.chosen))
    return "\n\n".join(parts) + "\n\n"


def as_data(made: Made) -> dict[str, Any]:
    """The same facts as JSON values."""
    return {
        "holds": holds(made.outcome),
        "output": made.output,
        "rows": made.rows,
        **fit_facts(made.model),
        "chosen": None if made.chosen is None else asdict(made.chosen),
        "verdicts": verdicts.as_data(made.outcome),
    }


def write_report(path: Path, made: Made) -> None:
    """Write what is told, as JSON or as text by the file's ending."""
    import json

    text = json.dumps(as_data(made), indent=2, ensure_ascii=False) + "\n" if path.suffix == ".json" else as_text(made)
    write_text(path, text)


def fit_facts(model: Model) -> dict[str, Any]:
    """How a model was made, as JSON values."""
    facts = {**asdict(model.facts), "components": model.mixture.components, "backbone": model.config.backbone}
    told: dict[str, Any] = {"fit": plain(facts)}
    if model.transcript is not None:
        ledger = model.transcript.ledger
        spent = {"rho": str(ledger.spent), "epsilon": ledger.epsilon_spent, "delta": ledger.terms.delta}
        told["privacy"] = {"promise": promise(model.transcript), "spent": spent}
    return told


def summary(model: Model) -> str:
    """How a model was made, in a line."""
    facts, components = model.facts, counted(model.mixture.components, "component")
    if model.transcript is not None:
        tables, terms = counted(len(model.transcript.measurements), "noisy table"), model.transcript.ledger.terms
        return (
            f"{components} fitted to {tables} of about {counted(facts.rows, 'row')} "
            f"in {counted(facts.steps, 'step')}, private with epsilon {terms.epsilon:g}, delta {terms.delta:g}"
        )
    return (
        f"{components} fitted to {counted(facts.rows, 'row')} in {counted(facts.steps, 'step')}, "
        f"error {facts.error:.4f}"
    )


def _curve(curve: TradeOff, model: Model) -> str:
    """What pushing a number costs, trial by trial."""
    label = model.codec.schema.label
    of = f"accuracy in telling `{label}`" if label is not None else "nearness to the counts"
    trials = [(curve.start, "as it was"), *((trial, "") for trial in curve.trials)]
    nearest = min(curve.trials, key=lambda trial: abs(trial.value - curve.chosen), default=curve.start)
    cells = [
        [short(trial.value, 4), _percent(trial.utility), "chosen" if trial is nearest else note]
        for trial, note in trials
    ]
    return f"Line {curve.line}: what its number costs in {of}\n{align(['value', 'utility', ''], cells, right=[0, 1])}"


def _choice(chosen: Calibration) -> str:
    taken = "none of them twice" if chosen.most_taken <= 1 else f"none more than {chosen.most_taken} times"
    return (
        f"The rows were chosen from {chosen.pool:,} drawn ones, {taken}; "
        f"their weights leave {chosen.effective:,.0f} of these effective."
    )


def _percent(share: float) -> str:
    return f"{100 * share:.2f} %"
