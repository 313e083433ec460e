"""The built package holds what it needs at run time, and its parts keep their distance."""

from __future__ import annotations

import os
import re
import subprocess
import sys
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
    assert wheel.stat().st_size < 1_000_000
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
