"""On a terminal there are colours, a bar and tables that fit; piped output is plain."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest

PROGRAM = """SYNTHESIZE: "people.csv";
    ENFORCE: age >= 18;
    ENFORCE: age > 60 IMPLIES sex == "female" OR sex == "male" OR sex == "other" OR sex == "not stated in the form";
    ENFORCE: E[age | sex == "female"] == E[age | sex == "male"] WITHIN 40;
    ENFORCE: age < 70;
END;
"""
ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
FAST = "steps = 20\ncomponents = 5\nsmoothing = 0.0\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    sexes = ["female", "male", "other", "not stated in the form"]
    rows = "".join(f"{18 + 7 * number % 60},{sexes[number % 4]}\n" for number in range(200))
    (tmp_path / "people.csv").write_text(f"age,sex\n{rows}")
    (tmp_path / "p.cuts").write_text(PROGRAM)
    (tmp_path / "wrong.cuts").write_text(PROGRAM.replace("age >= 18", "agee >= 18"))
    (tmp_path / "fast.toml").write_text(FAST)
    return tmp_path


def environment(**more: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "COLUMNS", "FORCE_COLOR")}
    return {**kept, "TERM": "xterm-256color", **more}


def on_terminal(words: list[str], folder: Path, width: int = 80, **more: str) -> tuple[int, str]:
    """The exit code of a command, and all that it wrote to a terminal of that width."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, width, 0, 0))
    command = [sys.executable, "-m", "cuts", *words]
    process = subprocess.Popen(
        command, cwd=folder, stdin=theirs, stdout=theirs, stderr=theirs, env=environment(**more), close_fds=True
    )
    os.close(theirs)
    written = bytearray()
    while True:
        try:
            block = os.read(ours, 4096)
        except OSError:  # on Linux the end of a pseudo-terminal is an error
            break
        if not block:
            break
        written += block
    os.close(ours)
    return process.wait(), written.decode().replace("\r\n", "\n")


def piped(words: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "cuts", *words]
    return subprocess.run(command, cwd=folder, env=environment(), capture_output=True, text=True)


def test_a_run_on_a_terminal_shows_a_bar_and_ends_with_a_table_of_verdicts(folder: Path) -> None:
    code, text = on_terminal(["run", "p.cuts", "--config", "fast.toml", "-o", "out.csv"], folder)
    plain = ESCAPE.sub("", text)
    assert code in (0, 1), plain  # so short a fit may fail
    assert "fitting ━" in plain
    assert re.search(r"elapsed \d:\d\d:\d\d", plain)
    assert "\x1b[32mholds\x1b[0m" in text
    table = plain[plain.rindex("line", 0, plain.rindex("verdict")) :]
    assert table.rstrip().endswith("200 rows written to out.csv")
    assert re.search(r"^ +2 +holds +100\.00 % of.* every row +age >= 18 *$", table, re.MULTILINE)
    assert "4 hold, 0 fail" in table


@pytest.mark.parametrize("width", [60, 120])
def test_verdicts_fit_the_width_of_the_terminal(folder: Path, width: int) -> None:
    code, text = on_terminal(["verify", "p.cuts", "people.csv"], folder, width)
    assert code == 1
    assert "\x1b[1;31mFAILS\x1b[0m" in text
    lines = ESCAPE.sub("", text).splitlines()
    assert max(map(len, lines[lines.index("") + 1 :])) <= width
    words = " ".join(" ".join(lines).split())
    assert "3 hold, 1 fail" in words
    assert "stated in the form" in words, "a long command is wrapped, not cut"


def test_no_color_leaves_the_table_without_colours(folder: Path) -> None:
    code, text = on_terminal(["verify", "p.cuts", "people.csv", "--quiet"], folder, NO_COLOR="1")
    assert code == 1
    assert "\x1b[3" not in text
    assert "\x1b[1" not in text
    assert "FAILS" in text


def test_errors_are_coloured_on_a_terminal_only(folder: Path) -> None:
    code, text = on_terminal(["plan", "wrong.cuts"], folder)
    assert code == 1
    assert "\x1b[1;31merror\x1b[0m[unknown-column]" in text
    assert re.search("\x1b\\[31m +\\| +\\^\\^\\^\\^ not in the schema\x1b\\[0m", text)
    done = piped(["plan", "wrong.cuts"], folder)
    assert "\x1b" not in done.stdout + done.stderr
    assert ESCAPE.sub("", text).strip() == done.stderr.strip()


def test_piped_verdicts_are_plain_and_of_any_width(folder: Path) -> None:
    done = piped(["verify", "p.cuts", "people.csv"], folder)
    assert done.stderr == ""
    assert "\x1b" not in done.stdout
    assert done.stdout.startswith("line  verdict  measured")
    assert max(map(len, done.stdout.splitlines())) > 120


def test_json_on_a_terminal_has_no_colours(folder: Path) -> None:
    code, text = on_terminal(["verify", "p.cuts", "people.csv", "--quiet", "--format", "json"], folder)
    assert code == 1
    assert "\x1b" not in text
    assert text.startswith("{")


@pytest.mark.parametrize(
    ("words", "key"),
    [
        (["explain", "--format", "json"], '"codes"'),
        (["explain", "bad-schema", "--format", "json"], '"page"'),
        (["fmt", "p.cuts", "--check", "--format", "json"], '"canonical"'),
    ],
)
def test_commands_that_print_facts_print_them_as_json(folder: Path, words: list[str], key: str) -> None:
    done = piped(words, folder)
    assert done.returncode == (0 if words[0] == "explain" else 1)
    assert done.stdout.startswith("{")
    assert key in done.stdout
    assert done.stderr == ""


def test_long_sentences_break_between_words(folder: Path) -> None:
    sentence = "a sentence that is much longer than the terminal is wide, and so it has to be broken somewhere"
    code = f"from cuts.cli.terminal import print_text; print_text({sentence!r}); print_text('a  ' * 30)"
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 40, 0, 0))
    subprocess.run([sys.executable, "-c", code], stdin=theirs, stdout=theirs, env=environment(), check=True)
    os.close(theirs)
    lines = os.read(ours, 4096).decode().split("\r\n")
    os.close(ours)
    assert lines[:3] == [
        "a sentence that is much longer than the",
        "terminal is wide, and so it has to be",
        "broken somewhere",
    ]
    assert len(lines[3]) > 80, "a row of a table that cannot fit is left as it is"
