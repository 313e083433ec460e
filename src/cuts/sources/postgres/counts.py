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
from cuts.sources.postgres.server import Connection, copied

MAX_SETS = 64  # of columns that one query groups by, so that the server's memory is bounded
_HEADER_BYTES = 19  # signature, flags and the length of an extension that nobody uses
_LAST = b"\xff\xff"  # a record of -1 columns


def count_stream(
    connection: Connection, encoded: sql.Composable, codec: Codec, cliques: Sequence[Clique], seen: Callable[[int], None]
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
    rows = _single(connection, sql.SQL("SELECT count(*) FROM ({}) AS e").format(encoded))
    starts = dict(zip(counter.joints, np.cumsum([0, *(cells(joint, sizes) for joint in counter.joints)]), strict=False))
    found: list[tuple[int, int]] = []
    for start in range(0, len(counter.joints), MAX_SETS):
        sets = counter.joints[start : start + MAX_SETS]
        used = [name for name in names if any(name in joint for joint in sets)]
        grouped = sql.SQL("SELECT {}, count(*) FROM ({}) AS e GROUP BY GROUPING SETS ({})").format(
            sql.SQL(", ").join(position[name] for name in used),
            encoded,
            sql.SQL(", ").join(_set_of(joint, position) for joint in sets),
        )
        joint_of = {frozenset(joint): joint for joint in sets}
        for *codes, count in connection.execute(grouped):
            # A column is NULL where it is not in the set: codes themselves never are.
            present = {name: code for name, code in zip(used, codes, strict=True) if code is not None}
            joint = joint_of[frozenset(present)]
            found.append((int(starts[joint]) + _cell([present[name] for name in joint], joint, sizes), count))
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


def _single(connection: Connection, query: sql.Composable) -> int:
    row = connection.execute(query).fetchone()
    assert row is not None
    return int(row[0])


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


def _set_of(joint: Clique, position: dict[str, sql.Identifier]) -> sql.Composable:
    return sql.SQL("({})").format(sql.SQL(", ").join(position[name] for name in joint))


def _cell(codes: Sequence[int], joint: Clique, sizes: dict[str, int]) -> int:
    cell = 0
    for code, name in zip(codes, joint, strict=True):
        cell = cell * sizes[name] + int(code)
    return cell
