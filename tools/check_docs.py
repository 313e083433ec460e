"""Check what the tests do not: links, options and unmarked output in the Markdown files.

- Every relative link leads somewhere, headings included.
- Every page of a section is linked from the section's index, which is the navigation of the site.
- Every `--option` exists: in `cuts COMMAND` for one written after it, else in any command. In the pages of benchmarks,
  the entry point of the benchmarks or any command must name it.
- A `text` block that shows output says where it comes from (tests/console.py describes how).
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from cuts.cli import app

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from console import Block, blocks  # noqa: E402

LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
FENCE = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
CODE = re.compile(r"`([^`]+)`")
INDENTED = re.compile(r"^ {4}(\S.*)$", re.MULTILINE)
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")
ENTRY = "python -m benchmarks"
OUTPUT = re.compile(r"^\$ |^(error|warning)\[|^line  |\d\.\d|\d %", re.MULTILINE)  # fitted numbers have decimals
INPUT = re.compile(r"^(cuts|pip) .*$|^\s*(ENFORCE|MINIMIZE|MAXIMIZE|ENSURE|LET)\b.*$", re.MULTILINE)


def main() -> int:
    """Print every problem; the exit code is 1 if there is one."""
    pages = [
        *ROOT.glob("*.md"),
        *ROOT.glob("docs/**/*.md"),
        *ROOT.glob("tests/specs/*.md"),
        *ROOT.glob("benchmarks/*.md"),
    ]
    known = Options()
    problems = [
        f"{page.relative_to(ROOT)}: {problem}"
        for page in sorted(pages)
        for problem in [*broken_links(page), *known.unknown(page), *unmarked_output(page)]
    ]
    problems += unlisted_pages(ROOT / "docs")
    print("\n".join(problems) if problems else f"{len(pages)} pages: every link leads somewhere, every option exists")
    return 1 if problems else 0


def broken_links(page: Path) -> Iterator[str]:
    """One message per relative link of a page that leads nowhere."""
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    for target in LINK.findall(text):
        if re.match(r"[a-z]+:", target):  # somewhere else: not ours to check
            continue
        name, _, anchor = target.partition("#")
        file = page if not name else (page.parent / name)
        if not file.exists() or (anchor and file.suffix == ".md" and anchor not in anchors(file)):
            yield f"the link {target} leads nowhere"


def unlisted_pages(docs: Path) -> list[str]:
    """One message per page that the index page of its folder does not link to."""
    problems = []
    for index in sorted(docs.glob("*/**/index.md")):
        linked = {target.partition("#")[0] for target in LINK.findall(index.read_text(encoding="utf-8"))}
        pages = [page for page in sorted(index.parent.glob("*.md")) if page != index and page.name not in linked]
        problems += [f"{index.relative_to(docs.parent)}: add a link to {page.name}" for page in pages]
    return problems


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    headings = re.findall(r"^#+ +(.*?) *$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


class Options:
    """The long options of every `cuts` command, and the options that the benchmarks name."""

    def __init__(self) -> None:
        self.of_command = dict(_options_of((), typer.main.get_command(app)))
        self.of_benchmarks = set(OPTION.findall((ROOT / "benchmarks/__main__.py").read_text(encoding="utf-8")))

    def unknown(self, page: Path) -> Iterator[str]:
        """One message per option on a page that does not exist."""
        benchmark = page.parent.name == "benchmarks"
        for text in commands_in(page.read_text(encoding="utf-8")):
            owner, options = self._owner(text, benchmark)
            for option in sorted(set(OPTION.findall(text)) - options):
                yield f"{owner} has no option {option}: `{text}`"

    def _owner(self, text: str, benchmark: bool) -> tuple[str, set[str]]:
        words = re.findall(r"[\w-]+", text.partition(" -")[0])
        if words[:1] == ["cuts"]:
            command = next(path for n in (2, 1, 0) if (path := tuple(words[1 : n + 1])) in self.of_command)
            return " ".join(["cuts", *command]), self.of_command[command]
        if text.startswith(ENTRY):
            return ENTRY, self.of_benchmarks | {"--help"}
        every = set[str]().union(*self.of_command.values(), self.of_benchmarks if benchmark else ())
        return "no command" if not benchmark else "no command or benchmark", every


def commands_in(text: str) -> Iterator[str]:
    """The commands and options on a page: command lines of its blocks, and inline code that starts with one of both."""
    for block in blocks(text):
        if block.kind in ("console", "text"):
            for line in block.body.splitlines():
                if line.startswith(("$ cuts ", "cuts ")):
                    yield from _parts(line.removeprefix("$ "))
    prose = FENCE.sub("", text)
    for code in [*INDENTED.findall(prose), *CODE.findall(prose)]:
        yield from _parts(" ".join(code.split()))


def unmarked_output(page: Path) -> Iterator[str]:
    """One message per `text` block of a page that shows output of unknown origin."""
    for block in blocks(page.read_text(encoding="utf-8")):
        if block.kind == "text" and not is_marked(block) and OUTPUT.search(INPUT.sub("", block.body)):
            first = block.body.splitlines()[0]
            yield f"a text block shows output, but is marked neither `figures` nor `not-run`: {first}"


def is_marked(block: Block) -> bool:
    """Whether a `text` block says where its output comes from."""
    return "figures" in block.options or bool(block.options.get("not-run"))


def _parts(line: str) -> Iterator[str]:
    for part in re.split(r" \| | && |; ", line):
        if re.match(rf"cuts |--[a-z]|{ENTRY}", part):
            yield part


def _options_of(path: tuple[str, ...], command: Any) -> Iterator[tuple[tuple[str, ...], set[str]]]:
    names = [name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)]
    yield path, {"--help", *names}
    for name, inner in getattr(command, "commands", {}).items():  # of a group
        yield from _options_of((*path, name), inner)


if __name__ == "__main__":
    sys.exit(main())
