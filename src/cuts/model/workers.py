"""Chunks and parts of a draw from several processes.

Each worker is a process of its own that loads the model from a file and computes on one thread: threads of one process
would wait for each other most of the time. A chunk is a function of its number, so the work of a worker that was lost
(killed, or out of memory) is given to a new one, once.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from queue import SimpleQueue
from tempfile import TemporaryDirectory
from threading import Lock
from typing import Any, TypeVar

from cuts.data.exchange.files import FileForm
from cuts.data.table import Table
from cuts.lang.spec import Spec
from cuts.model import store
from cuts.model.drawing import Drawing, Made, Part, made_from
from cuts.model.messages import pack_form, receive, send, unpack_table
from cuts.model.store import Model
from cuts.text.diagnostic import CutsError, Diagnostic

_Asked = TypeVar("_Asked")
_Made = TypeVar("_Made")
_ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")


class Workers:
    """A pool of worker processes for one drawing; see `start_workers`."""

    def __init__(self, spec: Spec, setup: dict[str, Any], form: FileForm | None, count: int) -> None:
        self._spec, self._setup, self._form = spec, setup, form
        self._idle: SimpleQueue[_Worker] = SimpleQueue()
        self._started: list[_Worker] = []
        self._lock, self._is_closed = Lock(), False
        for _ in range(count):
            self._idle.put(self._start())

    @property
    def processes(self) -> list[int]:
        """The ids of the processes that are running."""
        return [worker.process.pid for worker in self._started if worker.process.poll() is None]

    def chunk(self, number: int) -> tuple[Table, Made]:
        """The rows of a chunk."""
        answer, content = self._call({"chunk": number}, lambda _: None)
        return Table(unpack_table(content)), made_from(answer["made"], self._spec)

    def part(self, part: Part, path: Path, drawn: Callable[[int], None] = lambda _: None) -> Made:
        """Write a part to a file, whole or not at all; `drawn` hears of every chunk, from another thread."""
        answer, _ = self._call({"part": asdict(part), "path": str(path)}, drawn)
        return made_from(answer["made"], self._spec)

    def close(self) -> None:
        """End all processes, at once: what they were writing is not finished."""
        with self._lock:
            self._is_closed = True
        for worker in self._started:
            worker.process.kill()
        for worker in self._started:
            worker.end()

    def _call(self, job: dict[str, Any], drawn: Callable[[int], None]) -> tuple[dict[str, Any], bytes]:
        """The answer of a worker; a worker that is lost is replaced, and the work is done again, once."""
        worker = self._idle.get()
        try:
            try:
                return worker.call(job, drawn)
            except WorkerLost:
                worker = self._start()
            try:
                return worker.call(job, drawn)
            except WorkerLost as lost:
                raise lost_worker(lost.code) from None
        finally:
            self._idle.put(worker)

    def _start(self) -> _Worker:
        with self._lock:
            if self._is_closed:
                raise WorkerLost(0)
            self._started.append(_Worker(self._setup, self._form))
            return self._started[-1]


class WorkerLost(Exception):
    """A process has ended; `code` is its exit code, or minus the signal that ended it."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


class _Worker:
    """One process, asked for one thing at a time."""

    def __init__(self, setup: dict[str, Any], form: FileForm | None) -> None:
        paths = os.pathsep.join(os.path.abspath(place or ".") for place in sys.path)
        alone = dict.fromkeys(_ONE_THREAD, "1")
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-m", "cuts.model.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **alone, "PYTHONPATH": paths},
        )
        with suppress(BrokenPipeError):  # the first call says so
            send(self._asked, setup, pack_form(form))

    def call(self, job: dict[str, Any], drawn: Callable[[int], None]) -> tuple[dict[str, Any], bytes]:
        """The answer; `WorkerLost` if the process has ended, `CutsError` for an error that it reports."""
        made = 0
        try:
            send(self._asked, job)
            while True:
                answer, content = receive(self._answers)
                if "drawn" not in answer:
                    break
                made += answer["drawn"]
                drawn(answer["drawn"])
        except (EOFError, OSError, ValueError):  # ValueError: the pipe was closed by another thread
            drawn(-made)
            raise WorkerLost(self.end()) from None
        if "errors" in answer:
            raise CutsError(Diagnostic(**error) for error in answer["errors"])
        if "failed" in answer:
            raise RuntimeError(f"a worker process failed\n{answer['failed']}")
        return answer, content

    def end(self) -> int:
        """End the process and return its exit code."""
        for stream in (self.process.stdin, self.process.stdout):
            assert stream is not None
            with suppress(OSError):
                stream.close()
        self.process.kill()
        return self.process.wait()

    @property
    def _asked(self) -> Any:
        return self.process.stdin

    @property
    def _answers(self) -> Any:
        return self.process.stdout


@contextmanager
def start_workers(model: Model, drawing: Drawing, count: int, *, form: FileForm | None = None) -> Iterator[Workers]:
    """A pool of that many processes; they are ended when the block is left, however it is."""
    with TemporaryDirectory(prefix="cuts-") as folder:
        path = Path(folder) / f"model{store.ENDING}"
        store.save(model, path)
        workers = Workers(drawing.verified(model.spec), {"model": str(path), "drawing": asdict(drawing)}, form, count)
        try:
            yield workers
        finally:
            workers.close()


def in_order(make: Callable[[_Asked], _Made], asked: Iterable[_Asked], workers: int) -> Iterator[_Made]:
    """What was asked for, in order; as many at a time as there are workers, and one more waiting for its turn."""
    left, pool = iter(asked), ThreadPoolExecutor(workers)
    try:
        waiting: list[Future[_Made]] = [pool.submit(make, each) for each in islice(left, workers + 1)]
        while waiting:
            made = waiting.pop(0).result()
            waiting += [pool.submit(make, each) for each in islice(left, 1)]
            yield made
    finally:
        pool.shutdown(wait=False, cancel_futures=True)  # whoever leaves early ends the workers next


def lost_worker(code: int) -> CutsError:
    """A process that ended twice at the same work."""
    name = signal.Signals(-code).name if code < 0 and -code in {*signal.Signals} else f"exit code {code}"
    return CutsError(
        [
            Diagnostic(
                "worker-lost",
                f"a worker process ended twice while drawing the same rows ({name})",
                help="use fewer `--workers` if memory is short",
            )
        ]
    )
