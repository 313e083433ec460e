"""Text to `Program`; `lang/recover.py` explains what does not parse."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from functools import cache
from importlib.resources import files
from typing import Any

from lark import Lark, Token, Transformer, Tree, UnexpectedInput, v_args
from lark.exceptions import VisitError
from lark.tree import Meta

from cuts.lang import recover, syntax
from cuts.lang.keywords import terminals
from cuts.lang.pieces import pieces
from cuts.lang.syntax import MAX_NESTED, Program
from cuts.text.credentials import check_no_password
from cuts.text.diagnostic import CutsError, Diagnostic
from cuts.text.source import Source, Span
from cuts.vocab.names import canonical


def parse(text: str, name: str = "program.cuts") -> Program:
    """The program written in `text`; raises `CutsError` with every syntax error found.

    >>> parse("SYNTHESIZE: adult; ENFORCE: age > 35; END;").commands[0].action
    'ENFORCE'
    """
    return parse_source(Source(name, text))


def parse_source(source: Source) -> Program:
    """The program of a source, which is refused if it holds a password: models keep their program."""
    check_no_password(source.text)
    parts, after = pieces(source.text)
    try:
        program = _build("program", source.text, 0)
    except UnexpectedInput:
        raise CutsError(recover.explain(source, parts, _parse_part), source) from None
    except _Refused as refused:
        raise CutsError([refused.diagnostic], source) from None
    data, span, statements = program
    head, *middle, tail = parts
    dressed = tuple(_with_trivia(statement, part.trivia) for statement, part in zip(statements, middle, strict=True))
    return Program(data, dressed, source, span, head.trivia, tail.trivia, after)


def parse_expression(text: str, name: str = "expression") -> syntax.Expr:
    """One expression alone, as `--where` takes it.

    >>> parse_expression("age > 60").ops
    ('>',)
    """
    source = Source(name, text)
    lead = "ENFORCE: "
    try:
        command = _build("statement", lead + text, -len(lead))
    except UnexpectedInput as error:
        raise CutsError([recover.unexpected(error, lead + text, -len(lead))], source) from None
    except _Refused as refused:
        raise CutsError([refused.diagnostic], source) from None
    plain = syntax.Command("ENFORCE", command.body) if isinstance(command, syntax.Command) else None
    if plain is None or plain != command or isinstance(command.body, syntax.Settings):
        raise CutsError(
            [Diagnostic("syntax-error", "expected a single condition, without options", Span(0, 0))], source
        )
    return plain.body  # type: ignore[return-value]


class _Refused(Exception):
    """A node that cannot be made: the grammar allows it, the language does not."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        self.diagnostic = diagnostic


@cache
def _lark() -> Lark:
    grammar = files("cuts.lang").joinpath("grammar.lark").read_text(encoding="utf-8")
    return Lark(
        f"{grammar}\n{terminals()}\n", parser="lalr", propagate_positions=True, start=["program", "head", "statement"]
    )


def _build(start: str, text: str, offset: int) -> Any:
    tree = _lark().parse(text, start=start)
    _check_depth(tree, offset)
    try:
        return _Builder(offset).transform(tree)
    except VisitError as error:
        if isinstance(error.orig_exc, _Refused):
            raise error.orig_exc from None
        raise


def _check_depth(tree: Tree[Token], offset: int) -> None:
    """Refuse what would overrun the readings, which all walk the tree recursively."""
    stack = [(tree, 1)]
    while stack:
        node, depth = stack.pop()
        if depth > MAX_NESTED:
            start = max(0, node.meta.start_pos + offset)
            raise _Refused(
                Diagnostic(
                    "syntax-error",
                    f"the expression is nested more than {MAX_NESTED} levels deep",
                    Span(start, start),
                    "too deep",
                    "name parts of it with `LET`",
                )
            )
        stack.extend((child, depth + 1) for child in node.children if isinstance(child, Tree))


def _parse_part(start: str, text: str, offset: int) -> None:
    """Parse one statement for its errors only: raises `UnexpectedInput`, or `CutsError` with what was refused."""
    try:
        _build(start, text, offset)
    except _Refused as refused:
        raise CutsError([refused.diagnostic]) from None


def _with_trivia(statement: syntax.Statement, trivia: syntax.Trivia) -> syntax.Statement:
    return replace(statement, trivia=trivia)


@v_args(meta=True)
class _Builder(Transformer[Token, Any]):
    """Makes nodes; `offset` is where the parsed text stands in its source."""

    def __init__(self, offset: int) -> None:
        super().__init__()
        self._offset = offset

    def _at(self, meta: Meta) -> Span:
        start = max(0, meta.start_pos + self._offset)
        return Span(start, max(start, meta.end_pos + self._offset))

    def _of(self, token: Token) -> Span:
        start = (token.start_pos or 0) + self._offset
        return Span(max(0, start), max(0, start) + len(token))

    # --- the program

    def program(self, meta: Meta, parts: list[Any]) -> Any:
        (data, span), *statements = parts
        return data, span, tuple(statements)

    def head(self, meta: Meta, parts: list[Any]) -> Any:
        return parts[0]

    def source(self, meta: Meta, parts: list[Token]) -> tuple[str, Span]:
        (token,) = parts
        return (token[1:-1] if token.type == "STRING" else str(token)), self._of(token)

    def statement(self, meta: Meta, parts: list[Any]) -> syntax.Statement:
        return parts[0]  # type: ignore[no-any-return]

    def let(self, meta: Meta, parts: list[Any]) -> syntax.Let:
        name, expr = parts
        return syntax.Let(name, expr, span=self._at(meta))

    def command(self, meta: Meta, parts: list[Any]) -> syntax.Command:
        action, kind, weight, bodies, _, tolerance, *options = parts
        chosen = syntax.KIND_ALIASES[" ".join(kind.upper().split())] if kind is not None else None
        return syntax.Command(
            action=action.upper(),
            body=self._body(bodies, chosen, action.upper()),
            kind=chosen,
            weight=weight,
            tolerance=tolerance,
            options=tuple(o for o in options if o is not None),
            span=self._at(meta),
            kind_span=self._of(kind) if kind is not None else syntax.NOWHERE,
            action_span=self._of(action),
        )

    def body(self, meta: Meta, parts: list[syntax.Expr]) -> list[syntax.Expr]:
        return parts

    def _body(self, parts: list[syntax.Expr], kind: str | None, action: str) -> syntax.Expr | syntax.Settings:
        private = kind == "DIFFERENTIAL PRIVACY" or (kind is None and action == "ENSURE")
        if not private and len(parts) == 1:
            return parts[0]
        options = [_as_option(part) for part in parts]
        settings = tuple(o for o in options if o is not None)
        if len(settings) == len(parts):
            return syntax.Settings(settings, parts[0].span.until(parts[-1].span))
        if len(parts) == 1:
            return parts[0]
        culprit = parts[1] if not private else parts[options.index(None)]
        raise _Refused(
            Diagnostic(
                "syntax-error",
                "a command has one expression" if not private else "privacy settings have the form `NAME=value`",
                culprit.span,
                "a second expression" if not private else "not a setting",
                "join conditions with `AND`, or write a second command"
                if not private
                else "ENSURE: DIFFERENTIAL PRIVACY: EPSILON=1.0, DELTA=1e-9;",
            )
        )

    # --- logic

    def implies(self, meta: Meta, parts: list[Any]) -> syntax.Implies:
        left, right = parts
        return syntax.Implies(left, right, self._at(meta))

    def disjunction(self, meta: Meta, parts: list[Any]) -> syntax.Or:
        return syntax.Or(tuple(parts), self._at(meta))

    def conjunction(self, meta: Meta, parts: list[Any]) -> syntax.And:
        return syntax.And(tuple(parts), self._at(meta))

    def negation(self, meta: Meta, parts: list[Any]) -> syntax.Not:
        return syntax.Not(parts[-1], self._at(meta))

    def compare(self, meta: Meta, parts: list[Any]) -> syntax.Compare:
        ops = tuple("==" if op == "=" else str(op) for op in parts[1::2])
        return syntax.Compare(tuple(parts[0::2]), ops, self._at(meta))  # type: ignore[arg-type]

    def member(self, meta: Meta, parts: list[Any]) -> syntax.Member:
        item, negated, *values = parts
        return syntax.Member(item, tuple(values), negated is not None, self._at(meta))

    def between(self, meta: Meta, parts: list[Any]) -> syntax.Between:
        item, negated, low, high = parts
        return syntax.Between(item, low, high, negated is not None, self._at(meta))

    def is_null(self, meta: Meta, parts: list[Any]) -> syntax.IsNull:
        item, negated = parts
        return syntax.IsNull(item, negated is not None, self._at(meta))

    def group(self, meta: Meta, parts: list[syntax.Expr]) -> syntax.Expr:
        return parts[0]

    # --- numbers and values

    def arith(self, meta: Meta, parts: list[Any]) -> syntax.Arith:
        left, op, right = parts
        return syntax.Arith(str(op), left, right, self._at(meta))  # type: ignore[arg-type]

    def minus(self, meta: Meta, parts: list[Any]) -> syntax.Expr:
        inner = parts[1]
        if isinstance(inner, syntax.Number) and not inner.percent:
            spelling = "" if inner.value < 0 else f"-{inner.spelling}"
            return syntax.Number(-inner.value, span=self._at(meta), spelling=spelling)
        return syntax.Negate(inner, self._at(meta))

    def number(self, meta: Meta, parts: list[Token]) -> syntax.Number:
        text = str(parts[0])
        return syntax.Number(self._finite(parts[0], text), span=self._at(meta), spelling=text)

    def negative(self, meta: Meta, parts: list[Token]) -> syntax.Number:
        text = str(parts[1])
        return syntax.Number(-self._finite(parts[1], text), span=self._at(meta), spelling=f"-{text}")

    def percent(self, meta: Meta, parts: list[Token]) -> syntax.Number:
        digits = parts[0].rstrip("%").rstrip()
        self._finite(parts[0], digits)
        return syntax.Number(float(Decimal(digits) / 100), True, self._at(meta), f"{digits}%")

    def _finite(self, token: Token, text: str) -> float:
        value = float(text)
        if value in (float("inf"), float("-inf")):
            raise _Refused(
                Diagnostic(
                    "bad-number",
                    f"`{token}` is too large",
                    self._of(token),
                    "not a finite number",
                    "use a smaller number",
                )
            )
        return value

    def string(self, meta: Meta, parts: list[Token]) -> syntax.Text:
        return syntax.Text(parts[0][1:-1], self._at(meta))

    def placeholder(self, meta: Meta, parts: list[Token]) -> syntax.Placeholder:
        return syntax.Placeholder(parts[0][1:-1], self._at(meta))

    def name(self, meta: Meta, parts: list[Token]) -> syntax.Name:
        (token,) = parts
        quoted = token.type == "QUOTED"
        return syntax.Name(token[1:-1] if quoted else str(token), quoted, self._at(meta))

    # --- statistics and calls

    def stat(self, meta: Meta, parts: list[Any]) -> syntax.Stat:
        name, *args, given = parts
        return syntax.Stat(canonical(str(name)), (), tuple(args), given, self._at(meta))

    def level_stat(self, meta: Meta, parts: list[Any]) -> syntax.Stat:
        name, *rest, given = parts
        levels = tuple(part for part in rest if isinstance(part, _Arg))
        args = tuple(part for part in rest if not isinstance(part, _Arg))
        bad = next((level.value for level in levels if isinstance(level.value, syntax.Option)), None)
        if bad is not None:
            raise _Refused(
                Diagnostic(
                    "syntax-error", f"`{name}` takes numbers in parentheses", bad.span, "", f"e.g. `{name}(0.9)[...]`"
                )
            )
        plain = tuple(level.value for level in levels if not isinstance(level.value, syntax.Option))
        return syntax.Stat(canonical(str(name)), plain, args, given, self._at(meta))

    def call(self, meta: Meta, parts: list[Any]) -> syntax.Call:
        name, *args = parts
        values = [arg.value for arg in args if arg is not None]
        return syntax.Call(
            canonical(str(name)),
            tuple(v for v in values if not isinstance(v, syntax.Option)),
            tuple(v for v in values if isinstance(v, syntax.Option)),
            self._at(meta),
            spelling=str(name),
        )

    def arg(self, meta: Meta, parts: list[Any]) -> _Arg:
        return _Arg(parts[0])

    def option(self, meta: Meta, parts: list[Any]) -> syntax.Option:
        key, value = parts
        return syntax.Option(str(key).lower(), value, self._at(meta))

    def outcome(self, meta: Meta, parts: list[Token]) -> syntax.Option:
        key, raw = parts
        value = "".join(raw.lstrip("=").split())
        return syntax.Option(str(key).lower(), syntax.Text(value, self._of(raw)), self._at(meta))

    def list_of(self, meta: Meta, parts: list[Any]) -> syntax.ListOf:
        return syntax.ListOf(tuple(parts), self._at(meta))

    def shares(self, meta: Meta, parts: list[Any]) -> syntax.Shares:
        return syntax.Shares(tuple(parts), self._at(meta))

    def share(self, meta: Meta, parts: list[Any]) -> tuple[Any, Any]:
        key, amount = parts
        return (None if isinstance(key, Token) else key), amount


class _Arg:
    """An argument in parentheses, as opposed to one in brackets."""

    def __init__(self, value: syntax.Expr | syntax.Option) -> None:
        self.value = value


def _as_option(part: syntax.Expr) -> syntax.Option | None:
    match part:
        case syntax.Compare((syntax.Name(key), value), ("==",)) if isinstance(
            value, syntax.Number | syntax.Text | syntax.Name | syntax.Placeholder
        ):
            return syntax.Option(key.lower(), value, part.span)
        case _:
            return None
