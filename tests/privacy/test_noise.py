"""T1: the noise on counts is the discrete Gaussian, whatever the counts, and nothing brings it back."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import cache

import numpy as np
import pytest

from cuts.data.table import IntArray
from privacy.checks import check_noise, check_noise_ignores_counts, check_unseeded, noise_of
from privacy.people import open_core, open_twin
from privacy.twin import discrete_gaussian

SIGMAS = (0.7, 5.78, 91.17)


@cache
def draws(sigma: float, level: int = 0) -> IntArray:
    """60,000 draws of the core, 1,000 cells per call; mutants are seen in 20,000."""
    return noise_of(open_core, sigma, 60, level)


@pytest.mark.parametrize("sigma", SIGMAS)
def test_the_noise_of_the_core_is_the_discrete_gaussian(sigma: float) -> None:
    check_noise(draws(sigma), sigma)


@pytest.mark.parametrize("sigma", SIGMAS)
def test_the_noise_of_the_twin_is_the_discrete_gaussian(sigma: float) -> None:
    check_noise(noise_of(open_twin(), sigma, 60), sigma)


def test_the_noise_does_not_depend_on_the_counts() -> None:
    check_noise_ignores_counts(draws(5.78), draws(5.78, 10**6))


def test_the_noise_of_a_great_count_is_the_discrete_gaussian() -> None:
    check_noise(draws(5.78, 10**6), 5.78)


def test_a_discrete_gaussian_of_little_noise_has_less_variance_than_its_scale_says() -> None:
    values, p = discrete_gaussian(0.3)
    assert 0 < (p * values**2).sum() < 0.3**2


def test_no_seed_brings_the_noise_back() -> None:
    check_unseeded(lambda: open_core)


def test_forked_processes_draw_different_noise() -> None:
    # All three know the same generator's state at the fork; equal noise of 1,000 cells by chance is impossible.
    program = """
import os
from cuts.privacy.query import fine
from privacy.people import empty_table, open_core, plentiful

def draw():
    return open_core(empty_table(1_000), plentiful()).measure(fine(("x",), {"x": 1_000}), 5.78).tolist()

draw()  # whatever is set up at first use is there when the process forks
children = []
for _ in range(2):
    child = os.fork()
    if not child:
        children = []
        break
    children.append(child)
os.write(1, (" ".join(map(str, draw())) + "\\n").encode())
for child in children:
    assert os.waitpid(child, 0)[1] == 0
os._exit(0)
"""
    environment = {"PYTHONPATH": os.pathsep.join(sys.path), "OMP_NUM_THREADS": "1"}
    drawn = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environment)
    lines = [np.array(line.split(), dtype=np.int64) for line in drawn.stdout.splitlines()]
    assert [len(line) for line in lines] == [1_000] * 3
    for one, other in ((0, 1), (0, 2), (1, 2)):
        same = (lines[one] == lines[other]).mean()
        assert same < 0.12, "forks share their noise"  # 4.9 % of two draws are equal, give or take 0.7 %
