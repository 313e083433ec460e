"""A client of the language server: JSON-RPC over the pipes of a real `cuts lsp`, with a time limit for every answer.

The server needs pygls, which cannot be installed beside dp-accounting: they want different versions of attrs. It has a
folder of its own in the environment, `lsp`, which comes first on the path of the server.
"""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
from pathlib import Path
from types import TracebackType
from typing import Any

ROOT = Path(__file__).parents[2]
LSP = Path(sys.prefix) / "lsp"
SECONDS = 60  # to answer; the first answer waits for imports


class Client:
    """A running server; questions in, answers out."""

    def __init__(self, *words: str, folder: Path) -> None:
        assert LSP.is_dir(), f"{LSP} is missing: run `make test`, which installs pygls there"
        path = os.pathsep.join([str(LSP), str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
        self._server = subprocess.Popen(
            [sys.executable, "-W", "default", "-m", "cuts", "lsp", *words],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self._messages: queue.Queue[Any] = queue.Queue()
        self._number = 0
        threading.Thread(target=self._read, daemon=True).start()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._server.poll() is None:
            self._server.kill()
        self._server.wait()
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        self._server.stdin.close()
        self._server.stdout.close()

    def start(self, folder: Path) -> Any:
        """Greet the server; its capabilities."""
        answer = self.ask("initialize", {"processId": None, "rootUri": folder.as_uri(), "capabilities": {}})
        self.tell("initialized", {})
        return answer["capabilities"]

    def open(self, path: Path, text: str) -> list[Any]:
        """Open a program; the problems that are published for it."""
        document = {"uri": path.as_uri(), "languageId": "cuts", "version": 1, "text": text}
        self.tell("textDocument/didOpen", {"textDocument": document})
        return self.problems(path)

    def change(self, path: Path, text: str, version: int) -> None:
        """Replace the text of a program."""
        document = {"uri": path.as_uri(), "version": version}
        self.tell("textDocument/didChange", {"textDocument": document, "contentChanges": [{"text": text}]})

    def problems(self, path: Path) -> list[Any]:
        """The next problems that are published for a program."""
        while True:
            message = self._messages.get(timeout=SECONDS)
            if message.get("method") == "textDocument/publishDiagnostics":
                assert message["params"]["uri"] == path.as_uri()
                return list(message["params"]["diagnostics"])

    def ask(self, method: str, params: Any) -> Any:
        """The result of a request."""
        self._number += 1
        self._send({"jsonrpc": "2.0", "id": self._number, "method": method, "params": params})
        while True:
            message = self._messages.get(timeout=SECONDS)
            if message.get("id") == self._number:
                assert "error" not in message, message["error"]
                return message["result"]

    def tell(self, method: str, params: Any) -> None:
        """Send a notification."""
        self._send({"jsonrpc": "2.0", "method": method, "params": params})

    def leave(self) -> int:
        """Shut the server down; its exit code."""
        self.ask("shutdown", None)
        self.tell("exit", None)
        return self._server.wait(timeout=SECONDS)

    def _send(self, message: Any) -> None:
        body = json.dumps(message).encode()
        assert self._server.stdin is not None
        self._server.stdin.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        self._server.stdin.flush()

    def _read(self) -> None:
        assert self._server.stdout is not None
        while True:
            length = 0
            while line := self._server.stdout.readline().strip():
                name, _, value = line.partition(b":")
                if name.lower() == b"content-length":
                    length = int(value)
            if not length:
                return
            self._messages.put(json.loads(self._server.stdout.read(length)))
