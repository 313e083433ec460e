"""Customizable synthetic tabular data: say what the table must be, get it with a verdict for every line.

A program states what must hold of a table. This package checks it for contradictions, learns the table, samples new
rows that satisfy the program, and verifies tables against it. A tour:

>>> import cuts, pyarrow
>>> people = pyarrow.table({"age": [20, 30, 40, 50] * 25, "sex": ["Female", "Male"] * 50})
>>> program = cuts.parse("SYNTHESIZE: people; ENFORCE: age > 20; ENFORCE: E[age] == 35 WITHIN 5; END;")
>>> cuts.check(program, cuts.infer_schema(people, "people")).diagnostics
()
>>> result = cuts.run(program, people, rows=100, config={"steps": 50})
>>> result.verdicts
<Verdicts: 2 hold, 0 fail>
>>> result.frame.num_rows, min(result.frame["age"].to_pylist())
(100, 30)

Frames of pandas, polars and Arrow go in and come out; files and databases are named by their path or location.

- Programs: `parse`, `render`, `check`, `bind`, and `cuts.build` to write them in Python.
- Tables and schemas: `from_frame`, `read_table`, `infer_schema`, `read_schema`, `schema_from`, `Schema` and its columns
  `Integer`, `Real`, `Category`.
- Synthetic rows: `run` does everything at once, `Synthesizer` fits and samples; `Config` has the settings.
  `uniform_rows` needs a schema only.
- Judging tables: `verify` gives a verdict per command, `evaluate` measures quality.

Whatever is wrong with a program, a table or a call is a `CutsError` with all its `Diagnostic`s.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from cuts.assess.verdicts import Verdicts
from cuts.assess.verify import Verdict
from cuts.config import Config
from cuts.data.exchange.foreign_schemas import schema_from
from cuts.data.exchange.tables import from_frame, read_table
from cuts.data.infer import infer_schema
from cuts.data.schema import Category, Integer, Real, Schema
from cuts.data.schema_file import read_schema
from cuts.data.table import Table
from cuts.data.uniform import uniform_rows
from cuts.flow.checks import check
from cuts.flow.judge import evaluate, verify
from cuts.lang.binder import bind
from cuts.lang.parser import parse
from cuts.lang.printer import render
from cuts.text.diagnostic import CutsError, Diagnostic

if TYPE_CHECKING:
    from cuts import build
    from cuts.flow.run import RunResult
    from cuts.flow.run import run_program as run
    from cuts.synthesizer import Synthesizer

__version__ = "0.1.0"

__all__ = [
    "Category",
    "Config",
    "CutsError",
    "Diagnostic",
    "Integer",
    "Real",
    "RunResult",
    "Schema",
    "Synthesizer",
    "Table",
    "Verdict",
    "Verdicts",
    "bind",
    "build",
    "check",
    "evaluate",
    "from_frame",
    "infer_schema",
    "parse",
    "read_schema",
    "read_table",
    "render",
    "run",
    "schema_from",
    "uniform_rows",
    "verify",
]

# What is loaded when it is asked for: all but `build` needs torch, which takes a second.
_LAZY = {
    "RunResult": ("cuts.flow.run", "RunResult"),
    "Synthesizer": ("cuts.synthesizer", "Synthesizer"),
    "build": ("cuts.build", None),
    "run": ("cuts.flow.run", "run_program"),
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'cuts' has no attribute {name!r}")
    module, attribute = _LAZY[name]
    found = import_module(module)
    return found if attribute is None else getattr(found, attribute)


def __dir__() -> list[str]:
    return sorted([*__all__, "__all__", "__doc__", "__file__", "__name__", "__path__", "__version__"])
