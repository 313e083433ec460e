"""Results on disk: one file of JSON lines per study, to which every finished measurement is appended at once.

A run that was interrupted continues with the keys that have no line yet. A later line of the same key replaces an
earlier one, and an incomplete last line is ignored.
"""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

LIBRARIES = ("cuts", "torch", "numpy", "scikit-learn", "xgboost-cpu", "xgboost")


@dataclass(frozen=True, slots=True)
class Records:
    """The results in a folder."""

    folder: Path

    def path(self, file: str) -> Path:
        """Where the results of a study are."""
        return self.folder / f"{file}.jsonl"

    def read(self, file: str) -> dict[str, dict[str, Any]]:
        """The results of a study by key."""
        path = self.path(file)
        if not path.exists():
            return {}
        return {each["key"]: each for each in _lines(path)}

    def runs(self, file: str, name: str) -> dict[str, list[dict[str, Any]]]:
        """The results of keys such as `magic/cart/0` by their second part, for one first part."""
        found: dict[str, list[dict[str, Any]]] = {}
        for key, run in self.read(file).items():
            first, second, _ = key.split("/")
            if first == name:
                found.setdefault(second, []).append(run)
        return found

    def append(self, file: str, key: str, result: dict[str, Any]) -> None:
        """Add the result of a key, in one write, so that processes do not mix their lines."""
        self.folder.mkdir(parents=True, exist_ok=True)
        line = json.dumps({"key": key, **rounded(result), "made": made()}) + "\n"
        handle = os.open(self.path(file), os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            os.write(handle, line.encode())
        finally:
            os.close(handle)


def rounded(value: Any) -> Any:
    """The same with floats of six significant digits.

    >>> rounded({"tv": [0.000123456789], "rows": 800})
    {'tv': [0.000123457], 'rows': 800}
    """
    match value:
        case dict():
            return {name: rounded(each) for name, each in value.items()}
        case list() | tuple():
            return [rounded(each) for each in value]
        case float():
            return float(f"{value:.6g}")
        case _:
            return value


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            yield json.loads(line)
        except ValueError:
            continue  # the process was stopped while it wrote


def made() -> dict[str, str]:
    """When and with which versions a result was made."""
    return {"date": time.strftime("%Y-%m-%d"), **_versions()}


@cache
def _versions() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for library in LIBRARIES:
        try:
            found[library] = version(library)
        except PackageNotFoundError:
            continue
    return found
