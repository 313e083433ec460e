"""Distributions outside the package that add something to it, as `pip install` would leave them, and `cuts` with one.

Entry points are read from the metadata next to a module, so a folder on PYTHONPATH with both is an installed plug-in.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import cuts


def make_plugin(
    folder: Path, group: str, module_name: str, source: str, *, name: str | None = None, value: str | None = None
) -> dict[str, str]:
    """The environment of a process in which a module with this source is installed and listed under `group`.

    The entry point is `module_name = module_name` unless it has another `name`, or a `value` such as `module:object`.
    """
    metadata = folder / f"{module_name}-1.0.dist-info"
    metadata.mkdir(parents=True)
    (folder / f"{module_name}.py").write_text(source, encoding="utf-8")
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module_name}\nVersion: 1.0\n", encoding="utf-8")
    entry = f"{name or module_name} = {value or module_name}"
    (metadata / "entry_points.txt").write_text(f"[{group}]\n{entry}\n", encoding="utf-8")
    return environment(folder)


def environment(*folders: Path) -> dict[str, str]:
    """The environment of a process that imports from these folders and from the package under test."""
    package = Path(cuts.__file__).parents[1]
    paths = os.pathsep.join(str(folder.resolve()) for folder in (*folders, package))
    return {**os.environ, "PYTHONPATH": paths, "COLUMNS": "200"}


def run_cuts(*words: str, folder: Path, env: Mapping[str, str] | None = None) -> tuple[str, int]:
    """What a `cuts` command prints in `folder`, stdout and stderr together, and its exit code; a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "cuts", *words],
        cwd=folder,
        env=env or environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return done.stdout, done.returncode
