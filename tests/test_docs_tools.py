"""The tools that keep the docs true find what is wrong and leave what is right."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from console import Block

sys.path.insert(0, str(Path(__file__).parent.parent / "tools"))

from check_docs import Options, unmarked_output
from figures import Figures


@pytest.mark.parametrize(
    ("text", "unknown"),
    [
        ("`cuts fit p.cuts -o p.synth --max-epsilon 2`", []),
        ("`cuts fit p.cuts -o p.synth --most-epsilon 2`", ["cuts fit has no option --most-epsilon"]),
        ("`cuts check --max-epsilon 2`", ["cuts check has no option --max-epsilon"]),
        ("`cuts ledger list --ledger FILE` and `cuts schema infer T --label x`", []),
        (
            "```console\n$ cuts verify p.cuts t.csv --reel x\n--not-a-command\n```\n",
            ["cuts verify has no option --reel"],
        ),
        ("pass `--max-epsilon` or `--most-epsilon`", ["no command has no option --most-epsilon"]),
        ("`pip install --upgrade cuts`", []),
    ],
)
def test_options_that_no_command_has_are_found(text: str, unknown: list[str], tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(text)
    messages = list(Options().unknown(page))
    assert [message.partition(":")[0] for message in messages] == unknown


@pytest.mark.parametrize(
    ("block", "is_fine"),
    [
        ("text\n$ cuts run p.cuts\n", False),
        ("text\nxgboost  0.0317  85.34\n", False),
        ("text\nerror[core-failed]: a read failed\n", False),
        ("text figures\n$ cuts run p.cuts\n", True),
        ('text not-run="a machine has to fail"\nerror[core-failed]: a read failed\n', True),
        ("text not-run\nerror[core-failed]: a read failed\n", False),
        ("text\ncuts tune p.cuts --grid tol=0.5,1\n", True),
        ("text\nENFORCE: PARAM 0.001: E[age] == 45;\n", True),
    ],
)
def test_output_of_unknown_origin_is_found(block: str, is_fine: bool, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"```{block}```\n")
    assert (list(unmarked_output(page)) == []) == is_fine


def test_figures_run_the_commands_of_a_block(tmp_path: Path) -> None:
    figures = Figures(tmp_path / "bin")
    block = Block('text figures="echo 7 > count"', "$ cat count\n1\n$ seq 1 9; exit 1\n1\n...\n9\n")
    updated = figures(block, tmp_path)
    assert updated == '```text figures="echo 7 > count" exit=1\n$ cat count\n7\n$ seq 1 9; exit 1\n1\n...\n9\n```'
    assert figures.surprises == ["exit code 1 instead of 0"]


def test_figures_without_a_shown_command_are_what_the_hidden_one_prints(tmp_path: Path) -> None:
    figures = Figures(tmp_path / "bin")
    assert figures(Block('text figures="seq 1 3"', "old\n"), tmp_path) == '```text figures="seq 1 3"\n1\n2\n3\n```'
    assert not figures.surprises


def test_a_preparation_that_fails_leaves_the_page_alone(tmp_path: Path) -> None:
    figures = Figures(tmp_path / "bin")
    with pytest.raises(RuntimeError, match="exit code 5"):
        figures(Block('text figures="exit 5"', "$ true\n"), tmp_path)
