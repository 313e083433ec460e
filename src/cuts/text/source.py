"""A text with a name, and positions in it."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """The characters `start` to `end` (exclusive) of a source."""

    start: int
    end: int

    def __post_init__(self) -> None:
        if not 0 <= self.start <= self.end:
            raise ValueError(f"a span cannot go from {self.start} to {self.end}")

    def until(self, other: Span) -> Span:
        """The span from the beginning of this one to the end of `other`."""
        return Span(self.start, max(self.start, other.end))


@dataclass(frozen=True, slots=True)
class Source:
    """The text of a program and its name in messages.

    >>> Source("p.cuts", "SYNTHESIZE: adult;\\nEND;").place(19)
    (2, 1)
    """

    name: str
    text: str
    _starts: tuple[int, ...] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        starts = [0, *(i + 1 for i, letter in enumerate(self.text) if letter == "\n")]
        object.__setattr__(self, "_starts", tuple(starts))

    def place(self, position: int) -> tuple[int, int]:
        """Line and column of a position, both from 1."""
        line = bisect_right(self._starts, position)
        return line, position - self._starts[line - 1] + 1

    def line(self, number: int) -> str:
        """The text of line `number` (from 1), without its end."""
        start = self._starts[number - 1]
        end = self._starts[number] - 1 if number < len(self._starts) else len(self.text)
        return self.text[start:end].rstrip("\r")

    def slice(self, span: Span) -> str:
        """The text in `span`."""
        return self.text[span.start : span.end]
