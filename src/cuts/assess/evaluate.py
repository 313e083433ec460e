"""The quality of a synthetic table, measured against real rows; `render_quality.py` prints it.

Everything here is computed from real rows and is not private, even if the synthetic table is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from cuts.assess.discriminator import MIN_ROWS, Discriminator, measure_discriminator
from cuts.assess.distance import Marginals, measure_marginals
from cuts.assess.downstream import Downstream, measure_downstream, train_all
from cuts.assess.fairness import Fairness, measure_fairness
from cuts.assess.grid import build_grid
from cuts.assess.leakage import Leakage, measure_leakage
from cuts.assess.request import EvaluateOptions, hold_out, resolve
from cuts.assess.table_arrays import Outside, outside
from cuts.data.schema import Schema
from cuts.data.table import Table
from cuts.text import html

STAMP = "contains non-private statistics: computed from real rows"


@dataclass(frozen=True, slots=True)
class RowCounts:
    """Number of rows of each table."""

    synthetic: int
    train: int
    test: int


@dataclass(frozen=True, slots=True, repr=False)
class Quality:
    """All facts; a part that was not requested, or does not apply, is None."""

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

    def __repr__(self) -> str:
        """What was measured, in one line; `print` shows the numbers."""
        parts = ("marginals", "downstream", "fairness", "leakage", "discriminator")
        return (
            f"<Quality of {self.rows.synthetic:,} rows: {', '.join(p for p in parts if getattr(self, p) is not None)}>"
        )

    def __str__(self) -> str:
        from cuts.assess.render_quality import as_text  # which needs this class

        return as_text(self)

    def _repr_html_(self) -> str:
        return html.preformatted(str(self))


def evaluate(
    synthetic: Table,
    train: Table,
    test: Table | None,
    schema: Schema,
    options: EvaluateOptions | None = None,
    *,
    say: Callable[[str], None] = lambda _: None,
) -> Quality:
    """How close a synthetic table is to the train rows, how useful and fair it is, and what it discloses about them.

    `test` contains real rows that no model was trained on. Without them a quarter of the train rows takes their place
    and leakage is not measured: the synthetic rows were made from those rows as well. Raises `CutsError` with every
    problem of the input before anything is measured; `say` is called with a message before each step.
    """
    options = EvaluateOptions() if options is None else options
    if test is None:
        request = resolve(synthetic, *hold_out(train, options.seed), schema, options, is_held_out=True)
    else:
        request = resolve(synthetic, train, test, schema, options)
    target, parts, seed, features = request.target, request.parts, options.seed, options.features
    samples = (request.synthetic, request.train, request.test)
    grid = build_grid(request.train, (request.synthetic, request.test), options.bins)
    notes = [*request.notes]
    marginals = leakage = downstream = fairness = discriminator = None
    if "marginals" in parts:
        marginals = measure_marginals(request.synthetic, request.train, grid, target=target, seed=seed, say=say)
    if target is not None and {"downstream", "fairness"} & {*parts}:
        trained = train_all(*samples, grid, target=target, features=features, seed=seed, say=say)
        if "downstream" in parts:
            downstream = measure_downstream(trained, request.test, target=target, features=features)
        if "fairness" in parts and request.desired is not None:
            fairness = measure_fairness(
                trained, request.test, target=target, protected=request.protected, desired=request.desired
            )
    if "leakage" in parts:
        leakage = measure_leakage(*samples, grid, seed=seed, say=say)
    if "discriminator" in parts:
        discriminator = measure_discriminator(*samples, seed=seed, say=say)
        if discriminator is None:
            notes.append(f"too few rows to train a discriminator ({MIN_ROWS} of each needed)")
    return Quality(
        RowCounts(*(sample.rows for sample in samples)),
        target,
        request.protected,
        seed,
        outside(samples),
        marginals,
        downstream,
        fairness,
        leakage,
        discriminator,
        tuple(notes),
    )
