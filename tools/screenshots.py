"""Pictures of a report for the documentation: `python tools/screenshots.py REPORT.html [FOLDER]`.

Needs Chromium (or the browser that CUTS_CHROMIUM names) and the test dependencies. Writes report-light.png,
report-dark.png, report-phone.png and report-print.png, with few colours so that they stay small.
"""

from __future__ import annotations

import io
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from PIL import Image, ImageOps
from playwright.sync_api import sync_playwright

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from browser import ARGUMENTS, find_chromium  # noqa: E402

COLOURS = 128
MARGIN = 57  # of A4 paper, which is 794 pixels wide


@dataclass(frozen=True, slots=True)
class Picture:
    """One picture: the size of the window, the theme, and whether it is as printed."""

    name: str
    size: tuple[int, int]
    theme: Literal["light", "dark"]
    media: Literal["screen", "print"] = "screen"


PICTURES = (
    Picture("report-light", (1280, 1500), "light"),
    Picture("report-dark", (1280, 1500), "dark"),
    Picture("report-phone", (360, 1300), "light"),
    Picture("report-print", (794 - 2 * MARGIN, 1123 - 2 * MARGIN), "light", "print"),
)


def main(report: Path, folder: Path) -> None:
    """Write the pictures of a report into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=ARGUMENTS)
        for picture in PICTURES:
            path = folder / f"{picture.name}.png"
            margin = MARGIN if picture.media == "print" else 0
            small(take(browser, report, picture), margin).save(path, optimize=True)
            print(f"{path}: {path.stat().st_size:,} bytes")
        browser.close()


def take(browser: Any, report: Path, picture: Picture) -> bytes:
    """The upper part of the page as PNG."""
    width, height = picture.size
    page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=picture.theme)
    page.emulate_media(media=picture.media, color_scheme=picture.theme)
    page.goto(report.resolve().as_uri())
    shot: bytes = page.screenshot()
    page.close()
    return shot


def small(png: bytes, margin: int) -> Image.Image:
    """The picture with a white margin and a palette."""
    picture = ImageOps.expand(Image.open(io.BytesIO(png)).convert("RGB"), margin, "white")
    return picture.quantize(COLOURS, dither=Image.Dither.NONE)


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    main(Path(sys.argv[1]), Path(sys.argv[2]) if len(sys.argv) == 3 else ROOT / "docs" / "pictures")
