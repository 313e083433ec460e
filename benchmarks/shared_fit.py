"""One free model for many programs: fitted once per choice of bins, shaped by each program from there.

The paper pre-trains one model per table and fine-tunes it for every program; so does this. A free model depends on a
program only through the edges that its conditions need and the columns it hides, so programs that agree in these share
it. The smoothing of small tables, which a fit chooses by trials, is chosen once, for the program without commands;
apart from that, each program gets the model that a fit of its own would give, bit for bit.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TypeAlias

from benchmarks.harness import Clock
from benchmarks.paper_tables import PaperTable
from cuts.config import Config
from cuts.count.kernel import count_rows
from cuts.count.rows import rows_of
from cuts.data.codec import CategoryBins, Codec
from cuts.effects import shape
from cuts.effects.shaping import Learned
from cuts.flow.inputs import IMITATE
from cuts.flow.learn import OpenedRows, fit_free, prepare
from cuts.flow.memory import choose_smoothing
from cuts.lang.binder import bind
from cuts.lang.parser import parse
from cuts.lang.spec import ModelAim, ModelGoal
from cuts.model.store import Model
from cuts.plan import Plan, hides, plan, settle
from cuts.progress import Observer

Bins: TypeAlias = tuple[object, ...]


class SharedFit:
    """The free models of the train rows of a table, with one seed."""

    def __init__(self, real: PaperTable, config: Config, seed: int) -> None:
        self.opened = OpenedRows(rows_of(real.train), real.schema).with_sample()
        self.seed = seed
        clock = Clock()
        with clock.running():
            learned = self._learned(self._planned(IMITATE, config), config)
            smoothing, _ = choose_smoothing(learned, IMITATE, Observer())
        self.config, self.smoothing_seconds = replace(config, smoothing=smoothing), clock.seconds
        self._fitted: dict[Bins, tuple[Model, Learned, float]] = {}

    def shaped(self, program: str) -> tuple[Model, float, float]:
        """The model of a program, the CPU seconds of its free model, and those that the program adds."""
        planned = self._planned(program, self.config)
        free, learned, fit_seconds = self._free(planned)
        clock = Clock()
        with clock.running():
            settled = settle(planned, learned.codec)
            start = replace(free, program=program, spec=settled.spec)
            model = shape(start, replace(learned, plan=settled), rows=learned.counts.rows, observer=Observer()).model
        return model, fit_seconds + self.smoothing_seconds, clock.seconds

    def _free(self, planned: Plan) -> tuple[Model, Learned, float]:
        clock = Clock()
        with clock.running():
            learned = self._learned(planned, self.config)
        key = (*bins_of(learned.codec), hidden_columns(planned))
        if key not in self._fitted:
            with clock.running():
                free, learned = fit_free(learned, IMITATE, Observer())
            self._fitted[key] = (free, learned, clock.seconds)
        return self._fitted[key]

    def _planned(self, program: str, config: Config) -> Plan:
        return plan(bind(parse(program), self.opened.schema), config)

    def _learned(self, planned: Plan, config: Config) -> Learned:
        prepared = prepare([planned], self.opened, config, self.seed)
        return prepared.with_counts(count_rows(self.opened.rows, prepared.codec, prepared.cliques))


def bins_of(codec: Codec) -> Bins:
    """The bins of every column, and the ties: rows that agree in these are counted into the same tables."""
    edges = [bins.groups if isinstance(bins, CategoryBins) else (bins.edges, bins.texts) for bins in codec.columns]
    return (*edges, codec.ties)


def hidden_columns(planned: Plan) -> frozenset[str]:
    """The columns that a program makes unpredictable: values inside bins must not depend on them."""
    about = [command for command in planned.spec.commands if isinstance(command, ModelGoal | ModelAim)]
    return frozenset(command.measure.target for command in about if hides(command))
