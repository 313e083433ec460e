"""What makes a mixture while it is learned: one protocol, one registry. A further backbone is one new file.

Every module of `cuts/model/backbones/` is loaded; a package outside adds a backbone by naming its module under the
entry point group `cuts.backbones`. Only the fit uses the backbone of the settings: whatever refits a finished mixture
(row rules, goals met by training) learns its tables directly, with the backbone `table`.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, is_dataclass
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from types import MappingProxyType
from typing import Any, Protocol, TypeVar, get_args, get_type_hints

import msgspec
from torch import Tensor

from cuts.config import Config, bad_setting
from cuts.model.mixture import Mixture
from cuts.text.diagnostic import USAGE, CutsError, Diagnostic, listed

_Options = TypeVar("_Options")


class Backbone(Protocol):
    """Parameters, and the mixture they make."""

    learning_rate: float  # one that works without tuning

    def parameters(self) -> list[Tensor]:
        """The tensors that training changes."""

    def mixture(self) -> Mixture:
        """A mixture that gradients flow through; a random backbone returns a new one at each call."""

    def settle(self) -> Mixture:
        """The finished mixture, in float64 on the CPU, without gradients."""


@dataclass(frozen=True, slots=True)
class Start:
    """All a backbone may know before training: the columns' own distributions and the settings, no rows."""

    one_way: Mapping[str, Tensor]  # by column, in order: its distribution over bins
    components: int
    smoothing: float
    seed: int
    device: str
    config: Config
    spread: float = 1.0  # standard deviation of what is random at the start


@dataclass(frozen=True, slots=True)
class NoOptions:
    """The options of a backbone that has none."""


@dataclass(frozen=True, slots=True)
class BackboneKind:
    """One entry of the registry."""

    name: str
    make: Callable[[Start], Backbone]
    options: type[Any] = NoOptions  # a frozen dataclass with a default for every field
    thread_safe: bool = False  # whether fits in several threads of one process give the same as one after the other


_REGISTRY: dict[str, BackboneKind] = {}


def backbone(
    name: str, *, options: type[Any] = NoOptions, thread_safe: bool = False
) -> Callable[[Callable[[Start], Backbone]], Callable[[Start], Backbone]]:
    """Register a function or class that makes a backbone under `name`.

    `options` is a frozen dataclass of its own settings, which `[backbone_options]` in the settings fills: see
    `read_options`. `thread_safe` states that fits may run in several threads at once.
    """
    assert is_dataclass(options), f"the options of backbone {name} are no dataclass"

    def add(make: Callable[[Start], Backbone]) -> Callable[[Start], Backbone]:
        taken = _REGISTRY.get(name)
        if taken is not None:
            raise ValueError(f"backbone {name} of {make.__module__} is taken by {taken.make.__module__}")
        _REGISTRY[name] = BackboneKind(name, make, options, thread_safe)
        return make

    return add


def backbones() -> Mapping[str, BackboneKind]:
    """All backbones by name, those of other packages included."""
    _load()
    return MappingProxyType(_REGISTRY)


def find_backbone(config: Config) -> BackboneKind:
    """The backbone the settings name; a `CutsError` if there is none, or if its options are wrong."""
    registered = backbones()
    if config.backbone not in registered:
        names = " or ".join(f'"{name}"' for name in sorted(registered))
        raise CutsError([bad_setting("backbone", config.backbone, names)])
    kind = registered[config.backbone]
    read_options(config, kind.options)
    return kind


def make_backbone(start: Start) -> Backbone:
    """A new backbone of the kind the settings name."""
    return find_backbone(start.config).make(start)


def read_options(config: Config, options: type[_Options]) -> _Options:
    """The backbone's own options in the settings; all that is wrong with them is one `CutsError`.

    A field `Annotated[int, msgspec.Meta(ge=2, description="a whole number from 2")]` is checked against its limits, and
    the description is what the error says.
    """
    hints = get_type_hints(options, include_extras=True)
    problems = [
        _unknown_option(name, config.backbone, [*hints]) for name in config.backbone_options if name not in hints
    ]
    for name, value in config.backbone_options.items():
        if name in hints and not _fits(value, hints[name]):
            problems.append(bad_setting(name, value, _describe(hints[name])))
    if problems:
        raise CutsError(problems)
    return options(**{name: msgspec.convert(value, hints[name]) for name, value in config.backbone_options.items()})


def _fits(value: object, hint: Any) -> bool:
    try:
        msgspec.convert(value, hint)
    except msgspec.ValidationError:
        return False
    return True


def _describe(hint: Any) -> str:
    """What a value may be, in words."""
    described = [part.description for part in get_args(hint) if isinstance(part, msgspec.Meta) and part.description]
    if described:
        return described[0]
    return "true or false" if hint is bool else f"of the type `{getattr(hint, '__name__', hint)}`"


def _unknown_option(name: str, backbone_name: str, names: list[str]) -> Diagnostic:
    """An option that the backbone does not have."""
    there = f"the options of `{backbone_name}` are {listed(names, limit=len(names))}" if names else "it has no options"
    title = f"the backbone `{backbone_name}` has no option `{name}`"
    return Diagnostic("bad-config", title, help=there, exit_code=USAGE)


@cache
def _load() -> None:
    """Import the modules of our own backbones, and those named by other packages."""
    from cuts.model import backbones as package

    for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
        import_module(module.name)
    for entry in entry_points(group="cuts.backbones"):
        entry.load()
