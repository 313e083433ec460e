"""Property tests try the same cases in every run; `CUTS_EXPLORE=1` makes them look for new ones."""

from __future__ import annotations

import os

from hypothesis import settings

settings.register_profile("fixed", derandomize=True, deadline=None)
settings.register_profile("explore", derandomize=False, deadline=None, print_blob=True)
settings.load_profile("explore" if os.environ.get("CUTS_EXPLORE") == "1" else "fixed")
