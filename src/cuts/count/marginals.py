"""Counts of sets of columns, which add up: several files, sites or folds, and all rows minus a fold.

A table of counts is the joint histogram of a clique's bins. Counts of fewer columns are summed out of one that has
them, so only the largest sets need to be counted. How rows are counted is `count/kernel.py`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from safetensors import SafetensorError
from safetensors import numpy as tensors

from cuts.count.cover import Clique, Cover, in_order, sum_out
from cuts.data.exchange.streams import whole_or_nothing
from cuts.data.table import IntArray
from cuts.text.diagnostic import CutsError, Diagnostic, usage_error
from cuts.text.files import present

__all__ = ["Clique", "Marginals", "load", "save"]

FORMAT, VERSION = "cuts-counts", 1


@dataclass(frozen=True, slots=True, eq=False)
class Marginals:
    """How many of `rows` rows fall in each combination of bins, for every clique counted.

    >>> ages = Marginals({"age": 2}, {("age",): np.array([3, 1])}, 4, "codec")
    >>> (ages + ages).table(("age",)).tolist()
    [6, 2]
    """

    sizes: Mapping[str, int]  # number of bins of every modelled column, in codec order
    tables: Mapping[Clique, IntArray]  # shape: the sizes of the clique's columns; not to be written to
    rows: int
    codec: str  # fingerprint of the codec the rows were encoded with
    _cover: Cover = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if self.rows < 0:
            raise ValueError(f"there are no {self.rows} rows")
        tables = {clique: _checked(clique, counts, self) for clique, counts in self.tables.items()}
        object.__setattr__(self, "sizes", dict(self.sizes))
        object.__setattr__(self, "tables", tables)
        object.__setattr__(self, "_cover", Cover(tuple(tables), self.sizes))

    def __add__(self, other: Marginals) -> Marginals:
        """The counts of the rows of both."""
        return _combined(self, other, np.add, self.rows + other.rows)

    def __sub__(self, other: Marginals) -> Marginals:
        """The counts of these rows without the other ones; raises `ValueError` when those are not among them."""
        return _combined(self, other, np.subtract, self.rows - other.rows)

    def covers(self, clique: Iterable[str]) -> bool:
        """Whether `table` can give the counts of these columns."""
        names = tuple(clique)
        return not names or (len(set(names)) == len(names) and self._cover.smallest(names) is not None)

    def table(self, clique: Iterable[str]) -> IntArray:
        """The counts of these columns, one axis each, in the order asked for; of no columns, the number of rows.

        They are summed out of the smallest table counted that has them; `KeyError` if there is none.
        """
        names = tuple(clique)
        if not names:
            return np.array(self.rows, dtype=np.int64)
        held = self._cover.smallest(in_order(names, self.sizes))
        if held is None:
            raise KeyError(f"the columns {', '.join(names)} were not counted together")
        return sum_out(self.tables[held], held, names)


def save(marginals: Marginals, path: Path | str) -> None:
    """Write the counts to one file, whole or not at all; `load` gives them back."""
    named = {str(place): counts for place, counts in enumerate(marginals.tables.values())}
    facts = {
        "format": FORMAT,
        "version": str(VERSION),
        "rows": str(marginals.rows),
        "codec": marginals.codec,
        "sizes": json.dumps(list(marginals.sizes.items())),
        "cliques": json.dumps(list(marginals.tables)),
    }
    data = tensors.save(named, {**facts, "sha256": _hash(facts, named)})
    with whole_or_nothing(Path(path)) as stream:
        stream.write(data)


def load(path: Path | str) -> Marginals:
    """The counts in a file that `save` wrote; a `CutsError` for any other, or a damaged one."""
    path = Path(path)
    present(path, "file of counts")
    try:
        data = path.read_bytes()
    except OSError as error:
        raise usage_error("unreadable-file", f"{path} cannot be read: {error.strerror}") from None
    try:
        named = tensors.load(data)
        facts = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")]).get("__metadata__", {})
    except (SafetensorError, ValueError, KeyError, RecursionError):
        raise no_counts(path) from None
    if facts.get("format") != FORMAT:
        raise no_counts(path)
    if facts.get("version") != str(VERSION):
        raise newer_counts(path)
    try:
        return _read(facts, named)
    except (ValueError, KeyError, TypeError, RecursionError):
        raise damaged_counts(path) from None


def _read(facts: Mapping[str, str], named: Mapping[str, IntArray]) -> Marginals:
    kept = {name: text for name, text in facts.items() if name != "sha256"}
    if facts["sha256"] != _hash(kept, named):
        raise ValueError("the contents changed")
    cliques = [tuple(names) for names in json.loads(facts["cliques"])]
    tables = {clique: named[str(place)] for place, clique in enumerate(cliques)}
    return Marginals(dict(json.loads(facts["sizes"])), tables, int(facts["rows"]), facts["codec"])


def _hash(facts: Mapping[str, str], named: Mapping[str, IntArray]) -> str:
    found = hashlib.sha256(json.dumps(facts, sort_keys=True).encode())
    for name in sorted(named):
        found.update(f"{name} {named[name].dtype} {named[name].shape}".encode())
        found.update(np.asarray(named[name], order="C").tobytes())
    return found.hexdigest()


def _checked(clique: Clique, counts: IntArray, marginals: Marginals) -> IntArray:
    """The counts, not to be written to; `ValueError` unless they are of that clique and those rows."""
    if in_order(clique, marginals.sizes) != clique:
        raise ValueError(f"the columns of {clique} are not in the codec's order")
    shape = tuple(marginals.sizes[name] for name in clique)
    if counts.shape != shape or counts.dtype != np.int64:
        raise ValueError(f"counts of {clique} are {counts.dtype} of shape {counts.shape}, not int64 of shape {shape}")
    if counts.size and counts.min() < 0:
        raise ValueError(f"a count of {clique} is negative")
    if counts.sum() != marginals.rows:
        raise ValueError(f"the counts of {clique} add up to {counts.sum()}, not to {marginals.rows} rows")
    kept: IntArray = np.asarray(counts).view()  # arithmetic makes a scalar of a table of no columns
    kept.flags.writeable = False
    return kept


def _combined(
    one: Marginals, other: Marginals, combine: Callable[[IntArray, IntArray], IntArray], rows: int
) -> Marginals:
    if one.codec != other.codec or dict(one.sizes) != dict(other.sizes):
        raise ValueError(f"these counts are of different codecs: {one.codec[:12]} and {other.codec[:12]}")
    differing = set(one.tables) ^ set(other.tables)
    if differing:
        raise ValueError(f"only one of these counts has {min(differing)}, and {len(differing) - 1} more differ")
    tables = {clique: combine(counts, other.tables[clique]) for clique, counts in one.tables.items()}
    for clique, counts in tables.items():
        if counts.min() < 0:
            raise ValueError(f"the counts to take away are larger for {clique}: their rows are not among these")
    return Marginals(one.sizes, tables, rows, one.codec)


# --- what is wrong


def no_counts(path: Path) -> CutsError:
    """A file of something else."""
    return _bad(f"{path} is no file of counts, or a damaged one", "give a file that was saved as counts")


def newer_counts(path: Path) -> CutsError:
    """A file a later version wrote."""
    return _bad(f"{path} was written by another version of cuts", "install the version that wrote it, or count again")


def damaged_counts(path: Path) -> CutsError:
    """A file of counts whose contents are not what was written."""
    return _bad(f"{path} is damaged: its counts are not those that were saved", "copy the file again, or count again")


def _bad(title: str, help: str) -> CutsError:
    return CutsError([Diagnostic("bad-counts", title, help=help)])
