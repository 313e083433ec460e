"""Numbers with thousands separators are read as the numbers they are and written again as they looked."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cuts.data.exchange.evidence import Evidence, narrow, settle
from cuts.data.exchange.files import load, save
from cuts.data.exchange.text_format import parse, show
from cuts.data.table import Table

SEPARATORS = [(",", "."), (".", ","), (",", " "), (".", "'"), (",", "\u00a0"), (",", "\u202f"), (".", "\u2019")]


def numbers(folder: Path, texts: list[str], delimiter: str = ";") -> pa.ChunkedArray:
    """The column of a CSV file with these texts; the file that is written from it must be the same."""
    quoted = [f'"{text}"' if delimiter in text else text for text in texts]
    path, copy = folder / "t.csv", folder / "copy.csv"
    path.write_text("\n".join([f"amount{delimiter}row", *(f"{text}{delimiter}x" for text in quoted), ""]), "utf-8")
    table, form = load(path)
    save(table, copy, form)
    assert copy.read_text("utf-8") == path.read_text("utf-8")
    return table.column("amount")


@pytest.mark.parametrize(
    ("texts", "values"),
    [
        (["2.303,15", "-1.234,50", "5,00"], [2303.15, -1234.5, 5.0]),
        (["2,303.15", "1,234,567.50", "0.05"], [2303.15, 1234567.5, 0.05]),
        (["1 234,50", "7,25"], [1234.5, 7.25]),
        (["1'234.50", "7.25"], [1234.5, 7.25]),
        (["1.234", "2.303,15"], [1234.0, 2303.15]),
        (["1.234", "12.345.678"], [1234, 12345678]),
        (["1.234", "567", "-12.345"], [1234, 567, -12345]),
        (["1,234", "567"], [1234, 567]),
    ],
)
def test_the_texts_of_a_column_decide_what_separates_thousands(
    tmp_path: Path, texts: list[str], values: list[float]
) -> None:
    column = numbers(tmp_path, texts)
    assert column.to_pylist() == values
    assert pa.types.is_floating(column.type) == isinstance(values[0], float)


@pytest.mark.parametrize(
    ("texts", "values"),
    [
        (["1.234", "12.345"], [1.234, 12.345]),  # nothing tells thousands from decimals
        (["1.234", "0"], [1.234, 0.0]),
        (["1.234", "567", "0.5"], [1.234, 567.0, 0.5]),
        (["1,234", "0,567"], [1.234, 0.567]),
        (["1234", "2.303"], [1234.0, 2.303]),
    ],
)
def test_an_ambiguous_sign_separates_decimals(tmp_path: Path, texts: list[str], values: list[float]) -> None:
    assert numbers(tmp_path, texts).to_pylist() == values


def test_in_a_file_with_commas_between_cells_the_point_separates_decimals(tmp_path: Path) -> None:
    assert numbers(tmp_path, ["1.234", "567"], ",").to_pylist() == [1.234, 567.0]
    assert numbers(tmp_path, ["1,234", "567"], ",").to_pylist() == [1234, 567]
    assert numbers(tmp_path, ["2.303,15", "1,50"], ",").to_pylist() == [2303.15, 1.5]


@pytest.mark.parametrize("texts", [["2.303,15", "1234,50"], ["1.234", "2,303.5"], ["1.23.4", "1.234.567"], ["01.234"]])
def test_texts_of_no_common_format_stay_text(tmp_path: Path, texts: list[str]) -> None:
    assert numbers(tmp_path, [*texts, "2.303,15"]).to_pylist() == [*texts, "2.303,15"]


@settings(max_examples=60, deadline=None)
@given(
    cents=st.lists(st.integers(-(10**12), 10**12), min_size=1, max_size=20),
    separators=st.sampled_from(SEPARATORS),
    delimiter=st.sampled_from([";", ",", "\t"]),
)
def test_any_numbers_in_any_format_are_read_exactly(
    tmp_path_factory: pytest.TempPathFactory, cents: list[int], separators: tuple[str, str], delimiter: str
) -> None:
    point, grouping = separators
    values = [cent / 100 for cent in (*cents, 123_456_789)]
    english = str.maketrans({".": point, ",": grouping})
    texts = [f"{value:,.2f}".translate(english) for value in values]
    assert numbers(tmp_path_factory.mktemp("format"), texts, delimiter).to_pylist() == values


@settings(max_examples=200, deadline=None)
@given(
    texts=st.lists(
        st.sampled_from(
            ["5", "567", "-12", "1234", "1.234", "12,5", "0.5", "2.303,15", "1,234.5", "1 234", "1e5", "x"]
        ),
        min_size=2,
        max_size=5,
    ),
    points=st.sampled_from([".", ".,"]),
)
def test_the_format_does_not_depend_on_where_blocks_end(texts: list[str], points: str) -> None:
    start = Evidence("amount", points=points)
    whole = narrow(start, pa.array(texts))
    for end in range(1, len(texts)):
        assert settle(narrow(narrow(start, pa.array(texts[:end])), pa.array(texts[end:]))) == settle(whole)
    if settle(whole).kind != "text" and "1e5" not in texts:  # an exponent is written out
        assert show(parse(pa.array(texts), settle(whole)), settle(whole)).to_pylist() == texts


def test_new_numbers_get_the_separators_of_the_old_ones(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("amount;count\n2.303,15;1.000\n1,00;1\n")
    _, form = load(path)
    save(Table(pa.table({"amount": [1234567.5, None], "count": [1234567, 12]})), path, form)
    assert path.read_text() == "amount;count\n1.234.567,50;1.234.567\n;12\n"
