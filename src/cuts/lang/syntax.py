"""The tree of a program, as written: a closed set of immutable nodes.

Names are not resolved here and nothing is typed; that is the binder's work. Two trees are equal when the programs
mean the same, whatever their layout.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from cuts.text import html
from cuts.text.source import Source, Span

Action = Literal["ENFORCE", "ENSURE", "MINIMIZE", "MAXIMIZE"]
Kind = Literal["DIFFERENTIAL PRIVACY", "ROW CONSTRAINT", "IMPLICATION", "STATISTICAL", "FAIRNESS", "UTILITY"]
CompareOp = Literal["==", "!=", "<", "<=", ">", ">="]
ArithOp = Literal["+", "-", "*", "/"]

ACTIONS: tuple[Action, ...] = ("ENFORCE", "ENSURE", "MINIMIZE", "MAXIMIZE")
KIND_ALIASES: dict[str, Kind] = {
    "DIFFERENTIAL PRIVACY": "DIFFERENTIAL PRIVACY",
    "ROW CONSTRAINT": "ROW CONSTRAINT",
    "LINE CONSTRAINT": "ROW CONSTRAINT",
    "IMPLICATION": "IMPLICATION",
    "STATISTICAL": "STATISTICAL",
    "FAIRNESS": "FAIRNESS",
    "BIAS": "FAIRNESS",
    "UTILITY": "UTILITY",
    "DOWNSTREAM": "UTILITY",
}

NOWHERE = Span(0, 0)
MAX_NESTED = 200  # levels of an expression: all readings walk it recursively


def _span() -> Span:
    return field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Number:
    """A number; `50%` is 0.5 with `percent`. `spelling` is what the program wrote, if it wrote it."""

    value: float
    percent: bool = False
    span: Span = _span()
    spelling: str = field(default="", compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Text:
    """A quoted string: a value, never a column."""

    value: str
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Name:
    """A bare word or, `quoted`, a name in backticks: a column, a value or a LET, whichever fits."""

    text: str
    quoted: bool = False
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Placeholder:
    """`<name>`: replaced by a value from outside before binding."""

    name: str
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Negate:
    """Minus something that is not a plain number."""

    inner: Expr
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Arith:
    """`left op right`."""

    op: ArithOp
    left: Expr
    right: Expr
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Compare:
    """A chain `a op b op c`: every neighbouring pair holds."""

    operands: tuple[Expr, ...]
    ops: tuple[CompareOp, ...]
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Member:
    """`item IN {values}`, or `NOT IN` when `negated`."""

    item: Expr
    values: tuple[Value, ...]
    negated: bool = False
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Between:
    """`item BETWEEN low AND high`, both ends included."""

    item: Expr
    low: Expr
    high: Expr
    negated: bool = False
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class IsNull:
    """`item IS NULL`, or `IS NOT NULL` when `negated`."""

    item: Expr
    negated: bool = False
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Not:
    """The opposite of `inner`."""

    inner: Expr
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class And:
    """All parts hold."""

    parts: tuple[Expr, ...]
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Or:
    """At least one part holds."""

    parts: tuple[Expr, ...]
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Implies:
    """Where `left` holds, `right` holds."""

    left: Expr
    right: Expr
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Stat:
    """`NAME(levels)[args | given]`: a statistic of the table."""

    name: str
    levels: tuple[Expr, ...]
    args: tuple[Expr, ...]
    given: Expr | None
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Shares:
    """`{White: 50%, *: proportional}`: a target distribution; the key `None` is `*`."""

    items: tuple[tuple[Value | None, Number | Placeholder | Name], ...]
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class ListOf:
    """`[a, b]`, as an option's value."""

    items: tuple[Value, ...]
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Option:
    """`key=value`."""

    key: str
    value: Value | ListOf
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Call:
    """`name(args, options)`: a measure of a classifier, or a function of numbers.

    `name` is the canonical one; `spelling` is what the program wrote.
    """

    name: str
    args: tuple[Expr, ...]
    options: tuple[Option, ...]
    span: Span = _span()
    spelling: str = field(default="", compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Settings:
    """`EPSILON=1, DELTA=1e-9`: the body of a privacy command."""

    options: tuple[Option, ...]
    span: Span = _span()


Value: TypeAlias = Number | Text | Name | Placeholder
Expr: TypeAlias = (
    Number
    | Text
    | Name
    | Placeholder
    | Negate
    | Arith
    | Compare
    | Member
    | Between
    | IsNull
    | Not
    | And
    | Or
    | Implies
    | Stat
    | Shares
    | Call
)


@dataclass(frozen=True, slots=True)
class Trivia:
    """What surrounds a statement without a meaning: comments above and beside it, a blank line before."""

    above: tuple[str, ...] = ()
    beside: str | None = None
    gap: bool = False


def _trivia() -> Trivia:
    return field(default=Trivia(), compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Let:
    """`LET name := expr`: a shorthand, expanded by the binder."""

    name: Name
    expr: Expr
    span: Span = _span()
    trivia: Trivia = _trivia()


@dataclass(frozen=True, slots=True)
class Command:
    """One statement about the table.

    `weight` (PARAM) and `tolerance` (WITHIN) may still be placeholders.
    """

    action: Action
    body: Expr | Settings
    kind: Kind | None = None
    weight: Number | Placeholder | None = None
    tolerance: Number | Text | Placeholder | None = None
    options: tuple[Option, ...] = ()
    span: Span = _span()
    kind_span: Span = _span()
    action_span: Span = _span()
    trivia: Trivia = _trivia()


Statement: TypeAlias = Let | Command


@dataclass(frozen=True, slots=True, repr=False)
class Program:
    """A parsed program: the data, and what must hold of the synthetic table."""

    data: str
    statements: tuple[Statement, ...]
    source: Source = field(default=Source("program", ""), compare=False, repr=False)
    data_span: Span = _span()
    head: Trivia = _trivia()
    tail: Trivia = _trivia()
    after: tuple[str, ...] = field(default=(), compare=False, repr=False)

    def __repr__(self) -> str:
        """The program in one line: its tree would fill the screen; `print` shows its text."""
        count = len(self.commands)
        return f"<Program: SYNTHESIZE {self.data}, {count} command{'' if count == 1 else 's'}>"

    def __str__(self) -> str:
        return self.source.text

    def _repr_html_(self) -> str:
        return html.preformatted(str(self))

    @property
    def commands(self) -> tuple[Command, ...]:
        """The commands, in the order written."""
        return tuple(s for s in self.statements if isinstance(s, Command))

    @property
    def lets(self) -> tuple[Let, ...]:
        """The shorthands, in the order written."""
        return tuple(s for s in self.statements if isinstance(s, Let))
