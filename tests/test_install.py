"""The wheel and the source archive install in clean environments, on every supported Python that this machine has.

Without torch, which is large: all that does not fit or sample must work without it. `test_package.py` runs the rest.
"""

from __future__ import annotations

import email
import os
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

import cuts

ROOT = Path(__file__).parent.parent
SUPPORTED = ("3.11", "3.12", "3.13")
PROGRAM = "SYNTHESIZE: german; ENFORCE: A13 > 30; END;"

COMMANDS = """
import importlib.metadata
import sys
import cuts
from cuts.cli import app

for words in (
    "check p.cuts",
    "plan p.cuts",
    "explain contradiction",
    "datasets",
    "datasets german -o german.csv",
    "verify p.cuts german.csv",
    "schema show german.csv",
    "fmt p.cuts",
):
    code = app(words.split(), standalone_mode=False)
    assert code in ((1,) if words.startswith("verify") else (None, 0)), (words, code)
assert "torch" not in sys.modules
print("imported", cuts.build.c.age > 1, cuts.__version__ == importlib.metadata.version("cuts"))
"""

pytestmark = pytest.mark.packages


def pythons() -> dict[str, str]:
    """The interpreters to test, by version: the running one, and others of the supported versions that pyenv has."""
    versions = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    found = {}
    for version in SUPPORTED:
        installed = sorted(versions.glob(f"{version}.*/bin/python"))
        if installed:
            found[version] = str(installed[-1])
    return {**found, f"{sys.version_info.major}.{sys.version_info.minor}": sys.executable}


PYTHONS = pythons()


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel and the source archive."""
    folder = tmp_path_factory.mktemp("dist")
    build(ROOT, folder)
    return folder


def build(root: Path, folder: Path, *options: str) -> None:
    command = [sys.executable, "-m", "hatchling", "build", *options, "-d", str(folder)]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def wheel_in(folder: Path) -> Path:
    (wheel,) = folder.glob("*.whl")
    return wheel


def contents(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def requirements(wheel: Path) -> list[str]:
    """What the wheel needs at run time, without torch and without the extras."""
    found = contents(wheel)
    metadata = email.message_from_bytes(found[next(name for name in found if name.endswith("/METADATA"))])
    needed = [line for line in metadata.get_all("Requires-Dist", []) if "extra ==" not in line]
    assert any(line.startswith("torch") for line in needed)
    return [line for line in needed if not line.startswith("torch")]


def unpacked(built: Path, folder: Path) -> Path:
    (archive,) = built.glob("*.tar.gz")
    with tarfile.open(archive) as tar:
        tar.extractall(folder, filter="data")
    (root,) = folder.iterdir()
    return root


def test_both_archives_have_the_one_version_the_licence_and_the_types(built: Path, tmp_path: Path) -> None:
    wheel = wheel_in(built)
    assert wheel.name.startswith(f"cuts-{cuts.__version__}-")
    names = contents(wheel).keys()
    info = f"cuts-{cuts.__version__}.dist-info"
    assert {f"{info}/licenses/LICENSE", f"{info}/licenses/NOTICE", "cuts/py.typed"} <= names
    assert not [name for name in names if name.startswith(("tests/", "docs/")) or "__pycache__" in name]
    root = unpacked(built, tmp_path)
    assert root.name == f"cuts-{cuts.__version__}"
    for name in ("LICENSE", "NOTICE", "README.md", "CHANGELOG.md", "pyproject.toml", "src/cuts/py.typed"):
        assert (root / name).is_file(), name
    assert "version" in tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dynamic"]


def test_the_source_archive_builds_the_same_wheel(built: Path, tmp_path: Path) -> None:
    root = unpacked(built, tmp_path / "source")
    build(root, tmp_path / "again", "-t", "wheel")
    assert contents(wheel_in(tmp_path / "again")) == contents(wheel_in(built))


def test_the_source_archive_has_what_its_tests_need(built: Path, tmp_path: Path) -> None:
    root = unpacked(built, tmp_path)
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    if tracked.returncode == 0 and tracked.stdout:
        needed = re.compile(r"(src|tests|docs|examples|tools|benchmarks)/|[^/]+$")
        expected = {name for name in tracked.stdout.splitlines() if needed.match(name) and (ROOT / name).exists()}
        present = {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()}
        assert expected - present == set()
    chosen = ["tests/test_package.py", "tests/test_docs_tools.py", "tests/lang/test_parser.py"]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *chosen, "-k", "not wheel"]
    environment = {**os.environ, "PYTHONPATH": str(root / "src")}
    done = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("version", sorted(PYTHONS))
def test_an_installed_wheel_works_without_torch(built: Path, tmp_path: Path, version: str) -> None:
    subprocess.run([PYTHONS[version], "-m", "venv", str(tmp_path / "env")], check=True)
    binaries = tmp_path / "env" / ("Scripts" if os.name == "nt" else "bin")
    wheel = wheel_in(built)
    pip = [str(binaries / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile"]
    needed = [*requirements(wheel), "-c", str(ROOT / "constraints.txt")]
    for words in ([*pip, *needed], [*pip, "--no-deps", str(wheel)]):
        done = subprocess.run(words, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    work = tmp_path / "work"
    work.mkdir()
    (work / "p.cuts").write_text(PROGRAM)
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    shown = subprocess.run([binaries / "cuts", "--version"], cwd=work, env=environment, capture_output=True, text=True)
    assert (shown.stdout, shown.stderr) == (f"cuts {cuts.__version__}\n", "")
    run = subprocess.run(
        [binaries / "python", "-c", COMMANDS], cwd=work, env=environment, capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr
    for expected in ("ok: 1 command", "A13 > 30", "# contradiction", "adult", "FAILS", "imported age > 1 True"):
        assert expected in run.stdout, run.stdout
    assert (work / "p.cuts").read_text() == cuts.render(cuts.parse(PROGRAM))
