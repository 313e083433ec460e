"""The pictures of the benchmarks' page, drawn from the results: SVG files that are the same for the same results."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import fidelity_page, peers_page
from benchmarks.fidelity_tables import NAMES
from benchmarks.paper_cells import measured, published
from benchmarks.pictures_growth import growth
from benchmarks.records import Records

OURS = "#0b6e4f"
THEIRS = {"cart": "#c0792a", "mostly": "#7a5195", "arf": "#4f81bd", "tvae": "#a0a0a0", "ctgan": "#666666"}
PAPER = "#b3202c"


def draw_all(records: Records, folder: Path) -> None:
    """Draw every picture that has results."""
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "cuts"  # the same names of elements in every run
    import matplotlib.pyplot as plt

    folder.mkdir(parents=True, exist_ok=True)
    for picture in PICTURES:
        figure = plt.figure(figsize=(8, 3.4), layout="constrained")
        if picture.draw(figure, records):
            figure.savefig(folder / picture.file, metadata={"Date": None})
        plt.close(figure)


def fairness(figure: Any, records: Records) -> bool:
    """The frontier of `cuts`, and one point per other generator, measured or as the paper prints it."""
    names = ("free", "parity-0.15", "parity-0.10", "parity-0.05", "parity-0.02", "parity")
    ours = [found for name in names if (found := measured(records, "adult", "adult", "uniform", name)) is not None]
    if len(ours) < 2:
        return False
    panel = figure.subplots()
    gaps, accuracies = [f.mean("parity") for f in ours], [f.mean("accuracy") for f in ours]
    errors = [f.std("accuracy") for f in ours]
    panel.errorbar(gaps, accuracies, yerr=errors, marker="o", color=OURS, label="cuts, bounds on the gap", capsize=2)
    for generator, runs in records.runs(peers_page.FILE, "fair").items():
        if done := [run["paper"] for run in runs if "paper" in run]:
            point = [np.mean([each[name] for each in done]) for name in ("parity", "accuracy")]
            panel.plot(*point, marker="s", linestyle="", label=f"{fidelity_page.title_of(generator)}, measured")
    printed = published()
    points = {"CuTS": printed["adult"]["plain"]["parity"], **printed["peers"]["adult"]["plain"]["parity"]}
    for name, values in points.items():
        panel.plot(values["gap"][0], values["accuracy"][0], marker="x", linestyle="", label=f"{name}, printed")
    panel.set(xlabel="parity gap of XGBoost on the test rows", ylabel="accuracy %", ylim=(78, 86.5))
    figure.legend(frameon=False, loc="outside right center")
    return True


def epsilon(figure: Any, records: Records) -> bool:
    """Accuracy and total variation along epsilon, with other generators at 1."""
    values = ("0.1", "0.3", "1", "3", "10")
    found = [(float(v), f) for v in values if (f := measured(records, "adult", "adult", f"epsilon-{v}", "free"))]
    if len(found) < 2:
        return False
    panels = figure.subplots(1, 2)
    printed = published()
    points = {"CuTS": printed["adult"]["private"]["free"], **printed["peers"]["adult"]["private"]["free"]}
    for panel, name, words in zip(panels, ("accuracy", "tv"), ("accuracy %", "total variation"), strict=True):
        panel.errorbar(
            [value for value, _ in found],
            [f.mean(name) for _, f in found],
            yerr=[f.std(name) for _, f in found],
            marker="o",
            color=OURS,
            label="cuts",
            capsize=2,
        )
        if plain := measured(records, "adult", "adult", "uniform", "free"):
            panel.axhline(plain.mean(name), color=OURS, linestyle=":", label="cuts, no privacy")
        for title, figures in points.items():
            panel.plot(1.0, figures[name][0], marker="x", linestyle="", label=f"{title}, printed")
        for generator, runs in records.runs(peers_page.FILE, "private").items():
            if done := [run["paper"][name] for run in runs if "paper" in run]:
                panel.plot(1.0, np.mean(done), marker="s", linestyle="", label=f"{fidelity_page.title_of(generator)}")
        panel.set(xlabel="epsilon", ylabel=words, xscale="log")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, frameon=False, loc="outside right center")
    return True


def fidelity(figure: Any, records: Records) -> bool:
    """One group of bars per table."""
    found = {name: records.runs(fidelity_page.FILE, name) for name in NAMES}
    names = [name for name, runs in found.items() if "cuts" in runs]
    if not names:
        return False
    panel = figure.subplots()
    generators = ("cuts", *THEIRS)
    width = 0.8 / len(generators)
    for place, generator in enumerate(generators):
        heights = [_c2st(found[name].get(generator, [])) for name in names]
        panel.bar(
            np.arange(len(names)) + (place - len(generators) / 2 + 0.5) * width,
            np.array(heights) - 0.5,
            width,
            bottom=0.5,
            color=THEIRS.get(generator, OURS),
            label=fidelity_page.title_of(generator).replace("*", ""),
        )
    panel.set_xticks(range(len(names)), names)
    panel.set(ylabel="AUC (0.5 is perfect)", ylim=(0.45, 1.0))
    figure.legend(frameon=False, loc="outside right center")
    return True


def _c2st(runs: list[dict[str, Any]]) -> float:
    known = [run["measures"]["c2st"] for run in runs if "measures" in run]
    return float(np.mean(known)) if known else float("nan")


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture of the page: its file, the group of tables it stands before, what it shows, and how it is drawn.

    `draw` says whether there were results to draw.
    """

    file: str
    group: str
    text: str
    draw: Callable[[Any, Records], bool]


PICTURES = (
    Picture("fairness.svg", "paper", "Accuracy against the parity gap on Adult: cuts and other generators", fairness),
    Picture("epsilon.svg", "paper", "Accuracy and total variation on Adult against epsilon", epsilon),
    Picture("fidelity.svg", "fidelity", "AUC of a discriminator of synthetic and real rows, per table", fidelity),
    Picture("growth-rows.svg", "speed", "CPU seconds by stage and memory against rows", partial(growth, "rows")),
    Picture(
        "growth-columns.svg", "speed", "CPU seconds by stage and memory against columns", partial(growth, "columns")
    ),
)
