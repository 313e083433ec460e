"""The documentation site: it builds without a warning, needs no network, and everybody can read it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from playwright.sync_api import Browser, Page, Route

from browser import Unavailable, serious_issues, shared_browser

ROOT = Path(__file__).parents[2]
PAGES = ["index", "tutorial", "how-to/choose-epsilon", "reference/language", "reference/grammar", "reference/cli"]
WIDTHS = [1280, 360]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the built site."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, str(ROOT / "tools/site/build.py"), str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr == "", "a warning is an error"
    return folder


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    """Where the site is served, on this machine."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(site)))
    thread = Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(scope="module")
def browser() -> Browser:
    """Debian's chromium, shared with the other tests of pages."""
    try:
        return shared_browser()
    except Unavailable as reason:
        pytest.skip(str(reason))


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Print nothing."""


class Watched:
    """A page of the browser that notes every request elsewhere and every error."""

    def __init__(self, browser: Browser, home: str, *, width: int = 1280, scheme: str = "light") -> None:
        self.home = home
        self.elsewhere: list[str] = []
        self.errors: list[str] = []
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)  # type: ignore[arg-type]
        context.grant_permissions(["clipboard-read", "clipboard-write"])
        self.page: Page = context.new_page()
        self.page.route("**/*", self._note)
        self.page.on("console", lambda line: self.errors.append(line.text) if line.type == "error" else None)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))

    def open(self, name: str) -> Page:
        self.page.goto(f"{self.home}/{name}.html")
        return self.page

    def close(self) -> None:
        self.page.context.close()

    def _note(self, route: Route) -> None:
        if route.request.url.startswith((self.home, "data:")):
            route.continue_()
        else:
            self.elsewhere.append(route.request.url)
            route.abort()


@pytest.mark.parametrize(("name", "scheme"), list(zip(PAGES, ["light", "dark"] * 3, strict=True)))
def test_a_page_has_no_serious_accessibility_issue(browser: Browser, address: str, name: str, scheme: str) -> None:
    watched = Watched(browser, address, scheme=scheme)
    page = watched.open(name)
    assert page.locator("html").get_attribute("data-theme") == scheme
    serious = serious_issues(page)
    watched.close()
    assert serious == []


@pytest.mark.parametrize("width", WIDTHS)
def test_pages_need_no_network_report_no_error_and_fit_the_screen(browser: Browser, address: str, width: int) -> None:
    watched = Watched(browser, address, width=width)
    for name in PAGES:
        page = watched.open(name)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, f"{name} scrolls sideways"
    watched.close()
    assert watched.elsewhere == []
    assert watched.errors == []


def test_the_site_opens_from_disk_and_can_be_searched_there(browser: Browser, site: Path) -> None:
    watched = Watched(browser, site.as_uri())
    page = watched.open("search")
    page.goto(f"{site.as_uri()}/search.html?q=epsilon")
    results = page.locator("#search-results li")
    results.first.wait_for()
    assert "Choose epsilon and delta" in " ".join(results.all_inner_texts())
    watched.close()
    assert watched.elsewhere == []
    assert watched.errors == []


def test_the_copy_button_copies_commands_without_prompt_and_output(browser: Browser, address: str) -> None:
    watched = Watched(browser, address)
    page = watched.open("tutorial")
    session = page.locator(".highlight-console", has_text="cuts datasets credit").first
    session.hover()
    session.locator("button.copybtn").click()
    copied = page.evaluate("navigator.clipboard.readText()")
    watched.close()
    assert copied == "cuts datasets credit -o credit.csv\ncuts datasets credit --split test -o heldout.csv"


def test_programs_are_coloured_and_keep_the_name_of_their_file(site: Path) -> None:
    page = (site / "index.html").read_text(encoding="utf-8")
    assert '<span class="kd">ENFORCE</span>' in page
    assert '<span class="nb">E</span>' in page
    assert "loans.cuts" in page
    assert "file=" not in page


def test_every_error_code_is_in_the_navigation(site: Path) -> None:
    navigation = (site / "reference/errors/index.html").read_text(encoding="utf-8")
    sidebar = navigation[navigation.index("bd-sidebar-primary") : navigation.index("<article")]
    codes = sorted(page.stem for page in (ROOT / "docs/reference/errors").glob("*.md") if page.stem != "index")
    assert [code for code in codes if f'href="{code}.html"' not in sidebar] == []


def test_pages_outside_docs_are_part_of_the_site(site: Path) -> None:
    page = (site / "benchmarks.html").read_text(encoding="utf-8")
    assert 'href="project/benchmarks.html"' in page
    assert (site / "project/changelog.html").exists()
