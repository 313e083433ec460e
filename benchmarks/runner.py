"""Run the tasks whose results are not there yet, each in a process of its own, as many at once as there are cores."""

from __future__ import annotations

import os
import time
import traceback
from collections.abc import Sequence
from dataclasses import replace
from multiprocessing import get_context
from multiprocessing.process import BaseProcess

from benchmarks.harness import peak, say
from benchmarks.records import Records
from benchmarks.table import Task

# One thread per process: on a busy machine several mostly wait for each other, and that would count as CPU time.
ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")


def run_tasks(tasks: Sequence[Task], records: Records, *, workers: int, fresh: bool = False) -> list[str]:
    """Measure what is missing, or everything if `fresh`; the titles of the tasks that failed."""
    tasks = merged(tasks)
    waiting = tasks if fresh else missing(tasks, records)
    say(f"{sum(len(task.keys) for task in waiting)} of {sum(len(task.keys) for task in tasks)} results to measure")
    for name in ONE_THREAD:
        os.environ[name] = "1"
    context, total = get_context("spawn"), len(waiting)
    running: list[tuple[Task, BaseProcess]] = []
    failed: list[str] = []
    try:
        while waiting or running:
            while waiting and len(running) < workers:
                task = waiting.pop(0)
                process = context.Process(target=_measure, args=(task, records))
                process.start()
                running.append((task, process))
            time.sleep(0.2)
            for task, process in [each for each in running if not each[1].is_alive()]:
                process.join()
                running.remove((task, process))
                failed += [task.title] if process.exitcode else []
                say(f"[{total - len(waiting) - len(running)} of {total} tasks] {task.title}")
    finally:
        for _, process in running:
            process.terminate()
    return failed


def merged(tasks: Sequence[Task]) -> list[Task]:
    """The tasks with those that do the same for different keys in one, so that programs share their fits."""
    found: dict[tuple[str, str], Task] = {}
    for task in tasks:
        same = found.get((task.file, task.title))
        keys = task.keys if same is None else tuple(dict.fromkeys((*same.keys, *task.keys)))
        found[task.file, task.title] = replace(task, keys=keys)
    return list(found.values())


def missing(tasks: Sequence[Task], records: Records) -> list[Task]:
    """The tasks with the keys that have no result yet."""
    found = {file: records.read(file) for file in {task.file for task in tasks}}
    left = [replace(task, keys=tuple(key for key in task.keys if key not in found[task.file])) for task in tasks]
    return [task for task in left if task.keys]


def _measure(task: Task, records: Records) -> None:
    """What the process of a task does."""
    began = time.process_time()
    try:
        for key, result in task.measure(task.keys, *task.arguments):
            seconds, began = time.process_time() - began, time.process_time()
            records.append(task.file, key, {**result, "process_seconds": round(seconds, 2), "peak_mb": round(peak())})
            say(f"  {task.file}: {key}, {seconds:.0f} CPU s")
    except Exception:
        say(f"{task.title} failed:\n{traceback.format_exc()}")
        raise SystemExit(1) from None
