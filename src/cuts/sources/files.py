"""Files on this machine: CSV, Parquet, Feather and JSON lines, also compressed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from cuts.count.rows import FileRows, rows_in
from cuts.data.exchange.csv_dialect import CsvOptions
from cuts.privacy.reading import PrivateFile
from cuts.sources.registry import SourceKind, add_source


@dataclass(frozen=True, slots=True)
class FileSource:
    """The rows of a file."""

    path: Path
    csv: CsvOptions = CsvOptions()

    @property
    def name(self) -> str:
        """The file's name without its endings."""
        return self.path.name.split(".")[0]

    @property
    def schema(self) -> None:
        """None: a file comes without a schema."""
        return None

    @property
    def paths(self) -> tuple[Path, ...]:
        """The file itself."""
        return (self.path,)

    def rows(self) -> FileRows:
        """The rows; a text file is scanned here for the types of its columns."""
        return rows_in(self.path, csv=self.csv)

    def private_rows(self) -> PrivateFile:
        """The rows as the trusted core reads them, each line by itself."""
        return PrivateFile(self.path, self.csv.delimiter, self.csv.quote, self.csv.encoding)


def _is_path(data: object) -> bool:
    return isinstance(data, str | Path)


add_source(SourceKind("file", _is_path, lambda data, csv: FileSource(Path(data), csv), is_fallback=True))
