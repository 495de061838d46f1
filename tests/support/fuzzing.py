"""Requests nobody would send on purpose: recorded ones, spoiled by chance, and worse; the same for the same seed."""

from __future__ import annotations

import base64
import copy
import json
import random
import re
import string
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

TESTS = Path(__file__).resolve().parents[1]
NAMESPACES = ("fz0", "fz1")
VALUES: list[Any] = [
    *(None, True, False, 0, -1, 1, 2**31, 2**63, 2**70, -(2**63) - 1, 1.5, -0.0, 1e300, 0.1),
    *("", "x", "a/b", "\u0000", "é", "\ud83d\ude00", "x" * 300, "1Gi", "-1", "%", "50%", "1e99999", "9" * 400, "None"),
    *([], {}, [None], [1], ["a"], [[]], {"a": 1}, {"a": None}, {"": ""}, [{}], [{"name": "x"}], [{"name": "x"}] * 2),
    *("2026-01-01T00:00:00Z", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "10.0.0.1", "::1", "default"),
    *({"matchLabels": {"a": "b"}}, {"matchExpressions": [{"key": "a", "operator": "In"}]}, ["x"] * 200),
]
KEYS = ("bogus", "name", "spec", "status", "metadata", "kind", "apiVersion", "labels", "", "a.b/c", "\u0000", "$patch")
MEDIA = [
    *("application/json", "application/yaml", "application/vnd.kubernetes.protobuf", "text/plain", "", ";;", "a/b/c"),
    *("application/merge-patch+json", "application/strategic-merge-patch+json", "application/json-patch+json"),
    *("application/apply-patch+yaml", "application/json;as=Table;v=v1;g=meta.k8s.io", "*/*", "application/*;q=x"),
    *("application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io", "application/json;charset=utf-16", "é"),
    *("application/json;as=Table;v=v1beta1;g=meta.k8s.io, application/json", "application/json;as=Odd;v=v1;g=x"),
    "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
    *("application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;v=v1beta1;g=meta.k8s.io", "application/cbor"),
    *("application/yaml;as=Table;v=v1;g=meta.k8s.io", "application/json;pretty=1"),
    "application/vnd.kubernetes.protobuf;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
]
PATCHES = MEDIA[7:11]
PARAMETERS = {
    "limit": ("-1", "0", "1", "x", "9223372036854775807", "9223372036854775808", "1e3", ""),
    "continue": ("x", "e30", "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6LTEsInN0YXJ0IjoiYVx1MDAwMCJ9", "%00", "=" * 50),
    "labelSelector": (
        "a in",
        "a in (b",
        "!a,,",
        "a=b=c",
        "é",
        "\u0000",
        "(",
        "a>1",
        "a in (" + "x," * 500 + ")",
        "," * 999,
    ),
    "fieldSelector": ("a", "metadata.name=", "metadata.name!=x", "spec.nodeName==a,b", "x\\,y=z", "\\", "=" * 99),
    "resourceVersion": ("-1", "0", "1", "x", "18446744073709551616", "٣"),
    "resourceVersionMatch": ("Exact", "NotOlderThan", "x", ""),
    "timeoutSeconds": ("1", "-1", "x", "9223372036854775807"),
    "dryRun": ("All", "x", ""),
    "fieldValidation": ("Strict", "Warn", "Ignore", "x"),
    "fieldManager": ("x" * 200, "\u0007", "é"),
    "gracePeriodSeconds": ("0", "-1", "9223372036854775807", "x"),
    "propagationPolicy": ("Foreground", "Orphan", "Background", "x"),
    "orphanDependents": ("true", "x"),
    "pretty": ("true", "x"),
    "includeObject": ("None", "Object", "x"),
    "force": ("true", "x"),
    "tailLines": ("1", "-1", "x", "9" * 5000),
    "limitBytes": ("1", "0", "x"),
    "container": ("c", "x"),
    "previous": ("true", "x"),
    "timestamps": ("true", ""),
    "sinceSeconds": ("1", "9223372036854775807", "x"),
    "sinceTime": ("0001-01-01T00:00:01Z", "9999-12-31T23:59:59-24:00", "null", "x"),
    "sendInitialEvents": ("true", "false", "x"),
    "watch": ("false", "0"),
    "allowWatchBookmarks": ("true", "x"),
    "timeout": ("30s", "1us", "0", "-1s", "5", "x", "9" * 400 + "h", "1h1h", "\u0663s"),
}


@dataclass
class Attempt:
    """One request as it goes on the wire."""

    method: str
    path: str
    body: bytes | None = None
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def watches(self) -> bool:
        return "watch" in self.path


@cache
def conversations() -> list[list[dict[str, Any]]]:
    """The requests of each recorded conversation."""
    files = sorted((TESTS / "conformance" / "cases").glob("*/*.json"))
    cases = [json.loads(file.read_text(encoding="utf-8")) for file in files]
    found = [[step["request"] for step in case["steps"] if "request" in step] for case in cases]
    return [[request for request in requests if request["path"].startswith("/")] for requests in found]


@cache
def recorded() -> list[dict[str, Any]]:
    return [request for requests in conversations() for request in requests]


@cache
def protobuf_bodies() -> list[tuple[str, bytes]]:
    """(kind, body) of what kubectl sends."""
    sent = json.loads((TESTS / "api" / "protobuf_bodies.json").read_text(encoding="utf-8"))
    return [(one["object"]["kind"], base64.b64decode(one["body"])) for one in sent]


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in entries:
        yield from places(inner, (*path, key))


class Fuzzer:
    """`attempt()` makes the next request."""

    def __init__(self, seed: int) -> None:
        self._rng = random.Random(seed)
        self._made: list[tuple[int, Callable[[], Attempt]]] = [
            (60, self._spoiled),
            (12, self._patch),
            (6, self._protobuf),
            (4, self._heavy),
            (4, self._strange_path),
        ]
        self._weights = [weight for weight, _ in self._made]
        self._under_way: list[dict[str, Any]] = []
        self._namespace = NAMESPACES[0]

    def attempt(self) -> Attempt:
        while True:
            make = self._rng.choices(self._made, self._weights)[0][1]
            made = make()
            self._spoil_query(made)
            self._spoil_headers(made)
            if not self._ends_everything(made):
                return made

    @staticmethod
    def _ends_everything(made: Attempt) -> bool:
        """Deleting the namespaces in which all this happens would make the rest dull."""
        where = made.path.partition("?")[0].rstrip("/")
        return made.method == "DELETE" and where.endswith(("/namespaces", *NAMESPACES))

    # parts

    def _value(self) -> Any:
        return copy.deepcopy(self._rng.choice(VALUES))

    def _fill(self, text: str) -> str:
        return re.sub(r"\$\{(\w+)\}", lambda found: self._namespace if found[1] == "ns" else "s0", text)

    def mutate(self, obj: Any) -> Any:
        rng, obj = self._rng, copy.deepcopy(obj)
        for _ in range(rng.choice((1, 1, 1, 2, 3))):
            found = [place for place in places(obj) if place]
            if not found:
                return self._value()
            *way, last = rng.choice(found)
            holder = obj
            for key in way:
                holder = holder[key]
            chance = rng.random()
            if chance < 0.7:
                holder[last] = self._value()
            elif chance < 0.85 and isinstance(holder, dict):
                del holder[last]
            elif isinstance(holder, dict):
                holder[rng.choice(KEYS)] = self._value()
            else:
                holder.insert(last, self._value())
        return obj

    def _spoil_query(self, made: Attempt) -> None:
        while self._rng.random() < 0.15:
            name = self._rng.choice(sorted(PARAMETERS))
            value = self._rng.choice(PARAMETERS[name])
            mark = "&" if "?" in made.path else "?"
            made.path += f"{mark}{name}={quote(value, safe='')}" if self._rng.random() < 0.95 else f"{mark}{name}"
        if self._rng.random() < 0.02:
            made.path = made.path.replace("=", "=%00%ff", 1)

    def _spoil_headers(self, made: Attempt) -> None:
        rng = self._rng
        if rng.random() < 0.08:
            made.headers["Accept"] = rng.choice(MEDIA)
        if rng.random() < 0.03:
            made.headers["Content-Type"] = rng.choice(MEDIA)
        if rng.random() < 0.02:
            names = (
                "Accept-Encoding",
                "If-None-Match",
                "Authorization",
                "Content-Encoding",
                "Range",
                "Expect",
                "Cookie",
                "Impersonate-User",
                "Impersonate-Group",
                "Impersonate-Extra-%ff",
            )
            made.headers[rng.choice(names)] = rng.choice(("gzip", "*", "x", "", "Bearer x", "bytes=0-1", "é", '"' * 50))

    # kinds of requests

    def _spoiled(self) -> Attempt:
        """The next request of a conversation, so that there is something to talk about; not always as it was."""
        rng = self._rng
        while not self._under_way:
            self._under_way, self._namespace = list(rng.choice(conversations())), rng.choice(NAMESPACES)
        request = self._under_way.pop(0)
        headers = {key: self._fill(value) for key, value in (request.get("headers") or {}).items() if value is not None}
        made = Attempt(request["method"], self._fill(request["path"]), None, headers)
        if request.get("body") is not None:
            body = json.loads(self._fill(json.dumps(request["body"])))
            made.body = json.dumps(self.mutate(body) if rng.random() < 0.6 else body).encode("utf-8", "surrogatepass")
        elif request.get("raw") is not None:
            made.body = self._fill(request["raw"]).encode()
        if made.body is not None:
            headers.setdefault("Content-Type", "application/json")
            if rng.random() < 0.05:
                made.body = made.body[: rng.randrange(len(made.body) + 1)]
            if rng.random() < 0.03 and made.body:
                place = rng.randrange(len(made.body))
                made.body = made.body[:place] + bytes([rng.randrange(256)]) + made.body[place + 1 :]
        return made

    def _object_path(self) -> str:
        """Of an object that may well exist."""
        requests = [r for r in recorded() if r["method"] in ("GET", "PATCH", "PUT", "DELETE") and "?" not in r["path"]]
        return self._fill(self._rng.choice(requests)["path"])

    def _some_body(self) -> Any:
        bodies = [r["body"] for r in recorded() if isinstance(r.get("body"), dict)]
        return json.loads(self._fill(json.dumps(self._rng.choice(bodies))))

    def _patch(self) -> Attempt:
        rng, media = self._rng, self._rng.choice(PATCHES)
        patch: Any = self.mutate(self._some_body())
        if media == "application/json-patch+json":
            patch = [self._operation() for _ in range(rng.choice((1, 2, 5)))]
        elif rng.random() < 0.3:
            patch = (
                {**patch, "$patch": rng.choice(("replace", "delete", "merge", "x", 1))}
                if isinstance(patch, dict)
                else []
            )
        return Attempt("PATCH", self._object_path(), json.dumps(patch).encode(), {"Content-Type": media})

    def _operation(self) -> dict[str, Any]:
        rng = self._rng
        pointers = ["", "/", "/metadata", "/metadata/labels", "/spec", "/spec/containers/0", "/spec/containers/-", "/x"]
        pointers += ["/metadata/labels/a~1b", "/metadata/labels/~", "/spec/-1", "/spec/99999999999", "/data/k", "x"]
        operation = {"op": rng.choice(("add", "remove", "replace", "move", "copy", "test", "x"))}
        operation["path"] = rng.choice(pointers)
        if rng.random() < 0.7:
            operation["value"] = self._value()
        if rng.random() < 0.5:
            operation["from"] = rng.choice(pointers)
        return self.mutate(operation) if rng.random() < 0.1 else operation

    def _protobuf(self) -> Attempt:
        rng = self._rng
        kind, body = rng.choice(protobuf_bodies())
        changed = bytearray(body)
        for _ in range(rng.choice((0, 1, 1, 2, 8))):
            changed[rng.randrange(len(changed))] = rng.randrange(256)
        if rng.random() < 0.1:
            del changed[rng.randrange(len(changed)) :]
        plural = f"{kind.lower()}s"
        group = {
            "deployments": "/apis/apps/v1",
            "jobs": "/apis/batch/v1",
            "roles": "/apis/rbac.authorization.k8s.io/v1",
        }
        path = f"{group.get(plural, '/api/v1')}/namespaces/{rng.choice(NAMESPACES)}/{plural}"
        return Attempt("POST", path, bytes(changed), {"Content-Type": "application/vnd.kubernetes.protobuf"})

    def _strange_path(self) -> Attempt:
        rng, path = self._rng, self._object_path()
        parts = path.split("/")
        parts[rng.randrange(1, len(parts))] = rng.choice(
            ("", "..", "%2e%2e", "%00", "%2F", "x" * 300, "é", "%ff", "*", "watch", "namespaces", "status", "~", "A B")
        )
        if rng.random() < 0.3:
            parts.append(rng.choice(("status", "scale", "log", "exec", "binding", "eviction", "token", "x", "proxy")))
        method = rng.choice(("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"))
        body = json.dumps(self._value()).encode() if rng.random() < 0.5 else None
        return Attempt(method, quote("/".join(parts), safe="/%?=&*~"), body, {"Content-Type": rng.choice(MEDIA)})

    def _heavy(self) -> Attempt:
        """Much of something."""
        rng = self._rng
        where = f"/api/v1/namespaces/{rng.choice(NAMESPACES)}/configmaps"
        depth = rng.choice((50, 990, 1100, 10_000, 60_000))
        text = rng.choice(string.ascii_letters) * rng.choice((300, 70_000))
        bodies = [
            b'{"data":' + b'{"a":' * depth + b"1" + b"}" * depth + b"}",
            b'{"data":' + b"[" * depth + b"]" * depth + b"}",
            b"{" + b",".join(b'"k%d":1' % (n % 3) for n in range(3_000)) + b"}",
            b'{"metadata":{"name":"n","labels":{' + b",".join(b'"k%d":"v"' % n for n in range(3_000)) + b"}}}",
            b'{"metadata":{"name":"n","generation":' + b"9" * rng.choice((30, 5_000)) + b"}}",
            b'{"metadata":{"name":"n"},"data":{"k":1' + b"0" * 400 + b".5e-400}}",
            json.dumps({"metadata": {"name": text}}).encode(),
            json.dumps({"metadata": {"generateName": text, "finalizers": [text] * 3}}).encode(),
            json.dumps({"metadata": {"name": "n"}, "data": {"\x00": "\x00", text[:200]: text}}).encode(),
        ]
        if rng.random() < 0.5:
            return Attempt("POST", where, rng.choice(bodies), {"Content-Type": rng.choice(MEDIA[:2])})
        operations = [
            [{"op": "add", "path": "/metadata/labels", "value": {}}] * 1_000,
            [{"op": "copy", "from": "/metadata", "path": f"/metadata/x{n}"} for n in range(1_000)],
            [{"op": "copy", "from": "/data", "path": "/data/x"}] * 40,
        ]
        if rng.random() < 0.6:
            body = json.dumps(rng.choice(operations)).encode()
            return Attempt("PATCH", f"{where}/kept", body, {"Content-Type": "application/json-patch+json"})
        return Attempt("PATCH", f"{where}/kept", rng.choice(bodies), {"Content-Type": rng.choice(PATCHES)})
