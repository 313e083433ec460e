"""Customizable synthetic tabular data.

A short program states the constraints of a table; this package parses it, checks it for contradictions, learns a
table, samples new rows that satisfy the program and verifies tables against it.

>>> import cuts
>>> program = cuts.parse("SYNTHESIZE: adult; ENFORCE: age > 35; END;")
>>> print(cuts.render(program), end="")
SYNTHESIZE: adult;
<BLANKLINE>
    ENFORCE: age > 35;
<BLANKLINE>
END;
"""

from typing import TYPE_CHECKING, Any

from cuts.assess.verify import Verdict
from cuts.config import Config
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
    "bind",
    "check",
    "evaluate",
    "from_frame",
    "infer_schema",
    "parse",
    "read_schema",
    "read_table",
    "render",
    "run",
    "uniform_rows",
    "verify",
]


def __getattr__(name: str) -> Any:
    """What needs torch, which takes a second to load, is loaded when it is asked for."""
    if name == "Synthesizer":
        from cuts.synthesizer import Synthesizer

        return Synthesizer
    if name in ("run", "RunResult"):
        from cuts.flow import run

        return run.run_program if name == "run" else run.RunResult
    raise AttributeError(f"module 'cuts' has no attribute {name!r}")
