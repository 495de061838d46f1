"""`kube32-sim top` as it is used: once in a pipe, live in a terminal, with a server that goes and comes back."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.http import Http
from tests.support.servers import CLONE, Server, command_environment, doomed_server, running_server
from tests.support.waiting import until

pty = pytest.importorskip("pty", reason="a terminal is made with pty")
PODS = "/api/v1/namespaces/default/pods"


@pytest.fixture(scope="module")
def standing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with running_server(tmp_path_factory.mktemp("top"), "--nodes", "2", "--clock", "virtual") as server:
        yield server


def once(*arguments: str, code: int = 0) -> str:
    command = [sys.executable, "-m", "kube32_sim", "top", *arguments]
    done = subprocess.run(
        command, env=command_environment(), cwd=CLONE, capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == code, done.stderr
    return done.stdout if code == 0 else done.stderr


class Terminal:
    """A program in a terminal of 100 by 20; `seen` is all that it has written."""

    def __init__(self, process: subprocess.Popen[bytes], descriptor: int) -> None:
        self.process = process
        self._descriptor = descriptor
        os.set_blocking(descriptor, False)
        self.seen = ""

    def read(self) -> str:
        try:
            while data := os.read(self._descriptor, 65536):
                self.seen += data.decode(errors="replace")
        except (BlockingIOError, OSError):  # nothing more now, or the program has gone
            pass
        return self.seen

    def wait_for(self, text: str) -> None:
        until(lambda: text in self.read(), text)

    def forget(self) -> None:
        self.read()
        self.seen = ""

    def press(self, keys: str) -> None:
        os.write(self._descriptor, keys.encode())

    def end(self) -> int:
        """The exit code, once it has ended."""
        code = until(lambda: (self.read(), self.process.poll())[1] is not None and [self.process.returncode], "it ends")
        self.read()
        return code[0]


@contextmanager
def terminal(*arguments: str, **environment: str) -> Iterator[Terminal]:
    import fcntl
    import struct
    import termios

    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 20, 100, 0, 0))
    variables = command_environment(**{"TERM": "xterm-256color", **environment})
    command = [sys.executable, "-m", "kube32_sim", "top", *arguments]
    process = subprocess.Popen(
        command,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=variables,
        cwd=CLONE,
        start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # noqa: PLW1509  so that Ctrl-C is one
    )
    try:
        os.close(theirs)
        yield Terminal(process, ours)
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
        os.close(ours)


def test_without_a_terminal_it_is_one_table(standing: Server) -> None:
    lines = once("--server", standing.url).splitlines()
    assert lines[0].split()[:3] == ["BOARD", "STATUS", "HEAP-FREE"]
    assert [line.split()[:3] for line in lines[1:]] == [["esp32-0", "Ready", "288Ki"], ["esp32-1", "Ready", "288Ki"]]


def test_as_an_object(standing: Server) -> None:
    found = json.loads(once("--server", standing.url, "-o", "json"))
    assert [board["name"] for board in found["boards"]] == ["esp32-0", "esp32-1"]
    assert found["boards"][0]["free"]["memory"] == 288 * 1024
    assert found["now"] == "2026-01-01T00:00:00Z"


def test_where_nobody_answers_it_says_so_in_a_line() -> None:
    (line,) = once("--once", "--server", "http://127.0.0.1:1", code=1).splitlines()
    assert line.startswith("kube32-sim: cannot reach the simulator: ")


@pytest.mark.parametrize("keys", ["q", "\x03", "xyz\x1b[Bq"])
def test_a_key_ends_it_and_the_terminal_is_as_before(standing: Server, keys: str) -> None:
    with terminal("--server", standing.url) as shown:
        shown.wait_for("esp32-1")
        assert "\x1b[?1049h" in shown.seen, "another screen"
        shown.press(keys)
        assert shown.end() == 0
        assert shown.seen.rindex("\x1b[?1049l") > shown.seen.rindex("\x1b[?1049h")
        assert "\x1b[?25h" in shown.seen, "the cursor is back"
        assert "Traceback" not in shown.seen


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_cleanly(standing: Server, number: signal.Signals) -> None:
    with terminal("--server", standing.url) as shown:
        shown.wait_for("esp32-1")
        shown.process.send_signal(number)
        assert shown.end() == 0
        assert "\x1b[?1049l" in shown.seen


def test_changes_are_seen_as_they_come(standing: Server) -> None:
    api = standing.http()
    with terminal("--server", standing.url) as shown:
        shown.wait_for("2/2")
        body = {"metadata": {"name": "vast"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
        body["spec"]["containers"][0]["resources"] = {"requests": {"memory": "1Gi"}}
        api.post(PODS, body)
        shown.wait_for("Insufficient memory")
        shown.forget()
        api("DELETE", f"{PODS}/vast?gracePeriodSeconds=0")
        until(lambda: "pending 0" in plain_text(shown.read()), "nothing waits any more")
        shown.press("s")
        shown.wait_for("sorted by heap")
        shown.press("q")
        assert shown.end() == 0
    api.close()


def plain_text(seen: str) -> str:
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", seen)


def test_a_terminal_that_can_do_nothing_gets_one_table(standing: Server) -> None:
    with terminal("--server", standing.url, TERM="dumb") as shown:
        assert shown.end() == 0
        assert "\x1b" not in shown.seen
        assert "HEAP-FREE" in shown.seen


def test_a_server_that_goes_is_told_of_and_the_next_one_shown(tmp_path: Path) -> None:
    (tmp_path / "second").mkdir()
    with doomed_server(tmp_path, "--nodes", "1") as first:
        port = first.url.rpartition(":")[2]
        stack = terminal("--server", first.url)
        shown = stack.__enter__()
        shown.wait_for("esp32-0")
    try:
        shown.wait_for("trying again")
        assert "esp32-0" in plain_text(shown.seen)
        with running_server(tmp_path / "second", "--port", port, "--nodes", "linux=1"):
            shown.wait_for("linux-0")
            shown.forget()
            until(lambda: shown.read() and "trying again" not in shown.seen, "all is well again")
            shown.press("q")
            assert shown.end() == 0
    finally:
        stack.__exit__(None, None, None)


def test_the_api_is_as_it_was(standing: Server) -> None:
    client: Http = standing.http()
    assert client.get(PODS)["items"] == []
    client.close()
