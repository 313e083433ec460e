"""The Markdown of the paper's tables: for every program the paper's figures, ours in its setting, and our default."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from benchmarks.markdown import NOT_YET, scientific, spread, table
from benchmarks.paper_cells import GAPS, Measured, Printed, find_cell, measured
from benchmarks.records import Records

if TYPE_CHECKING:
    from benchmarks.tables.paper import Kind

BELOW = "**below**"
NAMES = {
    "free": "no command",
    "all": "all five rules",
    "parity": "demographic parity",
    "odds": "equalized odds",
    "opportunity": "equality of opportunity",
    "hide": "`sex` unpredictable",
    "H": "`H[occupation]` maximised",
    "ten": "ten statistics, two rules",
    "stacked-2": "parity, S1",
    "stacked-3": "parity, S1, S2",
    "stacked-4": "parity, S1, S2, I3",
    "stacked-5": "parity, S1, S2, I3, I2",
}
SUPPLIED = (
    "The rows may not be passed on: get the files of the Heritage Health Prize, prepare them with "
    "`python -m benchmarks.health FILES DIR`, and run `make bench TABLE=health DATA=DIR`. The paper's figures:\n"
)


def kind_page(study: str, name: str, kind: Kind, records: Records) -> str:
    """One line per program, without privacy and, where the paper has it, under epsilon 1."""
    plain = [_line(study, name, kind.rows, program, records, is_private=False) for program in kind.programs]
    parts = [] if study != "health" else [SUPPLIED]
    parts.append(table(["program", "paper", "cuts, its setting", "", "cuts, default", "CPU s"], plain))
    if kind.private:
        private = [_line(study, name, kind.rows, program, records, is_private=True) for program in kind.private]
        parts.append(table(["program, epsilon 1", "paper", "cuts, its bins", "", "CPU s"], private))
    return "\n".join(parts)


def _line(study: str, kind: str, rows: str, program: str, records: Records, *, is_private: bool) -> list[str]:
    alias = {"free": "stacked-0", "parity": "stacked-1"}.get(program, program) if kind == "stacked" else program
    cell = find_cell(records, study, rows, alias, is_private=is_private)
    ours = measured(records, study, rows, "private" if is_private else "uniform", program)
    default = None if is_private else measured(records, study, rows, "default", program)
    paper = "" if cell is None else _printed(cell.printed, program, kind)
    mark = f"{BELOW}: {'; '.join(cell.problems)}" if cell and cell.problems else ""
    found = [NAMES.get(program, program), paper, _shown(ours, program, kind), mark]
    if is_private:
        return [*found, "" if ours is None else f"{ours.cpu_seconds:.0f}"]
    return [*found, _shown(default, program, kind), "" if ours is None else f"{ours.cpu_seconds:.0f}"]


def _printed(figures: Mapping[str, Printed], program: str, kind: str) -> str:
    accuracy = figures["accuracy"]
    text = spread(accuracy.mean, accuracy.std, 1)
    if "tv" in figures:
        text += f", TV {scientific(figures['tv'].mean)}"
    if "gap" in figures:
        text += f" at {figures['gap'].mean:.2f}"
    if "balanced_accuracy" in figures:
        text += f", balanced {figures['balanced_accuracy'].mean:.1f}"
    if "value" in figures:
        text += f", {figures['value'].mean:g}"
    return text


def _shown(found: Measured | None, program: str, kind: str) -> str:
    if found is None:
        return "–"
    text = spread(found.mean("accuracy"), found.std("accuracy"))
    if program == "free" and kind == "unconstrained":
        text += f", TV {scientific(found.mean('tv'))}"
    gap = GAPS.get(program, "parity" if kind in ("fairness", "stacked") or program.startswith("parity") else "")
    if gap:
        text += f" at {spread(found.mean(gap), found.std(gap), 3)}"
    if program == "odds":
        text += f" (larger gap {found.mean('odds'):.3f})"
    if found.values("balanced_accuracy"):
        text += f", balanced {found.mean('balanced_accuracy'):.1f}"
    if kind == "statistics" and found.values("values"):
        first = [values[0] for values in found.values("values")]
        text += f", {sum(first) / len(first):.3g}"
    return text


def frontier_page(records: Records) -> str:
    """Accuracy at every bound on the parity gap."""
    lines = []
    for name in ("free", "parity-0.15", "parity-0.10", "parity-0.05", "parity-0.02", "parity"):
        found = measured(records, "adult", "adult", "uniform", name)
        if found is not None:
            bound = {"free": "none", "parity": "as small as possible"}.get(name, name.removeprefix("parity-"))
            gap = spread(found.mean("parity"), found.std("parity"), 3)
            lines.append(
                [bound, spread(found.mean("accuracy"), found.std("accuracy")), gap, f"{found.cpu_seconds:.0f}"]
            )
    intro = "`ENFORCE: DEMOGRAPHIC_PARITY(protected=sex, target=salary) <= BOUND`, the paper's bins:\n\n"
    return intro + table(["bound", "accuracy %", "parity gap", "CPU s"], lines) if len(lines) > 2 else NOT_YET


def epsilon_page(records: Records) -> str:
    """Accuracy and distance of private tables for several values of epsilon."""
    lines = []
    for epsilon in ("0.1", "0.3", "1", "3", "10"):
        found = measured(records, "adult", "adult", f"epsilon-{epsilon}", "free")
        if found is not None:
            accuracy = spread(found.mean("accuracy"), found.std("accuracy"))
            lines.append([epsilon, accuracy, scientific(found.mean("tv")), f"{found.cpu_seconds:.0f}"])
    if not lines:
        return NOT_YET
    if (plain := measured(records, "adult", "adult", "uniform", "free")) is not None:
        accuracy = spread(plain.mean("accuracy"), plain.std("accuracy"))
        lines.append(["no privacy", accuracy, scientific(plain.mean("tv")), f"{plain.cpu_seconds:.0f}"])
    return table(["epsilon", "accuracy %", "total variation", "CPU s of release and fit"], lines)


def ways_page(study: str, rules: tuple[str, ...], records: Records) -> str:
    """Rules met by repair and by conditioning, and on Adult the model of tables beside the network's."""
    lines = []
    for rule in rules:
        both = [measured(records, study, study, "uniform", name) for name in (rule, f"{rule}-condition")]
        lines.append([rule, *("–" if f is None else spread(f.mean("accuracy"), f.std("accuracy")) for f in both)])
    text = table(["accuracy %", "repair (default)", "condition"], lines)
    network = [(name, measured(records, study, study, "neural", name)) for name in ("free", "I3", "S1")]
    if any(found for _, found in network):
        lines = []
        for name, found in network:
            own = measured(records, study, study, "uniform", name)
            cells = [
                f"{spread(f.mean('accuracy'), f.std('accuracy'))}, {f.cpu_seconds:.0f}" if f else "–"
                for f in (own, found)
            ]
            lines.append([NAMES.get(name, name), *cells])
        text += "\n" + table(["accuracy %, CPU s", "table (default)", 'network (`backbone = "neural"`)'], lines)
    return text
