"""Laws of the language: print and parse undo each other."""

from __future__ import annotations

from hypothesis import given, settings

from cuts.lang.parser import parse, parse_expression
from cuts.lang.printer import expression, render
from cuts.lang.syntax import Expr, Program
from strategies import expressions, programs


@settings(max_examples=200, deadline=None)
@given(expressions)
def test_an_expression_is_read_back_as_it_was_printed(expr: Expr) -> None:
    assert parse_expression(expression(expr)) == expr


@settings(max_examples=100, deadline=None)
@given(programs)
def test_a_program_is_read_back_as_it_was_printed_and_printing_is_stable(program: Program) -> None:
    text = render(program)
    assert parse(text) == program
    assert render(parse(text)) == text
