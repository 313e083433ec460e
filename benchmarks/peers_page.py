"""The Markdown of the contests with other generators on Adult, beside the figures that the paper prints of some."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.markdown import NOT_YET, scientific, spread, table
from benchmarks.paper_cells import Measured, Printed, measured, published
from benchmarks.peers.environments import PEERS
from benchmarks.records import Records

FILE = "peers"
OWN = {"private": ("private", "free"), "fair": ("uniform", "parity")}  # the way and the program of ours


def page(name: str, records: Records) -> str:
    """One line per generator of a contest."""
    found = records.runs(FILE, name)
    if not found:
        return NOT_YET
    if name.startswith("rule-"):
        lines = [_rule_line(generator, made[0]) for generator, made in found.items()]
        return table(["", "rows returned", "satisfied %", "accuracy %", "CPU s", "peak MB"], lines)
    second = "total variation" if name == "private" else "parity gap"
    lines = [_line(name, generator, made) for generator, made in found.items()]
    way, program = OWN[name]
    ours = measured(records, "adult", "adult", way, program)
    if ours is not None:
        lines.insert(0, _own(name, ours))
    lines += _as_printed(name)
    return table(["Adult", "accuracy %", second, "CPU s", "peak MB"], lines)


def _title(generator: str) -> str:
    return "**cuts**" if generator == "cuts" else PEERS[generator].title


def _line(name: str, generator: str, found: Sequence[dict[str, Any]]) -> list[str]:
    done = [run["paper"] for run in found if "paper" in run]
    cost = [f"{np.mean([run[each] for run in found]):.0f}" for each in ("cpu_seconds", "generator_peak_mb")]
    if not done:
        return [_title(generator), f"failed: {found[0].get('failed', 'no rows').splitlines()[-1][:80]}", "", *cost]
    accuracy = [each["accuracy"] for each in done]
    second = [each["tv" if name == "private" else "parity"] for each in done]
    shown = scientific(float(np.mean(second))) if name == "private" else spread(np.mean(second), np.std(second), 3)
    title = _title(generator) + (f" ({len(done)} fits)" if len(done) > 1 else "")
    return [title, spread(np.mean(accuracy), np.std(accuracy)), shown, *cost]


def _own(name: str, ours: Measured) -> list[str]:
    shown = scientific(ours.mean("tv")) if name == "private" else spread(ours.mean("parity"), ours.std("parity"), 3)
    title = f"**cuts** ({ours.fits} fits, {len(ours.draws)} samples)"
    return [title, spread(ours.mean("accuracy"), ours.std("accuracy")), shown, f"{ours.cpu_seconds:.0f}", ""]


def _as_printed(name: str) -> list[list[str]]:
    """The generators of the paper's table that were not run here, with its figures."""
    peers = published()["peers"]["adult"]
    chosen = peers["private"]["free"] if name == "private" else peers["plain"]["parity"]
    lines = []
    for generator, figures in chosen.items():
        accuracy, second = Printed(*figures["accuracy"]), figures["tv" if name == "private" else "gap"][0]
        shown = scientific(second) if name == "private" else f"{second:.2f}"
        lines.append([f"{generator}, as the paper prints it", spread(accuracy.mean, accuracy.std, 1), shown, "", ""])
    return lines


def _rule_line(generator: str, run: dict[str, Any]) -> list[str]:
    cost = [f"{run['cpu_seconds']:.0f}", f"{run['generator_peak_mb']:.0f}" if "generator_peak_mb" in run else ""]
    if "failed" in run:
        return [_title(generator), "0", f"refused: {run['failed'].splitlines()[-1][:100]}", "", *cost]
    satisfied = "–" if run.get("satisfied") is None else f"{run['satisfied']:.2f}"
    accuracy = f"{run['paper']['accuracy']:.2f}" if "paper" in run else "–"
    return [_title(generator), f"{run['rows']:,} of 30,162", satisfied, accuracy, *cost]
