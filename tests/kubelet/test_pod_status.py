"""A pod's life as its status, and a status read back as a life."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kube32_sim.clock import rfc3339
from kube32_sim.kubelet.claims import Rejection
from kube32_sim.kubelet.pod_life import Advanced, PodLife, advance, begin, refuse
from kube32_sim.kubelet.pod_status import pod_status, resume, status_patch
from tests.kubelet.pods import T0, deleted, live, pod

HOST, IP = "172.16.0.1", "10.128.0.1"


def status_of(given_pod: dict[str, Any], life: PodLife) -> dict[str, Any]:
    return pod_status(given_pod, life, HOST, IP)


def conditions(status: dict[str, Any]) -> dict[str, tuple[str, str]]:
    return {c["type"]: (c["status"], c.get("reason", "")) for c in status["conditions"]}


def test_the_status_of_a_running_pod() -> None:
    given_pod = pod()
    given_pod["metadata"]["generation"] = 1
    scheduled = {"type": "PodScheduled", "status": "True", "lastTransitionTime": "2025-12-31T23:59:59Z"}
    given_pod["status"] |= {"qosClass": "BestEffort", "conditions": [scheduled]}
    status = status_of(given_pod, live(given_pod, 1).life)
    (container,) = status.pop("containerStatuses")
    assert re.fullmatch("kube32://[0-9a-f]{64}", container.pop("containerID"))
    assert container.pop("imageID").startswith("app:1@sha256:")
    assert container == {
        "name": "app",
        "image": "app:1",
        "ready": True,
        "restartCount": 0,
        "started": True,
        "state": {"running": {"startedAt": "2026-01-01T00:00:00Z"}},
        "lastState": {},
    }
    moment = {"lastTransitionTime": "2026-01-01T00:00:01Z", "observedGeneration": 1}
    assert status == {
        "phase": "Running",
        "qosClass": "BestEffort",
        "startTime": "2026-01-01T00:00:00Z",
        "hostIP": HOST,
        "hostIPs": [{"ip": HOST}],
        "podIP": IP,
        "podIPs": [{"ip": IP}],
        "observedGeneration": 1,
        "conditions": [
            {"type": "PodReadyToStartContainers", "status": "True", **moment},
            {"type": "Initialized", "status": "True", **moment},
            {"type": "Ready", "status": "True", **moment},
            {"type": "ContainersReady", "status": "True", **moment},
            scheduled,
        ],
    }


def test_a_pod_that_is_not_ready_yet_says_which_containers() -> None:
    given_pod = pod("a", "b", annotations={"ready-after-seconds": "5"})
    status = status_of(given_pod, live(given_pod, 1).life)
    assert [container["ready"] for container in status["containerStatuses"]] == [False, False]
    assert conditions(status)["Ready"] == conditions(status)["ContainersReady"] == ("False", "ContainersNotReady")
    assert status["conditions"][2]["message"] == "containers with unready status: [a b]"
    given_pod["status"] = status
    status = status_of(given_pod, live(given_pod, 5).life)
    times = {c["type"]: c["lastTransitionTime"] for c in status["conditions"]}
    assert times["Ready"] == "2026-01-01T00:00:05Z"
    assert times["Initialized"] == "2026-01-01T00:00:01Z"


def test_readiness_gates() -> None:
    given_pod = pod(readinessGates=[{"conditionType": "example.com/lit"}])
    status = status_of(given_pod, live(given_pod, 1).life)
    assert conditions(status)["Ready"] == ("False", "ReadinessGatesNotReady")
    assert conditions(status)["ContainersReady"] == ("True", "")
    given_pod["status"]["conditions"] = [{"type": "example.com/lit", "status": "True"}]
    status = status_of(given_pod, live(given_pod, 1).life)
    assert conditions(status)["Ready"] == ("True", "")
    assert {"type": "example.com/lit", "status": "True"} in status["conditions"]


@pytest.mark.parametrize(("code", "phase", "reason"), [("0", "Succeeded", "Completed"), ("2", "Failed", "Error")])
def test_a_finished_pod(code: str, phase: str, reason: str) -> None:
    given_pod = pod(policy="Never", annotations={"run-seconds": "3", "exit-code": code})
    status = status_of(given_pod, live(given_pod, 10).life)
    assert status["phase"] == phase
    terminated = status["containerStatuses"][0]["state"]["terminated"]
    assert terminated["containerID"] == status["containerStatuses"][0]["containerID"]
    assert (terminated["exitCode"], terminated["reason"]) == (int(code), reason)
    assert (terminated["startedAt"], terminated["finishedAt"]) == (rfc3339(T0), rfc3339(T0 + 3))
    over = "PodCompleted" if phase == "Succeeded" else "PodFailed"
    assert conditions(status)["Ready"] == conditions(status)["ContainersReady"] == ("False", over)
    assert conditions(status)["PodReadyToStartContainers"] == ("False", "")


def test_a_container_in_back_off() -> None:
    given_pod = pod(annotations={"run-seconds": "1", "exit-code": "1"})
    status = status_of(given_pod, live(given_pod, 3).life)
    (container,) = status["containerStatuses"]
    assert status["phase"] == "Running"
    assert container["state"] == {
        "waiting": {
            "reason": "CrashLoopBackOff",
            "message": "back-off 10s restarting failed container=app pod=p_n(u)",
        }
    }
    assert container["restartCount"] == 1
    assert container["lastState"]["terminated"]["exitCode"] == 1
    assert container["lastState"]["terminated"]["containerID"] == container["containerID"]


def test_a_restarted_container_has_an_id_of_its_own() -> None:
    given_pod = pod(annotations={"run-seconds": "1"})
    (container,) = status_of(given_pod, live(given_pod, 1.5).life)["containerStatuses"]
    assert container["restartCount"] == 1
    assert container["lastState"]["terminated"]["containerID"] != container["containerID"]


def test_a_refused_pod() -> None:
    life, _ = refuse(pod(), T0, Rejection("OutOfmemory", "Pod was rejected: too big"))
    assert status_of(pod(), life) == {
        "phase": "Failed",
        "reason": "OutOfmemory",
        "message": "Pod was rejected: too big",
        "startTime": "2026-01-01T00:00:00Z",
    }


def test_init_containers_and_sidecars() -> None:
    given_pod = pod(
        init=({"name": "prepare", "image": "i:1"}, {"name": "log", "image": "l:1", "restartPolicy": "Always"})
    )
    done, sidecar = status_of(given_pod, live(given_pod, 1).life)["initContainerStatuses"]
    assert done["state"]["terminated"]["reason"] == "Completed"
    assert (done["ready"], done["started"]) == (True, False)
    assert "running" in sidecar["state"]
    assert (sidecar["ready"], sidecar["started"]) == (True, True)


def test_a_patch_has_what_differs() -> None:
    assert status_patch({"phase": "Pending", "qosClass": "x"}, {"phase": "Running", "qosClass": "x", "podIP": "y"}) == {
        "phase": "Running",
        "podIP": "y",
    }


@pytest.mark.parametrize("status", [None, {}, {"phase": "Pending"}, {"phase": "Pending", "startTime": rfc3339(T0)}])
def test_a_pod_that_never_ran_has_no_life_to_resume(status: dict[str, Any] | None) -> None:
    assert resume({**pod(), "status": status}, T0) is None


def test_a_finished_pod_stays_finished() -> None:
    for phase in ("Succeeded", "Failed"):
        life = resume({**pod(), "status": {"phase": phase}}, T0)
        assert life is not None
        assert life.over


@given(
    st.sampled_from(["Always", "OnFailure", "Never"]),
    st.fixed_dictionaries({}, optional={"run-seconds": st.sampled_from(["0", "2", "30"]), "exit-code": st.just("1")}),
    st.integers(0, 900),
    st.booleans(),
)
def test_a_restarted_agent_goes_on_where_the_old_one_was(
    policy: str, annotations: dict[str, str], age: int, stopping: bool
) -> None:
    given_pod = pod("a", "b", policy=policy, annotations=annotations, init=({"name": "i", "image": "i:1"},))
    step = live(given_pod, age)
    given_pod["status"] = status_of(given_pod, step.life)
    life = resume(given_pod, T0 + age)
    assert life is not None
    if stopping:
        deleted(given_pod)
    before, after = advance(given_pod, step.life, T0 + age), advance(given_pod, life, T0 + age)
    assert without_notes(after) == without_notes(before)
    assert status_of(given_pod, after.life) == status_of(given_pod, before.life)


def without_notes(step: Advanced) -> tuple[Any, ...]:
    return step.happenings, step.again_at, step.gone


def test_conditions_of_others_survive() -> None:
    given_pod = pod()
    target = {"type": "DisruptionTarget", "status": "True", "reason": "DeletionByTaintManager"}
    given_pod["status"]["conditions"] = [{"type": "Ready", "status": "False", "reason": "x"}, target]
    life, _ = begin(given_pod, T0)
    status = status_of(given_pod, life)
    assert target in status["conditions"]
    assert conditions(status)["Ready"] == ("True", "")
    assert conditions(status)["PodScheduled"] == ("True", "")
