"""The paper's network as the learner of a private release: the same core and ledger, and answers are all it sees."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import torch

from cuts.config import config_from
from cuts.data.schema import Category, Integer, Schema
from cuts.data.table import Table
from cuts.flow.request import FittedModel, PrivacyOptions
from cuts.flow.run import fit, make_request, sample
from cuts.lang.parser import parse
from cuts.model.mixture import marginal
from cuts.model.noisy_network import NetworkLearner, noisy_shares
from cuts.model.store import load, save
from cuts.privacy.adaptive import DEFAULT_SETTINGS, paper_settings, settings_for
from cuts.privacy.query import Query, fine
from cuts.privacy.transcript import Choice, Measurement
from models import fit_transcript

QUICK = config_from(
    {
        "preset": "paper",
        "bins": 8,
        "steps": 120,
        "threads": 1,
        "backbone_options": {
            "batch": 300,
            "finetune_steps": 30,
            "final_components": 200,
            "round_steps": 5,
            "round_batch": 100,
        },
    }
)
SCHEMA = Schema(
    "people",
    (Integer("age", 20, 59), Category("sex", ("f", "m")), Category("paid", ("no", "yes"))),
    "paid",
)
PRIVATE = "ENSURE: DIFFERENTIAL PRIVACY: EPSILON=8, DELTA=1e-6"


def people(rows: int = 3_000) -> Table:
    rng = np.random.default_rng(2)
    sex = rng.integers(0, 2, rows)
    paid = (rng.random(rows) < 0.1 + 0.7 * sex).astype(int)
    columns = {
        "age": rng.integers(20, 60, rows),
        "sex": np.array(["f", "m"])[sex],
        "paid": np.array(["no", "yes"])[paid],
    }
    return Table(pa.table(columns))


@pytest.fixture(scope="module")
def fitted(tmp_path_factory: pytest.TempPathFactory) -> FittedModel:
    ledger = tmp_path_factory.mktemp("ledger") / "ledger.jsonl"
    rounds = replace(paper_settings(3), planned_rounds=8, min_round_share=0.02)
    program = f"SYNTHESIZE: people; {PRIVATE}; ENFORCE: PARAM 0.001: age < 30; END;"
    privacy = PrivacyOptions(ledger=ledger, rounds=rounds)
    return fit(make_request(program, people(), schema=SCHEMA, config=QUICK, privacy=privacy))


def test_the_budget_is_spent_on_selected_tables(fitted: FittedModel) -> None:
    transcript = fitted.model.transcript
    assert transcript is not None
    ledger = transcript.ledger
    assert 0.98 * float(ledger.rho) < float(ledger.spent) <= float(ledger.rho)
    chosen = [answer for answer in transcript.answers if isinstance(answer, Choice)]
    assert len(chosen) == len(transcript.measurements) - 3  # all but those of single columns were selected
    assert len(chosen) >= 3


def test_rows_are_drawn_from_the_network_and_satisfy_the_rules(fitted: FittedModel) -> None:
    assert fitted.model.network is not None
    assert [step.way for step in fitted.plan.steps] == ["noise", "penalty + reject"]
    drawn = sample(fitted.model, 500)
    assert drawn.rejection is not None
    assert max(drawn.table.arrow["age"].to_pylist()) < 30


def test_the_network_learns_what_was_measured(fitted: FittedModel) -> None:
    assert fitted.model.transcript is not None
    free = fit_transcript(parse("SYNTHESIZE: people; END;"), fitted.model.transcript, config=QUICK).model
    joint = marginal(free.mixture, ("sex", "paid")).numpy()
    assert joint[1, 1] > 1.25 * joint[0, 1]  # men are paid far more often
    assert free.facts.acceptance is None


def test_a_transcript_gives_the_same_network_again(fitted: FittedModel, tmp_path: Path) -> None:
    transcript = fitted.model.transcript
    assert transcript is not None
    program = parse(f"SYNTHESIZE: people; {PRIVATE}; ENFORCE: PARAM 0.001: age < 30; END;")
    again = fit_transcript(program, transcript, config=QUICK).model
    for mine, theirs in zip(again.mixture.P, fitted.model.mixture.P, strict=True):
        assert torch.equal(mine, theirs)
    save(again, tmp_path / "m.synth")
    loaded = load(tmp_path / "m.synth")
    assert loaded.transcript is not None
    assert sample(loaded, 50).table.arrow.equals(sample(again, 50).table.arrow)


def test_a_constant_inside_a_bin_of_the_release_splits_it(fitted: FittedModel) -> None:
    assert fitted.model.transcript is not None
    program = parse("SYNTHESIZE: people; ENFORCE: age < 23 WITH mode=condition; END;")
    model = fit_transcript(program, fitted.model.transcript, config=QUICK).model
    assert max(sample(model, 100).table.arrow["age"].to_pylist()) < 23


# --- its parts


def measured(query: Query, values: object, sigma: float = 1.0) -> Measurement:
    return Measurement(query, sigma, np.asarray(values, dtype=np.int64))


def test_noisy_tables_are_divided_by_their_own_sums_and_averaged() -> None:
    sizes = {"a": 3, "b": 2}
    groups = {"a": (0, 0, 1), "b": (0, 1)}
    pair = Query(("a", "b"), (groups["a"], groups["b"]))
    shares = noisy_shares(
        [
            measured(fine(("a",), sizes), [50, -10, 60]),
            measured(fine(("a",), sizes), [25, 25, 50], sigma=9.0),
            measured(pair, [[10, 20], [-5, 25]]),
        ],
        groups,
    )
    np.testing.assert_allclose(shares[("a",)], [(0.4 + 0.5) / 2, (0.6 + 0.5) / 2])
    np.testing.assert_allclose(shares[("a", "b")], [[0.2, 0.4], [-0.1, 0.5]])


def test_a_learner_goes_on_from_where_it_was() -> None:
    sizes = {"a": 3, "b": 2}
    groups = {"a": (0, 1, 2), "b": (0, 1)}
    singles = [measured(fine((name,), sizes), np.full(size, 100)) for name, size in sizes.items()]
    learner = NetworkLearner(QUICK, 0)
    first = learner(singles, groups, None)
    second = learner([*singles, measured(fine(("a", "b"), sizes), [[100, 0], [0, 100], [0, 100]])], groups, first)
    assert second.backbone is first.backbone
    assert second.shares(fine(("a", "b"), sizes)).shape == (3, 2)
    assert first.shares(fine(("a",), sizes)).sum() == pytest.approx(1.0)


def test_the_paper_divides_its_budget_as_aim_does() -> None:
    settings = settings_for("penalty", 14)
    assert settings.planned_rounds == pytest.approx(16 * 14 - 14, abs=2)  # T = 16 d, the singles among them
    assert settings.single_column_share == pytest.approx(0.056, abs=0.001)
    assert (settings.label_share, settings.selection_share) == (0.0, 0.1)
    assert settings_for("exact", 14) == DEFAULT_SETTINGS
