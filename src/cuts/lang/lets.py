"""LET: shorthands replaced by what they stand for."""

from __future__ import annotations

from dataclasses import replace

from cuts.lang import syntax
from cuts.lang.rewrite import rewrite
from cuts.lang.scope import Scope
from cuts.lang.syntax import Command, Expr, Let, Name, Program
from cuts.text.diagnostic import Diagnostic


def expand_lets(program: Program, scope: Scope) -> tuple[Command, ...]:
    """The commands with every shorthand replaced; a shorthand may use others, in any order."""
    lets: dict[str, Let] = {}
    for let in program.lets:
        if let.name.text in lets or scope.columns(Name(let.name.text, True)):
            scope.add(name_collision(let, "an earlier LET" if let.name.text in lets else "a column"))
        else:
            lets[let.name.text] = let
    used: set[str] = set()
    reported: set[str] = set()

    def expanded(expr: Expr, inside: tuple[str, ...]) -> Expr:
        def put(node: object) -> object:
            if isinstance(node, syntax.Member):  # the values of a set are values, never shorthands
                return replace(node, item=rewrite(node.item, put))
            if isinstance(node, syntax.Option | syntax.Shares):
                return replace(node)
            if not isinstance(node, Name) or node.quoted or node.text not in lets:
                return node
            if node.text in inside:
                if node.text not in reported:
                    scope.add(circular_let(lets[node.text]))
                reported.update(inside)
                return syntax.Number(0.0, span=node.span)
            used.add(node.text)
            return expanded(lets[node.text].expr, (*inside, node.text))

        return rewrite(expr, put)  # type: ignore[no-any-return]

    commands = tuple(
        command if isinstance(command.body, syntax.Settings) else replace(command, body=expanded(command.body, ()))
        for command in program.commands
    )
    for name, let in lets.items():
        if name not in used:
            scope.add(unused_let(let))
    return commands


def name_collision(let: Let, taken_by: str) -> Diagnostic:
    """A shorthand whose name means something already."""
    return Diagnostic(
        "name-collision", f"`{let.name.text}` is already {taken_by}", let.name.span, "taken", "choose another name"
    )


def circular_let(let: Let) -> Diagnostic:
    """A shorthand that needs itself."""
    return Diagnostic("circular-let", f"`{let.name.text}` is defined by itself", let.span, "in a circle")


def unused_let(let: Let) -> Diagnostic:
    """A shorthand nobody uses."""
    return Diagnostic("unused-let", f"`{let.name.text}` is never used", let.name.span, "unused", severity="warning")
