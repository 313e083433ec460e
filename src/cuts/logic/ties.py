"""Predicates and statistics of tied columns, as those of what is modelled in their place.

A tied column is a sum of its anchor and a hidden column (`data/ties.py`), and that sum takes its place in every
comparison: `a <= b` becomes `b - a >= 0`, a comparison of one hidden column, which bins decide. The values of columns
on a lattice make both forms hold on exactly the same rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import reduce
from math import prod
from typing import assert_never

from cuts.data.codec import Codec, NumericBins
from cuts.data.schema import Schema
from cuts.data.ties import Tie, coordinates
from cuts.lang.spec import (
    And,
    Apply,
    ColumnValue,
    Const,
    Implies,
    InSet,
    Linear,
    LinearCompare,
    Missing,
    Not,
    Or,
    Pred,
    Quantity,
    Statistic,
    Truth,
)
from cuts.lang.sums import FLIPPED, on_lattice, sum_lattice
from cuts.lang.walks import columns_of
from cuts.logic.core import comparisons

MAX_COMBINED = 200_000  # combinations of bins that the range of a computed column may link


def substitute(pred: Pred, schema: Schema, ties: Sequence[Tie]) -> Pred:
    """The predicate about what is modelled of a schema with ties: it holds on the same rows."""
    return _substituted(pred, ties, coordinates(schema, ties)) if ties else pred


def substitute_statistic(stat: Statistic, schema: Schema, ties: Sequence[Tie]) -> Statistic:
    """The statistic about what is modelled of a schema with ties: `E[b - a]` is the mean of one hidden column."""
    if not any(tie.column in columns_of(stat) for tie in ties):
        return stat
    args = tuple(
        _quantity(arg, schema, ties)
        if isinstance(arg, Const | ColumnValue | Apply | Statistic)
        else substitute(arg, schema, ties)
        for arg in stat.args
    )
    return replace(stat, args=args, given=None if stat.given is None else substitute(stat.given, schema, ties))


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
    terms = _expanded(terms, ties)
    kept = tuple((name, terms[name]) for name in inner.names if terms.get(name))
    if len(kept) == 1:
        ((name, factor),) = kept
        return LinearCompare(Linear(((name, 1.0),)), pred.op if factor > 0 else FLIPPED[pred.op], pred.bound / factor)
    compared = LinearCompare(Linear(kept), pred.op, pred.bound)
    per_unit = sum_lattice(compared.form, inner)
    return compared if per_unit is None else on_lattice(compared, per_unit)


def _quantity(quantity: Quantity, schema: Schema, ties: Sequence[Tie]) -> Quantity:
    """A quantity about modelled columns; a sum of columns stays a sum, without those that cancel out."""
    terms = _linear(quantity)
    if terms is not None:
        return _written(_expanded(terms, ties), coordinates(schema, ties))
    if isinstance(quantity, Apply):
        return replace(quantity, args=tuple(_quantity(arg, schema, ties) for arg in quantity.args))
    return quantity


def _linear(quantity: Quantity) -> dict[str, float] | None:
    """The coefficients of the columns in a sum without constants, or None for any other quantity."""
    match quantity:
        case ColumnValue(column):
            return {column: 1.0}
        case Apply("+" | "-" as sign, (left, right)):
            one, other = _linear(left), _linear(right)
            if one is None or other is None:
                return None
            factor = 1.0 if sign == "+" else -1.0
            return {name: one.get(name, 0.0) + factor * other.get(name, 0.0) for name in {**one, **other}}
        case Apply("*", (Const(by), inner)):
            terms = _linear(inner)
            return None if terms is None else {name: by * value for name, value in terms.items()}
        case _:
            return None


def _written(terms: Mapping[str, float], inner: Schema) -> Quantity:
    """A sum of columns as a quantity."""
    parts: list[Quantity] = [
        ColumnValue(name) if terms[name] == 1 else Apply("*", (Const(terms[name]), ColumnValue(name)))
        for name in inner.names
        if terms.get(name)
    ]
    return reduce(lambda left, right: Apply("+", (left, right)), parts) if parts else Const(0.0)


def _expanded(terms: Mapping[str, float], ties: Sequence[Tie]) -> dict[str, float]:
    """The coefficients of a sum with the parts of tied columns in their place."""
    expanded = dict(terms)
    for tie in reversed(ties):  # an anchor may be tied itself, by an earlier tie
        factor = expanded.pop(tie.column, 0.0)
        if factor:
            expanded[tie.hidden.name] = expanded.get(tie.hidden.name, 0.0) + factor
            expanded[tie.anchor] = expanded.get(tie.anchor, 0.0) + tie.factor * factor
    return expanded


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
