"""Counts of encoded rows: as a stream of bin numbers that are counted here, or summed in the server.

A COPY in binary format of columns without NULL has records of one length, which numpy reads without parsing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from psycopg import sql

from cuts.count.cover import Clique, cells
from cuts.count.kernel import Counter
from cuts.count.marginals import Marginals
from cuts.data.codec import Codec
from cuts.data.exchange.streams import ROWS
from cuts.data.table import IntArray
from cuts.sources.postgres.server import Connection, copied

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
    sizes, names = codec.sizes, list(codec.sizes)
    position = {name: sql.Identifier(f"c{i}") for i, name in enumerate(names)}
    ends = np.cumsum([0, *(cells(joint, sizes) for joint in counter.joints)])
    first_cell = dict(zip(counter.joints, ends.tolist(), strict=False))
    sets: list[Clique] = [(), *counter.joints]  # without columns: all rows
    rows = 0
    found: list[tuple[int, int]] = []
    for start in range(0, len(sets), MAX_SETS):
        some = sets[start : start + MAX_SETS]
        used = [name for name in names if any(name in joint for joint in some)]
        joint_of = {frozenset(joint): joint for joint in some}
        for *codes, count in connection.execute(_grouped(encoded, used, some, position)):
            # A column is NULL where it is not in the set: codes themselves never are.
            code_of = {name: code for name, code in zip(used, codes, strict=True) if code is not None}
            joint = joint_of[frozenset(code_of)]
            if joint:
                found.append((first_cell[joint] + _cell(code_of, joint, sizes), count))
            else:
                rows = count
    found.sort()
    both: IntArray = np.array(found, dtype=np.int64).reshape(len(found), 2)
    counter.add_partial(both[:, 0], both[:, 1], rows)
    return counter.counts()


def count_negative(connection: Connection, encoded: sql.Composable, codec: Codec, code: int) -> dict[str, int]:
    """How many rows have this negative number, for every column in which some do."""
    names = list(codec.sizes)
    sums = [
        sql.SQL("count(*) FILTER (WHERE {} = {})").format(sql.Identifier(f"c{i}"), sql.Literal(code))
        for i in range(len(names))
    ]
    query = sql.SQL("SELECT {} FROM ({}) AS e").format(sql.SQL(", ").join(sums), encoded)
    counts = connection.execute(query).fetchone()
    assert counts is not None
    return {name: count for name, count in zip(names, counts, strict=True) if count}


def _grouped(
    encoded: sql.Composable, used: Sequence[str], sets: Sequence[Clique], position: Mapping[str, sql.Identifier]
) -> sql.Composed:
    """A query of the number of rows for every combination of codes of every set of columns."""
    shown = [*(position[name] for name in used), sql.SQL("count(*)")]
    grouping = [sql.SQL("({})").format(sql.SQL(", ").join(position[name] for name in names)) for names in sets]
    return sql.SQL("SELECT {} FROM ({}) AS e GROUP BY GROUPING SETS ({})").format(
        sql.SQL(", ").join(shown), encoded, sql.SQL(", ").join(grouping)
    )


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


def _cell(code_of: Mapping[str, int], joint: Clique, sizes: Mapping[str, int]) -> int:
    """The number of a cell in the flat table of a joint, whose last column varies fastest."""
    cell = 0
    for name in joint:
        cell = cell * sizes[name] + code_of[name]
    return cell
