"""Programs written in Python: columns, operators and functions that build the same tree as the program text.

>>> from cuts.build import E, c, enforce, ensure_private, implies, minimize, program
>>> from cuts.build import demographic_parity
>>> fair = program(
...     "adult",
...     ensure_private(epsilon=1, delta=1e-9),
...     enforce(c.age.between(18, 90)),
...     enforce(implies(c.relationship == "Wife", c.sex == "Female")),
...     enforce(E(c.age, given=c.sex == "Male") == E(c.age, given=c.sex == "Female"), within=0.5),
...     minimize(demographic_parity(protected=c.sex, target=c.salary)),
... )
>>> print(fair)
SYNTHESIZE: adult;
<BLANKLINE>
    ENSURE: DIFFERENTIAL PRIVACY: EPSILON=1, DELTA=1e-9;
    ENFORCE: age BETWEEN 18 AND 90;
    ENFORCE: relationship == "Wife" IMPLIES sex == "Female";
    ENFORCE: E[age | sex == "Male"] == E[age | sex == "Female"] WITHIN 0.5;
    MINIMIZE: DEMOGRAPHIC_PARITY(protected=sex, target=salary);
<BLANKLINE>
END;
<BLANKLINE>

Everything that takes a program takes the result: `cuts.check(fair, schema)`, `cuts.run(fair, frame)`. A message refers
to a line of the text that `print(fair)` shows. Texts of commands can stand beside what is built, and `program` adds to
programs as well: `program(cuts.parse(text), c.age >= 18)`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import date, datetime, time, timedelta
from typing import Any, TypeAlias

from cuts.lang import syntax
from cuts.lang.parser import parse, parse_expression
from cuts.lang.printer import expression, name, number, render
from cuts.lang.syntax import Action, ArithOp, Command, CompareOp, Program

__all__ = [
    "CORR",
    "COUNT",
    "COV",
    "DIST",
    "MEDIAN",
    "MI",
    "STD",
    "VAR",
    "E",
    "Expression",
    "H",
    "P",
    "Q",
    "c",
    "command",
    "demographic_parity",
    "downstream_accuracy",
    "enforce",
    "ensure_private",
    "equality_of_opportunity",
    "equalized_odds",
    "expression_of",
    "function",
    "implies",
    "maximize",
    "measure",
    "minimize",
    "placeholder",
    "program",
    "statistic",
]

Cell: TypeAlias = str | bool | int | float | date | time | timedelta
Operand: TypeAlias = "Expression | Cell"
OptionValue: TypeAlias = "Expression | Cell | Iterable[Expression | Cell]"


class Expression:
    """A part of a program: a column, a condition, a statistic, a measure. Operators make larger ones.

    `& | ~` are AND, OR and NOT; `== != < <= > >=` and `+ - * /` are what they look like. Python binds `&` more tightly
    than comparisons, so conditions need parentheses: `(c.age > 18) & (c.sex == "Male")`.
    """

    __slots__ = ("node",)

    def __init__(self, node: syntax.Expr) -> None:
        self.node = node

    def __repr__(self) -> str:
        return expression(self.node)

    def __bool__(self) -> bool:
        raise TypeError(
            "a part of a program is neither true nor false; join conditions with `&`, `|` and `~`, "
            "and write `c.age.between(18, 65)` for `18 <= c.age <= 65`"
        )

    __hash__ = None  # type: ignore[assignment]  # `==` makes a condition

    def __eq__(self, other: object) -> Expression:  # type: ignore[override]
        if isinstance(other, Mapping):
            return Expression(syntax.Compare((self.node, _shares(other)), ("==",)))
        return self._compared("==", other)

    def __ne__(self, other: object) -> Expression:  # type: ignore[override]
        return self._compared("!=", other)

    def __lt__(self, other: Operand) -> Expression:
        return self._compared("<", other)

    def __le__(self, other: Operand) -> Expression:
        return self._compared("<=", other)

    def __gt__(self, other: Operand) -> Expression:
        return self._compared(">", other)

    def __ge__(self, other: Operand) -> Expression:
        return self._compared(">=", other)

    def __and__(self, other: Expression) -> Expression:
        return Expression(syntax.And((*_parts(self.node, syntax.And), *_parts(_node(other), syntax.And))))

    def __or__(self, other: Expression) -> Expression:
        return Expression(syntax.Or((*_parts(self.node, syntax.Or), *_parts(_node(other), syntax.Or))))

    def __invert__(self) -> Expression:
        return Expression(syntax.Not(self.node))

    def __neg__(self) -> Expression:
        return Expression(syntax.Negate(self.node))

    def __add__(self, other: Operand) -> Expression:
        return _arithmetic("+", self, other)

    def __radd__(self, other: Operand) -> Expression:
        return _arithmetic("+", other, self)

    def __sub__(self, other: Operand) -> Expression:
        return _arithmetic("-", self, other)

    def __rsub__(self, other: Operand) -> Expression:
        return _arithmetic("-", other, self)

    def __mul__(self, other: Operand) -> Expression:
        return _arithmetic("*", self, other)

    def __rmul__(self, other: Operand) -> Expression:
        return _arithmetic("*", other, self)

    def __truediv__(self, other: Operand) -> Expression:
        return _arithmetic("/", self, other)

    def __rtruediv__(self, other: Operand) -> Expression:
        return _arithmetic("/", other, self)

    def isin(self, values: Iterable[Cell]) -> Expression:
        """Whether the value is one of these; `~c.ward.isin([...])` for the opposite.

        >>> c.ward.isin(["eye", "surgery"])
        ward IN {"eye", "surgery"}
        """
        return Expression(syntax.Member(self.node, tuple(_value(value) for value in values)))

    def between(self, low: Operand, high: Operand) -> Expression:
        """Whether the value lies between two others, both included.

        >>> c.age.between(18, 65)
        age BETWEEN 18 AND 65
        """
        return Expression(syntax.Between(self.node, _node(low), _node(high)))

    def is_null(self) -> Expression:
        """Whether the value is missing; `~c.age.is_null()` for the opposite."""
        return Expression(syntax.IsNull(self.node))

    def within(self, tolerance: float | str | Expression) -> Command:
        """The command that this holds within a tolerance, as `enforce(..., within=tolerance)` makes it.

        >>> print(program("adult", (E(c.age) == 40).within(0.1)).commands[0].tolerance.value)
        0.1
        """
        return enforce(self, within=tolerance)

    def _compared(self, op: CompareOp, other: object) -> Expression:
        return Expression(syntax.Compare((self.node, _node(other)), (op,)))


class Columns:
    """The columns of a table by name: `c.age`, or `c["marital-status"]` for names that are not words of Python."""

    def __getattr__(self, column: str) -> Expression:
        if column.startswith("__"):
            raise AttributeError(column)
        return self[column]

    def __getitem__(self, column: str) -> Expression:
        return Expression(_name(column))


c = Columns()


def implies(left: Expression, right: Expression) -> Expression:
    """Where `left` holds, `right` holds.

    >>> implies(c.relationship == "Wife", c.sex == "Female")
    relationship == "Wife" IMPLIES sex == "Female"
    """
    return Expression(syntax.Implies(_node(left), _node(right)))


def placeholder(called: str) -> Expression:
    """A number that is given later: `values={called: 0.1}` of `cuts.run`.

    >>> E(c.age) <= placeholder("limit")
    E[age] <= <limit>
    """
    return Expression(syntax.Placeholder(called))


# --- statistics


def statistic(
    called: str, *args: Operand, given: Expression | None = None, levels: Iterable[Operand] = ()
) -> Expression:
    """A statistic of the rows on which `given` holds, by its name in the language: also those of other packages."""
    condition = None if given is None else _node(given)
    return Expression(syntax.Stat(called, tuple(map(_node, levels)), tuple(map(_node, args)), condition))


def E(column: Expression, *, given: Expression | None = None) -> Expression:
    """The mean of a number.

    >>> E(c.age, given=c.sex == "Male") == 30
    E[age | sex == "Male"] == 30
    """
    return statistic("E", column, given=given)


def MEDIAN(column: Expression, *, given: Expression | None = None) -> Expression:
    """The lower median of a number."""
    return statistic("MEDIAN", column, given=given)


def Q(level: float | Expression, column: Expression, *, given: Expression | None = None) -> Expression:
    """A quantile of a number: the smallest value that at least a share `level` of the rows does not exceed.

    >>> Q(0.9, c.age) <= 60
    Q(0.9)[age] <= 60
    """
    return statistic("Q", column, given=given, levels=[level])


def VAR(column: Expression, *, given: Expression | None = None) -> Expression:
    """The variance of a number."""
    return statistic("VAR", column, given=given)


def STD(column: Expression, *, given: Expression | None = None) -> Expression:
    """The standard deviation of a number."""
    return statistic("STD", column, given=given)


def COV(x: Expression, y: Expression, *, given: Expression | None = None) -> Expression:
    """The covariance of two numbers."""
    return statistic("COV", x, y, given=given)


def CORR(x: Expression, y: Expression, *, given: Expression | None = None) -> Expression:
    """The correlation of two numbers."""
    return statistic("CORR", x, y, given=given)


def H(column: Expression, *, given: Expression | None = None) -> Expression:
    """The entropy of a column."""
    return statistic("H", column, given=given)


def MI(x: Expression, y: Expression, *, given: Expression | None = None) -> Expression:
    """The mutual information of two columns."""
    return statistic("MI", x, y, given=given)


def P(condition: Expression, *, given: Expression | None = None) -> Expression:
    """The share of the rows on which a condition holds.

    >>> P(c.sex == "Male") == 0.5
    P[sex == "Male"] == 0.5
    """
    return statistic("P", condition, given=given)


def COUNT(condition: Expression, *, given: Expression | None = None) -> Expression:
    """The number of rows on which a condition holds."""
    return statistic("COUNT", condition, given=given)


def DIST(column: Expression, *, given: Expression | None = None) -> Expression:
    """The shares of a category column, to compare with a mapping; `"*"` is all other categories.

    >>> DIST(c.race) == {"White": 0.6, "Black": 0.2, "*": "proportional"}
    DIST[race] == {"White": 60%, "Black": 20%, *: proportional}
    """
    return statistic("DIST", column, given=given)


def function(called: str, *args: Operand) -> Expression:
    """A function of statistics: `min`, `max`, `abs`, `sqrt`, `log` or `exp`.

    >>> function("abs", E(c.age) - MEDIAN(c.age)) <= 2
    abs(E[age] - MEDIAN[age]) <= 2
    """
    return Expression(syntax.Call(called, tuple(map(_node, args)), ()))


# --- measures of classifiers


def measure(called: str, **options: OptionValue) -> Expression:
    """A measure of classifiers trained on the table, by its name in the language: also those of other packages."""
    return Expression(syntax.Call(called, (), _options(options)))


def demographic_parity(*, protected: OptionValue, target: OptionValue, **options: OptionValue) -> Expression:
    """The largest difference between groups in the rate of the desired outcome."""
    return measure("DEMOGRAPHIC_PARITY", protected=protected, target=target, **options)


def equalized_odds(*, protected: OptionValue, target: OptionValue, **options: OptionValue) -> Expression:
    """The largest difference between groups in the rates of true and of false positives."""
    return measure("EQUALIZED_ODDS", protected=protected, target=target, **options)


def equality_of_opportunity(*, protected: OptionValue, target: OptionValue, **options: OptionValue) -> Expression:
    """The largest difference between groups in the rate of true positives."""
    return measure("EQUALITY_OF_OPPORTUNITY", protected=protected, target=target, **options)


def downstream_accuracy(*, target: OptionValue, **options: OptionValue) -> Expression:
    """The accuracy of a classifier that predicts the target."""
    return measure("DOWNSTREAM_ACCURACY", target=target, **options)


# --- commands and programs


def enforce(
    body: Expression,
    *,
    within: float | str | Expression | None = None,
    weight: float | Expression | None = None,
    **options: OptionValue,
) -> Command:
    """The command that something holds in the table; statistics are met `within` a tolerance.

    >>> print(program("adult", enforce(E(c.age) == 40, within=0.1)), end="")
    SYNTHESIZE: adult;
    <BLANKLINE>
        ENFORCE: E[age] == 40 WITHIN 0.1;
    <BLANKLINE>
    END;
    """
    return _command("ENFORCE", body, within=within, weight=weight, options=options)


def minimize(body: Expression, *, weight: float | Expression | None = None, **options: OptionValue) -> Command:
    """The command to make a statistic or a measure small."""
    return _command("MINIMIZE", body, weight=weight, options=options)


def maximize(body: Expression, *, weight: float | Expression | None = None, **options: OptionValue) -> Command:
    """The command to make a statistic or a measure large."""
    return _command("MAXIMIZE", body, weight=weight, options=options)


def ensure_private(*, epsilon: float | Expression, delta: float | Expression, **options: OptionValue) -> Command:
    """The command that the release is (epsilon, delta)-differentially private."""
    settings = syntax.Settings(_options({"EPSILON": epsilon, "DELTA": delta}))
    return Command("ENSURE", settings, "DIFFERENTIAL PRIVACY", options=_options(options))


def command(text: str) -> Command:
    """A command written as program text.

    >>> print(program("adult", command("enforce: age > 35")), end="")
    SYNTHESIZE: adult;
    <BLANKLINE>
        ENFORCE: age > 35;
    <BLANKLINE>
    END;
    """
    ended = text.strip().removesuffix(";")
    statements = parse(f"SYNTHESIZE: table; {ended}; END;").statements
    if len(statements) != 1 or not isinstance(statements[0], Command):
        raise ValueError(f"this is not one command: {text!r}")
    return statements[0]


def program(data: str | Program, *commands: Command | Expression | str) -> Program:
    """The program of some commands about a table, or a program with further commands at its end.

    A condition by itself is enforced, and a text is a command of program text. LETs and comments are kept.

    >>> adults = program("people.csv", c.age >= 18)
    >>> print(program(adults, "ENFORCE: sex != Male;", (E(c.age) == 40).within(0.1)), end="")
    SYNTHESIZE: "people.csv";
    <BLANKLINE>
        ENFORCE: age >= 18;
        ENFORCE: sex != Male;
        ENFORCE: E[age] == 40 WITHIN 0.1;
    <BLANKLINE>
    END;
    """
    base = data if isinstance(data, Program) else Program(data, ())
    added = tuple(map(_statement, commands))
    whole = replace(base, statements=(*base.statements, *added))
    return parse(render(whole), "program")  # so that messages can show where they belong


def _statement(part: Command | Expression | str) -> Command:
    if isinstance(part, Expression):
        return enforce(part)
    return command(part) if isinstance(part, str) else part


def _command(
    action: Action,
    body: Expression,
    *,
    within: float | str | Expression | None = None,
    weight: float | Expression | None = None,
    options: Mapping[str, OptionValue],
) -> Command:
    if not isinstance(body, Expression):
        raise TypeError(f"a command takes a part of a program such as `c.age >= 18`, not {body!r}")
    tolerance: Any = None if within is None else _value(within)
    weighted: Any = None if weight is None else _value(weight)
    return Command(action, body.node, weight=weighted, tolerance=tolerance, options=_options(options))


# --- values of Python as nodes


def _node(value: object) -> syntax.Expr:
    return value.node if isinstance(value, Expression) else _constant(value)


def _constant(value: object) -> syntax.Number | syntax.Text:
    match value:
        case bool():
            return syntax.Text("true" if value else "false")
        case int() | float():
            return syntax.Number(float(value))
        case str():
            return _text(value)
        case datetime():
            return syntax.Text(value.isoformat(sep=" "))
        case date() | time():
            return syntax.Text(value.isoformat())
        case timedelta():
            return syntax.Text(f"{number(value / timedelta(seconds=1))} s")
    raise TypeError(f"a program cannot contain {value!r}; use text, a number, a date, a time or a duration")


def _name(text: str) -> syntax.Name:
    return syntax.Name(text, quoted=name(text) != text)


def _text(value: str) -> syntax.Text:
    if '"' in value and "'" in value:
        raise ValueError(f"a text with both kinds of quotes cannot be written in a program: {value!r}")
    return syntax.Text(value)


def _value(value: object) -> syntax.Value:
    node = _node(value)
    if isinstance(node, syntax.Number | syntax.Text | syntax.Name | syntax.Placeholder):
        return node
    raise TypeError(f"`{expression(node)}` cannot stand here; use a value or the name of a column")


def _options(options: Mapping[str, OptionValue]) -> tuple[syntax.Option, ...]:
    return tuple(syntax.Option(key, _option_value(value)) for key, value in options.items())


def _option_value(value: OptionValue) -> syntax.Value | syntax.ListOf:
    if isinstance(value, str):
        return _name(value)  # of a column, or a word such as `all`
    if isinstance(value, Expression | bool | int | float | date | time | timedelta):
        return _value(value)
    return syntax.ListOf(tuple(_name(item) if isinstance(item, str) else _value(item) for item in value))


def _shares(shares: Mapping[Any, Any]) -> syntax.Shares:
    return syntax.Shares(tuple((None if key == "*" else _value(key), _share(amount)) for key, amount in shares.items()))


def _share(amount: object) -> syntax.Number | syntax.Placeholder | syntax.Name:
    if isinstance(amount, str):
        return syntax.Name(amount)
    node = _node(amount)
    if isinstance(node, syntax.Number):
        return syntax.Number(node.value, percent=True)
    if isinstance(node, syntax.Placeholder):
        return node
    raise TypeError(f"a share is a number, a placeholder or `proportional`, not {amount!r}")


def _parts(node: syntax.Expr, kind: type[syntax.And] | type[syntax.Or]) -> tuple[syntax.Expr, ...]:
    return node.parts if isinstance(node, kind) else (node,)


def _arithmetic(op: ArithOp, left: Operand, right: Operand) -> Expression:
    return Expression(syntax.Arith(op, _node(left), _node(right)))


def expression_of(text: str) -> Expression:
    """A part of a program written as text, to be combined with others.

    >>> expression_of("age > 35") & (c.sex == "Male")
    age > 35 AND sex == "Male"
    """
    return Expression(parse_expression(text, "expression"))
