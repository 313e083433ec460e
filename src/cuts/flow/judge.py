"""Verdicts on a table, one per command of a program, and the quality of a synthetic table. Neither needs a model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from cuts.assess.evaluate import Quality
from cuts.assess.evaluate import evaluate as evaluate_tables
from cuts.assess.features import Features
from cuts.assess.grid import Bins
from cuts.assess.learners import CLASSIFIERS, Classifier
from cuts.assess.request import EvaluateOptions, Part
from cuts.assess.verdicts import Verdicts
from cuts.assess.verify import verify as verify_spec
from cuts.data.exchange.tables import from_frame
from cuts.data.middles import with_middles
from cuts.data.schema import Schema
from cuts.flow.checks import check_shows_real
from cuts.flow.inputs import infer_for_target
from cuts.lang.binder import bind_all
from cuts.lang.placeholders import fill
from cuts.lang.spec import Key
from cuts.lang.syntax import Program
from cuts.progress import Advanced
from cuts.text.diagnostic import CutsError


def verify(
    program: Program,
    schema: Schema,
    table: Any,
    *,
    values: Mapping[str, str | float] | None = None,
    real: Any = None,
    model: Mapping[Key, float] | None = None,
    panel: Sequence[Classifier] = CLASSIFIERS,
    advanced: Advanced = lambda _: None,
) -> Verdicts:
    """One verdict per command on a table or frame; raises `CutsError` when the program does not fit the schema.

    Each verdict also shows the statistics of the `real` table or frame and of the `model`; see `assess.verify.verify`.
    Default tolerances follow from the real rows as well. Statistics of them are not private, so `real` is refused for a
    private program.
    """
    if real is not None:
        check_shows_real(program)
    filled = fill(program, values or {})
    real_table = None if real is None else from_frame(real)
    spec, diagnostics = bind_all(filled, schema if real_table is None else with_middles(schema, real_table))
    if spec is None:
        raise CutsError(diagnostics, program.source)
    return Verdicts(verify_spec(spec, from_frame(table), real=real_table, model=model, panel=panel, advanced=advanced))


def evaluate(
    synthetic: Any,
    train: Any,
    test: Any = None,
    schema: Schema | None = None,
    *,
    target: str | None = None,
    protected: Sequence[str] | None = None,
    desired: str | None = None,
    parts: Sequence[Part] | None = None,
    features: Features = "raw",
    bins: Bins = "uniform",
    seed: int = 0,
    say: Callable[[str], None] = lambda _: None,
) -> Quality:
    """The quality of a synthetic table, measured against its train rows and test rows that no model was trained on.

    Without test rows a quarter of the train rows takes their place, and leakage is not measured.
    The arguments are tables or frames; without a schema it is inferred from the train rows. The options are described
    in `assess.request.EvaluateOptions`. The result is computed from real rows and is not private.
    """
    real = from_frame(train)
    return evaluate_tables(
        from_frame(synthetic),
        real,
        None if test is None else from_frame(test),
        infer_for_target(real, "train", target) if schema is None else schema,
        EvaluateOptions(target, protected, desired, parts, features, bins, seed),
        say=say,
    )
