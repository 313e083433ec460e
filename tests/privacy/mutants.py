"""Modules with one line changed: bugs put into the real code, to see which checks notice them."""

from __future__ import annotations

import importlib
import sys
from dataclasses import dataclass
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from types import CodeType, ModuleType
from typing import Any


@dataclass(frozen=True)
class Mutant:
    """A module of the package in which `old`, which stands there once, became `new`."""

    name: str
    module: str
    old: str
    new: str

    def load(self) -> ModuleType:
        """The changed module; whatever else imports it keeps the one without the bug."""
        path = importlib.import_module(self.module).__file__
        assert path is not None
        name = f"mutant_of_{self.module.replace('.', '_')}"
        loader = _Changing(name, path, self)
        spec = spec_from_loader(name, loader)
        assert spec is not None
        made = sys.modules[name] = module_from_spec(spec)  # dataclasses look their module up
        loader.exec_module(made)
        return made


class _Changing(SourceFileLoader):
    def __init__(self, name: str, path: str, mutant: Mutant) -> None:
        super().__init__(name, path)
        self._mutant = mutant

    def get_code(self, fullname: str) -> CodeType:
        source = self.get_data(self.path).decode()
        assert source.count(self._mutant.old) == 1, f"{self._mutant.name}: the line to change is not there, or twice"
        code: Any = self.source_to_code(source.replace(self._mutant.old, self._mutant.new).encode(), self.path)
        assert isinstance(code, CodeType)
        return code
