"""The verbs of the API over HTTP: `client.Client` for boards and commands in processes of their own.

One `HttpClient` keeps one pool of connections, without a bound: every watch holds a connection of its own.
"""

from __future__ import annotations

import asyncio
import io
import logging
import os
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Self
from urllib.parse import quote

import aiohttp
import orjson

from kube32_sim.api.errors import ApiError
from kube32_sim.api.own import GROUP
from kube32_sim.api.own import VERSION as VERSION_OF_OWN
from kube32_sim.client import PATCHES, JsonObject, ListResult, Resource, Unreachable, WatchEvent
from kube32_sim.kubeconfig import Access
from kube32_sim.storage.interface import Heartbeat, Pulse
from kube32_sim.version import VERSION

JSON = "application/json"
log = logging.getLogger(__name__)

LARGE = 1 << 20
_OWN = f"/apis/{GROUP}/{VERSION_OF_OWN}/"
STREAM_TIMEOUT = aiohttp.ClientTimeout(total=None, connect=10)


class HttpClient:
    """Use as `async with HttpClient(access) as client`, or call `close`.  Must be made inside a running event loop.

    timeout: seconds that an answer may take.  Failures are ApiError where the server answered, and Unreachable where it
    did not.  tells: log when the server stops answering, and when it answers again.  program: who writes, as
    managedFields tell.
    """

    def __init__(
        self, access: Access, *, timeout: float | None = 60, tells: bool = False, program: str = "kube32-sim"
    ) -> None:
        self._base = access.server.rstrip("/")
        self._timeout = timeout
        self._watches: set[aiohttp.ClientResponse] = set()
        self._tells, self._answered = tells, True
        headers = {"User-Agent": f"{program}/{VERSION} (kube32-sim)", "Accept": JSON}
        if access.token:
            headers["Authorization"] = f"Bearer {access.token}"
        elif access.username:
            headers["Authorization"] = aiohttp.BasicAuth(access.username, access.password).encode()
        self._server_name = access.server_name or None
        tls = _tls(access) if self._base.startswith("https:") else True
        self._session = aiohttp.ClientSession(
            headers=headers,
            timeout=aiohttp.ClientTimeout(total=timeout, connect=10),
            connector=aiohttp.TCPConnector(limit=0, ssl=tls),
            auto_decompress=True,
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        await self._session.close()

    @property
    def url(self) -> str:
        return self._base

    def end_watches(self) -> None:
        """All that are open, as if their connections had broken."""
        for response in list(self._watches):
            response.close()

    async def ask(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None = None,
        *,
        body: Any = None,
        media: str | None = None,
    ) -> JsonObject:
        """Whatever there is no verb for: discovery, pages of lists, dry runs.  media: of the body, if not JSON."""
        return await self._call(method, path, query, body=body, media=media or JSON)

    async def get(self, resource: Resource, namespace: str, name: str) -> JsonObject:
        return await self._call("GET", path_of(resource, namespace, name))

    async def list(
        self,
        resource: Resource,
        namespace: str = "",
        *,
        label_selector: str = "",
        field_selector: str = "",
        at: str = "",
    ) -> ListResult:
        query = _selectors(label_selector, field_selector)
        if at:
            query |= {"resourceVersion": at, "resourceVersionMatch": "Exact"}
        path = path_of(resource, namespace)
        found = await self._call("GET", path, query)
        items, metadata = found.get("items") or [], found.get("metadata")
        version = metadata.get("resourceVersion") if isinstance(metadata, dict) else None
        if not isinstance(version, str) or not isinstance(items, list) or not all(map(_is_object, items)):
            raise Unreachable(f"GET {self._base}{path}: the answer is no list of {resource.plural}")
        return ListResult(items, version)

    @asynccontextmanager
    async def watch(
        self,
        resource: Resource,
        namespace: str = "",
        *,
        resource_version: str = "",
        label_selector: str = "",
        field_selector: str = "",
        heartbeats: bool = True,
    ) -> AsyncIterator[AsyncIterator[WatchEvent]]:
        """Events as they come; a connection that breaks is Unreachable, an end by the server just the end."""
        query = _selectors(label_selector, field_selector)
        query |= {"watch": "true", "allowWatchBookmarks": "true"}
        if resource_version:
            query["resourceVersion"] = resource_version
        path = path_of(resource, namespace)
        response = await self._open(path, query)
        self._watches.add(response)
        try:
            if response.status != 200:
                raise _error(response, await _read(response))
            yield _events(response)
        finally:
            self._watches.discard(response)
            response.close()

    async def _open(self, path: str, query: Mapping[str, str]) -> aiohttp.ClientResponse:
        """The head of an answer must come in time, its body may take for ever."""
        try:
            async with asyncio.timeout(self._timeout):
                return await self._send("GET", path, query, timeout=STREAM_TIMEOUT)
        except TimeoutError as error:
            self._note(False, _why(error))
            raise Unreachable(f"GET {self._base}{path}: {_why(error)}") from error

    async def create(
        self, resource: Resource, namespace: str, obj: JsonObject, *, subresource: str = "", name: str = ""
    ) -> JsonObject:
        path = path_of(resource, namespace, name if subresource else "", subresource)
        return await self._call("POST", path, body=obj)

    async def update(self, resource: Resource, namespace: str, obj: JsonObject, *, subresource: str = "") -> JsonObject:
        path = path_of(resource, namespace, obj["metadata"]["name"], subresource)
        return await self._call("PUT", path, body=obj)

    def pulse(self, resource: Resource, namespace: str, name: str, version: str, heartbeat: Heartbeat) -> Pulse | None:
        return None

    async def patch(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        patch: JsonObject,
        *,
        subresource: str = "",
        kind: str = "merge",
    ) -> JsonObject:
        path = path_of(resource, namespace, name, subresource)
        return await self._call("PATCH", path, body=patch, media=PATCHES[kind])

    async def delete(
        self, resource: Resource, namespace: str, name: str, *, options: Mapping[str, Any] | None = None
    ) -> JsonObject:
        body = {"apiVersion": "v1", "kind": "DeleteOptions", **options} if options else None
        return await self._call("DELETE", path_of(resource, namespace, name), body=body)

    async def _call(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None = None,
        *,
        body: JsonObject | None = None,
        media: str = JSON,
    ) -> JsonObject:
        response = await self._send(method, path, query, body=body, media=media)
        try:
            content = await _read(response)
        finally:
            response.release()
        if response.status >= 300:
            raise _error(response, content)
        answer = _object(content)
        if answer is None:
            raise Unreachable(f"{method} {self._base}{path}: the answer is no JSON object")
        if path.startswith(_OWN) and not isinstance(answer.get("kind"), str):  # others may answer with anything
            raise Unreachable(f"{method} {self._base}{path}: the answer is none of a simulator")
        return answer

    async def _send(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None = None,
        *,
        body: JsonObject | None = None,
        media: str = JSON,
        timeout: aiohttp.ClientTimeout | None = None,
    ) -> aiohttp.ClientResponse:
        try:
            response = await self._session.request(
                method,
                self._base + path,
                params=query,
                data=None if body is None else _payload(body),
                headers=None if body is None else {"Content-Type": media},
                timeout=timeout or self._session.timeout,
                allow_redirects=False,
                server_hostname=self._server_name,
            )
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
            self._note(False, _why(error))
            raise Unreachable(f"{method} {self._base}{path}: {_why(error)}") from error
        self._note(True)
        return response

    def _note(self, answered: bool, why: str = "") -> None:
        before, self._answered = self._answered, answered
        if self._tells and before and not answered:
            log.warning("%s does not answer: %s; it is asked again and again", self._base, why)
        elif self._tells and answered and not before:
            log.info("%s answers", self._base)


def _payload(body: JsonObject) -> bytes | io.BytesIO:
    """A large one goes in pieces, between which others have their turns."""
    data = orjson.dumps(body)
    return data if len(data) < LARGE else io.BytesIO(data)


def _why(error: Exception) -> str:
    """What kept an answer from coming, without what only concerns the client library."""
    if isinstance(error, aiohttp.ClientConnectorError) and not isinstance(error, aiohttp.ClientSSLError):
        cause = error.os_error
        return os.strerror(cause.errno) if cause.errno and cause.errno > 0 else cause.strerror or str(error)
    return str(error) or "no answer in time"


def path_of(resource: Resource, namespace: str = "", name: str = "", subresource: str = "") -> str:
    """`/apis/apps/v1/namespaces/default/deployments/web/scale`, with as many of the parts as are given."""
    parts = ["apis", resource.group, resource.version] if resource.group else ["api", resource.version]
    if namespace:
        parts += ["namespaces", namespace]
    parts.append(resource.plural)
    parts += [part for part in (name, subresource) if part]
    return "/" + "/".join(quote(part, safe="") for part in parts)


def _selectors(label_selector: str, field_selector: str) -> dict[str, str]:
    selectors = {"labelSelector": label_selector, "fieldSelector": field_selector}
    return {key: value for key, value in selectors.items() if value}


async def _read(response: aiohttp.ClientResponse) -> bytes:
    try:
        return await response.read()
    except (aiohttp.ClientError, TimeoutError, OSError) as error:
        raise Unreachable(f"{response.method} {response.url}: {_why(error)}") from error


async def _events(response: aiohttp.ClientResponse) -> AsyncIterator[WatchEvent]:
    """One event a line; a chunk may hold many lines, or a part of one."""
    rest = b""
    try:
        async for chunk in response.content.iter_any():
            lines = (rest + chunk).split(b"\n") if rest else chunk.split(b"\n")
            rest = lines.pop()
            for line in lines:
                if line.strip():
                    yield _event(response, line)
    except (aiohttp.ClientError, TimeoutError, OSError) as error:
        raise Unreachable(f"watch of {response.url} broke: {error}") from error
    if rest.strip():
        yield _event(response, rest)


def _event(response: aiohttp.ClientResponse, line: bytes) -> WatchEvent:
    event = _object(line)
    if event is None or not isinstance(event.get("object"), dict):
        raise Unreachable(f"watch of {response.url} sent a line that is no event")
    return WatchEvent(str(event.get("type")), event["object"])


def _is_object(value: object) -> bool:
    """Whether it is what every object of the API is: a map with metadata that has a name."""
    metadata = value.get("metadata") if isinstance(value, dict) else None
    return isinstance(metadata, dict) and isinstance(metadata.get("name"), str)


def _object(content: bytes) -> JsonObject | None:
    try:
        value = orjson.loads(content)
    except orjson.JSONDecodeError:
        return None
    return value if isinstance(value, dict) else None


def _error(response: aiohttp.ClientResponse, content: bytes) -> ApiError:
    """The failure that an answer stands for; something between us and the server may have answered without a Status."""
    headers = [("Retry-After", response.headers["Retry-After"])] if "Retry-After" in response.headers else []
    status = _object(content)
    if status is None or status.get("kind") != "Status":
        text = content[:200].decode(errors="replace").strip() or response.reason or ""
        return ApiError(response.status, "", f"the server answered {response.status}: {text}", None, headers)
    code = status.get("code")
    return ApiError(
        code if isinstance(code, int) and code >= 300 else response.status,
        str(status.get("reason") or ""),
        str(status.get("message") or ""),
        status.get("details"),
        headers,
    )


def _tls(access: Access) -> ssl.SSLContext:
    authorities = access.ca.decode() if access.ca is not None else None
    context = ssl.create_default_context(cadata=authorities)
    if access.insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if access.client_certificate is not None and access.client_key is not None:
        _load_client_certificate(context, access.client_certificate, access.client_key)
    return context


def _load_client_certificate(context: ssl.SSLContext, certificate: bytes, key: bytes) -> None:
    """Python reads certificates of its own side from files only; this one is gone when it has been read."""
    import tempfile

    with tempfile.NamedTemporaryFile() as file:  # made readable by its owner only
        file.write(certificate + b"\n" + key)
        file.flush()
        context.load_cert_chain(file.name)
