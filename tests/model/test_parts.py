"""Parts of a wide table: within their room, and with columns that depend on each other."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cuts.model.parts import choose_part

NAMES = [f"c{i}" for i in range(40)]
PARTNERS = {name: [NAMES[i // 4 * 4 + k] for k in range(4) if i % 4 != k] for i, name in enumerate(NAMES)}


@given(st.lists(st.integers(1, 30), min_size=40, max_size=40), st.integers(1, 300), st.integers(0, 10**6))
def test_a_part_keeps_to_its_room_unless_a_single_column_is_larger(costs: list[int], room: int, seed: int) -> None:
    cost = dict(zip(NAMES, costs, strict=True))
    chosen = choose_part(NAMES, PARTNERS, cost, room, np.random.default_rng(seed))
    assert chosen <= set(NAMES)
    assert sum(cost[name] for name in chosen) <= room or len(chosen) == 1
    assert chosen == choose_part(NAMES, PARTNERS, cost, room, np.random.default_rng(seed))


def test_columns_are_chosen_with_their_partners_and_the_first_ones_in_any_case() -> None:
    cost = dict.fromkeys(NAMES, 1)
    random = np.random.default_rng(0)
    parts = [choose_part(NAMES, PARTNERS, cost, 8, random, first=["c39", "c0"]) for _ in range(200)]
    assert all({"c39", "c0"} <= part and len(part) == 8 for part in parts)
    together = np.mean([("c20" in part) == ("c21" in part) for part in parts])
    assert together > 0.9
    assert set().union(*parts) == set(NAMES)


def test_without_partners_a_part_is_random() -> None:
    cost = dict.fromkeys(NAMES, 1)
    random = np.random.default_rng(0)
    parts = [choose_part(NAMES, {}, cost, 10, random) for _ in range(400)]
    share = [np.mean([name in part for part in parts]) for name in NAMES]
    assert 0.15 < min(share) < max(share) < 0.35
