"""`snapshots`: objects to be stored as they are; `importing` says what becomes of them (docs/snapshots.md)."""

from __future__ import annotations

from kube32_sim.api.own.parts import JsonObject, flag, kind, number, own, part, text


def definitions() -> dict[str, JsonObject]:
    asked = part(
        "Objects that are to be stored as they are, and how.",
        {
            "part": number("Which part of the snapshot this is, from 0; parts come in order."),
            "more": flag("More parts follow: nothing is stored until the last one has come."),
            "lines": text("JSON lines: objects of any type, one a line."),
            "time": text("When the snapshot was taken, RFC 3339: a virtual clock that is behind it is set to it."),
            "complete": flag("It holds everything that there was: an owner that is not in it is gone."),
            "onConflict": text("Of objects that there are already: Fail (the default), Skip or Replace."),
            "foreign": flag("It is of a cluster that is no simulator: its objects are translated."),
            "strict": flag("Refuse what is left out otherwise: types that are not served, unknown fields."),
            "leaveNodes": flag("Let no simulated boards run the nodes."),
        },
    )
    outcome = part(
        "What became of it.",
        {
            "phase": text("Staged: more parts are to come. Checked: it was a dry run. Loaded: it is stored."),
            "loaded": number("How many objects were stored."),
            "replaced": number("How many of them took the place of others."),
            "notes": {
                "description": "What was left out, added or changed, and why.",
                "items": {"type": "string"},
                "type": ["array", "null"],
            },
        },
    )
    snapshot = kind(
        "Snapshot",
        "State of a cluster that is to be loaded, by an administrator. Its name tells the parts of one load.",
        spec=own("SnapshotSpec", "What is to be loaded."),
        status=own("SnapshotStatus", "What became of it."),
    )
    return {"Snapshot": snapshot, "SnapshotSpec": asked, "SnapshotStatus": outcome}
