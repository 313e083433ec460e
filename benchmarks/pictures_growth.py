"""Pictures of how a fit grows with rows and columns, drawn from the results of `tables/growth.py`."""

from __future__ import annotations

import math
from typing import Any

from benchmarks.records import Records
from benchmarks.tables.growth import all_stages, costs_of, total

MIN_SIZES = 2  # a line has at least two points
SMALLEST = 0.01  # CPU seconds; less is not shown


def growth(what: str, figure: Any, records: Records) -> bool:
    """The CPU seconds of every stage, and the memory, for a growing number of rows or columns."""
    costs = costs_of(f"growth-{what}", records)
    if len(costs) < MIN_SIZES:
        return False
    sizes = [cost["size"] for cost in costs]
    left, right = figure.subplots(1, 2)
    for stage in all_stages(costs):
        seconds = [cost["stages"].get(stage, math.nan) for cost in costs]
        left.plot(sizes, [each if each >= SMALLEST else math.nan for each in seconds], marker="o", label=stage)
    left.plot(sizes, [total(cost) for cost in costs], color="black", linestyle=":", label="total")
    right.plot(sizes, [cost["peak_mb"] for cost in costs], color="black", marker="o")
    left.set(ylabel="CPU seconds", yscale="log")
    right.set(ylabel="peak memory, MB", ylim=(0, 1.1 * max(cost["peak_mb"] for cost in costs)))
    for panel in (left, right):
        panel.set(xlabel=what, xscale="log")
        panel.set_xticks(sizes, [f"{size:,}" for size in sizes], rotation=30)
        panel.minorticks_off()
    figure.legend(frameon=False, loc="outside right center")
    return True
