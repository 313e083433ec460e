"""What makes a mixture while it is learned: one protocol, one registry. A further backbone is one new file.

A package outside adds one by naming a module under the entry point group `cuts.backbones`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import entry_points
from typing import Protocol

from torch import Tensor

from cuts.config import Config, bad_setting
from cuts.model.mixture import Mixture
from cuts.text.diagnostic import CutsError


class Backbone(Protocol):
    """Parameters, and the mixture they make."""

    learning_rate: float  # one that works without tuning

    def parameters(self) -> list[Tensor]:
        """What training changes."""

    def mixture(self) -> Mixture:
        """A mixture that gradients flow through; one with randomness in it makes a fresh one at each call."""

    def settle(self) -> Mixture:
        """The finished mixture, without gradients."""


@dataclass(frozen=True, slots=True)
class Start:
    """All a backbone may know before training: the columns' own distributions and the settings, no rows."""

    one_way: Mapping[str, Tensor]  # by column, in order: its distribution over bins
    components: int
    smoothing: float
    seed: int
    device: str
    config: Config
    spread: float = 1.0  # of what is random at the start


BACKBONES: dict[str, Callable[[Start], Backbone]] = {}
_OWN = ("cuts.model.table", "cuts.model.neural")


def backbone(name: str) -> Callable[[Callable[[Start], Backbone]], Callable[[Start], Backbone]]:
    """Add what makes a backbone under `name`."""

    def add(make: Callable[[Start], Backbone]) -> Callable[[Start], Backbone]:
        taken = BACKBONES.get(name)
        if taken is not None:
            raise ValueError(f"backbone {name} of {make.__module__} is taken by {taken.__module__}")
        BACKBONES[name] = make
        return make

    return add


def backbones() -> Mapping[str, Callable[[Start], Backbone]]:
    """All backbones, those of other packages included."""
    for module in _OWN:
        import_module(module)
    for point in entry_points(group="cuts.backbones"):
        point.load()
    return BACKBONES


def find_backbone(name: str) -> Callable[[Start], Backbone]:
    """What makes the backbone of that name."""
    known = backbones()
    if name not in known:
        raise CutsError([bad_setting("backbone", name, " or ".join(f'"{each}"' for each in sorted(known)))])
    return known[name]


def make_backbone(start: Start) -> Backbone:
    """The backbone the settings ask for."""
    return find_backbone(start.config.backbone)(start)
