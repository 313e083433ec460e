"""The pass that meets commands as the paper does: one network, fine-tuned with a penalty for each of them.

Rules of rows are read on hard rows by the product t-norm (`read/relaxed.py`), statistics by the formulas that every
model is read with (`model/cells.py`), measures of classifiers through a logistic regression that is trained on the rows
of each step (`trained.py`). Rows that still break a rule are rejected when rows are drawn (`model/rejection.py`). A
command without a weight of its own has one on the scale of those that the paper prints.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import isfinite, nan

import numpy as np
import torch
from torch import Tensor

from cuts.assess.panel import desired_index
from cuts.data.codec import Codec
from cuts.data.conform import conform
from cuts.data.table import Table
from cuts.effects.rules import shares_satisfied
from cuts.effects.shaping import Learned, Shaping
from cuts.effects.trained import Reference, find_reference, fit_on_batch, measure_of
from cuts.lang.comparisons import comparisons_of
from cuts.lang.spec import Bound, ModelAim, ModelGoal, Pred, RowRule, TableAim, TableGoal
from cuts.lang.targets import target_values, targets_of
from cuts.lang.walks import columns_of, statistics_of
from cuts.logic.core import Grid, find_cuts, grid_on
from cuts.logic.layout import bins_of
from cuts.logic.ties import substitute
from cuts.model.backbone import read_options
from cuts.model.backbones.generator import GeneratorOptions
from cuts.model.cells import Statistics
from cuts.model.facts import Facts, GoalFacts, Number, RuleFacts
from cuts.model.finetune import paper_violation
from cuts.model.fit_quality import with_quality
from cuts.model.mixture import Mixture
from cuts.model.network import Network, random_numbers
from cuts.model.penalty import SUMMED_ROWS, Penalty, finetune_network
from cuts.model.rejection import draw_candidates, satisfied
from cuts.plan import Command, asks_for_less
from cuts.read import exact, relaxed
from cuts.text.diagnostic import CutsError, Diagnostic
from cuts.vocab.names import measures

RULE_WEIGHT = 7.5e-6  # per violating row of 15,000; the paper's for most rules of Adult
FAIRNESS_WEIGHT = 9e-4  # the paper's for demographic parity on Adult
PREDICTABILITY_WEIGHT = 1.33e-3  # the paper's on Adult
STATISTIC_TERM = 1e-3  # what the term of a statistic begins with
MIN_VIOLATION = 1e-6  # that a weight is computed for
REFERENCE_ROWS = 50_000  # that classifiers are tried on, at most
JUDGED_BATCHES = 4  # of rows that facts are measured on
JUDGED_CHUNK = 2**31 - 1  # whose random numbers no row that is written has
CROSS_ENTROPY = "DOWNSTREAM_CROSS_ENTROPY"


def penalise(shaping: Shaping) -> Shaping:
    """The model whose network was fine-tuned for the commands; those that are only rejected change nothing in it."""
    commands = shaping.plan.commands("penalty + reject", "penalty")
    rejected = shaping.plan.commands("reject")
    if not commands and not rejected:
        return shaping
    model, learned = shaping.model, shaping.learned
    network = model.network
    assert network is not None, "only a network is fine-tuned"
    options = read_options(learned.config, GeneratorOptions)
    tuned, facts = network, model.facts
    if commands:
        shaping.observer.stage("fine-tuning the network")
        batch = network.hard_rows(options.batch, random_numbers(learned.seed, 3))
        penalties = [_penalty(command, shaping, batch) for command in commands]
        result = finetune_network(network, penalties, learned.refit(shaping.observer), options)
        tuned = result.network
        facts = replace(facts, goal_seconds=facts.goal_seconds + result.cpu_seconds)
    model = replace(model, facts=_judged(facts, network, tuned, learned)).with_network(tuned)
    error = with_quality(model.facts, model.mixture, learned.counts, learned.label).error
    shaping = replace(shaping, model=replace(model, facts=replace(model.facts, error=error)))
    for way in ("penalty + reject", "penalty", "reject"):
        shaping = shaping.met(shaping.model, shaping.plan.commands(way), way)
    return replace(shaping, base=shaping.model)


# --- terms


def _penalty(command: Bound, shaping: Shaping, batch: Mixture) -> Penalty:
    """The term of a command; `batch` are rows before fine-tuning, from which the weight of a statistic follows."""
    match command:
        case RowRule(pred):
            return Penalty(rule_violation(pred, shaping.model.codec), _stated(command.weight, RULE_WEIGHT))
        case TableGoal() | TableAim():
            check_size(command, shaping.stats)
            violation = statistic_violation(command, shaping.stats)
            return Penalty(violation, _stated(command.weight, _statistic_weight(violation, batch)))
        case ModelGoal() | ModelAim():
            is_fair = measures()[command.measure.name].kind == "FAIRNESS"
            default = FAIRNESS_WEIGHT if is_fair else PREDICTABILITY_WEIGHT
            return Penalty(_classifier_violation(command, shaping.learned), _stated(command.weight, default))
        case _:
            raise AssertionError(f"{command} is not met by a penalty")


def _stated(weight: float | None, default: float) -> float:
    return default if weight is None else weight


def rule_violation(pred: Pred, codec: Codec) -> Callable[[Mixture], Tensor]:
    """How many of 15,000 rows break a rule that bins decide."""
    modelled = substitute(pred, codec.schema, codec.ties)
    grid = grid_on(codec, find_cuts([modelled], codec.inner))

    def violation(rows: Mixture) -> Tensor:
        truth = rule_truth(modelled, rows, grid)
        return SUMMED_ROWS * (rows.w * (1.0 - truth)).sum()

    return violation


def rule_truth(pred: Pred, rows: Mixture, grid: Grid) -> Tensor:
    """The truth of a predicate in every component: 0 or 1 where it is certain of its bins."""

    def leaf(test: Pred) -> Tensor:
        (name,) = columns_of(test)
        return rows[name] @ torch.as_tensor(bins_of(test, grid), dtype=rows.w.dtype, device=rows.w.device)

    truth: Tensor = relaxed.truth(pred, lambda number: torch.full_like(rows.w, number), leaf)
    return truth


def check_size(command: TableGoal | TableAim, stats: Statistics) -> None:
    """Refuse a statistic of more cells than can be computed in every step."""
    try:
        for value in target_values(command, stats.codec.schema):
            for stat in statistics_of(value):
                stats.cells(stat)
    except ValueError:
        raise CutsError([too_many_cells(command)]) from None


def statistic_violation(command: TableGoal | TableAim, stats: Statistics) -> Callable[[Mixture], Tensor]:
    """The violation of a statistic in its own unit; of one to be minimised or maximised, its value or minus that."""
    if isinstance(command, TableAim):
        sign = 1.0 if command.direction == "MINIMIZE" else -1.0
        return lambda rows: sign * stats.value(command.value, rows)
    targets = targets_of(command.goal, stats.codec.schema)
    return lambda rows: paper_violation(targets, rows, stats)


def _statistic_weight(violation: Callable[[Mixture], Tensor], batch: Mixture) -> float:
    """The weight with which the term begins at about the size of those that the paper prints."""
    with torch.no_grad():
        size = abs(float(violation(batch)))
    return STATISTIC_TERM / max(size, MIN_VIOLATION) if isfinite(size) else STATISTIC_TERM


def _classifier_violation(command: Command, learned: Learned) -> Callable[[Mixture], Tensor]:
    codec, measure = learned.codec, command.measure
    desired = desired_index(measure, codec.schema)
    reference = find_reference(learned.codes, measure, codec.sizes, desired, max_rows=REFERENCE_ROWS)
    modelled = replace(command, measure=replace(measure, features=codec.modelled(measure.features)))
    return lambda rows: classifier_violation(modelled, _on_cpu(rows), reference)


def classifier_violation(command: Command, rows: Mixture, reference: Reference) -> Tensor:
    """The term of a measure: of a fairness measure by certain predictions, of predictability by cross-entropy.

    The paper averages a gap over all pairs of groups, equal ones included, which halves that of two groups.
    """
    measure, entry = command.measure, measures()[command.measure.name]
    chances = fit_on_batch(rows, measure, reference, ridge=command.method == "ridge")
    if isinstance(command, ModelAim) and entry.kind == "UTILITY":
        entropy = measure_of(chances, replace(measure, name=CROSS_ENTROPY), reference)
        return -entropy if asks_for_less(command) else entropy
    found = measure_of(_certain(chances), measure, reference)
    scale = 0.5 if entry.kind == "FAIRNESS" else 1.0
    if isinstance(command, ModelAim):
        return scale * (found if command.direction == "MINIMIZE" else -found)
    if command.op == "==":
        return scale * (found - command.bound).abs()
    return scale * torch.relu(found - command.bound if command.op in ("<", "<=") else command.bound - found)


def _certain(chances: Tensor) -> Tensor:
    """Certain predictions, with gradients as if the chances stood there."""
    hard = torch.zeros_like(chances).scatter_(1, chances.argmax(1, keepdim=True), 1.0)
    return hard + chances - chances.detach()


def _on_cpu(rows: Mixture) -> Mixture:
    return Mixture(rows.columns, rows.w.cpu(), tuple(p.cpu() for p in rows.P))


# --- facts


def _judged(facts: Facts, network: Network, tuned: Network, learned: Learned) -> Facts:
    """The facts with what rows of the network before and after fine-tuning say of rules and statistics."""
    spec, codec = learned.plan.spec, learned.codec
    before, after = (_drawn(each, codec, learned.seed) for each in (network, tuned))
    held = satisfied(after, codec, [rule.pred for rule in spec.rules])
    accepted = Table(after.arrow.take(np.flatnonzero(held)))
    goals = [command for command in spec.commands if isinstance(command, TableGoal | TableAim)]
    return replace(
        facts,
        acceptance=float(held.mean()) if spec.rules else None,
        rules=tuple(_rule_facts(rule, before, after, learned) for rule in spec.rules),
        goals=tuple(_goal_facts(goal, before, accepted, learned) for goal in goals),
    )


def _drawn(network: Network, codec: Codec, seed: int) -> Table:
    """Rows as the network makes them, before any is rejected."""
    batches = range(JUDGED_BATCHES)
    return Table.join(
        [draw_candidates(network, codec, chunk=JUDGED_CHUNK, batch=batch, seed=seed) for batch in batches]
    )


def _rule_facts(rule: RowRule, before: Table, after: Table, learned: Learned) -> RuleFacts:
    """What is known of a rule: on the sample of the real rows, and on rows of the network before and after."""
    real, first, last = (
        shares_satisfied(rule.pred, conform(table, learned.codec.schema)) for table in (learned.sample, before, after)
    )
    return RuleFacts(rule.origin.line, *real, *first, last[0])


def _goal_facts(command: TableGoal | TableAim, before: Table, after: Table, learned: Learned) -> GoalFacts:
    """The numbers of a command: of the real rows, of the network before, and of its accepted rows afterwards."""
    schema = learned.codec.schema
    tables = [conform(table, schema) for table in (learned.sample, before, after)]
    numbers = tuple(
        Number(each.key, *(exact.value(each.measured, table, schema) if table.rows else nan for table in tables))
        for each in comparisons_of(command)
    )
    return GoalFacts(command.origin.number, command.origin.line, numbers)


def too_many_cells(command: TableGoal | TableAim) -> Diagnostic:
    """A statistic of too many columns with too many bins."""
    return Diagnostic(
        "not-supported",
        f"line {command.origin.line}: the network cannot be fine-tuned for a statistic of so many cells",
        command.origin.span,
        help="use fewer columns in one statistic, or fewer `bins`",
    )
