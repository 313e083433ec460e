"""Reading a text file people name on the command line, with errors they can act on."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from cuts.text.diagnostic import CutsError, usage_error

LARGEST = 10_000_000  # bytes; a program or schema is far smaller


def read_text(path: Path, what: str) -> str:
    """The UTF-8 text of a file; `what` (program, schema) names it in messages."""
    present(path, what)
    try:
        if path.stat().st_size > LARGEST:
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
    """Write the whole text or nothing: a temporary file beside `path` is renamed."""
    try:
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    except OSError as error:
        raise unwritable(path, error) from None
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        if path.exists():
            os.chmod(temporary, path.stat().st_mode & 0o777)
        else:
            umask = os.umask(0)
            os.umask(umask)
            os.chmod(temporary, 0o666 & ~umask)
        os.replace(temporary, path)
    except OSError as error:
        Path(temporary).unlink(missing_ok=True)
        raise unwritable(path, error) from None
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def unwritable(path: Path, error: OSError) -> CutsError:
    """A file that cannot be written, in the system's words."""
    reason = os.strerror(error.errno) if error.errno else str(error)
    help = f"make the folder {path.parent} first" if not path.parent.exists() else None
    return usage_error("unwritable-file", f"{path} cannot be written: {reason}", help)
