"""Regenerate the output of fits in README and docs: the `text figures` blocks, which tests/console.py describes.

    python tools/figures.py                          # every page with such a block: takes many minutes
    python tools/figures.py docs/how-to/fairness.md  # one page

Numbers of a fit differ a little between machines and versions, so no test compares them. The pages are rewritten in
place; read the diff, and the sentences around a changed number. A block whose command ends with another exit code than
the page says is reported, and the exit code of this tool is then 1.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from console import Block, blocks, run_page, shorten, stripped  # noqa: E402


def main() -> int:
    """Regenerate the pages named on the command line, or all; 1 if a command did not end as its page says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("page", type=Path, nargs="*")
    named = parser.parse_args().page
    os.environ["CUTS_LEDGER"] = "ledger.jsonl"  # in the folder of the page: never the ledger of whoever runs this
    every = sorted([ROOT / "README.md", *ROOT.glob("docs/**/*.md")])
    failed = [page for page in (path.resolve() for path in named or every) if not regenerate(page)]
    return 1 if failed else 0


def regenerate(path: Path) -> bool:
    """Whether every command of the page's figures ended with the exit code that the page gives; rewrites the page."""
    text = path.read_text(encoding="utf-8")
    count = sum("figures" in block.options for block in blocks(text))
    if not count:
        return True
    print(f"{path.relative_to(ROOT)}: {count} blocks", flush=True)
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as scratch:
        figures = Figures(Path(scratch) / "bin")
        folder = Path(scratch) / "page"
        folder.mkdir()
        (folder / "examples").symlink_to(ROOT / "examples")
        try:
            _, updated = run_page(text, folder, figures)
        except Exception as error:  # the other pages are still regenerated
            print(f"  not rewritten: {type(error).__name__}: {error}", flush=True)
            return False
    path.write_text(updated, encoding="utf-8")
    print(f"  {'rewritten' if updated != text else 'unchanged'} after {time.monotonic() - start:.0f} s", flush=True)
    return not figures.surprises


@dataclass
class Figures:
    """Runs `text figures` blocks with bash; `commands` is a folder for the `cuts` that bash finds."""

    commands: Path
    surprises: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.commands.mkdir()
        script = self.commands / "cuts"
        script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m cuts "$@"\n')
        script.chmod(0o755)

    def __call__(self, block: Block, folder: Path) -> str:
        """The block as Markdown, with what its commands print now."""
        first = block.options["figures"]
        lines = block.body.splitlines()
        starts = [position for position, line in enumerate(lines) if line.startswith("$ ")]
        printed: list[str] = []
        code = 0
        if first:
            output, code = self.run(first, folder)
            if code > 1:  # 1 is a verdict that fails: the output was written nevertheless
                raise RuntimeError(f"`{first}` ended with exit code {code}:\n{output}")
            if not starts:
                printed += shorten(output.splitlines(), lines)
        for start, end in pairwise([*starts, len(lines)]):
            output, code = self.run(lines[start][2:], folder)
            printed += [lines[start], *shorten(output.splitlines(), lines[start + 1 : end])]
        if code != block.exit:
            self.surprises.append(f"exit code {code} instead of {block.exit}")
            print(f"  {self.surprises[-1]}: {lines[starts[-1]][2:] if starts else first}", flush=True)
        return block.with_output("\n".join(printed).rstrip("\n") + "\n", code)

    def run(self, command: str, folder: Path) -> tuple[str, int]:
        """What a shell command prints in `folder`, stdout and stderr together, and its exit code."""
        print(f"  $ {command}", flush=True)
        environment = os.environ | {
            "PATH": f"{self.commands}{os.pathsep}{os.environ['PATH']}",
            "COLUMNS": "100",
        }
        done = subprocess.run(
            ["bash", "-o", "pipefail", "-c", command],
            cwd=folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            text=True,
            encoding="utf-8",
            check=False,
        )
        return stripped(done.stdout), done.returncode


if __name__ == "__main__":
    sys.exit(main())
