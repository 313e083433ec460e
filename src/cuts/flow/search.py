"""A search over the placeholders of a program, such as its weights: every combination is tried on held-out rows.

For every fold (`folds.py`) a model is fitted to the other rows and shaped by the program with each combination of
values. A table drawn from it shows whether the commands hold, the held-out rows how useful it is. The summary is
`assess/tuned.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

from cuts.assess.tuned import Tuning, sum_up, summarise_folds
from cuts.assess.verify import Verdict, verify
from cuts.config import Config
from cuts.data.schema import Schema
from cuts.effects import shape
from cuts.flow import checks
from cuts.flow.folds import FoldedRows, located, on_every_fold, split_into_folds
from cuts.flow.learn import OpenedRows, fit_free, without_commands
from cuts.lang.binder import bind
from cuts.lang.placeholders import fill
from cuts.lang.printer import render
from cuts.lang.syntax import Program
from cuts.model import budget_utility
from cuts.model.sampling import sample_table
from cuts.plan import Plan, plan, settle
from cuts.progress import Observer, Say
from cuts.text.diagnostic import CutsError, Diagnostic, has_errors


@dataclass(frozen=True, slots=True)
class Combination:
    """Values for the placeholders of the grid, and the program with them."""

    values: Mapping[str, str]
    program: Program  # without placeholders


def tune(
    program: Program,
    opened: OpenedRows,
    grid: Mapping[str, Sequence[str]],
    *,
    folds: int = 5,
    config: Config | None = None,
    seed: int = 0,
    values: Mapping[str, str | float] | None = None,
    workers: int = 1,
    observer: Observer | None = None,
) -> Tuning:
    """Every combination of the grid tried on every fold; `values` fill the other placeholders.

    The rows are read as for one fit. Folds are worked on by several threads at once; the result is the same for any
    number of them.
    """
    observer, settings = observer or Observer(), config or Config()
    combinations = expand_grid(program, grid, values or {})
    for combination in combinations:
        checks.check_not_private(combination.program)
    plans = tuple(plan(bind(combination.program, opened.schema), settings) for combination in combinations)
    folded = split_into_folds(plans, opened, folds, config=settings, seed=seed, observer=observer)
    trials = on_every_fold(
        _Search(folded, tuple(combinations), plans).try_fold, folded, workers=workers, observer=observer
    )
    points = [
        sum_up(combination.values, [fold.utilities[i] for fold in trials], [fold.verdicts[i] for fold in trials])
        for i, combination in enumerate(combinations)
    ]
    free = summarise_folds([fold.free for fold in trials])
    return Tuning(folded.learned.counts.rows, folds, folded.learned.label, free, tuple(points))


def expand_grid(
    program: Program, grid: Mapping[str, Sequence[str]], values: Mapping[str, str | float]
) -> list[Combination]:
    """Every combination of values from the grid; a `CutsError` when a placeholder stays open or a name fits none.

    >>> from cuts.lang.parser import parse
    >>> combinations = expand_grid(parse("SYNTHESIZE: a; ENFORCE: age > <limit>; END;"), {"limit": ["30", "40"]}, {})
    >>> [combination.values for combination in combinations]
    [{'limit': '30'}, {'limit': '40'}]
    """
    picks = [dict(zip(grid, picked, strict=True)) for picked in product(*grid.values())]
    return [Combination(picked, fill(program, {**values, **picked})) for picked in picks]


def check(combinations: Sequence[Combination], schema: Schema) -> tuple[Diagnostic, ...]:
    """The warnings about the programs of all combinations; raises when one has errors.

    What is not true of all of them says for which values it is.
    """
    diagnostics = [checks.check(combination.program, schema).diagnostics for combination in combinations]
    common = [one for one in diagnostics[0] if all(one in others for others in diagnostics)]
    own = [
        replace(one, title=f"with {written(combination.values)}: {one.title}")
        for combination, some in zip(combinations, diagnostics, strict=True)
        for one in some
        if one not in common
    ]
    if has_errors([*common, *own]):
        raise CutsError([*common, *own], combinations[0].program.source)
    return (*common, *own)


def written(values: Mapping[str, str]) -> str:
    """Values with their names.

    >>> written({"w": "0.1", "v": "2"})
    'w=0.1, v=2'
    """
    return ", ".join(f"{name}={value}" for name, value in values.items())


# --- one fold


@dataclass(frozen=True, slots=True)
class _FoldResult:
    """One fold: the utility of the model without any command, then utility and verdicts of every combination."""

    free: float
    utilities: tuple[float, ...]
    verdicts: tuple[tuple[Verdict, ...], ...]


@dataclass(frozen=True, slots=True, eq=False)
class _Search:
    """What is tried on every fold."""

    rows: FoldedRows
    combinations: tuple[Combination, ...]
    plans: tuple[Plan, ...]

    def try_fold(self, index: int, say: Say, observer: Observer) -> _FoldResult:
        """Every combination with a model of the rows outside a fold."""
        fold, total, label = self.rows.folds[index], self.rows.learned.counts.rows, self.rows.learned.label
        outside = self.rows.outside(index)
        reference = None if label is None else budget_utility.Reference(fold.codes, label)
        measure = budget_utility.find_utility(reference, replace(outside.refit(Observer()), marginals=fold.counts))
        say("fitting")
        free, outside = fit_free(outside, render(self.combinations[0].program), observer)
        free = replace(free, spec=without_commands(free.spec))
        utilities, verdicts = [], []
        for combination, planned in zip(self.combinations, self.plans, strict=True):
            say(written(combination.values))
            with located(f"with {written(combination.values)}"):
                learned = replace(outside, plan=settle(planned, outside.codec))
                start = replace(free, program=render(combination.program), spec=planned.spec)
                model = shape(start, learned, rows=total, observer=observer).model
                table = sample_table(model, total, seed=outside.seed)
            utilities.append(measure(model.mixture))
            verdicts.append(verify(planned.spec, table, interval=False))
        return _FoldResult(measure(free.mixture), tuple(utilities), tuple(verdicts))
