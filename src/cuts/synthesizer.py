"""`Synthesizer`: fit a frame, sample a frame, by the conventions of scikit-learn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any, Self

import pyarrow as pa

from cuts.assess.verify import Verdict
from cuts.assess.verify import verify as verify_spec
from cuts.config import Config, config_from
from cuts.count.sources import Rows, rows_in, rows_of
from cuts.data.exchange.frames import FrameForm, form_like, from_native, to_native
from cuts.data.exchange.sources import from_frame
from cuts.data.schema import Schema
from cuts.data.table import Table
from cuts.flow import checks, inputs, release
from cuts.flow.learn import fit_model
from cuts.lang.parser import parse
from cuts.lang.syntax import Program
from cuts.model import store
from cuts.model.rows import complete_rows, sample_blocks, spec_of
from cuts.privacy.ledger_file import LedgerFile, default_ledger_file
from cuts.privacy.reading import PrivateFile, cells_of
from cuts.text.diagnostic import CutsError, has_errors

PARAMETERS = ("program", "schema", "label", "seed", "config", "values", "data_id", "ledger", "max_epsilon")
NOTHING_ASKED = "SYNTHESIZE: table; END;"


class Synthesizer:
    """Learns a table and makes new rows of it that satisfy a program.

    `program` is a text, a `Program`, or the path of a `.cuts` file; without one the table is only imitated. `schema` is
    a `Schema` or the path of a schema file, inferred from the rows otherwise, with `label` as the column whose relation
    to the others matters most. `config` is a `Config` or a mapping of its settings, `values` fill placeholders.

    A private program needs a declared schema; its rows are read once, by the trusted core. Releases of the same
    `data_id`, by default the schema's name, add up in the file `ledger`, and no more than `max_epsilon` is spent.

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

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the rows of a pandas, polars or Arrow frame, or of the file at a path; `y` is not looked at."""
        program = _program(self.program)
        config = self.config if isinstance(self.config, Config) else config_from(self.config or {})
        if checks.private_command(program) is not None:
            return self._fit_private(program, X, config)
        rows, form = _rows(X)
        schema = inputs.schema_of(program, rows, schema=self.schema, label=self.label)
        found = checks.check(program, schema, values=self.values)
        if has_errors(found.diagnostics):
            raise CutsError(found.diagnostics, found.program.source)
        seed = _checked_seed(self.seed)
        model = fit_model(program, schema, rows, config=config, seed=seed, values=self.values)
        return self._keep(model, None if form is None else _form_of(form, schema))

    def _fit_private(self, program: Program, X: Any, config: Config) -> Self:
        rows = PrivateFile(Path(X)) if isinstance(X, str | Path) else cells_of(X)
        schema = inputs.schema_of(program, None, schema=self.schema, label=self.label)
        book = default_ledger_file() if self.ledger is None else LedgerFile(Path(self.ledger))
        account = release.Account(book, self.data_id or schema.name, self.max_epsilon)
        seed = _checked_seed(self.seed)
        made = release.fit_private(program, schema, rows, account, config=config, seed=seed, values=self.values)
        return self._keep(made.model, None if isinstance(X, str | Path) else form_like(X, made.reference))

    def _keep(self, model: store.Model, form: FrameForm | None) -> Self:
        self.model_, self.form_ = model, form
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
    ) -> Any:
        """New rows as the kind of frame that was fitted: `n`, or as many as there were.

        `where` is a condition all rows satisfy. `seed_rows` is a frame whose given cells are kept and whose missing
        cells and columns are made. `seed` is another one than the synthesizer's.
        """
        self._check_fitted()
        chosen = _checked_seed(self.seed if seed is None else seed)
        if seed_rows is not None:
            if n is not None:
                raise ValueError("give either `n` or `seed_rows`: each of the seed rows makes one row")
            made = complete_rows(self.model_, from_frame(seed_rows), where=where, seed=chosen)
        else:
            blocks = sample_blocks(self.model_, n, where=where, seed=chosen, workers=workers)
            made = Table(pa.concat_tables([block.arrow for block in blocks]))
        return made.arrow if self.form_ is None else to_native(made, self.form_)

    def verify(self, table: Any) -> tuple[Verdict, ...]:
        """A verdict for every command of the program on a table or frame."""
        self._check_fitted()
        return verify_spec(spec_of(self.model_), from_frame(table))

    def save(self, path: str | Path) -> None:
        """Write the model to a `.synth` file."""
        self._check_fitted()
        store.save(self.model_, path)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """The synthesizer of a model file; it samples Arrow tables."""
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


def _program(given: str | Path | Program | None) -> Program:
    """The program of a text, a path or none; a text that names a file is its path."""
    if isinstance(given, Program):
        return given
    if given is None:
        return parse(NOTHING_ASKED)
    if isinstance(given, Path) or given.strip().endswith(".cuts"):
        return inputs.read_program(Path(given))
    return parse(given)


def _rows(X: Any) -> tuple[Rows, FrameForm | None]:
    if isinstance(X, str | Path):
        return rows_in(X), None
    table, form = from_native(X)
    return rows_of(table), form


def _form_of(form: FrameForm, schema: Schema) -> FrameForm:
    """How a frame of the schema's columns alone would have looked."""
    places = [place for place, name in enumerate(form.schema.names) if name in schema]
    if len(places) == len(form.schema.names):
        return form
    return replace(
        form,
        schema=pa.schema([form.schema.field(place) for place in places]),
        dtypes=tuple(form.dtypes[place] for place in places) if form.dtypes else (),
        pandas_dtypes=tuple(form.pandas_dtypes[place] for place in places) if form.pandas_dtypes else (),
        header=None if form.header is None else form.header[places],
    )


def _checked_seed(seed: int) -> int:
    if not 0 <= seed < 2**63:
        raise ValueError(f"a seed is a whole number from 0 to 2**63 - 1, not {seed!r}")
    return seed
