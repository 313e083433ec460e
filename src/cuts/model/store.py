"""A fitted model as one `.synth` file: a zip of safetensors and JSON; reading it runs no code.

`manifest.json` names the format, its version and the SHA-256 of the others: `model.json` (program, codec, settings,
facts of the fit), `mixture.safetensors` or, if rows are drawn from a network, `network.safetensors` with its weights,
`fine.safetensors` if the model has a fine level and, of a private model, `transcript.json` with its ledger. Loading
needs no rows. A damaged, foreign or newer file is a `CutsError`.
"""

from __future__ import annotations

import hashlib
import json
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from io import BytesIO
from math import isnan
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import safetensors.numpy as arrays
import safetensors.torch as tensors
import torch
from msgspec import MsgspecError
from safetensors import SafetensorError

from cuts.config import Config, config_from
from cuts.data.codec import Codec
from cuts.data.codec_file import codec_data, codec_from
from cuts.data.exchange.frames import Library
from cuts.data.exchange.streams import whole_or_nothing
from cuts.lang.binder import bind
from cuts.lang.parser import parse
from cuts.lang.spec import Spec
from cuts.model.backbone import read_options
from cuts.model.backbones.generator import GeneratorOptions, settled
from cuts.model.facts import Facts
from cuts.model.fine import FineLevel, find_fine
from cuts.model.mixture import Mixture
from cuts.model.network import Network, network_from
from cuts.privacy.transcript import Transcript, render, transcript_from
from cuts.text.diagnostic import CutsError, Diagnostic, usage_error
from cuts.text.files import present

FORMAT, VERSION = "cuts-model", 1
ENDING = ".synth"
_MANIFEST, _MODEL, _MIXTURE = "manifest.json", "model.json", "mixture.safetensors"
_NETWORK = "network.safetensors"  # instead of the mixture, if rows are drawn from a network
_FINE = "fine.safetensors"  # of models with a fine level only
_TRANSCRIPT = "transcript.json"  # of private models only
_EPOCH = (1980, 1, 1, 0, 0, 0)  # equal models are equal files
# What reading a file can end with that was changed or damaged.
_DAMAGE = (
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    ArithmeticError,
    RuntimeError,
    SafetensorError,
    MsgspecError,
    CutsError,
)
MAX_BYTES = {
    _MANIFEST: 1 << 16,
    _MODEL: 1 << 30,
    _MIXTURE: 8 << 30,
    _NETWORK: 8 << 30,
    _FINE: 8 << 30,
    _TRANSCRIPT: 1 << 30,
}  # of what a part unpacks to
MAX_SUM_ERROR = 1e-6  # how far probabilities may be from summing to one


@dataclass(frozen=True, slots=True)
class _Manifest:
    """What a file says it holds."""

    format: str
    version: Any = None
    sha256: Any = None  # by part


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Model:
    """All that drawing needs: the mixture over the codec's bins, and the program whose rules hold in every row.

    With a network, rows are drawn from that; the mixture then is a large sample of its components.
    """

    mixture: Mixture
    codec: Codec
    program: str  # in canonical form, placeholders filled
    spec: Spec  # the same bound to the codec's schema
    config: Config
    facts: Facts
    transcript: Transcript | None = None  # of a private model: all that is known of its rows
    fine: FineLevel | None = None  # draws the values inside bins; without one they are independent
    frame: Library | None = None  # the kind of frame that was fitted, if it was one
    network: Network | None = None  # that rows are drawn from, those that break a rule rejected

    def __post_init__(self) -> None:
        names = tuple(bins.column.name for bins in self.codec.columns)
        sizes = [bins.size for bins in self.codec.columns]
        if self.mixture.columns != names or [p.shape[1] for p in self.mixture.P] != sizes:
            raise ValueError("the mixture is not over the bins of the codec")

    def with_network(self, network: Network) -> Model:
        """The same with another network, and the mixture that stands for it."""
        return replace(self, network=network, mixture=settle_network(network, self.config, self.facts.seed))

    def save(self, path: Path | str) -> None:
        """Write the model to a `.synth` file, which `cuts sample` and `cuts.Synthesizer.load` read."""
        save(self, path)

    def __repr__(self) -> str:
        """The size of the model in one line: its numbers would fill the screen."""
        size = f"{len(self.codec.columns)} columns, {self.mixture.components} components"
        return f"<Model of {self.codec.schema.name}: {size}, fit error {self.facts.error:.2g}>"


def settle_network(network: Network, config: Config, seed: int) -> Mixture:
    """The mixture that stands for a network."""
    return settled(network, read_options(config, GeneratorOptions), seed)


def save(model: Model, path: Path | str) -> None:
    """Write a model to a file, whole or not at all."""
    with whole_or_nothing(Path(path)) as stream:
        _write(model, stream)


def file_hash(model: Model) -> str:
    """The SHA-256 of the file that `save` writes."""
    stream = _Hashing()
    _write(model, stream)
    return stream.hash.hexdigest()


class _Hashing:
    """A stream that keeps nothing but the hash of what is written to it."""

    def __init__(self) -> None:
        self.hash = hashlib.sha256()

    def write(self, data: Any) -> int:
        self.hash.update(data)
        return len(data)

    def flush(self) -> None:
        """Nothing waits."""


def _write(model: Model, stream: Any) -> None:
    parts = _written_parts(model)
    manifest = {"format": FORMAT, "version": VERSION, "sha256": {name: _hash(data) for name, data in parts.items()}}
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in {_MANIFEST: json.dumps(manifest, indent=1).encode(), **parts}.items():
            file.writestr(zipfile.ZipInfo(name, _EPOCH), data, zipfile.ZIP_DEFLATED)


def fingerprint(model: Model) -> str:
    """A hash of all a model consists of: models with the same one generate the same rows."""
    return _hash("".join(f"{name} {_hash(data)}\n" for name, data in _written_parts(model).items()).encode())


def _written_parts(model: Model) -> dict[str, bytes]:
    parts = {_MODEL: json.dumps(_model_data(model), indent=1, ensure_ascii=False).encode()}
    if model.network is not None:
        parts[_NETWORK] = tensors.save(model.network.tensors())
    else:
        named = {"w": model.mixture.w, **{f"P{i}": p for i, p in enumerate(model.mixture.P)}}
        parts[_MIXTURE] = tensors.save({name: tensor.detach().cpu().contiguous() for name, tensor in named.items()})
    if model.fine is not None:
        parts[_FINE] = arrays.save({name: np.ascontiguousarray(part) for name, part in model.fine.arrays().items()})
    if model.transcript is not None:
        parts[_TRANSCRIPT] = render(model.transcript).encode()
    return parts


def load(path: Path | str) -> Model:
    """The model in a file that `save` wrote."""
    path = Path(path)
    present(path, "model")
    try:
        stream = BytesIO(path.read_bytes())
    except OSError as error:
        raise usage_error("unreadable-file", f"{path} cannot be read: {error.strerror}") from None
    try:
        with zipfile.ZipFile(stream) as file:
            parts = _parts(file, path)
    except (zipfile.BadZipFile, zlib.error, KeyError, OSError, EOFError, ValueError, RuntimeError, MsgspecError):
        raise no_model(path) from None
    try:
        model = _model(json.loads(parts[_MODEL]), parts)
        if _TRANSCRIPT in parts:
            model = replace(model, transcript=transcript_from(json.loads(parts[_TRANSCRIPT])))
        if _FINE in parts:  # after the transcript: a private model has none
            model = replace(model, fine=_fine(parts[_FINE], model))
        return model
    except _DAMAGE:
        raise damaged_model(path) from None


def _parts(file: zipfile.ZipFile, path: Path) -> dict[str, bytes]:
    """What the file holds, as it was written; raises when it is not what the manifest says."""
    distribution = _NETWORK if _NETWORK in file.namelist() else _MIXTURE
    names = (_MODEL, distribution, *({_FINE, _TRANSCRIPT} & {*file.namelist()}))
    entries = {name: file.getinfo(name) for name in (_MANIFEST, *names)}
    readable = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
    if any(entry.file_size > MAX_BYTES[name] or entry.compress_type not in readable for name, entry in entries.items()):
        raise no_model(path)
    manifest = msgspec.json.decode(file.read(_MANIFEST), type=_Manifest)
    if manifest.format != FORMAT:
        raise no_model(path)
    if manifest.version != VERSION:
        raise newer_model(path)
    parts = {name: file.read(name) for name in names}
    if manifest.sha256 != {name: _hash(data) for name, data in parts.items()}:
        raise damaged_model(path)
    return parts


def _model_data(model: Model) -> dict[str, Any]:
    return {
        "program": model.program,
        "codec": codec_data(model.codec),
        "config": {name: value for name, value in asdict(model.config).items() if value not in (None, {})},
        "facts": _facts_data(model.facts),
        **({} if model.frame is None else {"frame": model.frame}),
    }


def _model(data: Mapping[str, Any], parts: Mapping[str, bytes]) -> Model:
    codec = codec_from(data["codec"])
    if not isinstance(data["program"], str):
        raise ValueError("the program is not a string")
    spec = bind(parse(data["program"]), codec.schema)
    frame = msgspec.convert(data.get("frame"), Library | None)
    config, facts = config_from(data["config"]), _facts(data["facts"])
    columns = tuple(bins.column.name for bins in codec.columns)
    if _NETWORK in parts:
        network = network_from(columns, tensors.load(parts[_NETWORK]))
        mixture = settle_network(network, config, facts.seed)
        return Model(mixture, codec, data["program"], spec, config, facts, frame=frame, network=network)
    named = tensors.load(parts[_MIXTURE])
    P = tuple(_distributions(named[f"P{i}"]) for i in range(len(columns)))
    mixture = Mixture(columns, _distributions(named["w"][None])[0], P)
    return Model(mixture, codec, data["program"], spec, config, facts, frame=frame)


def _fine(data: bytes, model: Model) -> FineLevel:
    kind = find_fine(model.config)
    if kind is None or model.transcript is not None:
        raise ValueError("the model has no fine level")
    return kind.read(arrays.load(data), model.codec)


def _distributions(table: torch.Tensor) -> torch.Tensor:
    """The table; a `ValueError` unless each of its rows is a distribution."""
    if table.dtype != torch.float64 or table.dim() != 2 or table.numel() == 0:
        raise ValueError("a table of the mixture is not a float64 matrix")
    if not (table >= 0).all() or not (table.sum(1) - 1.0).abs().max() <= MAX_SUM_ERROR:
        raise ValueError("a table of the mixture is not a distribution")
    return table


def _facts_data(facts: Facts) -> Any:
    """The facts as they are written: without times, so that equal models are equal files."""
    data = {name: value for name, value in asdict(facts).items() if not name.endswith("_seconds")}
    if facts.acceptance is None:
        del data["acceptance"]
    return _plain(data)


def _facts(data: Any) -> Facts:
    facts = msgspec.convert(data, Facts, strict=False)  # so that "nan" is a number
    if facts.rows < 1 or _facts_data(facts) != data:  # it was read as something else than it says
        raise ValueError("the facts are not those of a model")
    return facts


def _plain(value: Any) -> Any:
    """Facts as JSON values: an undefined number is the string "nan"."""
    if isinstance(value, dict):
        return {name: _plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    return "nan" if isinstance(value, float) and isnan(value) else value


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def no_model(path: Path) -> CutsError:
    """A file that is not a model."""
    title = f"{path} is not a model of `cuts`, or it is damaged"
    return CutsError([Diagnostic("bad-model", title, help="pass a file that `cuts fit -o MODEL.synth` wrote")])


def damaged_model(path: Path) -> CutsError:
    """A file that was changed after it was written."""
    return CutsError([Diagnostic("bad-model", f"{path} is damaged", help="copy it again, or fit the model again")])


def newer_model(path: Path) -> CutsError:
    """A file of a later version."""
    title = f"{path} was written by a newer version of `cuts`"
    return CutsError([Diagnostic("bad-model", title, help="update: `pip install --upgrade cuts`")])
