"""Tokens and what is in Secrets are told to nobody: not in logs, events, metrics, nor in refusals."""

from __future__ import annotations

import base64
import json
import logging
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from aiohttp import web

from kube32_sim.client import Resource
from kube32_sim.cluster import Cluster
from kube32_sim.options import ServeOptions
from kube32_sim.registry.registry import Registry
from tests.support.webhook import MUTATING, VALIDATING, Hook, rule
from tests.support.wire import Answer, connected

MARK = "S3cr3tMarker"
CODED = base64.b64encode(MARK.encode()).decode()
MARKS = (MARK, CODED, CODED[:8], base64.b64encode(f"x{MARK}".encode()).decode()[4:12], MARK.encode().hex())
"""What must not be seen: as it is, encoded, a part of that, encoded at another place, as bytes."""
SECRETS = "/api/v1/namespaces/default/secrets"
REVIEWS = "/apis/authentication.k8s.io/v1/tokenreviews"
JSON_PATCH, MERGE, STRATEGIC, APPLY = (
    {"Content_Type": f"application/{kind}"}
    for kind in ("json-patch+json", "merge-patch+json", "strategic-merge-patch+json", "apply-patch+yaml")
)
YAML = {"Content_Type": "application/yaml"}


def secret(name: str = "bad", **fields: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, **fields}


def text(inner: str) -> bytes:
    return f"apiVersion: v1\nkind: Secret\nmetadata: {{name: bad}}\nstringData:\n{inner}\n".encode()


WRONG: list[tuple[str, str, Any, dict[str, str]]] = [
    *(
        ("POST", f"{SECRETS}?fieldValidation=Strict", secret(**fields), {})
        for fields in (
            {"data": {"k": f"{MARK}!!"}},
            {"data": {"k": CODED[:-1]}},
            {"data": {"k": {"a": MARK}}},
            {"data": MARK},
            {"data": [MARK]},
            {"stringData": {"k": [MARK]}},
            {"stringData": MARK},
            {"immutable": MARK},
            {"type": [MARK]},
            {"data": {"bad key": CODED}},
            {"data": {"k": CODED}, "unknown": MARK},
            {"stringData": {"k": MARK * 100_000}},
            {"type": "kubernetes.io/dockerconfigjson", "data": {".dockerconfigjson": CODED}},
            {"type": "kubernetes.io/dockerconfigjson", "stringData": {".dockerconfigjson": f'{{"auths": {MARK}'}},
            {"type": "kubernetes.io/dockercfg", "stringData": {".dockercfg": MARK}},
            {"type": "kubernetes.io/ssh-auth", "stringData": {"x": MARK}},
            {"type": "kubernetes.io/basic-auth", "stringData": {"x": MARK}},
            {"type": "kubernetes.io/service-account-token", "stringData": {"token": MARK}},
        )
    ),
    ("POST", SECRETS, f'{{"stringData":{{"k":"{MARK}",,'.encode(), {}),
    ("POST", SECRETS, f'{{"stringData":{{"k":{MARK}}}}}'.encode(), {}),
    ("POST", SECRETS, f'"{MARK}"'.encode(), {}),
    ("POST", SECRETS, MARK.encode(), YAML),
    ("POST", SECRETS, text(f"  k: {MARK}: {MARK}"), YAML),
    ("POST", SECRETS, text(f"  k: *{MARK}"), YAML),
    ("POST", SECRETS, text(f"  k: [{MARK}"), YAML),
    ("POST", SECRETS, f"- {MARK}\n".encode(), YAML),
    ("POST", SECRETS, f"k8s\0{MARK}".encode(), {"Content_Type": "application/vnd.kubernetes.protobuf"}),
    ("POST", SECRETS, MARK.encode(), {"Content_Type": "text/plain"}),
    ("PUT", f"{SECRETS}/kept", secret("kept", type="other", data={"k": CODED}), {}),
    ("PUT", f"{SECRETS}/kept", secret("other", data={"k": CODED}), {}),
    ("PUT", f"{SECRETS}/locked", secret("locked", stringData={"k": f"other{MARK}"}), {}),
    ("PATCH", f"{SECRETS}/kept", [{"op": "test", "path": "/data/k", "value": MARK}], JSON_PATCH),
    ("PATCH", f"{SECRETS}/kept", [{"op": "add", "path": "/data/k/x", "value": MARK}], JSON_PATCH),
    ("PATCH", f"{SECRETS}/kept", [{"op": "add", "path": "/data/k", "value": [MARK]}], JSON_PATCH),
    ("PATCH", f"{SECRETS}/kept", [{"op": "add", "path": "/data/x", "value": 7}], JSON_PATCH),
    ("PATCH", f"{SECRETS}/kept", [{"op": "copy", "from": "/data", "path": "/data/x"}], JSON_PATCH),
    ("PATCH", f"{SECRETS}/kept", [{"op": "replace", "path": "/kind", "value": "Other"}], JSON_PATCH),
    ("PATCH", f"{SECRETS}/kept", [{"op": MARK, "path": "/data/x", "value": MARK}], JSON_PATCH),
    *(
        (
            "PATCH",
            f"{SECRETS}/kept?fieldValidation=Strict",
            [{"op": "copy", "from": "/data/k", "path": path}],
            JSON_PATCH,
        )
        for path in (
            *("/apiVersion", "/kind", "/type", "/immutable", "/metadata/name", "/metadata/namespace", "/metadata/uid"),
            *("/metadata/resourceVersion", "/metadata/finalizers", "/metadata/labels", "/metadata/creationTimestamp"),
        )
    ),
    ("PATCH", f"{SECRETS}/kept", [{"op": "move", "from": "/data/k", "path": "/metadata/name"}], JSON_PATCH),
    ("PATCH", f"{SECRETS}/kept", [{"op": "copy", "from": "/data", "path": "/metadata/labels"}], JSON_PATCH),
    (
        "PATCH",
        f"{SECRETS}/kept",
        [
            {"op": "add", "path": "/metadata/finalizers", "value": []},
            {"op": "copy", "from": "/data/k", "path": "/metadata/finalizers/-"},
        ],
        JSON_PATCH,
    ),
    ("PATCH", f"{SECRETS}/kept", {"data": {"k": f"{MARK}!"}}, MERGE),
    ("PATCH", f"{SECRETS}/kept", {"data": {"x": 7}}, MERGE),
    ("PATCH", f"{SECRETS}/kept", {"kind": "Other"}, MERGE),
    ("PATCH", f"{SECRETS}/kept", MARK.encode(), MERGE),
    ("PATCH", f"{SECRETS}/kept", {"data": MARK}, STRATEGIC),
    ("PATCH", f"{SECRETS}/kept", {"data": {"$patch": MARK, "k": MARK}}, STRATEGIC),
    ("PATCH", f"{SECRETS}/kept", {"data": {"k": 7}}, STRATEGIC),
    ("PATCH", f"{SECRETS}/kept?fieldManager=two", secret("kept", data={"k": CODED}), APPLY),
    ("PATCH", f"{SECRETS}/kept?fieldManager=two", secret("kept", data=MARK), APPLY),
    ("PATCH", f"{SECRETS}/kept?fieldManager=two", secret("kept", data={"k": [MARK]}), APPLY),
    ("PATCH", f"{SECRETS}/kept?fieldManager=two", text(f"  k: *{MARK}"), APPLY),
    ("PATCH", f"{SECRETS}/kept?fieldManager=two", text(f"  k: [{MARK}"), APPLY),
    ("POST", REVIEWS, {"spec": {"token": [MARK]}}, {}),
    ("POST", REVIEWS, {"spec": {"audiences": MARK}}, {}),
    ("GET", SECRETS, None, {"Authorization": f"Bearer {MARK}"}),
    ("GET", SECRETS, None, {"Authorization": f"Basic {CODED}"}),
    ("GET", f"{SECRETS}?access_token={MARK}", None, {"Authorization": ""}),
    ("GET", f"{SECRETS}?fieldSelector=data.k%3Dx", None, {}),
]
"""Requests that are refused, with what their sender would not like to read in the log of his pipeline."""


@pytest_asyncio.fixture
async def kept(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> AsyncIterator[Cluster]:
    """With two Secrets, everything logged, and somebody besides the administrator."""
    caplog.set_level(logging.DEBUG)
    tokens = tmp_path / "tokens.csv"
    tokens.write_text(f'{MARK}-root,admin,1,"system:masters"\n{MARK}-ann,ann,2\n')
    tokens.chmod(0o600)
    options = ServeOptions(
        port=0, nodes=0, token_file=tokens, authorization_mode="RBAC", clock="virtual", controllers="*,-scheduler"
    )
    async with Cluster(options) as cluster:
        for made in (
            secret("kept", data={"k": base64.b64encode(f"x{MARK}".encode()).decode()}),
            secret("locked", stringData={"k": MARK}, immutable=True),
        ):
            assert (await ask(cluster, "POST", f"{SECRETS}?fieldManager=one", made)).status == 201
        yield cluster


async def ask(cluster: Cluster, method: str, path: str, body: Any = None, who: str = "root", **headers: str) -> Answer:
    headers = {"Authorization": f"Bearer {MARK}-{who}", **headers}
    async with connected(cluster.port) as wire:
        return await wire(method, path, body, **headers)


def seen(shown: str) -> list[str]:
    return [mark for mark in MARKS if mark in shown]


def shown_by(answer: Answer) -> str:
    return f"{answer.body!r} {answer.headers}"


def logged(caplog: pytest.LogCaptureFixture) -> str:
    """Everything that was logged, with tracebacks."""
    formatter = logging.Formatter()
    records = [*caplog.get_records("setup"), *caplog.get_records("call")]
    return "\n".join([formatter.format(record) for record in records])


async def test_refusals_tell_nothing(kept: Cluster, caplog: pytest.LogCaptureFixture) -> None:
    for method, path, body, headers in WRONG:
        answer = await ask(kept, method, path, body, **headers)
        assert 400 <= answer.status < 500, (method, path, body, answer)
        assert seen(shown_by(answer)) == [], (method, path, str(body)[:200], answer.body[:500])
    await kept.advance("1h")
    assert seen(logged(caplog)) == []
    for path in (
        "/api/v1/events",
        "/apis/events.k8s.io/v1/events",
        "/metrics",
        "/readyz?verbose",
        "/api/v1/configmaps",
    ):
        answer = await ask(kept, "GET", path)
        assert (answer.status, seen(shown_by(answer))) == (200, [])


async def test_a_patch_that_puts_values_elsewhere_is_told_where_it_fails(kept: Cluster) -> None:
    for path, where in (("/metadata/uid", "metadata.uid"), ("/type", "type")):
        answer = await ask(
            kept, "PATCH", f"{SECRETS}/kept", [{"op": "copy", "from": "/data/k", "path": path}], **JSON_PATCH
        )
        assert answer.status == 422
        assert answer.json()["message"].startswith(f"{where}: not as it must be after this patch")
    own = {"metadata": {"labels": {"a": "no label!"}}}  # what the sender wrote himself he is told
    assert b"no label!" in (await ask(kept, "PATCH", f"{SECRETS}/kept", own, **MERGE)).body


@pytest.mark.parametrize(
    "lines",
    [
        "Authorization: Bearer MARK\0",
        "Authorization: Bearer MARK\x7f\x01",
        "Authorization Bearer MARK",
        "Authoriz\0ation: Bearer MARK",
        "Authorization: Bearer x\r\n MARK",
        "Authorization: Bearer MARK\n\r",
        "Transfer-Encoding: MARK",
        "Content-Length: MARK",
    ],
)
async def test_what_is_no_http_is_not_repeated(kept: Cluster, caplog: pytest.LogCaptureFixture, lines: str) -> None:
    async with connected(kept.port) as wire:
        await wire.send(f"GET {SECRETS} HTTP/1.1\r\nHost: localhost\r\n{lines.replace('MARK', MARK)}\r\n\r\n".encode())
        answer = await wire.answer()
    assert (answer.status, seen(shown_by(answer))) == (400, [])
    assert answer.json()["message"].startswith("the request is no HTTP: ")
    assert seen(logged(caplog)) == []


async def test_who_may_not_read_is_told_nothing(kept: Cluster) -> None:
    for method, path in (
        ("GET", SECRETS),
        ("GET", f"{SECRETS}/kept"),
        ("GET", f"{SECRETS}?watch=1"),
        ("GET", f"{SECRETS}?fieldSelector=type%3DOpaque"),
        ("DELETE", f"{SECRETS}/kept"),
        ("PUT", f"{SECRETS}/kept"),
        ("GET", "/api/v1/watch/namespaces/default/secrets/kept?resourceVersion=0"),
        ("GET", "/api/v1/secrets?limit=1"),
    ):
        answer = await ask(kept, method, path, who="ann")
        assert (answer.status, seen(shown_by(answer))) == (403, []), path


async def test_tables_and_metadata_do_not_show_values(kept: Cluster) -> None:
    for form in ("Table", "PartialObjectMetadataList"):
        version = "v1"
        answer = await ask(kept, "GET", SECRETS, Accept=f"application/json;as={form};g=meta.k8s.io;v={version}")
        assert (answer.status, seen(shown_by(answer))) == (200, []), form


@pytest.mark.parametrize("policy", ["Ignore", "Fail"])
async def test_a_webhook_that_repeats_what_it_was_sent(
    kept: Cluster, caplog: pytest.LogCaptureFixture, policy: str
) -> None:
    hook = Hook()
    async with hook.serving():
        echoes = {
            "whole": web.json_response,
            "broken": lambda request: web.Response(status=500, text=json.dumps(request["object"]["data"])),
            "odd": lambda request: {"allowed": True, "patchType": "JSONPatch", "patch": request["object"]["data"]["k"]},
        }
        for name, answer in echoes.items():
            kind = MUTATING if name == "odd" else VALIDATING
            more: Any = {"answer": answer, "failurePolicy": policy}
            await hook.configure(kept, kind, name, rule(["secrets"], ["CREATE"]), **more)
        told = await ask(kept, "POST", SECRETS, secret("new", stringData={"k": MARK}))
        assert told.status == (201 if policy == "Ignore" else 500)
        assert hook.called
        assert policy == "Ignore" or seen(shown_by(told)) == []
    assert seen(logged(caplog)) == []
    assert ("failing open" in logged(caplog)) is (policy == "Ignore")


async def test_an_accident_with_a_secret_is_told_without_it(
    kept: Cluster, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fails(*_: Any) -> Any:
        try:
            raise KeyError(MARK)
        except KeyError as error:
            raise ValueError(f"cannot digest {MARK}") from error

    monkeypatch.setattr(Registry, "create", fails)
    answer = await ask(kept, "POST", SECRETS, secret("new", stringData={"k": MARK}))
    assert (answer.status, seen(shown_by(answer))) == (503, [])
    assert seen(logged(caplog)) == []
    assert f"POST {SECRETS} failed\nTraceback" in logged(caplog)
    assert "in fails" in logged(caplog)  # where it was is told all the same
    await ask(kept, "POST", "/api/v1/namespaces/default/configmaps", {"metadata": {"name": "m"}})
    assert f"cannot digest {MARK}" in logged(caplog)


async def test_tokens_of_accounts_are_in_no_log_and_no_event(kept: Cluster, caplog: pytest.LogCaptureFixture) -> None:
    path = "/api/v1/namespaces/default/serviceaccounts/default/token"
    token = (await ask(kept, "POST", path, {"spec": {}})).json()["status"]["token"]
    for given in (token, f"{token[:-2]}", token.replace(".", "..")):
        await ask(kept, "GET", SECRETS, Authorization=f"Bearer {given}")
        await ask(kept, "POST", REVIEWS, {"spec": {"token": given}})
    await kept.advance("1h")
    events = (await kept.client.list(Resource("", "v1", "events"), "")).items
    metrics = (await ask(kept, "GET", "/metrics")).body.decode()
    for part in token.split("."):
        assert part not in logged(caplog) + json.dumps(events) + metrics


async def test_nothing_is_written_into_the_log_by_the_path(kept: Cluster, caplog: pytest.LogCaptureFixture) -> None:
    """Line feeds in a path would forge lines of the log."""
    await ask(kept, "GET", "/api/v1/namespaces/default%0aERROR forged/pods".replace(" ", "%20"))
    assert not any("\nERROR forged" in record.getMessage() for record in caplog.records)
