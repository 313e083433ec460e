"""A release that was paid for is never lost: if a later step fails, it is saved, and fitting it again is free."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from cuts import Category, CutsError, Integer, Schema, Synthesizer
from cuts.flow import private
from cuts.flow.request import PrivacyOptions
from cuts.flow.run import make_request, run
from cuts.privacy.ledger_file import LedgerFile
from cuts.privacy.transcript import Transcript, load

PROGRAM = "SYNTHESIZE: people; ENSURE: DIFFERENTIAL PRIVACY: EPSILON=2, DELTA=1e-6; END;"
SCHEMA = Schema("people", (Integer("age", 18, 90, 8, binning="uniform"), Category("paid", ("no", "yes"))), "paid")


def people(rows: int = 400) -> pa.Table:
    rng = np.random.default_rng(0)
    return pa.table({"age": rng.integers(18, 91, rows), "paid": rng.choice(["no", "yes"], rows)})


def test_the_synthesizer_keeps_it_when_the_fit_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = tmp_path / "ledger.jsonl"
    synthesizer = Synthesizer(PROGRAM, SCHEMA, config={"steps": 20, "components": 10}, ledger=ledger)

    def failing(*_: object) -> None:
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr(private, "fit_release", failing)
        with pytest.raises(MemoryError) as caught:
            synthesizer.fit(people())
    (note,) = caught.value.__notes__
    (path,) = re.findall(r"saved to (\S+);", note)
    assert Path(path).parent == tmp_path
    assert isinstance(load(Path(path)), Transcript)

    resumed = Synthesizer(PROGRAM, config={"steps": 20, "components": 10}, transcript=path).fit()
    assert resumed.sample(30).num_rows == 30
    assert [line.releases for line in LedgerFile(ledger).spent()] == [1]  # nothing more was spent


def test_a_frame_beside_a_transcript_only_says_what_kind_to_sample(tmp_path: Path) -> None:
    first = Synthesizer(PROGRAM, SCHEMA, config={"steps": 20, "components": 10}, ledger=tmp_path / "ledger.jsonl")
    transcript = first.fit(people()).model_.transcript
    again = Synthesizer(PROGRAM, config={"steps": 20, "components": 10}, transcript=transcript)
    assert again.fit(people(5).to_pandas()).sample(7).shape == (7, 2)


def test_it_is_kept_when_drawing_fails_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    privacy = PrivacyOptions(tmp_path / "ledger.jsonl")
    request = make_request(PROGRAM, people(), schema=SCHEMA, config={"steps": 5, "components": 5}, privacy=privacy)

    def failing(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.setattr("cuts.flow.run.sample", failing)
    with pytest.raises(MemoryError) as caught:
        run(request, output=tmp_path / "out.csv")
    assert "people_transcript.json" in caught.value.__notes__[0]
    assert load(tmp_path / "people_transcript.json").rows > 0
    assert not (tmp_path / "out.csv").exists()


def test_a_contradiction_is_refused_before_a_release_is_fitted_again(tmp_path: Path) -> None:
    first = Synthesizer(PROGRAM, SCHEMA, config={"steps": 5, "components": 5}, ledger=tmp_path / "ledger.jsonl")
    transcript = first.fit(people()).model_.transcript
    impossible = "SYNTHESIZE: people; ENFORCE: age > 50; ENFORCE: age < 40; END;"
    with pytest.raises(CutsError, match="contradiction"):
        Synthesizer(impossible, transcript=transcript).fit()
