"""Everything that can be said about a program before any training, and what private programs do not allow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from cuts.assess.request import table_problems
from cuts.assess.support import check_support
from cuts.data.exchange.tables import from_frame
from cuts.data.middles import with_middles
from cuts.data.schema import Schema
from cuts.data.table import Table
from cuts.lang.binder import bind, bind_all
from cuts.lang.placeholders import fill
from cuts.lang.spec import Spec
from cuts.lang.syntax import Command, Program, Settings
from cuts.logic.core import build_grid
from cuts.logic.diagram import compile_rules
from cuts.logic.feasible import check_rules, share
from cuts.logic.reach import check_statistics
from cuts.progress import Observer
from cuts.text.diagnostic import PRIVACY, CutsError, Diagnostic, exit_code, has_errors
from cuts.text.source import Span


@dataclass(frozen=True, slots=True)
class Checked:
    """The result of checking: the bound program unless it has errors, and all diagnostics."""

    program: Program
    spec: Spec | None
    diagnostics: tuple[Diagnostic, ...]
    share: float | None = None  # of the real rows that satisfy all row rules, when a table was given
    rows: int | None = None  # of that table

    @property
    def exit_code(self) -> int:
        """0 ok, 1 at fault, 3 contradiction or target out of reach, 5 privacy refused."""
        return exit_code(self.diagnostics)


def check(
    program: Program, schema: Schema, *, table: Any = None, values: Mapping[str, str | float] | None = None
) -> Checked:
    """Everything that can be said about a program before any training; with a table, also what only rows can tell.

    The table is a `Table` or a pandas, polars or Arrow frame; default tolerances follow from how far its rows are
    spread. The rows of a private program are not read.
    """
    try:
        filled = fill(program, values or {})
    except CutsError as error:
        return Checked(program, None, error.diagnostics)
    rows = None if table is None or private_command(program) is not None else from_frame(table)
    if rows is not None:
        schema = with_middles(schema, rows)
    spec, diagnostics = bind_all(filled, schema)
    if spec is None:
        return Checked(program, None, diagnostics)
    try:
        of_rules = check_rules(spec.rules, schema)
        diagnostics = (*diagnostics, *of_rules)
        if not has_errors(of_rules):
            preds = [rule.pred for rule in spec.rules]
            compile_rules(preds, build_grid(preds, schema))  # raises when they are too large
            diagnostics = (*diagnostics, *check_statistics(spec))
    except CutsError as error:  # the rules are too large to compile
        return Checked(program, None, (*diagnostics, *error.diagnostics))
    if rows is None or has_errors(diagnostics):
        return Checked(program, spec, diagnostics)
    warnings = (*diagnostics, *check_support(spec, rows))
    return Checked(program, spec, warnings, share(spec.rules, schema, rows), rows.rows)


def with_rows(program: Program, schema: Schema) -> Spec:
    """A checked program bound to its schema again, once the rows are known from which default tolerances follow."""
    spec = bind(program, schema)
    problems = check_statistics(spec)
    if has_errors(problems):
        raise CutsError(problems, program.source)
    return spec


def require(checked: Checked, observer: Observer) -> Spec:
    """The bound program; raises its errors, and reports its warnings to the observer. Nothing to learn is an error."""
    source = checked.program.source
    if checked.spec is None or has_errors(checked.diagnostics):
        raise CutsError(checked.diagnostics, source)
    if not checked.spec.schema.modelled:
        raise CutsError([nothing_to_learn(checked.spec.schema)])
    if checked.diagnostics:
        observer.warned(checked.diagnostics, source)
    return checked.spec


def check_shows_real(program: Program) -> None:
    """Refuse to show statistics of a private program's real table."""
    help = "leave `--real` out; `cuts evaluate` compares with real rows, for your eyes only"
    _refuse_private(program, "`--real` would print statistics of private data", help)


def check_not_private(program: Program) -> None:
    """Refuse what would read the rows of a private program outside the trusted core."""
    help = "release once with `cuts fit`; everything else works on that release with `--from-transcript`"
    _refuse_private(program, "this command would read private rows many times", help)


def check_test_rows(test: Table, schema: Schema, *, is_private: bool) -> None:
    """Refuse test rows of a private program, and rows that do not fit the schema."""
    if is_private:
        raise CutsError([private_test_rows()])
    problems = tuple(table_problems([("test", test)], schema))
    if problems:
        raise CutsError(problems)


def private_command(program: Program) -> Command | None:
    """The command that asks for privacy."""
    return next((command for command in program.commands if isinstance(command.body, Settings)), None)


def without_privacy(program: Program) -> Program:
    """The program about rows drawn from a private model, which need no promise of their own."""
    privacy = private_command(program)
    return replace(program, statements=tuple(statement for statement in program.statements if statement is not privacy))


def _refuse_private(program: Program, title: str, help: str) -> None:
    private = private_command(program)
    if private is not None:
        raise CutsError([reads_private_data(title, private.span, help)], program.source)


def private_test_rows() -> Diagnostic:
    """Real rows beside a private program."""
    return Diagnostic(
        "reads-private-data",
        "a report on test rows would contain statistics of real rows, and the program is private",
        help="leave the test rows out; `cuts evaluate` compares with real rows, for your eyes only",
        exit_code=PRIVACY,
    )


def nothing_to_learn(schema: Schema) -> Diagnostic:
    """A table whose columns are all empty or identifiers."""
    return Diagnostic(
        "nothing-to-learn",
        f"`{schema.name}` has no column to learn",
        help="columns without values and identifiers are not learned; give a table with other columns",
    )


def reads_private_data(title: str, span: Span, help: str) -> Diagnostic:
    """Something that would read a private program's rows outside the trusted core."""
    label = "this promise covers everything that is published about the rows"
    return Diagnostic("reads-private-data", title, span, label, help, exit_code=PRIVACY)
