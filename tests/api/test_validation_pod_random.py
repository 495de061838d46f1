"""Whatever a client can send passes the strategies with an answer: objects made at random after the schemas."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from kube32_sim.api import admission, schema
from kube32_sim.api.builtin import builtin_table
from kube32_sim.api.decode import decode
from kube32_sim.api.errors import ApiError, FieldError
from kube32_sim.api.strategies.base import Context
from kube32_sim.api.validation.meta import validate_metadata, validate_metadata_update

JsonObject = dict[str, Any]

TABLE = builtin_table()
KINDS = [
    ("", "v1", "pods"),
    ("", "v1", "nodes"),
    ("", "v1", "namespaces"),
    ("", "v1", "events"),
    ("", "v1", "serviceaccounts"),
    ("coordination.k8s.io", "v1", "leases"),
]
WORDS = ["", "a", "a", "web", "Bad Name", "x.y", "..", "../x", "/abs", "é", "100%", "Always", "None", "Exists", "In"]
QUANTITIES = ["0", "1", "-1", "100m", "1Gi", "1e3", "0.5", "9223372036854775807"]


class Empty:
    def get(self, storage: tuple[str, str], namespace: str, name: str) -> JsonObject | None:
        if storage == ("", "namespaces"):
            labels = {f"pod-security.kubernetes.io/{mode}": "restricted" for mode in ("warn", "enforce")}
            return {"metadata": {"name": name, "labels": labels}, "status": {"phase": "Active"}}
        return None

    def list(self, storage: tuple[str, str], namespace: str = "") -> Sequence[JsonObject]:
        if storage == ("", "limitranges"):
            limit = {"type": "Container", "default": {"cpu": "1"}, "max": {"memory": "1Gi"}, "min": {"cpu": "1m"}}
            return [{"metadata": {"name": "l"}, "spec": {"limits": [limit, {**limit, "type": "Pod"}]}}]
        if storage == ("", "resourcequotas"):
            return [{"metadata": {"name": "q"}, "spec": {"hard": {"pods": "3", "requests.cpu": "1"}}}]
        return []


class Maker:
    """Makes values after schemas; most fields are left out, and none is deeper than `depth`."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def value(self, of: JsonObject, depth: int) -> Any:
        key = schema.reference(of)
        of = schema.resolved(of)
        kind = schema.json_type(of)
        if key and key.endswith("Quantity"):
            return self.random.choice(QUANTITIES)
        if key and key.endswith("MicroTime"):
            return "2026-01-01T00:00:00.000000Z"
        if of.get("format") == "date-time" or (key and key.endswith("Time")):
            return "2026-01-01T00:00:00Z"
        if key and key.endswith("IntOrString"):
            return self.random.choice([0, 80, -1, 70000, "http", "x y"])
        if kind == "array":
            return [self.value(of["items"], depth - 1) for _ in range(self.random.randint(0, 2))] if depth > 0 else []
        if kind == "object" or "properties" in of:
            return self.object(of, depth)
        if kind == "integer":
            return self.random.choice([0, 1, -1, 80, 70000, 2**31 - 1])
        if kind == "boolean":
            return self.random.random() < 0.5
        return self.random.choice(WORDS)

    def object(self, of: JsonObject, depth: int) -> JsonObject:
        if "properties" in of:
            share = 0.35 if depth > 0 else 0.0
            names = [name for name in of["properties"] if self.random.random() < share]
            return {name: self.value(of["properties"][name], depth - 1) for name in names}
        inner = of.get("additionalProperties")
        if isinstance(inner, dict):
            keys = ["cpu", "memory", "a/b/c", "esp32.io/gpio", "app", "Bad Key"]
            return {self.random.choice(keys): self.value(inner, depth - 1) for _ in range(self.random.randint(0, 2))}
        return {}


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind[2])
def test_every_object_gets_an_answer(kind: tuple[str, str, str]) -> None:
    row = TABLE.by_path(*kind)
    assert row is not None
    context = Context(row, "ns" if row.namespaced else "", "n", "2026-01-01T00:00:00Z", Empty())
    outcomes = set()
    previous: JsonObject | None = None
    for seed in range(120):
        obj = made(row.schema, row.kind, seed)
        obj.setdefault("metadata", {}).update({"name": "n", "uid": "u"})
        if row.namespaced:
            obj["metadata"]["namespace"] = "ns"
        outcomes.add(create(obj, context))
        if previous is not None:
            outcomes.add(update(obj, previous, context))
        previous = obj
    assert "refused" in outcomes


def made(key: str, kind: str, seed: int) -> JsonObject:
    raw = Maker(seed).value(schema.definition(key), 7)
    raw.pop("apiVersion", None)
    raw.pop("kind", None)
    obj, _ = decode(raw, key, kind)
    return obj


def create(obj: JsonObject, context: Context) -> str:
    strategy, config = context.row.strategy, admission.AdmissionConfig(service_accounts=True)
    strategy.default(obj)
    admitted = asked(admission.mutate, obj, context, config)
    strategy.prepare_create(obj, context)
    failures = validate_metadata(obj["metadata"], context.row) + strategy.validate(obj, context)
    assert all(isinstance(failure, FieldError) for failure in failures)
    assert all(isinstance(text, str) for text in strategy.warnings(obj, None, context))
    admitted = asked(admission.validate, obj, context, config) and admitted
    return "accepted" if admitted and not failures else "refused"


def asked(step: Callable[..., object], obj: JsonObject, context: Context, config: admission.AdmissionConfig) -> bool:
    try:
        step("create", obj, None, context, config)
    except ApiError as error:
        if error.code == 403:
            return False
        raise
    return True


def update(obj: JsonObject, old: JsonObject, context: Context) -> str:
    strategy = context.row.strategy
    strategy.prepare_update(obj, old, context)
    failures = validate_metadata_update(obj["metadata"], old["metadata"], context.row)
    failures += strategy.validate_update(obj, old, context)
    status = {**obj, "metadata": dict(obj["metadata"])}
    strategy.prepare_status_update(status, old, context)
    failures += strategy.validate_status_update(status, old, context)
    assert all(isinstance(failure, FieldError) for failure in failures)
    return "refused" if failures else "accepted"
