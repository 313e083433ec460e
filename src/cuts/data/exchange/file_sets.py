"""One table in several files: the same columns in each, read one file after the other.

The types of a column are decided over all files together. In text files all cells decide, as if they were in one file;
in Parquet and Feather files the types must be compatible, and the widest is used. A set of JSON lines files may lack
columns in some files, like single lines of one file.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa

from cuts.data.exchange import csv_file, jsonl_file
from cuts.data.exchange.csv_dialect import DETECT_ALL, CsvOptions
from cuts.data.exchange.files import FileForm, open_blocks, scan, schema_of
from cuts.data.exchange.joint_types import as_type, joint_type
from cuts.data.exchange.readable import check_rows, check_same_columns, unreadable
from cuts.data.exchange.recast import computable
from cuts.data.exchange.streams import Kind, check_filled
from cuts.data.table import Table
from cuts.text.diagnostic import CutsError


@dataclass(frozen=True, slots=True)
class FileSet:
    """Files that hold one table: how the first is written, with the types of all, and how each is read."""

    form: FileForm
    parts: tuple[tuple[Path, FileForm], ...]

    def blocks(self, only: Collection[str] | None = None, *, coded: bool = False) -> Iterator[Table]:
        """The rows of all files in order, in blocks of at most 65,536 rows; raises `CutsError` if there are none.

        `only` and `coded` are those of `open_blocks`; texts are dictionaries in the blocks of some files only.
        """
        rows = 0
        for path, form in self.parts:
            with open_blocks(path, form, only=only, coded=coded) as (_, batches):
                for batch in batches:
                    rows += batch.num_rows
                    yield Table(computable(self._arranged(path, form, batch)))
        check_rows(rows, f"{self.parts[0][0]} and the files after it")

    def _arranged(self, path: Path, form: FileForm, batch: pa.RecordBatch) -> pa.Table:
        """The columns in the order and types of the set."""
        columns = []
        fields = [field for field in self.form.schema if field.name in batch.schema.names]
        for field in fields:
            column = pa.chunked_array([batch.column(field.name)])
            scanned = form.schema.field(field.name).type
            if _plain(column.type) != _plain(scanned):
                raise unreadable(
                    f"{path}: the type of the column `{field.name}` has changed from {scanned} to {column.type}",
                    "start again when nothing writes to the files",
                )
            columns.append(column if scanned == field.type else _converted(path, field, column))
        return pa.table(columns, names=[field.name for field in fields])


def scan_set(paths: Sequence[Path], csv: CsvOptions = DETECT_ALL) -> FileSet:
    """The files as one table; text files are read completely for the types of their columns, in constant memory.

    Raises `CutsError` naming the file and the column in which a file differs from the first.
    """
    kind = _common_kind(paths)
    match kind:
        case "csv":
            return _scan_csv(paths, csv)
        case "jsonl":
            formats = jsonl_file.find_formats(*paths)
            forms = [FileForm(kind, check_filled(path)[1], schema_of(formats), formats=formats) for path in paths]
            return FileSet(forms[0], tuple(zip(paths, forms, strict=True)))
        case "parquet" | "feather":
            return _scan_typed(paths)


def _common_kind(paths: Sequence[Path]) -> Kind:
    kinds = [check_filled(path)[0] for path in paths]
    for path, kind in zip(paths, kinds, strict=True):
        if kind != kinds[0]:
            raise unreadable(
                f"{path} is a {kind} file, but {paths[0]} is a {kinds[0]} file", "name files of one kind only"
            )
    return kinds[0]


def _scan_csv(paths: Sequence[Path], csv: CsvOptions) -> FileSet:
    headers, formats = csv_file.scan_together(paths, csv)
    forms = []
    for path, (dialect, names) in zip(paths, headers, strict=True):
        own = {name: formats[name] for name in names}  # in the order of this file
        forms.append(FileForm("csv", check_filled(path)[1], schema_of(own), dialect=dialect, formats=own))
    return FileSet(forms[0], tuple(zip(paths, forms, strict=True)))


def _scan_typed(paths: Sequence[Path]) -> FileSet:
    forms = [scan(path) for path in paths]
    first = forms[0].schema
    for path, form in zip(paths, forms, strict=True):
        check_same_columns(path, form.schema.names, paths[0], first.names)
    fields = [first.field(name).with_type(_joint(name, paths, forms)) for name in first.names]
    joint = replace(forms[0], schema=pa.schema(fields, first.metadata))
    return FileSet(joint, tuple(zip(paths, forms, strict=True)))


def _joint(name: str, paths: Sequence[Path], forms: Sequence[FileForm]) -> pa.DataType:
    """The type that holds the values of a column in all files."""
    kinds = [form.schema.field(name).type for form in forms]
    joint = kinds[0]
    for path, kind in zip(paths, kinds, strict=True):
        both = joint_type(joint, kind)
        if both is None:
            raise other_type(path, name, kind, joint)
        joint = both
    return joint


def _converted(path: Path, field: pa.Field, column: pa.ChunkedArray) -> pa.ChunkedArray:
    try:
        return as_type(column, field.type)
    except pa.ArrowException:
        kinds = f"{column.type} there and {field.type} in other files"
        raise unreadable(
            f"{path}: the column `{field.name}` has values that do not fit: it is of type {kinds}",
            f"give `{field.name}` the same type in all files",
        ) from None


def _plain(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def other_type(path: Path, name: str, kind: pa.DataType, joint: pa.DataType) -> CutsError:
    """A column of a type that is not compatible with its type in the files before."""
    return unreadable(
        f"{path}: the column `{name}` is of type {kind}, but of type {joint} in the files before it",
        f"give `{name}` the same type in all files",
    )
