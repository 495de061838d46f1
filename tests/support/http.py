"""A plain JSON client of the standard library, for setting up and looking at what a test is about."""

from __future__ import annotations

import http.client
import json
import urllib.parse
from collections.abc import Mapping
from typing import Any

TYPES = {"PATCH": "application/merge-patch+json"}


class Http:
    """One connection to a server; the answers are decoded JSON, and an error status is an AssertionError."""

    def __init__(self, url: str, token: str = "") -> None:
        address = urllib.parse.urlsplit(url)
        assert address.hostname is not None
        self._connection = http.client.HTTPConnection(address.hostname, address.port, timeout=30)
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}

    def request(
        self, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None
    ) -> tuple[int, Any]:
        """(status code, decoded answer).  headers: more of them."""
        headers = {"Content-Type": TYPES.get(method, "application/json"), **self._headers, **(headers or {})}
        self._connection.request(method, path, None if body is None else json.dumps(body), headers)
        answer = self._connection.getresponse()
        text = answer.read()
        is_json = (answer.getheader("Content-Type") or "").startswith("application/json")
        return answer.status, json.loads(text) if is_json else text.decode()

    def __call__(self, method: str, path: str, body: Any = None) -> Any:
        status, answer = self.request(method, path, body)
        assert status < 300, f"{method} {path}: {status} {answer}"
        return answer

    def get(self, path: str) -> Any:
        return self("GET", path)

    def post(self, path: str, body: Any) -> Any:
        return self("POST", path, body)

    def close(self) -> None:
        self._connection.close()
