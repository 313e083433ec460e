"""The order in which a diagram asks for variables: rules that share a variable close together."""

from __future__ import annotations

from collections.abc import Sequence

from cuts.logic.core import Formula, Variable, leaves


def order_variables(formulas: Sequence[Formula]) -> tuple[Variable, ...]:
    """A good order: begin where most rules meet, then always take the variable that closes most open rules.

    A rule is open while some of its variables are asked and others not; the diagram's width grows with the open rules.
    """
    scopes = [frozenset(leaf.variable for leaf in leaves(formula)) for formula in formulas]
    scopes = [scope for scope in scopes if scope]
    left = sorted({variable for scope in scopes for variable in scope}, key=str)
    placed: list[Variable] = []
    while left:
        chosen = min(left, key=lambda variable: _cost(variable, placed, scopes))
        placed.append(chosen)
        left.remove(chosen)
    return tuple(placed)


def _cost(variable: Variable, placed: list[Variable], scopes: list[frozenset[Variable]]) -> tuple[int, int, str]:
    """How many rules would be open after taking `variable` next; then prefer the one most rules are about."""
    asked = {*placed, variable}
    open_rules = sum(bool(scope & asked) and not scope <= asked for scope in scopes)
    return open_rules, -sum(variable in scope for scope in scopes), str(variable)
