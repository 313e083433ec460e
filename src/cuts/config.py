"""How to train and draw, as opposed to what to ask: the settings of a run, read from a TOML file.

Every setting has a default that works; `None` means "decided from the table". An unknown key is an error.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Literal

from cuts.text.diagnostic import USAGE, CutsError, Diagnostic, did_you_mean, listed, usage_error
from cuts.text.files import read_text

Drawing = Literal["systematic", "independent"]


@dataclass(frozen=True, slots=True)
class Config:
    """The settings of a fit and of the rows drawn from it.

    >>> Config(steps=300).backbone
    'table'
    """

    backbone: str = "table"  # what makes the mixture: `table`, `neural`, or an added one
    components: int | None = None  # products in the mixture
    smoothing: float | None = None  # share of every component that is the columns' own distributions
    steps: int = 1200  # at most; fewer when the error no longer falls
    learning_rate: float | None = None  # the backbone's own
    slices: int = 1  # conditional tables looked at in a step beside those of the label
    bins: int | None = None  # of numeric columns, instead of the schema's
    binning: Literal["quantile", "uniform"] | None = None  # instead of the schema's
    gumbel: bool = False  # neural only: train on hard rows, as the paper does
    batch: int = 2000  # neural only: components made in a step
    drawing: Drawing = "systematic"
    device: str = "auto"  # `cpu`, `cuda`, `mps`, or the best there is
    threads: int | None = None  # of the linear algebra; otherwise one, or all cores for large tables

    def __post_init__(self) -> None:
        problems = [
            bad_setting(name, asdict(self)[name], wanted)
            for name, (wanted, fine) in _WANTED.items()
            if not fine(asdict(self)[name])
        ]
        if problems:
            raise CutsError(problems)


def read_config(path: Path | str) -> Config:
    """The settings in a TOML file; all that is wrong in it at once."""
    path = Path(path)
    try:
        found = tomllib.loads(read_text(path, "config"))
    except (ValueError, RecursionError) as error:  # the decoder's own is a kind of ValueError
        raise usage_error("bad-config", f"{path} is not TOML: {str(error)[:200]}") from None
    return config_from(found)


def config_from(given: Mapping[str, Any]) -> Config:
    """The settings of a mapping."""
    names = [field.name for field in fields(Config)]
    unknown = [
        Diagnostic(
            "bad-config",
            f"there is no setting `{name}`",
            help=did_you_mean(name, names) or f"the settings are {listed(names, limit=len(names))}",
            exit_code=USAGE,
        )
        for name in given
        if name not in names
    ]
    try:
        made = Config(**{name: value for name, value in given.items() if name in names})
    except CutsError as error:
        raise CutsError([*unknown, *error.diagnostics]) from None
    if unknown:
        raise CutsError(unknown)
    return made


def bad_setting(name: str, value: object, wanted: str) -> Diagnostic:
    """A setting that cannot be used."""
    return Diagnostic("bad-config", f"the setting `{name}` is {value!r}", help=f"`{name}` is {wanted}", exit_code=USAGE)


def _whole(least: int, most: int) -> Callable[[object], bool]:
    return lambda value: isinstance(value, int) and not isinstance(value, bool) and least <= value <= most


def _number(least: float, most: float) -> Callable[[object], bool]:
    return lambda value: isinstance(value, int | float) and not isinstance(value, bool) and least <= value <= most


def _maybe(fine: Callable[[object], bool]) -> Callable[[object], bool]:
    return lambda value: value is None or fine(value)


def _one_of(*words: str) -> Callable[[object], bool]:
    return lambda value: value in words


_WANTED: dict[str, tuple[str, Callable[[object], bool]]] = {
    "backbone": ("the name of a backbone", lambda value: isinstance(value, str)),
    "components": ("a whole number from 1 to 100,000", _maybe(_whole(1, 100_000))),
    "smoothing": ("a number from 0 to 0.9", _maybe(_number(0.0, 0.9))),
    "steps": ("a whole number from 1 to 1,000,000", _whole(1, 1_000_000)),
    "learning_rate": ("a number above 0, at most 10", _maybe(_number(1e-9, 10.0))),
    "slices": ("a whole number from 0 to 64", _whole(0, 64)),
    "bins": ("a whole number from 2 to 1,000", _maybe(_whole(2, 1_000))),
    "binning": ('"quantile" or "uniform"', _maybe(_one_of("quantile", "uniform"))),
    "gumbel": ("true or false", lambda value: isinstance(value, bool)),
    "batch": ("a whole number from 2 to 100,000", _whole(2, 100_000)),
    "drawing": ('"systematic" or "independent"', _one_of("systematic", "independent")),
    "device": ('"auto", "cpu", "cuda" or "mps"', lambda value: isinstance(value, str)),
    "threads": ("a whole number from 1 to 1,024", _maybe(_whole(1, 1_024))),
}
