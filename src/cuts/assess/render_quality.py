"""The quality of a synthetic table as text and as JSON values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from math import isnan
from typing import Any

from cuts.assess.discriminator import MIN_FITTED_ROWS, Discriminator
from cuts.assess.distance import Distance, Marginals
from cuts.assess.downstream import Downstream
from cuts.assess.evaluate import Quality
from cuts.assess.fairness import Fairness
from cuts.assess.grid import BINS
from cuts.assess.leakage import Leakage
from cuts.assess.render import plain
from cuts.assess.support import MIN_GROUP_ROWS
from cuts.assess.table_arrays import Outside
from cuts.text.columns import align
from cuts.text.diagnostic import counted
from cuts.vocab.names import measures

MAX_COLUMNS_NAMED = 3  # of those furthest above the floor


def as_text(quality: Quality) -> str:
    """One short table per part, with a yardstick for its numbers."""
    rows = quality.rows
    blocks = [f"{counted(rows.synthetic, 'synthetic row')} against {rows.train:,} train and {rows.test:,} test rows"]
    blocks += ["\n".join(map(_outside, quality.outside))] if quality.outside else []
    if quality.marginals is not None:
        blocks.append(_marginals(quality.marginals, quality.target))
    if quality.downstream is not None:
        blocks.append(_downstream(quality.downstream))
    if quality.fairness is not None:
        blocks.append(_fairness(quality.fairness))
    if quality.leakage is not None:
        blocks.append(_leakage(quality.leakage, rows.train))
    if quality.discriminator is not None:
        blocks.append(_discriminator(quality.discriminator))
    return "\n\n".join([*blocks, "\n".join([*quality.notes, quality.stamp])])


def as_data(quality: Quality) -> dict[str, Any]:
    """All facts as JSON values; an undefined number is null."""
    return plain(asdict(quality))  # type: ignore[return-value]


def _outside(outside: Outside) -> str:
    counts = (
        (outside.beyond, "outside the range of the schema, clipped to it"),
        (outside.unknown, "not in the schema"),
        (outside.missing, "missing although the schema allows no missing values"),
    )
    problems = "; ".join(f"{counted(count, 'value')} {what}" for count, what in counts if count)
    return f"{outside.table} `{outside.column}`: {problems}"


def _marginals(marginals: Marginals, target: str | None) -> str:
    kind = "equal-width" if marginals.bins == "uniform" else "quantile"
    table = align(
        ["columns", "marginals", "distance", "floor", "per cell", "floor per cell"],
        [
            [
                f"{d.ways} with `{target}`" if d.with_target else str(d.ways),
                f"{d.marginals:,}",
                f"{d.distance:.4f}",
                f"{d.floor:.4f}",
                f"{d.paper:.2e}",
                f"{d.paper_floor:.2e}",
            ]
            for d in marginals.distances
        ],
        right=[1, 2, 3, 4, 5],
    )
    above = [column for column in marginals.columns if column.distance > column.floor]
    furthest = sorted(above, key=lambda c: c.floor - c.distance)[:MAX_COLUMNS_NAMED]
    named = ", ".join(f"`{c.column}` {c.distance:.4f} (floor {c.floor:.4f})" for c in furthest)
    about = f"total variation distance to the train rows, {BINS} {kind} bins; floor: the same for resampled train rows"
    lines = [f"Marginals: {about}", table]
    return "\n".join([*lines, *_parts_measured(marginals.distances), f"furthest above the floor: {named or 'none'}"])


def _parts_measured(distances: Sequence[Distance]) -> Iterator[str]:
    for d in distances:
        if d.marginals < d.possible:
            which = " with the target" if d.with_target else ""
            yield f"{d.marginals:,} of {d.possible:,} marginals of {d.ways} columns{which}, chosen at random"


def _downstream(downstream: Downstream) -> str:
    heads = {
        "accuracy": "accuracy",
        "balanced_accuracy": "balanced accuracy",
        "auc": "AUC",
        "r2": "R2",
        "mae": "mean absolute error",
    }
    names = list(downstream.scores[0].measures)
    table = align(
        ["learner", "trained on", *(heads[name] for name in names)],
        [[s.learner, s.trained_on, *_numbers(s.measures, names)] for s in downstream.scores],
        right=range(2, 2 + len(names)),
    )
    encoding = "raw numbers" if downstream.features == "raw" else f"numbers in {BINS} bins"
    return (
        f"Predicting `{downstream.target}`: scores on {counted(downstream.test_rows, 'test row')}, {encoding}\n{table}"
    )


def _numbers(measures: Mapping[str, float], names: Sequence[str]) -> list[str]:
    return [f"{measures[name]:.4g}" if name == "mae" else _three(measures[name]) for name in names]


def _fairness(fairness: Fairness) -> str:
    names = list(fairness.learners[0].gaps)
    table = align(
        ["protected", "learner", "trained on", *(measures()[name].heading for name in names)],
        [
            [gaps.protected, gaps.learner, gaps.trained_on, *(_three(gaps.gaps[n]) for n in names)]
            for gaps in fairness.learners
        ],
        right=range(3, 3 + len(names)),
    )
    lines = [f"Fairness: gaps between groups in predicting `{fairness.desired}` for the test rows; 0 is equal", table]
    for column, groups in fairness.groups.items():
        small = any(rows < MIN_GROUP_ROWS for rows in groups.values())
        sizes = ", ".join(f"{name} {rows:,}" for name, rows in groups.items())
        warning = f"; the rates of a group below {MIN_GROUP_ROWS} rows are imprecise" if small else ""
        lines.append(f"test rows by `{column}`: {sizes}{warning}")
    return "\n".join(lines)


def _leakage(leakage: Leakage, train_rows: int) -> str:
    near, copies, binned = leakage.nearness, leakage.copies, leakage.copies_on_bins
    table = align(
        ["", "train", "test"],
        [
            ["distance to the closest row, 5th percentile", _three(near.train_5th), _three(near.test_5th)],
            ["distance to the closest row, median", _three(near.train_median), _three(near.test_median)],
            ["exact copies", _percent(copies.train), _percent(copies.test)],
            ["copies after binning", _percent(binned.train), _percent(binned.test)],
        ],
        right=[1, 2],
    )
    lines = [
        "Leakage: synthetic rows compared with equally many train and test rows "
        f"({near.real_rows:,} for distances, {copies.real_rows:,} for copies)",
        table,
        f"closer to a train row: {_percent(near.nearer_to_train)}, standard error {_percent(near.standard_error)}; "
        f"50 % is ideal, a copy of the train table would have about {_percent(near.copy_would_give)}",
        f"exact copies of any of the {train_rows:,} train rows: {_percent(copies.all_train)}, "
        f"after binning {_percent(binned.all_train)}",
    ]
    return "\n".join(lines)


def _discriminator(discriminator: Discriminator) -> str:
    floor = discriminator.train_auc
    table = align(
        ["rows", "AUC", "standard error"],
        [
            ["synthetic", _three(discriminator.auc), _three(discriminator.standard_error)],
            *([] if floor is None else [["train (floor)", _three(floor), ""]]),
        ],
        right=[1, 2],
    )
    rows = f"{discriminator.rows:,} rows of a table from as many test rows"
    lines = [
        f"Discriminator: {discriminator.learner}, {discriminator.folds} folds, separates {rows}",
        table,
        "AUC 0.5 or less means indistinguishable, 1 means that every row is detected; floor: real against real rows",
    ]
    return "\n".join(lines)


def against_fitted(discriminator: Discriminator | None, *, commands: bool) -> str:
    """How near a table is to the rows its model was fitted to, in one line; with `commands` they move it as well."""
    if discriminator is None:
        return f"There are too few rows to train a discriminator ({MIN_FITTED_ROWS} of each table needed)."
    moved = "; the commands of the program also move the table away from them" if commands else ""
    return (
        f"A discriminator ({discriminator.learner}, {discriminator.folds} folds, "
        f"{discriminator.rows:,} rows of each table) separates synthetic from real rows with an AUC of "
        f"{discriminator.auc:.2f} (0.50 or less is indistinguishable, 1.00 means that every row is detected). "
        f"The real rows are those that the model was fitted to{moved}."
    )


def _three(value: float) -> str:
    return "-" if isnan(value) else f"{value:.3f}"


def _percent(share: float) -> str:
    """A share in percent; 100 and 0 only if it is exactly 1 or 0."""
    shown = f"{100 * share:.1f}"
    if shown == "100.0" and share < 1:
        return "> 99.9 %"
    if shown == "0.0" and share > 0:
        return "< 0.1 %"
    return f"{shown} %"
