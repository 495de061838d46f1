"""Webhooks that cannot be asked, answer nonsense, or take part in what they are asked about."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import AsyncIterator
from typing import Any

import orjson
import pytest
import pytest_asyncio
from aiohttp import web

from kube32_sim.api.webhooks.review import LONGEST
from kube32_sim.client import DEPLOYMENTS, NAMESPACES, SERVICES, Resource
from kube32_sim.cluster import Cluster
from kube32_sim.http_client import HttpClient
from kube32_sim.options import ServeOptions
from kube32_sim.registry.waiting import ATTEMPTS
from kube32_sim.webhooks.connecting import Resolver, Unreachable
from tests.support.objects import MAPS, config_map
from tests.support.webhook import ALLOWED, MUTATING, VALIDATING, Hook, certificates, labelled, patched, refused, rule
from tests.support.wire import Wire

CREATE_MAPS = rule(["configmaps"], ["CREATE"])
ALL_MAPS = rule(["configmaps"], ["*"])
EVERYTHING = rule(["*/*"], ["*"], "*", "*")
Object = dict[str, Any]


@pytest_asyncio.fixture
async def hook() -> AsyncIterator[Hook]:
    async with Hook().serving() as serving:
        yield serving


async def fails(cluster: Cluster, name: str = "a") -> str:
    """What a webhook that does not work makes of a create, without `Internal error occurred: `."""
    error = await refused(cluster.client.create(MAPS, "default", config_map(name)))
    assert (error.code, error.reason) == (500, "InternalError")
    assert error.details == {"causes": [{"message": error.message.removeprefix("Internal error occurred: ")}]}
    assert cluster.store.get(("", "configmaps"), f"default/{name}") is None
    return error.message.removeprefix("Internal error occurred: ")


async def configure(cluster: Cluster, client: Object, kind: Resource = VALIDATING, **more: Any) -> None:
    webhook = {
        "name": "v.example.com",
        "clientConfig": client,
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "rules": [CREATE_MAPS],
        **more,
    }
    await cluster.client.create(kind, "", {"metadata": {"name": "v"}, "webhooks": [webhook]})


async def test_who_is_not_reached(bare: Cluster, hook: Hook, unused_tcp_port: int) -> None:
    async def tried(client: Object) -> str:
        await configure(bare, client)
        said = await fails(bare)
        await bare.client.delete(VALIDATING, "", "v")
        return said

    client = hook.client("v")
    other = base64.b64encode(certificates("other.example.com")[0]).decode()
    down = f"https://127.0.0.1:{unused_tcp_port}/v"
    assert await tried({"url": down}) == (
        f'failed calling webhook "v.example.com": failed to call webhook: Post "{down}?timeout=10s": '
        f"dial tcp 127.0.0.1:{unused_tcp_port}: connect: connection refused"
    )
    untrusted = "tls: failed to verify certificate: x509: certificate signed by unknown authority"
    assert (await tried({**client, "caBundle": other})).endswith(untrusted)
    assert (await tried({"url": client["url"]})).endswith(untrusted)
    assert (await tried({**client, "caBundle": base64.b64encode(b"x").decode()})).endswith(
        "could not get REST client: unable to load root certificates: unable to parse bytes as PEM block"
    )
    plain = f"https://127.0.0.1:{bare.port}/v"
    assert (await tried({"url": plain})).endswith("http: server gave HTTP response to HTTPS client")
    assert hook.called == []


ANSWERS: dict[str, tuple[Any, str]] = {
    "no JSON": (b"oh", "failed to call webhook: couldn't get version/kind; json parse error: invalid character 'o'"),
    "nothing": (b"", "failed to call webhook: 0-length response with status code: 200"),
    "a list": (b"[]", "failed to call webhook: couldn't get version/kind; json parse error: json: cannot unmarshal"),
    "no kind": (b"{}", "failed to call webhook: Object 'Kind' is missing in '{}'"),
    "another kind": ({"kind": "Pod", "apiVersion": "v1"}, 'failed to call webhook: no kind "Pod" is registered'),
    "no response": ({"response": None}, "received invalid webhook response: webhook response was absent"),
    "another uid": ({"response": {"uid": "x"}}, "received invalid webhook response: expected response.uid="),
    "a word for truth": (
        {"response": {"allowed": "yes"}},
        "failed to call webhook: json: cannot unmarshal string into",
    ),
    "another version": (
        {"apiVersion": "admission.k8s.io/v1beta1"},
        "received invalid webhook response: expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, "
        "got admission.k8s.io/v1beta1, Kind=AdmissionReview",
    ),
    "500": (500, 'failed to call webhook: an error on the server ("broken") has prevented the request from succeeding'),
    "404": (404, "failed to call webhook: the server could not find the requested resource"),
    "302": (302, "failed to call webhook: the server responded with the status code 302"),
    "huge": (b"[" + b" " * (LONGEST + 1), f"the answer has more than {LONGEST} bytes"),
}


def answering(answer: Any) -> Any:
    """An answer of the table as a webhook gives it."""

    def given(request: Object) -> web.Response:
        if isinstance(answer, int):
            return web.Response(status=answer, text="broken", headers={"Location": "/v"})
        if isinstance(answer, bytes):
            return web.Response(body=answer)
        response = {"uid": request["uid"], "allowed": True, **(answer.get("response") or {})}
        whole = {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", **answer}
        return web.json_response({**whole, "response": response if answer.get("response", 1) is not None else None})

    return given


@pytest.mark.parametrize("kind", [MUTATING, VALIDATING], ids=["mutating", "validating"])
async def test_answers_that_make_no_sense(bare: Cluster, hook: Hook, kind: Resource) -> None:
    """They fail the request, or with failurePolicy Ignore do not matter."""
    await hook.configure(bare, kind, "v", CREATE_MAPS)
    for name, (answer, why) in ANSWERS.items():
        hook.answers["v"] = answering(answer)
        assert why in await fails(bare), name
    await bare.client.delete(kind, "", "v")
    await hook.configure(bare, kind, "v", CREATE_MAPS, failurePolicy="Ignore")
    for number, (answer, _) in enumerate(ANSWERS.values()):
        hook.answers["v"] = answering(answer)
        await bare.client.create(MAPS, "default", config_map(f"a{number}"))
    hook.answers["v"] = lambda _: {"allowed": False}  # that is no failure
    assert (await refused(bare.client.create(MAPS, "default", config_map("b")))).code == 400


async def test_patches_that_cannot_be_applied(bare: Cluster, hook: Hook) -> None:
    """They fail the request whatever the failurePolicy says, as upstream."""
    await hook.configure(bare, MUTATING, "m", ALL_MAPS, failurePolicy="Ignore")
    hook.answers["m"] = lambda _: patched({"op": "remove", "path": "/nothing"})
    key = "error in remove for path: '/nothing': Unable to remove nonexistent key: nothing: missing value"
    assert await fails(bare) == key
    hook.answers["m"] = lambda _: patched({"op": "add", "path": "/metadata/annotations/a", "value": "b"})
    path = 'add operation does not apply: doc is missing path: "/metadata/annotations/a": missing value'
    assert await fails(bare) == path
    hook.answers["m"] = lambda _: patched({"op": "add", "path": "/data", "value": 3})
    assert "cannot unmarshal number" in await fails(bare)
    hook.answers["m"] = lambda _: ALLOWED
    await bare.client.create(MAPS, "default", config_map("a"))
    hook.answers["m"] = lambda _: labelled("m")
    error = await refused(bare.client.delete(MAPS, "default", "a"))
    assert error.message.endswith("attempted to modify the object, which is not supported for this operation")


async def test_identity_and_managers_are_not_a_webhooks_to_change(bare: Cluster, wire: Wire, hook: Hook) -> None:
    await hook.configure(bare, MUTATING, "m", ALL_MAPS)
    path = "/api/v1/namespaces/default/configmaps"
    entry = [{"manager": "m", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": 1}]
    garbled = patched(
        {"op": "replace", "path": "/metadata/managedFields", "value": [{**entry[0], "fieldsV1": {"x": {}}}]}
    )
    hook.answers["m"] = lambda _: garbled
    answer = await wire("POST", path, config_map("a", k="v"))
    assert answer.json()["metadata"]["managedFields"][0]["fieldsV1"]["f:data"] == {".": {}, "f:k": {}}
    assert "managedFields was in an invalid state after admission" in answer.header("warning")
    for field, value, code in (("namespace", "other", 400), ("uid", "x", 201), ("resourceVersion", "1", 201)):
        operation = {"op": "add", "path": f"/metadata/{field}", "value": value}
        hook.answers["m"] = lambda _, one=operation: patched(one)
        made = await wire("POST", path, config_map(field.lower()))
        assert made.status == code
        assert made.json()["metadata"].get(field) != value
    hook.answers["m"] = lambda _: patched({"op": "replace", "path": "/metadata/name", "value": "other"})
    assert (await wire("PUT", f"{path}/a", config_map("a", k="w"))).status == 422
    assert (await wire("POST", path, config_map("b"))).json()["metadata"]["name"] == "other"


async def test_who_does_not_answer_in_time(bare: Cluster, hook: Hook) -> None:
    await hook.configure(bare, VALIDATING, "v", CREATE_MAPS, timeoutSeconds=1)
    hook.answers["v"] = lambda _: asyncio.Event().wait()
    waiting = asyncio.create_task(fails(bare))
    await bare.client.create(NAMESPACES, "", {"metadata": {"name": "meanwhile"}})
    assert not waiting.done()
    url = f"{hook.client('v')['url']}?timeout=1s"
    assert await waiting == (
        f'failed calling webhook "v.example.com": failed to call webhook: Post "{url}": context deadline exceeded'
    )


async def test_the_old_version_of_reviews(bare: Cluster, hook: Hook) -> None:
    """It is spoken with whom knows nothing else; uid and patchType are not looked at then."""
    await hook.configure(bare, MUTATING, "m", CREATE_MAPS, admissionReviewVersions=["v2", "v1beta1"])
    hook.answers["m"] = lambda _: {**labelled("m"), "patchType": None, "uid": "x"}
    made = await bare.client.create(MAPS, "default", config_map("a"))
    assert made["metadata"]["labels"] == {"m": "1"}
    assert hook.bodies[0]["apiVersion"] == "admission.k8s.io/v1beta1"


async def test_validating_webhooks_are_asked_at_the_same_time(bare: Cluster, hook: Hook) -> None:
    both = asyncio.Barrier(2)

    async def answer(request: Object) -> Object:
        await both.wait()
        return ALLOWED

    for name in ("v", "w"):
        await hook.configure(bare, VALIDATING, name, CREATE_MAPS, answer=answer)
    await bare.client.create(MAPS, "default", config_map("a"))
    assert sorted(hook.called) == ["v", "w"]


# what goes on meanwhile


async def test_a_webhook_asks_the_server_itself(hook: Hook) -> None:
    """On a virtual clock too, where requests wait for what others brought about: also when a loop is the one asking."""
    options = ServeOptions(port=0, nodes=0, controllers="deployment", clock="virtual")
    async with Cluster(options) as cluster, HttpClient(cluster.access) as client:

        async def answer(request: Object) -> Object:
            name = request["object"]["metadata"].get("generateName") or request["name"]
            await client.create(MAPS, "default", config_map(f"made-for-{name.strip('-')}"))
            return ALLOWED

        rules = (rule(["pods"], ["CREATE"]), rule(["deployments"], ["CREATE"], "apps"))
        await hook.configure(cluster, MUTATING, "m", *rules, answer=answer, timeoutSeconds=3)
        template = {"metadata": {"labels": {"app": "d"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
        spec = {"selector": {"matchLabels": {"app": "d"}}, "template": template}
        await client.create(DEPLOYMENTS, "default", {"metadata": {"name": "d"}, "spec": spec})
        await cluster.advance("10s")
        names = [each["metadata"]["name"] for each in (await client.list(MAPS, "default")).items]
        assert [name.rpartition("-")[0] for name in names] == ["made-for", "made-for-d"]
        assert hook.called == ["m", "m"]


async def test_an_object_that_changes_while_webhooks_are_asked(bare: Cluster, hook: Hook) -> None:
    """The write begins anew with what there is then; one that names its revision is a conflict."""
    await bare.client.create(MAPS, "default", config_map("a", k="v"))
    others = [{"data": {"other": "1"}}]

    async def answer(request: Object) -> Object:
        if others and request["userInfo"]["username"] == "system:admin":
            await bare.client.patch(MAPS, "default", "a", others.pop())
        return ALLOWED

    await hook.configure(bare, VALIDATING, "v", rule(["configmaps"], ["UPDATE", "DELETE"]), answer=answer)
    await bare.client.patch(MAPS, "default", "a", {"data": {"mine": "1"}})
    assert [each["object"]["data"] for each in hook.reviews] == [
        {"k": "v", "mine": "1"},
        {"k": "v", "other": "1"},
        {"k": "v", "other": "1", "mine": "1"},
    ]
    there = await bare.client.get(MAPS, "default", "a")
    assert there["data"] == {"k": "v", "other": "1", "mine": "1"}
    others.append({"data": {"other": "2"}})
    error = await refused(bare.client.update(MAPS, "default", {**there, "data": {}}))
    assert error.code == 409
    others.append({"data": {"other": "3"}})
    put = await bare.client.update(MAPS, "default", config_map("a", k="w"))
    assert (put["data"], len(put["metadata"]["managedFields"])) == ({"k": "w"}, 1)
    others.append({"data": {"other": "4"}})
    await bare.client.delete(MAPS, "default", "a")
    assert hook.reviews[-1]["oldObject"]["data"]["other"] == "4"


async def test_one_that_changes_every_time_ends_as_a_conflict(bare: Cluster, hook: Hook) -> None:
    await bare.client.create(MAPS, "default", config_map("a"))
    count = iter(range(1000))

    def answer(request: Object) -> Object:
        stored = bare.store.get(("", "configmaps"), "default/a")
        assert stored is not None
        obj = {**stored.copy(), "data": {"n": str(next(count))}}
        asyncio.get_running_loop().create_task(bare.store.update(stored.storage, stored.key, lambda _: obj))
        return ALLOWED

    await hook.configure(bare, VALIDATING, "v", rule(["configmaps"], ["UPDATE"]), answer=answer)
    error = await refused(bare.client.patch(MAPS, "default", "a", {"data": {"mine": "1"}}))
    assert (error.code, len(hook.reviews)) == (409, ATTEMPTS)


async def test_what_went_while_webhooks_were_asked(bare: Cluster, hook: Hook) -> None:
    await bare.client.create(NAMESPACES, "", {"metadata": {"name": "n"}})
    await bare.client.create(MAPS, "n", config_map("a"))

    async def answer(request: Object) -> Object:
        if request["operation"] == "UPDATE":
            await bare.client.delete(MAPS, "n", "a")
        elif request["name"] == "twice":
            stored = bare.store.get(("", "configmaps"), "n/twice")
            if stored is None:
                await bare.store.create(("", "configmaps"), "n/twice", orjson.loads(json.dumps(request["object"])))
        elif request["operation"] == "CREATE":
            await bare.client.delete(NAMESPACES, "", "n")
        return ALLOWED

    await hook.configure(bare, VALIDATING, "v", ALL_MAPS, answer=answer)
    assert (await refused(bare.client.patch(MAPS, "n", "a", {"data": {"k": "v"}}))).code == 404
    assert (await refused(bare.client.create(MAPS, "n", config_map("twice")))).reason == "AlreadyExists"
    assert (await refused(bare.client.create(MAPS, "n", config_map("c")))).code in (403, 404)
    assert bare.store.get(("", "configmaps"), "n/c") is None


async def test_a_webhook_for_everything_that_is_down_can_be_deleted(bare: Cluster, unused_tcp_port: int) -> None:
    for kind in (MUTATING, VALIDATING):
        await configure(bare, {"url": f"https://127.0.0.1:{unused_tcp_port}"}, kind, rules=[EVERYTHING])
    assert "connection refused" in await fails(bare)
    for kind in (MUTATING, VALIDATING):
        await bare.client.patch(kind, "", "v", {"metadata": {"labels": {"a": "b"}}})
        await bare.client.delete(kind, "", "v")
    await bare.client.create(MAPS, "default", config_map("a"))


async def test_deleting_many_asks_about_each(bare: Cluster, wire: Wire, hook: Hook) -> None:
    for name in ("a", "b"):
        await bare.client.create(MAPS, "default", config_map(name))
    await hook.configure(bare, VALIDATING, "v", rule(["configmaps"], ["DELETE"]))
    hook.answers["v"] = lambda request: {"allowed": request["name"] != "b"}
    answer = await wire("DELETE", "/api/v1/namespaces/default/configmaps?fieldSelector=metadata.name!=kube-root-ca.crt")
    assert (answer.status, [each["name"] for each in hook.reviews]) == (400, ["a", "b"])
    assert [each.name for each in bare.store.list(("", "configmaps"), "default")] == ["b"]


# Services


async def test_services_that_lead_somewhere_real(bare: Cluster) -> None:
    """The certificate is the Service's, wherever it leads."""
    async with Hook("hook.default.svc").serving() as hook:
        bundle = base64.b64encode(hook.bundle).decode()
        service = {"name": "hook", "namespace": "default", "path": "/v", "port": hook.port}
        hook.answers["v"] = lambda _: ALLOWED
        await configure(bare, {"service": service, "caBundle": bundle})
        where = f'failed calling webhook "v.example.com": failed to call webhook: Post "https://hook.default.svc:{hook.port}/v'
        assert await fails(bare) == f'{where}?timeout=10s": service "hook" not found'
        ports = [{"port": hook.port, "targetPort": 1}]
        spec = {"ports": ports, "selector": {"app": "x"}}
        await bare.client.create(SERVICES, "default", {"metadata": {"name": "hook"}, "spec": spec})
        assert "nothing listens in them" in await fails(bare)
        await bare.client.delete(SERVICES, "default", "hook")
        external = {"type": "ExternalName", "externalName": "localhost"}
        await bare.client.create(SERVICES, "default", {"metadata": {"name": "hook"}, "spec": external})
        await bare.client.create(MAPS, "default", config_map("a"))
        assert hook.called == ["v"]
        other = {"metadata": {"name": "other"}, "spec": external}
        await bare.client.create(SERVICES, "default", other)
        await bare.client.delete(VALIDATING, "", "v")
        await configure(bare, {"service": {**service, "name": "other"}, "caBundle": bundle})
        name = "x509: certificate is valid for other names, not other.default.svc"
        assert (await fails(bare, "b")).endswith(f"tls: failed to verify certificate: {name}")


async def test_services_whose_endpoints_somebody_has_written() -> None:
    stored: Object = {
        "services": {"spec": {"ports": [{"name": "a", "port": 1}, {"name": "b", "port": 443}]}},
        "endpoints": {
            "subsets": [
                {"addresses": [{"ip": "127.0.0.2"}], "ports": [{"name": "a", "port": 7}]},
                {"addresses": [{"ip": "127.0.0.3"}], "ports": [{"name": "b", "port": 8}]},
            ]
        },
    }

    class Cluster:
        def get(self, storage: tuple[str, str], namespace: str, name: str) -> Object | None:
            return stored[storage[1]] if (namespace, name) == ("default", "hook") else None

        def list(self, storage: tuple[str, str], namespace: str = "") -> list[Object]:
            return []

    [found] = await Resolver(Cluster()).resolve("hook.default.svc", 443)
    assert (found["hostname"], found["host"], found["port"]) == ("hook.default.svc", "127.0.0.3", 8)
    with pytest.raises(Unreachable, match='no service port 8443 found for service "hook"'):
        await Resolver(Cluster()).resolve("hook.default.svc", 8443)
    stored["endpoints"] = {}
    with pytest.raises(Unreachable, match='no endpoints available for service "hook"'):
        await Resolver(Cluster()).resolve("hook.default.svc", 443)
