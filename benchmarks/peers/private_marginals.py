"""MST or AIM by `smartnoise-synth`, under differential privacy.

Numbers are put into 32 even bins of their public range, categories are numbered in their public order, so no budget
goes into the preparation. A synthetic number is uniform within its bin.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from contract import Job, decimals, parser, read, write
from snsynth.aim import AIMSynthesizer
from snsynth.mst import MSTSynthesizer
from snsynth.transform import BinTransformer, TableTransformer

BINS = 32
MECHANISMS = {"mst": MSTSynthesizer, "aim": AIMSynthesizer}


def main() -> None:
    """Write the rows that the command line asks for."""
    options = parser("MST or AIM")
    options.add_argument("--mechanism", choices=list(MECHANISMS), required=True)
    options.add_argument("--epsilon", type=float, required=True)
    options.add_argument("--delta", type=float, required=True)
    job = read(options.parse_args())
    np.random.seed(job.seed)  # selection only: the noise of OpenDP has no seed
    codes = pd.DataFrame({column: encoded(job, column) for column in job.train})
    model = MECHANISMS[job.options.mechanism](epsilon=job.options.epsilon, delta=job.options.delta)
    model.fit(codes, transformer=TableTransformer([given(size(job, column)) for column in job.train]))
    made = pd.DataFrame(model.sample(job.rows), columns=list(job.train)).round().astype(int)
    rng = np.random.default_rng(job.seed)
    write(job, pd.DataFrame({column: decoded(job, column, made[column].to_numpy(), rng) for column in job.train}))


def size(job: Job, column: str) -> int:
    """How many codes a column has."""
    return len(job.values[column]) if column in job.categories else BINS


def given(codes: int) -> BinTransformer:
    """Codes as they are: one bin each, between bounds that are known."""
    return BinTransformer(bins=codes, lower=-0.5, upper=codes - 0.5)


def edges(job: Job, column: str) -> np.ndarray:
    """Bounds of the bins of a number; the last value of whole numbers is inside the last bin."""
    low, high = job.ranges[column]
    return np.linspace(low, high + (decimals(job.train[column]) == 0), BINS + 1)


def encoded(job: Job, column: str) -> np.ndarray:
    """The codes of the train rows."""
    values = job.train[column]
    if column in job.categories:
        return values.map({value: code for code, value in enumerate(job.values[column])}).to_numpy(int)
    return np.clip(np.searchsorted(edges(job, column), values, side="right") - 1, 0, BINS - 1)


def decoded(job: Job, column: str, codes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Values of codes."""
    if column in job.categories:
        return np.asarray(job.values[column], dtype=object)[codes]
    bounds = edges(job, column)
    value = rng.uniform(bounds[codes], bounds[codes + 1])
    return np.floor(value) if decimals(job.train[column]) == 0 else value


if __name__ == "__main__":
    main()
