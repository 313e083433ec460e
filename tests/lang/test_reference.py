"""Every program of the paper parses, binds, prints and is read back as the same tree."""

from __future__ import annotations

import pytest

from cuts.lang.binder import bind_all
from cuts.lang.parser import parse
from cuts.lang.placeholders import fill
from cuts.lang.printer import render
from reference import SCHEMAS, programs

PROGRAMS = programs()


@pytest.mark.parametrize(("data", "text"), PROGRAMS, ids=range(len(PROGRAMS)))
def test_a_program_of_the_paper_is_understood(data: str, text: str) -> None:
    program = parse(text)
    assert parse(render(program)) == program
    filled = fill(program, {"param1": 0.01} if "<param1>" in text else {})
    spec, diagnostics = bind_all(filled, SCHEMAS[data])
    assert spec is not None, diagnostics
    assert len(spec.commands) == len(program.commands)
    assert {d.severity for d in diagnostics} <= {"warning"}


def test_the_misspelt_accuracy_is_understood_with_a_warning() -> None:
    program = parse("SYNTHESIZE: Adult; MINIMIZE: UTILITY: DOWNSTREAM_ACCUARCY(features=all, target=sex); END;")
    _, diagnostics = bind_all(program, SCHEMAS["Adult"])
    assert [d.code for d in diagnostics] == ["deprecated-name"]
    assert "DOWNSTREAM_ACCURACY(" in render(program)
