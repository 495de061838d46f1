"""Pods for tests of their rules, and what is refused of them."""

from __future__ import annotations

from typing import Any

from strategy_objects import changed, created, texts

JsonObject = dict[str, Any]

AT = "spec.containers[0]"


def pod(container: JsonObject | None = None, **spec: Any) -> JsonObject:
    containers = [{"name": "c", "image": "i", **(container or {})}]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": containers, **spec}}


def refused(container: JsonObject | None = None, **spec: Any) -> list[str]:
    return texts(created(pod(container, **spec))[1])


def annotated(annotations: dict[str, str], container: JsonObject | None = None, **spec: Any) -> JsonObject:
    body = pod(container, **spec)
    body["metadata"]["annotations"] = annotations
    return body


def after(old: JsonObject, status: JsonObject) -> list[str]:
    """What is refused of a report."""
    return texts(changed(old, {**pod(), "status": status}, "status")[1])
