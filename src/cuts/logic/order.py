"""The order in which a diagram asks for variables: a greedy one that keeps few rules open at a time."""

from __future__ import annotations

from collections.abc import Sequence

from cuts.logic.core import Variable
from cuts.logic.formula import Formula, leaves


def order_variables(formulas: Sequence[Formula]) -> tuple[Variable, ...]:
    """A good order: always take the variable that leaves the fewest rules open, of those the one in most rules.

    A rule is open while some of its variables have been asked and others not; the diagram gets wider with every open
    rule. Finding the best order is NP-hard (Bollig and Wegener, IEEE Trans. Computers, 1996), hence greedy.
    """
    scopes = [frozenset(leaf.variable for leaf in leaves(formula)) for formula in formulas]
    rules_of: dict[Variable, list[int]] = {}
    for number, scope in enumerate(scopes):
        for variable in sorted(scope, key=str):
            rules_of.setdefault(variable, []).append(number)
    to_ask = [len(scope) for scope in scopes]
    left = sorted(rules_of, key=str)
    placed: list[Variable] = []

    def cost(variable: Variable) -> tuple[int, int]:
        """How many more rules would be open after taking it; fewer first, then the variable of most rules."""
        opened = sum(to_ask[n] == len(scopes[n]) > 1 for n in rules_of[variable])
        closed = sum(to_ask[n] == 1 < len(scopes[n]) for n in rules_of[variable])
        return opened - closed, -len(rules_of[variable])

    while left:
        chosen = min(left, key=cost)
        placed.append(chosen)
        left.remove(chosen)
        for number in rules_of[chosen]:
            to_ask[number] -= 1
    return tuple(placed)
