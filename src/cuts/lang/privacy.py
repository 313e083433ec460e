"""From privacy settings to the terms of a promise, and the reasons why a schema does not allow a private program."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from cuts.data.schema import Category, Column, Empty, Identifier, Schema
from cuts.data.schema_file import render_declaration
from cuts.lang import syntax
from cuts.lang.options import bad_option, by_key, missing_argument, number_option, whole_option, word_option
from cuts.lang.scope import Scope, ambiguous_name, type_mismatch, unknown_column
from cuts.lang.spec import Origin, Privacy
from cuts.text.diagnostic import PRIVACY, Code, Diagnostic
from cuts.text.source import Span

KIND = "DIFFERENTIAL PRIVACY"
EXAMPLE = "ENSURE: DIFFERENTIAL PRIVACY: EPSILON=1.0, DELTA=1e-9;"
MAX_ROWS_PER_PERSON = 1_000_000
MIN_EPSILON, MAX_EPSILON = 1e-6, 1_000
_KEYS = ("epsilon", "delta", "max_rows_per_person", "person", "relation", "domain_budget")


def privacy(settings: Sequence[syntax.Option], scope: Scope, origin: Origin) -> Privacy | None:
    """The terms that a privacy command states."""
    before = len(scope.diagnostics)
    options = by_key(settings, _KEYS, KIND, scope)
    epsilon = _amount("epsilon", options, scope, origin.body_span)
    delta = _amount("delta", options, scope, origin.body_span)
    max_rows = whole_option(options["max_rows_per_person"], scope) if "max_rows_per_person" in options else 1
    if max_rows is not None and max_rows > MAX_ROWS_PER_PERSON:
        scope.add(
            bad_option(
                f"`max_rows_per_person` must be at most {MAX_ROWS_PER_PERSON:,}", options["max_rows_per_person"].span
            )
        )
    domain = _domain_budget(options["domain_budget"], scope) if "domain_budget" in options else None
    if epsilon is not None and not MIN_EPSILON <= epsilon <= MAX_EPSILON:
        limits = f"EPSILON must lie between {MIN_EPSILON:f} and {MAX_EPSILON:,}"
        scope.add(_bad_amount("bad-epsilon", limits, options["epsilon"].span, "EPSILON=1.0"))
    if delta is not None and not 0 < delta < 1:
        scope.add(
            _bad_amount(
                "bad-delta", "DELTA must lie between 0 and 1, both excluded", options["delta"].span, "DELTA=1e-9"
            )
        )
    relation: Literal["add/remove", "replace"] = "add/remove"
    if "relation" in options and word_option(options["relation"], ("add_remove", "replace"), scope) == "replace":
        relation = "replace"
    person = _person(options, scope)
    if len(scope.diagnostics) > before or epsilon is None or delta is None or max_rows is None:
        return None
    return Privacy(epsilon, delta, origin, max_rows, person, relation, domain)


def _person(options: dict[str, syntax.Option], scope: Scope) -> str | None:
    """The column that identifies persons: the one named, or the only identifier if rows per person are limited."""
    identifiers = [column.name for column in scope.schema if isinstance(column, Identifier)]
    if "person" not in options:
        limited = options.get("max_rows_per_person")
        if limited is not None and len(identifiers) > 1:
            example = f"{KIND}: EPSILON=1.0, DELTA=1e-9 WITH max_rows_per_person=3, person={identifiers[0]}"
            scope.add(missing_argument(KIND, "PERSON", limited.span, example))
        return identifiers[0] if limited is not None and len(identifiers) == 1 else None
    value = options["person"].value
    if not isinstance(value, syntax.Name):
        scope.add(type_mismatch("a column was expected", value.span, "not a name"))
        return None
    columns = scope.columns(value)
    if len(columns) != 1:
        unknown = unknown_column(value, scope.schema)
        scope.add(ambiguous_name(value.text, columns, value.span, "`") if columns else unknown)
        return None
    if columns[0] not in identifiers:
        help = f'declare `{columns[0]}` with `kind = "id"` in the schema'
        scope.add(type_mismatch("`person` must name an identifier", value.span, "not an identifier", help))
        return None
    return columns[0]


def _domain_budget(option: syntax.Option, scope: Scope) -> float | None:
    share = number_option(option, scope, 0.0, 1.0)
    if share in (0.0, 1.0):
        scope.add(
            bad_option(
                "`domain_budget` must be a share of the budget between 0 % and 100 %, both excluded", option.span
            )
        )
    return share


def _amount(key: str, options: dict[str, syntax.Option], scope: Scope, span: Span) -> float | None:
    if key not in options:
        scope.add(missing_argument(KIND, key.upper(), span, EXAMPLE))
        return None
    value = options[key].value
    if isinstance(value, syntax.Number):
        return value.value
    example = "EPSILON=1.0" if key == "epsilon" else "DELTA=1e-9"
    code: Code = "bad-epsilon" if key == "epsilon" else "bad-delta"
    scope.add(_bad_amount(code, f"{key.upper()} must be a number", value.span, example))
    return None


def _bad_amount(code: Code, title: str, span: Span, help: str) -> Diagnostic:
    return Diagnostic(code, title, span, "not a valid privacy budget", f"write for example {help}")


def asks_for_domain(command: syntax.Command) -> bool:
    """Whether a privacy command spends part of the budget on discovering categories and ranges."""
    settings = command.body.options if isinstance(command.body, syntax.Settings) else ()
    return any(option.key == "domain_budget" for option in (*settings, *command.options))


def without_values(schema: Schema) -> Schema:
    """The schema with names and kinds only, so that messages about names cannot depend on values."""
    columns: list[Column] = []
    for column in schema.columns:
        if isinstance(column, Category):
            columns.append(Category(column.name, ("?",), missing=True))
        elif isinstance(column, Identifier | Empty):
            columns.append(column)
        else:
            columns.append(replace(column, low=0, high=1, bins=1))
    return replace(schema, columns=tuple(columns), provenance="declared")


def unknown_domain(private: Privacy) -> Diagnostic:
    """Commands whose values cannot be checked yet."""
    return Diagnostic(
        "unknown-domain",
        "the other commands can only be checked once categories and ranges are discovered",
        private.origin.span,
        "discovered when the program is run",
        "to check them before any budget is spent, declare categories and ranges in the schema",
        severity="warning",
    )


def unstated_schema(name: str, span: Span) -> Diagnostic:
    """A private program whose schema does not say where its categories and ranges come from."""
    return Diagnostic(
        "private-schema",
        f"the schema `{name}` does not say where its categories and ranges come from",
        span,
        "ranges and categories must be public",
        "if nothing in it was read from the rows, state that in the first lines of the schema file:\n\n"
        'provenance = "declared"\n\nif it was read from the rows, write `provenance = "inferred"` instead, and add '
        "`WITH domain_budget=10%` to this command",
        exit_code=PRIVACY,
    )


def private_schema(data: str, span: Span, schema: Schema | None) -> Diagnostic:
    """A private program whose categories and ranges would come from the private rows."""
    return Diagnostic(
        "private-schema",
        f"the schema of `{data}` {'would be' if schema is None else 'was'} read from the rows, which are private",
        span,
        "ranges and categories must be public",
        "write the schema with `cuts schema infer`, replace its values by what is publicly known,\n"
        'set `provenance = "declared"` and pass it with `--schema`'
        if schema is None
        else "fill in this schema with what is publicly known and pass it with `--schema`,\n"
        f"or add `WITH domain_budget=10%` to this command:\n\n{render_declaration(schema).rstrip()}",
        exit_code=PRIVACY,
    )


def private_texts(name: str, span: Span) -> Diagnostic:
    """A private program about a numeric column whose cells are text: the trusted core reads plain numbers only."""
    return Diagnostic(
        "not-supported",
        f"a private program cannot read the column `{name}`: it has `texts` or a `format`",
        span,
        "reads plain numbers and categories only",
        f"remove both keys from `{name}` in the schema;\n"
        "cells that are no plain number then count as missing, or their rows are left out",
        exit_code=PRIVACY,
    )
