"""The result of `cuts run` and `cuts fit` as text and as JSON: verdicts, and how the model was fitted and adjusted."""

from __future__ import annotations

from dataclasses import asdict
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cuts.assess import drift
from cuts.assess import render as verdicts
from cuts.assess.render import plain
from cuts.assess.render_quality import against_fitted
from cuts.cli import precision
from cuts.data.units import NUMBER
from cuts.lang import units
from cuts.lang.printer import short
from cuts.lang.spec import TableAim
from cuts.privacy.precision import known
from cuts.privacy.transcript import promise
from cuts.report.data import as_json
from cuts.report.figures import rejection_words, selection_words, trial_words
from cuts.text.columns import align
from cuts.text.diagnostic import counted
from cuts.text.files import write_text

if TYPE_CHECKING:
    from cuts.data.exchange.parts import PartsFolder
    from cuts.data.table import Table
    from cuts.flow.run import RunResult
    from cuts.flow.sample import Sample
    from cuts.model.facts import Facts, Memory, TradeOff
    from cuts.model.network import Network
    from cuts.model.rejection import Rejection
    from cuts.model.store import Model
    from cuts.progress import Observer
    from cuts.sources.spark import SparkPath


def as_text(result: RunResult) -> str:
    """The verdicts, what the row rules, the model commands and the selection of rows changed, how near the table is."""
    return _blocks(result, verdicts.as_text(result.verdicts))


def details(result: RunResult) -> str:
    """The same without the verdicts."""
    return _blocks(result, verdicts.details(result.verdicts))


def overview(result: RunResult) -> str:
    """The verdicts alone, for a run whose report has the rest."""
    return f"{verdicts.overview(result.verdicts)}\n\n" if result.verdicts else ""


def report_summary(result: RunResult, report: Path) -> str:
    """The last lines of a run with a report as a page: how near the table is, what was written, where the rest is."""
    lines = [run_summary(result), f"report: {report}"]
    if result.discriminator is not None:
        lines.insert(
            0, f"discriminator: AUC {result.discriminator.auc:.2f} (0.50 or less is indistinguishable from real rows)"
        )
    if result.facts.memory is not None and result.facts.smoothing > 0:
        lines.insert(
            -2,
            f"smoothing: {_percent(result.facts.smoothing)}, because the table is small; it keeps the model from "
            "memorising rows and weakens relations between columns (`smoothing` in the settings)",
        )
    return "\n".join(lines)


def _blocks(result: RunResult, judged: str) -> str:
    parts = [part for part in (judged, *_of_commands(result)) if part] if result.verdicts else []
    if result.drifts:
        rows = min(result.table.rows, result.facts.rows)
        parts.append(drift.as_text(result.drifts, result.model.codec.schema, rows))
    parts += filter(None, [badly_known(result.model)])
    if result.model.transcript is None:
        parts.append(against_fitted(result.discriminator, commands=bool(result.verdicts)))
    if result.facts.memory is not None and result.facts.smoothing > 0:
        parts.append(_memory(result.facts.smoothing, result.facts.memory))
    return "".join(f"{part}\n\n" for part in parts)


def badly_known(model: Model) -> str:
    """The columns that a private model does not know well; nothing if there are none."""
    if model.transcript is None:
        return ""
    return precision.badly_known(known(model.transcript), model.codec.schema)


def _memory(smoothing: float, memory: Memory) -> str:
    """What was done against memorising rows."""
    return (
        f"The table is small, so every component of the model keeps {_percent(smoothing)} of the columns' own "
        "distributions (smoothing) to keep it from memorising rows; this weakens the relations between columns. "
        f"{trial_words(memory.nearer, memory.copies, memory.unseen_copies)}"
    )


def _of_commands(result: RunResult) -> list[str]:
    facts = result.model.facts
    parts = []
    if facts.rules:
        parts.append(_rules(result.model))
    if facts.moved:
        parts.append(f"Enforcing the rules changed {facts.moved:.2f} cells per row on average.")
    if result.model.codec.ties:
        parts.append(_ties(result.model))
    parts += [_trade_off(curve, result.model) for curve in facts.trade_offs]
    if result.sample.calibration is not None:
        chosen = result.sample.calibration
        parts.append(selection_words(chosen.pool, chosen.most_taken, chosen.effective))
    if result.sample.rejection is not None:
        parts.append(rejection_text(result.sample.rejection))
    parts += [
        f"Line {step.line}: planned `{step.way}`, met by `{way}`: the planned way does not suffice for these rows."
        for step, way in result.departures
    ]
    return parts


def as_data(result: RunResult) -> dict[str, Any]:
    """The same facts as JSON values."""
    return {
        "holds": result.holds,
        "output": str(result.output),
        **written_data(result.sample),
        **fit_facts(result.model),
        "chosen": None if result.sample.calibration is None else asdict(result.sample.calibration),
        "rejection": rejection_data(result.sample.rejection),
        "drifts": [plain(asdict(each)) for each in result.drifts],
        "discriminator": None if result.discriminator is None else plain(asdict(result.discriminator)),
        "verdicts": verdicts.as_data(result.verdicts),
    }


def report_files(path: Path) -> tuple[Path, ...]:
    """The files that a report is written to: the page has its JSON twin beside it."""
    return (path, path.with_suffix(".json")) if is_page(path) else (path,)


def is_page(path: Path) -> bool:
    """Whether a report is a page with its JSON twin."""
    return path.suffix.lower() in (".html", ".htm")


def is_full(path: Path) -> bool:
    """Whether a report has all facts: a page or JSON, not what is printed."""
    return is_page(path) or path.suffix.lower() == ".json"


def write_report(path: Path, result: RunResult, test: Table | None, observer: Observer) -> None:
    """Write the report: as a page and its JSON twin, as JSON alone, or what is printed as text; by the ending."""
    if not is_full(path):
        write_text(path, f"{as_text(result)}{run_summary(result)}\n")
        return
    if is_page(path):
        result.report(test, observer=observer).save(path)
        return
    from cuts.flow.report import build_report  # it needs torch, which a run has loaded

    write_text(path, as_json(build_report(result, test=test, observer=observer)))


def fit_facts(model: Model) -> dict[str, Any]:
    """How a model was fitted, and the privacy budget it spent, as JSON values.

    Times are left out for a private program: a running time may depend on the rows, and reports may be published.
    """
    facts = {**asdict(model.facts), "components": model.mixture.components, "backbone": model.config.backbone}
    if model.network is not None:
        facts["weights"] = _weights(model.network)
    if model.transcript is not None:
        facts = {name: fact for name, fact in facts.items() if not name.endswith("_seconds")}
    data: dict[str, Any] = {"fit": plain(facts)}
    if model.codec.ties:
        data["ties"] = [{"column": t.column, "anchor": t.anchor, "learned": t.hidden.name} for t in model.codec.ties]
    if model.transcript is not None:
        ledger = model.transcript.ledger
        spent = {"rho": str(ledger.spent), "epsilon": ledger.epsilon_spent, "delta": ledger.terms.delta}
        columns = [{**asdict(each), "is_good": each.is_good} for each in known(model.transcript)]
        data["privacy"] = {"promise": promise(model.transcript), "spent": spent, "columns": plain(columns)}
    return data


def run_summary(result: RunResult) -> str:
    """The last line of `cuts run`: the model, and the rows that were written."""
    assert result.output is not None
    return f"{summary(result.model)}; {written(result.sample, result.output)}"


def written(sample: Sample, output: Path | PartsFolder | SparkPath) -> str:
    """How many rows were written, and to how many parts of a folder."""
    rows = f"{counted(sample.rows, 'row')} written to {output}"
    if not sample.parts:
        return rows
    kept = f", {sample.kept:,} of them already there" if sample.kept else ""
    return f"{rows} ({counted(sample.parts, 'part')}{kept})"


def written_data(sample: Sample) -> dict[str, Any]:
    """The same as JSON values."""
    parts = {"parts": sample.parts, "kept_parts": sample.kept} if sample.parts else {}
    return {"rows": sample.rows, **parts}


def summary(model: Model) -> str:
    """The size of a model and how close it is: to the real table, or for a private one what it was fitted to."""
    components = f"model: {counted(model.mixture.components, 'component')}"
    if model.network is not None:
        components = f"model: network of {_weights(model.network):,} weights"
        if model.facts.acceptance is not None:
            components += f", {_percent(model.facts.acceptance)} of its rows satisfy the row rules"
    if model.transcript is None:
        return f"{components}, {_fit_error(model.facts)}"
    tables, terms = counted(len(model.transcript.measurements), "noisy table"), model.transcript.ledger.terms
    rows = counted(model.facts.rows, "row")
    return (
        f"{components}, fitted to {tables} of about {rows}, "
        f"differentially private with epsilon {terms.epsilon:g} and delta {terms.delta:g}"
    )


def _fit_error(facts: Facts) -> str:
    noise = "" if facts.error_floor is None else f"; sampling noise alone gives {short(facts.error_floor, 2)}"
    failed = ", the fit FAILED" if facts.failed else ""
    return f"fit error {short(facts.error, 2)} (0 is perfect{noise}){failed}"


def _rules(model: Model) -> str:
    """How many rows satisfied each row rule before it was enforced."""
    source = "real rows" if model.transcript is None else "private model"
    heads = ["line", source, "where it applies", "fitted model", "where it applies"]
    cells = [
        [str(r.line), *map(_percent, (r.real, r.real_applicable, r.before, r.before_applicable))]
        for r in model.facts.rules
    ]
    if model.network is not None:
        heads.append("fine-tuned model")
        cells = [[*cell, _percent(rule.after)] for cell, rule in zip(cells, model.facts.rules, strict=True)]
    return f"Rows that satisfied each rule before it was enforced:\n{align(heads, cells, right=range(len(heads)))}"


def _ties(model: Model) -> str:
    """The columns that were computed from others, and what was learned in their place."""
    return "\n".join(
        f"`{tie.column}` was computed from `{tie.anchor}` and `{tie.hidden.name}`, which was learned in its place."
        for tie in model.codec.ties
    )


def _trade_off(curve: TradeOff, model: Model) -> str:
    """What a better value of a measure costs, one line per trial."""
    label = model.codec.schema.label
    utility = "utility" if label is None else "accuracy"
    cost = (
        "closeness to the real table (utility, 100 % is best)" if label is None else f"accuracy of predicting `{label}`"
    )
    trials = [(curve.start, "before"), *((trial, "") for trial in curve.trials)]
    nearest = min(curve.trials, key=lambda trial: abs(trial.value - curve.chosen), default=curve.start)
    aims = [command for command in model.spec.commands if isinstance(command, TableAim)]
    unit = next((aim.unit for aim in aims if aim.origin.line == curve.line), NUMBER)
    cells = [
        [
            units.show(trial.value, unit, 4),
            _percent(trial.utility),
            "" if note else _percent(max(0.0, 1.0 - trial.utility / curve.start.utility)),
            "chosen" if trial is nearest else note,
        ]
        for trial, note in trials
    ]
    heads = ["measure", utility, "budget it takes", ""]
    return f"Line {curve.line}: measure against {cost}\n{align(heads, cells, right=[0, 1, 2])}"


def rejection_text(rejection: Rejection) -> str:
    """How many candidate rows were accepted."""
    return rejection_words(rejection.accepted, rejection.candidates)


def rejection_data(rejection: Rejection | None) -> dict[str, Any] | None:
    """The same as JSON values."""
    return None if rejection is None else {**asdict(rejection), "acceptance": rejection.acceptance}


def _weights(network: Network) -> int:
    """The number of weights of a network."""
    return sum(tensor.numel() for tensor in network.parameters())


def _percent(share: float) -> str:
    """A share in percent; a share of no rows is none."""
    return "no rows" if isnan(share) else f"{100 * share:.2f} %"
