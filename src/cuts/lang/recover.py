"""Why a text is not a program: every syntax error at once, in words.

The parser stops at the first error, so each statement is parsed alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from lark import UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from cuts.lang.keywords import KEYWORDS, RESERVED
from cuts.lang.pieces import Piece
from cuts.lang.syntax import ACTIONS, KIND_ALIASES
from cuts.text.diagnostic import CutsError, Diagnostic, nearest
from cuts.text.source import Source, Span


def _quoted(*terminals: str) -> dict[str, str]:
    return {terminal: ", ".join(f"`{word}`" for word in KEYWORDS[terminal]) for terminal in terminals}


# What a reader calls a terminal; the order is the order in which expectations are listed.
_WORDS = {
    "NAME": "a name",
    "NUMBER": "a number",
    "STRING": "quoted text",
    **_quoted("ACTION", "_LET"),
    "SOURCE": "the name of a data set",
    "COMPARE": "a comparison",
    **_quoted("_AND", "_OR", "_IMPLIES", "_IN", "WITHIN", "_WITH"),
    "EQUAL": "`=`",
    "__ANON_0": "`:=`",
    "COLON": "`:`",
    "COMMA": "`,`",
    "LPAR": "`(`",
    "RPAR": "`)`",
    "LSQB": "`[`",
    "RSQB": "`]`",
    "LBRACE": "`{`",
    "RBRACE": "`}`",
    "VBAR": "`|`",
    "$END": "`;`",
}
ParsePart = Callable[[str, str, int], None]


def explain(source: Source, parts: tuple[Piece, ...], parse_part: ParsePart) -> list[Diagnostic]:
    """Every syntax error of `source`, in order of position."""
    if not parts:
        return [empty_program()]
    diagnostics: list[Diagnostic] = []
    if parts[0].opening != "SYNTHESIZE":
        diagnostics.append(no_head(parts[0], source))
    ends = [index for index, part in enumerate(parts) if part.opening == "END"]
    if not ends:
        diagnostics.append(missing_end(parts[-1], source))
    for index, part in enumerate(parts):
        if ends and index > ends[0]:
            diagnostics.append(after_end(part))
            break
        if not part.span.start < part.span.end:
            diagnostics.append(empty_statement(part))
            continue
        if part.opening == "SYNTHESIZE" and index > 0:
            diagnostics.append(second_head(part))
        elif part.opening != "END" and not (index == 0 and part.opening != "SYNTHESIZE" and diagnostics):
            diagnostics += _errors_in(part, source, parse_part)
        if not part.stopped and not (not ends and part is parts[-1]):
            diagnostics.append(missing_semicolon(part))
    return sorted(diagnostics, key=lambda d: d.span.start if d.span is not None else 0)


def _errors_in(part: Piece, source: Source, parse_part: ParsePart) -> list[Diagnostic]:
    text = source.slice(part.span)
    try:
        parse_part("head" if part.opening == "SYNTHESIZE" else "statement", text, part.span.start)
    except CutsError as refused:
        return list(refused.diagnostics)
    except UnexpectedInput as error:
        return [_wrong_kind(text, part.span.start) or unexpected(error, text, part.span.start)]
    return []


def empty_program() -> Diagnostic:
    """A file without a statement."""
    return Diagnostic(
        "empty-program",
        "the program is empty",
        Span(0, 0),
        "",
        "write `SYNTHESIZE: DATA; END;`, where DATA is an embedded table or a file",
    )


def no_head(part: Piece, source: Source) -> Diagnostic:
    """The first statement is not `SYNTHESIZE`."""
    word = re.match(r"\w*", source.slice(part.span))
    written = word.group() if word else ""
    if written.upper() == "SYNTHESIZE":
        after = Span(part.span.start + len(written), part.span.start + len(written))
        return Diagnostic("syntax-error", "`:` is missing after `SYNTHESIZE`", after, "", "write `SYNTHESIZE: DATA;`")
    if written and nearest(written, ["SYNTHESIZE"]):
        return misspelt(written, "SYNTHESIZE", Span(part.span.start, part.span.start + len(written)))
    return Diagnostic(
        "syntax-error",
        "a program must begin with the name of its data",
        Span(part.span.start, max(part.span.start, min(part.span.end, part.span.start + len(written)))),
        "`SYNTHESIZE` expected",
        "begin with `SYNTHESIZE: DATA;`, where DATA is an embedded table or a file",
    )


def second_head(part: Piece) -> Diagnostic:
    """`SYNTHESIZE` again."""
    return Diagnostic("syntax-error", "a program has one `SYNTHESIZE`", part.span, "a second one", "remove it")


def missing_end(last: Piece, source: Source) -> Diagnostic:
    """No `END;`."""
    at = source.text.find(";", last.span.end) + 1 if last.stopped else last.span.end
    close = "close the program with `END;`" if last.stopped else "close the program with `; END;`"
    return Diagnostic("missing-end", "`END;` is missing", Span(at, at), "", close)


def after_end(part: Piece) -> Diagnostic:
    """Something follows `END;`."""
    again = part.opening == "END" or part.span.start == part.span.end
    help = "remove it" if again else "move it before `END;`"
    return Diagnostic("syntax-error", "nothing may follow `END;`", part.span, "after the end", help)


def empty_statement(part: Piece) -> Diagnostic:
    """A `;` with nothing before it."""
    return Diagnostic("syntax-error", "there is no statement before this `;`", part.span, "", "remove it")


def missing_semicolon(part: Piece) -> Diagnostic:
    """A statement that does not end in `;`."""
    return Diagnostic(
        "missing-semicolon",
        "`;` is missing after this statement",
        Span(part.span.end, part.span.end),
        "expected here",
        "write `;`",
    )


def misspelt(written: str, meant: str, span: Span) -> Diagnostic:
    """A word that is nearly a keyword."""
    return Diagnostic("misspelt-keyword", f"`{written}` is not a keyword", span, "", f"did you mean `{meant}`?")


def unexpected(error: UnexpectedInput, text: str, offset: int) -> Diagnostic:
    """What the parser did not expect, in words; the help names what could stand there.

    Spellings of other languages get the one of this language.
    """
    conditional = _IF_THEN.search(text)
    if conditional is not None:
        return if_then(conditional, offset)
    expected: set[str] = set()
    if isinstance(error, UnexpectedToken):
        expected = set(error.accepts or error.expected)
    elif isinstance(error, UnexpectedCharacters):
        expected = set(error.allowed or ())
    at_end = isinstance(error, UnexpectedToken) and error.token.type == "$END"
    written = ""
    if at_end:
        start = end = len(text.rstrip())
    else:
        start = error.pos_in_stream or 0
        word = re.match(r"\w+|[<>=!:]=|.", text[start:], re.DOTALL)
        written = word.group() if word else ""
        end = start + len(written)
        foreign = _foreign(text, start, written, expected)
        if foreign is not None:
            at, help = foreign
            shown = Span(max(0, at[0] + offset), max(0, at[1] + offset))
            return Diagnostic("syntax-error", f"unexpected `{text[at[0] : at[1]]}`", shown, "", help)
    span = Span(max(0, start + offset), max(0, end + offset))
    meant = _keyword_like(written, expected)
    if meant is not None:
        return misspelt(written, meant, span)
    title = "the statement is incomplete" if at_end else f"unexpected `{written}`"
    if written in ("'", '"', "`"):
        return Diagnostic("syntax-error", "this quote is not closed on its line", span, "", f"close it with {written}")
    if written in ("(", "[") and "LBRACE" in expected:
        values = re.match(r"[(\[]([^()\[\]{}]+)[)\]]", text[start:])
        inside = "..." if values is None else values[1].strip()
        return Diagnostic("syntax-error", title, span, "", f"write a set in braces: `IN {{{inside}}}`")
    spaced = _SPACED_NAME.search(text[:start])
    if spaced is not None and written[:1].isalpha() and not {spaced[1].upper(), written.upper()} & RESERVED:
        help = f"a name with spaces needs backticks: `{spaced[1]} {written}`"
        return Diagnostic("syntax-error", title, span, "", help)
    return Diagnostic("syntax-error", title, span, "", _expectations(expected))


# Spellings of other languages, and how this language writes them.
_SIGNS = {
    **dict.fromkeys(("&&", "&", "∧"), "`AND`"),
    **dict.fromkeys(("||", "|", "∨"), "`OR`"),
    **dict.fromkeys(("!", "¬"), "`NOT`"),
    **dict.fromkeys(("<>", "≠", "=!"), "`!=`"),
    **dict.fromkeys(("->", "-->", "→", "⇒", "==>"), "`IMPLIES`"),
    **dict.fromkeys(("≤", "=<"), "`<=`"),
    "≥": "`>=`",
    "===": "`==`",
    "!==": "`!=`",
    "=>": "`>=`, or `IMPLIES` between conditions",
}
_SIGN = re.compile(r"[&|∧∨!¬<>≠=→⇒≤≥-]+")
_IF_THEN = re.compile(
    r":\s*(?P<whole>(?:IF|WHEN)\b\s*(?P<left>.+?)\s*\bTHEN\b\s*(?P<right>.+?))\s*(?:\bELSE\b|$)", re.I | re.S
)
_SPACED_NAME = re.compile(r"\b([^\W\d]\w*)[ \t]+$")  # just before the text that was not expected
_BEFORE_SET = re.compile(r"(?P<sign>==?|!=|<>|\bNOT)\s*\{[^{}]*$", re.IGNORECASE)


def if_then(conditional: re.Match[str], offset: int) -> Diagnostic:
    """`IF a THEN b`; the help has the conditions as they were written."""
    start, end = conditional.span("whole")
    return Diagnostic(
        "syntax-error",
        "a rule with a condition is written with `IMPLIES`",
        Span(max(0, start + offset), max(0, end + offset)),
        "",
        f"write `{' '.join(conditional['left'].split())} IMPLIES {' '.join(conditional['right'].split())}`",
    )


def _foreign(text: str, start: int, written: str, expected: set[str]) -> tuple[tuple[int, int], str] | None:
    """Where another language's spelling stands around a position, and what to write; None if there is none."""
    for sign in _SIGN.finditer(text):
        if sign.start() <= start < sign.end() and sign.group() in _SIGNS:
            return sign.span(), f"write {_SIGNS[sign.group()]}"
    here = (start, start + len(written))
    if written.upper() == "THEN":
        return here, "write `IMPLIES`"
    if written.upper() == "NOT" and "NUMBER" in expected:
        return here, "write `!=`, or `NOT` in front of the whole comparison"
    if written.upper() == "NOT" and "LBRACE" in expected:
        return here, "write `NOT IN {...}`"
    if "_NULL" in expected and "LBRACE" not in expected:
        return here, "write `==` or `!=`; `IS` is for `IS NULL` and `IS NOT NULL`"
    before = _BEFORE_SET.search(text[: start + len(written)].rstrip("},"))
    if before is not None and expected & {"COLON", "_IN"}:
        word = "IN" if before["sign"] in ("=", "==") else "NOT IN"
        return (before.start(), before.start("sign") + len(before["sign"])), f"write `{word} {{...}}`"
    return None


def _keyword_like(written: str, expected: set[str]) -> str | None:
    keywords = [word for terminal, words in KEYWORDS.items() if terminal in expected for word in words]
    if "ACTION" in expected:  # where a statement may begin, the program may end
        keywords.append("END")
    return nearest(written, keywords) if re.fullmatch(r"\w+", written) else None


def _expectations(expected: set[str]) -> str | None:
    if "NAME" in expected and "NUMBER" in expected:  # the beginning of an operand: the rest says nothing more
        expected = expected & {"NAME", "NUMBER", "STRING"}
    words = [word for terminal, word in _WORDS.items() if terminal in expected]
    return (
        f"expected {', '.join(words[:-1])} or {words[-1]}"
        if len(words) > 1
        else (f"expected {words[0]}" if words else None)
    )


_KIND = re.compile(rf"\s*(?:{'|'.join(ACTIONS)})\s*:\s*(?P<kind>[A-Za-z][A-Za-z \t]*?)\s*:", re.IGNORECASE)


def _wrong_kind(text: str, offset: int) -> Diagnostic | None:
    match = _KIND.match(text)
    if match is None or " ".join(match["kind"].upper().split()) in KIND_ALIASES:
        return None
    if match["kind"].upper().startswith("PARAM"):
        at = offset + match.start("kind") + len("PARAM")
        return Diagnostic("syntax-error", "expected a number after `PARAM`", Span(at, at), "", "e.g. `PARAM 0.01:`")
    span = Span(offset + match.start("kind"), offset + match.end("kind"))
    meant = nearest(match["kind"], KIND_ALIASES)
    if meant is not None:
        return misspelt(match["kind"], meant, span)
    return Diagnostic(
        "syntax-error",
        f"`{match['kind']}` is not a kind of command",
        span,
        "",
        f"the kinds are {', '.join(f'`{kind}`' for kind in KIND_ALIASES)}",
    )
