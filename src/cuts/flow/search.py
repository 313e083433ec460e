"""A search over the placeholders of a program, such as its weights: every choice of values is tried on held-out rows.

The rows are cut into folds (`count/folds.py`). For every fold a model is fitted to the other rows and shaped by the
program with each choice of values. A table drawn from it says whether the commands hold, the held-out rows say how
useful it is. What came of it is `assess/tuned.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import product
from threading import Event, Lock
from typing import TypeVar

import numpy as np
import pyarrow as pa

from cuts.assess.tuned import Tuning, find_utility, sum_up
from cuts.assess.verify import Verdict, verify
from cuts.config import Config
from cuts.count.folds import Fold, count_folds
from cuts.count.sources import Rows
from cuts.data.schema import Schema
from cuts.data.table import Table
from cuts.effects import Learned, shape_model
from cuts.flow import checks
from cuts.flow.learn import make_model, prepare
from cuts.lang.binder import bind
from cuts.lang.placeholders import fill
from cuts.lang.printer import render
from cuts.lang.spec import Spec
from cuts.lang.syntax import Program
from cuts.model import utility
from cuts.model.backbone import find_backbone
from cuts.model.device import use_threads
from cuts.model.memory import choose_smoothing
from cuts.model.rows import sample_blocks
from cuts.model.shape import Refit
from cuts.progress import Observer, Say
from cuts.text.diagnostic import CutsError, Diagnostic, counted, has_errors, usage_error

_Made = TypeVar("_Made")

KEPT = 5_000  # rows of a fold that a model is tried on


@dataclass(frozen=True, slots=True)
class Choice:
    """Values for the placeholders of the grid, and the program with them."""

    values: Mapping[str, str]
    program: Program  # without placeholders


def tune(
    program: Program,
    schema: Schema,
    rows: Rows,
    grid: Mapping[str, Sequence[str]],
    *,
    folds: int = 5,
    config: Config | None = None,
    seed: int = 0,
    values: Mapping[str, str | float] | None = None,
    workers: int = 1,
    observer: Observer | None = None,
) -> Tuning:
    """Every choice from the grid tried on every fold; `values` fill the other placeholders.

    The rows are read twice, as for one fit. Folds are worked on by several threads at once; the result is the same for
    any number of them.
    """
    observer = observer or Observer()
    choices = choose(program, grid, values or {})
    programs = [choice.program for choice in choices]
    found = cut(programs, schema, rows, folds, config=config or Config(), seed=seed, observer=observer)
    specs = tuple(bind(choice.program, schema) for choice in choices)
    tried = on_every_fold(_Search(found, tuple(choices), specs).try_fold, found, workers=workers, observer=observer)
    points = [
        sum_up(choice.values, [fold.utilities[place] for fold in tried], [fold.verdicts[place] for fold in tried])
        for place, choice in enumerate(choices)
    ]
    free = find_utility([fold.free for fold in tried])
    return Tuning(found.learned.counts.rows, folds, found.learned.label, free, tuple(points))


def choose(program: Program, grid: Mapping[str, Sequence[str]], values: Mapping[str, str | float]) -> list[Choice]:
    """Every choice of values from the grid; a `CutsError` when a placeholder stays open or a name fits none.

    >>> from cuts.lang.parser import parse
    >>> found = choose(parse("SYNTHESIZE: a; ENFORCE: age > <limit>; END;"), {"limit": ["30", "40"]}, {})
    >>> [choice.values for choice in found]
    [{'limit': '30'}, {'limit': '40'}]
    """
    picks = [dict(zip(grid, picked, strict=True)) for picked in product(*grid.values())]
    return [Choice(picked, fill(program, {**values, **picked})) for picked in picks]


def check(choices: Sequence[Choice], schema: Schema) -> tuple[Diagnostic, ...]:
    """The warnings about the programs of all choices; raises when one has errors.

    What is not said of all of them says for which values it is.
    """
    said = [checks.check(choice.program, schema).diagnostics for choice in choices]
    common = [each for each in said[0] if all(each in others for others in said)]
    own = [
        replace(each, title=f"with {written(choice.values)}: {each.title}")
        for choice, some in zip(choices, said, strict=True)
        for each in some
        if each not in common
    ]
    if has_errors([*common, *own]):
        raise CutsError([*common, *own], choices[0].program.source)
    return (*common, *own)


def written(values: Mapping[str, str]) -> str:
    """Values with their names.

    >>> written({"w": "0.1", "v": "2"})
    'w=0.1, v=2'
    """
    return ", ".join(f"{name}={value}" for name, value in values.items())


# --- one fold


@dataclass(frozen=True, slots=True)
class _Tried:
    """One fold: the utility of the model without any command, then utility and verdicts of every choice."""

    free: float
    utilities: tuple[float, ...]
    verdicts: tuple[tuple[Verdict, ...], ...]


@dataclass(frozen=True, slots=True, eq=False)
class _Search:
    """What is tried on every fold."""

    found: Cut
    choices: tuple[Choice, ...]
    specs: tuple[Spec, ...]

    def try_fold(self, place: int, say: Say, observer: Observer) -> _Tried:
        """Every choice with a model of the rows outside a fold."""
        part, rows, label = self.found.parts[place], self.found.learned.counts.rows, self.found.learned.label
        outside = self.found.outside(place)
        reference = None if label is None else utility.Reference(part.codes, label)
        measure = utility.find_utility(reference, Refit(part.counts, label, outside.config, outside.seed))
        say("fitting")
        free = make_model(replace(outside, spec=replace(outside.spec, commands=())), observer=observer)
        utilities, verdicts = [], []
        for choice, spec in zip(self.choices, self.specs, strict=True):
            say(written(choice.values))
            text = render(choice.program)
            with located(f"with {written(choice.values)}"):
                model = shape_model(
                    replace(outside, spec=spec, program=text), replace(free, program=text), rows, observer
                )
                blocks = [block.arrow for block in sample_blocks(model, rows, seed=outside.seed)]
            utilities.append(measure(model.mixture))
            verdicts.append(verify(spec, Table(pa.concat_tables(blocks)), interval=False))
        return _Tried(measure(free.mixture), tuple(utilities), tuple(verdicts))


# --- rows in folds


@dataclass(frozen=True, slots=True, eq=False)
class Cut:
    """What was learned of all rows, and the folds they were cut into."""

    learned: Learned
    parts: tuple[Fold, ...]

    def outside(self, place: int) -> Learned:
        """What is known without the rows of a fold."""
        learned = self.learned
        counts = learned.counts - self.parts[place].counts
        if learned.sample.rows < learned.counts.rows:  # so many rows that those of the fold decide nothing in it
            return replace(learned, counts=counts)
        rows = np.flatnonzero(np.arange(learned.sample.rows) % len(self.parts) != place)
        codes = {name: values[rows] for name, values in learned.codes.items()}
        return replace(learned, counts=counts, sample=Table(learned.sample.arrow.take(rows)), codes=codes)


def cut(
    programs: Sequence[Program],
    schema: Schema,
    rows: Rows,
    folds: int,
    *,
    config: Config,
    seed: int,
    observer: Observer,
    keep_rows: int = 0,
) -> Cut:
    """The rows counted in folds, with bins that suit all programs; what is learned is for the first of them.

    Up to `keep_rows` rows of each fold are kept as they are.
    """
    if folds < 2:
        raise usage_error("bad-count", f"{folds} folds hold no rows out", "ask for more: `--folds 5`")
    config = replace(config, threads=1)  # the folds are what is done in parallel
    prepared = prepare(programs, schema, rows, config=config, seed=seed, observer=observer)
    observer.stage("counting")
    parts = count_folds(
        rows.blocks(), prepared.codec, prepared.cliques, folds, keep=KEPT, keep_rows=keep_rows, seen=observer.counted
    )
    counts = sum((part.counts for part in parts[1:]), parts[0].counts)
    if counts.rows < folds:
        title = f"{counted(counts.rows, 'row')} cannot be cut into {folds} folds"
        raise usage_error("bad-count", title, "ask for fewer: `--folds 2`")
    observer.stage("choosing the smoothing")
    with use_threads(1):
        smoothing = choose_smoothing(prepared.codes, prepared.codec, prepared.label, config, seed=seed)
    return Cut(replace(prepared.with_counts(counts), config=replace(config, smoothing=smoothing)), parts)


def on_every_fold(
    work: Callable[[int, Say, Observer], _Made], found: Cut, *, workers: int, observer: Observer
) -> list[_Made]:
    """The work done for every fold, by several threads; it is given whom to tell what it does and what to report to.

    Both stop the work, by an exception, when another fold failed or the user stopped all.
    """
    count, lock, stopped = len(found.parts), Lock(), Event()

    def go_on(_: object = None) -> None:
        if stopped.is_set():
            raise _StoppedError

    def try_fold(place: int) -> _Made:
        where = f"fold {place + 1} of {count}"

        def say(text: str) -> None:
            go_on()
            with lock:
                observer.stage(f"{where}: {text}")

        with located(f"in {where}"):
            return work(place, say, Observer(stage=go_on, fitted=go_on))

    apart = find_backbone(found.learned.config).thread_safe
    with use_threads(1), ThreadPoolExecutor(min(workers, count) if apart else 1) as pool:
        waiting = [pool.submit(try_fold, place) for place in range(count)]
        try:
            failed = [each for each in wait(waiting, return_when=FIRST_EXCEPTION).done if each.exception()]
            return [each.result() for each in failed or waiting]
        finally:
            stopped.set()
            pool.shutdown(wait=False, cancel_futures=True)


class _StoppedError(Exception):
    """Another fold failed, or the user stopped the search."""


@contextmanager
def located(where: str) -> Iterator[None]:
    """What is wrong says where."""
    try:
        yield
    except CutsError as error:
        told = [replace(each, title=f"{where}: {each.title}") for each in error.diagnostics]
        raise CutsError(told, error.source) from None
