"""The life of a pod on a board: golden lives, from one due moment to the next."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kube32_sim.kubelet.behaviour import INPUT_SECONDS
from kube32_sim.kubelet.claims import Rejection
from kube32_sim.kubelet.pod_life import (
    LOST,
    Advanced,
    ContainerLife,
    Ended,
    Happening,
    PodLife,
    advance,
    begin,
    lose,
    refuse,
)
from tests.kubelet.pods import T0, deleted, live, pod, reasons, runs


def test_containers_start_in_their_order_with_a_kubelets_events() -> None:
    _, happenings = begin(pod("app", init=({"name": "prepare", "image": "prepare:1"},)), T0)
    present = "already present on machine and can be accessed by the pod"
    assert happenings == (
        Happening("Normal", "Pulled", f'Container image "prepare:1" {present}', "spec.initContainers{prepare}"),
        Happening("Normal", "Created", "Container created", "spec.initContainers{prepare}"),
        Happening("Normal", "Started", "Container started", "spec.initContainers{prepare}"),
        Happening("Normal", "Pulled", f'Container image "app:1" {present}', "spec.containers{app}"),
        Happening("Normal", "Created", "Container created", "spec.containers{app}"),
        Happening("Normal", "Started", "Container started", "spec.containers{app}"),
    )


def test_nothing_is_due_for_a_pod_that_runs_for_ever() -> None:
    step = live(pod(), 0, 86400)
    assert step == Advanced(PodLife(T0, T0 + 86400, (), (ContainerLife("app", running=T0),)))


def test_init_containers_are_done_and_sidecars_run() -> None:
    life, _ = begin(pod("app", init=({"name": "prepare"}, {"name": "log", "restartPolicy": "Always"})), T0)
    assert life.init == (ContainerLife("prepare", ended=Ended(0, T0, T0)), ContainerLife("log", running=T0))


def test_run_seconds_and_exit_code() -> None:
    given = pod(policy="Never", annotations={"run-seconds": "3", "exit-code": "7"})
    assert live(given, 0).again_at == T0 + 3
    assert runs(live(given, 2.9).life) == [True]
    step = live(given, 2.9, 5)
    assert step.life.containers == (ContainerLife("app", ended=Ended(7, T0, T0 + 3)),)
    assert step.life.over
    assert step.again_at is None


@pytest.mark.parametrize(
    ("policy", "code", "again"),
    [
        ("Always", "0", True),
        ("Always", "1", True),
        ("OnFailure", "0", False),
        ("OnFailure", "1", True),
        ("Never", "0", False),
        ("Never", "1", False),
    ],
)
def test_restart_policies(policy: str, code: str, again: bool) -> None:
    step = live(pod(policy=policy, annotations={"run-seconds": "5", "exit-code": code}), 5)
    assert runs(step.life) == [again]
    assert step.life.containers[0].restarts == int(again)


@pytest.mark.parametrize(
    ("own", "code", "again"),
    [
        ({"restartPolicy": "Never"}, "1", False),
        ({"restartPolicy": "OnFailure"}, "1", True),
        ({"restartPolicy": "OnFailure"}, "0", False),
        ({"restartPolicy": "Always"}, "0", True),
        ({"restartPolicy": "Never", "restartPolicyRules": [{"operator": "In", "values": [42, 43]}]}, "42", True),
        ({"restartPolicy": "Never", "restartPolicyRules": [{"operator": "In", "values": [42, 43]}]}, "1", False),
        ({"restartPolicy": "Never", "restartPolicyRules": [{"operator": "NotIn", "values": [42]}]}, "1", True),
        ({"restartPolicy": "Never", "restartPolicyRules": [{"operator": "NotIn", "values": [42]}]}, "42", False),
    ],
)
@pytest.mark.parametrize("policy", ["Always", "Never"])
def test_a_containers_own_policy_and_rules_come_first(policy: str, own: dict[str, Any], code: str, again: bool) -> None:
    rules = [{"action": "Restart", "exitCodes": codes} for codes in own.get("restartPolicyRules", ())]
    given = pod(policy=policy, annotations={"run-seconds": "5", "exit-code": code})
    given["spec"]["containers"][0] |= {**own, **({"restartPolicyRules": rules} if rules else {})}
    assert runs(live(given, 5).life) == [again]


def test_restarts_wait_ten_seconds_doubled_up_to_five_minutes() -> None:
    given = pod(annotations={"run-seconds": "0", "exit-code": "1"})
    life, _ = begin(given, T0)
    waits, now = [], T0
    for _ in range(9):
        step = advance(given, life, now)
        assert step.again_at is not None
        waits.append(step.again_at - now)
        life, now = step.life, step.again_at
    assert waits == [10, 20, 40, 80, 160, 300, 300, 300, 300]
    assert life.containers[0].restarts == 9  # the first one did not wait


def test_a_long_run_starts_the_back_off_anew() -> None:
    given = pod(annotations={"run-seconds": "5", "exit-code": "1"})
    step = live(given, 5, 10)
    assert step.life.containers[0].waiting_until == T0 + 20
    assert reasons(step) == ["BackOff"]
    step = advance(given, step.life, T0 + 20)
    given["metadata"]["annotations"]["sim.kube32.io/run-seconds"] = "700"
    step = advance(given, step.life, T0 + 720)
    assert runs(step.life) == [True]
    assert step.life.containers[0].restarts == 3


def test_the_back_off_event_is_a_kubelets() -> None:
    step = live(pod(annotations={"run-seconds": "1"}), 2)
    message = "Back-off restarting failed container app in pod p_n(u)"
    assert step.happenings[-1] == Happening("Warning", "BackOff", message, "spec.containers{app}")


def test_a_pod_becomes_ready_later() -> None:
    given = pod(annotations={"ready-after-seconds": "2.5"})
    assert live(given, 0).again_at == T0 + 2.5
    assert live(given, 2.5).again_at is None


def test_deletion_stops_containers_at_once() -> None:
    given = pod("a", "b")
    step = live(given, 1)
    step = advance(deleted(given), step.life, T0 + 4)
    assert [(h.reason, h.message) for h in step.happenings] == [
        ("Killing", "Stopping container a"),
        ("Killing", "Stopping container b"),
    ]
    assert [container.ended for container in step.life.containers] == [Ended(143, T0, T0 + 4)] * 2
    assert step.gone
    assert step.again_at is None


@pytest.mark.parametrize(("sleep", "grace", "until"), [(5, 30, 5), (60, 30, 30), (5, 0, 0)])
def test_a_pre_stop_sleep_is_slept_within_the_grace_period(sleep: int, grace: int, until: int) -> None:
    given = pod()
    given["spec"]["containers"][0]["lifecycle"] = {"preStop": {"sleep": {"seconds": sleep}}}
    life, _ = begin(given, T0)
    step = advance(deleted(given, grace), life, T0)
    assert step.gone == (until == 0)
    if until:
        assert step.again_at == T0 + until
        assert not advance(given, step.life, T0 + until - 0.1).gone
    assert advance(given, step.life, T0 + until).gone


def test_nothing_is_restarted_during_deletion() -> None:
    given = pod(annotations={"run-seconds": "10"})
    given["spec"]["containers"][0]["lifecycle"] = {"preStop": {"sleep": {"seconds": 20}}}
    life, _ = begin(given, T0)
    step = advance(deleted(given), life, T0)
    step = advance(given, step.life, T0 + 15)
    assert step.life.containers == (ContainerLife("app", ended=Ended(0, T0, T0 + 10)),)
    assert step.gone


def test_deletion_of_a_pod_in_back_off_keeps_the_code_of_its_last_run() -> None:
    given = pod(annotations={"run-seconds": "1", "exit-code": "3"})
    step = live(given, 2)
    step = advance(deleted(given), step.life, T0 + 5)
    assert step.life.containers[0].ended == Ended(3, T0 + 1, T0 + 2)
    assert step.happenings == ()
    assert step.gone


def test_a_finished_pod_that_is_deleted_is_gone_at_once() -> None:
    given = pod(policy="Never", annotations={"run-seconds": "1"})
    step = live(given, 2)
    assert not step.gone
    assert advance(deleted(given), step.life, T0 + 9) == Advanced(
        PodLife(T0, T0 + 9, (), step.life.containers, stopping=T0 + 9), gone=True
    )


def test_sidecars_end_with_the_containers() -> None:
    given = pod(policy="Never", init=({"name": "log", "restartPolicy": "Always"},), annotations={"run-seconds": "2"})
    assert live(given, 2).life.init == (ContainerLife("log", ended=Ended(143, T0, T0 + 2)),)


def test_active_deadline() -> None:
    given = pod(activeDeadlineSeconds=30)
    assert live(given, 0).again_at == T0 + 30
    step = live(given, 40)
    message = "Pod was active on the node longer than the specified deadline"
    assert step.life.failed == Rejection("DeadlineExceeded", message)
    assert step.life.containers[0].ended == Ended(143, T0, T0 + 30)
    assert reasons(step) == ["DeadlineExceeded", "Killing"]


def test_a_refused_pod_starts_nothing() -> None:
    why = Rejection("OutOfmemory", "Pod was rejected: Node didn't have enough resource: memory, requested: 2")
    life, happenings = refuse(pod(), T0, why)
    assert life.over
    assert happenings == (
        Happening("Warning", "OutOfmemory", "Node didn't have enough resource: memory, requested: 2"),
    )
    assert not advance(pod(), life, T0 + 99).gone
    assert advance(deleted(pod()), life, T0 + 99).gone


@pytest.mark.parametrize(
    "annotations",
    [
        {"run-seconds": "soon"},
        {"run-seconds": "-1"},
        {"run-seconds": "inf"},
        {"run-seconds": "nan"},
        {"exit-code": "256"},
        {"exit-code": "-1"},
        {"exit-code": "²"},
        {"ready-after-seconds": ""},
    ],
)
def test_an_annotation_that_makes_no_sense_is_left_out(annotations: dict[str, str]) -> None:
    given = pod(annotations=annotations)
    life, _ = begin(given, T0)
    assert advance(given, life, T0 + 1).life == live(pod(), 1).life


@pytest.mark.parametrize(("policy", "ends"), [("Never", True), ("OnFailure", True), ("Always", False)])
def test_a_container_for_one_clients_input_ends_as_nobody_can_send_any(policy: str, ends: bool) -> None:
    given = pod(policy=policy)
    given["spec"]["containers"][0] |= {"stdin": True, "stdinOnce": True}
    step = live(given, 1)
    assert step.again_at == (T0 + INPUT_SECONDS if ends else None)
    (container,) = live(given, 100).life.containers
    assert container.ended == (Ended(0, T0, T0 + INPUT_SECONDS) if ends else None)
    given["metadata"]["annotations"] = {"sim.kube32.io/run-seconds": "50", "sim.kube32.io/exit-code": "3"}
    (container,) = live(given, 49).life.containers
    assert container.running == T0


def test_an_end_that_is_asked_for_late_is_now() -> None:
    given = pod(policy="Never")
    step = live(given, 60)
    given["metadata"]["annotations"]["sim.kube32.io/run-seconds"] = "5"
    assert advance(given, step.life, T0 + 61).life.containers[0].ended == Ended(0, T0, T0 + 60)


@pytest.mark.parametrize("policy", ["Always", "OnFailure", "Never"])
def test_power_loss_ends_a_pod_whatever_its_policy(policy: str) -> None:
    given = pod("a", policy=policy, init=({"name": "log", "restartPolicy": "Always"},))
    life, happening = lose(live(given, 10).life, T0 + 10, T0 + 50)
    assert life.containers == (ContainerLife("a", ended=Ended(255, T0, T0 + 10)),)
    assert life.init == (ContainerLife("log", ended=Ended(255, T0, T0 + 10)),)
    assert life.failed == LOST
    assert happening == Happening("Warning", "Terminated", "The board was switched off, and nothing is left of the pod")
    assert advance(given, life, T0 + 50) == Advanced(life, gone=True)


def test_power_loss_keeps_how_a_container_in_back_off_had_ended() -> None:
    given = pod(annotations={"run-seconds": "1", "exit-code": "3"})
    life, _ = lose(live(given, 2).life, T0 + 5, T0 + 50)
    assert life.containers[0].ended == Ended(3, T0 + 1, T0 + 2)


ANNOTATIONS: Any = st.fixed_dictionaries(
    {},
    optional={
        "run-seconds": st.sampled_from(["0", "1", "7.5", "45"]),
        "exit-code": st.sampled_from(["0", "1"]),
        "ready-after-seconds": st.sampled_from(["0", "3", "20"]),
    },
)


@given(
    ANNOTATIONS,
    st.sampled_from(["Always", "OnFailure", "Never"]),
    st.lists(st.floats(0.1, 400), min_size=1, max_size=12),
    st.sampled_from([None, 100]),
)
def test_a_life_is_the_same_however_often_it_is_looked_at(
    annotations: dict[str, str], policy: str, pauses: list[float], deadline: int | None
) -> None:
    spec = {} if deadline is None else {"activeDeadlineSeconds": deadline}
    given_pod = pod("a", "b", policy=policy, annotations=annotations, **spec)
    step, now, happened = live(given_pod, 0), T0, 0
    happened += len(step.happenings)
    for pause in pauses:
        now += pause
        step = advance(given_pod, step.life, now)
        happened += len(step.happenings)
        assert step.again_at is None or step.again_at > now
    once = live(given_pod, now - T0)
    assert once.life == step.life
    assert once.again_at == step.again_at
    assert len(once.happenings) == happened
