"""What Arrow's threads hold of a CSV file is released before the file counts as read."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from cuts.count.rows import rows_in
from cuts.data.exchange import csv_text
from cuts.data.exchange.loans import Loans
from cuts.text.diagnostic import CutsError


def test_waiting_ends_when_another_thread_releases_the_last_object() -> None:
    loans = Loans()
    held = [loans.lend(b"a,b\n"), loans.lend(b"1,2\n")]
    released: list[float] = []

    def release_late() -> None:
        time.sleep(0.05)
        held.clear()
        released.append(time.monotonic())

    thread = threading.Thread(target=release_late)
    thread.start()
    loans.wait()
    returned = time.monotonic()
    thread.join()
    assert returned >= released[0] - 0.01


@pytest.mark.parametrize("text", ["a,b\n1,x\n2,y\n", "a,b\n1,x\n1,x,y\n"])
def test_nothing_is_held_after_a_file_is_read_or_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    opened: list[Loans] = []

    class Watched(Loans):
        def __init__(self) -> None:
            super().__init__()
            opened.append(self)

    monkeypatch.setattr(csv_text, "Loans", Watched)
    (tmp_path / "t.csv").write_text(text)
    try:
        rows = rows_in(tmp_path / "t.csv")
        for blocks in (rows.blocks(), rows.blocks()):
            next(blocks)
            blocks.close()
    except CutsError:
        pass
    assert opened
    assert not any(loans._held for loans in opened)
