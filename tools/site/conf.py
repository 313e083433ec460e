"""Settings of Sphinx for the documentation site. `build.py` calls it; `stage.py` prepares the pages."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from pygments.lexers.special import TextLexer

from cuts import __version__

sys.path.insert(0, str(Path(__file__).parent))

from lexers import ProgramLexer, SessionLexer

project = "cuts"
author = "the authors of cuts"
version = release = __version__
language = "en"

extensions = ["myst_parser", "sphinx_copybutton"]
source_suffix = {".md": "markdown"}
myst_heading_anchors = 4
# The pages are ordinary Markdown: a line that begins with `%` is no comment, `(x)=` no label, `{x}` no role.
myst_disable_syntax = ["myst_line_comment", "myst_block_break", "myst_target", "myst_role"]

html_theme = "pydata_sphinx_theme"
html_title = "cuts"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_js_files = ["site.js"]
html_show_search_summary = False  # it fetches pages, which browsers refuse for files on disk
html_show_sourcelink = False
html_copy_source = False
html_show_copyright = False
html_sidebars = {"index": [], "tutorial": []}
html_context = {"default_mode": "auto"}  # light or dark, as the reader's system says
html_theme_options = {
    "logo": {"text": "cuts"},
    "navbar_align": "left",
    "navbar_persistent": ["search-button"],
    "header_links_before_dropdown": 5,
    "show_nav_level": 1,
    "navigation_depth": 3,
    "show_toc_level": 2,
    "secondary_sidebar_items": {"**": ["page-toc"], "index": []},
    "footer_start": [],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
    "show_prev_next": True,
    "back_to_top_button": False,
}

copybutton_prompt_text = "$ "
copybutton_only_copy_prompt_lines = True
copybutton_remove_prompts = True


def setup(app: Any) -> None:
    """Register the colours of code blocks."""
    app.add_lexer("cuts", ProgramLexer)
    app.add_lexer("console", SessionLexer)
    app.add_lexer("csv", TextLexer)
