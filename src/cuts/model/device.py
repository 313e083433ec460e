"""Where tensors live, and how many threads compute with them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from cuts.config import bad_setting
from cuts.text.diagnostic import CutsError

MIN_PARALLEL_MULTIPLICATIONS = (
    500_000_000  # of one step; with fewer, waiting for other threads costs more than it saves
)
ALL_THREADS = torch.get_num_threads()  # what torch would use on this machine


def find_device(setting: str) -> str:
    """The device that a setting names; for `auto` CUDA if there is any, else the CPU."""
    available = {"cpu": True, "cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if setting == "auto":
        return "cuda" if available["cuda"] else "cpu"
    name, _, number = setting.partition(":")
    count = torch.cuda.device_count() if name == "cuda" else 1
    if not available.get(name, False) or (number and number not in map(str, range(count))) or setting.endswith(":"):
        usable = " or ".join(
            f'"{name}"' for name in ("auto", *(name for name, is_there in available.items() if is_there))
        )
        raise CutsError([bad_setting("device", setting, f"{usable} on this machine")])
    return setting


def find_threads(setting: int | None, multiplications: int) -> int:
    """The number of threads for steps of that much work: the setting, else one for little work and all for much.

    It depends on the table and the settings only, so that a seed gives the same result however busy the machine is.
    """
    return setting or (1 if multiplications < MIN_PARALLEL_MULTIPLICATIONS else ALL_THREADS)


@contextmanager
def use_threads(count: int) -> Iterator[None]:
    """Compute with that many threads, and with as many as before afterwards."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)
