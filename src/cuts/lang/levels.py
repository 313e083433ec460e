"""What a command is about, as far as its expression shows: its level and its kind."""

from __future__ import annotations

from cuts.lang import syntax
from cuts.lang.rewrite import nodes
from cuts.lang.spec import Level
from cuts.lang.syntax import Kind
from cuts.text.diagnostic import nearest
from cuts.vocab.functions import NAMED_FUNCTIONS
from cuts.vocab.names import measures


def level_of(body: syntax.Expr | syntax.Settings) -> Level:
    """The level of a command: a measure makes it MODEL, a statistic TABLE."""
    if isinstance(body, syntax.Settings):
        return Level.PRIVACY
    if any(isinstance(node, syntax.Call) and _is_measure(node) for node in nodes(body)):
        return Level.MODEL
    return Level.TABLE if any(isinstance(node, syntax.Stat) for node in nodes(body)) else Level.ROW


def kind_of(body: syntax.Expr | syntax.Settings, level: Level, written: Kind) -> Kind:
    """The kind of a command; `written` where its measure is unknown."""
    match level:
        case Level.PRIVACY:
            return "DIFFERENTIAL PRIVACY"
        case Level.TABLE:
            return "STATISTICAL"
        case Level.ROW:
            return "IMPLICATION" if isinstance(body, syntax.Implies) else "ROW CONSTRAINT"
        case Level.MODEL:
            names = [n.name for n in nodes(body) if isinstance(n, syntax.Call) and n.name in measures()]
            return measures()[names[0]].kind if names else written


def is_comparison(expr: syntax.Expr) -> bool:
    """Whether an expression is true or false, rather than a number."""
    return isinstance(
        expr, syntax.Compare | syntax.And | syntax.Or | syntax.Not | syntax.Implies | syntax.Member | syntax.Between
    )


def _is_measure(call: syntax.Call) -> bool:
    """Whether a call names a measure, or is meant to."""
    known = call.name in measures() or call.name in NAMED_FUNCTIONS
    return call.name in measures() if known else bool(call.options) or nearest(call.name, measures()) is not None
