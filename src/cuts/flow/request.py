"""What is asked of a fit, and what comes of it: one value in, one value out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from cuts.config import Config
from cuts.data.exchange.csv_dialect import CsvOptions
from cuts.data.exchange.files import FileForm
from cuts.data.schema import Schema
from cuts.data.table import Table
from cuts.lang.placeholders import fill
from cuts.lang.syntax import Program
from cuts.model.noisy import NoisySettings
from cuts.model.store import Model
from cuts.plan import Plan
from cuts.privacy.adaptive import AdaptiveSettings
from cuts.privacy.ledger_file import Limit
from cuts.privacy.transcript import Transcript


@dataclass(frozen=True, slots=True)
class PrivacyOptions:
    """Where private releases are recorded: the ledger file, the name of the data in it, and the limit in total.

    The limit is on the epsilon of all releases of the data at `at_delta`, by default the smallest delta of any of them.

    If a fit fails after its release was paid for, the release is saved in `keep_at`; by default beside the ledger.
    `rounds` and `learning` are how a release proceeds and how the model learns along with it.
    """

    ledger: Path | None = None
    data_id: str | None = None
    max_epsilon: float | None = None
    at_delta: float | None = None
    keep_at: Path | None = None
    rounds: AdaptiveSettings | None = None  # the default is that of the method
    learning: NoisySettings = NoisySettings()

    @property
    def limit(self) -> Limit | None:
        """The limit on epsilon, if there is one."""
        return None if self.max_epsilon is None else Limit(self.max_epsilon, self.at_delta)


@dataclass(frozen=True)
class FitRequest:
    """A program, where its rows and schema are, and how to fit; whatever is None follows from the program or the rows.

    With a `transcript` the model is fitted to an existing release, and no rows are read.
    """

    program: Program
    data: Any = None  # a location or a frame
    schema: Schema | Path | str | None = None
    label: str | None = None
    values: Mapping[str, str | float] = field(default_factory=dict)  # of placeholders
    config: Config = field(default_factory=Config)
    seed: int = 0
    rows: int | None = None  # that will be drawn, which matters to statistics that count rows
    csv: CsvOptions = CsvOptions()
    privacy: PrivacyOptions = PrivacyOptions()
    transcript: Transcript | None = None
    test: Table | None = None  # rows for the report, which are checked before the fit and not fitted to

    @cached_property
    def filled(self) -> Program:
        """The program with its placeholders filled."""
        return fill(self.program, self.values)


@dataclass(frozen=True, slots=True, eq=False)
class FittedModel:
    """A model, the plan it was made by, and the rows that verdicts compare with: a sample of the real ones or none.

    `form` is how the file looked that the rows came from.
    """

    model: Model
    plan: Plan
    form: FileForm | None = None
    real: Table | None = None
    reference: Table | None = None  # rows of a private model before the program shaped it
