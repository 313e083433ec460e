"""The answers of the core in order: all that is ever published about private rows, and all that a model is fitted to.

A transcript is public. It is written as JSON with exact numbers. `Replay` answers from it as the core did, without
rows, and refuses questions that the core was not asked.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from msgspec import Meta, Struct

from cuts.count.cover import Clique
from cuts.data.codec import Codec
from cuts.data.codec_file import codec_data, codec_from
from cuts.data.columns import Category, Identifier
from cuts.data.schema import fingerprint
from cuts.data.table import Floats, IntArray
from cuts.privacy.curator import GRID, Candidate
from cuts.privacy.ledger import Event, ReleaseLedger, Terms
from cuts.privacy.query import Owners, Query, fine
from cuts.privacy.release_json import LedgerJson, from_data, ledger_json, to_data
from cuts.privacy.workload import LABEL_WEIGHT, column_weights
from cuts.text.diagnostic import USAGE, CutsError, Diagnostic
from cuts.text.files import read_text

MAX_TRANSCRIPT_BYTES = 1 << 30
Count = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]


@dataclass(frozen=True, slots=True, eq=False)
class Measurement:
    """A histogram with noise of scale `sigma` on every cell; cells may be negative."""

    query: Query
    sigma: float
    values: IntArray  # of the query's shape


@dataclass(frozen=True, slots=True)
class Choice:
    """The histogram that was selected among `candidates`, with Gumbel noise of that scale."""

    clique: Clique
    candidates: int
    scale: float


@dataclass(frozen=True, slots=True, eq=False)
class Transcript:
    """All answers, over the bins of a codec, with the terms and costs of the release."""

    codec: Codec
    ledger: ReleaseLedger
    answers: tuple[Measurement | Choice, ...]

    @property
    def measurements(self) -> tuple[Measurement, ...]:
        """The noisy histograms."""
        return tuple(answer for answer in self.answers if isinstance(answer, Measurement))

    @property
    def rows(self) -> int:
        """The estimated number of rows."""
        return max(1, round(count_estimate(self.measurements)))


def count_estimate(measurements: Sequence[Measurement]) -> float:
    """The estimated number of rows: the inverse-variance weighted mean of all noisy totals.

    The total of a histogram has variance `cells * sigma^2`.
    """
    precision = np.array([1.0 / (each.query.cells * each.sigma**2) for each in measurements])
    totals: Floats = np.array([float(each.values.sum()) for each in measurements])
    return float((precision * totals).sum() / precision.sum())


def groups_of(transcript: Transcript) -> dict[str, Owners]:
    """The groups in which tables were measured; a column that was only measured bin by bin has its bins."""
    groups: dict[str, Owners] = {}
    for measurement in transcript.measurements:
        for name, owner in zip(measurement.query.clique, measurement.query.owners, strict=True):
            groups[name] = min(groups.get(name, owner), owner, key=max)
    return groups


def promise(transcript: Transcript) -> str:
    """The privacy promise of a release, in one sentence."""
    terms, schema = transcript.ledger.terms, transcript.codec.schema
    difference = "the presence of" if terms.relation == "add/remove" else "the values of"
    is_declared = schema.provenance == "declared"
    notion = "approximate zCDP" if transcript.ledger.delta_spent else "zCDP"
    is_paid = any(event.kind == "discover" for event in transcript.ledger.events)
    elsewhere = "discovered by an earlier release, whose cost adds to this one"
    origin = "taken as public" if is_declared else "discovered with part of the budget" if is_paid else elsewhere
    return (
        f"For two tables that differ in {difference} {terms.unit}, the joint distribution of the transcript, the "
        f"model, every sample, every further model fitted to the transcript and every log satisfies "
        f"({terms.epsilon:g}, {terms.delta:g})-differential privacy, by {notion} with rho = "
        f"{float(transcript.ledger.rho):.6g}; relation {terms.relation}; schema {origin} "
        f"(sha256 {fingerprint(schema)[:16]})."
    )


class Replay:
    """Answers as the core did, from a transcript."""

    def __init__(self, transcript: Transcript) -> None:
        self._answers = list(zip(transcript.answers, _answered(transcript.ledger), strict=True))
        before = transcript.ledger.events[: len(transcript.ledger.events) - len(self._answers)]
        self._ledger = replace(transcript.ledger, events=before)

    @property
    def ledger(self) -> ReleaseLedger:
        """The ledger as it was at this point."""
        return self._ledger

    def measure(self, query: Query, sigma: float) -> IntArray:
        """The histogram that the core answered."""
        answer = self._next()
        if not isinstance(answer, Measurement) or (answer.query, answer.sigma) != (query, sigma):
            raise ValueError("the transcript has another answer here")
        return answer.values

    def select(self, candidates: Sequence[Candidate], scale: float) -> int:
        """The index of the histogram that the core selected."""
        answer = self._next()
        if not isinstance(answer, Choice) or (answer.candidates, answer.scale) != (len(candidates), scale):
            raise ValueError("the transcript has another answer here")
        return [candidate.query.clique for candidate in candidates].index(answer.clique)

    def _next(self) -> Measurement | Choice:
        if not self._answers:
            raise ValueError("the transcript ends here")
        answer, event = self._answers.pop(0)
        self._ledger = self._ledger.charged(event)
        return answer


def _answered(ledger: ReleaseLedger) -> list[Event]:
    """The events that have an answer in the transcript."""
    return [event for event in ledger.events if event.kind != "discover"]


# --- as JSON


class _SelectJson(Struct, frozen=True, tag_field="type", tag="select"):
    clique: Clique
    of: int  # candidates
    scale: float


class _MeasureJson(Struct, frozen=True, tag_field="type", tag="measure"):
    clique: Clique
    groups: tuple[Annotated[int, Meta(ge=0)], ...]  # for each column, an index into the transcript's `groups`
    sigma: float
    values: list[Count]  # the histogram, flat


class _TranscriptJson(Struct, frozen=True):
    format: Literal["cuts-transcript"]
    version: Literal[2]
    codec: dict[str, Any]
    ledger: LedgerJson
    groups: list[Owners]  # each grouping of bins is listed once
    answers: list[_MeasureJson | _SelectJson]


def as_data(transcript: Transcript) -> dict[str, Any]:
    """The transcript as JSON values; groups of bins are listed once."""
    levels: dict[Owners, int] = {}
    answers: list[_MeasureJson | _SelectJson] = []
    for answer in transcript.answers:
        if isinstance(answer, Choice):
            answers.append(_SelectJson(answer.clique, answer.candidates, answer.scale))
        else:
            query = answer.query
            groups = tuple(levels.setdefault(owner, len(levels)) for owner in query.owners)
            answers.append(_MeasureJson(query.clique, groups, answer.sigma, answer.values.ravel().tolist()))
    codec, ledger = codec_data(transcript.codec), ledger_json(transcript.ledger)
    data: dict[str, Any] = to_data(_TranscriptJson("cuts-transcript", 2, codec, ledger, list(levels), answers))
    return data


def transcript_from(data: object) -> Transcript:
    """The transcript of JSON values; `ValueError`, `LookupError`, `TypeError` or `CutsError` for anything else.

    A transcript that does not keep its own promise is such a thing: costs above the budget, a budget above what epsilon
    and delta allow, a read that was charged for less than one unit can change it, a schema that nobody paid for.
    """
    written: _TranscriptJson = from_data(data, _TranscriptJson)
    answers = tuple(_answer(answer, written.groups) for answer in written.answers)
    transcript = Transcript(codec_from(written.codec), written.ledger.ledger(), answers)
    _check_schema(transcript)
    _check_complete(transcript)
    sizes, weights = transcript.codec.sizes, _column_weights(transcript.codec)
    for answer, event in zip(answers, _answered(transcript.ledger), strict=True):
        _check_paid(answer, event, transcript.ledger.terms, weights)
        if isinstance(answer, Measurement):
            _check_groups(answer.query, sizes)
    return transcript


def _answer(written: _MeasureJson | _SelectJson, groups: Sequence[Owners]) -> Measurement | Choice:
    if isinstance(written, _SelectJson):
        return Choice(written.clique, written.of, written.scale)
    query = Query(written.clique, tuple(groups[index] for index in written.groups))
    return Measurement(query, written.sigma, np.array(written.values, dtype=np.int64).reshape(query.shape))


def _check_schema(transcript: Transcript) -> None:
    """Raise unless the schema is public, every column of it was discovered if any was, and persons are a column."""
    schema, terms = transcript.codec.schema, transcript.ledger.terms
    discoveries = [event for event in transcript.ledger.events if event.kind == "discover"]
    for event in discoveries:
        _check_discovered(event, transcript.codec, terms)
    discovered = {name for event in discoveries for name in event.clique}
    is_paid = schema.provenance == "discovered" and discovered == {column.name for column in schema.modelled}
    is_public = schema.provenance in ("declared", "discovered") and not discovered  # discovered by an earlier release
    if not (is_paid or is_public):
        raise ValueError("the charges do not match where the schema comes from")
    if terms.person is not None and not isinstance(schema[terms.person], Identifier):
        raise ValueError("the column of persons is not an identifier")


def _check_complete(transcript: Transcript) -> None:
    """Raise unless every column was measured bin by bin, and every selected table right after it was selected."""
    sizes = transcript.codec.sizes
    singles = {each.query for each in transcript.measurements if len(each.query.clique) == 1}
    if not {fine((name,), sizes) for name in sizes} <= singles:
        raise ValueError("a column was not measured")
    for answer, following in zip_longest(transcript.answers, transcript.answers[1:]):
        measured = following.query.clique if isinstance(following, Measurement) else None
        if isinstance(answer, Choice) and (answer.clique != measured or answer.candidates < 1):
            raise ValueError("a table was selected but not measured")


def _check_discovered(event: Event, codec: Codec, terms: Terms) -> None:
    """Raise unless a discovery was charged for what one unit can change; categories need delta as well."""
    rows, replaces = terms.max_rows_per_person, terms.relation == "replace"
    min_sensitivity = rows * math.nextafter(math.sqrt(2.0), 0.0) if replaces else float(rows)
    has_delta = event.delta > 0 and event.threshold > rows
    is_category = isinstance(codec.schema[event.clique[0]], Category)
    if len(event.clique) != 1 or event.sensitivity < min_sensitivity or is_category != has_delta:
        raise ValueError("a discovery was charged too little")


def _column_weights(codec: Codec) -> dict[str, int]:
    """How much each column weighs in the scores of a release, which one unit changes by that much."""
    label = codec.schema.label
    return column_weights(tuple(codec.sizes), label if label in codec.sizes else None, LABEL_WEIGHT)


def _check_paid(answer: Measurement | Choice, event: Event, terms: Terms, weights: Mapping[str, int]) -> None:
    """Raise unless an event charges for this answer, and for at least the sensitivity to one unit."""
    rows = terms.max_rows_per_person
    if isinstance(answer, Choice):
        paid = event.kind == "select" and (answer.candidates, answer.scale) == (event.candidates, event.scale)
        weight = sum(weights[name] for name in answer.clique)  # the heaviest candidate weighs at least as much
        min_sensitivity = float(rows * GRID * weight * (2 if terms.relation == "replace" else 1))
    else:
        paid = event.kind == "measure" and (answer.query.clique, answer.sigma) == (event.clique, event.scale)
        min_sensitivity = rows * (math.sqrt(2.0) if terms.relation == "replace" else 1.0)
    if not paid or event.sensitivity < min_sensitivity:
        raise ValueError("an answer and its charge do not match")


def _check_groups(query: Query, sizes: Mapping[str, int]) -> None:
    """Raise unless the groups of a query partition the bins of its columns."""
    for name, owner in zip(query.clique, query.owners, strict=True):
        if len(owner) != sizes[name] or {*owner} != {*range(max(owner) + 1)}:
            raise ValueError("the groups of a column do not partition its bins")


def render(transcript: Transcript) -> str:
    """The transcript as JSON text; equal transcripts give equal texts."""
    return json.dumps(as_data(transcript), ensure_ascii=False) + "\n"


def load(path: Path) -> Transcript:
    """The transcript in a JSON file; a `CutsError` for anything else."""
    text = read_text(path, "transcript", MAX_TRANSCRIPT_BYTES)
    try:
        return transcript_from(json.loads(text))
    except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError, CutsError):
        raise CutsError([bad_transcript(path)]) from None


def bad_transcript(path: Path) -> Diagnostic:
    """A file that is not a transcript, was changed, or does not keep the promise that it states."""
    title = f"{path} is not a transcript of this version of `cuts`, or it was changed and its promise does not hold"
    help = "pass a private model (.synth), or a file that `cuts ledger transcript` wrote"
    return Diagnostic("bad-transcript", title, help=help, exit_code=USAGE)
