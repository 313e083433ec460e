"""Property tests try the same cases in every run; `CUTS_EXPLORE=1` makes them look for new ones.

Private releases of tests are written down in a temporary ledger, never in the one of who runs them.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from typing import Any

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


@pytest.fixture(scope="session", autouse=True)
def _stopped_servers() -> Iterator[None]:
    """Servers and browsers that tests started are stopped at the end, in every process that runs tests."""
    yield
    if "browser" in sys.modules:
        sys.modules["browser"].stop_shared_browser()
    if "postgres_server" in sys.modules:
        sys.modules["postgres_server"].stop_shared_server()


@pytest.fixture(scope="session")
def postgres() -> Any:
    """A PostgreSQL server, or the reason why there is none."""
    pytest.importorskip("psycopg")
    from postgres_server import Unavailable, shared_server

    try:
        return shared_server()
    except Unavailable as reason:
        pytest.skip(str(reason))
