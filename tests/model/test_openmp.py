"""How threads wait is decided for the command line only."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import cuts
from cuts.model.openmp import wait_passively

SOURCE = str(Path(cuts.__file__).parents[1])


def test_what_the_user_set_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_WAIT_POLICY", "ACTIVE")
    wait_passively()
    assert os.environ["OMP_WAIT_POLICY"] == "ACTIVE"
    monkeypatch.delenv("OMP_WAIT_POLICY")
    wait_passively()
    assert os.environ["OMP_WAIT_POLICY"] == "PASSIVE"
    monkeypatch.delenv("OMP_WAIT_POLICY")


def test_a_host_process_is_left_as_it_is() -> None:
    code = "import os, sys, cuts.model.openmp; sys.exit('OMP_WAIT_POLICY' in os.environ)"
    environment = {"PYTHONPATH": SOURCE, "PATH": ""}
    assert subprocess.run([sys.executable, "-c", code], env=environment, check=False).returncode == 0
