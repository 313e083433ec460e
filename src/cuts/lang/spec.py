"""A program bound to a schema: names resolved, values typed, every command on its level.

Readings (`cuts.read`), the logic and the plan all start from these nodes. A predicate is about one row, a quantity is
a number (of a row when it holds columns, of the table when it holds statistics), a goal is about the table. What can be
read off the nodes alone is `lang/walks.py`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Literal, TypeAlias

from cuts.data.schema import Category, Modelled, Schema
from cuts.data.units import NUMBER, Unit
from cuts.lang.syntax import CompareOp
from cuts.text.source import Span

Mode = Literal["repair", "condition"]
Direction = Literal["MINIMIZE", "MAXIMIZE"]
Basis = Literal[
    "stated",  # by the program
    "unit",  # the same for every table
    "rows",  # a share of how far the rows are spread
    "range",  # a share of the declared range
]  # of a tolerance


class Level(Enum):
    """What a command is about."""

    ROW = "ROW"
    TABLE = "TABLE"
    MODEL = "MODEL"
    PRIVACY = "PRIVACY"


# --- predicates: about one row; two-valued, a comparison with a missing value or a text beside numbers is false


@dataclass(frozen=True, slots=True)
class Truth:
    """Holds on every row, or on none."""

    value: bool


@dataclass(frozen=True, slots=True)
class InSet:
    """The value of a column is present and one of `values` (or, `negated`, none of them).

    The column holds categories, or numbers with texts beside them: then `values` are texts, and no number is one.
    """

    column: str
    values: frozenset[str]
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Linear:
    """A sum of coefficients times numeric columns, in schema order, none zero."""

    terms: tuple[tuple[str, float], ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns in the sum."""
        return tuple(name for name, _ in self.terms)


@dataclass(frozen=True, slots=True)
class LinearCompare:
    """All columns of `form` have a number and `form op bound`."""

    form: Linear
    op: CompareOp
    bound: float


@dataclass(frozen=True, slots=True)
class Missing:
    """The column has no value in this row."""

    column: str


@dataclass(frozen=True, slots=True)
class Not:
    """`inner` does not hold."""

    inner: Pred


@dataclass(frozen=True, slots=True)
class And:
    """All parts hold."""

    parts: tuple[Pred, ...]


@dataclass(frozen=True, slots=True)
class Or:
    """At least one part holds."""

    parts: tuple[Pred, ...]


@dataclass(frozen=True, slots=True)
class Implies:
    """Where `left` holds, `right` holds."""

    left: Pred
    right: Pred


Pred: TypeAlias = Truth | InSet | LinearCompare | Missing | Not | And | Or | Implies


def has_number(column: Modelled) -> Pred:
    """The rows in which a column counts as a number: it is neither missing nor one of the texts beside its numbers."""
    if isinstance(column, Category) or not column.texts:
        return Not(Missing(column.name))
    return InSet(column.name, frozenset(column.texts), negated=True)


# --- quantities: numbers of a row or of the table


@dataclass(frozen=True, slots=True)
class Const:
    """A number."""

    value: float


@dataclass(frozen=True, slots=True)
class ColumnValue:
    """The value of a column; a category counts as its position."""

    column: str


@dataclass(frozen=True, slots=True)
class Apply:
    """A function of `vocab.functions` on other quantities."""

    function: str
    args: tuple[Quantity, ...]


@dataclass(frozen=True, slots=True)
class Statistic:
    """A statistic of the rows where `given` holds; `args` are quantities, conditions or columns, as it asks.

    `condition` shows what `given` was written as.
    """

    name: str
    args: tuple[Quantity | Pred, ...]
    given: Pred | None = None
    levels: tuple[float, ...] = ()
    condition: str = field(default="", compare=False, repr=False)


Quantity: TypeAlias = Const | ColumnValue | Apply | Statistic


# --- goals: about the table


@dataclass(frozen=True, slots=True, order=True)
class Key:
    """The name of one number that a TABLE command is about: the command's number and, from 0, the comparison's.

    Whatever is known of the number elsewhere (in a table, in a model, in a saved model) is looked up by its key.
    """

    command: int
    index: int = 0


UNBOUND = Key(0)  # the key of a goal that belongs to no command


@dataclass(frozen=True, slots=True)
class Relation:
    """Two numbers of the table compared, `tolerance` apart at most; `text` shows the number that is measured.

    That number is the left side, or the left side minus the right one where both are statistics. Both sides and the
    tolerance count the same `unit`; `basis` is where the tolerance comes from.
    """

    left: Quantity
    op: CompareOp
    right: Quantity
    tolerance: float
    text: str = field(default="", compare=False, repr=False)
    basis: Basis = field(default="stated", compare=False, repr=False)
    unit: Unit = field(default=NUMBER, compare=False, repr=False)
    key: Key = field(default=UNBOUND, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Distribution:
    """The column's values have these shares; the rest, if `rest`, keeps its proportions in what is left.

    `key` names the first share, the others have the indices after it; `text` shows the distribution.
    """

    column: str
    shares: tuple[tuple[str, float], ...]
    rest: bool
    given: Pred | None
    tolerance: float
    text: str = field(default="", compare=False, repr=False)
    key: Key = field(default=UNBOUND, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class AllOf:
    """All goals are met."""

    parts: tuple[Goal, ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    """At least one goal is met."""

    parts: tuple[Goal, ...]


Goal: TypeAlias = Relation | Distribution | AllOf | AnyOf


@dataclass(frozen=True, slots=True)
class MeasureOf:
    """A measure of classifiers that predict `target` from `features`."""

    name: str
    target: str
    features: tuple[str, ...]
    protected: tuple[str, ...] = ()
    desired: str | None = None
    learner: tuple[tuple[str, float], ...] = ()


# --- commands


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a command stands in its program: number and line (from 1), spans, its canonical text, and a short one."""

    number: int
    line: int
    span: Span
    body_span: Span
    text: str
    title: str
    antecedent_span: Span | None = None


@dataclass(frozen=True, slots=True)
class RowRule:
    """Every row satisfies `pred`."""

    pred: Pred
    origin: Origin
    mode: Mode = "repair"
    method: str | None = None
    weight: float | None = None


@dataclass(frozen=True, slots=True)
class TableGoal:
    """The table meets `goal`."""

    goal: Goal
    origin: Origin
    method: str | None = None
    weight: float | None = None


@dataclass(frozen=True, slots=True)
class TableAim:
    """A number of the table is pushed as far as `budget` (a share of utility) allows; `text` shows the number."""

    direction: Direction
    value: Quantity
    origin: Origin
    budget: float
    method: str | None = None
    weight: float | None = None
    text: str = field(default="", compare=False, repr=False)
    unit: Unit = field(default=NUMBER, compare=False, repr=False)

    @property
    def key(self) -> Key:
        """The name of the number."""
        return Key(self.origin.number)


@dataclass(frozen=True, slots=True)
class ModelGoal:
    """A measure of classifiers trained on the table stays within a bound."""

    measure: MeasureOf
    op: CompareOp
    bound: float
    tolerance: float
    origin: Origin
    method: str | None = None
    weight: float | None = None


@dataclass(frozen=True, slots=True)
class ModelAim:
    """A measure of classifiers trained on the table is pushed as far as `budget` allows; None is no limit."""

    direction: Direction
    measure: MeasureOf
    origin: Origin
    budget: float | None
    method: str | None = None
    weight: float | None = None


@dataclass(frozen=True, slots=True)
class Privacy:
    """The whole release is (epsilon, delta)-differentially private, for one row or for all rows of a person."""

    epsilon: float
    delta: float
    origin: Origin
    max_rows_per_person: int = 1
    person: str | None = None  # the column that identifies persons; without it their rows are not limited
    relation: Literal["add/remove", "replace"] = "add/remove"
    domain_budget: float | None = None  # share of the budget spent on estimating ranges and categories


Bound: TypeAlias = RowRule | TableGoal | TableAim | ModelGoal | ModelAim | Privacy


@dataclass(frozen=True, slots=True)
class Spec:
    """A program bound to a schema."""

    schema: Schema
    commands: tuple[Bound, ...]

    @property
    def rules(self) -> tuple[RowRule, ...]:
        """The row rules."""
        return tuple(c for c in self.commands if isinstance(c, RowRule))

    @property
    def privacy(self) -> Privacy | None:
        """The privacy command, if there is one."""
        return next((c for c in self.commands if isinstance(c, Privacy)), None)
