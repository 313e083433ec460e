"""The language server: the functions of this package over the protocol of editors, on stdin and stdout.

The only module that imports `pygls` and its types.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lsprotocol import types
from pygls.lsp.server import LanguageServer

from cuts.editor.completion import Sort, completions
from cuts.editor.formatting import formatted
from cuts.editor.hover import hover
from cuts.editor.library import Library
from cuts.editor.outline import symbols
from cuts.editor.positions import Lines
from cuts.editor.problems import Problem, Severity, problems
from cuts.text import pages
from cuts.text.source import Source, Span

PAUSE = 0.15  # seconds without a key before a text is checked
TRIGGERS = (":", "[", "(", "{", "=", " ", '"', "`", ",")

_SEVERITIES: dict[Severity, Any] = {
    "error": types.DiagnosticSeverity.Error,
    "warning": types.DiagnosticSeverity.Warning,
    "information": types.DiagnosticSeverity.Information,
}
_KINDS: dict[Sort, Any] = {
    "keyword": types.CompletionItemKind.Keyword,
    "column": types.CompletionItemKind.Field,
    "value": types.CompletionItemKind.EnumMember,
    "statistic": types.CompletionItemKind.Function,
    "measure": types.CompletionItemKind.Method,
    "function": types.CompletionItemKind.Function,
    "option": types.CompletionItemKind.Property,
    "data": types.CompletionItemKind.File,
    "let": types.CompletionItemKind.Variable,
}


def serve(version: str, schema: Path | None = None) -> None:
    """Answer one editor until it leaves."""
    # The whole text is sent with every change: programs are short, and there is one way to count lines less.
    server = LanguageServer("cuts", version, text_document_sync_kind=types.TextDocumentSyncKind.Full)
    session = _Session(server, Library(schema))
    for name, answer in (
        (types.TEXT_DOCUMENT_DID_OPEN, session.opened),
        (types.TEXT_DOCUMENT_DID_CHANGE, session.changed),
        (types.TEXT_DOCUMENT_DID_SAVE, session.opened),
        (types.TEXT_DOCUMENT_DID_CLOSE, session.closed),
        (types.TEXT_DOCUMENT_HOVER, session.hover),
        (types.TEXT_DOCUMENT_FORMATTING, session.format),
        (types.TEXT_DOCUMENT_DOCUMENT_SYMBOL, session.symbols),
    ):
        server.feature(name)(_plain(answer))
    complete = types.CompletionOptions(trigger_characters=list(TRIGGERS))
    server.feature(types.TEXT_DOCUMENT_COMPLETION, complete)(_plain(session.complete))
    act = types.CodeActionOptions(code_action_kinds=[types.CodeActionKind.QuickFix])
    server.feature(types.TEXT_DOCUMENT_CODE_ACTION, act)(_plain(session.actions))
    server.start_io()


class _Session:
    """The open programs of one editor; a builder that holds what was found for each."""

    def __init__(self, server: Any, library: Library) -> None:
        self._server = server
        self._library = library
        self._found: dict[str, tuple[str, tuple[Problem, ...]]] = {}  # by document: its text, and its problems

    # --- problems

    def opened(self, params: Any) -> None:
        self._publish(params.text_document.uri)

    async def changed(self, params: Any) -> None:
        uri = params.text_document.uri
        text = self._source(uri).text
        await asyncio.sleep(PAUSE)
        if uri in self._server.workspace.text_documents and self._source(uri).text == text:
            self._publish(uri)

    def closed(self, params: Any) -> None:
        self._found.pop(params.text_document.uri, None)
        self._send(params.text_document.uri, ())

    def _publish(self, uri: str) -> None:
        lines = self._lines(uri)
        self._send(uri, [_diagnostic(problem, lines, uri) for problem in self._problems(uri)])

    def _send(self, uri: str, diagnostics: Sequence[Any]) -> None:
        self._server.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, list(diagnostics)))

    def _problems(self, uri: str) -> tuple[Problem, ...]:
        source = self._source(uri)
        self._found[uri] = (source.text, problems(source, self._library))
        return self._found[uri][1]

    def _known_problems(self, uri: str) -> tuple[Problem, ...]:
        text, found = self._found.get(uri, (None, ()))
        return found if text == self._source(uri).text else self._problems(uri)

    # --- questions

    def complete(self, params: Any) -> Any:
        uri = params.text_document.uri
        lines = self._lines(uri)
        offset = lines.offset(params.position.line, params.position.character)
        found = completions(self._source(uri), offset, self._library)
        items = [
            types.CompletionItem(
                label=item.label,
                kind=_KINDS[item.sort],
                detail=item.detail,
                sort_text=f"{number:04}",  # our order, columns first
                filter_text=item.text,
                text_edit=types.TextEdit(_range(item.span, lines), item.text),
            )
            for number, item in enumerate(found)
        ]
        return types.CompletionList(is_incomplete=False, items=items)

    def hover(self, params: Any) -> Any:
        uri = params.text_document.uri
        lines = self._lines(uri)
        offset = lines.offset(params.position.line, params.position.character)
        found = hover(self._source(uri), offset, self._library, self._known_problems(uri))
        if found is None:
            return None
        return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, found.text), _range(found.span, lines))

    def format(self, params: Any) -> Any:
        uri = params.text_document.uri
        lines, text = self._lines(uri), formatted(self._source(uri))
        return None if text is None else [types.TextEdit(_range(Span(0, len(lines.text)), lines), text)]

    def symbols(self, params: Any) -> Any:
        lines = self._lines(params.text_document.uri)
        return [
            types.DocumentSymbol(
                name=symbol.name,
                kind=types.SymbolKind.Variable if symbol.opening == "LET" else types.SymbolKind.Event,
                range=_range(symbol.span, lines),
                selection_range=_range(symbol.span, lines),
            )
            for symbol in symbols(lines.text)
        ]

    def actions(self, params: Any) -> Any:
        uri = params.text_document.uri
        lines = self._lines(uri)
        start = lines.offset(params.range.start.line, params.range.start.character)
        end = lines.offset(params.range.end.line, params.range.end.character)
        return [
            types.CodeAction(
                title=f"Write `{problem.fix.text.strip()}`",
                kind=types.CodeActionKind.QuickFix,
                diagnostics=[_diagnostic(problem, lines, uri)],
                edit=types.WorkspaceEdit(
                    changes={uri: [types.TextEdit(_range(problem.fix.span, lines), problem.fix.text)]}
                ),
                is_preferred=True,
            )
            for problem in self._known_problems(uri)
            if problem.fix is not None and problem.span.start <= end and start <= problem.span.end
        ]

    # --- documents

    def _source(self, uri: str) -> Source:
        document = self._server.workspace.get_text_document(uri)
        return Source(str(document.path), document.source)

    def _lines(self, uri: str) -> Lines:
        encoding = self._server.server_capabilities.position_encoding
        return Lines(self._source(uri).text, encoding=getattr(encoding, "value", encoding) or "utf-16")


def _plain(method: Any) -> Any:
    """A method as a function, on which `pygls` can set attributes."""
    if inspect.iscoroutinefunction(method):

        async def later(params: Any) -> Any:
            return await method(params)

        return later

    def answer(params: Any) -> Any:
        return method(params)

    return answer


def _diagnostic(problem: Problem, lines: Lines, uri: str) -> Any:
    page = None if problem.code is None else types.CodeDescription(pages.location(problem.code).as_uri())
    return types.Diagnostic(
        range=_range(problem.span, lines),
        message=problem.message,
        severity=_SEVERITIES[problem.severity],
        code=problem.code,
        code_description=page,
        source="cuts",
        related_information=[
            types.DiagnosticRelatedInformation(types.Location(uri, _range(span, lines)), label)
            for span, label in problem.notes
        ],
    )


def _range(span: Span, lines: Lines) -> Any:
    return types.Range(types.Position(*lines.position(span.start)), types.Position(*lines.position(span.end)))
