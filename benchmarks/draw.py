"""CPU time and memory of drawing, decoding and writing rows to Parquet parts, with one process and with several.

    python benchmarks/draw.py [--rows 10000000] [--workers 1 2] [--model MODEL.synth] [--program PROGRAM.cuts]

The model is one of Adult, fitted first with the default settings, or the one given. Every line is `cuts sample` as a
process of its own with its workers; CPU seconds are of all of them, start and imports included, and memory is the sum
of the peaks of all processes. The folders of all lines must be identical, byte for byte.
"""

from __future__ import annotations

import argparse
import hashlib
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from harness import say, show

PROGRAM = "SYNTHESIZE: adult; END;"
INTERVAL = 0.05  # seconds between two looks at the memory


def main() -> None:
    """Print one line per number of workers."""
    asked = arguments()
    with tempfile.TemporaryDirectory() as folder:
        model = asked.model or fitted(Path(folder), asked.program)
        lines, contents = [], set()
        for workers in asked.workers:
            output = Path(folder) / f"out{workers}"
            seconds, cpu, peak, processes = measured(model, asked.rows, workers, output)
            contents.add(content(output))
            size = sum(part.stat().st_size for part in output.iterdir()) / 1e6
            cells = (f"{workers}", f"{processes}", f"{seconds:.1f}", f"{cpu:.1f}", f"{peak:.0f}", f"{size:.0f}")
            lines.append((f"{asked.rows:,}", *cells))
        show("Drawing rows", ("rows", "workers", "processes", "s", "CPU s", "peak MB", "written MB"), lines)
    if len(contents) > 1:
        raise SystemExit("the folders differ")
    say("all folders are identical" if len(lines) > 1 else "one folder was written")


def arguments() -> argparse.Namespace:
    """What the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--workers", type=int, nargs="+", default=(1, 2))
    parser.add_argument("--model", type=Path)
    parser.add_argument("--program", type=Path, help="program to fit instead of Adult without commands")
    return parser.parse_args()


def fitted(folder: Path, program: Path | None) -> Path:
    """A model of Adult."""
    if program is None:
        program = folder / "adult.cuts"
        program.write_text(PROGRAM)
    say("fitting")
    subprocess.run([sys.executable, "-m", "cuts", "fit", program, "-o", folder / "adult.synth", "-q"], check=True)
    return folder / "adult.synth"


def measured(model: Path, rows: int, workers: int, output: Path) -> tuple[float, float, float, int]:
    """Seconds, CPU seconds, peak MB and the number of processes of one draw."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    words = ["sample", str(model), "-n", str(rows), "-o", f"{output}/", "--workers", str(workers)]
    process = subprocess.Popen([sys.executable, "-m", "cuts", *words], stdout=subprocess.DEVNULL)
    peaks: dict[int, float] = {}
    while process.poll() is None:
        for member in family(process.pid):
            peaks[member] = max(peaks.get(member, 0.0), peak_of(member))
        time.sleep(INTERVAL)
    if process.returncode:
        raise SystemExit("drawing failed")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)  # of the process and all that it waited for
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return time.monotonic() - began, cpu, sum(peaks.values()), len(peaks)


def family(process: int) -> list[int]:
    """A process and its children."""
    try:
        tasks = Path(f"/proc/{process}/task").iterdir()
        return [process, *(int(word) for task in tasks for word in (task / "children").read_text().split())]
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
    return found.hexdigest()


if __name__ == "__main__":
    main()
