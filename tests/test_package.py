"""The built package holds what it needs at run time, and its parts keep their distance."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

ROOT = Path(__file__).parent.parent


def test_an_installed_wheel_explains_codes_and_finds_its_tables(tmp_path: Path) -> None:
    built = subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)],
        cwd=ROOT, capture_output=True, text=True,
    )  # fmt: skip
    assert built.returncode == 0, built.stderr
    (wheel,) = tmp_path.glob("*.whl")
    installed = tmp_path / "site"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(installed)
        parts = {name.removeprefix("cuts/report/templates/") for name in archive.namelist()}
        assert {"page.html.j2", "sections/verdicts.html.j2", "style.css", "script.js"} <= parts
    assert wheel.stat().st_size < 1_350_000  # a third of it are the embedded tables; no data gets in by accident
    (tmp_path / "p.cuts").write_text("SYNTHESIZE: german; ENFORCE: A13 > 30; END;")
    environment = {**os.environ, "PYTHONPATH": str(installed)}
    for words, expected in (
        (["explain", "contradiction"], "# contradiction"),
        (["check", "p.cuts"], "ok: 1 command"),
        (["datasets"], "adult"),
    ):
        done = subprocess.run(
            [sys.executable, "-m", "cuts", *words], cwd=tmp_path, env=environment, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        assert expected in done.stdout
    where = subprocess.run(
        [sys.executable, "-c", "import cuts; print(cuts.__file__)"], env=environment, capture_output=True, text=True
    )
    assert str(installed) in where.stdout, "the test must have used the wheel"


def test_nothing_in_the_package_can_run_text_as_code() -> None:
    forbidden = re.compile(
        r"^\s*(?:import|from)\s+(?:pickle|marshal|shelve|dill)\b|(?<![\w.])(?:eval|exec)\(", re.MULTILINE
    )
    for path in (ROOT / "src").rglob("*.py"):
        assert not forbidden.search(path.read_text()), path


def layers() -> list[str]:
    """The packages and modules of `cuts` from the top layer down, as `make check` enforces them."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    (whole,) = [contract for contract in contracts if contract.get("containers") == ["cuts"]]
    return [name for layer in whole["layers"] for name in layer.split(" | ")]


def test_the_map_of_the_packages_lists_the_layers_in_their_order() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text()
    rows = re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE)
    assert rows == [name for name in layers() if name != "__main__"]


def test_the_top_level_holds_packages_and_entry_points_only() -> None:
    modules = {path.stem for path in (ROOT / "src" / "cuts").glob("*.py")}
    assert modules == {"__init__", "__main__", "build", "config", "plan", "progress", "synthesizer"}
    assert len(layers()) - layers().count("__main__") == len(modules | PACKAGES) - 2  # less the two dunders


PACKAGES = {path.parent.name for path in (ROOT / "src" / "cuts").glob("*/__init__.py")}


def test_every_module_the_walk_names_exists() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text()
    walk = text[text.index("### The walk") : text.index("## How to add")]
    named = set(re.findall(r"`([\w/]+\.py)`", walk))
    assert len(named) > 25
    missing = {name for name in named if not (ROOT / "src" / "cuts" / name).exists()}
    assert missing == set()
