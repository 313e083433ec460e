"""The Markdown pages as Sphinx needs them: a copy of `docs` with navigation, file names and pages from elsewhere.

The pages in `docs` are plain Markdown that also reads well without a site. What Sphinx needs in addition is derived:

- The navigation follows the links of the index page of each section, in their order.
- A block with `file=NAME` gets the name as its caption; a `text` block that shows a session is coloured like one.
- The pages of `PAGES_ELSEWHERE` become part of the site, and links to them are rewritten.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from console import Block  # noqa: E402

ELSEWHERE = ("CHANGELOG.md", "CONTRIBUTING.md", "benchmarks/README.md", "editors/README.md")
PAGES_ELSEWHERE = {
    source: f"project/{source.removesuffix('/README.md').removesuffix('.md').lower()}.md" for source in ELSEWHERE
}
SECTIONS = ("Tutorial <tutorial>", "how-to/index", "reference/index", "explanation/index", "project/index")

_FENCE = re.compile(r"^```(?P<info>[^\n]*)\n(?P<body>.*?)^```$", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"(?<=\]\()(?P<target>[^)\s#:]+)(?P<anchor>#[^)\s]*)?(?=\))")


def stage(folder: Path) -> None:
    """Write all pages of the site to `folder`, which is emptied first."""
    shutil.rmtree(folder, ignore_errors=True)
    docs = ROOT / "docs"
    shutil.copytree(docs, folder, ignore=lambda _, names: [name for name in names if name.endswith(".md")])  # pictures
    for page in sorted(docs.rglob("*.md")):
        name = page.relative_to(docs).as_posix()
        _write(folder / name, staged(page.read_text(encoding="utf-8"), f"docs/{name}", name))
    for source, name in PAGES_ELSEWHERE.items():
        if (ROOT / source).exists():
            _write(folder / name, staged((ROOT / source).read_text(encoding="utf-8"), source, name))
    _write(folder / "project/index.md", project_page())


def project_page() -> str:
    """The index of what is neither tutorial, how-to, reference nor explanation."""
    inside = [page.name for page in sorted((ROOT / "docs").glob("*.md")) if page.stem not in ("index", "tutorial")]
    outside = [PurePosixPath(name).name for source, name in PAGES_ELSEWHERE.items() if (ROOT / source).exists()]
    entries = [*(name.removesuffix(".md") for name in outside), *(f"../{name.removesuffix('.md')}" for name in inside)]
    return "\n".join(["# Project", "", "```{toctree}", ":maxdepth: 1", "", *entries, "```", ""])


def staged(text: str, source: str, name: str) -> str:
    """A page of the repository (`source`) as the page `name` of the site."""
    parts: list[str] = []
    end = 0
    for fence in _FENCE.finditer(text):
        parts += [_rewritten_links(text[end : fence.start()], source, name), _block(fence)]
        end = fence.end()
    parts.append(_rewritten_links(text[end:], source, name))
    return with_navigation("".join(parts), name)


def with_navigation(text: str, name: str) -> str:
    """An index page with the list of its pages for the navigation; any other page as it is."""
    if name == "index.md":
        entries = list(SECTIONS)
    elif name.endswith("/index.md"):
        links = [match["target"] for match in _LINK.finditer(_FENCE.sub("", text))]
        entries = [link.removesuffix(".md") for link in dict.fromkeys(links) if not link.startswith("..")]
    else:
        return text
    return "\n".join([text.rstrip(), "", "```{toctree}", ":hidden:", "", *entries, "```", ""])


def _block(fence: re.Match[str]) -> str:
    """A fenced block without the words that only the tests read."""
    block = Block(**fence.groupdict())
    kind = "console" if block.kind == "text" and re.search(r"^\$ ", block.body, re.MULTILINE) else block.kind
    caption = [f":caption: {block.options['file']}"] if block.options.get("file") else []
    options = [*caption, ":force:"]  # examples of mistakes are coloured as far as they can be
    return "\n".join([f"```{{code-block}} {kind}", *options, "", block.body + "```"])


def _rewritten_links(text: str, source: str, name: str) -> str:
    """`text` with every relative link leading from its place in the site to another page of the site."""

    def rewrite(match: re.Match[str]) -> str:
        target = os.path.normpath(PurePosixPath(source).parent / match["target"])
        return os.path.relpath(_place(target, source), PurePosixPath(name).parent) + (match["anchor"] or "")

    return _LINK.sub(rewrite, text)


def _place(target: str, source: str) -> str:
    """Where the file `target` of the repository is in the site."""
    if target in PAGES_ELSEWHERE:
        return PAGES_ELSEWHERE[target]
    if target.startswith("docs/"):
        return target.removeprefix("docs/")
    raise ValueError(f"{source} links to {target}, which is not part of the site: add it in {__file__}")


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
