"""The peers of the benchmarks: their versions, their environments, and a run of one in a process of its own.

    python -m benchmarks.peers.environments --check NAME... [--folder .venv-peers]

makes the environment of each peer, if it is not there, and runs the peer on a small made-up table.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

HERE = Path(__file__).parent
FOLDER = HERE.parents[1] / ".venv-peers"
ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "NUMEXPR_NUM_THREADS": "1",
    "NUMBA_NUM_THREADS": "1",
    "POLARS_MAX_THREADS": "1",
    "LOKY_MAX_CPU_COUNT": "1",
    "JAX_PLATFORMS": "cpu",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
    "HF_HUB_OFFLINE": "1",
    "CUDA_VISIBLE_DEVICES": "",
}
WALL_FACTOR = 3.0  # seconds on the clock per CPU second allowed
FAILURE_LINES = 5


@dataclass(frozen=True)
class Environment:
    """Packages that are installed together; the `alone` ones without what they say they need."""

    name: str
    requirements: tuple[str, ...]
    alone: tuple[str, ...] = ()

    @property
    def stamp(self) -> str:
        """What a finished environment says it holds."""
        return "\n".join([*self.requirements, *(f"--no-deps {one}" for one in self.alone)]) + "\n"


@dataclass(frozen=True)
class Peer:
    """A generator, how to run it, and the options that it `needs` beside those of every peer.

    `settings` are the options that make this peer of a script that several peers share.
    """

    name: str
    title: str
    environment: Environment
    script: str
    licence: str
    needs: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()

    @property
    def requirements(self) -> tuple[str, ...]:
        """The pinned packages of the peer."""
        return self.environment.requirements + self.environment.alone


@dataclass(frozen=True)
class Run:
    """What a run took, and the end of what it said if it failed."""

    cpu_seconds: float
    peak_mb: float
    failed: str | None


TORCH = "torch==2.13.0"  # without this pin pip takes a build with gigabytes of CUDA
TREES = Environment("trees", ("scikit-learn==1.9.1", "xgboost-cpu==3.2.0", "pandas==3.1.1"))
CTGAN = Environment("ctgan", ("ctgan==0.12.1", TORCH))
# arfpy calls functions that newer versions of numpy and pandas no longer have.
ARF = Environment("arf", ("arfpy==0.1.1", "numpy==2.2.6", "pandas==2.3.3", "scikit-learn==1.6.1"))
# mostlyai-engine asks for torchvision and torchaudio, which have no CPU build and which its tables do not need.
MOSTLY = Environment(
    "mostly",
    (
        TORCH,
        "accelerate==1.15.0",
        "datasets==5.2.0",
        "huggingface-hub==2.4.0",
        "joblib==1.6.0",
        "json-repair==0.64.2",
        "numpy==2.4.6",
        "opacus==1.6.0",
        "pandas==3.1.1",
        "peft==0.21.2",
        "psutil==5.9.8",
        "pyarrow==26.0.1",
        "scikit-learn==1.9.1",
        "tokenizers==0.23.3",
        "transformers==5.23.0",
        "xgrammar==0.2.8",
    ),
    alone=("mostlyai-engine==2.7.3",),
)
SMARTNOISE = Environment("smartnoise", ("smartnoise-synth==1.0.8", TORCH))
FAIR_TREES = Environment("tabfairgdt", ("tabfairgdt==0.1.1",))
SDV = Environment("sdv", ("sdv==2.0.0", TORCH))

_FAIR = ("--protected", "--desired")
_PRIVATE = ("--epsilon", "--delta")
PEERS = {
    peer.name: peer
    for peer in (
        Peer("ctgan", "CTGAN", CTGAN, "ctgan_tvae.py", "BUSL-1.1", ("--epochs",), ("--model", "ctgan")),
        Peer("tvae", "TVAE", CTGAN, "ctgan_tvae.py", "BUSL-1.1", ("--epochs",), ("--model", "tvae")),
        Peer("mostly", "MOSTLY AI TabularARGN", MOSTLY, "mostly.py", "Apache-2.0", ("--epochs",)),
        Peer("arf", "Adversarial random forest", ARF, "arf.py", "MIT"),
        Peer("cart", "Sequential CART", TREES, "cart.py", "ours, on scikit-learn (BSD-3-Clause)"),
        Peer(
            "mst", "MST (smartnoise-synth)", SMARTNOISE, "private_marginals.py", "MIT", _PRIVATE, ("--mechanism", "mst")
        ),
        Peer(
            "aim", "AIM (smartnoise-synth)", SMARTNOISE, "private_marginals.py", "MIT", _PRIVATE, ("--mechanism", "aim")
        ),
        Peer("tabfairgdt", "TabFairGDT", FAIR_TREES, "fair_trees.py", "MIT", _FAIR),
        Peer("massaging", "Massaging", TREES, "massaging.py", "ours, on XGBoost (Apache-2.0)", _FAIR),
        Peer("sdv_rules", "SDV, Gaussian copula", SDV, "sdv_rules.py", "BUSL-1.1", ("--rule",)),
    )
}


def python_of(peer: Peer, folder: Path = FOLDER) -> Path:
    """The Python of the peer."""
    return environment_python(peer.environment, folder)


def environment_python(environment: Environment, folder: Path = FOLDER) -> Path:
    """The Python of an environment, which is made on first use, and again when its pins change."""
    home = folder / environment.name
    python = home / "bin" / "python"
    stamp = home / "requirements-installed.txt"
    if stamp.is_file() and stamp.read_text() == environment.stamp:
        return python
    subprocess.run([sys.executable, "-m", "venv", "--clear", str(home)], check=True)
    pip = [str(python), "-m", "pip", "install", "--quiet"]
    subprocess.run([*pip, *environment.requirements], check=True)
    if environment.alone:
        subprocess.run([*pip, "--no-deps", *environment.alone], check=True)
    stamp.write_text(environment.stamp)
    return python


def run_peer(peer: Peer, python: Path, arguments: Sequence[str], cap_seconds: float) -> Run:
    """Run the script of the peer on one thread, stopped after `cap_seconds` of CPU time.

    The wall clock may take `WALL_FACTOR` times as long. The CPU seconds are those of the process and of the children
    that it waited for; the peak memory is that of the process alone.
    """

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (int(cap_seconds), int(cap_seconds) + 5))

    command = [str(python), str(HERE / peer.script), *peer.settings, *arguments]
    with tempfile.TemporaryFile("w+") as said:
        child = subprocess.Popen(
            command,
            stdout=subprocess.DEVNULL,
            stderr=said,
            env={**os.environ, **ONE_THREAD},
            preexec_fn=limit,
            start_new_session=True,
        )
        status, usage, peak = _watched(child.pid, cap_seconds * WALL_FACTOR)
        with suppress(ProcessLookupError):  # workers that it left behind
            os.killpg(child.pid, signal.SIGKILL)
        child.returncode = os.waitstatus_to_exitcode(status)
        failed = _failure(child.returncode, said, cap_seconds)
    return Run(usage.ru_utime + usage.ru_stime, peak, failed)


def _watched(pid: int, wall_seconds: float) -> tuple[int, resource.struct_rusage, float]:
    """Exit status, usage and peak memory in MB of a child, killed with its own children if it takes too long."""
    end = time.monotonic() + wall_seconds
    peak = 0.0
    while True:
        ended, status, usage = os.wait4(pid, os.WNOHANG)
        if ended:
            # `ru_maxrss` begins at the size of this process, so it is the answer only where /proc is missing.
            return status, usage, peak or usage.ru_maxrss / (1024**2 if sys.platform == "darwin" else 1024)
        peak = max(peak, _peak_so_far(pid))
        if time.monotonic() > end:
            os.killpg(pid, signal.SIGKILL)
        time.sleep(0.05)


def _peak_so_far(pid: int) -> float:
    """Peak memory of a process in MB until now; 0 if it cannot be known."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0.0
    return next((float(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith("VmHWM")), 0.0)


def _failure(code: int, said: IO[str], cap_seconds: float) -> str | None:
    """Why a run gave no rows; nothing if it did."""
    if code == 0:
        return None
    if code == -signal.SIGXCPU:
        return f"stopped after {cap_seconds:g} CPU seconds"
    if code == -signal.SIGKILL:
        return f"stopped: {cap_seconds * WALL_FACTOR:g} seconds on the clock, or out of memory"
    said.seek(0)
    lines = [line.rstrip() for line in said if line.strip()]
    return "\n".join(lines[-FAILURE_LINES:]) or f"exit code {code}"


def main() -> None:
    """Run the named peers on a small table and say what happened."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", nargs="+", choices=list(PEERS), required=True, metavar="NAME")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="folder of the environments")
    options = parser.parse_args()
    for name in options.check:
        print(name, _check(PEERS[name], python_of(PEERS[name], options.folder)), flush=True)


def _check(peer: Peer, python: Path, rows: int = 300) -> str:
    """What the peer made of a small table with the columns that its options name."""
    rng = random.Random(0)
    values = {
        "marital_status": ["Divorced", "Never_married", "Married"],
        "relationship": ["Husband", "Wife", "Other"],
        "sex": ["Female", "Male"],
        "salary": ["<=50K", ">50K"],
    }
    wedded = {"Married": ["Husband", "Wife"]}  # so that the real rows keep rule I2
    lines = [["age", "gain", *values]]
    for _ in range(rows):
        status = rng.choice(values["marital_status"])
        relation = rng.choice(wedded.get(status, ["Other"]))
        age = rng.randint(17, 90)
        salary = values["salary"][rng.random() < age / 100]
        lines.append([str(age), f"{rng.expovariate(1):.2f}", status, relation, rng.choice(values["sex"]), salary])
    meta = {
        "label": "salary",
        "task": "classification",
        "categories": list(values),
        "ranges": {"age": [17, 90], "gain": [0, 12]},
        "values": values,
    }
    extra = {
        "--epsilon": "1",
        "--delta": "1e-9",
        "--protected": "sex",
        "--desired": ">50K",
        "--rule": "I2",
        "--epochs": "2",
    }
    with tempfile.TemporaryDirectory() as place:
        train, out, about = Path(place, "train.csv"), Path(place, "out.csv"), Path(place, "meta.json")
        train.write_text("\n".join(map(",".join, lines)) + "\n")
        about.write_text(json.dumps(meta))
        asked = ["--train", str(train), "--meta", str(about), "--out", str(out), "--rows", str(rows), "--seed", "1"]
        wanted = [word for option in peer.needs for word in (option, extra[option])]
        run = run_peer(peer, python, [*asked, *wanted], cap_seconds=600)
        made = len(out.read_text().splitlines()) - 1 if out.is_file() else 0
        return f"{made} rows, {run.cpu_seconds:.1f} CPU s, {run.peak_mb:.0f} MB, {run.failed or 'ok'}"


if __name__ == "__main__":
    main()
