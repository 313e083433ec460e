"""Small pieces of HTML that notebooks show: every text is escaped, and colour never says what no word says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

_CELL = "text-align:left;vertical-align:top;padding:2px 10px 2px 0"


def table(header: Sequence[str], rows: Sequence[Sequence[str]], *, colours: Mapping[str, str] | None = None) -> str:
    """A table; a cell whose whole text is in `colours` has that colour.

    >>> table(["age"], [["<30"]])  # doctest: +ELLIPSIS
    '<table><thead>...<tr><td style="...">&lt;30</td></tr></tbody></table>'
    """
    head = "".join(f'<th style="{_CELL}">{escape(cell)}</th>' for cell in header)
    body = "".join(f"<tr>{''.join(_cell(cell, colours or {}) for cell in row)}</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def paragraph(text: str) -> str:
    """A paragraph of text.

    >>> paragraph("a < b")
    '<p>a &lt; b</p>'
    """
    return f"<p>{escape(text)}</p>"


def preformatted(text: str) -> str:
    """Text with its line breaks and columns, as on a terminal.

    >>> preformatted("a  & b")
    '<pre>a  &amp; b</pre>'
    """
    return f"<pre>{escape(text)}</pre>"


def _cell(text: str, colours: Mapping[str, str]) -> str:
    colour = f";color:{colours[text]};font-weight:bold" if text in colours else ""
    return f'<td style="{_CELL}{colour}">{escape(text)}</td>'
