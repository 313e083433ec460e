"""T5: after the answers, the rows are not needed: the same answers make the same questions, models, rows and logs."""

from __future__ import annotations

import ast
import copy
import json
import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.testing import assert_array_equal

import cuts
from cuts.config import Config, config_from
from cuts.data.codec import Codes, decode
from cuts.flow.release import Account
from cuts.flow.request import FittedModel, PrivacyOptions
from cuts.lang.parser import parse
from cuts.model import store
from cuts.model.noisy import Guess, NoisyLearner, NoisySettings, fit_noisy
from cuts.model.noisy_network import NetworkLearner
from cuts.model.sampling import sample_blocks
from cuts.privacy.adaptive import AdaptiveSettings, Learner, release
from cuts.privacy.curator import Curator
from cuts.privacy.ledger_file import LedgerFile, Limit
from cuts.privacy.query import Owners
from cuts.privacy.reading import PrivateFrame, cells_of
from cuts.privacy.secret import Secret, reveal
from cuts.privacy.transcript import Measurement, Replay, Transcript, render, transcript_from
from cuts.progress import Observer, Round
from models import fit_private, fit_transcript
from privacy.checks import FEW_ROUNDS, check_blind
from privacy.people import (
    MIXED,
    PEOPLE,
    counts_of,
    draw_people,
    independent,
    open_core,
    open_twin,
    opened,
    uniform,
    workload_of,
)

QUICK = NoisySettings(first_steps=20, round_steps=3)
SMALL = Config(components=12, steps=60, threads=1)
PROGRAM = parse(
    "SYNTHESIZE: mixed; ENSURE: DIFFERENTIAL PRIVACY: EPSILON=1.0, DELTA=0.01;"
    " ENFORCE: age < 10 IMPLIES sex == f; ENFORCE: E[age] >= 30; END;"
)
SOURCES = Path(cuts.__file__).parent
REFUSED = "Secret(...)"


# --- replaying


@pytest.mark.parametrize("learner", [independent, uniform])
def test_a_release_is_a_function_of_the_answers(learner: Any) -> None:
    def run(curator: Curator, rows: Codes, settings: AdaptiveSettings) -> Transcript:
        return release(curator, PEOPLE, workload_of(PEOPLE), learner, settings=settings)

    check_blind(run, open_core, draw_people(200, 1), draw_people(77, 2))
    check_blind(run, open_twin(), draw_people(200, 1), draw_people(77, 2))


TINY_NETWORK = {"round_steps": 2, "round_batch": 50, "final_components": 100}
LEARNERS = {
    "mixture": NoisyLearner(SMALL, seed=3, settings=QUICK),
    "network": NetworkLearner(config_from({"preset": "paper", "threads": 1, "backbone_options": TINY_NETWORK}), 3),
}


class Remembering:
    """The real learner, and every model it made."""

    def __init__(self, learner: Learner[Guess]) -> None:
        self.learner, self.made = learner, list[list[torch.Tensor]]()

    def __call__(
        self, measurements: Sequence[Measurement], groups: Mapping[str, Owners], before: Guess | None
    ) -> Guess:
        found = self.learner(measurements, groups, before)
        self.made.append([found.mixture.w.clone(), *(p.clone() for p in found.mixture.P)])
        return found


@pytest.mark.parametrize("name", LEARNERS)
def test_models_and_logs_of_a_replay_are_equal_to_the_last_bit(name: str) -> None:
    def run(curator: Curator) -> tuple[Transcript, list[list[torch.Tensor]], list[Round]]:
        learner, told = Remembering(LEARNERS[name]), list[Round]()
        transcript = release(curator, MIXED, workload_of(MIXED), learner, settings=FEW_ROUNDS, seen=told.append)
        return transcript, learner.made, told

    first = run(open_core(counts_of(draw_people(300, 4, MIXED), MIXED), opened()))
    again = run(Replay(first[0]))
    assert render(again[0]) == render(first[0])
    assert again[2] == first[2]
    assert [each.sigma for each in again[0].measurements] == [each.sigma for each in first[0].measurements]
    for one, other in zip(first[1], again[1], strict=True):
        assert all(torch.equal(a, b) for a, b in zip(one, other, strict=True))


def test_two_releases_of_the_same_rows_are_different() -> None:
    counts = counts_of(draw_people(300, 4))
    one, other = (release(open_core(counts, opened()), PEOPLE, workload_of(PEOPLE), uniform) for _ in range(2))
    assert render(one) != render(other)


# --- the whole way


@cache
def fitted(folder: Path) -> tuple[FittedModel, list[object]]:
    """A private model of some rows, and all that was said on the way."""
    said: list[object] = []
    observer = Observer(said.append, said.append, said.append, said.append)
    rows = cells_of(decode(draw_people(300, 4, MIXED), MIXED, seed=0).arrow)
    account = Account(LedgerFile(folder / "ledger.jsonl"), "mixed")
    options = PrivacyOptions(rounds=FEW_ROUNDS, learning=QUICK)
    model = fit_private(PROGRAM, MIXED.schema, rows, account, config=SMALL, seed=7, observer=observer, options=options)
    return model, said


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("private")


def test_a_model_of_a_transcript_is_the_same_to_the_last_byte(folder: Path) -> None:
    made, _ = fitted(folder)
    assert made.model.transcript is not None
    read = transcript_from(json.loads(render(made.model.transcript)))
    again = [fit_transcript(PROGRAM, read, config=SMALL, seed=7) for _ in range(2)]
    files = [folder / f"{name}.synth" for name in ("first", "second", "third")]
    for model, path in zip((made.model, *(each.model for each in again)), files, strict=True):
        store.save(model, path)
    assert files[0].read_bytes() == files[1].read_bytes() == files[2].read_bytes()
    for each in again:
        assert each.reference.arrow.equals(made.reference.arrow)
        drawn = [next(iter(sample_blocks(model, 100, seed=1))).arrow for model in (made.model, each.model)]
        assert drawn[0].equals(drawn[1])


def test_another_seed_makes_another_model_of_the_same_answers(folder: Path) -> None:
    made, _ = fitted(folder)
    assert made.model.transcript is not None
    one, other = (fit_noisy(made.model.transcript, "sex", SMALL, seed=seed).mixture for seed in (7, 8))
    assert not torch.equal(one.P[0], other.P[0])


def test_a_model_keeps_its_transcript_and_no_counts(folder: Path) -> None:
    made, _ = fitted(folder)
    path = folder / "kept.synth"
    store.save(made.model, path)
    kept = store.load(path).transcript
    assert kept is not None
    assert made.model.transcript is not None
    assert render(kept) == render(made.model.transcript)
    assert made.model.facts.rows == kept.rows


def test_what_is_said_on_the_way_follows_from_the_transcript(folder: Path) -> None:
    made, said = fitted(folder)
    transcript = made.model.transcript
    assert transcript is not None
    told = [(each.clique, each.sigma) for each in said if isinstance(each, Round)]
    measured = [(each.query.clique, each.sigma) for each in transcript.measurements]
    assert told == measured[len(measured) - len(told) :]
    assert not any(isinstance(each, int) for each in said)  # a number of rows
    again: list[object] = []
    observer = Observer(again.append, again.append, again.append, again.append)
    fit_transcript(PROGRAM, transcript, config=SMALL, seed=7, observer=observer)
    assert said[-len(again) :] == again
    assert all(isinstance(each, Round | str) for each in said[: -len(again)])


class Raising(PrivateFrame):
    """Rows that are never there to be read."""

    def blocks(self, names: Sequence[str]) -> Iterator[Any]:
        raise AssertionError("the rows were read")


def test_rows_are_not_read_when_the_ledger_file_refuses(folder: Path) -> None:
    rows = Raising(decode(draw_people(1, 4, MIXED), MIXED, seed=0))
    account = Account(LedgerFile(folder / "capped.jsonl"), "mixed", limit=Limit(0.5))
    with pytest.raises(cuts.text.diagnostic.CutsError, match=r"above the limit of 0\.5"):
        fit_private(PROGRAM, MIXED.schema, rows, account, config=SMALL)


# --- secrets


SHOWN: dict[str, Callable[[Secret[Any]], object]] = {
    "repr": repr,
    "str": str,
    "format": format,
    "f-string": lambda secret: f"{secret}",
    "percent": lambda secret: "%s" % secret,  # noqa: UP031
    "number": float,
    "whole number": int,
    "complex": complex,
    "truth": bool,
    "length": len,
    "iterate": list,
    "contains": lambda secret: 3 in secret,
    "item": lambda secret: secret[0],
    "equal": lambda secret: secret == 41_999,
    "unequal": lambda secret: secret != 41_999,
    "less": lambda secret: secret < 41_999,
    "greater": lambda secret: secret >= 41_999,
    "hash": hash,
    "index": lambda secret: range(99_999)[secret],
    "sum": lambda secret: sum([secret]),
    "round": round,
    "array": np.asarray,
    "array of it": lambda secret: np.array([secret], dtype=np.float64),
    "tensor": torch.tensor,
    "pickle": pickle.dumps,
    "copy": copy.copy,
    "deep copy": copy.deepcopy,
    "json": json.dumps,
    "json by its text": lambda secret: json.dumps(secret, default=str),
    "attributes": vars,
    "state": lambda secret: secret.__getstate__(),
    "reduce": lambda secret: secret.__reduce_ex__(4),
    "names": dir,
}


@pytest.mark.parametrize("held", [41_999, [41_999, 3], {"a": 41_999}, np.array([41_999, 3]), "41999"], ids=repr)
@pytest.mark.parametrize("way", SHOWN)
def test_a_secret_is_not_shown(way: str, held: object) -> None:
    try:
        shown = SHOWN[way](Secret(held))
    except (TypeError, AttributeError) as error:
        shown = error
    for text in (str(shown), repr(shown)):
        assert "41999" not in text
        assert "41_999" not in text
    assert isinstance(shown, str | Exception | list)


def test_a_secret_is_given_back_to_who_may_have_it() -> None:
    assert reveal(Secret(41_999)) == 41_999


def test_a_set_of_counts_is_not_shown_by_who_holds_it() -> None:
    curator = open_core(counts_of({name: np.zeros(41_999, dtype=np.int64) for name in "abcd"}), opened())
    curator.measure(_single("a"), 50.0)
    assert "41999" not in repr(curator) + str(vars(curator))


def _single(name: str) -> Any:
    from cuts.privacy.query import fine

    return fine((name,), {name: 3})


# --- who may look


@cache
def trees() -> tuple[tuple[str, ast.Module], ...]:
    """Every file of the package, by its path in it."""
    paths = sorted(SOURCES.rglob("*.py"))
    return tuple((path.relative_to(SOURCES).as_posix(), ast.parse(path.read_text(encoding="utf-8"))) for path in paths)


def mentions(tree: ast.Module) -> set[str]:
    """Every name that is used, imported or reached through a dot."""
    found = set()
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name) | ast.alias(name=name):
                found.add(name)
            case ast.Attribute(attr=name):
                found.add(name)
            case ast.Constant(value=str(name)):
                found.add(name)
    return found


def imports(tree: ast.Module) -> set[str]:
    """Every module that is imported, as `a.b` and with what is taken from it, as `a.b.c`."""
    found = set()
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                found |= {alias.name for alias in names}
            case ast.ImportFrom(module=str(module), names=names):
                found |= {module, *(f"{module}.{alias.name}" for alias in names)}
    return found


def test_only_the_core_opens_secrets() -> None:
    users = {path for path, tree in trees() if {"reveal", "_Secret__value"} & mentions(tree)}
    assert users == {"privacy/core.py", "privacy/secret.py"}


def test_only_the_core_encodes_private_rows() -> None:
    core = {"privacy/core.py", "sources/engine_spark/private_tasks.py"}  # what Spark's workers do for the core
    users = {path for path, tree in trees() if "cuts.privacy.coding.encode_cells" in imports(tree)}
    assert users == core
    assert {path for path, tree in trees() if "encode_cells" in mentions(tree)} <= {*core, "privacy/coding.py"}


def test_only_the_core_reads_blocks_of_private_rows() -> None:
    """Whoever knows private rows by their type does not ask them for blocks."""
    for path, tree in trees():
        knows = any(name.startswith("cuts.privacy.reading") for name in imports(tree))
        asks = any(
            isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "blocks"
            for node in ast.walk(tree)
        )
        assert not (knows and asks) or path in ("privacy/core.py", "privacy/reading/__init__.py"), path


def test_only_the_core_counts_private_rows_and_it_keeps_them_secret() -> None:
    counting = {"cuts.privacy.core.count_rows", "cuts.privacy.core.count_values"}
    assert {path for path, tree in trees() if counting & imports(tree)} <= {"flow/release.py", "privacy/domain.py"}
    core = next(tree for path, tree in trees() if path == "privacy/core.py")
    returned = {
        node.name: ast.unparse(node.returns) for node in core.body if isinstance(node, ast.FunctionDef) and node.returns
    }
    assert "Secret[" in returned["count_rows"]


def test_nothing_random_that_has_a_seed_is_in_the_private_part() -> None:
    for path, tree in trees():
        if path.startswith("privacy/"):
            assert not {"random", "numpy.random", "torch"} & imports(tree), path
            assert not {"default_rng", "manual_seed", "RandomState", "SeedSequence", "seed"} & mentions(tree), path
            reached = {ast.unparse(node) for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
            assert not {name for name in reached if name.startswith("np.random")}, path


def test_only_the_core_draws_noise_with_opendp() -> None:
    users = {path for path, tree in trees() if any(name.split(".")[0] == "opendp" for name in imports(tree))}
    assert users == {"privacy/core.py", "privacy/accountant.py"}
    makers = ("dp.m.", "measurements.then_", "measurements.make_")
    measuring = {
        path: [
            node for node in ast.walk(tree) if isinstance(node, ast.Attribute) and ast.unparse(node).startswith(makers)
        ]
        for path, tree in trees()
    }
    assert {path for path, found in measuring.items() if found} == {"privacy/core.py", "privacy/accountant.py"}
    assert len(measuring["privacy/accountant.py"]) == 1  # which asks for a price, and calls nothing
    accountant = next(tree for path, tree in trees() if path == "privacy/accountant.py")
    assert {"map", "epsilon"} <= mentions(accountant)
    assert not {"invoke", "measurement_invoke"} & mentions(accountant)


def test_the_private_part_does_not_print_or_log() -> None:
    for path, tree in trees():
        if path.startswith("privacy/"):
            assert not {"logging", "warnings", "traceback"} & imports(tree), path
            called = {
                node.func.id
                for node in ast.walk(tree)
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
            }
            assert "print" not in called, path


def test_no_count_is_changed_by_a_release() -> None:
    counts = counts_of(draw_people(50, 0))
    before = {clique: table.copy() for clique, table in counts.tables.items()}
    release(open_core(counts, opened()), PEOPLE, workload_of(PEOPLE), uniform)
    for clique, table in counts.tables.items():
        assert_array_equal(table, before[clique])
