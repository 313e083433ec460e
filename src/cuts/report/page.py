"""The page of a report: one HTML file that needs no network, no fonts and no script to be read.

All text of the table and the program is untrusted: templates escape it, and a policy in the page forbids every style
and script but our own two, by their hashes.
"""

from __future__ import annotations

import re
from base64 import b64encode
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.resources import files
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from cuts.assess.drift import means_in_words
from cuts.lang.printer import short
from cuts.report import views, words
from cuts.report.charts import curves, distributions, dots, heatmaps, scales
from cuts.report.charts.svg import clip, visible
from cuts.report.data import as_json
from cuts.report.facts import Report
from cuts.text.diagnostic import counted
from cuts.text.files import write_text

NOTEBOOK_HEIGHT = 820  # pixels
MAX_SHOWN = 600  # characters of a text
_CODE = re.compile(r"`([^`]+)`")


@dataclass(frozen=True, slots=True, repr=False)
class ReportPage:
    """A report as a page; notebooks show it in a frame."""

    facts: Report

    def __repr__(self) -> str:
        """The page in one line; a notebook shows it, `save` writes it."""
        facts = self.facts
        return f"<ReportPage: {facts.table}, {facts.rows:,} rows, {counted(len(facts.commands), 'command')}>"

    @property
    def html(self) -> str:
        """The whole page."""
        return render_html(self.facts)

    def save(self, path: str | Path) -> tuple[Path, Path]:
        """Write the page and, beside it, the same facts as JSON; returns both paths."""
        page = Path(path)
        twin = page.with_suffix(".json")
        write_text(page, self.html)
        write_text(twin, as_json(self.facts))
        return page, twin

    def _repr_html_(self) -> str:
        # Without `allow-same-origin` the frame cannot reach the notebook it is shown in.
        return (
            f'<iframe srcdoc="{escape(self.html)}" sandbox="allow-scripts allow-modals" width="100%" '
            f'height="{NOTEBOOK_HEIGHT}" title="Report of {escape(visible(clip(self.facts.table, 80)))}"></iframe>'
        )


def render_html(report: Report) -> str:
    """The page of a report, complete in itself."""
    style, script = (Markup(_part(name)) for name in ("style.css", "script.js"))
    return _environment().get_template("page.html.j2").render(
        report=report,
        sections=views.sections(report),
        style=style,
        script=script,
        policy=f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; "
        "img-src 'none'; base-uri 'none'; form-action 'none'",
    )  # fmt: skip


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("cuts.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: visible(value) if type(value) is str else value,
    )
    environment.filters.update(
        clip=clip,
        code=code,
        counted=counted,
        decimal=words.decimal,
        long=long,
        moment=words.moment,
        percent=words.percent,
        short=short,
    )
    environment.globals.update(
        curves=curves,
        distributions=distributions,
        dots=dots,
        heatmaps=heatmaps,
        means_in_words=means_in_words,
        scales=scales,
        views=views,
        words=words,
    )
    return environment


def long(text: str, length: int = MAX_SHOWN) -> str:
    """The text, or its beginning and how much more there is.

    >>> long("abcdef", 4)
    'abcd… (2 more characters)'
    """
    rest = len(text) - length
    return text if rest <= length // 4 else f"{text[:length]}… ({counted(rest, 'more character')})"


def code(text: str) -> Markup:
    """The text, in which what stands between backticks is shown as code.

    >>> code("rates of `<a>` adjusted")
    Markup('rates of <code>&lt;a&gt;</code> adjusted')
    """
    return Markup(_CODE.sub(r"<code>\1</code>", str(escape(visible(text)))))


@cache
def _part(name: str) -> str:
    return (files("cuts.report") / "templates" / name).read_text(encoding="utf-8").replace("\r\n", "\n")


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"
