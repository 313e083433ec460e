"""Laws of the checks: what is called contradictory, redundant or dead is so by plain enumeration of rows."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from cuts.data.conform import conform
from cuts.data.schema import Category, Integer, Schema
from cuts.data.table import Bools, Table
from cuts.lang.spec import Linear, LinearCompare, Origin, Pred, RowRule
from cuts.logic.core import build_grid
from cuts.logic.feasible import check_rules
from cuts.logic.theory import Stretch, fits
from cuts.read import exact
from cuts.text.source import Span
from strategies import predicates

SCHEMA = Schema(
    "t",
    (
        Category("a", ("x", "y", "z"), missing=True),
        Category("b", ("p", "q")),
        Integer("m", 0, 4, missing=True),
        Integer("n", 0, 4),
    ),
)


def all_rows() -> Table:
    cells = list(product(("x", "y", "z", None), ("p", "q"), (0, 1, 2, 3, 4, None), range(5)))
    columns = list(zip(*cells, strict=True))
    return Table(pa.table({column.name: pa.array(columns[i]) for i, column in enumerate(SCHEMA)}))


ROWS = conform(all_rows(), SCHEMA)


def rules_of(preds: list[Pred]) -> list[RowRule]:
    spans = [Span(10 * i, 10 * i + 5) for i in range(len(preds))]
    return [
        RowRule(pred, Origin(i + 1, i + 1, span, span, "", ""))
        for i, (pred, span) in enumerate(zip(preds, spans, strict=True))
    ]


def masks(preds: list[Pred]) -> list[Bools]:
    return [exact.mask(pred, ROWS) for pred in preds]


def together(held: list[Bools]) -> Bools:
    return np.logical_and.reduce([np.ones(ROWS.rows, dtype=np.bool_), *held])


@settings(max_examples=120, deadline=None)
@given(st.lists(predicates(SCHEMA, 4), min_size=1, max_size=4))
def test_findings_are_true_of_all_rows(preds: list[Pred]) -> None:
    found = check_rules(rules_of(preds), SCHEMA)
    held = masks(preds)
    contradictions = [d for d in found if d.code == "contradiction"]
    if contradictions:
        assert not together(held).any()
    for diagnostic in contradictions:
        places = {diagnostic.span, *(note.span for note in diagnostic.notes)}
        named = [i for i in range(len(preds)) if Span(10 * i, 10 * i + 5) in places]
        assert not together([held[i] for i in named]).any()
        for fewer in combinations(named, len(named) - 1):
            assert together([held[i] for i in fewer]).any(), "a smallest set has no contradictory subset"
    for diagnostic in found:
        if diagnostic.code == "redundant-command":
            assert diagnostic.span is not None
            number = diagnostic.span.start // 10
            because = [note.span.start // 10 for note in diagnostic.notes]
            assert (held[number] | ~together([held[i] for i in because])).all()


@settings(max_examples=120, deadline=None)
@given(st.lists(predicates(SCHEMA, 4), min_size=1, max_size=4))
def test_nothing_contradictory_is_missed_when_no_rule_adds_columns(preds: list[Pred]) -> None:
    if build_grid(preds, SCHEMA).sums:
        return
    found = check_rules(rules_of(preds), SCHEMA)
    assert any(d.code == "contradiction" for d in found) == (not together(masks(preds)).any())


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_numbers_that_exist_are_never_denied(data: st.DataObject) -> None:
    """Whole numbers inside all stretches are found; the elimination may only err the other way."""
    names = ["a", "b", "c"]
    point = {name: data.draw(st.integers(-5, 5)) for name in names}
    columns = {}
    for name in names:
        low = data.draw(st.integers(-6, point[name]))
        columns[name] = Stretch(low, data.draw(st.integers(point[name], 6)))
    sums = {}
    for _ in range(data.draw(st.integers(1, 4))):
        terms = tuple((name, float(data.draw(st.sampled_from([-2, -1, 1, 2])))) for name in names)
        total = sum(value * point[name] for name, value in terms)
        low = data.draw(st.integers(-40, int(total)))
        sums[Linear(terms)] = Stretch(low, total + data.draw(st.integers(1, 10)))
    assert fits(columns, sums)


def test_a_chain_of_comparisons_that_closes_a_circle_is_a_contradiction() -> None:
    schema = Schema("t", tuple(Integer(name, 0, 100) for name in ("start", "middle", "end")))

    def before(a: str, b: str, op: str = "<=") -> Pred:
        return LinearCompare(Linear(((a, 1.0), (b, -1.0))), op, 0.0)  # type: ignore[arg-type]

    circle = [before("start", "middle"), before("middle", "end"), before("start", "end", ">")]
    (found,) = check_rules(rules_of(circle), schema)
    assert found.code == "contradiction"
    assert len(found.notes) == 2
    loose = [*circle[:2], replace(circle[2], op=">=")]  # type: ignore[arg-type]
    assert not any(d.code == "contradiction" for d in check_rules(rules_of(loose), schema))
