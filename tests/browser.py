"""A real Chromium, as Debian installs it, for tests of pages; nothing is downloaded."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome")
ARGUMENTS = [
    "--no-sandbox",  # tests may run as root
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]


class Unavailable(Exception):
    """Why there is no browser on this machine."""


def find_chromium() -> str:
    """The path of the browser, or of the one that CUTS_CHROMIUM names; `Unavailable` says why there is none."""
    named = os.environ.get("CUTS_CHROMIUM")
    if named is not None:
        if not Path(named).exists():
            raise Unavailable(f"CUTS_CHROMIUM names {named}, which does not exist")
        return named
    found = next((path for name in NAMES if (path := shutil.which(name))), None)
    if found is None:
        raise Unavailable(f"Chromium is not installed: there is no {', '.join(NAMES)} in PATH")
    return found


_SHARED = ExitStack()


@cache
def shared_browser() -> Any:
    """The browser of this test session, started by whoever needs it first."""
    executable = find_chromium()
    from playwright.sync_api import sync_playwright

    playwright = _SHARED.enter_context(sync_playwright())
    browser = playwright.chromium.launch(executable_path=executable, args=ARGUMENTS)
    _SHARED.callback(browser.close)
    return browser


def stop_shared_browser() -> None:
    """Close the browser of this session, if it was started."""
    _SHARED.close()


def serious_issues(page: Any) -> list[tuple[str, str]]:
    """What axe finds in a page that keeps people from reading it: the rule, and the start of each element."""
    from axe_playwright_python.sync_playwright import Axe

    return [
        (issue["id"], node["html"][:200])
        for issue in Axe().run(page).response["violations"]
        if issue["impact"] in ("serious", "critical")
        for node in issue["nodes"]
    ]


@dataclass
class Visit:
    """A page in a context of its own that is offline, with what it asked for and what it said on the console."""

    page: Any
    requests: list[str] = field(default_factory=list)
    messages: list[str] = field(default_factory=list)


@contextmanager
def visiting(path: Path, **options: Any) -> Iterator[Visit]:
    """The file in a window; the options are those of a browser context of Playwright."""
    context = shared_browser().new_context(offline=True, **options)
    visit = Visit(context.new_page())
    visit.page.on("request", lambda request: visit.requests.append(request.url))
    visit.page.on("console", lambda message: visit.messages.append(message.text))
    visit.page.on("pageerror", lambda error: visit.messages.append(str(error)))
    try:
        visit.page.goto(path.as_uri())
        yield visit
    finally:
        context.close()
