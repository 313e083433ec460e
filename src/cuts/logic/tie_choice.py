"""Which columns to tie: those that row rules compare, unless another command of the program needs them as they are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import assert_never

from cuts.data.columns import Integer, Temporal
from cuts.data.schema import Schema
from cuts.data.ties import Sign, Tie, can_tie, make_tie, units_in
from cuts.lang.spec import (
    Bound,
    ColumnValue,
    Linear,
    LinearCompare,
    ModelAim,
    ModelGoal,
    Pred,
    Privacy,
    RowRule,
    Spec,
    TableAim,
    TableGoal,
)
from cuts.lang.targets import target_values
from cuts.lang.walks import columns_of, statistics_of
from cuts.logic.core import comparisons
from cuts.logic.ties import substitute_statistic
from cuts.vocab.names import statistics

MAX_CHAIN = 2  # ties that a column is computed through


def rule_ties(specs: Iterable[Spec], schema: Schema) -> tuple[Tie, ...]:
    """The ties that the row rules of some programs ask for: each compares two columns with each other.

    A column that a statistic is about by itself is not tied, so that its own bins decide that command.
    """
    commands = [command for spec in specs for command in spec.commands]
    if any(isinstance(command, Privacy) for command in commands):
        return ()
    # Statistics of `c - b` become those of one column only once both `b` and `c` are tied, in this order.
    together = _ties(commands, schema, each_serves=False)
    return together if serves_statistics(together, commands, schema) else _ties(commands, schema, each_serves=True)


def _ties(commands: Sequence[Bound], schema: Schema, *, each_serves: bool) -> tuple[Tie, ...]:
    """The ties of all rules, in order; with `each_serves` every one must serve the statistics with those before it."""
    ties: list[Tie] = []
    for pred in (command.pred for command in commands if isinstance(command, RowRule)):
        for leaf in comparisons(pred):
            tie = _tie_for(leaf, commands, ties, schema, each_serves)
            if tie is not None:
                ties.append(tie)
    return tuple(ties)


def asked_columns(commands: Iterable[Bound]) -> frozenset[str]:
    """The columns that commands other than row rules are about, the features of classifiers left out."""
    names: set[str] = set()
    for command in commands:
        match command:
            case TableGoal(goal):
                names |= columns_of(goal)
            case TableAim(_, value):
                names |= columns_of(value)
            case ModelGoal(measure) | ModelAim(_, measure):
                names |= {measure.target, *measure.protected}
            case RowRule() | Privacy():
                pass
            case _:
                assert_never(command)
    return frozenset(names)


def serves_features(tie: Tie, commands: Iterable[Bound]) -> bool:
    """Whether classifiers that see the tied column also see its anchor: then they learn as much from the difference."""
    features = [command.measure.features for command in commands if isinstance(command, ModelGoal | ModelAim)]
    return all(tie.column not in names or tie.anchor in names for names in features)


def serves_statistics(ties: Sequence[Tie], commands: Iterable[Bound], schema: Schema) -> bool:
    """Whether statistics are about no more columns once tied ones are sums, as those of a difference are."""
    for command in commands:
        if isinstance(command, TableGoal | TableAim):
            for stat in (each for value in target_values(command, schema) for each in statistics_of(value)):
                inner = substitute_statistic(stat, schema, ties)
                of_columns = statistics()[stat.name].argument == "column"
                named = {arg.column for arg in stat.args if isinstance(arg, ColumnValue)} if of_columns else set()
                if named & {tie.column for tie in ties} or len(columns_of(inner)) > len(columns_of(stat)):
                    return False
    return True


def keeps_exact(preds: Iterable[Pred], tie: Tie, schema: Schema) -> bool:
    """Whether predicates hold on the same rows once the tied column is a sum, in float64 arithmetic too.

    Whole numbers add up exactly. With decimals a comparison of the column alone stays exact, and one of the difference
    with zero.
    """
    leaves = [leaf for pred in preds for leaf in comparisons(pred) if tie.column in leaf.form.columns]
    return all(_stays_exact(leaf, tie, schema) for leaf in leaves)


def _stays_exact(leaf: LinearCompare, tie: Tie, schema: Schema) -> bool:
    if len(leaf.form.terms) == 1:
        return True
    columns = [schema[name] for name in leaf.form.columns]
    if all(isinstance(c, Integer | Temporal) and c.per_unit == 1 for c in columns):
        return all(value == int(value) for _, value in leaf.form.terms)
    is_pair = set(leaf.form.columns) == {tie.column, tie.anchor} and _sign(leaf.form, tie.column, tie.scale) == 1
    return is_pair and tie.sign == 1 and leaf.bound == 0


def _tie_for(
    leaf: LinearCompare, commands: Sequence[Bound], ties: Sequence[Tie], schema: Schema, each_serves: bool
) -> Tie | None:
    """The tie of a comparison of two columns: the one compared alone less often is computed; if equal, the later."""
    if len(leaf.form.terms) != 2:
        return None
    preds = [command.pred for command in commands if isinstance(command, RowRule)]
    used = {name for tie in ties for name in (tie.column, tie.anchor)}
    best: tuple[int, int, Tie] | None = None
    for name, other in (leaf.form.columns, leaf.form.columns[::-1]):
        possible = can_tie(schema[name], schema[other], schema)
        if not possible or name in used or _depth(other, ties) >= MAX_CHAIN:
            continue
        sign = _sign(leaf.form, name, units_in(schema.number(name), schema.number(other)))
        if sign is None:
            continue
        tie = make_tie(name, other, sign, schema)
        alone = sum(each.form.columns == (name,) for pred in preds for each in comparisons(pred))
        rank = (-alone, schema.names.index(name), tie)
        serves = serves_features(tie, commands)
        if serves and each_serves:
            serves = serves_statistics([*ties, tie], commands, schema)
        if serves and keeps_exact(preds, tie, schema) and (best is None or rank[:2] > best[:2]):
            best = rank
    return None if best is None else best[2]


def _sign(form: Linear, name: str, scale: int) -> Sign | None:
    """1 for a difference of a column and another one times `scale`, -1 for their sum, None for any other sum."""
    terms = dict(form.terms)
    own = terms.pop(name, 0.0)
    (other,) = terms.values() if len(terms) == 1 else (0.0,)
    return 1 if other == -scale * own else -1 if other == scale * own else None


def _depth(name: str, ties: Sequence[Tie]) -> int:
    """How many ties a column is computed through."""
    anchor = next((tie.anchor for tie in ties if tie.column == name), None)
    return 0 if anchor is None else 1 + _depth(anchor, ties)
