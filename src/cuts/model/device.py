"""Where tensors live, and on how many threads they are worked on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from cuts.config import bad_setting
from cuts.text.diagnostic import CutsError

WORTH_SHARING = 500_000_000  # multiplications of a step, from which threads win


def find_device(wanted: str) -> str:
    """The device of a setting: the one named, or the best there is for `auto`."""
    there = {"cpu": True, "cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if wanted == "auto":
        return "cuda" if there["cuda"] else "cpu"
    name, _, number = wanted.partition(":")
    count = torch.cuda.device_count() if name == "cuda" else 1
    if not there.get(name, False) or (number and number not in map(str, range(count))) or wanted.endswith(":"):
        usable = " or ".join(f'"{name}"' for name in ("auto", *(name for name, is_there in there.items() if is_there)))
        raise CutsError([bad_setting("device", wanted, f"{usable} on this machine")])
    return wanted


def find_threads(wanted: int | None, work: int) -> int:
    """How many threads a step of `work` multiplications gets: one for little work, for waiting costs more than it.

    It depends on the table and the settings only, so that a seed gives the same result however busy the machine is.
    """
    return wanted or (1 if work < WORTH_SHARING else torch.get_num_threads())


@contextmanager
def use_threads(count: int) -> Iterator[None]:
    """Work on that many threads, and on as many as before afterwards."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)
