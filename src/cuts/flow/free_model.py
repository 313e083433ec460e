"""The free model: fitted to rows with a given smoothing, before any command shapes it."""

from __future__ import annotations

from dataclasses import replace
from importlib.metadata import version

from cuts.data.binning import WIDE_COLUMNS
from cuts.data.codec import NumericBins
from cuts.data.conform import conform
from cuts.data.ties import with_hidden
from cuts.effects.shaping import Learned
from cuts.lang.spec import ModelAim, ModelGoal
from cuts.model.box_trees import binned_rows
from cuts.model.facts import Facts
from cuts.model.fine import FineLevel, find_fine
from cuts.model.fine_trees import FineRows
from cuts.model.fit import fit
from cuts.model.slice_groups import slice_groups
from cuts.model.store import Model
from cuts.plan import hides
from cuts.progress import Observer


def fit_smoothed(
    learned: Learned, program: str, smoothing: float, observer: Observer, *, is_stage: bool = False
) -> tuple[Model, Learned]:
    """The free model, and what is known about the rows, with the smoothing and the boxes of the fit.

    If the fit is a stage, the fine level of a wide table is the next: it takes long after the last step of the fit.
    """
    counts, codec, config, seed = learned.counts, learned.codec, learned.config, learned.seed
    rows = binned_rows(learned.codes, codec) if config.boxes else None
    groups = slice_groups(counts, codec)
    fitted = fit(
        counts, learned.label, config, seed=seed, smoothing=smoothing, groups=groups, rows=rows, seen=observer.fitted
    )
    facts = Facts(counts.rows, fitted.error, fitted.steps, smoothing, seed, version("cuts"), fitted.cpu_seconds)
    fine = _learn_fine(learned, observer if is_stage else Observer())
    network = fitted.network if config.method == "penalty" else None
    model = Model(fitted.mixture, codec, program, learned.plan.spec, config, facts, fine=fine, network=network)
    return model, replace(learned, smoothing=smoothing, boxes=fitted.boxes)


def _learn_fine(learned: Learned, observer: Observer) -> FineLevel | None:
    """The fine level learned from the sample; None if the settings name none."""
    kind, codec = find_fine(learned.config), learned.codec
    if kind is None:
        return None
    typed = conform(learned.sample, codec.schema)
    typed = with_hidden(typed, typed, codec.ties)
    values = {b.column.name: typed.numbers(b.column.name) for b in codec.columns if isinstance(b, NumericBins)}
    about_classifiers = [c for c in learned.plan.spec.commands if isinstance(c, ModelGoal | ModelAim)]
    hidden = frozenset(command.measure.target for command in about_classifiers if hides(command))
    rows = FineRows(learned.codes, values, learned.label, hidden)
    if len(values) > WIDE_COLUMNS:
        observer.stage("learning values inside bins")
        rows = replace(rows, advanced=observer.advanced)
    return kind.learn(rows, codec, learned.seed)
