"""Positions as editors count them: lines and characters from 0, characters in the units of an encoding."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field
from typing import Literal

Encoding = Literal["utf-8", "utf-16", "utf-32"]
_LINE_END = re.compile(r"\r\n|\n|\r")
_WIDTHS = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2), "utf-32": ("utf-32-le", 4)}


@dataclass(frozen=True, slots=True)
class Lines:
    """The lines of a text, to convert between offsets in it and an editor's positions.

    >>> lines = Lines("a\\n😀b")
    >>> lines.position(3), lines.offset(1, 2)
    ((1, 2), 3)
    """

    text: str
    encoding: Encoding = "utf-16"
    _starts: tuple[int, ...] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_starts", (0, *(end.end() for end in _LINE_END.finditer(self.text))))

    def position(self, offset: int) -> tuple[int, int]:
        """Line and character of an offset; of one outside the text, those of its end."""
        offset = min(max(offset, 0), len(self.text))
        line = bisect_right(self._starts, offset) - 1
        return line, self._units(self.text[self._starts[line] : offset])

    def offset(self, line: int, character: int) -> int:
        """The offset of a position; one beyond its line is the end of the line."""
        if line >= len(self._starts):
            return len(self.text)
        start = self._starts[line]
        end = _LINE_END.search(self.text, start)
        written = self.text[start : len(self.text) if end is None else end.start()]
        units = 0
        for index, letter in enumerate(written):
            if units >= character:
                return start + index
            units += self._units(letter)
        return start + len(written)

    def _units(self, text: str) -> int:
        codec, width = _WIDTHS[self.encoding]
        return len(text.encode(codec, "surrogatepass")) // width
