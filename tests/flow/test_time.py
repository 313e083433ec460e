"""Stays in a hospital, from rows to a synthetic table: rules on dates, timestamps and durations, checked by pandas."""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from cuts.assess.render import as_data, as_text
from cuts.config import Config
from cuts.data.table import Table
from cuts.flow.run import RunResult, make_request, run
from cuts.model.sampling import sample_table
from cuts.text.diagnostic import CutsError

QUICK = Config(steps=150, components=150, threads=1)
PROGRAM = """
SYNTHESIZE: stays;
    ENFORCE: born <= "2006-12-31";
    ENFORCE: admitted <= seen;
    ENFORCE: seen - admitted <= "36 h";
    ENFORCE: gone >= seen + "30 min";
    ENFORCE: gone - seen <= "P30D";
    ENFORCE: ward == icu IMPLIES gone - seen >= "24 h";
    ENFORCE: discharged IS NULL OR discharged - admitted <= "40 days";
    ENFORCE: E[gone - seen] == "3 days" WITHIN "4 h";
    ENFORCE: E[born] == "1970-01-01" WITHIN "120 days";
END;
"""


@cache
def stays(rows: int = 1500) -> Table:
    """Stays of about two days; a tenth of them break one of the rules, some have no end."""
    rng = np.random.default_rng(3)
    admitted = rng.integers(19_700, 20_000, rows)
    seen = admitted * 86_400 + rng.integers(-7_200, 30 * 3_600, rows)
    icu = rng.random(rows) < 0.3
    gone = seen + np.where(icu, 40, 20) * 3_600 + (rng.exponential(40 * 3_600, rows)).astype(np.int64)
    discharged = np.maximum(admitted, gone // 86_400)
    born = rng.integers(-9_000, 14_000, rows)
    open_end = rng.random(rows) < 0.05
    return Table(
        pa.table(
            {
                "born": pa.array(born, pa.int32()).cast(pa.date32()),
                "admitted": pa.array(admitted, pa.int32()).cast(pa.date32()),
                "discharged": pa.array(discharged, pa.int32(), mask=open_end).cast(pa.date32()),
                "seen": pa.array(seen).cast(pa.timestamp("s")),
                "gone": pa.array(gone).cast(pa.timestamp("s")),
                "ward": np.where(icu, "icu", "general"),
            }
        )
    )


@cache
def result() -> RunResult:
    return run(make_request(PROGRAM, stays(), config=QUICK), panel=())


def made() -> pd.DataFrame:
    return result().table.arrow.to_pandas(date_as_object=False)


def test_the_real_stays_break_the_rules() -> None:
    real = stays().arrow.to_pandas(date_as_object=False)
    assert (real.admitted > real.seen).any()
    assert ((real.gone - real.seen)[real.ward == "icu"]).min() >= pd.Timedelta(hours=24)
    assert abs((real.gone - real.seen).mean() - pd.Timedelta(days=3)) > pd.Timedelta(hours=4)


def test_pandas_finds_every_rule_satisfied() -> None:
    frame = made()
    stay = frame.gone - frame.seen
    assert len(frame) == stays().rows
    assert (frame.born <= "2006-12-31").all()
    assert (frame.admitted <= frame.seen).all()
    assert (frame.seen - frame.admitted <= pd.Timedelta(hours=36)).all()
    assert (stay >= pd.Timedelta(minutes=30)).all()
    assert (stay <= pd.Timedelta(days=30)).all()
    assert (stay[frame.ward == "icu"] >= pd.Timedelta(hours=24)).all()
    ended = frame.dropna(subset="discharged")
    assert len(ended) < len(frame)
    assert (ended.discharged - ended.admitted <= pd.Timedelta(days=40)).all()


def test_pandas_finds_the_statistics_within_their_tolerances() -> None:
    frame = made()
    assert abs((frame.gone - frame.seen).mean() - pd.Timedelta(days=3)) <= pd.Timedelta(hours=4)
    assert abs(frame.born.mean() - pd.Timestamp("1970-01-01")) <= pd.Timedelta(days=120)
    assert result().holds


def test_results_say_what_their_numbers_count() -> None:
    *_, stay, born = as_data(result().verdicts)
    assert (stay["facts"][0]["unit"], stay["facts"][0]["target"]) == ("s", 259_200.0)
    assert (born["facts"][0]["unit"], born["facts"][0]["target"]) == ("days since 1970-01-01", 0.0)
    text = as_text(result().verdicts)
    assert "target == 3 days within 4 h" in text
    assert "target == 1970-01-01 within 120 days" in text


def test_a_condition_for_samples_has_the_same_units() -> None:
    model, where = result().model, 'gone - seen > "5 days" AND seen >= "2024-03-01"'
    frame = sample_table(model, 200, where=where).arrow.to_pandas(date_as_object=False)
    assert len(frame) == 200
    assert (frame.gone - frame.seen > pd.Timedelta(days=5)).all()
    assert (frame.seen >= "2024-03-01").all()
    with pytest.raises(CutsError, match="unit-mismatch"):
        sample_table(model, 200, where="gone - seen > 5")
