"""The numbers of TABLE commands: each has a key of its own, and what is known of it is found by that key."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cuts.assess.verify import verify
from cuts.data.schema import Category, Integer, Schema
from cuts.data.table import Table
from cuts.lang.binder import bind
from cuts.lang.comparisons import comparisons, comparisons_of
from cuts.lang.parser import parse
from cuts.lang.spec import Distribution, Key, Spec, TableAim, TableGoal
from cuts.lang.walks import shares_of

SCHEMA = Schema("t", (Integer("n", 0, 9), Category("c", ("a", "b", "*"))))
TABLE = Table(pa.table({"n": [0, 1, 2, 3, 8, 9], "c": ["a", "a", "b", "b", "a", "*"]}))
ATOMS = ["E[n] == 4", "1 <= E[n] <= 8", "E[n] NOT BETWEEN 2 AND 3", "DIST[c] == {a: 50%, *: proportional}", "H[c] >= 1"]


def bound(*commands: str) -> Spec:
    return bind(parse(f"SYNTHESIZE: t; {' '.join(commands)} END;"), SCHEMA)


@settings(max_examples=30)
@given(st.lists(st.lists(st.sampled_from(ATOMS), min_size=1, max_size=4), min_size=1, max_size=4), st.data())
def test_every_number_has_a_key_of_its_own(commands: list[list[str]], data: st.DataObject) -> None:
    word = data.draw(st.sampled_from([" AND ", " OR "]))
    spec = bound("MINIMIZE: E[n];", *(f"ENFORCE: {word.join(atoms)};" for atoms in commands), "ENFORCE: n >= 0;")
    keys = [comparison.key for comparison in comparisons(spec)]
    assert len(set(keys)) == len(keys)
    for command in spec.commands:
        if isinstance(command, TableGoal | TableAim):
            own = [comparison.key for comparison in comparisons_of(command)]
            assert own == [Key(command.origin.number, index) for index in range(len(own))]


@settings(max_examples=30)
@given(st.lists(st.sampled_from(ATOMS), min_size=2, max_size=4))
def test_the_numbers_of_a_model_reach_the_facts_they_belong_to(atoms: list[str]) -> None:
    spec = bound("ENFORCE: n >= 0;", f"ENFORCE: {' OR '.join(atoms)};", "MAXIMIZE: H[c];")
    model = {comparison.key: float(index) for index, comparison in enumerate(comparisons(spec)) if index % 2}
    _, goal, aim = verify(spec, TABLE, model=model, interval=False)
    for fact, comparison in zip((*goal.facts, *aim.facts), comparisons(spec), strict=True):
        assert fact.model == model.get(comparison.key)
        assert fact.statistic == comparison.text


def test_equal_comparisons_are_equal_wherever_they_stand() -> None:
    first, second = bound("ENFORCE: E[n] == 4;", "ENFORCE: 4 == E[n];").commands
    assert isinstance(first, TableGoal)
    assert isinstance(second, TableGoal)
    assert first.goal == second.goal


def test_the_share_of_all_other_values_is_not_that_of_a_value_called_so() -> None:
    (command,) = bound('ENFORCE: DIST[c] == {"*": 20%, *: proportional};').commands
    assert isinstance(command, TableGoal)
    assert isinstance(command.goal, Distribution)
    (_, named), (_, rest) = shares_of(command.goal)
    assert named.key != rest.key
    assert named.right != rest.right


def test_a_key_the_program_does_not_have_is_refused() -> None:
    with pytest.raises(ValueError, match="compares no numbers"):
        verify(bound("ENFORCE: E[n] == 4;"), TABLE, model={Key(2): 1.0})
