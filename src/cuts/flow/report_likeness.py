"""The parts of a report that compare the table with real rows: none of this is computed for a private program.

What would take long is done on a part of the rows, chosen at random; the facts say on how many.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from cuts.assess.discriminator import MIN_FITTED_ROWS, Discriminator, compare_real
from cuts.assess.downstream import Score, measure_downstream, train_all
from cuts.assess.drift import Drift
from cuts.assess.fairness import Fairness, measure_fairness
from cuts.assess.grid import build_grid
from cuts.assess.histograms import Distribution, SharedBins, distributions, share_bins
from cuts.assess.leakage import copies_and_twins, measure_leakage
from cuts.assess.learners import missing_libraries
from cuts.assess.pairs import correlations, dependence, pair_differences
from cuts.assess.request import EvaluateOptions, Request, hold_out, resolve
from cuts.assess.table_arrays import read_sample, thin
from cuts.data.schema import Schema
from cuts.data.table import Table
from cuts.flow.memory import MEMORY_SETTINGS
from cuts.lang.spec import ModelAim, ModelGoal, Spec
from cuts.model.facts import Facts
from cuts.progress import Advanced
from cuts.report.facts import Likeness, MemoryFacts
from cuts.report.figures import trial_words
from cuts.text.diagnostic import CutsError, counted

MAX_COLUMNS = 40  # in matrices and pairs; of wider tables the ones that differ most
MAX_DISTRIBUTIONS = 100  # columns that are shown one by one
MAX_SHOWN_ROWS = 100_000  # per table, in distributions
MAX_PAIR_ROWS = 20_000  # per table, in pairs and matrices
MAX_LEARNER_ROWS = 20_000  # that classifiers are trained on, per table, and tested on
MAX_COPY_ROWS = 50_000  # synthetic rows that are searched for copies
INSTALL = 'install it with `pip install "cuts[report]"`'


def likeness_facts(
    table: Table,
    real: Table,
    test: Table | None,
    schema: Schema,
    discriminator: Discriminator | None,
    drifts: tuple[Drift, ...],
    *,
    seed: int,
    advanced: Advanced,
) -> tuple[Likeness, list[str]]:
    """How the table compares with the real rows, and what was left out."""
    left_out: list[str] = []
    ours, theirs = (_thinned(each, MAX_SHOWN_ROWS, seed) for each in (real, table))
    samples = read_sample(ours, schema, "train"), read_sample(theirs, schema, "synthetic")
    shared = share_bins(*samples)
    found = distributions(shared, seed=seed)
    for rows, largest, name in ((real.rows, ours.rows, "real"), (table.rows, theirs.rows, "synthetic")):
        if largest < rows:
            left_out.append(f"Distributions: measured on {largest:,} of {rows:,} {name} rows, chosen at random.")
    advanced(0.3)
    chosen, note = _chosen(shared, found, schema)
    left_out += note
    rng = np.random.default_rng(seed)
    few = tuple(thin(sample, MAX_PAIR_ROWS, rng) for sample in samples)
    if any(part.rows < sample.rows for part, sample in zip(few, samples, strict=True)):
        left_out.append(
            f"Pairs of columns, dependence and correlations: measured on at most {MAX_PAIR_ROWS:,} rows of each table, "
            "chosen at random."
        )
        names = {bins.column.name for bins in chosen}
        chosen = [bins for bins in share_bins(few[0], few[1]) if bins.column.name in names]
    likeness = Likeness(
        discriminator,
        drifts,
        _shown(found, left_out),
        pair_differences(chosen, seed=seed),
        dependence(chosen),
        correlations(few[0], few[1], [bins.column.name for bins in chosen]),
    )
    advanced(0.5)
    if discriminator is None:
        left_out.append(f"Discriminator: it needs at least {MIN_FITTED_ROWS} rows of each table.")
        return likeness, left_out
    floor = compare_real(
        real, test, schema, discriminator.rows, seed=seed, advanced=lambda done: advanced(0.5 + 0.5 * done)
    )
    return replace(likeness, discriminator=replace(discriminator, train_auc=floor)), left_out


def _shown(found: tuple[Distribution, ...], left_out: list[str]) -> tuple[Distribution, ...]:
    """The distributions to show: all, or in a wide table those furthest above their floor."""
    if len(found) <= MAX_DISTRIBUTIONS:
        return found
    left_out.append(f"Distributions: the {MAX_DISTRIBUTIONS} of {len(found)} columns that differ most are shown.")
    names = {each.column for each in sorted(found, key=lambda each: -each.excess)[:MAX_DISTRIBUTIONS]}
    return tuple(each for each in found if each.column in names)


def _chosen(
    shared: Sequence[SharedBins], found: Sequence[Distribution], schema: Schema
) -> tuple[list[SharedBins], list[str]]:
    """The columns of pairs and matrices: all, or in a wide table those furthest above their floor, and the label."""
    if len(shared) <= MAX_COLUMNS:
        return [*shared], []
    by_excess = sorted(found, key=lambda each: (each.column != schema.label, -each.excess))
    names = {each.column for each in by_excess[:MAX_COLUMNS]}
    note = (
        f"Pairs of columns, dependence and correlations: {MAX_COLUMNS} of {len(shared)} columns are compared, those "
        "whose own distributions differ most."
    )
    return [bins for bins in shared if bins.column.name in names], [note]


@dataclass(frozen=True, slots=True)
class ScoreFacts:
    """How well classifiers trained on the table predict the label, and how they treat groups."""

    target: str | None = None
    scores: tuple[Score, ...] = ()
    fairness: Fairness | None = None
    tested_on: str = ""


def score_facts(
    table: Table, real: Table, test: Table | None, spec: Spec, *, seed: int, advanced: Advanced
) -> tuple[ScoreFacts, list[str]]:
    """Scores of learners trained on the table and on real rows, and what was left out."""
    schema = spec.schema
    if schema.label is None:
        return ScoreFacts(), ["Scores of classifiers: the table has no label to predict."]
    problems = missing_libraries()
    if problems:
        return ScoreFacts(), [f"Scores of classifiers: {problems[0].title}; {INSTALL}."]
    train, tested = hold_out(real, seed) if test is None else (real, test)
    synthetic, fitted, unseen = (_thinned(each, MAX_LEARNER_ROWS, seed) for each in (table, train, tested))
    try:
        request = resolve(synthetic, fitted, unseen, schema, _options(spec, seed))
    except CutsError as error:
        return ScoreFacts(), [f"Scores of classifiers: {error.diagnostics[0].title}."]
    if request.target is None or "downstream" not in request.parts:
        return ScoreFacts(), [f"Scores of classifiers: {note}." for note in request.notes]
    left_out = [f"Fairness of these classifiers: {note}." for note in request.notes]
    facts = _scores(request, request.target, seed, advanced)
    return replace(facts, tested_on=_tested_on(request.test.rows, tested.rows, is_seen=test is None)), left_out


def _scores(request: Request, target: str, seed: int, advanced: Advanced) -> ScoreFacts:
    samples = (request.synthetic, request.train, request.test)
    grid = build_grid(request.train, (request.synthetic, request.test), "uniform")
    said = iter(range(1, 7))  # three learners, each on two tables
    trained = train_all(
        *samples, grid, target=target, features="raw", seed=seed, say=lambda _: advanced((next(said) - 1) / 6)
    )
    downstream = measure_downstream(trained, request.test, target=target, features="raw")
    fairness = None
    if "fairness" in request.parts and request.desired is not None:
        fairness = measure_fairness(
            trained, request.test, target=target, protected=request.protected, desired=request.desired
        )
    return ScoreFacts(target, downstream.scores, fairness)


def _options(spec: Spec, seed: int) -> EvaluateOptions:
    """The groups are those of the schema and of the program's commands about the label."""
    schema = spec.schema
    commands = [command for command in spec.commands if isinstance(command, ModelGoal | ModelAim)]
    about = [command.measure for command in commands if command.measure.target == schema.label]
    groups = dict.fromkeys((*schema.protected, *(name for measure in about for name in measure.protected)))
    desired = next((measure.desired for measure in about if measure.desired is not None), None)
    return EvaluateOptions(protected=[name for name in groups if name != schema.label], desired=desired, seed=seed)


def _tested_on(rows: int, available: int, *, is_seen: bool) -> str:
    chosen = "" if rows == available else f", chosen at random from {available:,}"
    if is_seen:
        return (
            f"{counted(rows, 'real row')}{chosen}: a quarter of the real rows, held out from these classifiers. The "
            "model was fitted to them too, so the scores of the synthetic table are a little too good."
        )
    return f"{counted(rows, 'real row')}{chosen}, to which the model was not fitted."


def memory_facts(
    table: Table, real: Table, test: Table | None, schema: Schema, facts: Facts, *, seed: int
) -> MemoryFacts:
    """Whether rows of the table repeat rows that the model was fitted to."""
    synthetic = read_sample(_thinned(table, MAX_COPY_ROWS, seed), schema, "synthetic")
    train = read_sample(real, schema, "train")
    copies, twins = copies_and_twins(synthetic, train)
    leakage = None
    if test is not None:
        unseen = read_sample(test, schema, "test")
        grid = build_grid(train, (synthetic, unseen), "uniform")
        leakage = measure_leakage(synthetic, train, unseen, grid, seed=seed, say=lambda _: None)
    return MemoryFacts(copies, twins, leakage, _trial(facts), facts.smoothing, real_rows=train.rows)


def _trial(facts: Facts) -> str:
    """What the trial before the fit found, or why there was none."""
    memory, settings = facts.memory, MEMORY_SETTINGS
    if memory is not None:
        return trial_words(memory.nearer, memory.copies, memory.unseen_copies)
    if facts.rows > settings.max_rows:
        return f"No trial was made: it is made for tables of up to {settings.max_rows:,} rows."
    if facts.rows < settings.min_rows:
        return f"No trial was made: there are fewer than {settings.min_rows} rows."
    return "No trial was made: the smoothing is a setting of the run, or there is only one column."


def _thinned(table: Table, max_rows: int, seed: int) -> Table:
    """At most `max_rows` of the rows, chosen at random, in their order."""
    if table.rows <= max_rows:
        return table
    rows = np.sort(np.random.default_rng(seed).choice(table.rows, max_rows, replace=False))
    return Table(table.arrow.take(pa.array(rows)))
