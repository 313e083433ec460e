"""Several commands in one process that has a plug-in: importing the libraries takes longer than most commands."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TypeAlias

from plugin import environment, make_plugin

TESTS = Path(__file__).parent.parent
DRIVER = """import json, sys
from pathlib import Path
from console import run
from models import quick_releases, quick_steering
commands = json.loads(sys.argv[1])
with quick_releases(), quick_steering(tables=2):
    print(json.dumps({name: run(["cuts", *words.split()], Path.cwd()) for name, words in commands.items()}))
"""
Outcomes: TypeAlias = dict[str, tuple[str, int]]  # what each command printed, and its exit code


def run_with_plugin(
    site: Path, group: str, module_name: str, source: str, commands: Mapping[str, str], folder: Path
) -> Outcomes:
    """The outcome of each command by name, run one after the other in a process of their own."""
    make_plugin(site, group, module_name, source)
    done = subprocess.run(
        [sys.executable, "-c", DRIVER, json.dumps(commands)],
        cwd=folder,
        env=environment(site, TESTS),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return {name: (text, code) for name, (text, code) in json.loads(done.stdout).items()}
