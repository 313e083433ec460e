"""Python objects lent to Arrow's threads, and how to wait until they are returned.

Arrow releases the stream it reads and the bytes it got from it in threads of its own, a moment after the last block. If
the interpreter shuts down in between, the release aborts the whole process ("terminate called without an active
exception"). Whoever lends such objects therefore waits for them, which takes a millisecond at most.
"""

from __future__ import annotations

import time
from collections.abc import Callable

MAX_WAIT = 2.0  # seconds; far more than Arrow needs


class Loans:
    """The objects that Arrow still holds."""

    def __init__(self) -> None:
        self._held: set[int] = set()

    def lend(self, data: bytes) -> LentBytes:
        """The bytes, as an object that is known to be lent."""
        lent = LentBytes(data)
        lent.loans = self
        self.open(lent)
        return lent

    def open(self, lent: object) -> None:
        """Note that an object is lent."""
        self._held.add(id(lent))

    def close(self, lent: object) -> None:
        """Note that it is released."""
        self._held.discard(id(lent))

    def wait(self) -> None:
        """Wait until everything is released."""
        until = time.monotonic() + MAX_WAIT
        while self._held and time.monotonic() < until:
            time.sleep(0.001)


class LentBytes(bytes):
    """Bytes that say when they are released."""

    loans: Loans

    def __del__(self) -> None:
        self.loans.close(self)


class LentStream:
    """A stream for Arrow to read, which says when it is released; closing it leaves what is behind it open."""

    closed = False

    def __init__(self, read: Callable[[int], bytes], loans: Loans) -> None:
        self.read, self._loans = read, loans
        loans.open(self)

    def __del__(self) -> None:
        self._loans.close(self)

    def readable(self) -> bool:
        """True: this is a stream to read."""
        return True

    def writable(self) -> bool:
        """False: nothing can be written."""
        return False

    def seekable(self) -> bool:
        """False: the text is read once."""
        return False

    def close(self) -> None:
        """Nothing: whoever opened the text closes it."""
