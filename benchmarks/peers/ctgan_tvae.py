"""CTGAN or TVAE by the package `ctgan`, with its default settings, on the CPU."""

from __future__ import annotations

import torch
from contract import parser, read, write
from ctgan import CTGAN, TVAE

MODELS = {"ctgan": CTGAN, "tvae": TVAE}


def main() -> None:
    """Write the rows that the command line asks for."""
    options = parser("CTGAN or TVAE")
    options.add_argument("--model", choices=list(MODELS), required=True)
    options.add_argument("--epochs", type=int, default=300, help="passes over the train rows")
    job = read(options.parse_args())
    torch.set_num_threads(1)
    model = MODELS[job.options.model](epochs=job.options.epochs, enable_gpu=False)
    model.set_random_state(job.seed)
    model.fit(job.train, discrete_columns=job.categories)
    write(job, model.sample(job.rows))


if __name__ == "__main__":
    main()
