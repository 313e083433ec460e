"""TabularARGN by `mostlyai-engine`, with its default settings, on the CPU."""

from __future__ import annotations

import warnings

import torch
from contract import parser, read, write
from mostlyai.engine import TabularARGN


def main() -> None:
    """Write the rows that the command line asks for."""
    warnings.simplefilter("ignore")
    options = parser("MOSTLY AI TabularARGN")
    options.add_argument("--epochs", type=float, default=100.0, help="max epochs; it stops by itself before")
    options.add_argument("--verbose", type=int, default=0, help="1 tells how the training goes")
    job = read(options.parse_args())
    torch.set_num_threads(1)
    model = TabularARGN(
        max_epochs=job.options.epochs,
        tgt_encoding_types=dict.fromkeys(job.categories, "TABULAR_CATEGORICAL"),
        device="cpu",
        random_state=job.seed,
        verbose=job.options.verbose,
    )
    model.fit(job.train)
    write(job, model.sample(n_samples=job.rows))


if __name__ == "__main__":
    main()
