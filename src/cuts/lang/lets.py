"""LET: shorthands replaced by the expressions they stand for."""

from __future__ import annotations

from dataclasses import replace

from cuts.data.schema import Category
from cuts.lang import syntax
from cuts.lang.rewrite import depth, nodes, rewrite
from cuts.lang.scope import Scope
from cuts.lang.syntax import MAX_NESTED, Command, Expr, Let, Name, Program
from cuts.text.diagnostic import Diagnostic
from cuts.text.source import Span

MAX_REPLACEMENTS = 10_000  # shorthands of shorthands double quickly


def expand_lets(program: Program, scope: Scope) -> tuple[tuple[int, Command], ...]:
    """The commands, numbered from 1, with every shorthand replaced; a shorthand may use others, in any order.

    A command that cannot be expanded is left out after reporting why.
    """
    lets: dict[str, Let] = {}
    for let in program.lets:
        taken = _taken_by(let, lets, scope)
        if taken is None:
            lets[let.name.text] = let
        else:
            scope.add(name_collision(let, taken))
    graph = {name: _mentions(let.expr, lets) for name, let in lets.items()}
    below = {name: _reachable(names, graph) for name, names in graph.items()}
    circular = {name for name, names in below.items() if name in names}
    for name in sorted(circular):
        if not any(other < name and name in below[other] for other in below[name] & circular):
            scope.add(circular_let(lets[name]))
    expanded: list[tuple[int, Command]] = []
    used: set[str] = set(circular)
    for number, command in enumerate(program.commands, 1):
        names = _reachable(_mentions(command.body, lets), graph)
        used |= names
        body = None if names & circular else _expand(command.body, lets, scope)
        if body is not None:
            expanded.append((number, replace(command, body=body)))
    for name, let in lets.items():
        if name not in used:
            scope.add(unused_let(let))
    return tuple(expanded)


def _mentions(expr: Expr | syntax.Settings, lets: dict[str, Let]) -> set[str]:
    """The shorthands an expression names itself."""
    return {n.text for n in nodes(expr) if isinstance(n, Name) and n.text in lets}


def _reachable(names: set[str], graph: dict[str, set[str]]) -> set[str]:
    """The names and all that their definitions need."""
    reached: set[str] = set()
    stack = list(names)
    while stack:
        name = stack.pop()
        if name not in reached:
            reached.add(name)
            stack.extend(graph[name])
    return reached


def _expand(body: Expr | syntax.Settings, lets: dict[str, Let], scope: Scope) -> Expr | syntax.Settings | None:
    """The body without shorthands, or nothing after reporting that they grow too large."""
    replaced = 0

    def put(node: object) -> object:
        nonlocal replaced
        if isinstance(node, syntax.Member):  # the values of a set are values, never shorthands
            return replace(node, item=rewrite(node.item, put))
        if isinstance(node, syntax.Option | syntax.Shares):
            return replace(node)
        if not isinstance(node, Name) or node.text not in lets:
            return node
        replaced += 1
        if replaced > MAX_REPLACEMENTS:
            raise RecursionError
        return rewrite(lets[node.text].expr, put)

    try:
        expanded: Expr | syntax.Settings = rewrite(body, put)
    except RecursionError:
        expanded = body
        replaced = MAX_REPLACEMENTS + 1
    if replaced > MAX_REPLACEMENTS or depth(expanded) > MAX_NESTED:
        scope.add(too_large(body.span))
        return None
    return expanded


def _taken_by(let: Let, lets: dict[str, Let], scope: Scope) -> str | None:
    name = Name(let.name.text, True)
    if let.name.text in lets:
        return "defined by an earlier LET"
    if scope.columns(name):
        return "a column"
    owner = next((c.name for c in scope.schema if isinstance(c, Category) and scope.categories(c, name)), None)
    return None if owner is None else f"a value of `{owner}`"


def name_collision(let: Let, taken_by: str) -> Diagnostic:
    """A shorthand whose name means something already."""
    return Diagnostic(
        "name-collision", f"`{let.name.text}` is already {taken_by}", let.name.span, "taken", "choose another name"
    )


def circular_let(let: Let) -> Diagnostic:
    """A shorthand that needs itself."""
    return Diagnostic(
        "circular-let",
        f"`{let.name.text}` is defined in terms of itself",
        let.span,
        "circular",
        "define it by columns and numbers only",
    )


def too_large(span: Span) -> Diagnostic:
    """Shorthands of shorthands that grow beyond the limit."""
    return Diagnostic(
        "syntax-error",
        "this expression is too large once its shorthands are expanded",
        span,
        "too large",
        "split it into several commands",
    )


def unused_let(let: Let) -> Diagnostic:
    """A shorthand that is never used."""
    return Diagnostic(
        "unused-let", f"`{let.name.text}` is never used", let.name.span, "unused", "remove it", severity="warning"
    )
