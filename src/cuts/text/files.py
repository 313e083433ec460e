"""Text files people name on the command line, with errors they can act on, and files written whole or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cuts.text.diagnostic import CutsError, usage_error

MAX_BYTES = 10_000_000  # a program or schema is far smaller


def read_text(path: Path, what: str, max_bytes: int = MAX_BYTES) -> str:
    """The UTF-8 text of a file; `what` (program, schema) names it in messages."""
    present(path, what)
    try:
        if path.stat().st_size > max_bytes:
            raise usage_error("unreadable-file", f"{path} is too large to be a {what}")
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise usage_error("unreadable-file", f"{path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise usage_error("unreadable-file", f"{path} is not a text file", f"a {what} is UTF-8 text") from None
    if "\x00" in text:
        raise usage_error("unreadable-file", f"{path} is not a text file", f"a {what} is UTF-8 text")
    if not text.strip():
        raise usage_error("unreadable-file", f"{path} is empty", f"a {what} was expected")
    return text.replace("\r\n", "\n")


def present(path: Path, what: str) -> None:
    """Raise unless `path` is a file."""
    if path.is_dir():
        raise usage_error("unreadable-file", f"{path} is a directory", f"name the {what} file in it")
    if not path.exists():
        raise usage_error("unreadable-file", f"{path} does not exist", f"give the path of a {what}")


def write_text(path: Path, text: str) -> None:
    """Write the whole text as UTF-8, or nothing."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A new empty file beside `path` that replaces it at the end; it is removed, and `path` kept, if anything fails.

    The file keeps the permissions of the one it replaces; a new one gets those the system gives new files.
    """
    temporary = _new_file_beside(path)
    try:
        yield temporary
        if path.exists():
            temporary.chmod(path.stat().st_mode & 0o777)
        temporary.replace(path)
    except OSError as error:
        raise unwritable(path, error) from None
    finally:
        temporary.unlink(missing_ok=True)


def _new_file_beside(path: Path) -> Path:
    """An empty file of a name nobody uses, in the same folder so that renaming it is one step."""
    temporary = path.with_name(f".{path.name[:100]}.{secrets.token_hex(8)}.part")
    try:
        os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))  # less what the umask forbids
    except OSError as error:
        raise unwritable(path, error) from None
    return temporary


def unwritable(path: Path, error: OSError) -> CutsError:
    """A file that cannot be written, in the system's words."""
    reason = os.strerror(error.errno) if error.errno else str(error)
    help = f"create the folder {path.parent} first" if not path.parent.exists() else None
    return usage_error("unwritable-file", f"{path} cannot be written: {reason}", help)
