"""What people read is true: every console block of the specs, the error pages, the README and the docs."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import get_args

import pytest

from console import run_page
from cuts.text import pages
from cuts.text.diagnostic import Code

ROOT = Path(__file__).parent.parent
PAGES = sorted(
    [*ROOT.glob("tests/specs/*.md"), *ROOT.glob("docs/**/*.md"), ROOT / "README.md"], key=lambda path: str(path)
)
UPDATE = os.environ.get("CUTS_UPDATE_SPECS") == "1"


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_blocks_print_what_the_page_says(path: Path, tmp_path: Path) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    text = path.read_text()
    outcomes, updated = run_page(text, tmp_path)
    if UPDATE:
        path.write_text(updated)
        return
    for outcome in outcomes:
        assert outcome.actual == outcome.expected
        assert outcome.actual_exit == outcome.expected_exit


PYTHON_PAGE = """
```python
age = 35
print(age)
print()

# 34
#
```

```python
print(age + 1)

# 36
```
"""


def test_python_blocks_of_a_page_share_their_names_and_show_what_they_print(tmp_path: Path) -> None:
    outcomes, updated = run_page(PYTHON_PAGE, tmp_path)
    assert [(outcome.expected, outcome.actual) for outcome in outcomes] == [("34\n\n", "35\n\n"), ("36\n", "36\n")]
    assert updated == PYTHON_PAGE.replace("# 34", "# 35")


def test_output_that_a_python_block_does_not_show_is_a_mistake(tmp_path: Path) -> None:
    (outcome,), updated = run_page("```python\nprint(1)\n# 1\n```\n", tmp_path)  # no empty line: an ordinary comment
    assert (outcome.expected, outcome.actual) == ("", "1\n")
    assert updated == "```python\nprint(1)\n# 1\n\n# 1\n```\n"


def test_a_block_that_raises_fails_its_page(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError):
        run_page("```python\n1 / 0\n```\n", tmp_path)


@pytest.mark.parametrize("kind", ["", "bash", "py", "Python"])
def test_a_block_of_an_unknown_kind_is_an_error(kind: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="unknown kind"):
        run_page(f"```{kind}\nprint(1)\n```\n", tmp_path)


def test_a_console_block_keeps_its_options_and_gets_the_real_exit_code(tmp_path: Path) -> None:
    (outcome,), updated = run_page("```console exit=3\n$ cuts explain no-such-code\n```\n", tmp_path)
    assert (outcome.expected_exit, outcome.actual_exit) == (3, 2)
    assert updated.startswith("```console exit=2\n$ cuts explain no-such-code\nerror[unknown-code]")


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
