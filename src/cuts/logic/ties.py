"""Predicates on tied columns, as predicates on what is modelled in their place.

A tied column is a sum of its anchor and a hidden column (`data/ties.py`), and that sum takes its place in every
comparison: `a <= b` becomes `b - a >= 0`, a comparison of one hidden column, which bins decide. The values of columns
on a lattice make both forms hold on exactly the same rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from math import prod
from typing import assert_never

from cuts.data.codec import Codec, NumericBins
from cuts.data.columns import Integer, Temporal
from cuts.data.schema import Schema
from cuts.data.ties import Sign, Tie, can_tie, coordinates, make_tie
from cuts.lang.spec import (
    And,
    Bound,
    Implies,
    InSet,
    Linear,
    LinearCompare,
    Missing,
    ModelAim,
    ModelGoal,
    Not,
    Or,
    Pred,
    Privacy,
    RowRule,
    Spec,
    TableAim,
    TableGoal,
    Truth,
)
from cuts.lang.sums import FLIPPED, on_lattice, sum_lattice
from cuts.lang.walks import columns_of
from cuts.logic.core import comparisons

MAX_COMBINED = 200_000  # combinations of bins that the range of a computed column may link
MAX_CHAIN = 2  # ties that a column is computed through


def substitute(pred: Pred, schema: Schema, ties: Sequence[Tie]) -> Pred:
    """The predicate about what is modelled of a schema with ties: it holds on the same rows."""
    return _substituted(pred, ties, coordinates(schema, ties)) if ties else pred


def range_rules(codec: Codec, preds: Iterable[Pred]) -> tuple[Pred, ...]:
    """Predicates that keep tied and computed columns in the ranges of the schema, beside others on modelled columns.

    Columns whose parts cannot leave their range need none. None is made for formulas that are not sums, nor where it
    would link so many columns that rows can no longer be drawn: then the formula counts, not the range.
    """
    forms = [leaf.form for pred in preds for leaf in comparisons(pred)]
    tied = [_within_range(tie.column, codec) for tie in codec.ties]
    rules = [pred for pred in tied if pred is not None]
    for name, _ in codec.schema.formulas:
        pred = _within_range(name, codec)
        if pred is not None:
            more = [*forms, *(leaf.form for rule in (*rules, pred) for leaf in comparisons(rule))]
            if _largest_group(more, codec) <= MAX_COMBINED:
                rules.append(pred)
    return tuple(rules)


def _largest_group(forms: Iterable[Linear], codec: Codec) -> float:
    """The largest number of combinations of bins of columns that sums link."""
    groups: list[set[str]] = []
    for form in forms:
        touching = [group for group in groups if group & set(form.columns)]
        groups = [group for group in groups if not group & set(form.columns)]
        groups.append(set(form.columns).union(*touching))
    return max((prod(float(codec[name].size) for name in group) for group in groups), default=1.0)


def rule_ties(specs: Iterable[Spec], schema: Schema) -> tuple[Tie, ...]:
    """The ties that the row rules of some programs ask for: each compares two columns with each other.

    A column that another kind of command is about is not tied, so that its own bins decide that command.
    """
    commands = [command for spec in specs for command in spec.commands]
    if any(isinstance(command, Privacy) for command in commands):
        return ()
    taken = asked_columns(commands)
    preds = [command.pred for command in commands if isinstance(command, RowRule)]
    ties: list[Tie] = []
    for pred in preds:
        for leaf in comparisons(pred):
            tie = _tie_for(leaf, preds, ties, taken, schema)
            if tie is not None and serves_features(tie, commands):
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
    """Whether classifiers that see the tied column also see its anchor: then the difference tells them as much."""
    features = [command.measure.features for command in commands if isinstance(command, ModelGoal | ModelAim)]
    return all(tie.column not in names or tie.anchor in names for names in features)


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
    is_pair = set(leaf.form.columns) == {tie.column, tie.anchor} and _sign(leaf.form) == 1
    return is_pair and tie.sign == 1 and leaf.bound == 0


# --- substitution


def _substituted(pred: Pred, ties: Sequence[Tie], inner: Schema) -> Pred:
    match pred:
        case Truth() | InSet():
            return pred
        case Missing(column):
            return Missing(next((tie.hidden.name for tie in ties if tie.column == column), column))
        case LinearCompare():
            return _sum_compared(pred, ties, inner)
        case Not(part):
            return Not(_substituted(part, ties, inner))
        case And(parts):
            return And(tuple(_substituted(part, ties, inner) for part in parts))
        case Or(parts):
            return Or(tuple(_substituted(part, ties, inner) for part in parts))
        case Implies(left, right):
            return Implies(_substituted(left, ties, inner), _substituted(right, ties, inner))
        case _:
            assert_never(pred)


def _sum_compared(pred: LinearCompare, ties: Sequence[Tie], inner: Schema) -> Pred:
    terms = dict(pred.form.terms)
    if not any(tie.column in terms for tie in ties):
        return pred
    for tie in reversed(ties):  # an anchor may be tied itself, by an earlier tie
        factor = terms.pop(tie.column, 0.0)
        if factor:
            terms[tie.hidden.name] = terms.get(tie.hidden.name, 0.0) + factor
            terms[tie.anchor] = terms.get(tie.anchor, 0.0) + tie.sign * factor
    kept = tuple((name, terms[name]) for name in inner.names if terms.get(name))
    if len(kept) == 1:
        ((name, factor),) = kept
        return LinearCompare(Linear(((name, 1.0),)), pred.op if factor > 0 else FLIPPED[pred.op], pred.bound / factor)
    compared = LinearCompare(Linear(kept), pred.op, pred.bound)
    per_unit = sum_lattice(compared.form, inner)
    return compared if per_unit is None else on_lattice(compared, per_unit)


def _within_range(name: str, codec: Codec) -> Pred | None:
    """The predicate that a tied or computed column is missing or in its range; None if nothing can leave it."""
    column = codec.schema.number(name)
    tie = next((tie for tie in codec.ties if tie.column == name), None)
    if tie is not None:
        whole: Linear | None = Linear(((name, 1.0),))
        constant, can_miss = 0.0, column.missing
    else:
        formula = codec.schema.sum_of(name)
        whole = None if formula is None else _form(formula[0], codec.schema)
        constant = 0.0 if formula is None else float(formula[1])
        can_miss = whole is not None and any(codec.schema.number(part).missing for part in whole.columns)
    if whole is None:
        return None
    limits = [(">=", column.low - constant), ("<=", column.high - constant)]
    inside = And(tuple(LinearCompare(whole, op, bound) for op, bound in limits))  # type: ignore[arg-type]
    parts = [name] if tie is not None else list(whole.columns)
    rule = substitute(Or((*map(Missing, parts), inside)) if can_miss else inside, codec.schema, codec.ties)
    forms = {leaf.form for leaf in comparisons(rule)}
    ends = [_ends(form, codec) for form in forms]
    return None if all(limits[0][1] <= low and high <= limits[1][1] for low, high in ends) else rule


def _form(terms: Mapping[str, Fraction], schema: Schema) -> Linear:
    return Linear(tuple((name, float(terms[name])) for name in schema.names if name in terms))


def _ends(form: Linear, codec: Codec) -> tuple[float, float]:
    """The lowest and the highest value of a sum that the bins can give."""
    low = high = 0.0
    for name, factor in form.terms:
        bins = codec[name]
        assert isinstance(bins, NumericBins)
        unit = bins.column.per_unit or 1
        ends = (factor * float(bins.contents.low.min()) / unit, factor * float(bins.contents.high.max()) / unit)
        low, high = low + min(ends), high + max(ends)
    return low, high


# --- ties that rules ask for


def _tie_for(
    leaf: LinearCompare, preds: Sequence[Pred], ties: Sequence[Tie], taken: frozenset[str], schema: Schema
) -> Tie | None:
    """The tie of a comparison of two columns: the one compared alone least often is computed, of equals the later."""
    sign = _sign(leaf.form)
    if sign is None:
        return None
    anchors, tied = {tie.anchor for tie in ties}, {tie.column for tie in ties}
    best: tuple[int, int, Tie] | None = None
    for name, other in (leaf.form.columns, leaf.form.columns[::-1]):
        possible = can_tie(schema[name], schema[other], schema)
        if not possible or name in taken | anchors | tied or _depth(other, ties) >= MAX_CHAIN:
            continue
        tie = make_tie(name, other, sign, schema)
        alone = sum(each.form.columns == (name,) for pred in preds for each in comparisons(pred))
        rank = (-alone, schema.names.index(name), tie)
        if keeps_exact(preds, tie, schema) and (best is None or rank[:2] > best[:2]):
            best = rank
    return None if best is None else best[2]


def _sign(form: Linear) -> Sign | None:
    """1 for a difference of two columns, -1 for their sum, None for any other sum."""
    if len(form.terms) != 2:
        return None
    (_, one), (_, other) = form.terms
    return 1 if one == -other else -1 if one == other else None


def _depth(name: str, ties: Sequence[Tie]) -> int:
    """How many ties a column is computed through."""
    anchor = next((tie.anchor for tie in ties if tie.column == name), None)
    return 0 if anchor is None else 1 + _depth(anchor, ties)
