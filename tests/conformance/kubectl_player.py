"""Plays recorded kubectl commands against a server, and says where exit codes and output differ.

A case: `{about, files, cleanup, steps}`.  Its namespace is kubectl's default; its files lie in the directory that
kubectl runs in.  A step is a command to `run` with the `exit`, `stdout` and `stderr` to `expect`, or a `request` whose
answer is not compared.  Recorded with kubectl 1.32 from the server that answered `cases`; what differs from run to run
(names, times, ports, ...) is written `<so>` there, and runs of blanks are two.
"""

from __future__ import annotations

import difflib
import http.client
import json
import os
import re
import shlex
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.conformance.player import Result, Session
from tests.conformance.shapes import UUID
from tests.conformance.shaping import substitute

COMMANDS = Path(__file__).parent / "commands"
RELEASE = 32
"""The minor version that the cases were recorded with: others say some things in other words."""

HEAD_START = 2.0
"""Seconds that a command runs before the writes of its `during` are made."""

PATIENCE = 60.0

_RECENT = r"20(?!24)\d\d"
"""A year, but that of the times that cases write themselves."""

_ALIKE: Sequence[tuple[str, str]] = (
    (UUID, "<uid>"),
    (r"/tmp/(LIVE|MERGED)-\d+/", r"<\1>/"),
    (r"(?m)^(---|\+\+\+) (\S+)\t.*$", r"\1 \2"),
    (rf"[A-Z][a-z]{{2}}, \d\d [A-Z][a-z]{{2}} {_RECENT} \d\d:\d\d:\d\d [+-]\d{{4}}", "<time>"),
    (rf"\b{_RECENT}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "<time>"),
    (r'(resourceVersion"?: )"\d+"', r'\1"<rv>"'),
    (r"\b10\.96\.\d+\.\d+", "<ip>"),
    (r"\b3[0-2]\d{3}\b", "<port>"),
    (r"eyJ[\w-]+\.[\w-]+\.[\w-]+", "<token>"),
    (r"\b[EIW]\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ [\w.]+:\d+\]", "<log>"),
)
_AGE = re.compile(r"(?<![\w.:/-])(\d+[smhdy]){1,2}(?![\w/-])")
_NO_AGES = re.compile(r"cpu|memory|Reached expected")
"""Lines in which `1m` is no age."""


def load_commands() -> dict[str, dict[str, Any]]:
    """All cases by their ids, `kubectl/name`."""
    files = sorted(COMMANDS.glob("*.json"))
    return {f"kubectl/{file.stem}": json.loads(file.read_text(encoding="utf-8")) for file in files}


def play_commands(case: Mapping[str, Any], url: str, kubectl: Path) -> Result:
    """What `player.play` answers, of a case of commands."""
    session = Session(case, url, "")
    try:
        with session.started(), tempfile.TemporaryDirectory() as directory:
            Commands(session, case, url, kubectl, Path(directory)).play()
    except (OSError, http.client.HTTPException, subprocess.TimeoutExpired, ValueError) as error:
        session.result.differing["end"] = [f"{type(error).__name__}: {error}"]
    finally:
        session.close()
    return session.result


class Commands:
    """One case being played."""

    def __init__(self, session: Session, case: Mapping[str, Any], url: str, kubectl: Path, directory: Path) -> None:
        self._session = session
        self._case = case
        self._url = url
        self._kubectl = kubectl
        self._directory = directory

    def play(self) -> None:
        self._session.remove_later(substitute(self._case.get("cleanup") or [], self._session.variables))
        self._write("config", self._kubeconfig())
        for name, content in substitute(self._case.get("files") or {}, self._session.variables).items():
            self._write(name, content)
        for number, step in enumerate(self._case["steps"], 1):
            if "request" in step:
                answer = self._session.ask(step["request"])
                assert answer.status < 300, f"step {number}: {answer}"
            else:
                self._command(step, str(number))

    def _write(self, name: str, content: Any) -> None:
        text = content if isinstance(content, str) else json.dumps(content, indent=1)
        (self._directory / name).write_text(text, encoding="utf-8")

    def _kubeconfig(self) -> dict[str, Any]:
        context = {"cluster": "c", "user": "u", "namespace": self._session.variables["ns"]}
        return {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "c",
            "clusters": [{"name": "c", "cluster": {"server": self._url}}],
            "users": [{"name": "u", "user": {}}],
            "contexts": [{"name": "c", "context": context}],
        }

    def _command(self, step: Mapping[str, Any], label: str) -> None:
        with self._meanwhile(step.get("during", ())):
            done = self._run(step)
        got: dict[str, Any] = {"exit": done.returncode}
        for stream, text in (("stdout", done.stdout), ("stderr", done.stderr)):
            if stream not in step.get("ignore", ()):
                got[stream] = chosen(self._alike(text), step)
        expected = step["expect"]
        differing = [line for what in got for line in differences(what, expected.get(what), got[what])]
        self._session.report(label, f"kubectl {step['run']}", differing)

    @contextmanager
    def _meanwhile(self, steps: Sequence[Mapping[str, Any]]) -> Iterator[None]:
        """Makes the writes of `during` while a command runs."""
        timer = threading.Timer(HEAD_START, lambda: [self._session.ask(step["request"]) for step in steps])
        if steps:
            timer.start()
        try:
            yield
        finally:
            if steps:
                timer.join()

    def _run(self, step: Mapping[str, Any]) -> subprocess.CompletedProcess[str]:
        words = substitute(shlex.split(step["run"]), self._session.variables)
        return subprocess.run(
            [str(self._kubectl), *words],
            check=False,
            input=substitute(step.get("stdin", ""), self._session.variables),
            capture_output=True,
            text=True,
            env={
                "HOME": str(self._directory),
                "KUBECONFIG": str(self._directory / "config"),
                "PATH": os.environ.get("PATH", os.defpath),  # `kubectl diff` runs diff
                "LANG": "C",
                "TZ": "UTC",
            },
            cwd=self._directory,
            timeout=PATIENCE,
        )

    def _alike(self, text: str) -> list[str]:
        """The lines of what kubectl said, without what is different every time."""
        own = {name: self._session.variables[name] for name in ("ns", "sfx")}
        for name, value in own.items():
            text = text.replace(value, f"${{{name}}}")
        return alike(text.replace(self._url, "<server>").replace(str(self._directory), "<dir>"))


def alike(text: str) -> list[str]:
    for pattern, replacement in _ALIKE:
        text = re.sub(pattern, replacement, text)
    lines = [line if _NO_AGES.search(line) else _AGE.sub("<age>", line) for line in text.split("\n")]
    return "\n".join(re.sub(r" {2,}|\t+", "  ", line).rstrip() for line in lines).rstrip("\n").split("\n")


def chosen(lines: list[str], step: Mapping[str, Any]) -> list[str]:
    """The lines that a step wants compared: all, or those that match `grep`."""
    return [line for line in lines if re.search(step.get("grep", ""), line)]


def differences(what: str, expected: Any, got: Any) -> list[str]:
    if expected == got:
        return []
    if not isinstance(got, list):
        return [f"{what}: expected {expected}, got {got}"]
    compared = difflib.unified_diff(expected or [], got, n=0, lineterm="")
    return [f"{what}: {line}" for line in compared if not line.startswith(("---", "+++", "@@"))]
