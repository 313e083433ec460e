"""The entry point of all benchmarks.

    python -m benchmarks adult-logical --data DIR        # one table
    python -m benchmarks adult german compas --data DIR  # all tables of some rows
    python -m benchmarks all --data DIR                  # everything, many hours with other generators
    python -m benchmarks --quick                         # a trial run of everything, minutes
    python -m benchmarks --list

Results are appended to `benchmarks/results`, so that an interrupted run continues, and the page `docs/benchmarks.md`
and its pictures are written from them at the end. A trial run keeps its results apart and writes no page.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.harness import say
from benchmarks.page import show_tables, write_page
from benchmarks.records import Records
from benchmarks.registry import TABLES, select
from benchmarks.runner import run_tasks
from benchmarks.table import Options, Table
from benchmarks.tables.paper import WAYS

HERE = Path(__file__).parent


def main(words: Sequence[str] | None = None) -> int:
    """Run what was asked for; the exit code is 1 if a task failed."""
    asked = arguments(words)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the processes of tasks end with this one
    if asked.list:
        print("\n".join(f"{table.name:28} {table.title}" for table in TABLES))
        return 0
    tables = select(asked.tables or (["all"] if asked.quick else []))
    once = 1 if asked.quick else 5
    options = Options(
        data=None if asked.data is None else asked.data.resolve(),
        fits=asked.fits or once,
        samples=asked.samples or once,
        quick=asked.quick,
        held_out=asked.held_out,
        ways=tuple(asked.ways or ()),
        peers=asked.peers.resolve(),
        cap=asked.cap,
    )
    if asked.quick and asked.results is None:
        with tempfile.TemporaryDirectory() as folder:
            return run(tables, options, Records(Path(folder)), workers=asked.workers, fresh=False, with_page=False)
    records = Records(asked.results or HERE / "results")
    return run(tables, options, records, workers=asked.workers, fresh=asked.fresh, with_page=asked.results is None)


def arguments(words: Sequence[str] | None) -> argparse.Namespace:
    """What was asked for."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("tables", nargs="*", help="names of tables, their beginnings such as `adult`, or `all`")
    parser.add_argument("--list", action="store_true", help="print the tables and end")
    parser.add_argument("--data", type=Path, help="folder of the tables; Adult and German Credit need none")
    parser.add_argument("--fits", type=int, help="fits per program, 5 by default")
    parser.add_argument("--samples", type=int, help="samples per fit, 5 by default")
    parser.add_argument(
        "--held-out",
        action="store_true",
        help="test on a quarter of the train rows, to choose settings; needs --results",
    )
    parser.add_argument("--ways", nargs="+", choices=WAYS, help="of the paper's tables; all by default")
    parser.add_argument("--quick", action="store_true", help="one fit, one sample, few steps: a trial of all tables")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="processes at once; all cores")
    parser.add_argument("--fresh", action="store_true", help="measure again what has results")
    parser.add_argument("--results", type=Path, help="folder of the results instead of benchmarks/results; no page")
    parser.add_argument("--peers", type=Path, default=Path(".venv-peers"), help="environments of other generators")
    parser.add_argument("--cap", type=float, default=2_400.0, help="CPU seconds for one fit of another generator")
    asked = parser.parse_args(words)
    if asked.held_out and asked.results is None and not asked.quick:
        parser.error("--held-out needs --results: its figures are not those of the page")
    return asked


def run(
    tables: Sequence[Table], options: Options, records: Records, *, workers: int, fresh: bool, with_page: bool
) -> int:
    """Measure what is missing of some tables, print them, and write the page of all results."""
    tasks, left_out = [], []
    for table in tables:
        if absent := [name for name in table.needs if options.data is None or not (options.data / name).exists()]:
            left_out.append(f"{table.name}: no folder {' or '.join(absent)} in --data")
        else:
            tasks += table.tasks(options)
    failed = run_tasks(tasks, records, workers=workers, fresh=fresh)
    show_tables([table for table in tables if not any(each.startswith(f"{table.name}:") for each in left_out)], records)
    for each in left_out:
        say(f"left out: {each}")
    for title in failed:
        say(f"failed: {title}")
    if with_page:
        write_page(records)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
