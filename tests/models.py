"""Models fitted in a few words, for tests."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from unittest.mock import patch

from cuts.config import Config
from cuts.data.schema import Schema
from cuts.data.table import Table
from cuts.effects import fairness
from cuts.effects.fairness import FairnessSettings
from cuts.effects.steering import SteeringSettings
from cuts.flow import frontier
from cuts.flow.private import fit_release
from cuts.flow.release import Account, measure
from cuts.flow.request import FittedModel, PrivacyOptions
from cuts.flow.run import fit, make_request
from cuts.lang.syntax import Program
from cuts.model.noisy import NoisySettings
from cuts.model.store import Model
from cuts.privacy.adaptive import AdaptiveSettings
from cuts.privacy.reading import PrivateRows
from cuts.privacy.transcript import Transcript
from cuts.progress import Observer

# Few rounds and few steps in each: what is measured may be chosen worse, nothing else changes.
QUICK_RELEASE = PrivacyOptions(
    rounds=AdaptiveSettings(planned_rounds=8, min_round_share=0.05, max_round_share=0.15),
    learning=NoisySettings(round_components=50, first_steps=20, round_steps=3),
)


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


@contextmanager
def quick_steering(tables: int = 1, steering: SteeringSettings | None = None) -> Iterator[None]:
    """Classifiers tried on so many drawn tables instead of six: what they do is known less exactly."""
    settings = partial(FairnessSettings, max_tables=tables, steering=steering or SteeringSettings())
    with patch.object(fairness, "FairnessSettings", settings), patch.object(frontier, "FairnessSettings", settings):
        yield


@contextmanager
def quick_releases() -> Iterator[None]:
    """Private commands and synthesizers whose releases have few rounds."""
    options = partial(PrivacyOptions, rounds=QUICK_RELEASE.rounds, learning=QUICK_RELEASE.learning)
    with patch("cuts.flow.request.PrivacyOptions", options), patch("cuts.synthesizer.PrivacyOptions", options):
        yield
