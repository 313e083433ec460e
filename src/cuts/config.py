"""How to train and draw, as opposed to what to ask for: the settings of a run, read from a TOML file.

Every setting has a default that works; `None` means "chosen from the table". An unknown name is an error. A preset is a
name for several settings: it is replaced by them, and settings that are given beside it are used instead of its own.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, TypeAlias

from cuts.text.diagnostic import USAGE, CutsError, Diagnostic, did_you_mean, listed, usage_error
from cuts.text.files import read_text

Drawing = Literal["systematic", "independent"]
Method = Literal["exact", "penalty"]
GENERATOR = "generator"  # the backbone whose network rows are drawn from
OptionValue: TypeAlias = bool | int | float | str


@dataclass(frozen=True, slots=True)
class Config:
    """The settings of a fit and of the rows drawn from it.

    >>> Config(steps=300).backbone
    'table'
    """

    backbone: str = "table"  # what makes the mixture: `table`, `neural`, `generator`, or an added one
    backbone_options: Mapping[str, OptionValue] = field(default_factory=dict, hash=False)  # checked by the backbone
    components: int | None = None  # products in the mixture
    smoothing: float | None = None  # share of every component that is the columns' own distributions
    steps: int = 1200  # at most; fewer when the error no longer falls
    learning_rate: float | None = None  # the backbone's own
    boxes: bool = True  # also fit combinations of more than three columns, which trees find in the rows
    fine: str = "trees"  # what chooses values inside bins: `trees`, or `none` for each column by itself
    slices: int = 1  # random conditional tables compared per step, beside those of the label
    bins: int | None = None  # of numeric columns, instead of the schema's
    binning: Literal["quantile", "uniform"] | None = None  # instead of the schema's
    ties: bool = True  # learn the difference of two columns that a rule compares or that hardly differ
    method: Method = "exact"  # how commands are met; `penalty` fine-tunes the network that rows are drawn from
    drawing: Drawing = "systematic"
    device: str = "auto"  # `cpu`, `cuda`, `mps`, or the best there is
    threads: int | None = None  # of the linear algebra; otherwise one, or all cores for large tables

    def __post_init__(self) -> None:
        problems = [
            bad_setting(name, getattr(self, name), valid)
            for name, (valid, is_valid) in _VALID.items()
            if not is_valid(getattr(self, name))
        ]
        if self.method == "penalty" and self.backbone != GENERATOR:
            problems.append(bad_setting("method", "penalty", f'"exact" unless `backbone` is "{GENERATOR}"'))
        if problems:
            raise CutsError(problems)
        object.__setattr__(self, "backbone_options", dict(self.backbone_options))


# The system of CuTS (Vero et al., ICML 2024) as it is written; see docs/explanation/paper.md.
_PAPER: Mapping[str, Any] = {
    "backbone": GENERATOR,
    "method": "penalty",
    "bins": 32,
    "binning": "uniform",
    "steps": 10_000,  # on Adult: 2,000 epochs of five steps
    "smoothing": 0.0,
    "boxes": False,
    "fine": "none",
    "ties": False,
    "drawing": "independent",
}
PRESETS: Mapping[str, Mapping[str, Any]] = {"paper": _PAPER}


def read_config(path: Path | str, *, preset: str | None = None) -> Config:
    """The settings in a TOML file; everything that is wrong with it is one `CutsError`.

    A `preset` is used instead of the one in the file, if there is any; other settings of the file override it.
    """
    path = Path(path)
    try:
        settings = tomllib.loads(read_text(path, "configuration"))
    except (ValueError, RecursionError) as error:  # the decoder's own is a kind of ValueError
        raise usage_error("bad-config", f"{path} is not TOML: {str(error)[:200]}") from None
    return config_from(settings if preset is None else {**settings, "preset": preset})


def config_from(given: Mapping[str, Any]) -> Config:
    """The settings in a mapping; those of its `preset`, if it names one, are replaced by the others.

    >>> config_from({"preset": "paper", "bins": 16}).bins
    16
    """
    if "preset" in given:
        others = {name: value for name, value in given.items() if name != "preset"}
        return config_from({**_preset(given["preset"]), **others})
    names = [setting.name for setting in fields(Config)]
    unknown = [
        Diagnostic(
            "bad-config",
            f"there is no setting `{name}`",
            help=did_you_mean(name, ["preset", *names]) or f"the settings are {listed(names, limit=len(names))}",
            exit_code=USAGE,
        )
        for name in given
        if name not in names
    ]
    try:
        config = Config(**{name: value for name, value in given.items() if name in names})
    except CutsError as error:
        raise CutsError([*unknown, *error.diagnostics]) from None
    if unknown:
        raise CutsError(unknown)
    return config


def _preset(name: object) -> Mapping[str, Any]:
    """The settings of a preset."""
    if not isinstance(name, str) or name not in PRESETS:
        raise CutsError([bad_setting("preset", name, " or ".join(f'"{known}"' for known in PRESETS))])
    return PRESETS[name]


def bad_setting(name: str, value: object, valid: str) -> Diagnostic:
    """A setting with a value that it cannot have; `valid` says in words which it can."""
    title = f"the setting `{name}` cannot be {value!r}"
    return Diagnostic("bad-config", title, help=f"`{name}` must be {valid}", exit_code=USAGE)


def _whole(lowest: int, highest: int) -> Callable[[object], bool]:
    return lambda value: isinstance(value, int) and not isinstance(value, bool) and lowest <= value <= highest


def _number(lowest: float, highest: float) -> Callable[[object], bool]:
    return lambda value: isinstance(value, int | float) and not isinstance(value, bool) and lowest <= value <= highest


def _maybe(is_valid: Callable[[object], bool]) -> Callable[[object], bool]:
    return lambda value: value is None or is_valid(value)


def _options(value: object) -> bool:
    return isinstance(value, Mapping) and all(
        isinstance(name, str) and isinstance(option, bool | int | float | str) for name, option in value.items()
    )


def _one_of(*words: str) -> Callable[[object], bool]:
    return lambda value: value in words


_VALID: dict[str, tuple[str, Callable[[object], bool]]] = {
    "backbone": ("the name of a backbone", lambda value: isinstance(value, str)),
    "backbone_options": ("a table of names and values, e.g. `{ batch = 500 }`", _options),
    "components": ("a whole number from 1 to 100,000", _maybe(_whole(1, 100_000))),
    "smoothing": ("a number from 0 to 0.9", _maybe(_number(0.0, 0.9))),
    "steps": ("a whole number from 1 to 1,000,000", _whole(1, 1_000_000)),
    "boxes": ("true or false", lambda value: isinstance(value, bool)),
    "fine": ("the name of a fine level", lambda value: isinstance(value, str)),
    "learning_rate": ("a number above 0, at most 10", _maybe(_number(1e-9, 10.0))),
    "slices": ("a whole number from 0 to 64", _whole(0, 64)),
    "bins": ("a whole number from 2 to 1,000", _maybe(_whole(2, 1_000))),
    "binning": ('"quantile" or "uniform"', _maybe(_one_of("quantile", "uniform"))),
    "ties": ("true or false", lambda value: isinstance(value, bool)),
    "method": ('"exact" or "penalty"', _one_of("exact", "penalty")),
    "drawing": ('"systematic" or "independent"', _one_of("systematic", "independent")),
    "device": ('"auto", "cpu", "cuda" or "mps"', lambda value: isinstance(value, str)),
    "threads": ("a whole number from 1 to 1,024", _maybe(_whole(1, 1_024))),
}
