"""Examples for help texts, made from the columns at hand: they work when pasted into the program."""

from __future__ import annotations

from cuts.data.schema import Category, Integer, Numeric, Real, Schema, Temporal
from cuts.lang import printer, syntax
from cuts.lang.scope import show_value
from cuts.vocab.names import DISTRIBUTION, measures


def condition(schema: Schema, name: str | None = None) -> str:
    """A condition on the column called `name`, or on the first column.

    >>> condition(Schema("t", (Category("sex", ("Female", "Male")),)))
    'sex == Female'
    """
    for column in schema.modelled:
        if name is not None and column.name != name:
            continue
        written = printer.name(column.name)
        if isinstance(column, Category):
            return f"{written} == {printer.value(column.categories[0])}"
        return f"{written} >= {_middle(column)}"
    return f"{printer.name(name) if name is not None else 'column'} == ..."


def mean(schema: Schema) -> str:
    """A comparison of the mean of a column.

    >>> mean(Schema("t", (Integer("age", 17, 90),)))
    'E[age] == 53.5'
    """
    for column in schema.modelled:
        if isinstance(column, Integer | Real):
            return f"E[{printer.name(column.name)}] == {_middle(column)}"
    return f"P[{condition(schema)}] == 0.5"


def distribution(schema: Schema, name: str | None = None) -> str:
    """A distribution of the column called `name`, or of the first category column.

    >>> distribution(Schema("t", (Category("sex", ("Female", "Male")),)))
    'DIST[sex] == {Female: 50%, *: proportional}'
    """
    for column in schema.modelled:
        if isinstance(column, Category) and name in (None, column.name):
            shares = f"{{{printer.value(column.categories[0])}: 50%, *: proportional}}"
            return f"{DISTRIBUTION}[{printer.name(column.name)}] == {shares}"
    return f"{DISTRIBUTION}[...] == {{...: 50%, *: proportional}}"


def comparison(expr: syntax.Expr, schema: Schema) -> str:
    """A number of the program compared with some value it can have."""
    text = printer.expression(expr)
    match expr:
        case syntax.Call():
            return f"{text} <= 0.02"
        case syntax.Stat(name, _, args) if name == DISTRIBUTION:
            return distribution(schema, args[0].text if args and isinstance(args[0], syntax.Name) else None)
        case syntax.Stat("P"):
            return f"{text} >= 0.5"
        case syntax.Stat("E" | "MEDIAN" | "Q", _, (syntax.Name(name),)) if name in schema:
            column = schema[name]
            return f"{text} == {_middle(column)}" if isinstance(column, Numeric) else f"{text} <= 1"
        case _:
            return f"{text} <= 1"


def measure(name: str, schema: Schema) -> str:
    """A call of a measure: the label, or the last category column, predicted from the others.

    >>> columns = Category("sex", ("Female", "Male")), Category("salary", ("low", "high"))
    >>> measure("DEMOGRAPHIC_PARITY", Schema("t", columns))
    'DEMOGRAPHIC_PARITY(protected=sex, target=salary)'
    """
    categories = [column.name for column in schema.modelled if isinstance(column, Category)]
    target = schema.label if schema.label in categories else next(reversed(categories), None)
    groups = [*(column for column in schema.protected if column in categories), *categories]
    protected = next((column for column in groups if column != target), None)
    values = {"target": _written(target), "protected": _written(protected), "features": "all"}
    arguments = ", ".join(f"{key}={values.get(key, '...')}" for key in measures()[name].required)
    return f"{name}({arguments})"


def _written(name: str | None) -> str:
    return "..." if name is None else printer.name(name)


def _middle(column: Numeric) -> str:
    """A value from the middle of a column's range, as it is written."""
    middle = (column.low + column.high) / 2
    if isinstance(column, Temporal):
        return f'"{show_value(column, float(round(middle)))}"'
    return printer.short(middle, 3)
