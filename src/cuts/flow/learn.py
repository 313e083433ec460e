"""From a program and rows to a model: learn the table, put the row rules in place, move it to the statistics.

What comes before (reading, checking) and after (verifying, evaluating) is `pipeline.py`, which needs no torch; rows are
drawn by `sampling.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version

from cuts.config import Config
from cuts.count.kernel import count
from cuts.count.marginals import Clique, Marginals
from cuts.count.sources import Rows, spread_sample
from cuts.count.workload import choose_workload, fits_whole, measure_dependence
from cuts.data.binning import fit_codec
from cuts.data.codec import Codec, Codes, encode
from cuts.data.columns import Column, Integer, Real, Temporal
from cuts.data.schema import Schema
from cuts.data.table import Table
from cuts.effects import Learned, conditions_in, shape_model
from cuts.flow.checks import check_not_private, nothing_to_learn
from cuts.lang.binder import bind
from cuts.lang.placeholders import fill
from cuts.lang.printer import render
from cuts.lang.spec import (
    Spec,
)
from cuts.lang.syntax import Program
from cuts.logic.core import find_cuts
from cuts.model.backbone import find_backbone
from cuts.model.device import find_device
from cuts.model.facts import Facts
from cuts.model.fit import fit
from cuts.model.memory import choose_smoothing
from cuts.model.store import Model
from cuts.progress import Observer
from cuts.text.diagnostic import CutsError


@dataclass(frozen=True, slots=True, eq=False)
class Prepared:
    """What is known of the rows of a program before they are counted: bins, a sample of them, what to count."""

    spec: Spec
    codec: Codec
    sample: Table
    codes: Codes  # of the sample
    cliques: tuple[Clique, ...]
    label: str | None
    config: Config
    seed: int
    program: str  # in canonical form, placeholders filled

    def with_counts(self, counts: Marginals) -> Learned:
        """The same once the rows are counted."""
        known = (self.label, self.config, self.seed, self.program)
        return Learned(self.spec, self.codec, self.sample, self.codes, counts, *known)


def fit_model(
    program: Program,
    schema: Schema,
    rows: Rows,
    *,
    config: Config | None = None,
    seed: int = 0,
    values: Mapping[str, str | float] | None = None,
    draw: int | None = None,
    observer: Observer | None = None,
) -> Model:
    """The model of some rows, which are read twice: a sample of them for the bins, all of them for the counts.

    `draw` is how many rows are going to be drawn, which matters to statistics that count them; otherwise as many as
    there are.
    """
    observer = observer or Observer()
    learned = learn(program, schema, rows, config=config or Config(), seed=seed, values=values or {}, observer=observer)
    return make_model(learned, draw=draw, observer=observer)


def learn(
    program: Program,
    schema: Schema,
    rows: Rows,
    *,
    config: Config,
    seed: int,
    values: Mapping[str, str | float],
    observer: Observer,
) -> Learned:
    """What a fit needs to know of the rows."""
    prepared = prepare([fill(program, values)], schema, rows, config=config, seed=seed, observer=observer)
    observer.stage("counting")
    return prepared.with_counts(count(rows.blocks(), prepared.codec, prepared.cliques, seen=observer.counted))


def prepare(
    programs: Sequence[Program], schema: Schema, rows: Rows, *, config: Config, seed: int, observer: Observer
) -> Prepared:
    """What is known before counting, for the first of the programs; the bins suit the conditions of all of them."""
    for filled in programs:
        check_not_private(filled)
    find_device(config.device)
    find_backbone(config)
    specs = [bind(filled, schema) for filled in programs]
    if not schema.modelled:
        raise CutsError([nothing_to_learn(schema)])
    own = _with_bins(schema, config)
    cuts = find_cuts([pred for spec in specs for pred in conditions_in(spec, own)], own)
    observer.stage("reading a sample of the rows")
    sample = spread_sample(rows)
    codec = fit_codec(sample, own, cuts.columns, cuts.sets)
    codes = encode(sample, codec)
    sizes = {bins.column.name: bins.size for bins in codec.columns}
    label = own.label if own.label in sizes else None
    dependence = None if fits_whole(sizes) else measure_dependence(codes, sizes)
    cliques = choose_workload(sizes, label, dependence)
    return Prepared(specs[0], codec, sample, codes, cliques, label, config, seed, render(programs[0]))


def make_model(learned: Learned, *, draw: int | None = None, observer: Observer | None = None) -> Model:
    """The model of what was learned: fitted to the counts, under the row rules, with the statistics."""
    observer = observer or Observer()
    counts, label, config, seed = learned.counts, learned.label, learned.config, learned.seed
    observer.stage("choosing the smoothing")
    smoothing = choose_smoothing(learned.codes, learned.codec, label, config, seed=seed)
    observer.stage("fitting")
    fitted = fit(counts, label, config, seed=seed, smoothing=smoothing, seen=observer.fitted)
    facts = Facts(counts.rows, fitted.error, fitted.steps, smoothing, seed, version("cuts"), fitted.cpu_seconds)
    return shape_model(learned, Model(fitted.mixture, learned.codec, learned.program, config, facts), draw, observer)


# --- parts of the steps


def _with_bins(schema: Schema, config: Config) -> Schema:
    """The schema with the bins the settings ask for."""
    columns: list[Column] = []
    for column in schema.columns:
        if isinstance(column, Integer | Real | Temporal):
            bins, binning = config.bins or column.bins, config.binning or column.binning
            columns.append(replace(column, bins=bins, binning=binning))
        else:
            columns.append(column)
    return replace(schema, columns=tuple(columns))
