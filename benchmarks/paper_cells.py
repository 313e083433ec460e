"""The paper's cells beside ours: what was printed, what was measured, and whether it is matched.

A cell is one program of the paper on one table of rows, with or without privacy. It is matched if the mean accuracy is
not below the printed one by more than the printed standard error (the standard deviation over 25 values, divided by 5)
or half a unit of the last printed digit, whichever is larger, and the same holds for every other figure of the cell:
total variation, the gap between groups, rows that satisfy the rules, statistics within their tolerance.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.records import Records

PAPER_VALUES = 25  # five fits of five samples
DIGIT = {"accuracy": 0.05, "gap": 0.005, "balanced_accuracy": 0.05}  # half of the last printed digit
WORDS = {"tv": "total variation", "balanced_accuracy": "balanced accuracy"}
STACKED = {"stacked-0": "free", "stacked-1": "parity"}  # programs that have another name alone
GAPS = {"odds": "odds_mean", "opportunity": "opportunity"}  # what the paper's figure is about; parity otherwise


@dataclass(frozen=True, slots=True)
class Printed:
    """A figure of the paper: mean, and standard deviation if there is one."""

    mean: float
    std: float | None = None

    def error(self, values: int) -> float:
        """The standard error of a mean of so many values; of one value, the standard deviation."""
        return 0.0 if self.std is None else self.std / sqrt(values)


@dataclass(frozen=True, slots=True)
class Measured:
    """What was measured of a program in one way: all values of each figure over fits and samples, and the cost."""

    fits: int
    draws: tuple[Mapping[str, Any], ...]
    cpu_seconds: float  # of one fit with its program and one sample, on average

    def values(self, figure: str) -> list[float]:
        """The figure of every sample that has it."""
        return [draw[figure] for draw in self.draws if draw.get(figure) is not None]

    def mean(self, figure: str) -> float | None:
        """Its mean."""
        values = self.values(figure)
        return float(np.mean(values)) if values else None

    def std(self, figure: str) -> float:
        """Its standard deviation over samples."""
        return float(np.std(self.values(figure)))


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell of the paper, and ours in the same setting if it was measured."""

    rows: str
    program: str
    is_private: bool
    printed: Mapping[str, Printed]
    ours: Measured | None

    @property
    def problems(self) -> list[str]:
        """In what ours is worse by more than a standard error, in words; empty if it is matched or not measured."""
        return [] if self.ours is None else list(_problems(self, self.ours, PAPER_VALUES))

    @property
    def is_far(self) -> bool:
        """Whether ours is worse by more than a whole printed standard deviation."""
        return self.ours is not None and any(_problems(self, self.ours, 1))

    @property
    def gap(self) -> str:
        """Which of our figures the paper's gap is compared with."""
        return GAPS.get(self.program, "parity")


def _problems(cell: Cell, ours: Measured, values: int) -> Iterator[str]:
    """What is worse by more than the standard error of a mean of so many values."""
    accuracy = cell.printed["accuracy"]
    short = accuracy.mean - (ours.mean("accuracy") or 0.0)
    if short > max(accuracy.error(values), DIGIT["accuracy"]):
        yield f"accuracy {short:.2f} lower"
    for figure, own in (("gap", cell.gap), ("tv", "tv"), ("balanced_accuracy", "balanced_accuracy")):
        printed, mean = cell.printed.get(figure), ours.mean(own)
        if printed is None or mean is None or (figure == "gap" and cell.program == "stacked-0"):  # no command about it
            continue
        if mean > printed.mean + max(printed.error(values), DIGIT.get(figure, 0.0)):
            yield f"{WORDS.get(figure, figure)} {mean:.3g} instead of {printed.mean:.3g}"
    if min(ours.values("satisfied"), default=100.0) < 100.0:
        yield "a row breaks a rule"
    if max(ours.values("off"), default=0.0) > 1.0:
        yield f"a statistic is {max(ours.values('off')):.1f} tolerances off in a sample"


def cells(records: Records, studies: Mapping[str, str]) -> list[Cell]:
    """All cells of the paper for tables of rows; `studies` has the file of results of each table."""
    found = []
    for rows, privacies in published().items():
        if rows not in studies:
            continue
        for privacy, programs in privacies.items():
            for name, figures in programs.items():
                way = "uniform" if privacy == "plain" else "private"
                ours = measured(records, studies[rows], rows, way, STACKED.get(name, name))
                found.append(Cell(rows, name, privacy == "private", printed(figures), ours))
    return found


def find_cell(records: Records, study: str, rows: str, program: str, *, is_private: bool) -> Cell | None:
    """The cell of a program, if the paper has it."""
    figures = published().get(rows, {}).get("private" if is_private else "plain", {}).get(program)
    if figures is None:
        return None
    way = "private" if is_private else "uniform"
    ours = measured(records, study, rows, way, STACKED.get(program, program))
    return Cell(rows, program, is_private, printed(figures), ours)


def printed(figures: Mapping[str, list[float]]) -> dict[str, Printed]:
    """The figures of a cell; of two accuracies of a row rule, the better one."""
    found = {name: Printed(*values) for name, values in figures.items()}
    if "rejection" in found:
        found["accuracy"] = max(found["rejection"], found["fine_tuning"], key=lambda each: each.mean)
    return found


def measured(records: Records, study: str, rows: str, way: str, program: str) -> Measured | None:
    """What was measured of a program in one way, over all fits."""
    prefix = f"{rows}/{way}/{program}/"
    found = [each for key, each in read(records, study).items() if key.startswith(prefix)]
    if not found:
        return None
    cost = [
        each.get("release_seconds", 0.0) + each["fit_seconds"] + each["program_seconds"]
        + float(np.mean([draw["draw_seconds"] for draw in each["draws"]]))
        for each in found
    ]  # fmt: skip
    return Measured(len(found), tuple(draw for each in found for draw in each["draws"]), float(np.mean(cost)))


@cache
def read(records: Records, study: str) -> dict[str, dict[str, Any]]:
    """The results of a study, read once."""
    return records.read(study)


@cache
def published() -> dict[str, Any]:
    """The figures that the paper prints."""
    return tomllib.loads((Path(__file__).parent / "published.toml").read_text())
