"""`import cuts` offers few names, all of them documented, and loads torch only when it is needed."""

from __future__ import annotations

import inspect
import pydoc
import subprocess
import sys

import pytest

import cuts


def test_dir_lists_the_public_names_and_nothing_else() -> None:
    assert {name for name in dir(cuts) if not name.startswith("__")} == {*cuts.__all__}
    assert {"run", "Synthesizer", "RunResult", "build"} <= {*dir(cuts)}
    assert sorted(cuts.__all__) == sorted(set(cuts.__all__))


@pytest.mark.parametrize("name", cuts.__all__)
def test_every_public_name_exists_and_is_documented(name: str) -> None:
    found = getattr(cuts, name)
    assert inspect.getdoc(found)
    assert cuts.__doc__ is not None
    if inspect.isfunction(found):
        assert f"`{name}`" in cuts.__doc__
        signature = inspect.signature(found)
        assert signature.return_annotation is not inspect.Signature.empty


def test_a_name_that_does_not_exist_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'cuts' has no attribute 'rnu'"):
        _ = cuts.rnu


@pytest.mark.parametrize("topic", [cuts, cuts.run, cuts.Synthesizer, cuts.build])
def test_help_starts_with_what_the_thing_does(topic: object) -> None:
    text = pydoc.plain(pydoc.render_doc(topic))
    assert "ENFORCE" in text or "enforce" in text, "help shows an example"
    assert len(text.splitlines()) > 10


def test_help_of_the_package_names_the_lazy_parts_too() -> None:
    text = pydoc.plain(pydoc.render_doc(cuts))
    for name in ("run", "Synthesizer", "RunResult"):
        assert name in text
    assert "VERSION\n    0." in text


def test_the_tour_and_the_builder_need_one_import() -> None:
    code = (
        "import sys, cuts\n"
        "assert 'torch' not in sys.modules\n"
        "print(cuts.build.c.age >= 18)\n"
        "assert 'torch' not in sys.modules\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("age >= 18\n", "")
