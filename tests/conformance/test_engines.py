"""Every engine gives what a frame in memory gives, bit for bit, on a table made of what engines are known to change."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pytest
from numpy.testing import assert_array_equal

from cuts.count.kernel import count_rows
from cuts.count.marginals import Clique, Marginals
from cuts.count.rows import Survey
from cuts.count.survey import spread_sample, survey
from cuts.data.codec import Codec, build_codec
from cuts.data.schema import Schema
from cuts.flow.run import fit, make_request
from cuts.model.store import save
from cuts.privacy.core import count_rows as count_private
from cuts.privacy.core import count_values
from cuts.privacy.secret import reveal
from cuts.sources.registry import Source, open_source
from engines import Engine, all_engines
from engines.awkward import awkward_schema, awkward_table, cliques, without

MAX_ROWS = 1_000  # of a sample: fewer than the table has
MAX_PER_PERSON = 2
PROGRAM = "SYNTHESIZE: awkward; ENFORCE: small <= 2; ENFORCE: E[price] == 250 WITHIN 10; END;"
SETTINGS = {"components": 10, "steps": 30, "smoothing": 0.001}


class Opened:
    """A table in an engine, and the same columns of it as a frame."""

    def __init__(self, engine: Engine, folder: Path) -> None:
        self.engine = engine
        self.table = awkward_table().drop_columns(list(engine.lacks))
        self.data: Any = engine.open(folder, self.table)
        self.schema = without(awkward_schema(), engine.lacks)

    @property
    def there(self) -> Source:
        return open_source(self.data)

    @property
    def here(self) -> Source:
        return open_source(self.table)

    @property
    def codec(self) -> Codec:
        return build_codec(self.schema, {})


@pytest.fixture(scope="module", params=all_engines(), ids=lambda engine: engine.name)
def opened(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Opened:
    engine: Engine = request.param
    reason = engine.reason_to_skip()
    if reason is not None:
        pytest.skip(reason)
    return Opened(engine, tmp_path_factory.mktemp(engine.name))


def test_blocks_are_bounded_and_in_order_in_every_pass(opened: Opened) -> None:
    rows = opened.there.rows()
    for _ in range(2):
        ids = [cell for block in rows.blocks() for cell in block.column("id").to_pylist()]
        assert ids == opened.table.column("id").to_pylist()


def test_the_inferred_schema_is_that_of_the_frame(opened: Opened) -> None:
    if not opened.engine.keeps_types:
        pytest.skip("the file has no types of its own")
    assert _survey(opened.there).schema == _survey(opened.here).schema


def test_the_sample_has_the_same_cells(opened: Opened) -> None:
    if not opened.engine.keeps_types:
        pytest.skip("the file has no types of its own")
    there = spread_sample(opened.there.rows(), max_rows=MAX_ROWS).arrow
    here = spread_sample(opened.here.rows(), max_rows=MAX_ROWS).arrow
    assert there.num_rows == here.num_rows <= MAX_ROWS
    for name in opened.table.column_names:
        assert _cells(there, name) == _cells(here, name), name


def test_the_counts_are_the_same(opened: Opened) -> None:
    codec = opened.codec
    wanted = cliques(codec)
    there, here = (count_rows(source.rows(), codec, wanted) for source in (opened.there, opened.here))
    _assert_same(there, here, wanted)
    assert there.rows == opened.table.num_rows
    assert there.table(("text",))[-2] == 0  # the category that no row has


@pytest.mark.parametrize("person", [None, "person"])
def test_private_counts_are_the_same(opened: Opened, person: str | None) -> None:
    if not opened.engine.keeps_lines:
        pytest.skip("a line break ends a private row of this file")
    codec = opened.codec
    wanted = cliques(codec)
    there, here = (
        reveal(count_private(source.private_rows(), codec, wanted, person=person, max_rows=MAX_PER_PERSON))
        for source in (opened.there, opened.here)
    )
    _assert_same(there, here, wanted)
    assert (there.rows == opened.table.num_rows) == (person is None)


def test_private_texts_are_the_same(opened: Opened) -> None:
    if not opened.engine.keeps_lines:
        pytest.skip("a line break ends a private row of this file")
    there, here = (
        count_values(source.private_rows(), ["text", "flag"], person="person", max_rows=MAX_PER_PERSON)
        for source in (opened.there, opened.here)
    )
    assert {name: reveal(counts) for name, counts in there.items()} == {
        name: reveal(counts) for name, counts in here.items()
    }


def test_a_program_gives_the_same_model_file(opened: Opened, tmp_path: Path) -> None:
    schema = None if opened.engine.keeps_types else opened.schema
    request = make_request(PROGRAM, opened.data, schema=schema, seed=3, config=SETTINGS)
    save(fit(request).model, tmp_path / "there.synth")
    assert (tmp_path / "there.synth").read_bytes() == _model_of_frame(opened.engine.lacks, schema)


@cache
def _model_of_frame(lacks: tuple[str, ...], schema: Schema | None) -> bytes:
    request = make_request(PROGRAM, awkward_table().drop_columns(list(lacks)), schema=schema, seed=3, config=SETTINGS)
    with TemporaryDirectory() as folder:
        save(fit(request).model, Path(folder, "here.synth"))
        return Path(folder, "here.synth").read_bytes()


def _survey(source: Source) -> Survey:
    return survey(source.rows(), "awkward", "grade", max_rows=MAX_ROWS)


def _cells(table: pa.Table, name: str) -> list[str]:
    """The cells as text, so that NaN equals itself."""
    return [repr(cell) for cell in table.column(name).to_pylist()]


def _assert_same(there: Marginals, here: Marginals, cliques: Sequence[Clique]) -> None:
    assert there.rows == here.rows
    for clique in cliques:
        assert_array_equal(there.table(clique), here.table(clique), str(clique))
