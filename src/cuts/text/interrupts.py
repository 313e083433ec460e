"""Ctrl-C at moments when it would do harm."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Work that Ctrl-C does not cut short but ends after: a library that calls back into Python would crash."""
    if threading.current_thread() is not threading.main_thread():  # interrupts go to the main thread
        yield
        return
    waiting: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: waiting.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if waiting:
        raise KeyboardInterrupt
