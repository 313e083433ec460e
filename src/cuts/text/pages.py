"""The pages that `cuts explain` prints, one per error code: the files of docs/reference/errors."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from cuts.text.diagnostic import did_you_mean, usage_error


def page(code: str) -> str:
    """The page of an error code, in Markdown."""
    available = codes()
    if code not in available:
        raise usage_error(
            "unknown-code",
            f"there is no error code `{code}`",
            did_you_mean(code, available) or "`cuts explain` lists all codes",
        )
    return location(code).read_text(encoding="utf-8")


def location(code: str) -> Path:
    """The file of a code's page."""
    return _folder() / f"{code}.md"


def first_sentence(code: str) -> str:
    """What a code means, in one sentence: the first paragraph of its page.

    >>> first_sentence("unknown-code")
    '`cuts explain` was called with a code that does not exist.'
    """
    _, _, text = page(code).partition("\n\n")
    return " ".join(text.partition("\n\n")[0].split())


def codes() -> tuple[str, ...]:
    """All error codes that have a page, sorted."""
    return tuple(sorted(path.stem for path in _folder().glob("*.md") if path.stem != "index"))


def _folder() -> Path:
    installed = Path(str(files("cuts"))) / "error_pages"
    if installed.is_dir():
        return installed
    return Path(__file__).parents[3] / "docs" / "reference" / "errors"  # a checkout
