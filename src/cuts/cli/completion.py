"""What the shell completes after Tab: programs, tables, presets, codes and names of embedded tables.

Each function takes what is written so far and returns the names and files that can stand there. Folders are left to the
shell, which completes paths by itself where nothing is returned.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from cuts import datasets
from cuts.config import PRESETS
from cuts.data.exchange.streams import kind_of
from cuts.text import pages


def programs(incomplete: str) -> list[str]:
    """Programs."""
    return _paths(incomplete, lambda path: path.suffix == ".cuts")


def tables(incomplete: str) -> list[str]:
    """The embedded tables, then table files."""
    return [*_starting(incomplete, data_sets("")), *_paths(incomplete, lambda path: kind_of(path) is not None)]


def schemas(incomplete: str) -> list[str]:
    """Files that can be schemas."""
    return _paths(incomplete, lambda path: path.suffix in (".toml", ".json"))


def settings_files(incomplete: str) -> list[str]:
    """Files that can be settings."""
    return _paths(incomplete, lambda path: path.suffix == ".toml")


def models(incomplete: str) -> list[str]:
    """Models."""
    return _paths(incomplete, lambda path: path.suffix == ".synth")


def data_sets(incomplete: str) -> list[str]:
    """The embedded tables."""
    return _starting(incomplete, (dataset.name for dataset in datasets.DATASETS))


def presets(incomplete: str) -> list[str]:
    """The names of settings."""
    return _starting(incomplete, PRESETS)


def codes(incomplete: str) -> list[str]:
    """The codes of errors and warnings."""
    return _starting(incomplete, pages.codes())


def _starting(incomplete: str, names: Iterable[str]) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]


def _paths(incomplete: str, fits: Callable[[Path], bool]) -> list[str]:
    folder, _, begun = incomplete.rpartition("/")
    place = Path(folder or ("/" if incomplete.startswith("/") else ".")).expanduser()
    lead = incomplete[: len(incomplete) - len(begun)]
    try:
        found = sorted(path for path in place.iterdir() if path.name.startswith(begun))
        return [f"{lead}{path.name}" for path in found if path.is_file() and fits(path)]
    except OSError:
        return []
