"""Charts are drawings of numbers: what they show follows from the facts, and every one can be read aloud."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from itertools import pairwise
from random import Random

import pytest

import report_examples as examples
from cuts.report.charts.curves import trade_off
from cuts.report.charts.distributions import MAX_BARS, distribution
from cuts.report.charts.dots import Dot, Row, dots
from cuts.report.charts.heatmaps import MAX_COLUMNS, difference, heat_map, largest
from cuts.report.charts.scales import Mark, scale
from cuts.report.charts.svg import element, squeeze, ticks, visible
from cuts.report.facts import Distribution, Matrix, TradeOffPoint

SEX = Distribution("sex", "category", ("Male", "Female"), (0.6, 0.4), (0.5, 0.5), 0.1, 0.01)


def drawn(svg: str) -> ElementTree.Element:
    """The drawing, which must be well-formed XML."""
    return ElementTree.fromstring(svg)


def of_class(svg: str, name: str) -> list[ElementTree.Element]:
    return [part for part in drawn(svg).iter() if name in part.get("class", "").split()]


def test_bars_are_as_long_as_the_shares() -> None:
    svg = distribution("d", SEX)
    real, synthetic = ([float(bar.get("width", 0)) for bar in of_class(svg, kind)] for kind in ("real", "synthetic"))
    assert real[1] / real[0] == pytest.approx(0.4 / 0.6, rel=0.01)
    assert synthetic[0] == synthetic[1] == pytest.approx(real[0] * 0.5 / 0.6, rel=0.01)


def test_a_histogram_has_a_bar_per_bin_and_one_line() -> None:
    column = examples.number("age", Random(1), 17, 90)
    svg = distribution("d", column)
    bars = of_class(svg, "real")
    assert len(bars) == len(column.bins)
    tallest = max(range(len(bars)), key=lambda i: float(bars[i].get("height", 0)))
    assert column.real[tallest] == max(column.real)
    assert len(of_class(svg, "synthetic-line")) == 1


def test_missing_values_stand_apart_from_the_numbers() -> None:
    column = examples.number("hours_per_week", Random(1), 1, 99)
    bars = of_class(distribution("d", column), "real")
    lefts = [float(bar.get("x", 0)) for bar in bars]
    steps = [after - before for before, after in pairwise(lefts)]
    assert steps[-1] > steps[0] + 10


def test_the_most_frequent_categories_are_drawn_and_the_rest_is_counted() -> None:
    bins = tuple(f"value {i}" for i in range(30))
    shares = tuple((i + 1) / 465 for i in range(30))
    svg = distribution("d", Distribution("c", "category", bins, shares, shares, 0, 0))
    tips = [part.get("data-t", "") for part in of_class(svg, "target")]
    assert len(tips) == MAX_BARS - 1
    assert tips[-1].startswith("value 29: real 6.5")
    assert f"{30 - MAX_BARS + 1} more below" in svg


@pytest.mark.parametrize("kind", ["category", "number", "time"])
@pytest.mark.parametrize("bins", [(), ("only",), ("only", "missing")])
def test_columns_with_almost_no_bins_are_drawn(kind: str, bins: tuple[str, ...]) -> None:
    shares = tuple(1 / len(bins) for _ in bins)
    column = Distribution("c", kind, bins, shares, shares, 0.0, 0.0)  # type: ignore[arg-type]
    assert drawn(distribution("d", column)).get("role") == "img"


def test_a_heat_map_has_a_cell_per_pair_and_shades_by_size() -> None:
    matrix = Matrix(
        ("a", "b", "c"), ((1, 0.5, None), (0.5, 1, 0.1), (None, 0.1, 1)), ((1, 0.2, 0), (0.2, 1, 0.1), (0, 0.1, 1))
    )
    svg = heat_map("m", matrix, "difference", what="Dependence", signed=False)
    cells = [part for part in drawn(svg).iter() if part.tag == "rect"]
    assert [cell.get("class") for cell in cells] == ["same", "n4", "none", "n4", "same", "z", "none", "z", "same"]
    assert cells[1].get("data-t") == "a and b: −0.30"
    assert cells[2].get("data-t") == "a and c: undefined"
    assert difference(matrix)[0][2] is None


def test_a_heat_map_keeps_the_columns_that_differ_most() -> None:
    names = [f"c{i}" for i in range(60)]
    matrix = examples.matrix(names, Random(2), signed=False)
    spiked = [list(row) for row in matrix.synthetic]
    spiked[59][58] = spiked[58][59] = 5.0
    kept = largest(replace(matrix, synthetic=tuple(map(tuple, spiked))))
    assert len(kept.columns) == MAX_COLUMNS
    assert {"c58", "c59"} <= set(kept.columns)
    assert kept.real[0][1] == matrix.real[names.index(kept.columns[0])][names.index(kept.columns[1])]


def test_a_scale_puts_numbers_in_their_order_and_inside_its_ends() -> None:
    marks = [Mark(0.7, "ours", True, 0.01), Mark(0.52, "floor", False), Mark(0.2, "far out", False)]
    svg = scale("s", marks, ends=(0.5, 1.0), words=("good", "bad"), name="AUC")
    ours = float(of_class(svg, "synthetic")[0].get("cx", 0))
    floor, outside = (float(re.findall(r"M([\d.]+)", mark.get("d", ""))[0]) for mark in of_class(svg, "yardstick"))
    assert 20 == outside < floor < ours < 500
    assert "ours 0.700; floor 0.520" in drawn(svg)[0].text  # type: ignore[operator]


def test_whiskers_span_the_interval_and_a_target_is_a_line() -> None:
    rows = [Row("xgboost", (Dot("synthetic", 0.02, "0.02", (0.01, 0.04)),))]
    svg = dots("p", rows, name="gap", start=0.0, target=(0.05, "<= 0.05"))
    left, right = re.findall(r"M([\d.]+) [\d.]+v10", of_class(svg, "whisker")[0].get("d", ""))
    middle = float(re.findall(r"M([\d.]+)", of_class(svg, "synthetic")[0].get("d", ""))[0])
    limit = float(of_class(svg, "limit")[0].get("x1", 0))
    assert float(left) < middle < float(right) < limit
    assert (middle - float(left)) / (float(right) - middle) == pytest.approx(0.5, rel=0.05)
    assert "target &lt;= 0.05" in svg


def test_undefined_numbers_are_left_out_of_charts() -> None:
    svg = dots("p", [Row("a", (Dot("real", float("nan"), "undefined"),)), Row("b", ())], name="gap")
    assert not of_class(svg, "real")
    assert "nan" not in svg


def test_a_trade_off_names_its_start_and_its_choice() -> None:
    classifiers = examples.classifiers()
    svg = trade_off("t", classifiers.trade_offs[0])
    assert len(of_class(svg, "trial")) == 3
    assert [len(of_class(svg, kind)) for kind in ("real", "synthetic")] == [1, 1]
    assert "before: parity gap 0.184, accuracy of predicting salary 87.37" in svg
    alone = replace(classifiers.trade_offs[0], trials=(), chosen=0.1841, start=TradeOffPoint(0.0, 0.0))
    assert "nan" not in trade_off("t", alone)


def test_every_text_in_a_drawing_is_escaped() -> None:
    for nasty in examples.NASTY:
        column = Distribution(nasty, "category", (nasty, "b"), (0.5, 0.5), (0.5, 0.5), 0.0, 0.0)
        svg = distribution("d", column)
        assert drawn(svg).tag == "svg"
        assert {part.tag for part in drawn(svg).iter()} == {"svg", "desc", "text", "rect"}
        assert len(svg) < 5_000


def test_control_characters_and_changes_of_direction_are_shown_as_replaced() -> None:
    assert visible("a\x00b\u202ec\ud800d\ne") == "a\ufffdb\ufffdc\ufffdd\ne"
    assert element("text", "\x1b[0m", data_t="\u2066") == '<text data-t="\ufffd">\ufffd[0m</text>'


def test_ticks_are_round_and_inside() -> None:
    assert ticks(0.4, 1.0, 5) == [0.4, 0.6, 0.8, 1.0]
    assert ticks(-0.013, 0.037, 4) == [0.0, 0.02]
    assert ticks(3.0, 3.0, 4) == [3.0]


def test_squeezed_names_that_differ_at_their_ends_stay_different() -> None:
    names = {squeeze(f"measurement_of_sensor_{i:03d}", 16) for i in range(1000)}
    assert len(names) == 1000
    assert max(map(len, names)) == 16
