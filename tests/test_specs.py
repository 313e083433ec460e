"""What people read is true: every console block of the specs, the error pages, the README and the docs."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import get_args

import pytest

from console import run_page
from cuts.cli import pages
from cuts.text.diagnostic import Code

ROOT = Path(__file__).parent.parent
PAGES = sorted(
    [*ROOT.glob("tests/specs/*.md"), *ROOT.glob("docs/**/*.md"), ROOT / "README.md"], key=lambda path: str(path)
)
UPDATE = os.environ.get("CUTS_UPDATE_SPECS") == "1"


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_console_blocks_print_what_the_page_says(path: Path, tmp_path: Path) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    text = path.read_text()
    outcomes, updated = run_page(text, tmp_path)
    if UPDATE:
        path.write_text(updated)
        return
    for outcome in outcomes:
        assert outcome.actual == outcome.expected
        assert outcome.actual_exit == outcome.expected_exit


def test_every_code_has_a_page_and_every_page_a_code() -> None:
    assert set(pages.codes()) == set(get_args(Code))


def test_every_code_is_reported_somewhere() -> None:
    sources = [path for path in (ROOT / "src").rglob("*.py") if path.name != "diagnostic.py"]
    written = {word for path in sources for word in re.findall(r'"([a-z-]+)"', path.read_text())}
    assert [code for code in get_args(Code) if code not in written] == []


@pytest.mark.parametrize("code", pages.codes())
def test_an_error_page_shows_its_own_code(code: str) -> None:
    page = pages.page(code)
    assert page.startswith(f"# {code}\n")
    assert f"[{code}]" in page, "the example must show the diagnostic"
    assert "## What to do" in page
