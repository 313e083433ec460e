"""Digests of columns too long for memory: a few values from which `infer_schema` infers the same as from all values.

The decisions stay in `data/infer.py`; a digest only keeps the values they need: the lowest and the highest, one that
needs more than d decimals for every d, all distinct strings, and one with every character at every position.

Digests of parts of a column are merged in the order of the parts: engines digest the parts where they are and send the
`state` of each digest. The result is that of one digest of all blocks. Only above `max_distinct` distinct values, of
which a sample is kept, can it depend on the parts whether a rare duplicate outside of that sample is noticed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import cycle, islice
from typing import Any, Generic, Protocol, TypeVar
from zlib import crc32

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import ipc

from cuts.data.exchange.recast import is_text
from cuts.data.infer import MAX_DECIMALS, MIN_UNIQUE_ROWS, infer_schema
from cuts.data.personal import MAX_TEXTS, MIN_TEXT_REPEATS, free_text
from cuts.data.physical import as_numbers
from cuts.data.schema import Column
from cuts.data.table import Floats, Table
from cuts.text.diagnostic import CutsError

MAX_DISTINCT = 1 << 19  # distinct values of a column up to which all are kept


class ColumnDigest:
    """A column that is read block by block."""

    def __init__(self, field: pa.Field, *, declared_id: bool, max_distinct: int = MAX_DISTINCT) -> None:
        self._field, self._declared_id, self._max_distinct = field, declared_id, max_distinct
        self._name = field.name
        self._missing, self._is_coded = False, pa.types.is_dictionary(field.type)
        self._kept = _kept_for(field.type, declared_id=declared_id, max_distinct=max_distinct)

    def add(self, block: Table) -> None:
        """Take one more block into account."""
        values = block.column(self._name).combine_chunks()
        self._missing = self._missing or _has_missing(values)
        if pa.types.is_dictionary(values.type) and not isinstance(self._kept, _Texts | _Ordered):
            values = values.dictionary_decode()
        self._kept.add(values)

    def merge(self, other: ColumnDigest) -> None:
        """Take the digest of the blocks that follow into account."""
        self._missing |= other._missing
        self._kept.merge(other._kept)

    def state(self) -> bytes:
        """The digest as an Arrow IPC stream, from which `restored` makes it again."""
        arrays = {"missing": pa.array([self._missing]), **self._kept.arrays()}
        lists = [pa.ListArray.from_arrays(pa.array([0, len(values)], pa.int32()), values) for values in arrays.values()]
        batch = pa.RecordBatch.from_arrays(lists, names=list(arrays))
        sink = pa.BufferOutputStream()
        with ipc.new_stream(sink, batch.schema) as stream:
            stream.write_batch(batch)
        return bytes(sink.getvalue())

    def restored(self, state: bytes) -> ColumnDigest:
        """The digest of that state, which is of the same field and has the same limits as this one."""
        with ipc.open_stream(state) as stream:
            batch = stream.read_next_batch()
        arrays = {name: column.values for name, column in zip(batch.schema.names, batch.columns, strict=True)}
        made = ColumnDigest(self._field, declared_id=self._declared_id, max_distinct=self._max_distinct)
        made._missing = arrays.pop("missing")[0].as_py()
        made._kept.restore(arrays)
        return made

    def infer(self) -> Column:
        """The column that `infer_schema` would infer from all values; raises the same errors."""
        if isinstance(self._kept, _Texts) and self._kept.too_many:
            raise CutsError([free_text(self._name, self._kept.number)])
        few, as_id = self._kept.few()
        if self._missing or len(few) == 0:
            few = pa.chunked_array([*few.chunks, pa.nulls(1, few.type)])
        if self._is_coded and isinstance(self._kept, _Texts):
            few = few.dictionary_encode()
        try:
            return infer_schema(Table(pa.table({self._name: few})), "", ids=(self._name,) if as_id else ()).columns[0]
        except CutsError as error:
            if isinstance(self._kept, _Texts) and error.diagnostics[0].code == "free-text":
                raise CutsError([free_text(self._name, self._kept.number)]) from None
            raise


def _has_missing(values: pa.Array) -> bool:
    return values.null_count > 0 or bool(pa.types.is_floating(values.type) and pc.any(pc.is_nan(values)).as_py())


_Arrays = dict[str, pa.Array]


class _Kept(Protocol):
    def add(self, values: pa.Array) -> None: ...

    def merge(self, other: Any) -> None:
        """Take what was kept of the values that follow into account; `other` is of the same class."""

    def arrays(self) -> _Arrays:
        """All that is kept, by name."""

    def restore(self, arrays: _Arrays) -> None:
        """Keep what `arrays` returned; nothing was added before."""

    def few(self) -> tuple[pa.ChunkedArray, bool]:
        """The values to infer from, without missing ones, and whether the column should be an identifier."""


def _kept_for(kind: pa.DataType, *, declared_id: bool, max_distinct: int) -> _Kept:
    if pa.types.is_dictionary(kind) and kind.ordered:
        return _Ordered(kind)
    plain = kind.value_type if pa.types.is_dictionary(kind) else kind
    if is_text(plain):
        return _Texts(declared_id, max_distinct)
    numeric = pa.types.is_integer(plain) or pa.types.is_floating(plain) or pa.types.is_decimal(plain)
    moment = pa.types.is_temporal(plain) and not pa.types.is_interval(plain)
    return _Numbers(plain, declared_id, max_distinct) if numeric or moment else _First(plain)


class _First:
    """The first value: the type alone decides."""

    def __init__(self, kind: pa.DataType) -> None:
        self._values = pa.chunked_array([], kind)

    def add(self, values: pa.Array) -> None:
        if len(self._values) == 0:
            present = values.drop_null()
            self._values = pa.chunked_array([present.take(pa.array(range(min(1, len(present))), pa.int64()))])

    def merge(self, other: _First) -> None:
        if len(self._values) == 0:
            self._values = other._values

    def arrays(self) -> _Arrays:
        return {"first": self._values.combine_chunks()}

    def restore(self, arrays: _Arrays) -> None:
        self._values = pa.chunked_array([arrays["first"]])

    def few(self) -> tuple[pa.ChunkedArray, bool]:
        return self._values, False


class _Ordered:
    """One value per dictionary that has new categories; together they have all categories, in the same order."""

    def __init__(self, kind: pa.DataType) -> None:
        self._first = _First(kind)
        self._categories: set[Any] = set()
        self._values: list[pa.Array] = []

    def add(self, values: pa.Array) -> None:
        self._first.add(values)
        self._add_categories(values)

    def merge(self, other: _Ordered) -> None:
        self._first.merge(other._first)
        for values in other._values:
            self._add_categories(values)

    def arrays(self) -> _Arrays:
        return {**self._first.arrays(), **{str(place): values for place, values in enumerate(self._values)}}

    def restore(self, arrays: _Arrays) -> None:
        self._first.restore({"first": arrays.pop("first")})
        for values in arrays.values():
            self._add_categories(values)

    def _add_categories(self, values: pa.Array) -> None:
        new = set(values.dictionary.to_pylist()) - self._categories
        if new and len(values):
            self._categories |= new
            self._values.append(values.take(pa.array([0])))

    def few(self) -> tuple[pa.ChunkedArray, bool]:
        first, _ = self._first.few()
        return pa.chunked_array([*self._values, *first.chunks], first.type) if len(first) else first, False


_SHOWN = "value "  # and its position, of the first values


def _replaces(what: str, number: float, kept: float) -> bool:
    return (what == "low" and number < kept) or (what == "high" and number > kept)


class _Numbers:
    """The lowest and highest number, one that needs more than d decimals for every d, and whether all differ."""

    def __init__(self, kind: pa.DataType, declared_id: bool, max_distinct: int) -> None:
        self._kind, self._declared_id = kind, declared_id
        self._count = 0
        self._distinct: _Distinct[float] = _Distinct(max_distinct)
        self._kept: dict[str, tuple[float, pa.Array]] = {}  # keyed by what the value is an example of

    def add(self, values: pa.Array) -> None:
        if pa.types.is_integer(values.type) and self._adds_nothing(values):
            self._count += len(values) - values.null_count
            return
        converted = as_numbers(values)
        assert converted is not None
        numbers = np.asarray(converted.drop_null().to_numpy(zero_copy_only=False), dtype=np.float64)
        if len(numbers) == 0:
            return
        values = values.filter(converted.is_valid())
        low, high = int(numbers.argmin()), int(numbers.argmax())
        shown = {f"{_SHOWN}{self._count + i}": i for i in range(min(len(numbers), MIN_UNIQUE_ROWS - self._count))}
        shown |= {"low": low} if "low" not in self._kept or numbers[low] < self._kept["low"][0] else {}
        shown |= {"high": high} if "high" not in self._kept or numbers[high] > self._kept["high"][0] else {}
        shown |= self._finer(numbers)
        self._kept |= {what: (float(numbers[i]), values.take(pa.array([i]))) for what, i in shown.items()}
        self._count += len(numbers)
        if self._distinct.unique and self._may_number_rows:
            self._distinct.add(numbers.tolist(), len(numbers))

    def _adds_nothing(self, values: pa.Array) -> bool:
        """Whether only the number of values matters: they are whole, within those before, and need not be distinct."""
        if self._count < MIN_UNIQUE_ROWS or self._distinct.unique:
            return False
        lowest, highest = pc.min_max(values).as_py().values()
        return lowest is None or self._kept["low"][0] <= float(lowest) <= float(highest) <= self._kept["high"][0]

    def merge(self, other: _Numbers) -> None:
        for what, (number, value) in other._kept.items():
            if what.startswith(_SHOWN):  # these are numbered from the first value on
                place = self._count + int(what.removeprefix(_SHOWN))
                if place < MIN_UNIQUE_ROWS:
                    self._kept[f"{_SHOWN}{place}"] = number, value
            elif what not in self._kept or _replaces(what, number, self._kept[what][0]):
                self._kept[what] = number, value
        self._count += other._count
        self._distinct.merge(other._distinct)

    def arrays(self) -> _Arrays:
        numbers, values = zip(*self._kept.values(), strict=True) if self._kept else ((), ())
        decides = self._distinct.unique and self._may_number_rows
        return {
            "count": pa.array([self._count]),
            "what": pa.array(list(self._kept), pa.string()),
            "numbers": pa.array(numbers, pa.float64()),
            "values": pa.concat_arrays(values) if values else pa.array([], self._kind),
            "distinct": pa.array(list(self._distinct.kept) if decides else [], pa.float64()),
            "sampled": pa.array([int(self._distinct.unique), self._distinct.halvings]),
        }

    def restore(self, arrays: _Arrays) -> None:
        self._count = arrays["count"][0].as_py()
        examples = zip(arrays["what"].to_pylist(), arrays["numbers"].to_pylist(), strict=True)
        values = arrays["values"]
        self._kept = {what: (number, values.slice(i, 1)) for i, (what, number) in enumerate(examples)}
        self._distinct.restore(arrays["distinct"].to_pylist(), *arrays["sampled"].to_pylist())

    @property
    def _may_number_rows(self) -> bool:
        return "more than 0 decimals" not in self._kept and not pa.types.is_temporal(self._kind)

    def _finer(self, numbers: Floats) -> dict[str, int]:
        """For every number of decimals without an example yet, the index of the first number that needs more."""
        if pa.types.is_integer(self._kind):
            return {}
        shown: dict[str, int] = {}
        for decimals in range(MAX_DECIMALS + 1):
            what = f"more than {decimals} decimals"
            if what not in self._kept:
                with np.errstate(all="ignore"):
                    finer = np.round(numbers, decimals) != numbers
                shown |= {what: int(finer.argmax())} if finer.any() else {}
        return shown

    def few(self) -> tuple[pa.ChunkedArray, bool]:
        if not self._kept:
            return pa.chunked_array([], self._kind), self._declared_id
        unique = self._distinct.unique
        different = dict(self._kept.values())
        examples = [*different.values(), *([] if unique else [self._kept["low"][1]])]
        dense = self._kept["high"][0] - self._kept["low"][0] + 1 <= 2 * self._count
        numbered = unique and dense and self._count >= MIN_UNIQUE_ROWS
        return pa.chunked_array(examples, self._kind), self._declared_id or numbered


class _Texts:
    """All distinct strings, or a share of them; while they may be identifiers, also examples of their pattern."""

    def __init__(self, declared_id: bool, max_distinct: int) -> None:
        self._declared_id = declared_id
        self._count = 0
        self._distinct: _Distinct[str] = _Distinct(max_distinct)
        self._repeated: set[str] = set()
        self._shape = _Shape()

    @property
    def too_many(self) -> bool:
        """Whether they can be neither identifiers nor categories."""
        return self._distinct.is_share and not self._distinct.unique and not self._declared_id

    @property
    def number(self) -> int:
        """The number of distinct strings; an estimate if there are very many."""
        return self._count if self._distinct.unique else self._distinct.number

    def add(self, values: pa.Array) -> None:
        texts, counts = _count_texts(values)
        count = sum(counts)
        self._count += count
        again = {text for text, rows in zip(texts, counts, strict=True) if rows > 1}
        again |= self._distinct.kept.intersection(texts)
        self._distinct.add(texts, count)
        self._repeated |= again & self._distinct.kept
        if texts and self._has_shape:
            self._shape.add(texts)

    def merge(self, other: _Texts) -> None:
        self._count += other._count
        again = self._repeated | other._repeated | (self._distinct.kept & other._distinct.kept)
        self._distinct.merge(other._distinct)
        self._repeated = again & self._distinct.kept
        examples = sorted(other._shape.examples)
        if examples and self._has_shape:
            self._shape.add(examples)

    def arrays(self) -> _Arrays:
        return {
            "count": pa.array([self._count]),
            "distinct": pa.array(list(self._distinct.kept), pa.string()),
            "sampled": pa.array([int(self._distinct.unique), self._distinct.halvings]),
            "repeated": pa.array(list(self._repeated), pa.string()),
            "shape": pa.array(sorted(self._shape.examples) if self._has_shape else [], pa.string()),
        }

    def restore(self, arrays: _Arrays) -> None:
        self._count = arrays["count"][0].as_py()
        self._distinct.restore(arrays["distinct"].to_pylist(), *arrays["sampled"].to_pylist())
        self._repeated = set(arrays["repeated"].to_pylist())
        if len(arrays["shape"]):
            self._shape.add(arrays["shape"].to_pylist())

    @property
    def _has_shape(self) -> bool:
        """Whether they may still be identifiers."""
        return self._declared_id or self._distinct.unique

    def few(self) -> tuple[pa.ChunkedArray, bool]:
        kept = sorted(self._distinct.kept)
        examples: Iterable[str]
        if self._declared_id or self._distinct.unique:
            examples = {*self._shape.examples, *(kept[:MAX_TEXTS] if self._declared_id else kept)}
        else:  # those that repeat as often as all do, up to where that does not matter any more
            repeats = min(self._count, MIN_TEXT_REPEATS * len(kept)) - len(kept)
            examples = [*kept, *islice(cycle(sorted(self._repeated)), repeats)]
        return pa.chunked_array([pa.array(list(examples), pa.string())]), self._declared_id


def _count_texts(values: pa.Array) -> tuple[list[str], list[int]]:
    """The distinct texts and the number of times that each occurs; missing values are left out."""
    if pa.types.is_dictionary(values.type):
        entries, indices = values.dictionary, values.indices.drop_null()
        if len(entries) <= len(values) and entries.null_count == 0 and len(entries.unique()) == len(entries):
            counts = np.bincount(indices.to_numpy(), minlength=len(entries))
            used = np.flatnonzero(counts)
            return entries.take(pa.array(used)).to_pylist(), counts[used].tolist()
        values = values.dictionary_decode()
    plain = values.cast(pa.string()) if pa.types.is_string_view(values.type) else values
    found = pc.value_counts(plain.drop_null())
    return found.field("values").to_pylist(), found.field("counts").to_pylist()


class _Shape:
    """Strings with every character at every position, the greatest string, and two lengths if there are several."""

    def __init__(self) -> None:
        self._examples: list[str] = []
        self._letters: list[set[str]] = []  # per position, as long as all texts have one length
        self._mixed = False
        self._highest = ""

    @property
    def examples(self) -> set[str]:
        """Strings from which the same pattern is recognised as from all."""
        return {*self._examples, self._highest} if self._examples else set()

    def add(self, texts: Sequence[str]) -> None:
        self._highest = max(self._highest, *texts)
        if not self._examples:
            self._examples.append(texts[0])
            self._letters = [set() for _ in texts[0]]
        other = next((text for text in texts if len(text) != len(self._letters)), None)
        if other is not None and not self._mixed:
            self._mixed = True
            self._examples.append(other)
        if self._mixed:
            return
        for seen, letters in zip(self._letters, zip(*texts, strict=True), strict=True):
            new = set(letters) - seen
            self._examples += [texts[letters.index(letter)] for letter in new]
            seen |= new


_Value = TypeVar("_Value", str, float)


class _Distinct(Generic[_Value]):
    """Distinct values: all of them up to a limit, above it a sample chosen by hash."""

    def __init__(self, max_distinct: int) -> None:
        self._max_distinct = max_distinct
        self.kept: set[_Value] = set()
        self.unique = True  # none was seen twice
        self.halvings = 0  # how often half of the values were dropped

    @property
    def is_share(self) -> bool:
        """Whether only a share of the values is kept."""
        return self.halvings > 0

    @property
    def number(self) -> int:
        """The number of distinct values; an estimate above the limit."""
        return len(self.kept) << self.halvings

    def add(self, values: Iterable[_Value], rows: int) -> None:
        """Take the values of `rows` rows into account."""
        new = set(values)
        self.unique &= len(new) == rows
        if self.halvings:
            new = {value for value in new if self._is_chosen(value)}
        self._join(new)

    def merge(self, other: _Distinct[_Value]) -> None:
        """Take the values of further rows into account."""
        self.unique &= other.unique
        if self.halvings < other.halvings:
            self.halvings = other.halvings
            self.kept = {value for value in self.kept if self._is_chosen(value)}
        self._join({value for value in other.kept if self._is_chosen(value)})

    def restore(self, kept: Iterable[_Value], unique: bool, halvings: int) -> None:
        """Keep what another one has kept."""
        self.kept, self.unique, self.halvings = set(kept), bool(unique), halvings

    def _join(self, new: set[_Value]) -> None:
        self.unique &= self.kept.isdisjoint(new)
        self.kept |= new
        while len(self.kept) > self._max_distinct:
            self.halvings += 1
            self.kept = {value for value in self.kept if self._is_chosen(value)}

    def _is_chosen(self, value: _Value) -> bool:
        return crc32(str(value).encode(errors="surrogatepass")) & ((1 << self.halvings) - 1) == 0
