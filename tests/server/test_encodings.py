"""Answers in encodings other than plain JSON, and bodies in such."""

from __future__ import annotations

import gzip
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
import yaml

from kube32_sim.api import protobuf, yamltext
from kube32_sim.api.errors import ApiError
from kube32_sim.client import Resource
from kube32_sim.cluster import Cluster
from kube32_sim.server.encodings import to_yaml
from tests.support.wire import Wire, connected

MAPS = Resource("", "v1", "configmaps")
PATH = "/api/v1/namespaces/default/configmaps"
PROTOBUF = "application/vnd.kubernetes.protobuf"
PARTIAL = ";as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
JsonObject = dict[str, Any]


def config_map(name: str, **data: str) -> JsonObject:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


# protobuf


@pytest.mark.parametrize(
    "path",
    [
        f"{PATH}/a",
        PATH,
        f"{PATH}/none",
        f"{PATH}?limit=x",
        "/api/v1/nothings",
        "/api/v1/namespaces/default",
        "/apis/apps/v1/deployments",
        "/apis/coordination.k8s.io/v1/leases",
        "/api",
        "/apis",
        "/api/v1",
        "/apis/apps",
        "/apis/apps/v1",
    ],
)
async def test_protobuf_says_what_json_says(bare: Cluster, wire: Wire, path: str) -> None:
    await bare.client.create(MAPS, "default", config_map("a", k="v"))
    plain = await wire("GET", path)
    answer = await wire("GET", path, Accept=PROTOBUF)
    assert (answer.status, answer.header("Content-Type")) == (plain.status, PROTOBUF)
    api_version, kind, obj = decoded(answer.body)
    assert (api_version, kind) == (plain.json().get("apiVersion", ""), plain.json()["kind"])
    assert without_nulls(obj) == without_nulls(plain.json())


def decoded(body: bytes) -> tuple[str, str, JsonObject]:
    """As `protobuf.decode`, also of what names no version."""
    try:
        return protobuf.decode(body)
    except ApiError:
        _, kind, obj = protobuf.decode(body, ("v1", ""))
        del obj["apiVersion"]
        return "", kind, obj


def without_nulls(value: Any) -> Any:
    """What JSON says, without what protobuf cannot: empty lists and nulls."""
    if isinstance(value, dict):
        return {name: without_nulls(item) for name, item in value.items() if item not in (None, [], "", False)}
    return [without_nulls(item) for item in value] if isinstance(value, list) else value


async def test_protobuf_of_writes(wire: Wire) -> None:
    body = protobuf.encode("v1", "ConfigMap", config_map("a", k="v"))
    made = await wire("POST", PATH, body, Content_Type=PROTOBUF, Accept=PROTOBUF)
    assert (made.status, made.header("Content-Type")) == (201, PROTOBUF)
    obj = protobuf.decode(made.body)[2]
    assert (obj["data"], obj["metadata"]["name"]) == ({"k": "v"}, "a")
    again = await wire("POST", PATH, body, Content_Type=PROTOBUF, Accept=PROTOBUF)
    assert (again.status, protobuf.decode(again.body)[2]["reason"]) == (409, "AlreadyExists")
    gone = await wire("DELETE", f"{PATH}/a", Accept=PROTOBUF)
    assert (gone.status, protobuf.decode(gone.body)[2]["status"]) == (200, "Success")


async def test_aggregated_discovery_in_protobuf(wire: Wire) -> None:
    form = ";g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
    plain = (await wire("GET", "/apis", Accept=f"application/json{form}")).json()
    answer = await wire("GET", "/apis", Accept=f"{PROTOBUF}{form}")
    assert answer.header("Content-Type") == f"{PROTOBUF}{form}"
    assert without_nulls(protobuf.decode(answer.body)[2]) == without_nulls(plain)


@pytest.mark.parametrize("accept", [f"{PROTOBUF},application/json", f"{PROTOBUF}, */*", f"{PROTOBUF};q=1,*/*;q=0.1"])
async def test_who_takes_json_too_gets_json(wire: Wire, accept: str) -> None:
    answer = await wire("GET", PATH, Accept=accept)
    assert (answer.header("Content-Type"), answer.json()["kind"]) == ("application/json", "ConfigMapList")


async def test_what_has_no_protobuf_is_not_acceptable(wire: Wire) -> None:
    for path, accept in (
        (PATH, f"{PROTOBUF};as=Table;v=v1;g=meta.k8s.io"),
        ("/apis/sim.kube32.io/v1alpha1/clocks", PROTOBUF),
    ):
        answer = await wire("GET", path, Accept=accept)
        assert answer.status == 406
        assert b"only the following media types are accepted" in answer.body


async def frames(wire: Wire) -> AsyncIterator[tuple[str, JsonObject]]:
    """Type and object of each event of a watch in protobuf."""
    from kube32_sim.api.protobuf.messages import META, message_class

    rest = b""
    async for chunk in wire.chunks():
        rest += chunk
        while len(rest) >= 4 and len(rest) >= 4 + int.from_bytes(rest[:4], "big"):
            size = int.from_bytes(rest[:4], "big")
            event: Any = message_class(f"{META}.WatchEvent").FromString(rest[4 : 4 + size])
            rest = rest[4 + size :]
            yield event.f1, protobuf.decode(event.f2.f1)[2]
    assert rest == b""


async def test_watches_in_protobuf(bare: Cluster, wire: Wire) -> None:
    await bare.client.create(MAPS, "default", config_map("a", k="v"))
    query = "watch=1&allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&timeoutSeconds=5"
    await wire.ask("GET", f"{PATH}?{query}", Accept=f"{PROTOBUF};stream=watch")
    begun = await wire.begin()
    assert begun.header("Content-Type") == f"{PROTOBUF};stream=watch"
    events = frames(wire)
    kind, obj = await anext(events)
    assert (kind, obj["kind"], obj["metadata"]["name"], obj["data"]) == ("ADDED", "ConfigMap", "a", {"k": "v"})
    kind, obj = await anext(events)
    assert (kind, obj["kind"]) == ("BOOKMARK", "ConfigMap")
    assert obj["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
    await bare.client.delete(MAPS, "default", "a")
    kind, obj = await anext(events)
    assert (kind, obj["metadata"]["name"]) == ("DELETED", "a")


@pytest.mark.parametrize("media", ["application/json", PROTOBUF])
async def test_bookmarks_have_the_form_of_their_watch(bare: Cluster, media: str) -> None:
    query = "watch=1&allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&timeoutSeconds=5"
    for form, kind in ((PARTIAL, "PartialObjectMetadata"), (";as=Table;v=v1;g=meta.k8s.io", "Table"), ("", "Pod")):
        if media == PROTOBUF and kind == "Table":
            continue
        async with connected(bare.port) as wire:
            await wire.ask("GET", f"/api/v1/pods?{query}", Accept=media + form)
            assert (await wire.begin()).status == 200
            if media == PROTOBUF:
                event, obj = await anext(frames(wire))
            else:
                event, obj = (await anext(wire.events())).values()
            assert (event, obj["kind"]) == ("BOOKMARK", kind)
            assert obj["metadata"]["resourceVersion"]


def test_the_object_of_a_bookmark_is_an_empty_one_as_go_writes_it(bare: Cluster) -> None:
    from kube32_sim.server.forms import JsonForm, Shapes

    form, table = JsonForm(Shapes(bare.registry.table)), bare.registry.table
    template = {"metadata": {}, "spec": {"containers": None}}
    for path, parts in {
        ("", "v1", "pods"): {"spec": {"containers": None}, "status": {}},
        ("", "v1", "configmaps"): {},
        ("apps", "v1", "deployments"): {
            "spec": {"selector": None, "strategy": {}, "template": template},
            "status": {},
        },
        ("rbac.authorization.k8s.io", "v1", "roles"): {"rules": None},
        ("networking.k8s.io", "v1", "networkpolicies"): {"spec": {"podSelector": {}}},
    }.items():
        row = table.by_path(*path)
        assert row is not None
        shown = json.loads(form.bookmark(row, {"resourceVersion": "1"}))
        identity = {"kind": row.kind, "apiVersion": row.api_version, "metadata": {"resourceVersion": "1"}}
        assert shown == identity | parts


async def test_every_table_can_show_a_bookmark(bare: Cluster) -> None:
    from kube32_sim.server.forms import Shapes, TableForm

    form = TableForm(Shapes(bare.registry.table), bare.clock, "Object", "v1")
    for row in bare.registry.table:
        if row.columns is not None:
            assert b'"kind":"Table"' in form.bookmark(row, {"resourceVersion": "1"}), row.kind


# people


@pytest.mark.parametrize(
    ("query", "headers", "indented"),
    [
        ("", {}, False),
        ("", {"User_Agent": "curl/8.5.0"}, True),
        ("", {"User_Agent": "Wget/1.21"}, True),
        ("", {"User_Agent": "Mozilla/5.0 (X11)"}, True),
        ("", {"User_Agent": "kubectl/v1.36.0"}, False),
        ("?pretty=true", {}, True),
        ("?pretty=1", {}, True),
        ("?pretty=yes", {"User_Agent": "curl/8"}, False),
        ("?pretty=false", {"User_Agent": "curl/8"}, False),
        ("?pretty=", {"User_Agent": "curl/8"}, True),
        ("", {"Accept": "application/json;pretty=1"}, True),
    ],
)
async def test_people_get_json_indented(
    bare: Cluster, wire: Wire, query: str, headers: dict[str, str], indented: bool
) -> None:
    await bare.client.create(MAPS, "default", config_map("a", k="v"))
    for path in (f"{PATH}/a", PATH, f"{PATH}/none", "/api/v1"):
        answer = await wire("GET", path + query, **headers)
        assert answer.body.startswith(b'{\n  "kind": "') == indented, path
        assert answer.json()["kind"]


# YAML


TEXTS = (
    *(
        "y",
        "1e3",
        "0x1F",
        "010",
        "0o14",
        "1_000",
        "1:30",
        ".5",
        "~",
        "null",
        "",
        "a\nb\n",
        " a\n  b",
        "no",
        "-",
        "a: b",
    ),
    *("=", "<<", "2026-01-01", ".inf", "é\u0085\u2028", "\t", "\x07", "#", "a #b", "'", '"', "x" * 300, "%", "a\r\nb"),
)


@pytest.mark.parametrize("text", TEXTS)
def test_texts_stay_texts(text: str) -> None:
    data = to_yaml({"k": text, "l": [text]})
    assert yamltext.loads(data) == ({"k": text, "l": [text]}, [])
    assert yaml.safe_load(data) == {"k": text, "l": [text]}


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("2026-01-02T03:04:05Z", '"2026-01-02T03:04:05Z"'),
        ("2026-01-02T03:04:05.678901+01:00", '"2026-01-02T03:04:05.678901+01:00"'),
        ("2026-01-02", '"2026-01-02"'),
        ("1:30", '"1:30"'),
        ("<<", '"<<"'),
        ("", '""'),
        ("null", '"null"'),
        ("yes", '"yes"'),
        ("10", '"10"'),
        ("a: b", "'a: b'"),
        ("10.0.0.1", "10.0.0.1"),
        ("10m", "10m"),
        ("plain text", "plain text"),
    ],
)
def test_texts_are_quoted_as_go_quotes_them(text: str, written: str) -> None:
    assert to_yaml({"k": text}).decode() == f"k: {written}\n"


async def test_errors_and_missing_paths_in_yaml(wire: Wire) -> None:
    for path, code in ((f"{PATH}/none", 404), ("/api/v1/nothings", 404), (f"{PATH}?watch=1", 406)):
        answer = await wire("GET", path, Accept="application/yaml")
        assert (answer.status, answer.header("Content-Type")) == (code, "application/yaml")
        assert yaml.safe_load(answer.body)["code"] == code


# bodies


async def test_compressed_bodies_are_read_as_they_come(wire: Wire) -> None:
    body = gzip.compress(json.dumps(config_map("a")).encode())
    answer = await wire("POST", PATH, body, Content_Encoding="gzip")
    assert answer.status == 400
    wanted = (
        "the object provided is unrecognized (must be of type ConfigMap): couldn't get version/kind; json parse error"
    )
    assert answer.json()["message"].startswith(wanted)
    plain = await wire("POST", PATH, config_map("a"), Content_Encoding="gzip")
    assert plain.status == 201


@pytest.mark.parametrize(
    ("method", "content_type", "message"),
    [
        (
            "POST",
            "application/cbor",
            "the body of the request was in an unknown format - accepted media types include: ",
        ),
        (
            "PUT",
            "application/cbor",
            "the body of the request was in an unknown format - accepted media types include: ",
        ),
        ("DELETE", "application/cbor", "the body of the request was in an unknown format - accepted media types incl"),
        ("PATCH", "application/apply-patch+cbor", "415: Unsupported Media Type"),
        ("PATCH", "application/cbor", "415: Unsupported Media Type"),
    ],
)
async def test_cbor_is_refused(bare: Cluster, wire: Wire, method: str, content_type: str, message: str) -> None:
    await bare.client.create(MAPS, "default", config_map("a"))
    path = PATH if method == "POST" else f"{PATH}/a"
    answer = await wire(method, path, b"\xd9\xd9\xf7\xa0", Content_Type=content_type)
    assert (answer.status, answer.json()["reason"]) == (415, "UnsupportedMediaType")
    assert answer.json()["message"].startswith(message)
    accepted = await wire("GET", PATH, Accept="application/cbor")
    assert (accepted.status, accepted.json()["reason"]) == (406, "NotAcceptable")
    both = await wire("GET", PATH, Accept="application/cbor, application/json")
    assert (both.status, both.header("Content-Type")) == (200, "application/json")


# routes


@pytest.mark.parametrize(
    ("path", "accept", "status", "message"),
    [
        ("/version", "application/yaml", 406, "Available representations: application/json"),
        ("/version", "application/yaml, */*", 200, ""),
        ("/version", "", 200, ""),
        ("/api", "text/html", 406, "Available representations: application/json, application/yaml, application/vnd"),
        ("/apis/apps/v1", "text/html", 406, "Available representations: application/json, application/yaml, applic"),
        ("/apis", "text/html", 406, "only the following media types are accepted: application/json, application/yaml"),
        ("/apis/apps", "text/html", 406, "only the following media types are accepted: application/json, application"),
        ("/apis", "application/*", 200, ""),
        ("/api/v1/namespaces/default/pods/p/log", "text/html", 406, "text/plain, application/json, application/yaml, "),
        ("/api/v1/namespaces/default/pods/p/log", "application/yaml", 404, 'pods "p" not found'),
    ],
)
async def test_who_takes_nothing_that_a_path_gives(
    wire: Wire, path: str, accept: str, status: int, message: str
) -> None:
    answer = await wire("GET", path, Accept=accept)
    assert answer.status == status
    if status != 200:
        assert message in yaml.safe_load(answer.body)["message"]


# subresources and reviews

TABLE = ";as=Table;v=v1;g=meta.k8s.io"
REVIEW = {
    "apiVersion": "authorization.k8s.io/v1",
    "kind": "SelfSubjectAccessReview",
    "spec": {"nonResourceAttributes": {"path": "/", "verb": "get"}},
}


async def test_scales_have_rows_and_metadata(bare: Cluster, wire: Wire) -> None:
    pods = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"replicas": 2, "selector": {"matchLabels": {"a": "b"}}, "template": pods}
    made = await bare.client.create(
        Resource("apps", "v1", "deployments"), "default", {"metadata": {"name": "d"}, "spec": spec}
    )
    path = "/apis/apps/v1/namespaces/default/deployments/d/scale"
    table = (await wire("GET", path, Accept=f"application/json{TABLE}")).json()
    assert table["metadata"] == {"resourceVersion": made["metadata"]["resourceVersion"]}
    assert [column["name"] for column in table["columnDefinitions"]] == ["Name", "Desired", "Available", "Age"]
    assert table["rows"][0]["cells"][:3] == ["d", 2, 0]
    assert table["rows"][0]["object"]["metadata"]["name"] == "d"
    whole = (await wire("GET", f"{path}?includeObject=Object", Accept=f"application/json{TABLE}")).json()
    assert whole["rows"][0]["object"] == (await wire("GET", path)).json()
    metadata = (await wire("GET", path, Accept=f"application/json{PARTIAL}")).json()
    assert (metadata["kind"], metadata["metadata"]["name"]) == ("PartialObjectMetadata", "d")


async def test_what_is_only_created_has_no_rows(bare: Cluster, wire: Wire) -> None:
    review = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    assert (await wire("POST", review, REVIEW, Accept=f"application/json{TABLE}")).status == 406
    either = await wire("POST", review, REVIEW, Accept=f"application/json{TABLE},application/json")
    assert (either.status, either.json()["kind"]) == (201, "SelfSubjectAccessReview")
    metadata = await wire("POST", review, REVIEW, Accept=f"application/json{PARTIAL}")
    assert (metadata.status, metadata.json()["kind"]) == (201, "PartialObjectMetadata")
    binding = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": "p"},
        "target": {"kind": "Node", "name": "n"},
    }
    path = "/api/v1/namespaces/default/pods/p/binding"
    assert (await wire("POST", path, binding, Accept=f"application/json{TABLE}")).status == 406


async def test_a_status_has_no_other_form(bare: Cluster, wire: Wire) -> None:
    for form in (TABLE, PARTIAL):
        await bare.client.create(MAPS, "default", config_map("a"))
        gone = await wire("DELETE", f"{PATH}/a", Accept=f"application/json{form}")
        assert (gone.status, gone.json()["kind"]) == (200, "Status")
