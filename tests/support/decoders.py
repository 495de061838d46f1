"""All that reads text or bytes from outside: functions of bytes, what each may raise, and texts to begin with."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Any

import orjson

from kube32_sim.api import bodies, gotime, jsontext, media, options, paths, quantity, selectors, yamltext
from kube32_sim.api.builtin import builtin_table
from kube32_sim.api.cel.environment import Environment
from kube32_sim.api.cel.messages import CompileError
from kube32_sim.api.cel.types import DYN
from kube32_sim.api.configuration import Configuration
from kube32_sim.api.errors import ApiError
from kube32_sim.api.field_selectors import parse_fields
from kube32_sim.api.managed import fieldset
from kube32_sim.api.structural.pattern_errors import PatternError
from kube32_sim.api.structural.patterns import searcher
from kube32_sim.durations import parse_duration
from kube32_sim.registry.reading import decode_continue
from kube32_sim.server.inflight import asked_timeout
from tests.support.fuzzing import protobuf_bodies

TABLE = builtin_table()
POD = next(row for row in TABLE if row.kind == "Pod" and row.plural == "pods")
CURRENT: dict[str, Any] = {
    "metadata": {"name": "p", "namespace": "d", "labels": {"a/b": "c"}, "finalizers": ["x.io/y"]},
    "spec": {"containers": [{"name": "c", "image": "i", "env": [{"name": "E", "value": "v"}]}], "tolerations": []},
}
ENVIRONMENT = Environment({"object": DYN})


def text(data: bytes) -> str:
    """As a request line or a string of JSON may hold it."""
    return data.decode("utf-8", "replace")


def body(kind: str) -> Callable[[bytes], object]:
    return lambda data: bodies.decode_body(data, kind, POD, "Strict" if len(data) % 2 else "Warn")


def patch(kind: str) -> Callable[[bytes], object]:
    def apply(data: bytes) -> object:
        patcher = bodies.patcher(data, f"application/{kind}", POD)
        made, _ = patcher.apply(CURRENT, "Warn", "status" if len(data) % 5 == 0 else "")
        return orjson.dumps(made)

    return apply


def query(data: bytes) -> object:
    found = paths.parse_query(text(data))
    made: list[object] = []
    for read in (
        options.get_options,
        lambda q: options.list_options(q, POD),
        lambda q: options.list_options(q, POD, watch=True, name="x"),
        options.create_options,
        lambda q: options.patch_options(q, apply=True),
        options.delete_options,
        lambda q: options.log_options(q, "x"),
        lambda q: asked_timeout(q) if "timeout" in q else 0,
    ):
        try:
            made.append(read(found))
        except ApiError as error:
            orjson.dumps(error.status())
    return made


def path(data: bytes) -> object:
    info = paths.parse("GET", text(data).partition("?")[0])
    return paths.not_found_is_plain(TABLE, info) if info.kind == "resource" else info


def accept(data: bytes) -> object:
    media.negotiate(text(data), POD, collection=True)
    return media.body_media(text(data))


DECODERS: dict[str, Callable[[bytes], object]] = {
    "json": jsontext.loads,
    "json-exact": jsontext.loads_exact,
    "yaml": yamltext.loads,
    "body-json": body("json"),
    "body-yaml": body("yaml"),
    "body-protobuf": body("protobuf"),
    "body-delete": lambda data: options.delete_options({}, bodies.decode_plain(data, "json")),
    "apply": lambda data: Configuration(data, POD, "Warn").value,
    "patch-json": patch("json-patch+json"),
    "patch-merge": patch("merge-patch+json"),
    "patch-strategic": patch("strategic-merge-patch+json"),
    "labels": lambda data: selectors.parse_labels(text(data)).matches({"a": "b"}),
    "fields": lambda data: parse_fields(text(data)).matches({"metadata.name": "b"}),
    "quantity": lambda data: quantity.is_quantity(text(data)) and quantity.canonical(text(data)),
    "time": lambda data: (gotime.canonical(text(data)), gotime.canonical_micro(text(data))),
    "duration": lambda data: parse_duration(text(data)),
    "path": path,
    "query": query,
    "accept": accept,
    "continue": lambda data: decode_continue(text(data)),
    "managed-fields": lambda data: fieldset.read(jsontext.loads(data)),
    "pattern": lambda data: searcher(text(data))("aaaa"),
    "expression": lambda data: ENVIRONMENT.check(text(data)),
}
REFUSALS = (ApiError, jsontext.JsonError, yamltext.YamlError, PatternError, CompileError)
ALSO: dict[str, tuple[type[Exception], ...]] = {"duration": (ValueError,), "time": (ValueError,)}

_POD = json.dumps({"apiVersion": "v1", "kind": "Pod", **CURRENT}).encode()
_YAML = (
    b"apiVersion: v1\nkind: Pod\nmetadata: &m\n  name: p\n  labels: {<<: [*m], a: 1e3, b: !!binary aGk=}\nspec: {}\n"
)
_PATCH = json.dumps(
    [
        {"op": "test", "path": "/metadata/labels/a~1b", "value": "c"},
        {"op": "copy", "from": "/spec/containers/0", "path": "/spec/containers/-"},
        {"op": "move", "from": "/spec/containers/0/env", "path": "/spec/x"},
        {"op": "replace", "path": "/spec/containers/-1/name", "value": "é"},
    ]
).encode()
_STRATEGIC = (
    b'{"spec":{"$setElementOrder/containers":[{"name":"c"}],"containers":[{"name":"c","env":[{"name":"E","$patch":"delete"'
    b'}]}],"$retainKeys":["containers"]},"metadata":{"$deleteFromPrimitiveList/finalizers":["x.io/y"]}}'
)
_TOKEN = base64.urlsafe_b64encode(b'{"v":"meta.k8s.io/v1","rv":5,"start":"default/a\\u0000"}').rstrip(b"=")
_TWICE = b'{"a":1,"a":{"b":1e400},"c":"\\ud800"}'
_CEL = (
    b"object.spec.containers.all(c, c.image.matches('^a+$') && has(c.env)) "
    b"? [1, 2u, 1.5].map(x, x * 2)[0] : {'a': b'x'}"
)
SEEDS: dict[str, list[bytes]] = {
    **{name: [_POD, _TWICE] for name in ("json", "json-exact", "body-json", "patch-merge")},
    **{name: [_YAML, _POD, b"a: &a [1, 2]\nb: [*a, *a]\n"] for name in ("yaml", "body-yaml", "apply")},
    "body-protobuf": [data for kind, data in protobuf_bodies() if kind == "Pod"] or [b"k8s\0"],
    "body-delete": [b'{"kind":"DeleteOptions","gracePeriodSeconds":1,"preconditions":{"uid":"x"},"dryRun":["All"]}'],
    "patch-json": [_PATCH],
    "patch-strategic": [_STRATEGIC, _POD],
    "labels": [b"a=b,c!=d,e in (f,g),!h,i,j notin (k),l>1"],
    "fields": [b"metadata.name=a\\,b,spec.nodeName!=x,status.phase==Running"],
    "quantity": [b"1.5Gi", b"-12e3", b"100m", b".5E", b"+0.000000001"],
    "time": [b"2026-01-01T00:00:00.123456789+01:00", b"0001-01-01T00:00:00Z"],
    "duration": [b"1h30m", b"500ms", b"1.5"],
    "path": [b"/apis/apps/v1/namespaces/a/deployments/b/scale", b"/api/v1/watch/pods", b"/api/v1/proxy/%2F"],
    "query": [
        b"labelSelector=a%3Db&limit=5&timeout=1m&resourceVersion=1&resourceVersionMatch=Exact&dryRun=All&force=1"
    ],
    "accept": [b"application/json;as=Table;v=v1;g=meta.k8s.io;q=0.9, application/vnd.kubernetes.protobuf, */*"],
    "continue": [_TOKEN],
    "managed-fields": [b'{"f:a":{".":{},"k:{\\"name\\":\\"x\\"}":{"f:b":{}},"v:1.0":{},"i:5":{}}}'],
    "pattern": [b"^(a|b)*[[:alpha:]]{2,5}\\p{Greek}(?i:x)$"],
    "expression": [_CEL],
}


def tried(name: str, data: bytes) -> None:
    """Fails where a decoder does anything but answer or refuse; what a refusal says must be fit for an answer."""
    try:
        DECODERS[name](data)
        return
    except ApiError as error:
        refusal: ApiError | Exception = error
    except (*REFUSALS, *ALSO.get(name, ())) as error:
        refusal = error
    if isinstance(refusal, ApiError):
        assert 400 <= refusal.code < 500, refusal
        orjson.dumps(refusal.status())
    else:
        orjson.dumps(str(refusal))
