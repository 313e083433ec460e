"""Customizable synthetic tabular data.

A short program says what a table must be; this package parses it, checks it for contradictions and verifies tables
against it.

>>> import cuts
>>> program = cuts.parse("SYNTHESIZE: adult; ENFORCE: age > 35; END;")
>>> print(cuts.render(program), end="")
SYNTHESIZE: adult;
<BLANKLINE>
    ENFORCE: age > 35;
<BLANKLINE>
END;
"""

from cuts.assess.verify import Verdict
from cuts.data.exchange.sources import from_frame, read_table
from cuts.data.infer import infer_schema
from cuts.data.schema import Category, Integer, Real, Schema
from cuts.data.schema_file import read_schema
from cuts.data.table import Table
from cuts.lang.binder import bind
from cuts.lang.parser import parse
from cuts.lang.printer import render
from cuts.pipeline import check, verify
from cuts.text.diagnostic import CutsError, Diagnostic

__version__ = "0.1.0"

__all__ = [
    "Category",
    "CutsError",
    "Diagnostic",
    "Integer",
    "Real",
    "Schema",
    "Table",
    "Verdict",
    "bind",
    "check",
    "from_frame",
    "infer_schema",
    "parse",
    "read_schema",
    "read_table",
    "render",
    "verify",
]
