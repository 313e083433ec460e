"""What benchmarks share: a task in a process of its own, and what it took."""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from typing import ParamSpec, TypeVar

_Args = ParamSpec("_Args")
_Made = TypeVar("_Made")


class Clock:
    """CPU seconds of this process, all threads together, of the parts of the work that were `running`."""

    def __init__(self) -> None:
        self.seconds = 0.0

    @contextmanager
    def running(self) -> Iterator[None]:
        """Count the CPU time of what is done inside."""
        began = time.process_time()
        try:
            yield
        finally:
            self.seconds += time.process_time() - began


def alone(task: Callable[_Args, _Made], *args: _Args.args, **options: _Args.kwargs) -> _Made:
    """What a task makes in a fresh process."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(task, *args, **options).result()


def peak() -> float:
    """Peak memory of this process in MB."""
    try:  # `ru_maxrss` would begin at the size of the process that started this one
        status = Path("/proc/self/status").read_text()
        return next(float(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith("VmHWM"))
    except (OSError, StopIteration):
        unit = 1024**2 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


def say(text: str) -> None:
    """Tell how the work goes, beside the results."""
    print(text, file=sys.stderr, flush=True)
