"""A write as the registry makes it, without registry, admission and store: for tests of strategies."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

from kube32_sim.api.builtin import builtin_table
from kube32_sim.api.decode import decode_value
from kube32_sim.api.errors import FieldError
from kube32_sim.api.resources import ResourceType
from kube32_sim.api.strategies.base import Context
from kube32_sim.api.validation.meta import validate_metadata, validate_metadata_update

JsonObject = dict[str, Any]

TABLE = builtin_table()
NOW = "2026-01-01T00:00:00Z"
UID = "11111111-2222-4333-8444-555555555555"


class Empty:
    """A cluster in which nothing is stored."""

    def get(self, storage: tuple[str, str], namespace: str, name: str) -> JsonObject | None:
        return None

    def list(self, storage: tuple[str, str], namespace: str = "") -> Sequence[JsonObject]:
        return ()


def row_of(body: JsonObject) -> ResourceType:
    group, _, version = body["apiVersion"].rpartition("/")
    row = TABLE.by_kind(group, version, body["kind"])
    assert row is not None, body
    return row


def context_of(row: ResourceType, body: JsonObject, subresource: str = "") -> Context:
    name = body["metadata"].get("name", "")
    return Context(row, "ns" if row.namespaced else "", name, NOW, Empty(), subresource=subresource)


def decoded(body: JsonObject) -> JsonObject:
    obj, unknown = decode_value(copy.deepcopy(body), row_of(body).schema)
    assert not unknown
    obj.pop("apiVersion")
    obj.pop("kind")
    row_of(body).strategy.default(obj)
    return obj


def created(body: JsonObject) -> tuple[JsonObject, list[FieldError], list[str]]:
    """The object a POST makes, its failures, its warnings."""
    row = row_of(body)
    obj = decoded(body)
    metadata = obj["metadata"]
    if row.namespaced:
        metadata["namespace"] = "ns"
    metadata |= {"uid": UID, "creationTimestamp": NOW}
    context = context_of(row, body)
    row.strategy.prepare_create(obj, context)
    failures = validate_metadata(metadata, row)
    failures += row.strategy.validate(obj, context)
    warnings = [] if failures else row.strategy.warnings(obj, None, context)
    return obj, failures, warnings


def changed(old: JsonObject, body: JsonObject, subresource: str = "") -> tuple[JsonObject, list[FieldError]]:
    """The object a PUT of `body` makes of `old`, and its failures."""
    row = row_of(body)
    before = copy.deepcopy(old)
    obj = decoded(body)
    metadata = obj["metadata"]
    for key in ("namespace", "uid", "creationTimestamp", "generation"):
        if key in old["metadata"]:
            metadata[key] = old["metadata"][key]
    context = context_of(row, body, subresource)
    if subresource == "status":
        row.strategy.prepare_status_update(obj, old, context)
        failures = row.strategy.validate_status_update(obj, old, context)
    else:
        row.strategy.prepare_update(obj, old, context)
        failures = row.strategy.validate_update(obj, old, context)
    assert old == before, "the old object was changed"
    return obj, validate_metadata_update(metadata, old["metadata"]) + failures


def texts(failures: Sequence[FieldError]) -> list[str]:
    return [str(failure) for failure in failures]
