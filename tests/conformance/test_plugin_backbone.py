"""A backbone of another package: one module and an entry point are enough for `cuts run` to fit with it."""

from __future__ import annotations

from pathlib import Path

import cuts
from plugin import make_plugin, run_cuts

SOURCE = str(Path(cuts.__file__).parents[1])

MODULE = '''
"""One component per value of the first column."""

from dataclasses import dataclass
from typing import Annotated

import torch
from msgspec import Meta

from cuts.model.backbone import backbone, read_options
from cuts.model.mixture import Mixture


@dataclass(frozen=True)
class Options:
    per_value: Annotated[int, Meta(ge=1, le=9, description="a whole number from 1 to 9")] = 1


@backbone("mine", options=Options, thread_safe=True)
class Mine:
    learning_rate = 0.1

    def __init__(self, start):
        options = read_options(start.config, Options)
        self.columns = tuple(start.one_way)
        first, *others = start.one_way.values()
        count = options.per_value * len(first)
        random = torch.Generator().manual_seed(start.seed)
        self.logits = [torch.randn(count, len(p), generator=random).requires_grad_() for p in (first, *others)]
        self.weights = torch.zeros(count).requires_grad_()
        self.hint = 3.0 * torch.eye(len(first)).repeat(options.per_value, 1)

    def parameters(self):
        return [self.weights, *self.logits]

    def mixture(self):
        first, *others = self.logits
        P = tuple(torch.softmax(logits, 1) for logits in (first + self.hint, *others))
        return Mixture(self.columns, torch.softmax(self.weights, 0), P)

    def settle(self):
        with torch.no_grad():
            mix = self.mixture()
        P = tuple(p.double() / p.double().sum(1, keepdim=True) for p in mix.P)
        return Mixture(mix.columns, mix.w.double() / mix.w.double().sum(), P)
'''


SETTINGS = """
backbone = "mine"
steps = 150
smoothing = 0.0

[backbone_options]
per_value = 2
"""


def test_a_backbone_of_another_package_fits_a_table(tmp_path: Path) -> None:
    env = make_plugin(tmp_path / "site", "cuts.backbones", "mine_backbone", MODULE)
    rows = [("a", "x", 1), ("a", "x", 2), ("b", "y", 3), ("c", "y", 1)] * 15
    (tmp_path / "people.csv").write_text("\n".join(["kind,side,size", *(f"{k},{s},{n}" for k, s, n in rows)]) + "\n")
    (tmp_path / "people.cuts").write_text("SYNTHESIZE: people;\n    ENFORCE: side == x IMPLIES size < 3;\nEND;\n")
    (tmp_path / "fit.toml").write_text(SETTINGS)
    words = ["run", "people.cuts", "--data", "people.csv", "-n", "40", "--config", "fit.toml", "-o", "out.csv"]
    output, code = run_cuts(*words, folder=tmp_path, env=env)
    assert code == 0, output
    header, *rows = (tmp_path / "out.csv").read_text().splitlines()
    assert header == "kind,side,size"
    assert len(rows) == 40
    cells = [row.split(",") for row in rows]
    assert {kind for kind, _, _ in cells} <= {"a", "b", "c"}
    assert all(int(size) < 3 for _, side, size in cells if side == "x")
