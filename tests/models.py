"""Models fitted in a few words, for tests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from cuts.config import Config
from cuts.data.schema import Schema
from cuts.data.table import Table
from cuts.flow.private import fit_release
from cuts.flow.release import Account, measure
from cuts.flow.request import FittedModel, PrivacyOptions
from cuts.flow.run import fit, make_request
from cuts.lang.syntax import Program
from cuts.model.store import Model
from cuts.privacy.reading import PrivateRows
from cuts.privacy.transcript import Transcript
from cuts.progress import Observer


def fit_model(
    program: Program, schema: Schema, table: Table, *, config: Config, seed: int = 0, draw: int | None = None
) -> Model:
    """The model of a table under a program."""
    return fit(make_request(program, table, schema=schema, config=config, seed=seed, rows=draw)).model


def fit_private(
    program: Program,
    schema: Schema,
    rows: PrivateRows,
    account: Account,
    *,
    config: Config,
    seed: int = 0,
    draw: int | None = None,
    observer: Observer | None = None,
    values: Mapping[str, str | float] | None = None,
    options: PrivacyOptions = PrivacyOptions(),
) -> FittedModel:
    """The private model of rows, released on an account."""
    request = make_request(program, config=config, seed=seed, rows=draw, values=values, privacy=options)
    transcript = measure(request, schema, rows, account, observer or Observer())
    return fit_release(replace(request, transcript=transcript), observer or Observer())


def fit_transcript(
    program: Program,
    transcript: Transcript,
    *,
    config: Config,
    seed: int = 0,
    values: Mapping[str, str | float] | None = None,
    draw: int | None = None,
    observer: Observer | None = None,
) -> FittedModel:
    """The model of a release under a program."""
    request = make_request(program, config=config, seed=seed, values=values, rows=draw, transcript=transcript)
    return fit_release(request, observer or Observer())
