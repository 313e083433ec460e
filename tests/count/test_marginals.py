"""Counts as values: what they must be, how they combine, and the file they are kept in."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from cuts.count.marginals import Marginals


def two(*, codec: str = "c", cells: Any = ((1, 2), (3, 4))) -> Marginals:
    """Counts of two columns."""
    table = np.array(cells, dtype=np.int64)
    return Marginals({"a": 2, "b": 2}, {("a", "b"): table}, int(table.sum()), codec)


def test_fewer_columns_come_in_the_order_asked_for() -> None:
    found = two()
    assert found.table(("b", "a")).tolist() == [[1, 3], [2, 4]]
    assert found.table(["b"]).tolist() == [4, 6]
    assert found.table(()).item() == 10
    assert found.covers(("a",))
    assert found.covers(())
    assert not found.covers(("a", "z"))
    assert not found.covers(("a", "a"))


def test_the_smallest_table_is_summed() -> None:
    triple = np.array([[[1, 0], [2, 0]], [[3, 0], [4, 0]]])
    pair = np.array([[0, 0], [0, 10]])  # not of the same rows, so that one can tell
    found = Marginals({"a": 2, "b": 2, "c": 2}, {("a", "b", "c"): triple, ("a", "b"): pair}, 10, "c")
    assert found.table(("a",)).tolist() == [0, 10]
    assert found.table(("c",)).tolist() == [10, 0]


def test_columns_not_counted_together_are_named() -> None:
    alone = Marginals({"a": 1, "b": 1}, {("a",): np.array([3]), ("b",): np.array([3])}, 3, "c")
    with pytest.raises(KeyError, match="a, b were not counted together"):
        alone.table(("a", "b"))
    with pytest.raises(KeyError, match="no modelled column `z`"):
        alone.table(("z",))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rows": 9}, "add up to 10, not to 9 rows"),
        ({"rows": -1}, "rows is negative: -1"),
        ({"sizes": {"b": 2, "a": 2}}, "not in the codec's order"),
        ({"sizes": {"a": 2, "b": 3}}, "not int64 of shape"),
        ({"tables": {("a",): np.array([11, -1])}}, "negative"),
        ({"tables": {("a",): np.array([5.0, 5.0])}}, "float64"),
    ],
)
def test_counts_that_cannot_be_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        replace(two(), **changes)


def test_counts_cannot_be_written_to() -> None:
    with pytest.raises(ValueError, match="read-only"):
        two().tables["a", "b"][0, 0] = 7


def test_only_like_counts_combine() -> None:
    with pytest.raises(ValueError, match="different codecs: c and d"):
        two() + two(codec="d")
    with pytest.raises(ValueError, match="only one of these counts has"):
        two() + replace(two(), tables={})
    with pytest.raises(ValueError, match="their rows are not a subset of these"):
        two() - two(cells=((2, 0), (0, 0)))
