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
    found |= {"ClockAdvance": advance, "ClockAdvanceSpec": asked, **_snapshots()}
    return {f"{PREFIX}.{name}": entry for name, entry in found.items()}


def _snapshots() -> dict[str, JsonObject]:
    """`importing` says what becomes of what is asked; `docs/snapshots.md` tells of it."""
    asked = _part(
        "Objects that are to be stored as they are, and how.",
        {
            "part": _number("Which part of the snapshot this is, from 0; parts come in order."),
            "more": _flag("More parts follow: nothing is stored until the last one has come."),
            "lines": _text("JSON lines: objects of any type, one a line."),
            "time": _text("When the snapshot was taken, RFC 3339: a virtual clock that is behind it is set to it."),
            "complete": _flag("It holds everything that there was: an owner that is not in it is gone."),
            "onConflict": _text("Of objects that there are already: Fail (the default), Skip or Replace."),
            "foreign": _flag("It is of a cluster that is no simulator: its objects are translated."),
            "strict": _flag("Refuse what is left out otherwise: types that are not served, unknown fields."),
            "leaveNodes": _flag("Let no simulated boards run the nodes."),
        },
    )
    outcome = _part(
        "What became of it.",
        {
            "phase": _text("Staged: more parts are to come. Checked: it was a dry run. Loaded: it is stored."),
            "loaded": _number("How many objects were stored."),
            "replaced": _number("How many of them took the place of others."),
            "notes": {
                "description": "What was left out, added or changed, and why.",
                "items": {"type": "string"},
                "type": ["array", "null"],
            },
        },
    )
    snapshot = _kind(
        "Snapshot",
        "State of a cluster that is to be loaded, by an administrator. Its name tells the parts of one load.",
        spec=_own("SnapshotSpec", "What is to be loaded."),
        status=_own("SnapshotStatus", "What became of it."),
    )
    return {"Snapshot": snapshot, "SnapshotSpec": asked, "SnapshotStatus": outcome}


def _flag(description: str) -> JsonObject:
    return {"description": description, "type": ["boolean", "null"]}


def _number(description: str) -> JsonObject:
    return {"description": description, "format": "int32", "type": ["integer", "null"]}


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
