"""The Markdown of the fidelity tables: one line per generator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.markdown import NOT_YET, table
from benchmarks.peers.environments import PEERS
from benchmarks.records import Records

FILE = "fidelity"
ORDER = ("real", "cuts", "cart", "mostly", "arf", "tvae", "ctgan")
USEFULNESS = ("r2", "accuracy")  # of a numeric label, of any other
TITLES = {"r2": "TSTR R2", "accuracy": "TSTR accuracy"}


def page(name: str, records: Records) -> str:
    """All generators on one table."""
    found = records.runs(FILE, name)
    if not found:
        return NOT_YET
    real = found.get("real", [])
    useful = next(
        (u for u in USEFULNESS if any(run.get("measures", {}).get(u) is not None for run in real)), "accuracy"
    )
    lines = [_line(generator, found[generator], useful) for generator in ORDER if generator in found]
    rows = f"{real[0]['rows'][0]:,} train and {real[0]['rows'][1]:,} test rows.\n\n" if real else ""
    header = ["", "C2ST AUC", TITLES[useful], "nearer", "copies %", "CPU s", "peak MB"]
    return rows + table(header, lines)


def title_of(generator: str) -> str:
    """What a generator is called."""
    return {"real": "real train rows", "cuts": "**cuts**"}.get(generator) or PEERS[generator].title


def _line(generator: str, found: Sequence[dict[str, Any]], useful: str) -> list[str]:
    done = [run for run in found if "measures" in run]
    title = title_of(generator) + (f" ({len(done)} fits)" if len(done) > 1 else "")
    if not done:
        reason = found[0]["failed"].splitlines()[-1][:80]
        return [title, f"failed: {reason}", "", "", "", f"{found[0]['cpu_seconds']:.0f}", ""]
    measures = [run["measures"] for run in done]
    cells = [
        _mean([each["c2st"] for each in measures], 3),
        _mean([each[useful] for each in measures], 4),
        _mean([each["nearer"] for each in measures], 3),
        _mean([100 * each["copies"] for each in measures], 1),
    ]
    if generator == "real":
        return [title, *cells, "", ""]
    cost = [_mean([run[name] for run in done], 0) for name in ("cpu_seconds", "generator_peak_mb")]
    return [title, *cells, *cost]


def _mean(values: Sequence[float | None], digits: int) -> str:
    known = [value for value in values if value is not None]
    if not known:
        return "–"
    std = f" ± {np.std(known):.{digits}f}" if len(known) > 1 and digits else ""
    return f"{np.mean(known):.{digits}f}{std}"
