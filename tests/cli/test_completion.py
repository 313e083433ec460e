"""The shell completes commands, options and what stands after them: bash itself runs the generated script."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from cuts import datasets
from cuts.cli import main
from cuts.text import pages

ROOT = Path(__file__).parents[2]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with files of many kinds, and `cuts` as a command in `bin`."""
    for name in ("fair.cuts", "far.cuts", "people.csv", "people.toml", "notes.txt", "people.synth"):
        (tmp_path / name).write_text("")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "inner.cuts").write_text("")
    command = tmp_path / "bin" / "cuts"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m cuts "$@"\n')
    command.chmod(0o755)
    return tmp_path


def environment(folder: Path) -> dict[str, str]:
    path = f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT / "src")}


def script(shell: str, folder: Path) -> str:
    """The completion script that a package would install."""
    done = subprocess.run(
        ["cuts"],
        env={**environment(folder), "_CUTS_COMPLETE": f"source_{shell}"},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def asked(line: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """What the script gets from `cuts` for a line, by the variables it sets."""
    for name, value in (("_CUTS_COMPLETE", "complete_bash"), ("COMP_WORDS", line)):
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("COMP_CWORD", str(len(line.split(" ")) - 1))
    monkeypatch.setattr(sys, "argv", ["cuts"])
    with pytest.raises(SystemExit):
        main()
    return capsys.readouterr().out.split()


def test_bash_completes_with_the_generated_script(folder: Path) -> None:
    lines = {"cuts check fa": "fair.cuts far.cuts", "cuts datasets ger": "german", "cuts run x --preset ": "paper"}
    bash = script("bash", folder)
    for line in lines:
        words = line.split(" ")
        bash += f"""
COMP_WORDS=({" ".join(shlex.quote(word) for word in words)}); COMP_CWORD={len(words) - 1}
"$(complete -p cuts | sed 's/.*-F \\([^ ]*\\) .*/\\1/')" cuts
echo "${{COMPREPLY[@]}}"
"""
    done = subprocess.run(
        ["bash", "--norc", "-c", bash], cwd=folder, env=environment(folder), capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    assert done.stdout.splitlines() == list(lines.values())


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("cuts ver", ["verify"]),
        ("cuts schema sh", ["show"]),
        ("cuts check fa", ["fair.cuts", "far.cuts"]),
        ("cuts check sub/", ["sub/inner.cuts"]),
        ("cuts check peo", []),  # nothing of ours: bash completes the file by itself
        ("cuts run fair.cuts --da", ["--data", "--data-id"]),
        ("cuts run fair.cuts --data ", [*(dataset.name for dataset in datasets.DATASETS), "people.csv"]),
        ("cuts run fair.cuts --preset ", ["paper"]),
        ("cuts check fair.cuts --schema ", ["people.toml"]),
        ("cuts sample p", ["people.synth"]),
        ("cuts datasets ger", ["german"]),
        ("cuts explain unknown-c", [code for code in pages.codes() if code.startswith("unknown-c")]),
        ("cuts check nowhere/x", []),
        ("cuts explain ", list(pages.codes())),
    ],
)
def test_names_and_files_are_completed(
    line: str, expected: list[str], folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    assert asked(line, monkeypatch, capsys) == expected


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_a_package_can_write_the_script_of_each_shell(shell: str, folder: Path) -> None:
    assert f"_CUTS_COMPLETE=complete_{shell}" in script(shell, folder)
