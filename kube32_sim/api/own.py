"""Types of the simulator's own, group `sim.kube32.io`: their definitions, beside those of Kubernetes (`schema`).

The rows that serve them are in `builtin.py`, like all others; decoding, OpenAPI and messages follow from both.
"""

from __future__ import annotations

from typing import Any

JsonObject = dict[str, Any]

GROUP = "sim.kube32.io"
VERSION = "v1alpha1"
API_VERSION = f"{GROUP}/{VERSION}"
PREFIX = "io.kube32.sim.v1alpha1"

_META = "io.k8s.apimachinery.pkg.apis.meta.v1"
_MODE = "Real: time moves by itself. Virtual: it moves only when it is advanced."
_NOW = "The time that it is, by this clock."


def definitions() -> dict[str, JsonObject]:
    """By key, in the form of `schema.all_definitions`."""
    status = _part(
        "How a clock goes, and what time it is.", {"mode": _text(_MODE), "now": _reference(f"{_META}.MicroTime", _NOW)}
    )
    asked = _part(
        "How far a clock is to be advanced.",
        {"duration": _text("How far, as Go writes durations: 500ms, 15s, 1m30s; or a number of seconds. Required.")},
    )
    clock = _kind(
        "Clock", "The simulator's clock: there is one, named cluster.", status=_own("ClockStatus", "What it shows.")
    )
    clocks = _list("Clock")
    advance = _kind(
        "ClockAdvance",
        "Moves a virtual clock on. The answer comes when everything due by then has run.",
        spec=_own("ClockAdvanceSpec", "How far."),
        status=_own("ClockStatus", "The clock afterwards."),
    )
    found = {"Clock": clock, "ClockList": clocks, "ClockStatus": status}
    found |= {"ClockAdvance": advance, "ClockAdvanceSpec": asked}
    return {f"{PREFIX}.{name}": entry for name, entry in found.items()}


def _text(description: str) -> JsonObject:
    return {"description": description, "type": ["string", "null"]}


def _reference(key: str, description: str) -> JsonObject:
    return {"$ref": f"#/$defs/{key}", "description": description}


def _own(name: str, description: str) -> JsonObject:
    return _reference(f"{PREFIX}.{name}", description)


def _part(description: str, properties: JsonObject) -> JsonObject:
    return {"description": description, "properties": properties, "type": ["object", "null"]}


def _kind(kind: str, description: str, **parts: JsonObject) -> JsonObject:
    identity = {
        "apiVersion": {**_text("Which version of which group the object is written in."), "enum": [API_VERSION]},
        "kind": {**_text("What the object is."), "enum": [kind]},
        "metadata": _reference(f"{_META}.ObjectMeta", "Standard metadata."),
    }
    named = [{"group": GROUP, "kind": kind, "version": VERSION}]
    return {**_part(description, {**identity, **parts}), "x-kubernetes-group-version-kind": named}


def _list(kind: str) -> JsonObject:
    items = {"description": "The objects.", "items": {"$ref": f"#/$defs/{PREFIX}.{kind}"}, "type": "array"}
    made = _kind(f"{kind}List", f"A list of objects of kind {kind}.", items=items)
    made["properties"]["metadata"] = _reference(f"{_META}.ListMeta", "Standard metadata of lists.")
    return {**made, "required": ["items"]}
