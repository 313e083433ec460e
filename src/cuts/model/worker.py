"""The program of a worker process: it loads a model once, then makes what the messages on its standard input ask for.

Started by `model/workers.py` as `python -m cuts.model.worker`. It ends when its input ends, and ignores Ctrl-C, which
reaches all processes of a terminal: the process that started it decides.
"""

from __future__ import annotations

import os
import signal
import traceback
from pathlib import Path
from typing import Any, BinaryIO

from cuts.model import store
from cuts.model.drawing import Drawer, Drawing, Part, made_data
from cuts.model.messages import pack_table, receive, send, unpack_form
from cuts.text.diagnostic import CutsError

_FIELDS = ("code", "title", "help", "exit_code")  # of a diagnostic that is not about a program's text


def main() -> None:
    """Answer messages until there are no more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = os.getppid()
    with os.fdopen(os.dup(0), "rb") as asked, os.fdopen(os.dup(1), "wb") as answers:
        os.dup2(2, 1)  # what a library prints is not an answer
        try:
            _serve(asked, answers, parent)
        except (EOFError, BrokenPipeError):
            return


def _serve(asked: BinaryIO, answers: BinaryIO, parent: int) -> None:
    setup, form = receive(asked)
    drawer: Drawer | None = None

    def drawn(rows: int) -> None:
        if os.getppid() != parent:  # nobody waits any more
            raise EOFError
        send(answers, {"drawn": rows})

    while True:
        job, _ = receive(asked)
        content: Any = b""
        try:
            drawer = drawer or Drawer(store.load(setup["model"]), Drawing(**setup["drawing"]), unpack_form(form))
            if "chunk" in job:
                table, made = drawer.chunk(job["chunk"])
                content = pack_table(table.arrow)
            else:
                made = drawer.part(Part(**job["part"]), Path(job["path"]), drawn)
            answer: dict[str, Any] = {"made": made_data(made)}
        except (EOFError, BrokenPipeError):
            raise
        except CutsError as error:
            answer = {"errors": [{name: getattr(each, name) for name in _FIELDS} for each in error.diagnostics]}
        except Exception:
            answer = {"failed": traceback.format_exc()}
        send(answers, answer, content)


if __name__ == "__main__":
    main()
