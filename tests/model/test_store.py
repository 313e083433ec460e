"""Models in files: what is saved is loaded, and what is no model, or a damaged one, is said to be so."""

from __future__ import annotations

import hashlib
import io
import json
import struct
import zipfile
from collections.abc import Callable
from dataclasses import replace
from math import isnan, nan
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import safetensors.torch as tensors
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cuts.config import Config
from cuts.data.binning import fit_codec
from cuts.data.codec_file import codec_data
from cuts.data.infer import infer_schema
from cuts.data.table import Table
from cuts.lang.binder import bind
from cuts.lang.parser import parse
from cuts.model.facts import Facts, RuleFacts, TradeOff, Trial
from cuts.model.group_shares import GroupShare
from cuts.model.mixture import Mixture
from cuts.model.store import Model, fingerprint, load, save
from cuts.text.diagnostic import CutsError
from cuts.text.pages import page

ROWS = Table(
    pa.table(
        {
            "id": [f"u{i:04}" for i in range(60)],
            "Straße": ["a", "b", None, "c"] * 15,
            "age": pa.array([20, 30, None, 50, 64] * 12, pa.int64()),
            "height": [1.5 + i / 100 for i in range(60)],
        }
    )
)
FACTS = Facts(60, 0.0123, 40, 0.01, 3, "0.1.0", moved=0.125, rules=(RuleFacts(3, 0.5, 0.5, 0.25, 0.25, 1.0),))


def a_model(seed: int = 0, components: int = 3) -> Model:
    """A model with every kind of thing a file has to hold."""
    codec = fit_codec(ROWS, infer_schema(ROWS, "people"), {"age": [25.0]}, {})
    rng = np.random.default_rng(seed)
    P = tuple(torch.as_tensor(rng.dirichlet(np.ones(bins.size), components)) for bins in codec.columns)
    mixture = Mixture(
        tuple(bins.column.name for bins in codec.columns), torch.as_tensor(rng.dirichlet(np.ones(components))), P
    )
    program = "SYNTHESIZE: people;\n\n    ENFORCE: age >= 25;\n\nEND;\n"
    spec = bind(parse(program), codec.schema)
    return Model(mixture, codec, program, spec, Config(steps=40, smoothing=0.01, drawing="independent"), FACTS)


def assert_same(one: Model, other: Model) -> None:
    assert (one.program, one.config, one.facts) == (other.program, other.config, other.facts)
    assert codec_data(one.codec) == codec_data(other.codec)
    assert one.mixture.columns == other.mixture.columns
    for mine, theirs in zip((one.mixture.w, *one.mixture.P), (other.mixture.w, *other.mixture.P), strict=True):
        assert mine.dtype == theirs.dtype == torch.float64
        assert torch.equal(mine, theirs)


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("models") / "people.synth"
    save(a_model(), path)
    return path


def parts_of(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as file:
        return {name: file.read(name) for name in file.namelist()}


def written(path: Path, parts: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in parts.items():
            file.writestr(name, data)
    return path


def refused(path: Path, code: str = "bad-model") -> str:
    """What is said of a file that cannot be used."""
    with pytest.raises(CutsError) as caught:
        load(path)
    (found,) = caught.value.diagnostics
    assert found.code == code
    assert found.help
    return found.title


# --- what is saved is loaded


@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 2**32 - 1), st.integers(1, 9))
def test_a_loaded_model_is_the_one_that_was_saved(tmp_path: Path, seed: int, components: int) -> None:
    model = a_model(seed, components)
    save(model, tmp_path / "m.synth")
    assert_same(load(tmp_path / "m.synth"), model)


def test_equal_models_are_equal_files(saved: Path, tmp_path: Path) -> None:
    save(a_model(), tmp_path / "again.synth")
    assert (tmp_path / "again.synth").read_bytes() == saved.read_bytes()
    save(load(saved), tmp_path / "loaded.synth")
    assert (tmp_path / "loaded.synth").read_bytes() == saved.read_bytes()
    save(a_model(1), tmp_path / "other.synth")
    assert (tmp_path / "other.synth").read_bytes() != saved.read_bytes()


def test_a_file_holds_numbers_and_json_and_no_rows(saved: Path) -> None:
    parts = parts_of(saved)
    assert list(parts) == ["manifest.json", "model.json", "mixture.safetensors"]
    assert json.loads(parts["manifest.json"])["version"] == 1
    assert set(json.loads(parts["model.json"])) == {"program", "codec", "config", "facts"}
    assert all(identifier not in parts["model.json"] for identifier in (b"u0000", b"u0059"))
    assert not any(name.endswith((".pkl", ".pt")) for name in parts)


def test_facts_of_every_kind_are_kept_and_an_undefined_number_is_nan(tmp_path: Path) -> None:
    trade_off = TradeOff(4, Trial(0.25, 0.5), (Trial(nan, 0.75),), 0.125)
    shares = (GroupShare(5, "pay", "yes", 0.5, "sex", "f"), GroupShare(5, "pay", "yes", 0.5))
    facts = replace(FACTS, trade_offs=(trade_off,), group_shares=shares)
    save(replace(a_model(), facts=facts), tmp_path / "m.synth")
    data = json.loads(parts_of(tmp_path / "m.synth")["model.json"])["facts"]
    assert data["trade_offs"][0]["trials"] == [{"value": "nan", "utility": 0.75}]
    loaded = load(tmp_path / "m.synth").facts
    assert isnan(loaded.trade_offs[0].trials[0].value)
    assert loaded.trade_offs[0].start == trade_off.start
    assert (loaded.group_shares, loaded.rules) == (shares, FACTS.rules)


def test_a_mixture_of_other_bins_is_no_model() -> None:
    model = a_model()
    with pytest.raises(ValueError, match="not over the bins"):
        replace(model, mixture=Mixture(model.mixture.columns, model.mixture.w, model.mixture.P[::-1]))


def test_a_model_that_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(CutsError, match="unwritable-file"):
        save(a_model(), tmp_path / "nowhere" / "m.synth")
    assert list(tmp_path.iterdir()) == []


# --- what is no model


def test_a_damaged_file_is_never_a_model_with_other_numbers(saved: Path, tmp_path: Path) -> None:
    whole = saved.read_bytes()
    for length in range(0, len(whole), max(1, len(whole) // 60)):
        (tmp_path / "cut.synth").write_bytes(whole[:length])
        refused(tmp_path / "cut.synth")


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data(), change=st.integers(1, 255))
def test_a_changed_byte_is_found_or_changes_nothing(
    saved: Path, tmp_path: Path, data: st.DataObject, change: int
) -> None:
    whole = bytearray(saved.read_bytes())
    whole[data.draw(st.integers(0, len(whole) - 1))] ^= change
    path = tmp_path / "changed.synth"
    path.write_bytes(whole)
    try:
        found = load(path)
    except CutsError:
        refused(path)
    else:
        assert_same(found, a_model())  # a date or a flag of the zip


@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=300))
def test_any_other_bytes_are_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "any.synth").write_bytes(content)
    refused(tmp_path / "any.synth")


def test_other_zips_are_refused(tmp_path: Path) -> None:
    title = refused(written(tmp_path / "zip.synth", {"readme.txt": b"hello"}))
    assert title.endswith("zip.synth is not a model of `cuts`, or it is damaged")
    foreign = {"manifest.json": b'{"format": "other"}', "model.json": b"{}", "mixture.safetensors": b""}
    refused(written(tmp_path / "foreign.synth", foreign))
    refused(written(tmp_path / "list.synth", {**foreign, "manifest.json": b"[]"}))
    refused(written(tmp_path / "deep.synth", {**foreign, "manifest.json": b"[" * 60_000}))
    refused(written(tmp_path / "text.synth", {**foreign, "manifest.json": b"\xff\xfe"}))


def test_a_newer_file_says_so(saved: Path, tmp_path: Path) -> None:
    parts = parts_of(saved)
    manifest = {**json.loads(parts["manifest.json"]), "version": 99}
    title = refused(written(tmp_path / "newer.synth", {**parts, "manifest.json": json.dumps(manifest).encode()}))
    assert "newer version" in title


def test_a_file_that_would_unpack_to_more_than_it_may_is_not_unpacked(saved: Path, tmp_path: Path) -> None:
    bomb = written(tmp_path / "bomb.synth", {**parts_of(saved), "manifest.json": b" " * (1 << 20)})
    refused(bomb)
    # A directory that claims 4 GB for `model.json`, where there are a few thousand bytes.
    content = bytearray(saved.read_bytes())
    at = content.rindex(b"PK\x01\x02", 0, content.rindex(b"model.json"))
    content[at + 24 : at + 28] = struct.pack("<I", 0xFFFFFFFE)
    (tmp_path / "claims.synth").write_bytes(content)
    refused(tmp_path / "claims.synth")


def test_other_compressions_are_refused(saved: Path, tmp_path: Path) -> None:
    path = tmp_path / "bz2.synth"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_BZIP2) as file:
        for name, data in parts_of(saved).items():
            file.writestr(name, data)
    refused(path)


def test_missing_files_and_folders_are_named(tmp_path: Path) -> None:
    assert refused(tmp_path / "nowhere.synth", "unreadable-file").endswith("nowhere.synth does not exist")
    assert refused(tmp_path, "unreadable-file").endswith("is a directory")


# --- files somebody made by hand, whose hashes are right


def forged(path: Path, saved: Path, change: Callable[[dict[str, Any], dict[str, torch.Tensor]], object]) -> Path:
    """The saved model with something changed and the hashes made anew."""
    parts = parts_of(saved)
    data, named = json.loads(parts["model.json"]), tensors.load(parts["mixture.safetensors"])
    change(data, named)
    parts["model.json"], parts["mixture.safetensors"] = json.dumps(data).encode(), tensors.save(named)
    manifest = json.loads(parts["manifest.json"])
    manifest["sha256"] = {name: hashlib.sha256(parts[name]).hexdigest() for name in list(parts)[1:]}
    parts["manifest.json"] = json.dumps(manifest).encode()
    return written(path, parts)


def test_the_forger_of_this_test_is_good(saved: Path, tmp_path: Path) -> None:
    assert_same(load(forged(tmp_path / "same.synth", saved, lambda *_: None)), a_model())


@pytest.mark.parametrize(
    "change",
    [
        lambda data, named: named.update(w=-named["w"]),
        lambda data, named: named.update(w=named["w"] * 2),
        lambda data, named: named.update(w=named["w"] * float("nan")),
        lambda data, named: named.update(w=named["w"][:2] / named["w"][:2].sum()),
        lambda data, named: named.update(w=named["w"][:, None]),
        lambda data, named: named.update({name: table[:0] for name, table in named.items()}),
        lambda data, named: named.update(P0=named["P0"].long()),
        lambda data, named: named.update(P0=named["P1"].clone()),
        lambda data, named: named.pop("P1"),
        lambda data, named: data.pop("codec"),
        lambda data, named: data.update(codec=[1]),
        lambda data, named: data["codec"]["columns"].pop(),
        lambda data, named: data.update(program=3),
        lambda data, named: data["config"].update(steps=0),
        lambda data, named: data["config"].update(colour="red"),
        lambda data, named: data["facts"].pop("rows"),
        lambda data, named: data["facts"].update(rows="many"),
        lambda data, named: data["facts"].update(rows=0),
        lambda data, named: data["facts"].update(unknown=1),
        lambda data, named: data["facts"].update(rules=[{"line": 3}]),
        lambda data, named: data["facts"]["rules"][0].update(unknown=1),
        lambda data, named: data["facts"]["rules"][0].update(before="half"),
        lambda data, named: data["facts"].update(seed=None),
        lambda data, named: data["facts"].update(rules={}),
        lambda data, named: data.update(facts=[]),
        lambda data, named: data.update(config=[]),
        lambda data, named: data.clear(),
    ],
)
def test_numbers_that_are_no_model_are_refused(saved: Path, tmp_path: Path, change: Any) -> None:
    refused(forged(tmp_path / "forged.synth", saved, change))


def test_the_page_of_the_code_is_there() -> None:
    assert "cuts fit" in page("bad-model")
    assert io.StringIO(page("bad-model")).readline() == "# bad-model\n"


def test_a_fingerprint_is_of_the_model_not_of_its_file(tmp_path: Path) -> None:
    save(a_model(), tmp_path / "m.synth")
    assert fingerprint(load(tmp_path / "m.synth")) == fingerprint(a_model())
    assert fingerprint(a_model(seed=1)) != fingerprint(a_model())
