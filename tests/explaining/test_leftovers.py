"""What objects and events tell where nothing was noted, and how it is joined with what was."""

from __future__ import annotations

from typing import Any

import pytest

from kube32_sim.causes import Ref
from kube32_sim.clock import EPOCH, rfc3339
from kube32_sim.explaining.leftovers import of_events, of_object, together
from kube32_sim.explaining.story import EVENT, OBJECT, Link

JsonObject = dict[str, Any]
ABOUT = Ref("Pod", "default", "p", "u")


def at(seconds: float) -> str:
    return rfc3339(EPOCH + seconds)


def pod(conditions: list[JsonObject] | None = None, node: str = "", **metadata: Any) -> JsonObject:
    named = {"name": "p", "namespace": "default", "uid": "u", "resourceVersion": "9", "creationTimestamp": at(0)}
    return {
        "metadata": named | metadata,
        "spec": {"nodeName": node} if node else {},
        "status": {"conditions": conditions or []},
    }


def link(seconds: float, reason: str, because: tuple[int, ...] = ()) -> Link:
    return Link(EPOCH + seconds, "x", reason, "", ABOUT, because=because)


def test_the_first_manager_made_it_for_its_owner() -> None:
    managers = [
        {"manager": "kubelet", "time": at(-5), "subresource": "status"},
        {"manager": "late", "time": at(9)},
        {"manager": "helm", "time": at(0)},
    ]
    owners = [{"kind": "Other", "name": "o"}, {"kind": "Job", "name": "j", "controller": True}]
    (only,) = of_object(pod(managedFields=managers, ownerReferences=owners), scheduled=False)
    assert only.message == "created by helm for Job j, which owns it"
    assert (only.actor, only.source, only.at) == ("helm", OBJECT, EPOCH)


def test_a_binding_is_told_unless_somebody_else_tells_it() -> None:
    bound = pod([{"type": "PodScheduled", "status": "True", "lastTransitionTime": at(3)}], node="n")
    _, told = of_object(bound, scheduled=False)
    assert (told.reason, told.node, told.at) == ("Bound", "n", EPOCH + 3)
    assert [one.reason for one in of_object(bound, scheduled=True)] == ["Created"]


def test_a_disruption_and_a_deletion_are_told() -> None:
    conditions = [{"type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI", "message": "why"}]
    going = pod(conditions, deletionTimestamp=at(50), deletionGracePeriodSeconds=30)
    found = [(one.reason, one.message, one.at - EPOCH) for one in of_object(going, scheduled=False)][1:]
    assert found == [("EvictionByEvictionAPI", "why", 0), ("Deleted", "its deletion was asked for", 20)]


@pytest.mark.parametrize("time", ["", None, 5, "yesterday"])
def test_times_that_are_none_do_no_harm(time: Any) -> None:
    odd = pod([{"type": "PodScheduled", "status": "True", "lastTransitionTime": time}], node="n")
    odd["metadata"]["creationTimestamp"] = time
    assert len(list(of_object(odd, scheduled=False))) == 2
    event = {"metadata": {}, "reason": "Scheduled", "message": "assigned default/p to n", "firstTimestamp": time}
    (told,) = of_events([event], ABOUT)
    assert (told.node, told.source, told.actor) == ("n", EVENT, "unknown")


def test_events_that_tell_of_something_else_are_left_out() -> None:
    assert list(of_events([{"metadata": {}, "reason": "Pulled", "message": ""}], ABOUT)) == []


def test_what_was_noted_follows_what_is_left_and_its_causes_move() -> None:
    earlier = [link(5, "Scheduled"), link(0, "Created"), link(30, "Evicted")]
    noted = [link(20.5, "Deleted"), link(21, "Removed", (0,))]
    joined = together(earlier, noted)
    assert [one.reason for one in joined] == ["Created", "Scheduled", "Deleted", "Removed"]
    assert joined[-1].because == (2,)


def test_what_was_noted_is_not_told_again_of_the_same_second() -> None:
    joined = together([link(20, "Deleted"), link(20, "Created")], [link(20.5, "Deleted")])
    assert [one.reason for one in joined] == ["Created", "Deleted"]
