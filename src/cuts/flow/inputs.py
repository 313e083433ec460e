"""What a run starts from: the program, the source of its rows, and their schema."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from cuts import datasets
from cuts.data.exchange.csv_dialect import CsvOptions
from cuts.data.infer import infer_schema
from cuts.data.middles import with_middles
from cuts.data.schema import Schema
from cuts.data.schema_file import read_schema
from cuts.data.table import Table
from cuts.lang.binder import refused_schema
from cuts.lang.parser import parse, parse_source
from cuts.lang.rewrite import nodes
from cuts.lang.syntax import Program, Settings, Stat
from cuts.sources.files import has_files
from cuts.sources.registry import Source, open_beside, open_source
from cuts.text.diagnostic import CutsError, Diagnostic, did_you_mean, listed
from cuts.text.files import read_text
from cuts.text.names import unknown_column
from cuts.text.source import Source as Text

IMITATE = "SYNTHESIZE: table; END;"  # the program that asks for nothing


def read_program(program: str | Path | Program | None) -> Program:
    """The program at a path or in a text, which is a path if it ends in `.cuts`; none asks for nothing."""
    if isinstance(program, Program):
        return program
    if program is None:
        return parse(IMITATE)
    if isinstance(program, Path) or program.strip().endswith(".cuts"):
        return parse_source(Text(str(program), read_text(Path(program), "program")))
    return parse(program)


def find_source(program: Program, data: Any = None, csv: CsvOptions = CsvOptions()) -> Source:
    """Where a program's rows are: the data given, else the data set or file the program names. Nothing is read."""
    if data is not None:
        return open_source(data, csv)
    source = _named(program, csv)
    if source is None:
        raise CutsError([unknown_data(program)], program.source)
    return source


def find_schema(
    program: Program, schema: Schema | Path | str | None = None, source: Source | None = None, label: str | None = None
) -> Schema | None:
    """The schema that is known before any row is read: the one given, or the schema of an embedded table; else none.

    A private program without one is refused: inferring it would read the rows.
    """
    embedded = datasets.find(program.data)
    if isinstance(schema, Schema):
        known = schema
    elif schema is not None:
        known = read_schema(schema)
    elif embedded is not None:
        known = datasets.load_schema(embedded)
    elif source is not None and source.schema is not None:
        known = source.schema
    else:
        refused = refused_schema(program, None)
        if refused is not None:
            raise CutsError([refused], program.source)
        return None
    declared = replace(known, middles=())  # of the rows of another fit, if the schema comes from one
    return declared if label is None else with_label(declared, label)


def table_name(program: Program) -> str:
    """What an inferred schema is called: the data the program names, without folder and ending."""
    return source_name(program.data)


def source_name(data: Any) -> str:
    """What the table at a location is called."""
    return open_source(data).name


def with_label(schema: Schema, label: str) -> Schema:
    """The schema with another column to predict."""
    if label not in schema:
        raise CutsError([unknown_column(label, schema.name, schema.names)])
    return replace(schema, label=label)


def open_table(data: Any, csv: CsvOptions = CsvOptions()) -> Table:
    """All rows of a location or object as one table."""
    return all_rows(open_source(data, csv))


def all_rows(source: Source) -> Table:
    """All rows of a source as one table."""
    return Table.join(list(source.rows().blocks()))


def schema_for_table(
    program: Program,
    schema: Path | None,
    table: Table | None,
    *,
    real: Table | None = None,
    fitted: Schema | None = None,
) -> Schema:
    """The schema that a program is bound to beside a table: a known one, else inferred from the rows it names.

    Default tolerances follow from the `real` rows, else from those that a `fitted` model has seen, else from those read
    for the schema or of an embedded table; never from the rows of a private program.
    """
    known, rows = find_schema(program, schema), real
    if known is not None and any(isinstance(command.body, Settings) for command in program.commands):
        return known
    if known is None:
        source = _named(program)
        if source is None and table is None:
            raise CutsError([unknown_data(program)], program.source)
        named = None if source is None else all_rows(source)
        inferred_from = named if named is not None else table
        assert inferred_from is not None
        known, rows = infer_schema(inferred_from, table_name(program)), real if real is not None else named
    elif rows is None and fitted is None and datasets.find(program.data) is not None and _states_statistics(program):
        rows = open_table(program.data)
    if fitted is not None and real is None:
        return replace(known, middles=tuple(pair for pair in fitted.middles if pair[0] in known))
    return known if rows is None else with_middles(known, rows)


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
        or f"give a table with `--data` or a schema with `--schema`; the embedded tables are {listed(names)}",
    )


def _states_statistics(program: Program) -> bool:
    return any(isinstance(node, Stat) for node in nodes(program.statements))


def _named(program: Program, csv: CsvOptions = CsvOptions()) -> Source | None:
    """The source that a program names; files are looked for beside it and in the working directory."""
    folder = Path(program.source.name).parent
    if datasets.find(program.data) is not None:
        return open_source(program.data, csv)
    source = open_beside(program.data, folder, csv)
    if source is not None:
        return source
    found = next((place / program.data for place in (folder, Path()) if has_files(place / program.data)), None)
    return None if found is None else open_source(found, csv)
