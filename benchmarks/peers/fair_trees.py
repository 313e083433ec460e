"""TabFairGDT: trees whose leaves are relabelled towards demographic parity of one protected column."""

from __future__ import annotations

from contract import Job, parser, read, write
from tabfairgdt import TABFAIRGDT


def main() -> None:
    """Write the rows that the command line asks for."""
    options = parser("TabFairGDT")
    options.add_argument("--protected", required=True, help="column whose two groups get equal rates")
    options.add_argument("--desired", help="favourable value of the label; TabFairGDT does not ask for it")
    options.add_argument("--strength", type=float, default=0.5, help="0 leaves the labels, 1 is the fairest")
    job = read(options.parse_args())
    for column in (job.label, job.options.protected):  # otherwise it treats all values but the first as one
        if job.train[column].nunique() != 2:
            raise SystemExit(f"TabFairGDT needs two values of `{column}`")
    model = TABFAIRGDT(
        protected_attribute=job.options.protected,
        target=job.label,
        dtype_map={column: kind(job, column) for column in job.train},
        seed=job.seed,
        parallel=False,
    )
    model.fit(job.train.astype(dict.fromkeys(job.categories, "category")), lamda=job.options.strength)
    write(job, model.generate(k=job.rows))


def kind(job: Job, column: str) -> str:
    """What TabFairGDT calls the type of a column."""
    if column in job.categories:
        return "category"
    return "int" if job.train[column].dtype.kind in "iu" else "float"


if __name__ == "__main__":
    main()
