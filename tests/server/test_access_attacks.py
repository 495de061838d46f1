"""Attempts to get in where one may not: odd tokens, forged ones, headers of proxies, paths and requests in disguise."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from kube32_sim.client import Resource
from kube32_sim.cluster import Cluster
from kube32_sim.options import ServeOptions
from tests.support.wire import Answer, connected, head

SECRETS = "/api/v1/namespaces/default/secrets"
WHOAMI = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
REVIEWS = "/apis/authentication.k8s.io/v1/tokenreviews"
MASTER, PLAIN = "root-token", "ann-token"
CODED = base64.b64encode(MASTER.encode()).decode()


@pytest_asyncio.fixture
async def guarded(tmp_path: Path) -> AsyncIterator[Cluster]:
    """Roles decide; one administrator, one who may nothing, and a Secret."""
    tokens = tmp_path / "tokens.csv"
    tokens.write_text(f'{MASTER},admin,1,"system:masters"\n{PLAIN},ann,2\n')
    options = ServeOptions(port=0, nodes=0, controllers="none", token_file=tokens, authorization_mode="RBAC")
    async with Cluster(options) as cluster:
        await cluster.client.create(
            Resource("", "v1", "secrets"), "default", {"metadata": {"name": "s"}, "stringData": {"k": "treasure"}}
        )
        yield cluster


async def send(cluster: Cluster, path: str, headers: dict[str, str], method: str = "GET", body: Any = None) -> Answer:
    """headers: as they are sent, whatever they are."""
    data = b"" if body is None else json.dumps(body).encode()
    sent = {"Host": "localhost", **headers}
    if body is not None:
        sent |= {"Content-Type": "application/json", "Content-Length": str(len(data))}
    async with connected(cluster.port) as wire:
        await wire.send(head(f"{method} {path} HTTP/1.1", sent) + data)
        return await wire.answer(bodyless=method == "HEAD")


async def who(cluster: Cluster, headers: dict[str, str]) -> str:
    answer = await send(cluster, WHOAMI, headers, "POST", {})
    return answer.json()["status"]["userInfo"]["username"] if answer.status == 201 else f"{answer.status}"


AUTHORIZATIONS = [
    "", "Bearer", "Bearer ", "Basic cm9vdC10b2tlbjo=", MASTER, f"Token {MASTER}",
    f"Bearer{MASTER}", f"Bearer={MASTER}",
    f"Bearer\t{MASTER}", f"Bearer {MASTER}x", f"Bearer {MASTER[:-1]}",
    f"Bearer {MASTER.upper()}", f'Bearer "{MASTER}"',
    f"Bearer x, Bearer {MASTER}", f"Bearer {MASTER},{MASTER}", f"Bearer {MASTER} {MASTER}", f"Bearer \xa0{MASTER}",
    f"Bearer {MASTER}\xe9", "Bearer " + "x" * 10_000, "Bearer " + "." * 2_000, "Bearer " + "e30." * 2_000,
    "Bearer null", "Bearer undefined", "Bearer {}", "Bearer *", "Negotiate x", "Digest username=admin",
]  # fmt: skip


async def test_no_token_but_the_token(guarded: Cluster) -> None:
    for authorization in AUTHORIZATIONS:
        shown = {"Authorization": authorization}
        answer = await send(guarded, SECRETS, shown)
        assert answer.status in (400, 401, 403), authorization
        assert b"treasure" not in answer.body
        assert (await send(guarded, "/api/v1/namespaces", shown, "POST", {})).status in (400, 401, 403), authorization


async def test_the_first_of_two_counts(guarded: Cluster) -> None:
    """As in Go; a proxy in front that looks at one and hands on both is not fooled into more than that one may."""
    async with connected(guarded.port) as wire:
        for first, second, code in ((PLAIN, MASTER, 403), (MASTER, PLAIN, 200)):
            lines = f"Authorization: Bearer {first}\r\nAuthorization: Bearer {second}\r\n"
            await wire.send(f"GET {SECRETS} HTTP/1.1\r\nHost: localhost\r\n{lines}\r\n".encode())
            assert (await wire.answer()).status == code


def token_of(header: Any, claims: Any, signature: bytes = b"") -> str:
    parts = (json.dumps(header).encode(), json.dumps(claims).encode(), signature)
    return ".".join(base64.urlsafe_b64encode(part).rstrip(b"=").decode() for part in parts)


async def test_forged_tokens_of_accounts(guarded: Cluster) -> None:
    path = "/api/v1/namespaces/kube-system/serviceaccounts"
    master = {"Authorization": f"Bearer {MASTER}"}
    assert (await send(guarded, path, master, "POST", {"metadata": {"name": "robot"}})).status == 201
    made = await send(guarded, f"{path}/robot/token", master, "POST", {"spec": {}})
    good: str = made.json()["status"]["token"]
    assert await who(guarded, {"Authorization": f"Bearer {good}"}) == "system:serviceaccount:kube-system:robot"
    parts = good.split(".")
    header, claims = (json.loads(base64.urlsafe_b64decode(part + "==")) for part in parts[:2])
    other = {**claims, "sub": "system:serviceaccount:kube-system:admin"}
    forged = [
        token_of({**header, "alg": "none"}, claims),
        token_of({**header, "alg": "None"}, claims),
        token_of({"alg": "none"}, claims),
        token_of({**header, "alg": "HS256"}, claims, b"x" * 32),
        token_of({**header, "alg": ["RS256"]}, claims, b"x" * 256),
        token_of({**header, "kid": "../../etc/passwd"}, claims, b"x" * 256),
        token_of({**header, "kid": None}, claims, b"x" * 256),
        token_of({**header, "jwk": {"kty": "oct"}}, claims, b""),
        token_of(header, other, base64.urlsafe_b64decode(parts[2] + "==")),
        token_of(header, {**claims, "exp": 9e99}, base64.urlsafe_b64decode(parts[2] + "==")),
        token_of([], claims), token_of(header, []), token_of(header, {"iss": claims["iss"]}),
        f"{good}.", f".{good}", f"{good}x", f"{good}=", f"{parts[0]}.{parts[1]}.", f"{parts[0]}.{parts[1]}",
        f"{parts[0]}..{parts[2]}", f"{parts[0]}\xa0.{parts[1]}.{parts[2]}",
        f"{parts[0]}.{base64.b64encode(b'[' * 3000).decode()}.{parts[2]}",
    ]  # fmt: skip
    for token in forged:
        assert await who(guarded, {"Authorization": f"Bearer {token}"}) in ("400", "401"), token


HEADERS: list[dict[str, str]] = [
    {"X-Remote-User": "admin", "X-Remote-Group": "system:masters"},
    {"X-Forwarded-User": "admin"},
    {"X-Forwarded-For": "127.0.0.1", "X-Real-Ip": "127.0.0.1", "Forwarded": "for=127.0.0.1"},
    {"X-Original-Url": "/healthz", "X-Rewrite-Url": "/healthz"},
    {"X-Http-Method-Override": "GET", "X-Method-Override": "GET"},
    {"Ssl-Client-Verify": "SUCCESS", "Ssl-Client-Subject-Dn": "CN=admin,O=system:masters"},
    {"X-Client-Cert": "x", "Client-Cert": ":x:"},
    {"Cookie": f"token={MASTER}; Authorization=Bearer {MASTER}"},
    {"Proxy-Authorization": f"Bearer {MASTER}"},
    {"Sec-Websocket-Protocol": f"base64url.bearer.authorization.k8s.io.{CODED}"},
    {"Upgrade": "h2c", "Connection": "Upgrade, HTTP2-Settings", "HTTP2-Settings": ""},
    {"Impersonate-User": "admin"},
    {"Impersonate-User": "admin", "Impersonate-Group": "system:masters"},
    {"iMPERSONATE-uSER": "system:admin"},
    {"Impersonate-Group": "system:masters"},
    {"Impersonate-Uid": "1"},
    {"Impersonate-Extra-x": "1"},
    {"Impersonate-User": "system:serviceaccount:kube-system:x"},
    {"Impersonate-User": "system:node:x"},
]


@pytest.mark.parametrize("token", ["", PLAIN])
async def test_no_header_makes_anybody_more_than_he_is(guarded: Cluster, token: str) -> None:
    own = {"Authorization": f"Bearer {token}"} if token else {}
    for headers in HEADERS:
        assert (await send(guarded, SECRETS, own | headers)).status in (400, 403), headers
        assert (await send(guarded, f"{SECRETS}/s", own | headers, "DELETE")).status in (400, 403), headers
        assert await who(guarded, own | headers) in ("ann", "400", "403"), headers


PATHS = [
    "/{0}", "//{0}", "/healthz/../{0}", "/healthz/%2e%2e/{0}", "/healthz/..%2f{0}", "/healthz%2f..%2f{0}", "/./{0}",
    "/%2f{0}", "/{0};x", "/;/{0}", "/healthz;/../{0}", "/{0}#x", "/{0}?x=/healthz", "/{0}/",
    "/{0}//", "/{0}/%00", "/{0}%20",
    "/version/../{0}", "/livez/..;/{0}", "/readyz\\..\\{0}", "/healthz?/../{0}&", "/healthz%3f/../{0}", "/%252f{0}",
    "/openapi/v2/../../{0}", "/.well-known/openid-configuration/../../{0}", "/api/v1/namespaces/default%2fsecrets",
    "/api/v1/namespaces/default/secrets%2fs", "/api/v1/watch/secrets",
    "/api/v1/secrets?watch=false", "/api/v1/secrets?watch=0",
    "/api/v1/namespaces/kube-public/../default/secrets", "/api/v1/namespaces//secrets", "/apis//v1/secrets",
    "/api/v1/namespaces/default/services/x/proxy/../../../secrets/s", "/%61pi/v1/secrets", "/api/%761/secrets/",
]  # fmt: skip


@pytest.mark.parametrize("token", ["", PLAIN])
async def test_no_path_leads_around(guarded: Cluster, token: str) -> None:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    for path in PATHS:
        for method in ("GET", "HEAD", "POST", "DELETE", "OPTIONS", "PROPFIND", "get"):
            answer = await send(guarded, path.format(SECRETS[1:]), headers, method)
            public = answer.status == 200 and path.startswith("/healthz?")
            assert public or answer.status in (400, 403, 404, 405), (method, path, answer)
            assert b"treasure" not in answer.body


async def test_what_is_open_to_all_is_what_upstream_opens(guarded: Cluster) -> None:
    for path in ("/healthz", "/livez", "/readyz", "/version", "/ui/"):  # the page itself tells nothing of the cluster
        assert (await send(guarded, path, {})).status == 200, path
    for path in (
        "/metrics",
        "/",
        "/api",
        "/apis",
        "/openapi/v2",
        "/openapi/v3",
        "/openid/v1/jwks",
        "/healthz/ping",
    ):
        assert (await send(guarded, path, {})).status == 403, path
    assert (await send(guarded, "/metrics", {"Authorization": f"Bearer {PLAIN}"})).status == 403
    assert (await send(guarded, "/metrics", {"Authorization": f"Bearer {MASTER}"})).status == 200


async def test_nobody_finds_out_about_tokens_who_may_not_ask(guarded: Cluster) -> None:
    review = {"spec": {"token": MASTER}}
    for headers in ({}, {"Authorization": f"Bearer {PLAIN}"}):
        assert (await send(guarded, REVIEWS, headers, "POST", review)).status == 403
    found = (await send(guarded, REVIEWS, {"Authorization": f"Bearer {MASTER}"}, "POST", review)).json()
    assert found["status"]["user"]["username"] == "admin"


@pytest.mark.parametrize(
    "lines",
    [
        "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n",
        "Content-Length: 5\r\nContent-Length: 50\r\n",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n",
        "Transfer-Encoding: xchunked\r\n",
        "Transfer-Encoding : chunked\r\n",
        "Transfer-Encoding:\x0bchunked\r\n",
        "Content-Length: +5\r\n",
        "Content-Length: 0x5\r\n",
        "Content-Length: 5, 5\r\n",
        "X: y\r\n Transfer-Encoding: chunked\r\n",
        "X: y\nTransfer-Encoding: chunked\r\n",
    ],
)
async def test_no_request_hides_in_another(guarded: Cluster, lines: str) -> None:
    """What a proxy in front could read in another way is read in no way at all: the connection ends."""
    hidden = f"0\r\n\r\nGET {SECRETS} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {MASTER}\r\n\r\n"
    first = f"POST {WHOAMI} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {PLAIN}\r\n{lines}\r\n"
    async with connected(guarded.port) as wire:
        await wire.send((first + hidden).encode("latin-1"))
        assert (await wire.answer()).status == 400
        wire.patience = 5
        assert b"treasure" not in await wire.rest()
