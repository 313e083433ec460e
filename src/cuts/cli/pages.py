"""The page of every code, as `cuts explain` prints it: the same files as docs/reference/errors."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from cuts.text.diagnostic import did_you_mean, usage_error


def page(code: str) -> str:
    """The page of a code, in Markdown."""
    known = codes()
    if code not in known:
        raise usage_error("unknown-code", f"there is no code `{code}`", did_you_mean(code, known))
    return (_folder() / f"{code}.md").read_text(encoding="utf-8")


def codes() -> tuple[str, ...]:
    """Every code that has a page."""
    return tuple(sorted(path.stem for path in _folder().glob("*.md") if path.stem != "index"))


def _folder() -> Path:
    installed = Path(str(files("cuts"))) / "error_pages"
    if installed.is_dir():
        return installed
    return Path(__file__).parents[3] / "docs" / "reference" / "errors"  # a checkout
