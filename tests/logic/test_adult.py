"""The paper's rules on Adult: sizes, warnings, exact rates."""

from __future__ import annotations

import inspect
import random
import sys

import pytest

from cuts import datasets
from cuts.assess.verify import verify
from cuts.data.schema import Category, Schema
from cuts.lang.binder import bind
from cuts.lang.parser import parse
from cuts.lang.spec import And, Implies, InSet, Linear, LinearCompare, Or, Pred, Spec
from cuts.logic.cells import find_cells
from cuts.logic.core import build_grid
from cuts.logic.diagram import NO, Store, compile_rules
from cuts.logic.feasible import check_rules
from cuts.logic.formula import lower
from cuts.logic.solve import Solver
from cuts.text.diagnostic import CutsError
from reference import ADULT

RULES = [
    "marital_status == Widowed OR relationship == Wife IMPLIES sex == Female",
    "marital_status in {Divorced, Never_married} IMPLIES relationship not in {Husband, Wife}",
    "workclass in {Federal_gov, Local_gov, State_gov} "
    "IMPLIES education in {Bachelors, Some_college, Masters, Doctorate}",
    "sex == Female",
    "age > 35 AND age < 55",
]


def spec_of(rules: list[str]) -> Spec:
    return bind(parse("SYNTHESIZE: adult; " + " ".join(f"ENFORCE: {rule};" for rule in rules) + " END;"), ADULT)


def test_the_five_rules_together_are_six_nodes() -> None:
    preds = [rule.pred for rule in spec_of(RULES).rules]
    assert compile_rules(preds, build_grid(preds, ADULT)).size == 6


def test_the_paper_s_rates_on_the_train_split() -> None:
    dataset = datasets.find("adult")
    assert dataset is not None
    verdicts = verify(spec_of(RULES), datasets.load(dataset))
    rates = [v.rows.applicable_satisfied / v.rows.applicable for v in verdicts if v.rows is not None]
    assert [round(100 * rate, 1) for rate in rates] == [93.6, 100.0, 60.4, 32.4, 41.8]
    assert [v.holds for v in verdicts] == [False, True, False, False, False]


def test_only_the_women_make_the_first_rule_redundant() -> None:
    (found,) = check_rules(spec_of(RULES).rules, ADULT)
    assert found.code == "redundant-command"
    assert found.span == spec_of(RULES).rules[0].origin.body_span
    assert [note.span for note in found.notes] == [spec_of(RULES).rules[3].origin.body_span]


def test_a_contradiction_of_implications_leaves_a_category_dead() -> None:
    spec = spec_of(["sex == Male IMPLIES workclass != Private", "sex == Male IMPLIES workclass == Private"])
    (found,) = check_rules(spec.rules, ADULT)
    assert found.code == "dead-category"
    assert "`Male`" in found.title


def test_a_smallest_conflicting_set_is_named() -> None:
    spec = spec_of(
        [
            "age > 35",
            "race == White",
            "sex == Male",
            "sex == Male IMPLIES education != Masters",
            "age < 20 OR sex == Female",
            "education != 11th",
        ]
    )
    (found,) = check_rules(spec.rules, ADULT)
    assert found.code == "contradiction"
    assert found.exit_code == 3
    places = {found.span, *(note.span for note in found.notes)}
    assert places == {spec.rules[i].origin.body_span for i in (0, 2, 4)}


def random_implication(rng: random.Random) -> Pred:
    def leaf() -> Pred:
        column = rng.choice(ADULT.columns)
        if isinstance(column, Category):
            chosen = rng.sample(column.categories, rng.randint(1, len(column.categories) - 1))
            return InSet(column.name, frozenset(chosen))
        bound = float(rng.randint(column.low, column.high))  # type: ignore[arg-type]
        return LinearCompare(Linear(((column.name, 1.0),)), rng.choice(["<", "<=", ">", ">="]), bound)

    return Implies(And((leaf(), leaf())), Or((leaf(), leaf())))


def test_forty_random_implications_compile() -> None:
    rng = random.Random(7)
    rules = [random_implication(rng) for _ in range(40)]
    (part,) = compile_rules(rules, build_grid(rules, ADULT, coarse=True)).parts
    assert part.root != NO


def test_a_rule_over_more_columns_than_the_interpreter_s_stack_is_deep_compiles() -> None:
    count = 600
    schema = Schema("wide", tuple(Category(f"c{i}", ("a", "b")) for i in range(count)))
    some_a = Or(tuple(InSet(f"c{i}", frozenset({"a"})) for i in range(count)))
    grid = build_grid([some_a], schema, coarse=True)
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(len(inspect.stack()) + 200)
    try:
        store = Store([lower(some_a, grid), lower(InSet("c0", frozenset({"b"})), grid)], grid)
        both = store.conjunction()
        assert len(store.below(both)) == count
        assert store.opposite(store.opposite(both)) == both
        solver = Solver(store)
        assert solver.possible(store.roots)
        assert solver.excluded([*store.roots, store.opposite(both)])
        assert not solver.excluded([store.opposite(both)])
        cells = find_cells([], [some_a], [f"c{i}" for i in range(3)], schema, max_cells=100)
        assert cells is not None
        assert cells.count == 8
        assert sys.getrecursionlimit() < limit, "nobody raises it"
    finally:
        sys.setrecursionlimit(limit)


def test_rules_that_grow_too_large_are_refused_and_none_is_dropped() -> None:
    rng = random.Random(7)
    rules = [random_implication(rng) for _ in range(40)]
    with pytest.raises(CutsError, match="rules-too-large"):
        compile_rules(rules, build_grid(rules, ADULT, coarse=True), max_nodes=1_000)


def test_a_probability_of_1e_18_is_not_zero() -> None:
    import numpy as np

    from cuts.logic.chances import condition, draw, probability
    from cuts.model.picking import picker

    names = ["workclass", "education", "occupation"]
    rules: list[Pred] = [InSet(name, frozenset({ADULT[name].categories[0]})) for name in names]  # type: ignore[union-attr]
    grid = build_grid(rules, ADULT)
    diagram = compile_rules(rules, grid)
    dists = {}
    for name in names:
        p = np.full((1, grid.size(name)), (1 - 1e-6) / (grid.size(name) - 1))
        p[0, 0] = 1e-6
        dists[name] = p
    assert probability(diagram, dists)[0] == pytest.approx(1e-18)  # type: ignore[arg-type]
    given = condition(diagram, dists)  # type: ignore[arg-type]
    assert all(given[name][0, 0] == pytest.approx(1.0) for name in names)
    pick = picker("independent", np.random.default_rng(0))
    rows = draw(diagram, dists, np.zeros(100, dtype=np.int64), pick)  # type: ignore[arg-type]
    assert all((codes == 0).all() for codes in rows.values())
