"""`explanations`: why a pod is where it is; `explaining` answers (docs/why.md)."""

from __future__ import annotations

from kube32_sim.api.own.parts import META, JsonObject, flag, kind, number, own, part, reference, text

NAMESPACE, NAME = text("Its namespace; default where none is given."), text("Its name.")


def _many(name: str, description: str) -> JsonObject:
    return {"description": description, "items": {"$ref": own(name, "")["$ref"]}, "type": ["array", "null"]}


def _texts(description: str) -> JsonObject:
    return {"description": description, "items": {"type": "string"}, "type": ["array", "null"]}


_TIME = f"{META}.MicroTime"
_IDENTITY = {"namespace": NAMESPACE, "name": NAME, "uid": text("Its uid.")}


def _cause() -> JsonObject:
    return part(
        "One thing that happened to a pod, or that brought something about that did.",
        {
            "time": reference(_TIME, "When."),
            "revision": text("The resourceVersion that the write made; empty where that is not known."),
            "actor": text("Who: a component such as deployment-controller, or a user."),
            "manager": text("The field manager under which it was written, mostly the client's program."),
            "reason": text("What, in one CamelCase word."),
            "message": text("What, in one sentence."),
            "about": own("ExplainedObject", "What happened to this object."),
            "node": text("Of a binding: the node."),
            "because": {
                "description": "Its direct causes: their places in the list, from 0.",
                "items": {"format": "int32", "type": "integer"},
                "type": ["array", "null"],
            },
            "source": text("Recorded when it happened; or only told still by an Event, or by the Object itself."),
        },
    )


def _status() -> JsonObject:
    return part(
        "Why the pod is where it is, or is not.",
        {
            "now": reference(_TIME, "The time of this answer."),
            "recordedSince": reference(_TIME, "From when on causes are recorded by the process that answers."),
            "pod": own("ExplainedState", "How the pod is now."),
            "summary": text("How the pod is now, in one sentence."),
            "causes": _many("ExplainedCause", "The chain of causes, in the order in which they happened."),
            "nodes": _many("ExplainedNode", "Of a pod that waits: why not on which node, now."),
            "nodesLeftOut": number("How many nodes more there are than are listed."),
            "notes": _texts("What else is to be known, such as what was not recorded."),
        },
    )


def definitions() -> dict[str, JsonObject]:
    pod = own("ExplainedPod", "The pod. Without a uid: the one of the name, or the last one that was.")
    state = {
        **_IDENTITY,
        "phase": text("Its status.phase; empty where it has gone."),
        "node": text("Its spec.nodeName."),
        "deletionTimestamp": text("When it is to be gone, where it is being deleted."),
        "gone": flag("It does not exist any more."),
    }
    verdict = {"name": NAME, "reason": text("Why not there.")}
    return {
        "Explanation": kind(
            "Explanation",
            "Tells why a pod is where it is, and how it came to be there.",
            spec=own("ExplanationSpec", "Which pod."),
            status=own("ExplanationStatus", "Why."),
        ),
        "ExplanationSpec": part("Which pod is to be explained, whether it is still there or not.", {"pod": pod}),
        "ExplanationStatus": _status(),
        "ExplainedPod": part("A pod, by name.", _IDENTITY),
        "ExplainedState": part("How a pod is.", state),
        "ExplainedCause": _cause(),
        "ExplainedObject": part("An object that is told of.", {"kind": text("Its kind."), **_IDENTITY}),
        "ExplainedNode": part("What a node says of a pod that waits for one.", verdict),
    }
