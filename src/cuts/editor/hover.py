"""What stands at a place in a program: a column, a value, a statistic with its number on the rows, a word, a problem.

Numbers of rows come from `Known.rows`, which a private program does not have.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from cuts.data.describe import kind_in_words, values_in_words
from cuts.data.schema import Category, Column, Schema, Unmodelled, matches
from cuts.data.table import Table
from cuts.editor import words
from cuts.editor.library import Known, Library
from cuts.editor.outline import sketch
from cuts.editor.problems import Problem
from cuts.editor.values import category_shares, value_of
from cuts.lang import printer, syntax
from cuts.lang.parser import parse_source
from cuts.lang.rewrite import nodes
from cuts.lang.syntax import KIND_ALIASES, Program
from cuts.text import pages
from cuts.text.diagnostic import CutsError, listed
from cuts.text.source import Source, Span

_WORD = re.compile(r"`[^`\n]+`|\w+")
_KIND = re.compile(rf"\b(?:{'|'.join(kind.replace(' ', r'[ ]+') for kind in KIND_ALIASES)})\b(?=\s*:)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Hover:
    """Markdown about a span."""

    text: str
    span: Span


def hover(source: Source, offset: int, library: Library, found: tuple[Problem, ...] = ()) -> Hover | None:
    """What is known about the place at an offset; first what the codes of the problems there mean."""
    of_problems = [_about(problem) for problem in found if problem.span.start <= offset <= problem.span.end]
    explained = [text for text in of_problems if text is not None]
    thing = _thing(source, offset, library)
    if not explained:
        return thing
    texts = [*explained, *([] if thing is None else [thing.text])]
    at = next(problem.span for problem in found if problem.span.start <= offset <= problem.span.end)
    return Hover("\n\n---\n\n".join(texts), at if thing is None else thing.span)


def _about(problem: Problem) -> str | None:
    return None if problem.code is None else f"**{problem.code}**: {pages.first_sentence(problem.code)}"


def _thing(source: Source, offset: int, library: Library) -> Hover | None:
    kind = next((match for match in _KIND.finditer(source.text) if match.start() <= offset < match.end()), None)
    explained = None if kind is None else words.explain(kind.group())
    if kind is not None and explained is not None:
        return Hover(explained, Span(*kind.span()))
    try:
        program = parse_source(source)
    except CutsError:
        return _word(source, offset, library.look_up(sketch(source)))
    known = library.look_up(program)
    if program.data_span.start <= offset < program.data_span.end:
        return _data(program, known)
    way = tuple(_way_to(program.statements, offset))
    return _node(program, way, known) or _word(source, offset, known)


def _way_to(tree: Any, offset: int) -> Iterator[Any]:
    """The nodes that an offset lies in, from the outermost."""
    for node in nodes(tree):
        span = getattr(node, "span", None)
        if span is not None and span.start <= offset < span.end:
            yield node


def _node(program: Program, way: tuple[Any, ...], known: Known) -> Hover | None:
    """About the innermost of the nodes on the way."""
    schema = known.schema
    if schema is None or not way:
        return None
    match way[-1]:
        case syntax.Name() | syntax.Text() | syntax.Number() as value:
            written = value.text if isinstance(value, syntax.Name) else source_text(value)
            column = _compared(way[:-1], written, schema)
            if column is not None:
                return _category(written, column, value.span, known)
            let = next((let for let in program.lets if let.name.text == written), None)
            if let is not None and isinstance(value, syntax.Name):
                return Hover(f"`{written}` stands for `{printer.expression(let.expr)}`", value.span)
            named = matches(written, schema.names) if isinstance(value, syntax.Name) else ()
            return Hover(_column(schema[named[0]], known, schema), value.span) if len(named) == 1 else None
        case syntax.Stat() as stat:
            return Hover(_statistic(stat, program, known), stat.span)
        case syntax.Call() as call:
            explained = words.explain(call.name, schema)
            return None if explained is None else Hover(explained, call.span)
        case syntax.Option(key) as option:
            return Hover(f"**{key}**: {words.OPTIONS[key]}", option.span) if key in words.OPTIONS else None
        case _:
            return None


def source_text(value: syntax.Text | syntax.Number) -> str:
    """The value as a category would be spelt."""
    return value.value if isinstance(value, syntax.Text) else printer.number(value.value)


def _compared(way: tuple[Any, ...], written: str, schema: Schema) -> Category | None:
    """The category column that a value is compared with and that has it."""
    for node in reversed(way):
        match node:
            case syntax.Compare(operands):
                around: tuple[Any, ...] = operands
            case syntax.Member(item):
                around = (item,)
            case syntax.Call(_, _, options):
                around = tuple(option.value for option in options if option.key == "target")
            case _:
                continue
        names = [name.text for name in nodes(around) if isinstance(name, syntax.Name)]
        for column in (schema[found] for name in names for found in matches(name, schema.names)):
            if isinstance(column, Category) and matches(written, column.categories):
                return column
    return None


def _word(source: Source, offset: int, known: Known) -> Hover | None:
    """About the word alone: in a text that does not parse, and for keywords."""
    found = next((word for word in _WORD.finditer(source.text) if word.start() <= offset < word.end()), None)
    if found is None or _is_in_comment(source, found.start()):
        return None
    span = Span(*found.span())
    explained = words.explain(found.group(), known.schema)
    if explained is not None:
        return Hover(explained, span)
    named = () if known.schema is None else matches(found.group().strip("`"), known.schema.names)
    if known.schema is None or len(named) != 1:
        return None
    return Hover(_column(known.schema[named[0]], known, known.schema), span)


def _is_in_comment(source: Source, offset: int) -> bool:
    line = source.line(source.place(offset)[0])
    start = re.sub(r"\"[^\"]*\"|'[^']*'|`[^`]*`", lambda quoted: "x" * len(quoted.group()), line)
    comment = re.search(r"#|--", start)
    return comment is not None and comment.start() < source.place(offset)[1]


def _data(program: Program, known: Known) -> Hover | None:
    if known.schema is None:
        return None
    rows = "" if known.rows is None else f", {known.rows.rows:,} rows"
    text = f"**{known.schema.name}**: {len(known.schema.columns)} columns{rows}; schema {known.schema.provenance}."
    return Hover(f"{text}\n\nColumns: {listed(known.schema.names, limit=30)}", program.data_span)


def _column(column: Column, known: Known, schema: Schema) -> str:
    roles = [
        *(["the label"] if column.name == schema.label else []),
        *(["protected"] if column.name in schema.protected else []),
    ]
    text = f"**{column.name}**: {', '.join([kind_in_words(column), values_in_words(column), *roles])}."
    text += f" {_missing(column, known.rows)}"
    if not isinstance(column, Category):
        return text
    if known.rows is None:
        return f"{text}\n\nValues: {listed(column.categories, limit=20)}"
    shares = category_shares(column, known.rows)
    return f"{text}\n\n" + "\n".join(f"- `{value}` {100 * share:.1f} %" for value, share in shares[:20])


def _missing(column: Column, rows: Table | None) -> str:
    if isinstance(column, Unmodelled):
        return ""
    if rows is None or column.name not in rows.names:
        return "Values can be missing." if column.missing else "No value is missing."
    share = float(np.mean(rows.missing(column.name))) if rows.rows else 0.0
    return f"{100 * share:.1f} % of the values are missing." if share else "No value is missing."


def _category(written: str, column: Category, span: Span, known: Known) -> Hover:
    value = matches(written, column.categories)[0]
    text = f"`{value}`: a value of **{column.name}**"
    if known.rows is None:
        return Hover(f"{text}.", span)
    share = dict(category_shares(column, known.rows))[value]
    count = round(share * known.rows.rows)
    return Hover(f"{text}, {100 * share:.1f} % of the rows ({count:,} of {known.rows.rows:,}).", span)


def _statistic(stat: syntax.Stat, program: Program, known: Known) -> str:
    explained = words.explain(stat.name) or stat.name
    written = printer.expression(stat)
    value = value_of(stat, program, known)
    if value is None or known.rows is None:
        return explained
    return f"`{written}` is **{value}** in the {known.rows.rows:,} real rows.\n\n{explained}"
