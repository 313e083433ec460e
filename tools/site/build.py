"""Build the documentation site; a warning is an error. Neither building nor reading it needs a network.

python tools/site/build.py          # into site/: open site/index.html
python tools/site/build.py FOLDER
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from sphinx.cmd.build import main as sphinx

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from stage import ROOT, stage  # noqa: E402


def build(folder: Path) -> int:
    """Write the site to `folder`; the exit code of Sphinx."""
    with tempfile.TemporaryDirectory() as scratch:
        pages, trees = Path(scratch) / "pages", Path(scratch) / "trees"
        stage(pages)
        options = ["--fail-on-warning", "--keep-going", "--quiet", "--nitpicky"]
        return sphinx([*options, "-b", "html", "-c", str(HERE), "-d", str(trees), str(pages), str(folder)])


if __name__ == "__main__":
    sys.exit(build(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "site"))
