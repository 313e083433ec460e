"""The page in a real browser: offline, with and without a script, on a phone, in the dark, on paper."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

import report_examples as examples
from browser import Unavailable, Visit, find_chromium, serious_issues, visiting
from cuts.report.facts import Report
from cuts.report.page import ReportPage, render_html

Open = Callable[..., Visit]


@pytest.fixture
def open_report(tmp_path: Path) -> Iterator[Open]:
    """Opens reports from files; the options are those of a browser context."""
    pytest.importorskip("playwright")
    try:
        find_chromium()
    except Unavailable as reason:
        pytest.skip(str(reason))
    with ExitStack() as visits:

        def opened(report: Report, **options: Any) -> Visit:
            path = tmp_path / "report.html"
            path.write_text(render_html(report), encoding="utf-8")
            return visits.enter_context(visiting(path, **{"viewport": {"width": 1280, "height": 900}, **options}))

        yield opened


@pytest.mark.parametrize("report", [examples.full, examples.private, examples.minimal, examples.wide, examples.hostile])
def test_it_opens_offline_without_requests_or_complaints(open_report: Open, report: Callable[[], Report]) -> None:
    visit = open_report(report())
    assert visit.requests == [visit.page.url]
    assert visit.messages == []
    assert visit.page.locator("h1").is_visible()


def test_hostile_text_neither_runs_nor_hides_the_page(open_report: Open) -> None:
    visit = open_report(examples.hostile())
    dialogs: list[Any] = []
    visit.page.on("dialog", lambda dialog: dialogs.append(dialog))
    assert visit.page.locator("main script, main style, main img").count() == 0
    assert visit.page.locator("#sign").is_visible()
    assert "<script>alert(1)</script>" in visit.page.locator("h1").inner_text()
    visit.page.locator("#distribution-1 [data-t]").first.hover()
    assert "<script>alert(1)</script>" in visit.page.locator("#tip").inner_text()
    assert dialogs == []


def test_a_script_that_is_not_ours_is_refused(open_report: Open) -> None:
    visit = open_report(examples.full())
    visit.page.evaluate(
        """() => {
            const script = document.createElement('script');
            script.textContent = 'window.ran = 1';
            document.body.append(script);
        }"""
    )
    assert visit.page.evaluate("() => window.ran") is None
    assert any("Content Security Policy" in message for message in visit.messages)


def test_a_tooltip_follows_the_pointer(open_report: Open) -> None:
    page = open_report(examples.full()).page
    assert not page.locator("#tip").is_visible()
    mark = page.locator("#distribution-1 [data-t]").nth(3)
    mark.hover()
    assert page.locator("#tip").inner_text() == mark.get_attribute("data-t")
    tip, place = page.locator("#tip").bounding_box(), mark.bounding_box()
    assert tip["y"] + tip["height"] <= place["y"] + 1 or tip["y"] >= place["y"] + place["height"] - 1
    page.mouse.move(2, 2)
    assert not page.locator("#tip").is_visible()


def test_a_tooltip_follows_the_keyboard(open_report: Open) -> None:
    page = open_report(examples.full()).page
    page.locator("#filter").focus()
    page.keyboard.press("Tab")
    assert page.evaluate("() => document.activeElement.id") == "distribution-1"
    page.locator("#tip").wait_for(state="visible")
    marks = page.locator("#distribution-1 [data-t]")
    assert page.locator("#tip").inner_text() == marks.nth(0).get_attribute("data-t")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert page.locator("#tip").inner_text() == marks.nth(2).get_attribute("data-t")
    page.keyboard.press("Escape")
    assert not page.locator("#tip").is_visible()


def test_arrow_keys_go_up_and_down_in_a_heat_map(open_report: Open) -> None:
    page = open_report(examples.full()).page
    page.locator("#dependence-real").focus()
    page.keyboard.press("ArrowRight")
    page.locator("#tip").wait_for(state="visible")
    before = page.locator("#tip").inner_text()
    page.keyboard.press("ArrowDown")
    after = page.locator("#tip").inner_text()
    assert before.split(" and ")[0] == "age"
    assert after.split(" and ")[0] == "workclass"


def test_the_filter_keeps_columns_by_name(open_report: Open) -> None:
    page = open_report(examples.full()).page
    page.locator("#filter").fill("CAPITAL")
    shown = page.locator("#multiples > figure:visible")
    assert sorted(shown.evaluate_all("all => all.map(one => one.dataset.name)")) == ["capital_gain", "capital_loss"]
    assert page.locator("#filter-count").inner_text() == "2 of 15 columns"
    page.locator("#filter").fill("")
    assert page.locator("#multiples > figure:visible").count() == 15


def test_details_open_with_the_keyboard(open_report: Open) -> None:
    page = open_report(examples.failing()).page
    summary = page.locator("#command-1 summary")
    assert not page.get_by_text("row 17: marital_status=Divorced").is_visible()
    summary.focus()
    page.keyboard.press("Enter")
    assert page.get_by_text("row 17: marital_status=Divorced").is_visible()


def colour(page: Any, place: str, name: str) -> str:
    found: str = page.locator(place).first.evaluate(f"one => getComputedStyle(one).{name}")
    return found


def test_it_follows_the_theme_of_the_system_and_the_button(open_report: Open) -> None:
    light = open_report(examples.full(), color_scheme="light").page
    assert colour(light, "body", "backgroundColor") == "rgb(251, 250, 247)"
    assert colour(light, "#distribution-1 .real", "fill") == "rgb(47, 111, 171)"
    dark = open_report(examples.full(), color_scheme="dark").page
    assert colour(dark, "body", "backgroundColor") == "rgb(20, 24, 28)"
    assert colour(dark, "#distribution-1 .real", "fill") == "rgb(116, 174, 224)"
    dark.get_by_role("button", name="Light theme").click()
    assert colour(dark, "body", "backgroundColor") == "rgb(251, 250, 247)"
    dark.get_by_role("button", name="Dark theme").click()
    assert colour(dark, "body", "backgroundColor") == "rgb(20, 24, 28)"
    dark.reload()
    assert dark.evaluate("() => document.documentElement.dataset.theme") is None


@pytest.mark.parametrize(
    "report", [examples.failing, examples.private, examples.minimal, examples.wide, examples.hostile]
)
def test_it_is_never_wider_than_the_window(open_report: Open, report: Callable[[], Report]) -> None:
    page = open_report(report()).page
    page.evaluate("() => document.querySelectorAll('details').forEach(one => { one.open = true; })")
    for width in (360, 720, 1100):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate("() => document.documentElement.scrollWidth") == width


def test_on_a_phone_the_contents_are_a_menu(open_report: Open) -> None:
    page = open_report(examples.full(), viewport={"width": 360, "height": 800}).page
    assert not page.locator(".side nav").is_visible()
    page.get_by_text("Contents").click()
    page.locator(".contents a[href='#memory']").click()
    assert page.evaluate("() => document.getElementById('memory').getBoundingClientRect().top") < 100
    assert page.evaluate("() => document.querySelector('.contents').open") is False


def test_on_paper_it_is_light_open_and_without_sidebar(open_report: Open) -> None:
    page = open_report(examples.failing(), color_scheme="dark").page
    page.emulate_media(media="print", color_scheme="dark")
    assert not page.locator(".side").is_visible()
    assert not page.locator(".filter").is_visible()
    assert colour(page, "body", "backgroundColor") == "rgb(255, 255, 255)"
    assert page.get_by_text("row 17: marital_status=Divorced").is_visible()
    assert page.pdf(format="A4").startswith(b"%PDF")


def test_it_reads_without_a_script(open_report: Open) -> None:
    page = open_report(examples.full(), java_script_enabled=False).page
    assert page.locator("#sign").is_visible()
    assert not page.locator(".filter").is_visible()
    assert not page.get_by_role("button").is_visible()
    page.locator("#command-1 summary").click()
    assert page.get_by_text("rows are sampled so that they cannot break the rule").first.is_visible()


@pytest.mark.parametrize(
    ("report", "width", "scheme"),
    [(examples.failing, 1280, "light"), (examples.failing, 360, "dark"), (examples.private, 1280, "dark")],
)
def test_axe_finds_nothing_serious(open_report: Open, report: Callable[[], Report], width: int, scheme: str) -> None:
    page = open_report(report(), color_scheme=scheme, viewport={"width": width, "height": 900}).page
    page.evaluate("() => document.querySelectorAll('details').forEach(one => { one.open = true; })")
    assert serious_issues(page) == []


def test_links_work_in_the_frame_of_a_notebook(open_report: Open, tmp_path: Path) -> None:
    outer = tmp_path / "notebook.html"
    outer.write_text(f"<!doctype html><title>n</title>{ReportPage(examples.full())._repr_html_()}", encoding="utf-8")
    page = open_report(examples.minimal()).page
    page.goto(outer.as_uri())
    frame = page.frame_locator("iframe")
    frame.locator("#command-1 a[href='#line-5']").click()
    place = frame.locator("#line-5")
    place.wait_for(state="visible")
    assert place.evaluate("one => one.getBoundingClientRect().top") < 820
    assert frame.locator("h1").inner_text() == "adult"
