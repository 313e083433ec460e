"""The fine level: the value of a number inside its bin, given the rest of the row.

The mixture decides the bins of a row, and with them everything that rules, statistics and privacy are about. Below it a
fine level chooses the values inside the bins. It is a replaceable part: one protocol here, one registry; `trees` is the
default (`model/fine_trees.py`), and without one, values are drawn from each bin independently of the rest of the row.
Private models have none: it is learned from rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from cuts.config import Config, bad_setting
from cuts.data.codec import Codec, Codes, NumericBins
from cuts.data.refine import Split
from cuts.data.table import Bools, Floats, IntArray
from cuts.logic.atoms import same_forms
from cuts.model import fine_trees
from cuts.model.draw import Drawn, Supply
from cuts.model.fine_trees import FineRows
from cuts.text.diagnostic import CutsError

MAX_DRAWS = 4  # of the values of a row, until they satisfy the conditions that its bins were drawn for
NONE = "none"


class FineLevel(Protocol):
    """Draws values inside bins."""

    def draw(self, codes: Codes, codec: Codec, rng: np.random.Generator) -> dict[str, Floats]:
        """The values of some or all numeric columns of rows given as bins; NaN where a value is missing."""

    def arrays(self) -> dict[str, IntArray | Floats]:
        """All it consists of, as arrays by name; they hold no rows."""


@dataclass(frozen=True, slots=True)
class FineKind:
    """How a fine level is learned from rows with a seed, and how it is read from its arrays."""

    learn: Callable[[FineRows, Codec, int], FineLevel]
    read: Callable[[Mapping[str, IntArray | Floats], Codec], FineLevel]


FINE_LEVELS: Mapping[str, FineKind] = {"trees": FineKind(fine_trees.learn, fine_trees.read)}


def find_fine(config: Config) -> FineKind | None:
    """The fine level that the settings name; a `CutsError` if there is none of that name."""
    if config.fine == NONE:
        return None
    if config.fine not in FINE_LEVELS:
        names = " or ".join(f'"{name}"' for name in (*FINE_LEVELS, NONE))
        raise CutsError([bad_setting("fine", config.fine, names)])
    return FINE_LEVELS[config.fine]


@dataclass(frozen=True, slots=True, eq=False)
class FineDraw:
    """Draws the values inside bins: the fine level over the model's own bins, and the bins that rows are drawn in.

    The latter may be finer, because a condition splits them; `splits` says how.
    """

    level: FineLevel
    own: Codec
    codec: Codec
    splits: Mapping[str, Split]

    def values(self, drawn: Drawn, source: Supply, rng: np.random.Generator) -> dict[str, Floats]:
        """The values of the rows' numbers.

        The values of a row are drawn again if they leave its bins, or decide a comparison between columns differently
        than its bins were drawn for; after `MAX_DRAWS` draws, those that still do are replaced by independent ones.
        """
        codes = {name: self.splits[name].owner[c] if name in self.splits else c for name, c in drawn.codes.items()}
        values = self.level.draw(codes, self.own, rng)
        for _ in range(MAX_DRAWS - 1):
            kept = list(self._fits(values, drawn, source).values())
            again: IntArray = np.flatnonzero(~np.logical_and.reduce(kept)) if kept else np.zeros(0, dtype=np.int64)
            if not len(again):
                break
            some = self.level.draw({name: column[again] for name, column in codes.items()}, self.own, rng)
            for name, numbers in some.items():
                values[name][again] = numbers
        rest = self._fallback(values, drawn, rng)
        for names, fits in self._fits(values, drawn, source).items():
            for name in (name for name in names if name in values):
                values[name] = np.where(fits, values[name], rest[name])
        return {**drawn.values, **values}

    def _fits(self, values: Mapping[str, Floats], drawn: Drawn, source: Supply) -> dict[tuple[str, ...], Bools]:
        """By columns, the rows whose values lie in their bins and decide comparisons as they were drawn for."""
        fits: dict[tuple[str, ...], Bools] = {}
        for atoms, _ in source.groups.values():
            names = atoms.group.columns
            new = [values.get(name, drawn.values[name]) for name in names]
            same = same_forms(atoms, new, [drawn.values[name] for name in names])
            fits[names] = np.logical_and.reduce([same, *(self._in_bin(name, values, drawn) for name in names)])
        grouped = {name for names in fits for name in names}
        return fits | {(name,): self._in_bin(name, values, drawn) for name in self.splits if name not in grouped}

    def _in_bin(self, name: str, values: Mapping[str, Floats], drawn: Drawn) -> Bools:
        """The rows whose value of a column lies in the bin drawn."""
        bins = self.codec[name]
        if name not in self.splits or name not in values or not isinstance(bins, NumericBins):
            return np.ones(len(drawn.codes[name]), dtype=np.bool_)
        place = np.searchsorted(np.array(bins.edges), values[name], side="right") - 1
        fits: Bools = np.isnan(values[name]) | (place == drawn.codes[name])
        return fits

    def _fallback(self, values: Mapping[str, Floats], drawn: Drawn, rng: np.random.Generator) -> dict[str, Floats]:
        """Values that fit in any case: those drawn with the bins, or others of the same bin."""
        rest = dict(drawn.values)
        for name in values:
            if name not in rest and name in self.splits:
                bins = self.codec[name]
                assert isinstance(bins, NumericBins)
                absent = drawn.codes[name] >= bins.numbers
                numbers = bins.contents.draw(np.where(absent, 0, drawn.codes[name]), rng)
                rest[name] = np.where(absent, np.nan, numbers)
        return rest
