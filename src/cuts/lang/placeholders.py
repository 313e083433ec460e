"""Filling `<name>` placeholders from outside the program."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import isfinite

from cuts.lang import syntax
from cuts.lang.rewrite import rewrite
from cuts.lang.syntax import Placeholder, Program
from cuts.text.diagnostic import CutsError, Diagnostic, did_you_mean, listed


def fill(program: Program, values: Mapping[str, str | float]) -> Program:
    """The program with every placeholder replaced; raises when one stays open or a value fits none.

    >>> from cuts.lang.parser import parse
    >>> fill(parse("SYNTHESIZE: a; ENFORCE: age > <limit>; END;"), {"limit": 35}).commands[0].body.operands[1]
    Number(value=35.0, percent=False)
    """
    seen: list[Placeholder] = []

    def put(node: object) -> object:
        if not isinstance(node, Placeholder):
            return node
        seen.append(node)
        return _node(values[node.name], node) if node.name in values else node

    filled = replace(program, statements=rewrite(program.statements, put))
    names = {node.name for node in seen}
    problems = [open_placeholder(node) for node in seen if node.name not in values]
    problems += [unknown_placeholder(name, names) for name in values if name not in names]
    if problems:
        raise CutsError(problems, program.source)
    return filled


def open_placeholder(node: Placeholder) -> Diagnostic:
    """A placeholder without a value."""
    return Diagnostic(
        "open-placeholder",
        f"the placeholder `<{node.name}>` has no value",
        node.span,
        "no value given",
        f"pass `--set {node.name}=VALUE`",
    )


def unknown_placeholder(name: str, names: set[str]) -> Diagnostic:
    """A value that fits no placeholder."""
    known = f"the placeholders are {listed(sorted(names))}" if names else "the program has no placeholders"
    help = did_you_mean(name, names) or known
    return Diagnostic("unknown-placeholder", f"there is no placeholder `<{name}>` in the program", help=help)


def _node(value: str | float, at: Placeholder) -> syntax.Value:
    text = str(value).strip()
    try:
        amount = float(text.removesuffix("%"))
    except ValueError:
        return syntax.Text(str(value), at.span)
    if not isfinite(amount):
        return syntax.Text(str(value), at.span)
    percent = text.endswith("%")
    return syntax.Number(amount / 100 if percent else amount, percent, at.span)
