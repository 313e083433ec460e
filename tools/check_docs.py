"""Check that every relative link in the Markdown files leads somewhere, headings included."""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
FENCE = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)


def main() -> int:
    """Print every broken link; the exit code is 1 if there is one."""
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("tests/specs/*.md")]
    broken = [f"{page.relative_to(ROOT)}: {target}" for page in pages for target in broken_links(page)]
    print("\n".join(broken) if broken else f"{len(pages)} pages, every link leads somewhere")
    return 1 if broken else 0


def broken_links(page: Path) -> list[str]:
    """The relative links of a page that lead nowhere."""
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    found = []
    for target in LINK.findall(text):
        if re.match(r"[a-z]+:", target):  # somewhere else: not ours to check
            continue
        name, _, anchor = target.partition("#")
        file = page if not name else (page.parent / name)
        if not file.exists() or (anchor and file.suffix == ".md" and anchor not in anchors(file)):
            found.append(target)
    return found


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    headings = re.findall(r"^#+ +(.*?) *$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


if __name__ == "__main__":
    sys.exit(main())
