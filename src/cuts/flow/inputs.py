"""The steps in order: read a program, find its schema and table, check, plan, verify.

The command line and the Python functions are two ways to walk them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from cuts import datasets
from cuts.assess.evaluate import Quality
from cuts.assess.evaluate import evaluate as evaluate_tables
from cuts.assess.features import Features
from cuts.assess.grid import Bins
from cuts.assess.learners import CLASSIFIERS, Classifier
from cuts.assess.request import Part
from cuts.assess.support import check_support
from cuts.assess.verify import Verdict
from cuts.assess.verify import verify as verify_spec
from cuts.count.sources import Rows, infer_streamed, rows_in, rows_of
from cuts.data.exchange.sources import from_frame, read_table
from cuts.data.infer import infer_schema
from cuts.data.schema import Schema
from cuts.data.schema_file import read_schema
from cuts.data.table import Table
from cuts.lang.binder import bind_all, refused_schema
from cuts.lang.parser import parse_source
from cuts.lang.placeholders import fill
from cuts.lang.spec import Spec
from cuts.lang.syntax import Command, Program, Settings
from cuts.logic.core import build_grid
from cuts.logic.diagram import compile_rules
from cuts.logic.feasible import check_rules, share
from cuts.logic.reach import check_statistics
from cuts.privacy.reading import PrivateFile, PrivateFrame, PrivateRows
from cuts.text.diagnostic import PRIVACY, CutsError, Diagnostic, did_you_mean, exit_code, has_errors
from cuts.text.files import read_text
from cuts.text.source import Source, Span


@dataclass(frozen=True, slots=True)
class Checked:
    """What checking found: the bound program unless it has errors, and everything said about it."""

    program: Program
    spec: Spec | None
    diagnostics: tuple[Diagnostic, ...]
    share: float | None = None  # of the real rows on which all row rules hold, when a table was given

    @property
    def exit_code(self) -> int:
        """0 ok, 1 at fault, 3 contradiction or target out of reach, 5 privacy refused."""
        return exit_code(self.diagnostics)


def read_program(path: Path) -> Program:
    """The program in a file."""
    return parse_source(Source(str(path), read_text(path, "program")))


def find_schema(program: Program, *, schema: Path | None = None, table: Table | None = None) -> Schema:
    """The schema a program is bound to.

    In this order: the one given; that of the embedded data set the program names; one inferred from the file the
    program names, or from `table`.
    """
    if schema is not None:
        return read_schema(schema)
    embedded = datasets.find(program.data)
    if embedded is not None:
        return datasets.load_schema(embedded)
    path = _beside(program)
    if path is None and table is None:
        raise CutsError([unknown_data(program)], program.source)
    refused = refused_schema(program, None)
    if refused is not None:
        raise CutsError([refused], program.source)
    rows = read_table(path) if path is not None else table
    return infer_schema(rows, Path(program.data).name.split(".")[0])


def find_rows(
    program: Program,
    data: str | None = None,
    *,
    delimiter: str | None = None,
    quote: str | None = None,
    encoding: str | None = None,
) -> Rows:
    """The rows a program is about: those given, else those of the data set or file it names; read only when used."""
    if data is None:
        path = _beside(program)
        embedded = datasets.find(program.data)
        if embedded is None and path is None:
            raise CutsError([unknown_data(program)], program.source)
        data = program.data if embedded is not None else str(path)
    name, _, split = data.partition(":")
    if datasets.find(name) is not None and split in ("", "train", "test") and not Path(data).exists():
        return rows_of(open_table(data))
    return rows_in(data, delimiter=delimiter, quote=quote, encoding=encoding)


def find_private_rows(
    program: Program,
    data: str | None = None,
    *,
    delimiter: str | None = None,
    quote: str | None = None,
    encoding: str | None = None,
) -> PrivateRows:
    """The rows a private program is about, as the trusted core reads them; nothing of them is looked at here."""
    path = _beside(program)
    where = data or (program.data if datasets.find(program.data) is not None else None if path is None else str(path))
    if where is None:
        raise CutsError([unknown_data(program)], program.source)
    name, _, split = where.partition(":")
    if datasets.find(name) is not None and split in ("", "train", "test") and not Path(where).exists():
        return PrivateFrame(open_table(where))
    return PrivateFile(Path(where), delimiter, quote, encoding)


def schema_of(
    program: Program, rows: Rows | None, *, schema: Schema | Path | str | None = None, label: str | None = None
) -> Schema:
    """The schema of a program's rows: the one given, the embedded data set's, or one inferred from all rows."""
    embedded = datasets.find(program.data)
    if isinstance(schema, Schema):
        known = schema
    elif schema is not None:
        known = read_schema(schema)
    elif embedded is not None:
        known = datasets.load_schema(embedded)
    else:
        refused = refused_schema(program, None)
        if refused is not None:
            raise CutsError([refused], program.source)
        assert rows is not None
        return infer_streamed(rows, Path(program.data).name.split(".")[0], label)
    return known if label is None else with_label(known, label)


def with_label(schema: Schema, label: str) -> Schema:
    """The schema with another column to predict."""
    if label not in schema:
        help = did_you_mean(label, schema.names)
        title = f"there is no column `{label}` in `{schema.name}`"
        raise CutsError([Diagnostic("unknown-column", title, help=help)])
    return replace(schema, label=label)


def open_table(
    where: str, *, delimiter: str | None = None, quote: str | None = None, encoding: str | None = None
) -> Table:
    """The table in a file, or an embedded one as `adult` (its train split), `adult:train` or `adult:test`."""
    name, _, split = where.partition(":")
    embedded = datasets.find(name)
    if embedded is not None and split in ("", "train", "test") and not Path(where).exists():
        return datasets.load(embedded, "test" if split == "test" else "train")
    return read_table(where, delimiter=delimiter, quote=quote, encoding=encoding)


def check(
    program: Program, schema: Schema, *, table: Any = None, values: Mapping[str, str | float] | None = None
) -> Checked:
    """Everything that can be said about a program before any training; with a table, also what only rows can tell.

    The table is a `Table` or a pandas, polars or Arrow frame.
    """
    try:
        filled = fill(program, values or {})
    except CutsError as error:
        return Checked(program, None, error.diagnostics)
    spec, found = bind_all(filled, schema)
    if spec is None:
        return Checked(program, None, found)
    try:
        rules = check_rules(spec.rules, schema)
        found = (*found, *rules)
        if not has_errors(rules):
            preds = [rule.pred for rule in spec.rules]
            compile_rules(preds, build_grid(preds, schema))  # raises when they are too large
            found = (*found, *check_statistics(spec))
    except CutsError as error:  # the rules are too large to compile
        return Checked(program, None, (*found, *error.diagnostics))
    if table is None or spec.privacy is not None or has_errors(found):
        return Checked(program, spec, found)
    rows = from_frame(table)
    return Checked(program, spec, (*found, *check_support(spec, rows)), share(spec.rules, schema, rows))


def verify(
    program: Program,
    schema: Schema,
    table: Any,
    *,
    values: Mapping[str, str | float] | None = None,
    real: Any = None,
    model: Mapping[int, Sequence[float]] | None = None,
    panel: Sequence[Classifier] = CLASSIFIERS,
) -> tuple[Verdict, ...]:
    """A verdict for every command on a table or frame; raises when the program does not bind.

    Statistics of the `real` table or frame and of the `model` are told beside; see `assess.verify.verify`. What is
    told of the real table is not private, so for a private program it is refused.
    """
    if real is not None:
        check_shows_real(program)
    filled = fill(program, values or {})
    spec, found = bind_all(filled, schema)
    if spec is None:
        raise CutsError(found, program.source)
    beside = None if real is None else from_frame(real)
    return verify_spec(spec, from_frame(table), real=beside, model=model, panel=panel)


def check_shows_real(program: Program) -> None:
    """Refuse to tell numbers of a private program's real table."""
    help = "leave the real table (`--real`) out; `cuts evaluate` compares with real rows, for your eyes only"
    _refuse_private(program, "numbers of the real table are asked for, which is private", help)


def check_not_private(program: Program) -> None:
    """Refuse what would read the rows of a private program outside the trusted core."""
    help = "`cuts fit` releases what the budget buys; with `--from-transcript` all else works on that"
    _refuse_private(program, "this would read the rows again and again, which are private", help)


def private_command(program: Program) -> Command | None:
    """The command that asks for privacy."""
    return next((command for command in program.commands if isinstance(command.body, Settings)), None)


def without_privacy(program: Program) -> Program:
    """The program about rows drawn from a private model, which need no promise of their own."""
    promised = private_command(program)
    return replace(program, statements=tuple(each for each in program.statements if each is not promised))


def _refuse_private(program: Program, title: str, help: str) -> None:
    private = private_command(program)
    if private is not None:
        raise CutsError([reads_private_data(title, private.span, help)], program.source)


def evaluate(
    synthetic: Any,
    train: Any,
    test: Any,
    schema: Schema | None = None,
    *,
    target: str | None = None,
    protected: Sequence[str] | None = None,
    desired: str | None = None,
    parts: Sequence[Part] | None = None,
    features: Features = "raw",
    bins: Bins = "uniform",
    seed: int = 0,
    say: Callable[[str], None] = lambda _: None,
) -> Quality:
    """How good a synthetic table is, measured against its train rows and test rows nobody trained on.

    Tables or frames; the schema is inferred from the train rows unless given. The options are those of
    `assess.evaluate.evaluate`. What it says is computed from real rows and is not private.
    """
    real = from_frame(train)
    return evaluate_tables(
        from_frame(synthetic),
        real,
        from_frame(test),
        infer_for_target(real, "train", target) if schema is None else schema,
        target=target,
        protected=protected,
        desired=desired,
        parts=parts,
        features=features,
        bins=bins,
        seed=seed,
        say=say,
    )


def infer_for_target(
    train: Table, name: str, target: str | None, *, drop: Sequence[str] = (), ids: Sequence[str] = ()
) -> Schema:
    """The schema inferred from train rows; a target that is not among their columns is left for `evaluate` to name."""
    label = target if target in train.names and target not in drop else None
    return infer_schema(train, name, label, drop=drop, ids=ids)


def unknown_data(program: Program) -> Diagnostic:
    """Data that is neither embedded nor a file."""
    names = [dataset.name for dataset in datasets.DATASETS]
    return Diagnostic(
        "unknown-data",
        f"there is no data set or file `{program.data}`",
        program.data_span,
        "not found",
        did_you_mean(program.data, names)
        or f"give a table with `--data` or a schema with `--schema`; embedded are {', '.join(names)}",
    )


def nothing_to_learn(schema: Schema) -> Diagnostic:
    """A table whose columns are all empty or identifiers."""
    return Diagnostic(
        "nothing-to-learn",
        f"`{schema.name}` has no column to learn",
        help="columns without values and identifiers are not learned; give a table with other columns",
    )


def reads_private_data(title: str, span: Span, help: str) -> Diagnostic:
    """Something beside a private program that looks at its rows."""
    label = "a promise that covers all that is told of its rows"
    return Diagnostic("reads-private-data", title, span, label, help, exit_code=PRIVACY)


def _beside(program: Program) -> Path | None:
    """The file a program names, looked for beside it and in the working directory."""
    for folder in (Path(program.source.name).parent, Path()):
        if (folder / program.data).is_file():
            return folder / program.data
    return None
