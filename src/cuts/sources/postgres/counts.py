"""Counts of encoded rows: as a stream of bin numbers that are counted here, or summed in the server.

A COPY in binary format of columns without NULL has records of one length, which numpy reads without parsing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray
from psycopg import sql

from cuts.count.cover import Clique, cells
from cuts.count.kernel import Counter
from cuts.count.marginals import Marginals
from cuts.data.codec import Codec
from cuts.data.exchange.streams import ROWS
from cuts.data.table import IntArray
from cuts.sources.postgres.copying import copied
from cuts.sources.postgres.server import Connection

MAX_SETS = 64  # of columns that one query groups by, so that the server's memory is bounded
_HEADER_BYTES = 19  # signature, flags and the length of an extension that nobody uses
_LAST = b"\xff\xff"  # a record of -1 columns


def count_stream(
    connection: Connection,
    encoded: sql.Composable,
    codec: Codec,
    cliques: Sequence[Clique],
    seen: Callable[[int], None],
) -> Marginals | None:
    """The counts of the rows of a query of bin numbers; None as soon as one of them is negative."""
    names = list(codec.sizes)
    wide = max(codec.sizes.values(), default=0) > np.iinfo(np.int16).max
    counter = Counter(codec, cliques)
    columns = [sql.SQL("{}::{}").format(sql.Identifier(f"c{i}"), _integer(wide)) for i in range(len(names))]
    query = sql.SQL("SELECT {} FROM ({}) AS e").format(sql.SQL(", ").join(columns), encoded)
    record = _record(len(names), "i4" if wide else "i2")
    is_first = True
    for _, data in copied(connection, query, "FORMAT binary", ROWS):
        rows = _records(data[_HEADER_BYTES:] if is_first else data, record)
        is_first = False
        codes = {name: rows[f"code{i}"].astype(np.int64) for i, name in enumerate(names)}
        if any(len(values) and values.min() < 0 for values in codes.values()):
            return None
        if len(rows):
            counter.add(codes, len(rows))
            seen(counter.rows)
    return counter.counts()


def count_in_server(
    connection: Connection, encoded: sql.Composable, codec: Codec, cliques: Sequence[Clique]
) -> Marginals:
    """The same, summed in the server: only the counts of combinations of bins leave it; no code may be negative."""
    counter = Counter(codec, cliques)
    joints, rows = counter.joints, 0
    first_cell = np.cumsum([0, *(cells(joint, codec.sizes) for joint in joints)]).tolist()
    found: list[tuple[int, int]] = []
    for start in range(0, max(1, len(joints)), MAX_SETS):
        for *numbers, count in connection.execute(_grouped(encoded, joints[start : start + MAX_SETS], codec)):
            # Of every row of the result at most one cell is not NULL: the one of the table that the count is about.
            index, cell = next(((i, cell) for i, cell in enumerate(numbers) if cell is not None), (None, 0))
            if index is None:
                rows = count
            else:
                found.append((first_cell[start + index] + cell, count))
    found.sort()
    both: IntArray = np.array(found, dtype=np.int64).reshape(len(found), 2)
    counter.add_partial(both[:, 0], both[:, 1], rows)
    return counter.counts()


def count_negative(
    connection: Connection, encoded: sql.Composable, codec: Codec, negative: Sequence[int]
) -> dict[tuple[str, int], int]:
    """How many rows have one of these negative numbers, for every column and number that occur together."""
    pairs = [(name, code) for name in codec.sizes for code in negative]
    sums = [
        sql.SQL("count(*) FILTER (WHERE {} = {})").format(sql.Identifier(f"c{index}"), sql.Literal(code))
        for index in range(len(codec.sizes))
        for code in negative
    ]
    query = sql.SQL("SELECT {} FROM ({}) AS e").format(sql.SQL(", ").join(sums), encoded)
    counts = connection.execute(query).fetchone()
    assert counts is not None
    return {pair: count for pair, count in zip(pairs, counts, strict=True) if count}


def _grouped(encoded: sql.Composable, joints: Sequence[Clique], codec: Codec) -> sql.Composed:
    """A query of the number of rows in every cell of every joint table, and of all rows.

    Grouping by the number of a cell, not by several columns, keeps the planner from expecting so many groups that it
    sorts all rows once per table.
    """
    keys = [sql.Identifier(f"k{index}") for index in range(len(joints))]
    numbers = [sql.SQL("{} AS {}").format(_cell(joint, codec), key) for joint, key in zip(joints, keys, strict=True)]
    sets = [sql.SQL("()"), *(sql.SQL("({})").format(key) for key in keys)]
    return sql.SQL("SELECT {} FROM (SELECT {} FROM ({}) AS e OFFSET 0) AS j GROUP BY GROUPING SETS ({})").format(
        sql.SQL(", ").join([*keys, sql.SQL("count(*)")]), sql.SQL(", ").join(numbers), encoded, sql.SQL(", ").join(sets)
    )


def _cell(joint: Clique, codec: Codec) -> sql.Composable:
    """The number of a row's cell in the flat table of a joint, whose last column varies fastest."""
    position = {name: sql.Identifier(f"c{index}") for index, name in enumerate(codec.sizes)}
    cell: sql.Composable = sql.SQL("0::int8")
    for name in joint:
        cell = sql.SQL("({}) * {} + {}").format(cell, sql.Literal(codec.sizes[name]), position[name])
    return cell


def _integer(wide: bool) -> sql.SQL:
    return sql.SQL("int4") if wide else sql.SQL("int2")


def _record(columns: int, code: str) -> np.dtype[np.void]:
    """A row in COPY's binary format: the number of columns, then for each its length and its value, big-endian."""
    fields = [("columns", ">i2")]
    for index in range(columns):
        fields += [(f"length{index}", ">i4"), (f"code{index}", f">{code}")]
    return np.dtype(fields)


def _records(data: bytes, record: np.dtype[np.void]) -> NDArray[np.void]:
    rest = len(data) % record.itemsize
    assert rest in (0, len(_LAST)), "a record of another length"
    return np.frombuffer(data[: len(data) - rest], dtype=record)
