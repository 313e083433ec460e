"""The steps in order: read a program, find its schema and table, check, plan, verify.

The command line and the Python functions are two ways to walk them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from cuts import datasets
from cuts.count.sources import Rows, infer_streamed, rows_in, rows_of
from cuts.data.exchange.sources import read_table
from cuts.data.infer import infer_schema
from cuts.data.schema import Schema
from cuts.data.schema_file import read_schema
from cuts.data.table import Table
from cuts.lang.binder import refused_schema
from cuts.lang.parser import parse_source
from cuts.lang.syntax import Program
from cuts.privacy.reading import PrivateFile, PrivateFrame, PrivateRows
from cuts.text.diagnostic import CutsError, Diagnostic, did_you_mean
from cuts.text.files import read_text
from cuts.text.names import unknown_column
from cuts.text.source import Source


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
        raise CutsError([unknown_column(label, schema.name, schema.names)])
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


def _beside(program: Program) -> Path | None:
    """The file a program names, looked for beside it and in the working directory."""
    for folder in (Path(program.source.name).parent, Path()):
        if (folder / program.data).is_file():
            return folder / program.data
    return None
