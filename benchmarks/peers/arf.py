"""Adversarial random forest by `arfpy`, with its default settings."""

from __future__ import annotations

import warnings

import numpy as np
from arfpy.arf import arf
from contract import parser, read, write


def main() -> None:
    """Write the rows that the command line asks for."""
    warnings.simplefilter("ignore")  # its pandas calls are older than the pandas here
    job = read(parser("Adversarial random forest").parse_args())
    np.random.seed(job.seed)  # arfpy takes no seed of its own
    forest = arf(job.train, verbose=False, random_state=job.seed, n_jobs=1)
    forest.forde()
    write(job, forest.forge(job.rows))


if __name__ == "__main__":
    main()
