"""A tree to its one canonical spelling: `parse(render(p)) == p`, and rendering twice changes nothing.

Layout, keywords and parentheses are canonical; a number keeps the digits in which it was written.
"""

from __future__ import annotations

import re
from decimal import Decimal
from math import isfinite
from typing import assert_never

from cuts.lang import syntax
from cuts.lang.keywords import RESERVED
from cuts.lang.syntax import Command, Expr, Let, Program, Settings, Trivia

WIDTH = 100
_INDENT = "    "
_BARE = re.compile(r"\w+")
_NUMBER_LIKE = re.compile(r"\d+(\.\d*)?(e[+-]?\d+)?", re.IGNORECASE)

# How tightly a node binds; an operand that binds less needs parentheses.
_IMPLIES, _OR, _AND, _NOT, _COMPARE, _SUM, _PRODUCT, _UNARY, _ATOM = range(9)


def render(program: Program) -> str:
    """The program's canonical text, comments kept."""
    lines = [*program.head.above, _beside(f"SYNTHESIZE: {_data(program.data)};", program.head), ""]
    for index, statement in enumerate(program.statements):
        if statement.trivia.gap and index > 0:
            lines.append("")
        lines += [_INDENT + comment for comment in statement.trivia.above]
        lines.append(_beside(_INDENT + f"\n{_INDENT}".join(_statement(statement)) + ";", statement.trivia))
    if program.statements:
        lines.append("")
    lines += [*program.tail.above, _beside("END;", program.tail), *program.after]
    return "\n".join(lines) + "\n"


def expression(expr: Expr | Settings) -> str:
    """The canonical text of an expression.

    >>> from cuts.lang.parser import parse_expression
    >>> expression(parse_expression("NOT(age>35 and sex=Male)"))
    'NOT (age > 35 AND sex == Male)'
    """
    if isinstance(expr, Settings):
        return ", ".join(f"{option.key.upper()}={_option_value(option.value)}" for option in expr.options)
    return _text(expr)[0]


def number(value: float) -> str:
    """The shortest spelling of a number that reads back as the same number.

    >>> number(30.0), number(0.0000075), number(1e-9)
    ('30', '0.0000075', '1e-9')
    """
    if value == int(value) and abs(value) < 1e15:
        return str(int(value))
    short = re.sub(r"e([+-])0?(\d)", lambda m: f"e{'-' if m[1] == '-' else ''}{m[2]}", repr(value))
    plain = f"{value:.12f}".rstrip("0")
    return plain if "e-" in short and float(plain) == value and len(plain) <= 12 and abs(value) >= 1e-7 else short


def short(value: float, digits: int = 6) -> str:
    """A number rounded to `digits` significant digits, for people.

    >>> short(1 / 3), short(1320.4, 3), short(float("inf"))
    ('0.333333', '1320', 'infinity')
    """
    if not isfinite(value):
        return "undefined" if value != value else "infinity" if value > 0 else "minus infinity"
    return number(float(f"{value:.{digits}g}"))


def name(text: str, *, quoted: bool = False) -> str:
    """A name as it must be written: bare where possible, otherwise in backticks.

    >>> name("marital-status"), name("age"), name("and")
    ('`marital-status`', 'age', '`and`')
    """
    plain = _BARE.fullmatch(text) and not _NUMBER_LIKE.fullmatch(text) and text.upper() not in RESERVED
    return text if plain and not quoted else f"`{text}`"


def value(text: str) -> str:
    """A category as it must be written: bare where possible, otherwise in quotes.

    >>> value("Male"), value(">50K")
    ('Male', '">50K"')
    """
    written = name(text)
    return written if written == text else _value(syntax.Text(text))


def code(text: str) -> str:
    """A piece of a program as messages show it: in backticks, unless it contains some itself.

    >>> code("age > 35"), code("`monthly-fee` > 0")
    ('`age > 35`', '`monthly-fee` > 0')
    """
    return text if "`" in text else f"`{text}`"


def command(node: Command) -> str:
    """The command on one line, without its `;`."""
    return " ".join(part.strip() for part in _statement(node, wide=True))


def _data(source: str) -> str:
    return source if re.fullmatch(r"\w+", source) else _value(syntax.Text(source))


def _beside(line: str, trivia: Trivia) -> str:
    return line if trivia.beside is None else f"{line}  {trivia.beside}"


def _statement(node: Let | Command, *, wide: bool = False) -> list[str]:
    """The lines of a statement; more than one only when one would be too long."""
    if isinstance(node, Let):
        return [f"LET {name(node.name.text, quoted=node.name.quoted)} := {expression(node.expr)}"]
    head = f"{node.action}: "
    if node.kind is not None:
        head += f"{node.kind}: "
    if node.weight is not None:
        head += f"PARAM {_option_value(node.weight)}: "
    tail = f" WITHIN {_option_value(node.tolerance)}" if node.tolerance is not None else ""
    if node.options:
        tail += " WITH " + ", ".join(_option(option) for option in node.options)
    whole = head + expression(node.body) + tail
    if wide or len(whole) + len(_INDENT) < WIDTH:
        return [whole]
    first, *rest = _broken(node.body)
    if not rest:
        return [whole]
    return [head + first, *(_INDENT + line for line in rest[:-1]), _INDENT + rest[-1] + tail]


def _broken(body: Expr | Settings) -> list[str]:
    match body:
        case syntax.Implies(left, right):
            return [_operand(left, _OR), f"IMPLIES {_operand(right, _OR)}"]
        case syntax.And(parts):
            first, *rest = (_operand(part, _NOT) for part in parts)
            return [first, *(f"AND {part}" for part in rest)]
        case syntax.Or(parts):
            first, *rest = (_operand(part, _AND) for part in parts)
            return [first, *(f"OR {part}" for part in rest)]
        case _:
            return [expression(body)]


def _operand(expr: Expr, precedence: int) -> str:
    text, binding = _text(expr)
    return text if binding >= precedence else f"({text})"


def _text(expr: Expr) -> tuple[str, int]:
    """The text of a node and how tightly it binds."""
    match expr:
        case syntax.Number() | syntax.Text() | syntax.Name() | syntax.Placeholder():
            negative = isinstance(expr, syntax.Number) and (expr.value < 0 or str(expr.value).startswith("-"))
            return _value(expr), _UNARY if negative else _ATOM
        case syntax.Negate(inner):
            return f"-{_operand(inner, _UNARY)}" if not _begins_minus(inner) else f"-({_text(inner)[0]})", _UNARY
        case syntax.Arith(op, left, right):
            level = _SUM if op in "+-" else _PRODUCT
            return f"{_operand(left, level)} {op} {_operand(right, level + 1)}", level
        case syntax.Compare(operands, ops):
            texts = [_operand(operand, _SUM) for operand in operands]
            return texts[0] + "".join(f" {op} {text}" for op, text in zip(ops, texts[1:], strict=True)), _COMPARE
        case syntax.Member(item, values, negated):
            inside = ", ".join(_value(value) for value in values)
            return f"{_operand(item, _SUM)} {'NOT IN' if negated else 'IN'} {{{inside}}}", _COMPARE
        case syntax.Between(item, low, high, negated):
            word = "NOT BETWEEN" if negated else "BETWEEN"
            return f"{_operand(item, _SUM)} {word} {_operand(low, _SUM)} AND {_operand(high, _SUM)}", _COMPARE
        case syntax.IsNull(item, negated):
            return f"{_operand(item, _SUM)} IS {'NOT ' if negated else ''}NULL", _COMPARE
        case syntax.Not(inner):
            return f"NOT {_operand(inner, _NOT if isinstance(inner, syntax.Not) else _ATOM)}", _NOT
        case syntax.And(parts):
            return " AND ".join(_operand(part, _NOT) for part in parts), _AND
        case syntax.Or(parts):
            return " OR ".join(_operand(part, _AND) for part in parts), _OR
        case syntax.Implies(left, right):
            return f"{_operand(left, _OR)} IMPLIES {_operand(right, _OR)}", _IMPLIES
        case syntax.Stat(stat, levels, args, given):
            inside = f"({', '.join(map(expression, levels))})" if levels else ""
            condition = f" | {expression(given)}" if given is not None else ""
            return f"{stat}{inside}[{', '.join(map(expression, args))}{condition}]", _ATOM
        case syntax.Shares(items):
            shares = (f"{'*' if key is None else _value(key)}: {_value(amount)}" for key, amount in items)
            return f"{{{', '.join(shares)}}}", _ATOM
        case syntax.Call(function, args, options):
            written = [*map(expression, args), *map(_option, options)]
            return f"{function}({', '.join(written)})", _ATOM
        case _:
            assert_never(expr)


def _begins_minus(expr: Expr) -> bool:
    return isinstance(expr, syntax.Number | syntax.Negate)  # `--` would start a comment


def _option(option: syntax.Option) -> str:
    return f"{option.key}={_option_value(option.value)}"


def _option_value(value: syntax.Value | syntax.ListOf) -> str:
    if isinstance(value, syntax.ListOf):
        return f"[{', '.join(_value(item) for item in value.items)}]"
    return _value(value)


def _value(value: syntax.Value) -> str:
    match value:
        case syntax.Number(amount, percent):
            return value.spelling or (f"{_percent(amount)}%" if percent else number(amount))
        case syntax.Text(text):
            return f"'{text}'" if '"' in text else f'"{text}"'
        case syntax.Name(text, quoted):
            return name(text, quoted=quoted)
        case syntax.Placeholder(text):
            return f"<{text}>"
        case _:
            assert_never(value)


def _percent(share: float) -> str:
    """The percentage in plain digits: `%` takes no exponent."""
    exact = Decimal(repr(share)) * 100
    return format(exact.normalize() if exact == exact.to_integral() else exact, "f")
