"""What can be written at a place in a program: keywords, columns, values, statistics, measures, options, data."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from cuts import datasets
from cuts.data.describe import kind_in_words, values_in_words
from cuts.data.schema import Category, Column, Schema, Temporal, matches
from cuts.editor import words
from cuts.editor.context import Context, context_at
from cuts.editor.library import Library, tables_beside
from cuts.editor.outline import folder_of, sketch
from cuts.lang import examples, printer
from cuts.lang.pieces import pieces
from cuts.lang.syntax import ACTIONS, KIND_ALIASES
from cuts.text.source import Source, Span
from cuts.vocab.functions import NAMED_FUNCTIONS
from cuts.vocab.names import DISTRIBUTION, measures, statistics

Sort = Literal["keyword", "column", "value", "statistic", "measure", "function", "option", "data", "let"]
_CONNECTING = ("AND", "OR", "IMPLIES", "IN", "NOT", "BETWEEN", "IS", "WITHIN", "WITH")
_FIXED = {"epsilon": "EPSILON", "delta": "DELTA"}  # options that `cuts fmt` writes in capitals


@dataclass(frozen=True, slots=True)
class Item:
    """One completion: what is shown, what replaces `span`, and a line about it."""

    label: str
    text: str
    sort: Sort
    detail: str
    span: Span


def completions(source: Source, offset: int, library: Library) -> tuple[Item, ...]:
    """Everything that can be written at an offset; the editor filters it by what is there already."""
    context = context_at(source.text, offset)
    if context.place in ("comment", "nothing"):
        return ()
    if context.place == "data":
        return tuple(_data(source, context))
    if context.place == "statement":
        return tuple(_statements(source, offset, context))
    if context.place == "setting":
        return tuple(_options((_FIXED.get(key, key) for key in words.PRIVACY_OPTIONS), context))
    if context.place == "option":
        return tuple(_options(words.COMMAND_OPTIONS, context))
    if context.place == "operator":
        return tuple(_keywords(_CONNECTING, context))
    return tuple(_about_columns(source, context, library.look_up(sketch(source)).schema))


def _about_columns(source: Source, context: Context, schema: Schema | None) -> Iterator[Item]:
    column = _column(context.owner, schema)
    match context.place:
        case "argument":
            entry = measures()[context.owner or ""]
            yield from _options((*entry.required, *entry.optional), context)
        case "value" | "share" | "outcome" if isinstance(column, Category):
            yield from _values(column, context, ": " if context.place == "share" else "")
        case "value" if column is not None and not isinstance(column, Temporal):
            yield from _texts(column, context)
            yield from _columns(schema, context)
        case "value":
            yield from _expression(source, context, schema)
        case "column":
            if context.owner == "features":
                yield Item("all", "all", "keyword", "every column except the target", context.span)
            yield from _columns(schema, context, categories_only=context.owner != "features")
        case "command":
            yield from _kinds(context)
            if context.owner != "ENSURE":
                yield from _expression(source, context, schema)
        case "expression" if context.owner == "IS":
            yield from _keywords(("NULL", "NOT"), context)
        case "expression":
            yield from _expression(source, context, schema)
        case _:
            return


def _expression(source: Source, context: Context, schema: Schema | None) -> Iterator[Item]:
    yield from _columns(schema, context)
    for name in _shorthands(source.text):
        yield Item(name, printer.name(name), "let", "a shorthand of this program", context.span)
    for name, entry in statistics().items():
        opened = f"{name}(0.5)[" if entry.levels else f"{name}["
        yield Item(words.signature(entry), opened, "statistic", entry.noun, context.span)
    yield Item(f"{DISTRIBUTION}[x]", f"{DISTRIBUTION}[", "statistic", "share of each value", context.span)
    for name, measure in measures().items():
        text = f"{name}(" if schema is None else examples.measure(name, schema)
        yield Item(name, text, "measure", measure.meaning, context.span)
    for name in NAMED_FUNCTIONS:
        yield Item(name, f"{name}(", "function", "function of numbers", context.span)
    yield from _keywords(("NOT",), context)


def _statements(source: Source, offset: int, context: Context) -> Iterator[Item]:
    parts = [part for part in pieces(source.text)[0] if part.span.start < offset]
    begun = any(part.opening == "SYNTHESIZE" for part in parts)
    if not begun:
        yield Item("SYNTHESIZE", "SYNTHESIZE: ", "keyword", words.KEYWORDS["SYNTHESIZE"], context.span)
        return
    for action in ACTIONS:
        yield Item(action, f"{action}: ", "keyword", words.KEYWORDS[action], context.span)
    yield Item("LET", "LET ", "keyword", words.KEYWORDS["LET"], context.span)
    yield Item("END", "END;", "keyword", words.KEYWORDS["END"], context.span)


def _data(source: Source, context: Context) -> Iterator[Item]:
    for dataset in datasets.DATASETS:
        yield Item(dataset.name, dataset.name, "data", f"{dataset.title}, {dataset.train:,} rows", context.span)
    quoted = source.text[context.span.start - 1 : context.span.start] in ('"', "'")
    for name in tables_beside(folder_of(source)):
        yield Item(name, name if quoted else f'"{name}"', "data", "a file beside the program", context.span)


def _kinds(context: Context) -> Iterator[Item]:
    private = context.owner == "ENSURE"
    for kind in dict.fromkeys(KIND_ALIASES.values()):
        if private == (kind == "DIFFERENTIAL PRIVACY"):
            yield Item(kind, f"{kind}: ", "keyword", words.KINDS[kind], context.span)


def _keywords(names: Iterable[str], context: Context) -> Iterator[Item]:
    for name in names:
        yield Item(name, name, "keyword", words.KEYWORDS[name], context.span)


def _options(keys: Iterable[str], context: Context) -> Iterator[Item]:
    for key in keys:
        yield Item(key, f"{key}=", "option", words.OPTIONS.get(key.lower(), ""), context.span)


def _columns(schema: Schema | None, context: Context, *, categories_only: bool = False) -> Iterator[Item]:
    for column in () if schema is None else schema.modelled:
        if isinstance(column, Category) or not categories_only:
            detail = f"{kind_in_words(column)}, {values_in_words(column)}"
            yield Item(column.name, printer.name(column.name), "column", detail, context.span)


def _values(column: Category, context: Context, after: str) -> Iterator[Item]:
    for category in column.categories:
        yield Item(category, f"{printer.value(category)}{after}", "value", f"value of {column.name}", context.span)


def _texts(column: Column, context: Context) -> Iterator[Item]:
    for text in getattr(column, "texts", ()):
        yield Item(text, printer.value(text), "value", f"text beside the numbers of {column.name}", context.span)


def _column(name: str | None, schema: Schema | None) -> Column | None:
    found = () if name is None or schema is None else matches(name, schema.names)
    return schema[found[0]] if schema is not None and len(found) == 1 else None


def _shorthands(text: str) -> Iterator[str]:
    for part in pieces(text)[0]:
        if part.opening == "LET":
            name, sign, _ = text[part.span.start + len("LET") : part.span.end].partition(":=")
            if sign and name.strip():
                yield name.strip().strip("`")
