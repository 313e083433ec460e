"""The page of a report: complete, escaped, small, and without anything from elsewhere."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from dataclasses import replace
from hashlib import sha256
from html import unescape
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import pytest

import report_examples as examples
from cuts.report.facts import Report
from cuts.report.page import ReportPage, render_html
from cuts.report.words import detectability, kept, outcome, tiles
from cuts.text.diagnostic import CutsError

EVERY = {
    "full": examples.full,
    "failing": examples.failing,
    "private": examples.private,
    "minimal": examples.minimal,
    "wide": examples.wide,
    "hostile": examples.hostile,
}
VOID = {"meta", "input", "br", "img", "link"}


class Structure(HTMLParser):
    """The elements of a page, in order, with their attributes; unbalanced tags are errors."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.text: list[str] = []
        self.feed(html)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len(dict(attrs)) == len(attrs), f"an attribute of <{tag}> is there twice"
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] not in ("style", "script"):
            self.text.append(data)

    @property
    def words(self) -> str:
        return " ".join(" ".join(self.text).split())

    def values(self, name: str) -> list[str]:
        return [value for _, attributes in self.elements if (value := attributes.get(name)) is not None]


@pytest.fixture(scope="module", params=EVERY)
def page(request: pytest.FixtureRequest) -> tuple[Report, str, Structure]:
    """Every example: the report, its page, and the elements of the page."""
    report = EVERY[request.param]()
    html = render_html(report)
    return report, html, Structure(html)


def test_ids_are_unique_and_every_reference_leads_to_one(page: tuple[Report, str, Structure]) -> None:
    _, _, found = page
    ids = found.values("id")
    assert len(ids) == len(set(ids))
    references = [one for name in ("aria-labelledby", "aria-describedby", "for") for one in found.values(name)]
    links = [link.removeprefix("#") for link in found.values("href")]
    assert {part for reference in references for part in reference.split()} | set(links) <= set(ids)


def test_headings_go_down_one_level_at_a_time(page: tuple[Report, str, Structure]) -> None:
    levels = [int(tag[1]) for tag, _ in page[2].elements if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))


def test_every_chart_has_a_name_and_a_description(page: tuple[Report, str, Structure]) -> None:
    charts = [attributes for tag, attributes in page[2].elements if tag == "svg" and attributes.get("role") == "img"]
    assert all(chart["aria-label"] and chart["aria-describedby"] for chart in charts)
    others = [attributes for tag, attributes in page[2].elements if tag == "svg" and "role" not in attributes]
    assert all(icon.get("aria-hidden") == "true" for icon in others)


def test_nothing_is_loaded_and_nothing_leaves_the_page(page: tuple[Report, str, Structure]) -> None:
    _, html, found = page
    assert {tag for tag, _ in found.elements} & {
        "img",
        "link",
        "iframe",
        "object",
        "embed",
        "form",
        "base",
        "use",
    } == set()
    assert all(link.startswith("#") for link in found.values("href"))
    assert not found.values("src")
    assert not [name for _, attributes in found.elements for name in attributes if name.startswith("on")]
    assert not found.values("style"), "the policy forbids styles in attributes"
    assert not re.search(r"https?:|//[a-z]|@import|url\(", re.sub(r"javascript:alert\(1\)//", "", html))


def test_the_policy_allows_our_style_and_script_and_nothing_else(page: tuple[Report, str, Structure]) -> None:
    html = page[1]
    (policy,) = re.findall(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">', html)
    parts = [re.findall(f"<{tag}>(.*?)</{tag}>", html, re.DOTALL)[0] for tag in ("style", "script")]
    hashes = [f"'sha256-{b64encode(sha256(part.encode()).digest()).decode()}'" for part in parts]
    assert unescape(policy) == (
        f"default-src 'none'; style-src {hashes[0]}; script-src {hashes[1]}; "
        "img-src 'none'; base-uri 'none'; form-action 'none'"
    )
    assert html.count("<style") == html.count("<script") == 1


def test_the_page_is_small(page: tuple[Report, str, Structure]) -> None:
    report, html, _ = page
    assert len(html.encode()) < (3_000_000 if report.table == "sensors" else 500_000)


def test_the_stamp_is_at_the_top_and_at_the_bottom(page: tuple[Report, str, Structure]) -> None:
    report, _, found = page
    stamp = " ".join((report.stamp[:1].upper() + report.stamp[1:]).split())
    assert found.words.count(stamp) >= 2
    assert found.words.index(stamp) < found.words.index("Verdicts One row" if report.commands else "The program states")
    assert found.words.rindex(stamp) > found.words.index("Signature I have read")


def test_a_table_of_200_columns_stays_below_the_limit() -> None:
    html = render_html(examples.wide(200))
    assert len(html.encode()) < 3_000_000
    assert "The 40 of 200 columns with the largest differences." in html


def test_the_full_page_has_all_sections_in_order() -> None:
    titles = re.findall(r'<h2 id="[\w-]+"><span class="number">(\d)</span> (.*?)</h2>', render_html(examples.full()))
    assert titles == [
        ("1", "Verdicts"),
        ("2", "Is it like the real table?"),
        ("3", "Classifiers"),
        ("4", "Memory"),
        ("5", "What each column became"),
        ("6", "Run facts"),
    ]


def test_a_private_page_has_the_guarantee_and_why_parts_are_missing() -> None:
    found = Structure(render_html(examples.private())).words
    assert "0.9981 spent of 1" in found
    assert "24 sigma 301 0.0068 65.2 %" in found
    assert "native_country 41 share ± 0.18 % 31.0 % poorly known: do not rely on it" in found
    assert "Not in this report Likeness: comparing with the real rows" in found
    assert "Is it like the real table?" not in found
    assert "about 30,214 real rows" in found


def test_a_page_without_commands_says_so_and_a_failed_fit_is_named() -> None:
    found = Structure(render_html(examples.minimal())).words
    assert "The program has no commands" in found
    assert "The fit failed: do not use this table." in found
    assert "Classifiers" not in found


def test_a_verdict_has_its_numbers_and_the_rows_that_break_it() -> None:
    found = Structure(render_html(examples.failing())).words
    assert "2 of 5 commands hold, 1 fails, 1 is measured, 1 applies to no row." in found
    assert "row 2,041: marital_status=Never_married, relationship=Wife" in found
    assert "99.98 % 99.21 % 99.91 % every row" in found
    assert "== 0 within 0.1" in found


def test_program_lines_and_verdicts_link_to_each_other() -> None:
    html = render_html(examples.full())
    assert re.search(r'id="command-4" class="command">.*?href="#line-10">line 10</a>', html, re.DOTALL)
    assert re.search(r'<li id="line-10" class="starts"><a href="#command-4"[^>]*>10</a><code> +ENFORCE: STAT', html)
    assert html.count('<li id="line-') == len(examples.PROGRAM.splitlines())


def test_commands_with_several_numbers_have_a_row_for_each() -> None:
    full = examples.full()
    number = full.commands[3].numbers[0]
    several = (number, replace(number, name="second number", holds=False))
    report = replace(full, commands=(replace(full.commands[3], outcome="fails", numbers=several),), holds=False)
    found = Structure(render_html(report)).words
    assert "second number fails 2.302 2.287 0.012 == 0 within 0.1" in found


def test_hostile_text_is_text() -> None:
    found = Structure(render_html(examples.hostile()))
    for nasty in examples.NASTY[:5]:
        assert " ".join(nasty.split()) in found.words
    assert "49" not in re.findall(r"\{\{ (\S+)", found.words)
    assert "{{ 7 * 7 }}" in found.words
    assert "\x00" not in found.words
    assert "more characters)" in found.words


def test_means_of_columns_of_moments_are_shown_as_moments() -> None:
    full = examples.full()
    assert full.likeness is not None
    columns = tuple(replace(c, kind="date") if c.name == "age" else c for c in full.columns)
    drifts = tuple(
        replace(d, real=8155.2, synthetic=8157.0) if (d.column, d.what) == ("age", "mean") else d
        for d in full.likeness.drifts
    )
    report = replace(full, columns=columns, likeness=replace(full.likeness, drifts=drifts))
    found = Structure(render_html(report)).words
    assert "age mean 1992-04-30 1992-05-02 0.07 small" in found


def test_the_page_and_its_twin_are_written_together(tmp_path: Path) -> None:
    report = examples.full()
    html, twin = ReportPage(report).save(tmp_path / "report.html")
    assert (html.name, twin.name) == ("report.html", "report.json")
    assert html.read_text(encoding="utf-8") == render_html(report)
    assert json.loads(twin.read_text(encoding="utf-8"))["table"] == "adult"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["report.html", "report.json"]


def test_a_page_in_a_missing_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CutsError, match="cannot be written"):
        ReportPage(examples.minimal()).save(tmp_path / "missing" / "report.html")


def test_a_notebook_gets_a_frame_that_cannot_reach_it() -> None:
    page = ReportPage(examples.hostile())
    ((tag, attributes),) = Structure(page._repr_html_()).elements
    assert tag == "iframe"
    assert attributes["srcdoc"] == page.html
    assert attributes["sandbox"] == "allow-scripts allow-modals"


def test_tiles_have_a_yardstick_each() -> None:
    shown = {tile.name: (tile.value, tile.yardstick) for tile in tiles(examples.full())}
    assert shown["Commands that hold"] == ("4 of 4", "every command with a target is met; 1 without a verdict")
    assert shown["Discriminator AUC"][1].endswith("real against real rows 0.50")
    assert shown["Accuracy kept"][0] == "98.0\u00a0%"
    assert shown["Epsilon"][0] == "none"
    assert all(yardstick for _, yardstick in shown.values())


def test_outcomes_are_counted_in_words() -> None:
    commands = examples.full().commands
    assert outcome(commands) == "4 of 5 commands hold, 1 is measured."
    assert outcome(commands[:4]) == "All 4 commands hold."
    assert outcome(commands[:2]) == "Both commands hold."
    assert outcome(commands[:1]) == "1 of 1 command holds."
    assert outcome(commands[4:]) == "0 of 1 command hold, 1 is measured."


def test_an_auc_is_put_into_words() -> None:
    likeness = examples.full().likeness
    assert likeness is not None
    found = likeness.discriminator
    assert found is not None
    assert "cannot separate" in detectability(replace(found, auc=0.51))
    assert "hardly better" in detectability(found)
    assert "some synthetic rows" in detectability(replace(found, auc=0.7))
    assert "many synthetic rows" in detectability(replace(found, auc=0.9, train_auc=None))


def test_what_is_kept_needs_both_tables() -> None:
    scores = examples.classifiers().scores
    best = kept(scores)
    assert best is not None
    assert (best.learner, round(best.share, 3)) == ("xgboost", 0.980)
    assert kept(scores[:3]) is None
