"""Plays a recorded conversation with a real API server against another one, and says where the answers differ.

A case: `{about, namespace, namespaceLabels, requires, steps}`.  Each has a namespace `${ns}` of its own and a suffix
`${sfx}` for the names of what is not namespaced, so that cases can run side by side; what they made is removed.
A step is a `request` with the answer to `expect`, or a `watch` (see `watching.py`).  Cases were recorded from
Kubernetes 1.36 without controllers.
"""

from __future__ import annotations

import http.client
import json
import re
import secrets
import time
import urllib.parse
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from tests.conformance.shapes import Bindings, Comparison
from tests.conformance.shaping import resolve, shape, substitute

PATIENCE = 5.0
"""Seconds until a step with `until` is compared as it is."""

CASES = Path(__file__).parent / "cases"
WARNING = re.compile(r'299 \S+ "((?:[^"\\]|\\.)*)"')
JSON = {"Content-Type": "application/json"}


def load_cases() -> dict[str, dict[str, Any]]:
    """All cases by their ids, `area/name`."""
    files = sorted(CASES.glob("*/*.json"))
    return {f"{file.parent.name}/{file.stem}": json.loads(file.read_text(encoding="utf-8")) for file in files}


@dataclass
class Answer:
    status: int
    type: str
    warnings: list[str]
    body: Any


@dataclass
class Result:
    """Of a case: how many steps were compared, and the differences of those that differ.

    Steps are numbered from 1, those of `during` as `3.1`; `end` is an accident that broke the conversation off.
    """

    compared: int = 0
    differing: dict[str, list[str]] = field(default_factory=dict)


def play(case: Mapping[str, Any], url: str, token: str = "") -> Result:
    """A connection that breaks or a body that cannot be read is a difference too."""
    session = Session(case, url, token)
    try:
        session.play()
    except (OSError, http.client.HTTPException, ValueError) as error:
        session.result.differing["end"] = [f"{type(error).__name__}: {error}"]
    finally:
        session.close()
    return session.result


class Session:
    """One case being played."""

    def __init__(self, case: Mapping[str, Any], url: str, token: str) -> None:
        suffix = f"x{secrets.token_hex(3)}x"
        self.result = Result()
        self.variables: dict[str, Any] = {"sfx": suffix, "ns": f"cf-{suffix}"}
        self._case = case
        self._address = urllib.parse.urlsplit(url)
        self._token = token
        self._bindings = Bindings()
        self._made: list[str] = []
        self._connection = self.connect()

    def connect(self) -> http.client.HTTPConnection:
        assert self._address.hostname is not None
        return http.client.HTTPConnection(self._address.hostname, self._address.port, timeout=30)

    def headers(self, more: Mapping[str, str | None]) -> dict[str, str]:
        """The usual ones and more; None takes one away."""
        usual = {"user-agent": "conformance/1.0", "accept": "application/json"}
        if self._token:
            usual["authorization"] = f"Bearer {self._token}"
        merged = usual | {name.lower(): value for name, value in more.items()}
        return {name: value for name, value in merged.items() if value is not None}

    def play(self) -> None:
        with self.started():
            for number, step in enumerate(self._case["steps"], 1):
                self.step(step, str(number))

    @contextmanager
    def started(self) -> Iterator[None]:
        """The case's namespace is there; what was made is removed at the end."""
        try:
            if self._case.get("namespace", True):
                self._make_namespace()
            yield
        finally:
            for path in reversed(self._made):
                self._remove(path)

    def close(self) -> None:
        self._connection.close()

    def step(self, step: Mapping[str, Any], label: str) -> None:
        if "sleep" in step:
            time.sleep(step["sleep"])
        elif "watch" in step:
            from tests.conformance.watching import watch_step

            watch_step(self, step, label)
        else:
            self._request_step(step, label)

    def _request_step(self, step: Mapping[str, Any], label: str) -> None:
        method, path, headers, body = self._prepared(step["request"])
        answer = self.request(method, path, headers, body)
        deadline = time.monotonic() + PATIENCE
        while not holds(step.get("until") or {}, answer) and time.monotonic() < deadline:
            time.sleep(0.1)
            answer = self.request(method, path, headers, body)
        self._remember(method, path, answer)
        for name, pointer in (step.get("capture") or {}).items():
            value = resolve(answer.body, pointer)
            if value is not None:
                self.variables[name] = value
        self.compare(step, answer, label, f"{method} {path}")

    def ask(self, request: Mapping[str, Any]) -> Answer:
        """A request of a case, whose answer is not compared."""
        method, path, headers, body = self._prepared(request)
        answer = self.request(method, path, headers, body)
        self._remember(method, path, answer)
        return answer

    def _prepared(self, request: Mapping[str, Any]) -> tuple[str, str, dict[str, str | None], bytes | None]:
        """Method, path, headers and body of a request as cases write it."""
        request = substitute(request, self.variables)
        headers, body = dict(request.get("headers") or {}), request_body(request)
        if body is not None and not any(name.lower() == "content-type" for name in headers):
            headers |= JSON
        return request["method"], quote(request["path"]), headers, body

    def request(self, method: str, path: str, headers: Mapping[str, str | None], body: bytes | None = None) -> Answer:
        self._connection.request(method, path, body, self.headers(headers))
        return read_answer(self._connection.getresponse())

    def compare(self, step: Mapping[str, Any], answer: Answer, label: str, request: str) -> None:
        if step.get("unchecked"):
            return
        expected = substitute(step["expect"], self.variables)
        comparison = self.comparison(step)
        comparison.compare(expected["status"], answer.status, "status")
        if step.get("only") != "status":
            comparison.compare(expected.get("type", answer.type), answer.type, "content-type")
            comparison.compare(expected.get("warnings", []), answer.warnings, "warnings")
            comparison.compare(expected.get("body"), shape(answer.body, step))
        self.report(label, request, comparison.differences)

    def comparison(self, step: Mapping[str, Any]) -> Comparison:
        return Comparison(self._bindings, step.get("unordered", ()))

    def report(self, label: str, request: str, differences: list[str]) -> None:
        self.result.compared += 1
        if differences:
            self.result.differing[label] = [f"step {label} {request}: {difference}" for difference in differences]

    def _make_namespace(self) -> None:
        labels = {"case": "yes", **(self._case.get("namespaceLabels") or {})}
        body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self.variables["ns"], "labels": labels}}
        answer = self.request("POST", "/api/v1/namespaces", JSON, json.dumps(body).encode())
        assert answer.status == 201, f"no namespace for the case: {answer}"
        self._made.append(f"/api/v1/namespaces/{self.variables['ns']}")

    def _remember(self, method: str, path: str, answer: Answer) -> None:
        """What was made outside the case's namespace, to remove it."""
        collection = path.split("?")[0].rstrip("/")
        if answer.status != 201 or "dryRun" in path or "/namespaces/" in collection:
            return
        name = resolve(answer.body, "/metadata/name") or resolve(answer.body, "/rows/0/object/metadata/name")
        if name:
            self._made.append(collection if collection.endswith(f"/{name}") else f"{collection}/{name}")

    def remove_later(self, paths: Sequence[str]) -> None:
        """What the case made in other ways, and its namespace does not take with it."""
        self._made.extend(paths)

    def _remove(self, path: str) -> None:
        """Delete, finalizers or not."""
        self.request("DELETE", f"{path}?gracePeriodSeconds=0", {})
        answer = self.request("GET", path, {})
        if answer.status != 200:
            return
        if path.startswith("/api/v1/namespaces/"):
            emptied = json.dumps(answer.body | {"spec": {"finalizers": []}}).encode()
            self.request("PUT", f"{path}/finalize", JSON, emptied)
        else:
            patch = b'{"metadata": {"finalizers": null}}'
            self.request("PATCH", path, {"Content-Type": "application/merge-patch+json"}, patch)


def request_body(request: Mapping[str, Any]) -> bytes | None:
    if "body" in request:
        return json.dumps(request["body"]).encode()
    if "raw" in request:
        return str(request["raw"]).encode()
    if "repeat" in request:
        repeat = request["repeat"]
        return str(repeat["head"] + repeat["unit"] * repeat["count"] + repeat["tail"]).encode()
    return None


def quote(path: str) -> str:
    return urllib.parse.quote(path, safe="/?&=%:,;@!$'()*+~.-_[]")


def holds(wanted: Mapping[str, Any], answer: Answer) -> bool:
    """Whether an answer is as a step waits for it to be: `status` is a code, `condition` the type of a true one."""
    if "condition" in wanted:
        conditions = resolve(answer.body, "/status/conditions") or []
        return any(one.get("type") == wanted["condition"] and one.get("status") == "True" for one in conditions)
    return wanted.get("status", answer.status) == answer.status


def read_answer(response: http.client.HTTPResponse) -> Answer:
    text = response.read().decode("utf-8", "replace")
    kind = response.getheader("Content-Type") or ""
    warnings = [
        found[1].replace('\\"', '"').replace("\\\\", "\\")
        for header in response.headers.get_all("Warning") or ()
        for found in WARNING.finditer(header)
    ]
    return Answer(response.status, kind, warnings, parse_body(text, kind.split(";")[0]))


def parse_body(text: str, kind: str) -> Any:
    if kind == "application/json":
        return parse_json(text)
    if kind == "application/yaml":
        dates_as_texts = {"default": lambda date: date.strftime("%Y-%m-%dT%H:%M:%SZ")}
        return json.loads(json.dumps(yaml.safe_load(text), **dates_as_texts))
    return text


def parse_json(text: str) -> Any:
    """The text itself where it is not JSON (there is none in the answer to HEAD), for the comparison to show."""
    try:
        return json.loads(text)
    except ValueError:
        return text
