"""Bounds that nobody sets: what more of it can only be a mistake or an attack.  Each at its bound, and beyond."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable

import pytest

from kube32_sim.api import jsontext
from kube32_sim.cluster import Cluster
from kube32_sim.ids import Ids
from kube32_sim.registry import registry
from tests.server.test_bounds_requests import MAPS, refused
from tests.support.objects import MAPS as MAPS_TYPE
from tests.support.objects import config_map
from tests.support.wire import Wire, connected

REVISIONS = "/apis/apps/v1/namespaces/default/controllerrevisions"
JSON, YAML = "application/json", "application/yaml"


def nested(depth: int) -> bytes:
    return b'{"a":' * depth + b"1" + b"}" * depth


def deepest(fits: Callable[[int], bool]) -> int:
    return max(depth for depth in range(400) if fits(depth))


def revision(name: str, data: bytes) -> bytes:
    named = json.dumps(name).encode()
    head = b'{"apiVersion":"apps/v1","kind":"ControllerRevision","metadata":{"name":%b},"revision":1,"data":' % named
    return head + data + b"}"


def fits(depth: int) -> bool:
    try:
        jsontext.check_extent(json.loads(revision("x", nested(depth))))
    except jsontext.JsonError:
        return False
    return True


@pytest.mark.parametrize("media", [JSON, YAML])
async def test_bodies_may_be_nested_so_deeply(wire: Wire, media: str) -> None:
    most = deepest(fits)
    answer = await wire("POST", REVISIONS, revision("deep", nested(most)), Content_Type=media)
    assert answer.status == 201, answer.body
    for depth in (most + 1, 2000, 100_000):
        answer = await wire("POST", REVISIONS, revision("deeper", nested(depth)), Content_Type=media)
        refused(
            answer,
            400,
            "BadRequest",
            "max depth" if media == JSON or depth == most + 1 else "nested more than 250 levels deep",
        )


@pytest.mark.parametrize(
    "media", ["merge-patch+json", "strategic-merge-patch+json", "json-patch+json", "apply-patch+yaml"]
)
async def test_patches_may_not_be_nested_more_deeply(wire: Wire, media: str) -> None:
    assert (await wire("POST", REVISIONS, revision("a", b"{}"))).status == 201
    for depth in (400, 2000, 100_000):
        body = revision("a", nested(depth))
        if media.startswith("json-patch"):
            body = b'[{"op":"add","path":"/data","value":%b}]' % nested(depth)
        query = "?fieldManager=x&force=true" if media.startswith("apply") else ""
        answer = await wire("PATCH", f"{REVISIONS}/a{query}", body, Content_Type=f"application/{media}")
        assert answer.status in (400, 422), answer.body
        assert "dep" in answer.json()["message"]


async def test_patches_may_not_nest_step_by_step_either(wire: Wire) -> None:
    """Each operation is small; what they make together is not."""
    assert (await wire("POST", REVISIONS, revision("a", b'{"a":{}}'))).status == 201
    steps = [{"op": "add", "path": "/data" + "/a" * number, "value": {}} for number in range(1, 600)]
    answer = await wire(
        "PATCH", f"{REVISIONS}/a", json.dumps(steps).encode(), Content_Type="application/json-patch+json"
    )
    assert answer.status == 422
    assert "max depth" in answer.json()["message"]


async def test_a_patch_may_have_so_many_operations(wire: Wire) -> None:
    await wire("POST", MAPS, config_map("a", k="v"))
    for count, code in ((10_000, 200), (10_001, 413)):
        body = json.dumps([{"op": "add", "path": "/data/k", "value": "x"}] * count).encode()
        answer = await wire("PATCH", f"{MAPS}/a", body, Content_Type="application/json-patch+json")
        assert answer.status == code, answer.body
    assert "maximum operations in a JSON patch is 10000, got 10001" in answer.json()["message"]


async def test_copies_may_not_multiply(wire: Wire) -> None:
    await wire("POST", MAPS, config_map("a", k="v" * 1000))
    copies = [{"op": "copy", "from": "/data", "path": f"/data/x{number}"} for number in range(30)]
    answer = await wire("PATCH", f"{MAPS}/a", json.dumps(copies).encode(), Content_Type="application/json-patch+json")
    assert answer.status == 422


async def test_annotations_may_have_so_many_bytes(wire: Wire) -> None:
    for size, code in ((256 * 1024 - 1, 201), (256 * 1024, 422)):
        obj = config_map(f"a{code}")
        obj["metadata"]["annotations"] = {"k": "x" * size}
        answer = await wire("POST", MAPS, obj)
        assert answer.status == code
    assert answer.json()["message"].endswith("annotations: Too long: may not be more than 262144 bytes")


async def test_aliases_may_not_multiply(wire: Wire) -> None:
    levels = "".join(f"  l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 10)}]\n" for n in range(1, 9))
    bomb = f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a}}\ndata:\n  l0: &l0 [lol]\n{levels}".encode()
    for method, path, media in (
        ("POST", MAPS, YAML),
        ("PATCH", f"{MAPS}/a?fieldManager=x", "application/apply-patch+yaml"),
    ):
        refused(await wire(method, path, bomb, Content_Type=media), 400, "BadRequest", "excessive aliasing")


@pytest.mark.parametrize("number", [b"1" + b"0" * 400, b"1e999", b"-1e999", b"9" * 100_000, b"0." + b"1" * 100_000])
async def test_numbers_may_be_no_larger_than_numbers(wire: Wire, number: bytes) -> None:
    body = b'{"apiVersion":"apps/v1","kind":"ControllerRevision","metadata":{"name":"n"},"revision":%b}' % number
    assert (await wire("POST", REVISIONS, body)).status == 400
    answer = await wire("POST", REVISIONS, revision("d", b'{"a":%b}' % number))
    assert answer.status in (201, 400)
    assert (await wire("GET", REVISIONS)).json()["items"] is not None


async def test_who_has_no_luck_with_names_is_to_try_again(
    bare: Cluster, wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    tries: list[int] = []
    monkeypatch.setattr(Ids, "suffix", lambda self, length: tries.append(length) or "xxxxx")
    made = config_map("")
    made["metadata"] = {"generateName": "a-"}
    assert (await wire("POST", MAPS, made)).status == 201
    tries.clear()
    answer = await wire("POST", MAPS, made)
    refused(answer, 409, "AlreadyExists", "")
    status = answer.json()
    assert status["message"] == (
        'configmaps "a-xxxxx" already exists, the server was not able to generate a unique name for the object'
    )
    assert status["details"] == {"name": "a-xxxxx", "kind": "configmaps", "retryAfterSeconds": 1}
    assert answer.header("retry-after") == "1"
    assert len(tries) == 8


async def test_others_are_served_while_a_collection_is_deleted(
    bare: Cluster, wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, "STRIDE", 10)
    for number in range(500):
        await bare.client.create(MAPS_TYPE, "default", config_map(f"m{number}"))
    async with connected(bare.port) as other:
        await wire.ask("DELETE", MAPS)
        seen: list[int] = []
        while not seen or seen[-1] > 1:
            seen.append(len((await other("GET", MAPS)).json()["items"]))
            await asyncio.sleep(0)
        assert (await wire.answer()).status == 200
    assert any(1 < count < 500 for count in seen), seen
