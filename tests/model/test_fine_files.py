"""Damaged fine levels and files with one that should have none are refused; settings choose the level."""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.numpy as files
from hypothesis import given, settings
from hypothesis import strategies as st

from cuts.config import Config, config_from
from cuts.data.codec import Codec, NumericBins, encode
from cuts.data.conform import conform
from cuts.data.infer import infer_schema
from cuts.flow.run import fit, make_request
from cuts.lang.parser import parse
from cuts.model.fine import find_fine
from cuts.model.fine_trees import FineRows, FineSettings, FineTrees, learn, read
from cuts.model.store import Model, load, save
from cuts.text.diagnostic import CutsError
from fine_tables import fine_case, in_bins, line, random_codes
from models import QUICK_RELEASE

QUICK = Config(steps=40, components=40, smoothing=0.01, threads=1)


@cache
def line_model(config: Config = QUICK) -> Model:
    return fit(make_request("SYNTHESIZE: t; END;", line(), config=config)).model


@cache
def line_trees() -> tuple[Codec, FineTrees]:
    case = fine_case(line())
    return case.codec, learn(case.rows, case.codec, 0, FineSettings(min_leaf=40))


def tree_arrays() -> tuple[Codec, dict[str, Any]]:
    codec, trees = line_trees()
    return codec, dict(trees.arrays())


def changed(part: str, change: Callable[[Any], Any]) -> Callable[[dict[str, Any]], None]:
    def damage(arrays: dict[str, Any]) -> None:
        arrays[part] = change(arrays[part].copy())

    return damage


def put(at: int, value: float) -> Callable[[Any], Any]:
    def change(array: Any) -> Any:
        array.reshape(-1)[at] = value
        return array

    return change


def without(part: str) -> Callable[[dict[str, Any]], None]:
    def damage(arrays: dict[str, Any]) -> None:
        del arrays[part]

    return damage


DAMAGES: dict[str, Callable[[dict[str, Any]], None]] = {
    "no column": without("0.column"),
    "no ranks": without("1.ranks"),
    "no order": without("0.order0"),
    "unknown column": changed("0.column", put(0, 99)),
    "category column": changed("0.column", put(0, 5)),
    "empty column": changed("0.column", lambda a: a[:0]),
    "unknown input": changed("0.inputs", put(0, 99)),
    "negative input": changed("0.inputs", put(0, -1)),
    "unknown feature": changed("0.feature", put(0, 99)),
    "endless": changed("0.children", put(0, 0)),
    "child outside": changed("0.children", put(1, 10**6)),
    "one child": changed("0.children", lambda a: a[:, :1]),
    "few thresholds": changed("0.threshold", lambda a: a[:-1]),
    "few starts": changed("0.start", lambda a: a[:-1]),
    "negative start": changed("0.start", put(0, -3)),
    "starts beyond": changed("0.start", put(-1, 10**7)),
    "a start beyond": changed("0.start", put(3, 10**7)),
    "ranks beyond one": changed("0.ranks", put(0, 1.5)),
    "ranks not numbers": changed("0.ranks", put(0, np.nan)),
    "ranks in a matrix": changed("0.ranks", lambda a: np.stack([a, a], axis=1)),
    "no jitter": changed("0.jitter", lambda a: a[:0]),
    "jitter not a number": changed("0.jitter", put(0, np.nan)),
    "features as numbers": changed("0.feature", lambda a: a.astype(np.float64)),
    "inputs as numbers": changed("0.inputs", lambda a: a.astype(np.float32)),
    "starts as numbers": changed("0.start", lambda a: a.astype(np.float32)),
    "thresholds in a matrix": changed("0.threshold", lambda a: a[:, None]),
    "no nodes": lambda arrays: arrays.update(
        {f"0.{part}": arrays[f"0.{part}"][:0] for part in ("feature", "threshold")}
    ),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_damaged_trees_are_refused(damage: Callable[[dict[str, Any]], None]) -> None:
    codec, arrays = tree_arrays()
    assert read(arrays, codec).trees
    damage(arrays)
    with pytest.raises((ValueError, LookupError)):
        read(arrays, codec)


@settings(max_examples=150)
@given(st.data())
def test_trees_that_are_read_can_be_drawn_from(data: st.DataObject) -> None:
    """Any number anywhere: either refused, or values that lie in their bins."""
    codec, arrays = tree_arrays()
    part = data.draw(st.sampled_from(sorted(arrays)))
    array = arrays[part].copy()
    if array.size:
        at = data.draw(st.integers(0, array.size - 1))
        if array.dtype.kind == "f":
            value: float = data.draw(st.sampled_from([np.nan, np.inf, -np.inf, -1.0, 0.0, 0.3, 2.0, 1e30]))
        else:
            value = data.draw(st.sampled_from([-(2**62), -2, -1, 0, 1, 3, 7, 2**31, 2**62]))
        array.reshape(-1)[at] = value
    codes = random_codes(codec, 60, 0)
    try:
        trees = read(arrays | {part: array}, codec)
    except (ValueError, LookupError):
        return
    values = trees.draw(codes, codec, np.random.default_rng(0))
    assert all(in_bins(drawn, codec[name], codes[name]) for name, drawn in values.items())


# --- settings, private models and files


def test_an_unknown_level_is_refused_by_name() -> None:
    assert find_fine(Config(fine="none")) is None
    with pytest.raises(CutsError) as caught:
        find_fine(config_from({"fine": "forest"}))
    assert '"trees" or "none"' in str(caught.value.diagnostics[0].help)


def test_a_number_of_bins_in_the_settings_is_kept() -> None:
    model = line_model(replace(QUICK, bins=13))
    assert model.codec.sizes["x"] == 13


def private_model(folder: Path) -> Model:
    program = parse("SYNTHESIZE: t; ENSURE: DIFFERENTIAL PRIVACY: EPSILON=4, DELTA=1e-6; END;")
    schema = replace(infer_schema(line(), "t"), provenance="declared")
    options = replace(QUICK_RELEASE, ledger=folder / "ledger.jsonl")
    return fit(make_request(program, line(), schema=schema, config=QUICK, privacy=options)).model


def test_a_private_model_has_no_fine_level_and_a_file_with_one_is_refused(tmp_path: Path) -> None:
    model = private_model(tmp_path)
    assert model.fine is None
    assert model.transcript is not None
    save(model, tmp_path / "private.synth")
    with zipfile.ZipFile(tmp_path / "private.synth") as file:
        parts = {name: file.read(name) for name in file.namelist()}
    assert "fine.safetensors" not in parts
    assert load(tmp_path / "private.synth").fine is None
    codes, typed = encode(line(), model.codec), conform(line(), model.codec.schema)
    values = {b.column.name: typed.numbers(b.column.name) for b in model.codec.columns if isinstance(b, NumericBins)}
    trees = learn(FineRows(codes, values, None), model.codec, 0)
    assert read(trees.arrays(), model.codec).trees
    parts["fine.safetensors"] = files.save(trees.arrays())
    _refused(tmp_path / "both.synth", parts)


def test_a_file_without_the_level_its_settings_name_or_with_another_is_refused(tmp_path: Path) -> None:
    save(line_model(), tmp_path / "m.synth")
    with zipfile.ZipFile(tmp_path / "m.synth") as file:
        parts = {name: file.read(name) for name in file.namelist()}
    data = json.loads(parts["model.json"])
    data["config"]["fine"] = "none"
    _refused(tmp_path / "none.synth", parts | {"model.json": json.dumps(data).encode()})
    damaged = dict(files.load(parts["fine.safetensors"]))
    damaged["0.ranks"] = damaged["0.ranks"] + 2.0
    _refused(tmp_path / "damaged.synth", parts | {"fine.safetensors": files.save(damaged)})
    _refused(tmp_path / "cut.synth", parts | {"fine.safetensors": parts["fine.safetensors"][:100]})


def _refused(path: Path, parts: dict[str, bytes]) -> None:
    """The parts, with hashes that are right, are no model."""
    hashes = {name: hashlib.sha256(data).hexdigest() for name, data in parts.items() if name != "manifest.json"}
    manifest = json.loads(parts["manifest.json"]) | {"sha256": hashes}
    with zipfile.ZipFile(path, "w") as file:
        for name, data in (parts | {"manifest.json": json.dumps(manifest).encode()}).items():
            file.writestr(name, data)
    with pytest.raises(CutsError) as caught:
        load(path)
    assert caught.value.diagnostics[0].code == "bad-model"
