"""Sequential CART in the manner of synthpop: each column is drawn from a tree over the columns before it.

The first column is a bootstrap sample. For each other column a tree is grown with leaves of at least 5 train rows;
a synthetic row falls into a leaf and takes the value of a random train row there. Categories among the predictors are
ordered by the target, as CART does: splits of the order are splits of the set of values.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from contract import parser, read, write
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

MIN_LEAF = 5


def main() -> None:
    """Write the rows that the command line asks for."""
    job = read(parser("Sequential CART").parse_args())
    rng = np.random.default_rng(job.seed)
    first, *others = list(job.train)
    made = pd.DataFrame({first: rng.choice(job.train[first].to_numpy(), job.rows)})
    for position, column in enumerate(others, start=1):
        before = job.train.iloc[:, :position]
        made[column] = drawn(before, job.train[column], made, job.categories, rng)
    write(job, made)


def drawn(
    before: pd.DataFrame, target: pd.Series, made: pd.DataFrame, categories: list[str], rng: np.random.Generator
) -> np.ndarray:
    """Values of `target` for the rows of `made`, each from a train row in the same leaf."""
    seed = int(rng.integers(2**31))
    is_category = target.name in categories
    kind = DecisionTreeClassifier if is_category else DecisionTreeRegressor
    tree = kind(min_samples_leaf=MIN_LEAF, random_state=seed)
    goal = pd.get_dummies(target).to_numpy(float) if is_category else target.to_numpy(float)[:, None]
    orders = {column: order(before[column], goal) for column in before if column in categories}
    tree.fit(encoded(before, orders), target)
    leaves = tree.apply(encoded(before, orders))
    rows = np.argsort(leaves, kind="stable")  # the rows of one leaf are neighbours
    wanted = tree.apply(encoded(made, orders))
    start = np.searchsorted(leaves[rows], wanted, side="left")
    end = np.searchsorted(leaves[rows], wanted, side="right")
    return target.to_numpy()[rows[rng.integers(start, end)]]


def order(column: pd.Series, goal: np.ndarray) -> dict[str, int]:
    """Rank of each value by the first principal component of its mean target."""
    means = pd.DataFrame(goal).groupby(column.to_numpy()).mean()
    weight = np.sqrt(column.value_counts().reindex(means.index).to_numpy(float))[:, None]
    centred = means.to_numpy() - goal.mean(axis=0)
    direction = np.linalg.svd(weight * centred, full_matrices=False)[2][0]
    return {value: rank for rank, value in enumerate(means.index[np.argsort(centred @ direction, kind="stable")])}


def encoded(rows: pd.DataFrame, orders: dict[str, dict[str, int]]) -> np.ndarray:
    """Rows as numbers, categories by their rank."""
    columns = [rows[name].map(orders[name]) if name in orders else rows[name] for name in rows]
    return np.column_stack([column.to_numpy(float) for column in columns])


if __name__ == "__main__":
    main()
