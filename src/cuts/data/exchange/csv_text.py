"""The text of a CSV file while Arrow reads it: opening it once gives the head, the encoding, and UTF-8 for Arrow.

The encoding is certain only at the end of the file. UTF-8 and UTF-16 are recognised by their byte order mark or by the
bytes; a file without a mark whose first non-ASCII byte is not valid UTF-8 is cp1252, or latin-1 if cp1252 lacks a
character. Text decoded before such a change remains valid: ASCII is the same in all encodings, and the characters in
which cp1252 and latin-1 differ do not occur in numbers, dates or truth values, so no column format depends on them.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cuts.data.exchange.csv_dialect import CsvOptions, Head
from cuts.data.exchange.loans import LentBytes, LentStream, Loans
from cuts.data.exchange.readable import undecodable, unreadable
from cuts.data.exchange.streams import reading

_CHUNK_BYTES = 1 << 20  # read at a time
_BOMS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))


@contextmanager
def reading_text(path: Path, options: CsvOptions) -> Iterator[TextStream]:
    """The text of a file, which is opened once; after the `with` block Arrow reads nothing more."""
    with reading(path) as stream:
        text = TextStream(path, stream, options)
        try:
            yield text
        finally:
            text.close()


class TextStream:
    """A file's text as a stream of UTF-8 bytes for Arrow, decoded and checked as it is read."""

    def __init__(self, path: Path, stream: Any, options: CsvOptions) -> None:
        self._path, self._stream, self._quote = path, stream, options.quote or '"'
        self._start = _read_up_to(stream, _CHUNK_BYTES)
        self._encodings = list(_candidates(self._start, options.encoding))
        self._decoder = codecs.getincrementaldecoder(self._encodings[0])()
        self._line, self._is_ascii = 1, True
        self._pending, self.closed = b"", False
        self._ended = len(self._start) < _CHUNK_BYTES
        self.quotes = 0
        self._loans = Loans()
        self._add(self._start)

    @property
    def encoding(self) -> str:
        """The encoding of all bytes read so far."""
        return self._encodings[0]

    @property
    def head(self) -> Head:
        """The first megabyte of the file, in the encoding detected so far."""
        is_whole = len(self._start) < _CHUNK_BYTES
        decoder = codecs.getincrementaldecoder(self.encoding)()
        return Head(decoder.decode(self._start, final=is_whole), is_whole)

    def read(self, size: int) -> LentBytes:
        """The next `size` bytes as UTF-8; fewer only at the end."""
        while len(self._pending) < size and not self._ended and not self.closed:
            chunk = self._stream.read(_CHUNK_BYTES)
            self._ended = not chunk
            self._add(chunk)
        part, self._pending = self._pending[:size], self._pending[size:]
        return self._loans.lend(b"" if self.closed else part)

    def for_arrow(self) -> LentStream:
        """The text for Arrow to read; `close` waits until Arrow has let go of it."""
        return LentStream(self.read, self._loans)

    def close(self) -> None:
        """Return no more text, and wait until Arrow has let go of it."""
        self.closed = True
        self._loans.wait()

    def _add(self, chunk: bytes) -> None:
        text = self._decode(chunk)
        if "\x00" in text:
            raise unreadable(
                f"{self._path} is not a text file",
                "save the table as CSV, or rename the file with the extension of its format",
            )
        self._line, self._is_ascii = self._line + text.count("\n"), self._is_ascii and text.isascii()
        self.quotes += text.count(self._quote)
        self._pending += text.encode()

    def _decode(self, chunk: bytes) -> str:
        """The chunk as text; in the next encoding if it is invalid in this one and all text before it is ASCII."""
        while True:
            try:
                return self._decoder.decode(chunk, final=self._ended)
            except UnicodeDecodeError as error:
                before = error.object[: error.start]
                is_utf8 = self.encoding == "utf-8" and not (self._is_ascii and before.isascii())
                if is_utf8 or len(self._encodings) == 1:
                    line = self._line + before.count(b"\n")
                    raise undecodable(self._path, line, self.encoding) from None
                chunk = error.object  # including bytes the decoder kept from the previous chunk
                del self._encodings[0]
                self._decoder = codecs.getincrementaldecoder(self.encoding)()


def _read_up_to(stream: Any, size: int) -> bytes:
    parts: list[bytes] = []
    while size > 0 and (part := stream.read(size)):
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def _candidates(start: bytes, encoding: str | None) -> tuple[str, ...]:
    """The encodings to try, in order; only one if it is stated or the file begins with a byte order mark."""
    marked = next((name for mark, name in _BOMS if start.startswith(mark)), None)
    if encoding is None:
        return ("utf-8", "cp1252", "latin-1") if marked is None else (marked,)
    try:
        "a".encode(encoding)
    except LookupError:
        raise unreadable(f"there is no encoding `{encoding}`", "try utf-8, utf-16 or cp1252") from None
    name = codecs.lookup(encoding).name
    return ("utf-8-sig" if name == "utf-8" and marked == "utf-8-sig" else name,)
