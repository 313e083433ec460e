"""The report of a run: everything that the page and its JSON twin say, gathered from the run and from its rows.

For a private program nothing is computed from real rows: what the report then says follows from the release alone.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from cuts.assess.learners import missing_libraries
from cuts.data.table import Table
from cuts.flow.checks import check_test_rows
from cuts.flow.report_commands import command_facts, panel_lines, trade_offs
from cuts.flow.report_likeness import INSTALL, ScoreFacts, likeness_facts, memory_facts, score_facts
from cuts.flow.report_run import columns_became, privacy_facts, run_facts
from cuts.lang.spec import ModelAim, ModelGoal
from cuts.progress import Observer
from cuts.report.facts import Classifiers, Likeness, MemoryFacts, Report
from cuts.text.diagnostic import counted

if TYPE_CHECKING:  # a run makes its report, so it is above this module
    from cuts.flow.run import RunResult

STAGE = "building the report"
STAMP = (
    "This report contains statistics of real rows and is not private. "
    "Share it only with people who may see the real rows."
)
PRIVATE_STAMP = (
    "This report contains nothing computed from real rows except through the differentially private release."
)
_PRIVATE = "not computed, because the program is private: beyond the release, the real rows are not read"


def build_report(result: RunResult, *, test: Table | None = None, observer: Observer | None = None) -> Report:
    """Everything that a report of a run says; `test` are real rows that the model was not fitted to.

    With test rows, classifiers are scored on them, and they show how far real rows differ from each other and whether
    rows were memorised. A `CutsError` if they do not fit the schema, or if the program is private.
    """
    observer = observer or Observer()
    model, schema = result.model, result.model.codec.schema
    if test is not None:
        check_test_rows(test, schema, is_private=model.transcript is not None)
    observer.stage(STAGE)
    likeness: Likeness | None = None
    memory: MemoryFacts | None = None
    scores, left_out = ScoreFacts(), _without_panel(result)
    if result.real is None:
        left_out += _not_compared()
    else:
        seed = model.facts.seed
        if result.table.rows < result.sample.rows:
            part = f"the first {result.table.rows:,} of {result.sample.rows:,} synthetic rows"
            left_out.append(f"Comparisons with real rows: made with {part}; verdicts are about all of them.")
        likeness, missing = likeness_facts(
            result.table,
            result.real,
            test,
            schema,
            result.discriminator,
            result.drifts,
            seed=seed,
            advanced=observer.part(0, 3).advanced,
        )
        left_out += missing
        scores, missing = score_facts(
            result.table, result.real, test, model.spec, seed=seed, advanced=observer.part(1, 3).advanced
        )
        left_out += missing
        memory = memory_facts(result.table, result.real, test, schema, model.facts, seed=seed)
        if test is None:
            left_out.append(
                "Closeness to fitted and to unseen rows: it needs real rows that the model has not seen (`--test`)."
            )
        observer.advanced(1.0)
    departures = {step.number: way for step, way in result.departures}
    return Report(
        table=schema.name,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        rows=result.sample.rows,
        real_rows=model.facts.rows,
        columns=columns_became(model, result.real),
        holds=result.holds,
        commands=command_facts(model, result.plan.steps, departures, result.verdicts),
        likeness=likeness,
        classifiers=_classifiers(result, scores),
        memory=memory,
        privacy=None if model.transcript is None else privacy_facts(model.transcript),
        run=run_facts(model, result.sample, "" if result.output is None else str(result.output)),
        left_out=tuple(left_out),
        stamp=STAMP if model.transcript is None else PRIVATE_STAMP,
    )


def _classifiers(result: RunResult, scores: ScoreFacts) -> Classifiers | None:
    panel, curves = panel_lines(result.verdicts), trade_offs(result.model)
    if not panel and not curves and not scores.scores:
        return None
    return Classifiers(
        panel, _panel_rows(result), curves, scores.target, scores.scores, scores.fairness, scores.tested_on
    )


def _panel_rows(result: RunResult) -> str:
    """Which rows the classifiers of commands were tested on."""
    rows = max((verdict.panel.rows for verdict in result.verdicts if verdict.panel is not None), default=0)
    if not rows:
        return ""
    if result.model.transcript is not None:
        return (
            f"{counted(rows, 'row')} drawn from the private model before it was adjusted to the program, in place of "
            "real rows, which may not be read."
        )
    which = "those" if rows == result.facts.rows else "a sample of those"
    return f"{counted(rows, 'real row')}, {which} that the model was fitted to."


def _without_panel(result: RunResult) -> list[str]:
    """Why commands about classifiers have no numbers, if they have none."""
    commands = [command for command in result.model.spec.commands if isinstance(command, ModelGoal | ModelAim)]
    if not commands or any(verdict.panel is not None for verdict in result.verdicts):
        return []
    problems = missing_libraries()
    reason = f"{problems[0].title}; {INSTALL}" if problems else "no classifiers were trained in this run"
    return [f"Verdicts on commands about classifiers: {reason}."]


def _not_compared() -> list[str]:
    sections = (
        "Comparison with the real rows",
        "Scores of classifiers on real rows",
        "Search for copies of real rows",
    )
    return [f"{section}: {_PRIVATE}." for section in sections] + [
        "CPU times: left out, because they may depend on rows."
    ]
