"""Pages with scores of learners: what is printed, but for digits that the next version of a library would change."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from console import run_page

ROOT = Path(__file__).parent.parent.parent
PAGES = [ROOT / "tests/specs/evaluate.md", ROOT / "docs/how-to/evaluate.md"]
UPDATE = os.environ.get("CUTS_UPDATE_SPECS") == "1"
_RUN = re.compile(r"^```text figures\n(\$ cuts .*?)^```$", re.DOTALL | re.MULTILINE)
_CONSOLE = re.compile(r"^```console.*?^```$", re.DOTALL | re.MULTILINE)


def without_digits(text: str) -> str:
    """The text with every number replaced by `#` and every run of blanks by one."""
    return re.sub(r" +", " ", re.sub(r"-?\d[\d.,e+-]*", "#", text))


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_scores_of_learners_are_printed_as_the_page_shows_them(path: Path, tmp_path: Path) -> None:
    page = path.read_text()
    outcomes, _ = run_page(_RUN.sub(r"```console\n\1```", _CONSOLE.sub("", page)), tmp_path)
    assert outcomes
    if UPDATE:
        printed = iter(outcomes)
        path.write_text(_RUN.sub(lambda _: f"```text figures\n{next(printed).actual}```", page))
        return
    for outcome in outcomes:
        assert without_digits(outcome.actual) == without_digits(outcome.expected)
        assert outcome.actual_exit == 0


def test_only_digits_are_ignored() -> None:
    assert without_digits("xgboost    train  -0.285  14.33") == without_digits("xgboost train 0.1 7")
    assert without_digits("xgboost 0.5") != without_digits("forest 0.5")
    assert without_digits("1 2") != without_digits("1")
