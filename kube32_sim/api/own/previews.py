"""`schedulingpreviews`: where pods would go; `preview/answering` says (docs/preview.md)."""

from __future__ import annotations

from kube32_sim.api.own.parts import JsonObject, flag, kind, number, own, part, reference, text

POD = "io.k8s.api.core.v1.Pod"
ANY = "io.k8s.apimachinery.pkg.runtime.RawExtension"


def _many(description: str, items: JsonObject) -> JsonObject:
    return {"description": description, "items": items, "type": ["array", "null"]}


def _texts(description: str) -> JsonObject:
    return _many(description, {"type": "string"})


def _asked() -> JsonObject:
    manifest = reference(ANY, "A manifest.")
    return part(
        "What is to be placed, and by which rules.",
        {
            "profile": text("kube32, as the simulator schedules (the default), or kestrel."),
            "pods": _many("Pods that are to be placed, in order.", reference(POD, "A pod.")),
            "objects": _many("Manifests of any kind, whose pods are placed after those, in order.", manifest),
            "limit": number("How many nodes to tell of for each pod, of the best; 0: all of them."),
        },
    )


def _verdict() -> JsonObject:
    percentages = {
        "additionalProperties": {"format": "int32", "type": "integer"},
        "description": "What would be left there of the two resources that make the score, in percent.",
        "type": ["object", "null"],
    }
    return part(
        "What a node says of a pod.",
        {
            "name": text("The node's."),
            "feasible": flag("Whether it passes all filters."),
            "reason": text("Of the first filter that fails."),
            "score": number("Of a feasible node."),
            "percentages": percentages,
            "detail": text("More about the reason: how much was asked for, and how much is free."),
        },
    )


def _victim() -> JsonObject:
    return part(
        "A pod that would be evicted.",
        {
            "pod": text("Its namespace and name."),
            "priority": number("Its priority."),
            "node": text("Where it would go then."),
            "phase": text("Pending where it would go nowhere."),
        },
    )


def _placement() -> JsonObject:
    return part(
        "Where a pod would go.",
        {
            "pod": text("Its name; one that would be generated ends in a number."),
            "namespace": text("Its namespace."),
            "owner": text("What it comes from, such as Deployment/web."),
            "node": text("Where it would go; null where it fits nowhere."),
            "score": number("Of that node."),
            "message": text("In the words of the scheduler."),
            "note": text("What is to be known besides, such as that the board would refuse it."),
            "tieBreak": _texts("The nodes of that score, where there are several: the first by name is taken."),
            "victims": _many("Pods that would be evicted for it.", own("SchedulingPreviewVictim", "One of them.")),
            "nodes": _many("What each node says of it.", own("SchedulingPreviewNode", "One of them.")),
            "nodesOmitted": number("How many nodes are not among them because of spec.limit."),
        },
    )


def definitions() -> dict[str, JsonObject]:
    placements = _many("A pod each, in the order of their placing.", own("SchedulingPreviewPlacement", "Of a pod."))
    warnings = _texts("What the answer leaves out, or takes for granted.")
    preview = kind(
        "SchedulingPreview",
        "Where pods would go, and why not elsewhere. Nothing is stored.",
        spec=own("SchedulingPreviewSpec", "What is asked."),
        status=own("SchedulingPreviewStatus", "The answer."),
    )
    return {
        "SchedulingPreview": preview,
        "SchedulingPreviewSpec": _asked(),
        "SchedulingPreviewStatus": part("Where they would go.", {"placements": placements, "warnings": warnings}),
        "SchedulingPreviewPlacement": _placement(),
        "SchedulingPreviewNode": _verdict(),
        "SchedulingPreviewVictim": _victim(),
    }
