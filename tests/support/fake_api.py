"""A server that answers the page as a test wants it: with what no real one would store, and with failures."""

from __future__ import annotations

import json
import queue
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from kube32_sim.server import pages

JsonObject = dict[str, Any]
PLURALS = ("nodes", "pods", "events")
END = object()


class FakeApi:
    """objects: what lists answer.  asked: (method, path, body) of all requests but those for files of the page.

    answers: (method, path) -> (code, object) of what is neither list nor watch.
    """

    def __init__(self) -> None:
        self.objects: dict[str, list[JsonObject]] = {plural: [] for plural in PLURALS}
        self.asked: list[tuple[str, str, str]] = []
        self.answers: dict[tuple[str, str], tuple[int, JsonObject]] = {}
        self.revision = 10
        self.refusal: tuple[int, JsonObject] | None = None
        """Of every list and watch, where there is one."""
        self.url = ""
        self._open: dict[str, list[queue.Queue[Any]]] = {plural: [] for plural in PLURALS}

    def send(self, plural: str, kind: str, obj: JsonObject) -> None:
        """An event to all who watch."""
        for stream in self._open[plural]:
            stream.put({"type": kind, "object": obj})

    def end(self, plural: str) -> None:
        for stream in self._open[plural]:
            stream.put(END)

    def count(self, start: str) -> int:
        """How many requests were for paths that begin so."""
        return sum(path.startswith(start) for _, path, _ in self.asked)

    def watching(self) -> bool:
        return all(self._open.values())

    def follow(self, plural: str) -> Iterator[JsonObject]:
        stream: queue.Queue[Any] = queue.Queue()
        self._open[plural].append(stream)
        try:
            while (event := stream.get()) is not END:
                yield event
        finally:
            self._open[plural].remove(stream)


def _handler(api: FakeApi) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

        def do_GET(self) -> None:
            path, _, query = self.path.partition("?")
            file = pages.files().get(path)
            if file is not None:
                self._answer(200, file.content, file.content_type, **{"Content-Security-Policy": pages.POLICY})
                return
            api.asked.append(("GET", self.path, ""))
            plural = path.rpartition("/")[2]
            if plural in PLURALS and api.refusal is not None:
                self._object(*api.refusal)
            elif plural in PLURALS and "watch=true" in query:
                self._stream(plural)
            elif plural in PLURALS:
                self._object(200, {"items": api.objects[plural], "metadata": {"resourceVersion": str(api.revision)}})
            else:
                self._object(*api.answers.get(("GET", path), (404, {"message": "not found"})))

        def _write(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
            path = self.path.partition("?")[0]
            api.asked.append((self.command, path, body))
            self._object(*api.answers.get((self.command, path), (200, {})))

        do_POST = do_PATCH = _write  # noqa: N815

        def _object(self, code: int, obj: JsonObject) -> None:
            self._answer(code, json.dumps(obj).encode(), "application/json")

        def _answer(self, code: int, body: bytes, kind: str, **headers: str) -> None:
            self.send_response(code)
            for name, value in {"Content-Type": kind, "Content-Length": str(len(body)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def _stream(self, plural: str) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.wfile.flush()
            for event in api.follow(plural):
                self.wfile.write(json.dumps(event).encode() + b"\n")
                self.wfile.flush()

    return Handler


@contextmanager
def fake_api() -> Iterator[FakeApi]:
    """Listens on a free port until the block ends."""
    api = FakeApi()
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(api))
    server.daemon_threads = True
    api.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield api
    finally:
        for plural in PLURALS:
            api.end(plural)
        server.shutdown()
        server.server_close()
        thread.join()
