"""The watch steps of a case: open the watch, wait for its first events, make the writes, compare all events.

`to_end`: the server must end it by itself, after `between` so many seconds.  `bookmarks` says which of them count.
"""

from __future__ import annotations

import http.client
import threading
import time
from collections.abc import Mapping
from typing import Any

from tests.conformance.player import Session, parse_json, quote, read_answer
from tests.conformance.shaping import resolve, shape, substitute

AFTERMATH = 0.3
"""Seconds to wait for events that should not come."""

PATIENCE = 8.0
"""Seconds to wait for events that should."""


class Stream:
    """An open watch; a thread reads its events."""

    def __init__(self, connection: http.client.HTTPConnection, response: http.client.HTTPResponse) -> None:
        self.events: list[Any] = []
        self.started = time.monotonic()
        self.lasted: float | None = None
        self._connection = connection
        self._socket = connection.sock
        self._response = response
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        try:
            while line := self._response.readline():
                if line.strip():
                    self.events.append(parse_json(line.decode("utf-8", "replace")))
        except (OSError, http.client.HTTPException):
            pass  # closed by us: `close` shuts the socket down under the reader
        self.lasted = time.monotonic() - self.started

    def wait_for(self, count: int) -> None:
        """Until there are so many events, or it ended, or it takes too long (which the comparison then shows)."""
        deadline = time.monotonic() + PATIENCE
        while len(self.events) < count and self.lasted is None and time.monotonic() < deadline:
            time.sleep(0.01)

    def wait_for_end(self) -> None:
        self._thread.join(15)

    def close(self) -> None:
        if self.lasted is None:
            self._socket.shutdown(2)
        self._thread.join()
        self._response.close()
        self._connection.close()


def watch_step(session: Session, step: Mapping[str, Any], label: str) -> None:
    watch = substitute(step["watch"], session.variables)
    path = quote(watch["path"])
    connection = session.connect()
    connection.request("GET", path, headers=session.headers(watch.get("headers") or {}))
    response = connection.getresponse()
    during = [(inner, f"{label}.{number}") for number, inner in enumerate(step.get("during", ()), 1)]
    if response.status != 200:
        answer = read_answer(response)
        connection.close()
        for inner, inner_label in during:
            session.step(inner, inner_label)
        session.compare(step, answer, label, f"WATCH {path}")
        return
    expected = step.get("expect") or {}
    stream = Stream(connection, response)
    try:
        stream.wait_for(expected.get("initial", 0))
        for inner, inner_label in during:
            session.step(inner, inner_label)
        ended_after = _follow(stream, watch, expected)
    finally:
        stream.close()
    events = [shape(event, step) for event in counting(stream.events, watch.get("bookmarks"))]
    comparison = session.comparison(step)
    expected = substitute(expected, session.variables)
    comparison.compare(expected.get("status"), 200, "status")
    comparison.compare(expected.get("type"), response.getheader("Content-Type"), "content-type")
    comparison.compare(expected.get("events"), events)
    session.report(label, f"WATCH {path}", comparison.differences + _end_differences(watch, ended_after))


def _follow(stream: Stream, watch: Mapping[str, Any], expected: Mapping[str, Any]) -> float | None:
    """Wait for the rest of the events; answers after how many seconds the server ended the watch, if it did."""
    if watch.get("to_end"):
        stream.wait_for_end()
    else:
        stream.wait_for(len(expected.get("events", ())))
        time.sleep(AFTERMATH)
    return stream.lasted


def _end_differences(watch: Mapping[str, Any], ended_after: float | None) -> list[str]:
    if not watch.get("to_end"):
        return []
    low, high = watch.get("between", [0, 15])
    if ended_after is not None and low <= ended_after <= high:
        return []
    return [f"watch: expected the server to end it after {low}-{high} s, got {ended_after or 'no end'}"]


def counting(events: list[Any], bookmarks: str | None) -> list[Any]:
    """Without the bookmarks that a real server may or may not send at any time."""
    last = len(events) - 1
    return [event for number, event in enumerate(events) if counts(event, number == last, bookmarks)]


def counts(event: Any, is_last: bool, bookmarks: str | None) -> bool:
    if resolve(event, "/type") != "BOOKMARK" or bookmarks is None:
        return True
    if bookmarks == "last":
        return is_last
    return bookmarks == "initial-end" and bool(
        resolve(event, "/object/metadata/annotations/k8s.io~1initial-events-end")
    )
