"""Rows in folds: what was learned of all of them, and work done for every fold by several threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, replace
from threading import Event, Lock
from typing import TypeVar

import numpy as np

from cuts.config import Config
from cuts.count.folds import Fold, count_folds
from cuts.count.rows import blocks_to_encode
from cuts.data.table import Table
from cuts.effects.shaping import Learned
from cuts.flow.inputs import IMITATE
from cuts.flow.learn import OpenedRows, prepare
from cuts.flow.memory import choose_smoothing
from cuts.model.backbone import find_backbone
from cuts.model.device import use_threads
from cuts.plan import Plan
from cuts.progress import Observer, Say
from cuts.text.diagnostic import CutsError, counted, usage_error

_Result = TypeVar("_Result")

FOLD_ROWS = 5_000  # of each fold, as codes, that a model is tried on


@dataclass(frozen=True, slots=True, eq=False)
class FoldedRows:
    """What was learned of all rows, and the folds they were split into."""

    learned: Learned
    folds: tuple[Fold, ...]

    def outside(self, index: int) -> Learned:
        """What is known without the rows of a fold."""
        learned = self.learned
        counts = learned.counts - self.folds[index].counts
        if learned.sample.rows < learned.counts.rows:  # so many rows that those of the fold hardly matter in it
            return replace(learned, counts=counts)
        rows = np.flatnonzero(np.arange(learned.sample.rows) % len(self.folds) != index)
        codes = {name: values[rows] for name, values in learned.codes.items()}
        return replace(learned, counts=counts, sample=Table(learned.sample.arrow.take(rows)), codes=codes)


def split_into_folds(
    plans: Sequence[Plan],
    opened: OpenedRows,
    folds: int,
    *,
    config: Config,
    seed: int,
    observer: Observer,
    keep_rows: int = 0,
) -> FoldedRows:
    """The rows counted in folds, with bins that suit all plans; what is learned is for the first of them.

    Up to `keep_rows` rows of each fold are kept as they are.
    """
    if folds < 2:
        raise usage_error("bad-count", f"{folds} folds hold no rows out", "ask for more: `--folds 5`")
    config = replace(config, threads=1)  # the folds are what is done in parallel
    observer.stage("reading a sample of the rows")
    prepared = prepare(plans, opened, config, seed, observer)
    observer.stage("counting")
    parts = count_folds(
        opened.rows.blocks() if keep_rows else blocks_to_encode(opened.rows, prepared.codec),
        prepared.codec,
        prepared.cliques,
        folds,
        keep=FOLD_ROWS,
        keep_rows=keep_rows,
        seen=opened.counted(observer),
    )
    counts = sum((part.counts for part in parts[1:]), parts[0].counts)
    if counts.rows < folds:
        title = f"{counted(counts.rows, 'row')} cannot be split into {folds} folds"
        raise usage_error("bad-count", title, "ask for fewer: `--folds 2`")
    learned = prepared.with_counts(counts)
    with use_threads(1):
        smoothing, _ = choose_smoothing(learned, IMITATE, observer)
    return FoldedRows(replace(learned, config=replace(config, smoothing=smoothing)), parts)


def on_every_fold(
    work: Callable[[int, Say, Observer], _Result], rows: FoldedRows, *, workers: int, observer: Observer
) -> list[_Result]:
    """The results of some work for every fold, by several threads; it is given what to report to.

    Reporting stops the work, by an exception, when another fold failed or the user stopped all.
    """
    count, lock, stopped = len(rows.folds), Lock(), Event()

    def go_on(_: object = None) -> None:
        if stopped.is_set():
            raise _StoppedError

    def try_fold(index: int) -> _Result:
        position = f"fold {index + 1} of {count}"

        def say(text: str) -> None:
            go_on()
            with lock:
                observer.stage(f"{position}: {text}")

        with located(f"in {position}"):
            return work(index, say, Observer(stage=go_on, fitted=go_on, advanced=go_on))

    is_parallel = find_backbone(rows.learned.config).thread_safe
    with use_threads(1), ThreadPoolExecutor(min(workers, count) if is_parallel else 1) as pool:
        try:  # Ctrl-C may come before all folds are submitted
            waiting = [pool.submit(try_fold, index) for index in range(count)]
            failed = [future for future in wait(waiting, return_when=FIRST_EXCEPTION).done if future.exception()]
            return [future.result() for future in failed or waiting]
        finally:
            stopped.set()
            pool.shutdown(wait=False, cancel_futures=True)


class _StoppedError(Exception):
    """Another fold failed, or the user stopped the search."""


@contextmanager
def located(where: str) -> Iterator[None]:
    """Errors say where they occurred."""
    try:
        yield
    except CutsError as error:
        located = [replace(diagnostic, title=f"{where}: {diagnostic.title}") for diagnostic in error.diagnostics]
        raise CutsError(located, error.source) from None
