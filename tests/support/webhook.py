"""A webhook as users run them: an HTTPS server with a certificate of an authority of its own, in the test's process."""

from __future__ import annotations

import asyncio
import base64
import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from aiohttp import web

from kube32_sim.api.errors import ApiError
from kube32_sim.client import Resource
from kube32_sim.cluster import Cluster
from tests.support.certificates import certificates_for

JsonObject = dict[str, Any]
Answer = Callable[[JsonObject], Any]
"""The `request` of a review -> the `response` without its uid, or a whole HTTP response; may be a coroutine."""

MUTATING = Resource("admissionregistration.k8s.io", "v1", "mutatingwebhookconfigurations")
VALIDATING = Resource("admissionregistration.k8s.io", "v1", "validatingwebhookconfigurations")
ALLOWED: JsonObject = {"allowed": True}


@cache
def certificates(host: str) -> tuple[bytes, ssl.SSLContext]:
    """(the authority in PEM, a server's context for that name)."""
    authority, chain, key = certificates_for(host)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with TemporaryDirectory() as directory:
        path = Path(directory, "pem")
        path.write_bytes(key + chain)
        context.load_cert_chain(path)
    return authority, context


def patched(*operations: JsonObject) -> JsonObject:
    """The answer of a webhook that changes the object."""
    return {
        "allowed": True,
        "patchType": "JSONPatch",
        "patch": base64.b64encode(json.dumps(operations).encode()).decode(),
    }


def labelled(name: str, value: str = "1") -> JsonObject:
    """The answer of one that sets the only label."""
    return patched({"op": "add", "path": "/metadata/labels", "value": {name: value}})


def rule(resources: list[str], operations: list[str], group: str = "", version: str = "v1") -> JsonObject:
    return {"operations": operations, "apiGroups": [group], "apiVersions": [version], "resources": resources}


class Hook:
    """reviews: the requests that were sent, with the path they came to as `path`."""

    def __init__(self, host: str = "localhost") -> None:
        self.reviews: list[JsonObject] = []
        self.bodies: list[JsonObject] = []
        self.answers: dict[str, Answer] = {}
        self.bundle, self._context = certificates(host)
        self.port = 0
        self.connections = 0

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[Hook]:
        server = web.Server(self._answer)
        listening = await asyncio.get_running_loop().create_server(server, "127.0.0.1", 0, ssl=self._context)
        self.port = listening.sockets[0].getsockname()[1]
        try:
            yield self
        finally:
            self.connections = len(server.connections)
            listening.close()
            await server.shutdown(0.01)

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        body = await request.json()
        self.bodies.append(body)
        self.reviews.append({**body["request"], "path": request.rel_url.raw_path_qs})
        answer = self.answers[request.path.removeprefix("/")](body["request"])
        if isinstance(answer, Awaitable):
            answer = await answer
        if isinstance(answer, web.StreamResponse):
            return answer
        response = {"uid": body["request"]["uid"], **answer}
        return web.json_response({**{name: body[name] for name in ("apiVersion", "kind")}, "response": response})

    @property
    def called(self) -> list[str]:
        """Who was called, in order."""
        return [review["path"].partition("?")[0].removeprefix("/") for review in self.reviews]

    def client(self, path: str) -> JsonObject:
        bundle = base64.b64encode(self.bundle).decode()
        return {"url": f"https://localhost:{self.port}/{path}", "caBundle": bundle}

    async def configure(
        self, cluster: Cluster, kind: Resource, name: str, *rules: JsonObject, answer: Answer | None = None, **more: Any
    ) -> None:
        """Make a configuration with one webhook, which is called at the path NAME.  more: of the webhook."""
        await self.configure_all(cluster, kind, name, {name: {"rules": list(rules), **more}})
        self.answers[name] = answer or (lambda _: ALLOWED)

    async def configure_all(self, cluster: Cluster, kind: Resource, name: str, hooks: dict[str, JsonObject]) -> None:
        """A configuration with webhooks `PATH.example.com`, of what is told of each."""
        webhooks = [
            {
                "name": f"{path}.example.com",
                "clientConfig": self.client(path),
                "sideEffects": "None",
                "admissionReviewVersions": ["v1"],
                **more,
            }
            for path, more in hooks.items()
        ]
        await cluster.client.create(kind, "", {"metadata": {"name": name}, "webhooks": webhooks})


async def refused(call: Awaitable[Any]) -> ApiError:
    """The failure of a call that is to fail."""
    try:
        await call
    except ApiError as error:
        return error
    raise AssertionError("it was not refused")
