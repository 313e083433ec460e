"""A request to evaluate three tables: its defaults, and every problem with it, before anything is measured."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np
import pyarrow as pa

from cuts.assess.downstream import has_target
from cuts.assess.features import Features
from cuts.assess.grid import Bins
from cuts.assess.learners import missing_libraries
from cuts.assess.table_arrays import Role, Sample, comparable, read_sample
from cuts.data.conform import conform
from cuts.data.schema import Category, Column, Integer, Schema, desired_outcome
from cuts.data.table import Table
from cuts.text import names
from cuts.text.diagnostic import USAGE, CutsError, Diagnostic, listed

Part = Literal["marginals", "downstream", "fairness", "leakage", "discriminator"]
PARTS: tuple[Part, ...] = get_args(Part)
HELD_OUT = 4  # one row of so many stands for the test rows if there are none
LEARNED: frozenset[Part] = frozenset({"downstream", "fairness", "discriminator"})
_WITHOUT_TARGET = "`--parts marginals,leakage,discriminator`"


@dataclass(frozen=True, slots=True)
class EvaluateOptions:
    """What to evaluate; None stands for the default.

    By default `target` and `protected` come from the schema, `desired` is the target's last category, and `parts` are
    all that apply. `features` is how learners see numbers, `bins` how numbers are binned to compare marginals. The same
    `seed` gives the same numbers.
    """

    target: str | None = None
    protected: Sequence[str] | None = None
    desired: str | None = None
    parts: Sequence[Part] | None = None
    features: Features = "raw"
    bins: Bins = "uniform"
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Request:
    """The parts to measure, for which target and groups, on which rows; `notes` says which parts do not apply."""

    parts: tuple[Part, ...]
    target: str | None
    protected: tuple[str, ...]
    desired: str | None
    synthetic: Sample
    train: Sample
    test: Sample
    notes: tuple[str, ...]


def hold_out(train: Table, seed: int) -> tuple[Table, Table]:
    """Three quarters of the rows and the rest, at random."""
    order = np.random.default_rng([seed, 11]).permutation(train.rows)
    parts = np.sort(order[train.rows // HELD_OUT :]), np.sort(order[: train.rows // HELD_OUT])
    rest, held_out = (Table(train.arrow.take(pa.array(rows))) for rows in parts)
    return rest, held_out


def resolve(
    synthetic: Table, train: Table, test: Table, schema: Schema, options: EvaluateOptions, *, is_held_out: bool = False
) -> Request:
    """The request with its defaults; raises `CutsError` with every problem of the options and the tables.

    A column of two whole numbers is read as two classes where classes are needed. With `is_held_out` the test rows are
    a part of those that the synthetic table was made from.
    """
    parts, desired = options.parts, options.desired
    if unknown := set(parts or ()) - set(PARTS):
        raise ValueError(f"there is no part {', '.join(sorted(unknown))}; the parts are {', '.join(PARTS)}")
    target = schema.label if options.target is None else options.target
    groups = (
        tuple(name for name in schema.protected if name != target)
        if options.protected is None
        else tuple(dict.fromkeys(options.protected))
    )
    tables: tuple[tuple[Role, Table], ...] = (("synthetic", synthetic), ("train", train), ("test", test))
    problems = [*table_problems(tables, schema)]
    fits = not problems
    if fits:
        schema = _with_classes(schema, train, (*groups, *(() if target is None else (target,))))
    problems += _name_problems(schema, target, groups, desired, typed=fits)
    if parts is None:
        chosen, notes = _applicable(schema, target, groups)
    else:
        chosen, notes = tuple(part for part in PARTS if part in parts), ()
        problems += _unanswerable(chosen, schema, target, groups, typed=fits)
    if is_held_out and parts is None:
        chosen, notes = tuple(part for part in chosen if part != "leakage"), (*notes, no_test_rows(test.rows))
    elif is_held_out:
        problems += [unseen_rows()] if "leakage" in chosen else []
        notes = (no_test_rows(test.rows),)
    samples = [read_sample(table, schema, role) for role, table in tables] if fits else []
    if fits and not problems and target is not None and LEARNED & {*chosen} - {"discriminator"}:
        problems += _one_class(samples, target)
    if LEARNED & {*chosen}:
        problems += missing_libraries()
    if problems:
        raise CutsError(problems)
    if target is not None and isinstance(schema[target], Category):
        desired = desired_outcome(schema, target, desired)
    of_synthetic, of_train, of_test = samples
    return Request(chosen, target, groups, desired, of_synthetic, of_train, of_test, notes)


def table_problems(tables: Sequence[tuple[Role, Table]], schema: Schema) -> Iterator[Diagnostic]:
    """Tables without rows, columns that are absent, and columns of another type."""
    if not comparable(schema):
        yield nothing_to_compare()
    for role, table in tables:
        if table.rows == 0:
            yield empty_table(role)
        for column in comparable(schema):
            if column.name not in table.names:
                yield missing_column(column.name, role, table)
                continue
            try:
                conform(table, schema, [column.name])
            except CutsError as error:
                yield from (replace(d, title=f"in the {role} table {d.title}") for d in error.diagnostics)


def _name_problems(
    schema: Schema, target: str | None, groups: Sequence[str], desired: str | None, *, typed: bool
) -> Iterator[Diagnostic]:
    """Columns that do not exist or are of the wrong kind; kinds are checked only if the tables are `typed`."""
    usable = {column.name: column for column in comparable(schema)}
    for name in (*(() if target is None else (target,)), *groups):
        if name not in schema:
            yield unknown_column(name, schema)
        elif name not in usable:
            yield not_modelled(name)
    for name in groups:
        if name == target:
            yield protected_equals_target(name)
        elif typed and name in usable and not isinstance(usable[name], Category):
            yield not_groups(name)
    outcome = usable.get(target) if target is not None else None
    if desired is not None and isinstance(outcome, Category) and desired not in outcome.categories:
        yield unknown_category(desired, outcome)


def _unanswerable(
    parts: Sequence[Part], schema: Schema, target: str | None, groups: Sequence[str], *, typed: bool
) -> Iterator[Diagnostic]:
    """One diagnostic per column or option that a part requested by name lacks."""
    for part in parts:
        if part in ("downstream", "fairness") and target is None:
            yield missing_argument(part, "target")
        elif part in ("downstream", "fairness") and len(comparable(schema)) == 1:
            yield nothing_to_learn_from(str(target))
        if part == "fairness" and not groups:
            yield missing_argument(part, "protected")
        if part == "fairness" and typed and target in schema and not isinstance(schema[str(target)], Category):
            yield not_groups(str(target))


def _applicable(schema: Schema, target: str | None, groups: Sequence[str]) -> tuple[tuple[Part, ...], tuple[str, ...]]:
    """The parts that apply, and why the others do not."""
    if target is None:
        return ("marginals", "leakage", "discriminator"), ("no target: downstream scores and fairness are left out",)
    if len(comparable(schema)) == 1:
        return ("marginals", "leakage", "discriminator"), (
            f"`{target}` is the only column: there is nothing to predict it from",
        )
    if target in schema and not isinstance(schema[target], Category):
        return tuple(p for p in PARTS if p != "fairness"), (
            f"`{target}` is numeric: fairness needs a target with categories and is left out",
        )
    if not groups:
        return tuple(p for p in PARTS if p != "fairness"), ("no protected column: fairness is left out",)
    return PARTS, ()


def _with_classes(schema: Schema, train: Table, names: Sequence[str]) -> Schema:
    """The schema with the named columns as categories where the train rows have only two distinct whole numbers."""
    columns: list[Column] = []
    for column in schema:
        if column.name in names and isinstance(column, Integer):
            numbers = conform(train, schema, [column.name]).numbers(column.name)
            distinct = np.unique(numbers[~np.isnan(numbers)])
            if 1 <= len(distinct) <= 2 and (distinct == np.floor(distinct)).all():
                words = tuple(str(int(number)) for number in distinct)
                columns.append(Category(column.name, words, missing=column.missing))
                continue
        columns.append(column)
    return replace(schema, columns=tuple(columns))


def _one_class(samples: Sequence[Sample], target: str) -> Iterator[Diagnostic]:
    for sample in samples:
        column = next(column for column in sample.columns if column.name == target)
        present = np.unique(sample.values[target][has_target(sample, target)])
        if isinstance(column, Category) and len(present) < 2:
            yield single_class(target, sample.role, [column.categories[int(index)] for index in present])
        elif len(present) == 0:
            yield single_class(target, sample.role, [])


# --- what is wrong


def empty_table(role: Role) -> Diagnostic:
    """A table without rows."""
    return Diagnostic("unreadable-table", f"the {role} table has no rows", help="give a table with at least one row")


def missing_column(name: str, role: Role, table: Table) -> Diagnostic:
    """A column that one of the tables does not have."""
    return names.missing_column(name, f"the {role} table", table.names)


def nothing_to_compare() -> Diagnostic:
    """A schema of identifiers and empty columns only."""
    return Diagnostic("missing-column", "there is no column to compare: all are identifiers or empty")


def nothing_to_learn_from(target: str) -> Diagnostic:
    """A schema whose only column is the target."""
    return Diagnostic("missing-column", f"there is no column to predict `{target}` from")


def unknown_column(name: str, schema: Schema) -> Diagnostic:
    """A target or group column the schema does not have."""
    return names.unknown_column(name, schema.name, schema.names)


def unknown_category(desired: str, column: Category) -> Diagnostic:
    """A desired outcome the target cannot have."""
    return names.unknown_category(desired, column.name, column.categories)


def not_modelled(name: str) -> Diagnostic:
    """A target or group column that is an identifier or empty."""
    return Diagnostic(
        "not-modelled",
        f"`{name}` cannot be evaluated: it is an identifier, or has no values",
        help="name another column, or declare it as a category or a number in the schema",
    )


def not_groups(name: str) -> Diagnostic:
    """A column of numbers where groups are needed."""
    return Diagnostic(
        "type-mismatch",
        f"`{name}` is numeric, and fairness needs categories",
        help="declare it as a category in the schema, or leave `fairness` out of `--parts`",
    )


def protected_equals_target(name: str) -> Diagnostic:
    """A group column that is also the target."""
    return Diagnostic(
        "protected-equals-target",
        f"`{name}` is both protected and predicted",
        help="name the group column as `--protected` and the outcome as `--target`",
    )


def no_test_rows(rows: int) -> str:
    """What follows from test rows that are train rows."""
    return (
        f"no `--test`: a quarter of the train rows ({rows:,}) was held out in its place. The synthetic table was made "
        "from these rows too, so scores on them are a little too good; leakage needs unseen rows and is left out"
    )


def unseen_rows() -> Diagnostic:
    """Leakage without rows that the synthetic table was not made from."""
    title = "`leakage` needs `--test`: it compares with real rows that the synthetic table was not made from"
    help = "hold some rows out before the fit, or leave `leakage` out of `--parts`"
    return Diagnostic("missing-argument", title, help=help, exit_code=USAGE)


def missing_argument(part: str, option: str) -> Diagnostic:
    """A part that needs an option naming a column."""
    return Diagnostic(
        "missing-argument", f"`{part}` needs `--{option}`", help=f"name a column: `--{option} COLUMN`", exit_code=USAGE
    )


def single_class(target: str, role: Role, values: Sequence[str]) -> Diagnostic:
    """A target that never varies: nothing to learn, or nothing to test on."""
    what = f"only the value {listed(values)}" if values else "no value of the schema"
    return Diagnostic(
        "single-class",
        f"the target `{target}` has {what} in the {role} table",
        help=f"use rows with at least two values, or leave out what needs the target: {_WITHOUT_TARGET}",
    )
