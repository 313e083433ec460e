"""Facts arranged for the page: which sections there are, and the rows of charts about classifiers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby
from math import isfinite

from cuts.assess.downstream import TrainedOn
from cuts.assess.fairness import Fairness
from cuts.report.charts.dots import Dot, Row
from cuts.report.facts import Classifiers, CommandFacts, Distribution, PanelLine, Report
from cuts.report.words import decimal, percent
from cuts.vocab.names import measures

MAX_DISTRIBUTIONS = 60  # charts; further columns are listed without one
SERIES: dict[TrainedOn, str] = {"train": "real", "synthetic": "synthetic"}
SCORES = {  # name, what is good
    "accuracy": ("Accuracy", "share of rows predicted correctly; 100 % is perfect"),
    "balanced_accuracy": ("Balanced accuracy", "mean over the classes; 50 % is guessing between two"),
    "auc": ("AUC", "0.5 is guessing, 1 is perfect"),
    "r2": ("R²", "0 explains nothing, 1 everything"),
    "mae": ("Mean absolute error", "in units of the column; smaller is better"),
}
_AS_PERCENT = ("accuracy", "balanced_accuracy")
_RANGE = re.compile(r"\s*(-?[\d.]+(?:e-?\d+)?)\s*\.\.\s*(-?[\d.]+(?:e-?\d+)?)\s*")
_TARGET = re.compile(r"\s*(?:==|<=|>=|<|>)?\s*(-?[\d.]+(?:e-?\d+)?)\s*")


@dataclass(frozen=True, slots=True)
class Section:
    """A section of the page: the anchor, which is also the name of its template, and the title."""

    id: str
    title: str
    number: int


@dataclass(frozen=True, slots=True)
class Panel:
    """The learners of one command, as lines and as rows of a chart."""

    line: int
    command: str
    lines: tuple[PanelLine, ...]
    rows: tuple[Row, ...]
    target: tuple[float, str] | None


@dataclass(frozen=True, slots=True)
class Comparison:
    """One number of all learners, trained on real and on synthetic rows."""

    name: str
    yardstick: str
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class ProgramLine:
    """A line of the program; `command` is the position of the command that starts in it, if one does."""

    number: int
    text: str
    command: int | None


def sections(report: Report) -> tuple[Section, ...]:
    """The sections that have something to say, numbered."""
    found = [
        ("verdicts", "Verdicts", True),
        ("likeness", "Is it like the real table?", report.likeness is not None),
        ("classifiers", "Classifiers", report.classifiers is not None),
        ("memory", "Memory", report.memory is not None),
        ("privacy", "Privacy", report.privacy is not None),
        ("columns", "What each column became", bool(report.columns)),
        ("run", "Run facts", True),
        ("left-out", "Not in this report", bool(report.left_out)),
    ]
    present = [(id, title) for id, title, is_there in found if is_there]
    return tuple(Section(id, title, number) for number, (id, title) in enumerate(present, 1))


def by_difference(columns: Iterable[Distribution]) -> list[Distribution]:
    """The columns that differ most, beyond what two samples of real rows differ by, first."""
    return sorted(columns, key=lambda column: -column.excess)


def panels(classifiers: Classifiers, commands: Iterable[CommandFacts]) -> list[Panel]:
    """The panel of each command."""
    targets = {command.line: _target(command) for command in commands}
    found = []
    for line, group in groupby(classifiers.panel, key=lambda learner: learner.line):
        lines = tuple(group)
        rows = tuple(
            Row(one.learner, (Dot("synthetic", one.value.value, one.value.text, interval(one.interval)),))
            for one in lines
            if one.value.value is not None
        )
        found.append(Panel(line, lines[0].command, lines, rows, targets.get(line)))
    return found


def score_charts(classifiers: Classifiers) -> list[Comparison]:
    """One comparison per score."""
    names = [name for name in SCORES if any(name in score.measures for score in classifiers.scores)]
    found = []
    for name in names:
        of: dict[tuple[str, TrainedOn], float] = {
            (score.learner, score.trained_on): score.measures[name]
            for score in classifiers.scores
            if name in score.measures
        }
        found.append(Comparison(*SCORES[name], _compared(of, name)))
    return found


def fairness_charts(fairness: Fairness) -> list[Comparison]:
    """One comparison per protected column and measure."""
    found = []
    for protected in fairness.groups:
        learners = [gaps for gaps in fairness.learners if gaps.protected == protected]
        for name in dict.fromkeys(name for gaps in learners for name in gaps.gaps):
            of: dict[tuple[str, TrainedOn], float] = {
                (gaps.learner, gaps.trained_on): gaps.gaps[name] for gaps in learners if name in gaps.gaps
            }
            found.append(Comparison(f"{_heading(name)} gap by {protected}", "0 is equal, 1 the largest", _compared(of)))
    return found


def program_lines(report: Report) -> list[ProgramLine]:
    """The program line by line, with the commands that start in them."""
    first = {command.line: place for place, command in reversed(list(enumerate(report.commands, 1)))}
    lines = report.run.program.rstrip("\n").split("\n")
    return [ProgramLine(number, text, first.get(number)) for number, text in enumerate(lines, 1)]


def interval(words: str) -> tuple[float, float] | None:
    """The ends of an interval that is written as `low .. high`; None if it is written otherwise.

    >>> interval("0.00018 .. 0.012"), interval("-")
    ((0.00018, 0.012), None)
    """
    found = _RANGE.fullmatch(words)
    return (float(found[1]), float(found[2])) if found else None


def _target(command: CommandFacts) -> tuple[float, str] | None:
    words = command.numbers[0].target if command.numbers else ""
    found = _TARGET.fullmatch(words)
    return (float(found[1]), words) if found else None


def _compared(of: Mapping[tuple[str, TrainedOn], float], name: str = "") -> tuple[Row, ...]:
    learners = dict.fromkeys(learner for learner, _ in of)
    rows = []
    for learner in learners:
        values = [(SERIES[source], of.get((learner, source))) for source in SERIES]
        dots = tuple(Dot(series, v, _shown(v, name)) for series, v in values if v is not None and isfinite(v))
        rows.append(Row(learner, dots))
    return tuple(rows)


def _shown(value: float, name: str) -> str:
    return percent(value) if name in _AS_PERCENT else decimal(value)


def _heading(name: str) -> str:
    known = measures()
    return (known[name].heading if name in known else name.lower().replace("_", " ")).capitalize()


def kinds(report: Report) -> dict[str, str]:
    """The kind of each column, in words, by name."""
    return {column.name: column.kind for column in report.columns}
