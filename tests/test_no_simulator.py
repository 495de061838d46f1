"""Commands that are pointed at something that is no simulator say so in a line."""

from __future__ import annotations

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from kube32_sim import cli

COMMANDS = [
    "why pod/x",
    "clock show",
    "clock advance 1s",
    "faults show",
    "faults board n stopped",
    "fork",
    "fork --list",
    "fork --delete x",
    "record FILE --for 1s",
]


class _Answers(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def _answer(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        code, content = self.server.answer  # type: ignore[attr-defined]
        self.send_response(code)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _answer  # noqa: N815  # names that http.server asks for

    def log_message(self, format: str, *arguments: object) -> None:
        """Says nothing."""


@pytest.fixture
def server() -> Iterator[ThreadingHTTPServer]:
    made = ThreadingHTTPServer(("127.0.0.1", 0), _Answers)
    thread = Thread(target=made.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield made
    made.shutdown()
    thread.join()
    made.server_close()


def said(command: str, server: ThreadingHTTPServer, file: Path, capsys: pytest.CaptureFixture[str]) -> str:
    words = [str(file) if word == "FILE" else word for word in command.split()]
    assert cli.run([*words, "--server", f"http://127.0.0.1:{server.server_port}"]) == 1
    assert not file.exists()
    (line,) = capsys.readouterr().err.splitlines()
    return line


@pytest.mark.parametrize("command", COMMANDS)
def test_of_another_cluster(
    command: str, server: ThreadingHTTPServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """API servers answer so about a group that they do not serve."""
    server.answer = 404, b"404 page not found\n"  # type: ignore[attr-defined]
    assert "it is no simulator, or " in said(command, server, tmp_path / "x", capsys)


@pytest.mark.parametrize("command", [*COMMANDS, "snapshot save FILE", "preview --explain x", "top --once"])
def test_of_a_server_of_something_else(
    command: str, server: ThreadingHTTPServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whose every answer is JSON, and none an object of Kubernetes."""
    server.answer = 200, b'{"items": [1, null], "kind": 5}'  # type: ignore[attr-defined]
    line = said(command, server, tmp_path / "x", capsys)
    assert line.startswith("kube32-sim: cannot reach the ")
    assert "the answer " in line
