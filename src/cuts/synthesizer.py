"""`Synthesizer`: fit a frame, sample a frame, by the conventions of scikit-learn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, Self, get_args

from cuts.assess.verdicts import Verdicts
from cuts.assess.verify import verify as verify_spec
from cuts.config import Config
from cuts.data.exchange.frames import FrameForm, form_in, to_native
from cuts.data.exchange.tables import from_frame
from cuts.data.schema import Schema
from cuts.flow import run as flow
from cuts.flow.native import form_of_sample, with_table
from cuts.flow.request import PrivacyOptions
from cuts.flow.sample import sample
from cuts.lang.syntax import Program
from cuts.model import store
from cuts.privacy.transcript import Transcript

Frame = Literal["pandas", "polars", "arrow"]
PARAMETERS = (
    "program",
    "schema",
    "label",
    "seed",
    "config",
    "values",
    "data_id",
    "ledger",
    "max_epsilon",
    "at_delta",
    "transcript",
)


class Synthesizer:
    """Learns a table and samples new rows that satisfy a program.

    `program` is a text, a `Program`, or the path of a `.cuts` file; without one there are no constraints. `schema` is
    a `Schema` or the path of a schema file, inferred from the rows otherwise, with `label` as the column whose relation
    to the others matters most. `config` is a `Config` or a mapping of its settings, `values` fill placeholders.

    A private program needs a declared schema; its rows are read once, by the trusted core. Releases of the same
    `data_id`, by default the schema's name, add up in the file `ledger`, and no more than `max_epsilon` is spent, at
    the smallest delta of these releases or at `at_delta`. If a fit fails after that, the release is saved in a file
    beside the ledger, which the error names; a Synthesizer with that `transcript` fits it again without rows and at no
    cost: `fit()`.

    >>> import pyarrow as pa
    >>> people = pa.table({"age": [20, 30, 40, 50] * 25, "paid": ["no", "yes"] * 50})
    >>> synthesizer = Synthesizer("SYNTHESIZE: people; ENFORCE: age > 20; END;", config={"steps": 50})
    >>> sample = synthesizer.fit(people).sample(10)
    >>> sample.num_rows, min(sample["age"].to_pylist()) > 20
    (10, True)
    """

    def __init__(
        self,
        program: str | Path | Program | None = None,
        schema: Schema | str | Path | None = None,
        label: str | None = None,
        seed: int = 0,
        config: Config | Mapping[str, Any] | None = None,
        values: Mapping[str, str | float] | None = None,
        data_id: str | None = None,
        ledger: str | Path | None = None,
        max_epsilon: float | None = None,
        at_delta: float | None = None,
        transcript: Transcript | str | Path | None = None,
    ) -> None:
        self.program = program
        self.schema = schema
        self.label = label
        self.seed = seed
        self.config = config
        self.values = values
        self.data_id = data_id
        self.ledger = ledger
        self.max_epsilon = max_epsilon
        self.at_delta = at_delta
        self.transcript = transcript

    def fit(self, X: Any = None, y: Any = None) -> Self:
        """Learn the rows of a pandas, polars or Arrow frame, or of the file at a path; `y` is not looked at.

        With a `transcript` nothing is read, and `X` only says which kind of frame to sample.
        """
        request = flow.make_request(
            self.program,
            X,
            schema=self.schema,
            label=self.label,
            seed=self.seed,
            config=self.config,
            values=self.values,
            privacy=PrivacyOptions(
                None if self.ledger is None else Path(self.ledger), self.data_id, self.max_epsilon, self.at_delta
            ),
            transcript=self.transcript,
        )
        request, form = with_table(request)
        fitted = flow.fit(request)
        return self._keep(fitted.model, form_of_sample(X, form, fitted.model.codec.schema, fitted.reference))

    def _keep(self, model: store.Model, form: FrameForm | None) -> Self:
        self.model_, self.form_ = replace(model, frame=model.frame if form is None else form.library), form
        self.schema_ = model.codec.schema
        self.n_features_in_ = len(self.schema_.names)
        return self

    def sample(
        self,
        n: int | None = None,
        where: str | None = None,
        seed_rows: Any = None,
        *,
        seed: int | None = None,
        workers: int = 1,
        as_: Frame | None = None,
    ) -> Any:
        """New rows as the kind of frame that was fitted, or as `as_` says: `n`, or as many as there were.

        They are not verified: few rows may be unable to have a statistic, and `verify` says so. `where` is a condition
        all rows satisfy. `seed_rows` is a frame whose given cells are kept and whose missing cells and columns are
        generated. `seed` is another one than the synthesizer's.
        """
        self._check_fitted()
        if seed_rows is not None and n is not None:
            raise ValueError("`n` and `seed_rows` exclude each other: one row is generated per seed row")
        if as_ is not None and as_ not in get_args(Frame):
            raise ValueError(f"rows are sampled as {', '.join(get_args(Frame))}, not {as_!r}")
        drawn = sample(
            self.model_,
            n,
            where=where,
            seed_rows=None if seed_rows is None else from_frame(seed_rows),
            seed=_checked_seed(self.seed if seed is None else seed),
            workers=workers,
        )
        if self.form_ is not None and as_ in (None, self.form_.library):
            return to_native(drawn.table, self.form_)
        library = as_ or self.model_.frame or "arrow"
        return drawn.table.arrow if library == "arrow" else to_native(drawn.table, form_in(library, drawn.table))

    def verify(self, table: Any) -> Verdicts:
        """A verdict for every command of the program on a table or frame."""
        self._check_fitted()
        return Verdicts(verify_spec(self.model_.spec, from_frame(table)))

    def save(self, path: str | Path) -> None:
        """Write the model to a `.synth` file."""
        self._check_fitted()
        store.save(self.model_, path)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """The synthesizer of a model file; it samples the kind of frame that was fitted, or Arrow tables of a file.

        The dtypes are those that the library chooses: the file says pandas or polars, and nothing more of the frame.
        """
        model = store.load(path)
        made = cls(model.program, model.codec.schema, model.codec.schema.label, model.facts.seed, model.config)
        return made._keep(model, None)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """What the synthesizer was made with."""
        return {name: getattr(self, name) for name in PARAMETERS}

    def set_params(self, **params: Any) -> Self:
        """Change what the synthesizer was made with."""
        for name, value in params.items():
            if name not in PARAMETERS:
                raise ValueError(f"a Synthesizer has no parameter {name!r}; it has {', '.join(PARAMETERS)}")
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        given = [f"{name}={value!r}" for name, value in self.get_params().items() if value not in (None, 0)]
        return f"Synthesizer({', '.join(given)})"

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    def __sklearn_tags__(self) -> Any:
        utils = import_module("sklearn.utils")  # it is scikit-learn that asks, so it is there
        return utils.Tags(estimator_type=None, target_tags=utils.TargetTags(required=False))

    model_: store.Model
    form_: FrameForm | None
    schema_: Schema
    n_features_in_: int

    def _check_fitted(self) -> None:
        if not hasattr(self, "model_"):
            raise RuntimeError("this Synthesizer is not fitted yet: call `fit` with a table first")


def _checked_seed(seed: int) -> int:
    if not 0 <= seed < 2**63:
        raise ValueError(f"a seed is a whole number from 0 to 2**63 - 1, not {seed!r}")
    return seed
