"""Every name the language knows, and its canonical spelling."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from functools import cache
from importlib.metadata import entry_points
from types import MappingProxyType

from cuts.vocab.functions import NAMED_FUNCTIONS
from cuts.vocab.registry import MEASURES, STATISTICS, Measure, Statistic

DEPRECATED = {"DOWNSTREAM_ACCUARCY": "DOWNSTREAM_ACCURACY"}
DISTRIBUTION = "DIST"  # compared with shares, not with a number, so it has no formula of its own


@cache
def statistics() -> Mapping[str, Statistic]:
    """All statistics by name, those of other packages included; read-only."""
    _load()
    return MappingProxyType(STATISTICS)


@cache
def measures() -> Mapping[str, Measure]:
    """All measures by name, those of other packages included; read-only."""
    _load()
    return MappingProxyType(MEASURES)


def fairness_measures() -> tuple[Measure, ...]:
    """The measures of FAIRNESS commands, those of this package first."""
    return tuple(measure for measure in measures().values() if measure.kind == "FAIRNESS")


def canonical(name: str) -> str:
    """The spelling `cuts fmt` prints; an unknown name stays as it is.

    >>> canonical("Var"), canonical("MAX"), canonical("DOWNSTREAM_ACCUARCY"), canonical("foo")
    ('VAR', 'max', 'DOWNSTREAM_ACCURACY', 'foo')
    """
    upper = name.upper()
    if upper in DEPRECATED:
        return DEPRECATED[upper]
    if upper in statistics() or upper in measures() or upper == DISTRIBUTION:
        return upper
    return name.lower() if name.lower() in NAMED_FUNCTIONS else name


@cache
def _load() -> None:
    from cuts.vocab import measures, statistics

    for package in (statistics, measures):
        for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
            importlib.import_module(module.name)
    for entry in entry_points(group="cuts.vocabulary"):
        entry.load()
