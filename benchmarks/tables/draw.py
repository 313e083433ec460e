"""CPU time and memory of sampling, decoding and writing rows to Parquet parts, with one process and with several.

The model is one of Adult, fitted first with the default settings. Every line is `cuts sample` as a process of its own
with its workers; CPU seconds are of all of them, start and imports included, and memory is the sum of the peaks of all
processes. The folders of all lines must be identical, byte for byte.
"""

from __future__ import annotations

import hashlib
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.digits import digits
from benchmarks.markdown import NOT_YET, table
from benchmarks.records import Records
from benchmarks.table import Measured, Options, Table, Task

FILE = "drawing"
PROGRAM = "SYNTHESIZE: adult; END;"
ROWS, QUICK_ROWS = 10_000_000, 100_000
WORKERS = (1, 2)
QUICK_STEPS = 50
INTERVAL = 0.05  # seconds between two looks at the memory


def tables() -> Iterator[Table]:
    """The one table of this module."""
    yield Table("drawing", "Sample and write rows with several processes", "speed", tasks, page)


def tasks(options: Options) -> list[Task]:
    """All numbers of workers in one task, which fits the model once."""
    rows = QUICK_ROWS if options.quick else ROWS
    keys = tuple(f"{rows}/{workers}" for workers in WORKERS)
    return [Task(f"drawing: {rows:,} rows", FILE, keys, measure, (rows, QUICK_STEPS if options.quick else None))]


def measure(keys: tuple[str, ...], rows: int, steps: int | None) -> Measured:
    """What sampling took with each number of workers, and a hash of the files."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        model = fitted(folder, steps)
        for key in keys:
            workers, output = int(key.split("/")[1]), folder / "rows"
            cost = sampled(model, rows, workers, output)
            size = sum(part.stat().st_size for part in output.iterdir()) / 1e6
            yield key, {"rows": rows, "workers": workers, **cost, "written_mb": size, "content": content(output)}
            shutil.rmtree(output)


def fitted(folder: Path, steps: int | None) -> Path:
    """A model of Adult, with the default number of steps or fewer."""
    program, model = folder / "adult.cuts", folder / "adult.synth"
    program.write_text(PROGRAM)
    words = ["fit", str(program), "-o", str(model), "--threads", "1", "-q"]
    if steps is not None:
        config = folder / "settings.toml"
        config.write_text(f"steps = {steps}\n")
        words += ["--config", str(config)]
    ran = subprocess.run([sys.executable, "-m", "cuts", *words], check=False, stdout=subprocess.DEVNULL)
    if ran.returncode and (steps is None or not model.exists()):  # few steps give a poor fit: exit code 1, but a model
        raise RuntimeError(f"fitting failed with exit code {ran.returncode}")
    return model


def sampled(model: Path, rows: int, workers: int, output: Path) -> dict[str, Any]:
    """Seconds, CPU seconds, peak MB and the number of processes of one `cuts sample`."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    words = ["sample", str(model), "-n", str(rows), "-o", f"{output}/", "--workers", str(workers)]
    process = subprocess.Popen([sys.executable, "-m", "cuts", *words], stdout=subprocess.DEVNULL)
    peaks: dict[int, float] = {}
    while process.poll() is None:
        for member in family(process.pid):
            peaks[member] = max(peaks.get(member, 0.0), peak_of(member))
        time.sleep(INTERVAL)
    if process.returncode:
        raise RuntimeError("sampling failed")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)  # of the process and all that it waited for
    return {
        "seconds": time.monotonic() - began,
        "cpu_seconds": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
        "all_peaks_mb": sum(peaks.values()),
        "processes": len(peaks),
    }


def family(process: int) -> list[int]:
    """A process and its children."""
    try:
        threads = Path(f"/proc/{process}/task").iterdir()
        return [process, *(int(word) for thread in threads for word in (thread / "children").read_text().split())]
    except OSError:  # it has just ended
        return []


def peak_of(process: int) -> float:
    """The peak memory of a process in MB, so far."""
    try:
        status = Path(f"/proc/{process}/status").read_text()
    except OSError:
        return 0.0
    return next((float(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith("VmHWM")), 0.0)


def content(folder: Path) -> str:
    """A hash of all files of a folder."""
    found = hashlib.sha256()
    for path in sorted(folder.iterdir()):
        found.update(f"{path.name} {hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    return found.hexdigest()[:16]


def page(records: Records) -> str:
    """One line per number of rows and workers."""
    found = sorted(records.read(FILE).values(), key=lambda each: (each["rows"], each["workers"]))
    if not found:
        return NOT_YET
    lines = [
        [
            f"{each['rows']:,}",
            str(each["workers"]),
            str(each["processes"]),
            digits(each["seconds"]),
            digits(each["cpu_seconds"]),
            digits(1e6 * each["cpu_seconds"] / each["rows"]),
            f"{each['all_peaks_mb']:,.0f}",
            digits(each["written_mb"]),
        ]
        for each in found
    ]
    intro = (
        "`cuts sample` from a model of Adult, all columns, into a folder of Parquet parts: sampling, decoding, "
        "checking and writing. CPU seconds are of all processes, start-up included; memory is the sum of their "
        "peaks, with shared libraries counted in each."
    )
    header = [
        "rows",
        "workers",
        "processes",
        "elapsed s",
        "CPU s",
        "CPU µs per row",
        "peak MB, all processes",
        "written MB",
    ]
    return f"{intro}\n\n{table(header, lines)}{_comparison(found)}"


def _comparison(found: list[dict[str, Any]]) -> str:
    """Whether the files depend on the number of workers, if that can be said."""
    by_rows: dict[int, list[str]] = {}
    for each in found:
        by_rows.setdefault(each["rows"], []).append(each["content"])
    if all(len(contents) < 2 for contents in by_rows.values()):
        return ""
    is_same = all(len(set(contents)) == 1 for contents in by_rows.values())
    same = "The files of all lines with as many rows are identical, byte for byte."
    return f"\n{same if is_same else '**Lines with as many rows have different files.**'}\n"
