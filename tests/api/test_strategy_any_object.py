"""Whatever a client sends that fits the schema: a strategy answers with failures, never with a crash."""

from __future__ import annotations

import copy
import random
from typing import Any

import pytest
from strategy_objects import NOW, TABLE, UID, context_of

from kube32_sim.api.allocation import Allocators
from kube32_sim.api.decode import decode_value
from kube32_sim.api.errors import ApiError
from kube32_sim.api.resources import ResourceType
from kube32_sim.api.schema import json_type, properties, reference
from kube32_sim.api.service_allocation import allocate
from kube32_sim.api.strategies import config, policy, services, storage, workloads

JsonObject = dict[str, Any]

AREAS = (config, policy, services, storage, workloads)
OWN = {key for area in AREAS for key in area.STRATEGIES}
ROWS = [row for row in TABLE if row.stored and (row.group, row.kind) in OWN]
TEXTS = (
    "",
    "a",
    "A_b",
    "None",
    "Always",
    "10.96.0.1",
    "fe80::1",
    "x" * 300,
    "50%",
    "9" * 5000 + "%",
    "-1",
    "é\n",
    "a/b",
)
WORDS = (
    "ClusterIP",
    "NodePort",
    "LoadBalancer",
    "ExternalName",
    "Indexed",
    "RollingUpdate",
    "In",
    "Container",
    "Limited",
)
LEAVES: dict[str, tuple[Any, ...]] = {
    "Quantity": ("1Gi", "0", "-5m", "1e3"),
    "IntOrString": (0, 1, -3, "25%", "101%", "x", "9" * 5000 + "%"),
    "Time": (NOW,),
    "MicroTime": ("2026-01-01T00:00:00.000000Z",),
}


class Maker:
    """Objects that fit a definition, mostly nonsense; the same for the same seed."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)

    def struct(self, key: str, depth: int = 0) -> Any:
        name = key.rpartition(".")[2]
        if name in LEAVES:
            return self.chance.choice(LEAVES[name])
        share = 0.7 if depth < 4 else 0.25
        fields = properties(key)
        return {
            field: self.value(schema, depth + 1)
            for field, schema in fields.items()
            if depth < 9 and self.chance.random() < share
        }

    def value(self, schema: JsonObject, depth: int) -> Any:
        key = reference(schema)
        if key is not None:
            return self.struct(key, depth)
        kind = json_type(schema)
        if kind == "array":
            return [self.value(schema.get("items", {}), depth) for _ in range(self.chance.randrange(3))]
        if kind == "object":
            inner = schema.get("additionalProperties")
            return {text: self.value(inner, depth) for text in self.chance.sample(TEXTS, 2)} if inner else {}
        if kind == "string":
            return self._text(schema)
        if kind in ("integer", "number"):
            return self.chance.choice((0, 1, -1, 80, 30080, 70000, 2**31 - 1))
        return self.chance.random() < 0.5

    def _text(self, schema: JsonObject) -> str:
        if schema.get("format") == "byte":
            return self.chance.choice(("", "e30=", "AA=="))
        if schema.get("format") == "date-time":
            return NOW
        return self.chance.choice(TEXTS + WORDS)


def made(row: ResourceType, maker: Maker) -> JsonObject:
    body = {"kind": row.kind, "apiVersion": row.api_version, **maker.struct(row.schema)}
    body |= {"kind": row.kind, "apiVersion": row.api_version, "metadata": {"name": maker.chance.choice(TEXTS)}}
    obj, _ = decode_value(body, row.schema)
    return {key: value for key, value in obj.items() if key not in ("kind", "apiVersion")}


def written(row: ResourceType, obj: JsonObject) -> JsonObject:
    row.strategy.default(obj)
    obj["metadata"] |= {"namespace": "ns", "uid": UID}
    context = context_of(row, obj)
    row.strategy.prepare_create(obj, context)
    row.strategy.validate(obj, context)
    row.strategy.warnings(obj, None, context)
    return obj


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.plural}.{row.version}.{row.group}")
def test_any_object_is_answered(row: ResourceType) -> None:
    maker = Maker(7)
    for _ in range(12):
        old = written(row, made(row, maker))
        new = made(row, maker)
        for subresource in ("", "status"):
            obj = copy.deepcopy(new)
            row.strategy.default(obj)
            context = context_of(row, obj, subresource)
            if subresource:
                row.strategy.prepare_status_update(obj, old, context)
                row.strategy.validate_status_update(obj, old, context)
            else:
                row.strategy.prepare_update(obj, old, context)
                row.strategy.validate_update(obj, old, context)
            row.strategy.warnings(obj, old, context)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.plural}.{row.version}.{row.group}")
def test_defaults_change_nothing_the_second_time(row: ResourceType) -> None:
    maker = Maker(11)
    for _ in range(5):
        obj = made(row, maker)
        row.strategy.default(obj)
        once = copy.deepcopy(obj)
        row.strategy.default(obj)
        assert obj == once


def test_any_service_is_allocated_or_refused() -> None:
    row = next(row for row in ROWS if row.kind == "Service")
    maker, allocators = Maker(3), Allocators()
    codes: list[int] = []
    for _ in range(60):
        service = written(row, made(row, maker))
        if row.strategy.validate(service, context_of(row, service)):
            continue
        try:
            allocate(service, None, allocators)
        except ApiError as error:
            codes.append(error.code)
        else:
            allocators.observe(service, None)
    assert set(codes) <= {422}
