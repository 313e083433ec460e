"""The answers of the core in order: all that is ever known of private rows, and all that a model is made from.

A transcript is public. It is written as JSON with numbers exact; `Replay` answers from it as the core did, without
rows, and refuses questions the core was not asked.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from cuts.count.cover import Clique
from cuts.data.codec import Codec
from cuts.data.codec_file import codec_data, codec_from
from cuts.data.schema import fingerprint
from cuts.data.table import Floats, IntArray
from cuts.privacy.curator import GRID, Candidate
from cuts.privacy.ledger import Event, ReleaseLedger, Terms
from cuts.privacy.query import Owners, Query
from cuts.privacy.release_json import ledger_data, ledger_from
from cuts.text.diagnostic import USAGE, CutsError, Diagnostic
from cuts.text.files import read_text

FORMAT, VERSION = "cuts-transcript", 1


@dataclass(frozen=True, slots=True, eq=False)
class Measurement:
    """A histogram with noise of scale `sigma` on every cell; cells may be negative."""

    query: Query
    sigma: float
    values: IntArray  # of the query's shape


@dataclass(frozen=True, slots=True)
class Choice:
    """The histogram selected, of so many."""

    clique: Clique
    candidates: int
    scale: float


@dataclass(frozen=True, slots=True, eq=False)
class Transcript:
    """What was answered, over the bins of a codec, under which terms and at what cost."""

    codec: Codec
    ledger: ReleaseLedger
    answers: tuple[Measurement | Choice, ...]

    @property
    def measurements(self) -> tuple[Measurement, ...]:
        """The histograms."""
        return tuple(each for each in self.answers if isinstance(each, Measurement))

    @property
    def rows(self) -> int:
        """About how many rows there are."""
        return max(1, round(count_estimate(self.measurements)))


def count_estimate(measurements: Sequence[Measurement]) -> float:
    """The number of rows by all noisy totals, each counting by how exact it is: `cells * sigma^2` is its variance."""
    exact = np.array([1.0 / (each.query.cells * each.sigma**2) for each in measurements])
    totals: Floats = np.array([float(each.values.sum()) for each in measurements])
    return float((exact * totals).sum() / exact.sum())


def promise(transcript: Transcript) -> str:
    """What is promised, in a sentence for people to sign."""
    terms, schema = transcript.ledger.terms, transcript.codec.schema
    apart = "the presence of" if terms.relation == "add/remove" else "the values of"
    known = "taken as public" if schema.provenance == "declared" else "found privately"
    way = "" if schema.provenance == "declared" else "approximate "
    return (
        f"For two tables that differ in {apart} {terms.unit}, the joint distribution of the transcript, the model, "
        f"every sample, every model made from it and every log satisfies ({terms.epsilon:g}, {terms.delta:g})-"
        f"differential privacy, by {way}zCDP with rho = {float(transcript.ledger.rho):.6g}; relation {terms.relation}; "
        f"schema {known} (sha256 {fingerprint(schema)[:16]})."
    )


class Replay:
    """Answers as the core did, from a transcript."""

    def __init__(self, transcript: Transcript) -> None:
        self._answers = list(zip(transcript.answers, _answered(transcript.ledger), strict=True))
        before = transcript.ledger.events[: len(transcript.ledger.events) - len(self._answers)]
        self._ledger = replace(transcript.ledger, events=before)

    @property
    def ledger(self) -> ReleaseLedger:
        """What had been spent at this point."""
        return self._ledger

    def measure(self, query: Query, sigma: float) -> IntArray:
        """The histogram the core gave."""
        found = self._next()
        if not isinstance(found, Measurement) or (found.query, found.sigma) != (query, sigma):
            raise ValueError("the transcript has another answer here")
        return found.values

    def select(self, candidates: Sequence[Candidate], scale: float) -> int:
        """The place of the histogram the core selected."""
        found = self._next()
        if not isinstance(found, Choice) or (found.candidates, found.scale) != (len(candidates), scale):
            raise ValueError("the transcript has another answer here")
        return [candidate.query.clique for candidate in candidates].index(found.clique)

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


def as_data(transcript: Transcript) -> dict[str, Any]:
    """The transcript as JSON values; groups of bins are listed once."""
    levels: dict[Owners, int] = {}
    answers: list[dict[str, Any]] = []
    for each in transcript.answers:
        if isinstance(each, Choice):
            answers.append({"type": "select", "clique": each.clique, "of": each.candidates, "scale": each.scale})
        else:
            groups = [levels.setdefault(owner, len(levels)) for owner in each.query.owners]
            told = {"type": "measure", "clique": each.query.clique, "groups": groups, "sigma": each.sigma}
            answers.append({**told, "values": each.values.ravel().tolist()})
    return {
        "format": FORMAT,
        "version": VERSION,
        "codec": codec_data(transcript.codec),
        "ledger": ledger_data(transcript.ledger),
        "groups": [list(owner) for owner in levels],
        "answers": answers,
    }


def transcript_from(data: Mapping[str, Any]) -> Transcript:
    """The transcript of JSON values; `ValueError`, `LookupError` or `TypeError` for anything else."""
    if data["format"] != FORMAT or data["version"] != VERSION:
        raise ValueError("this is no transcript, or one of another version")
    try:
        levels = [tuple(map(_whole, owner)) for owner in data["groups"]]
        answers = tuple(_answer(each, levels) for each in data["answers"])
        found = Transcript(codec_from(data["codec"]), ledger_from(data["ledger"]), answers)
    except ArithmeticError:
        raise ValueError("a number of the transcript is none") from None
    sizes = {bins.column.name: bins.size for bins in found.codec.columns}
    for answer, event in zip(answers, _answered(found.ledger), strict=True):
        _check_paid(answer, event, found.ledger.terms)
        if isinstance(answer, Measurement):
            _check_groups(answer.query, sizes)
    return found


def _check_paid(answer: Measurement | Choice, event: Event, terms: Terms) -> None:
    """Raise unless a charge is the one of an answer, for at least what a unit moves."""
    rows = terms.rows_each
    if isinstance(answer, Choice):
        paid = event.kind == "select" and (answer.candidates, answer.scale) == (event.candidates, event.scale)
        least = float(rows * GRID * (2 if terms.relation == "replace" else 1))
    else:
        paid = event.kind == "measure" and (answer.query.clique, answer.sigma) == (event.clique, event.scale)
        least = rows * (math.sqrt(2.0) if terms.relation == "replace" else 1.0)
    if not paid or event.sensitivity < least:
        raise ValueError("an answer and its charge do not belong together")


def _check_groups(query: Query, sizes: Mapping[str, int]) -> None:
    """Raise unless a query is about groups of the bins there are."""
    for name, owner in zip(query.clique, query.owners, strict=True):
        if len(owner) != sizes[name] or {*owner} != {*range(max(owner) + 1)}:
            raise ValueError("the groups of a column are not of its bins")


def render(transcript: Transcript) -> str:
    """The transcript as a JSON text; equal transcripts are equal texts."""
    return json.dumps(as_data(transcript), ensure_ascii=False) + "\n"


def load(path: Path) -> Transcript:
    """The transcript in a JSON file; a `CutsError` for anything else."""
    text = read_text(path, "transcript")
    try:
        return transcript_from(json.loads(text))
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError, CutsError):
        raise CutsError([bad_transcript(path)]) from None


def bad_transcript(path: Path) -> Diagnostic:
    """A file that is no transcript, or was changed."""
    title = f"{path} is no transcript of `cuts`, or was changed"
    help = "give a private model, or what `cuts ledger transcript` wrote"
    return Diagnostic("bad-transcript", title, help=help, exit_code=USAGE)


def _answer(data: Mapping[str, Any], levels: Sequence[Owners]) -> Measurement | Choice:
    clique = tuple(map(str, data["clique"]))
    if data["type"] == "select":
        return Choice(clique, int(data["of"]), float(data["scale"]))
    query = Query(clique, tuple(levels[place] for place in data["groups"]))
    values = np.array([_whole(value) for value in data["values"]], dtype=np.int64)
    return Measurement(query, float(data["sigma"]), values.reshape(query.shape))


def _whole(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise ValueError("a whole number was expected")
    return value
