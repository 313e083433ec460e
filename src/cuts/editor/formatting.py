"""The canonical form of a text, as `cuts fmt` writes it."""

from __future__ import annotations

from cuts.lang.parser import parse_source
from cuts.lang.printer import render
from cuts.text.diagnostic import CutsError
from cuts.text.source import Source


def formatted(source: Source) -> str | None:
    """The canonical text; None if the text does not parse or is in canonical form already."""
    try:
        canonical = render(parse_source(source))
    except CutsError:
        return None
    return None if canonical == source.text else canonical
