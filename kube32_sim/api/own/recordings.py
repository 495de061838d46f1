"""`recordings`: what clients write, and where pods go, from a moment on; `recording` answers (docs/replay.md)."""

from __future__ import annotations

from kube32_sim.api.own.parts import JsonObject, flag, kind, number, own, part, text


def definitions() -> dict[str, JsonObject]:
    asked = part(
        "What is to be told.",
        {
            "after": number("The number up to which it was told already: status.next of the answer before."),
            "end": flag("This is the last time: the recording ends with the answer."),
        },
    )
    told = part(
        "What has happened.",
        {
            "now": text("The time that it is in the cluster."),
            "lines": text("JSON lines: events of audit.k8s.io/v1, and steps of pods (PlacementStep)."),
            "next": number("The number of the last line, or of the newest that there is."),
            "more": flag("There is more already."),
            "lost": number("How many lines were lost because nobody asked for them in time."),
            "resourceVersion": text("In the first answer: as of when the cluster's state is that these lines follow."),
            "options": {
                "description": "In the first answer: the server's options that decide where pods go.",
                "type": ["object", "null"],
                "additionalProperties": {"type": "string"},
            },
        },
    )
    recording = kind(
        "Recording",
        "What clients write and where pods go, from its first POST on. Its name tells the POSTs of one recording.",
        spec=own("RecordingSpec", "What is to be told."),
        status=own("RecordingStatus", "What has happened."),
    )
    return {"Recording": recording, "RecordingSpec": asked, "RecordingStatus": told}
