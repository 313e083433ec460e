"""Property tests try the same cases in every run; `CUTS_EXPLORE=1` makes them look for new ones.

Private releases of tests are written down in a temporary ledger, never in the one of who runs them.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest
from hypothesis import settings

from cuts.model.openmp import wait_passively

wait_passively()  # before torch is imported: tests share the cores
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in a job that a shell started in the background
    signal.signal(signal.SIGINT, signal.default_int_handler)
settings.register_profile("fixed", derandomize=True, deadline=None)
settings.register_profile("explore", derandomize=False, deadline=None, print_blob=True)
settings.load_profile("explore" if os.environ.get("CUTS_EXPLORE") == "1" else "fixed")


@pytest.fixture(scope="session", autouse=True)
def _temporary_ledger(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CUTS_LEDGER", str(tmp_path_factory.mktemp("ledger") / "ledger.jsonl"))
        yield
