"""The quality of a synthetic table, measured against real rows: facts only. How they look is `render_quality.py`.

Everything here is computed from real rows and is not private, whatever made the synthetic table.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from cuts.assess.discriminator import MIN_ROWS, Discriminator, measure_discriminator
from cuts.assess.distance import Marginals, measure_marginals
from cuts.assess.downstream import Downstream, measure_downstream, train_all
from cuts.assess.fairness import Fairness, measure_fairness
from cuts.assess.features import Features
from cuts.assess.grid import Bins, build_grid
from cuts.assess.leakage import Leakage, measure_leakage
from cuts.assess.request import Part, settle
from cuts.assess.sample import Outside, outside
from cuts.data.schema import Schema
from cuts.data.table import Table

STAMP = "contains non-private statistics: computed from real rows"


@dataclass(frozen=True, slots=True)
class RowCounts:
    """Number of rows of each table."""

    synthetic: int
    train: int
    test: int


@dataclass(frozen=True, slots=True)
class Quality:
    """All facts; a part that was not asked for, or does not apply, is None."""

    rows: RowCounts
    target: str | None
    protected: tuple[str, ...]
    seed: int
    outside: tuple[Outside, ...]
    marginals: Marginals | None
    downstream: Downstream | None
    fairness: Fairness | None
    leakage: Leakage | None
    discriminator: Discriminator | None
    notes: tuple[str, ...]  # which parts do not apply, and why
    stamp: str = STAMP


def evaluate(
    synthetic: Table,
    train: Table,
    test: Table,
    schema: Schema,
    *,
    target: str | None = None,
    protected: Sequence[str] | None = None,
    desired: str | None = None,
    parts: Sequence[Part] | None = None,
    features: Features = "raw",
    bins: Bins = "uniform",
    seed: int = 0,
    say: Callable[[str], None] = lambda _: None,
) -> Quality:
    """How near a synthetic table is to the train rows, what can be learned from it, and what it remembers of them.

    `test` are real rows nobody trained on. `target` and `protected` are the schema's unless given, `parts` all that
    apply. Raises `CutsError` with every problem of the input before anything is measured; `say` is told each step.
    The same seed gives the same facts.
    """
    asked = settle(synthetic, train, test, schema, target=target, protected=protected, desired=desired, parts=parts)
    ours, known, unseen = asked.synthetic, asked.train, asked.test
    grid = build_grid(known, (ours, unseen), bins)
    notes = [*asked.notes]
    marginals = leakage = downstream = fairness = discriminator = None
    if "marginals" in asked.parts:
        marginals = measure_marginals(ours, known, grid, target=asked.target, seed=seed, say=say)
    if asked.target is not None and {"downstream", "fairness"} & {*asked.parts}:
        trained = train_all(ours, known, unseen, grid, target=asked.target, features=features, seed=seed, say=say)
        if "downstream" in asked.parts:
            downstream = measure_downstream(trained, unseen, target=asked.target, features=features)
        if "fairness" in asked.parts and asked.desired is not None:
            fairness = measure_fairness(
                trained, unseen, target=asked.target, protected=asked.protected, desired=asked.desired
            )
    if "leakage" in asked.parts:
        leakage = measure_leakage(ours, known, unseen, grid, seed=seed, say=say)
    if "discriminator" in asked.parts:
        discriminator = measure_discriminator(ours, known, unseen, grid, seed=seed, say=say)
        if discriminator is None:
            notes.append(f"fewer than {MIN_ROWS} rows in a table: nobody trained to tell them apart")
    return Quality(
        RowCounts(ours.rows, known.rows, unseen.rows),
        asked.target,
        asked.protected,
        seed,
        outside((ours, known, unseen)),
        marginals,
        downstream,
        fairness,
        leakage,
        discriminator,
        tuple(notes),
    )
