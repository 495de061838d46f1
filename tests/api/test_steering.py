"""Annotations that steer the simulation: what fits, and who is warned of what does not."""

from __future__ import annotations

from typing import Any

import pytest
from strategy_objects import NOW, TABLE
from test_admission import Stored

from kube32_sim.api import admission, steering
from kube32_sim.api.admission import AdmissionConfig
from kube32_sim.api.admission.pod_security import TEMPLATES
from kube32_sim.api.strategies.base import Context
from kube32_sim.assembling import admission_config
from kube32_sim.options import LOOPS, ServeOptions

JsonObject = dict[str, Any]
PODS, NODES, DEPLOYMENTS, JOBS = ("", "pods"), ("", "nodes"), ("apps", "deployments"), ("batch", "jobs")
WARNING = AdmissionConfig(steering_warnings=True)
PREFIX = "sim.kube32.io/"
FAULTS = [*steering.FAULTS, "brownout:10s", "brownout:24h", "slow:1ms", "slow:2.5", "slow:1h"]
NO_FAULTS = ["broken", "Stopped", "", "stopped:5s", "slow:", "slow:0s", "slow:61m", "brownout:9s", "brownout:soon"]


def annotated(**annotations: str) -> JsonObject:
    """metadata; annotations without their prefix, and `_` for `-`."""
    return {"name": "p", "annotations": {PREFIX + name.replace("_", "-"): text for name, text in annotations.items()}}


def told(
    storage: tuple[str, str], obj: JsonObject, old: JsonObject | None = None, config: AdmissionConfig = WARNING
) -> list[str]:
    row = TABLE.by_storage(storage)
    context = Context(row, "ns" if row.namespaced else "", "p", NOW, Stored({}))
    return list(admission.remarks(obj, old, context, config))


def pod(**annotations: str) -> JsonObject:
    return {"metadata": annotated(**annotations), "spec": {"containers": []}}


@pytest.mark.parametrize(
    ("kind", "name", "good", "bad", "why"),
    [
        ("Pod", "run-seconds", ["0", "1.5", "3600"], ["soon", "-1", "inf", "nan", ""], "no number of seconds"),
        ("Pod", "ready-after-seconds", ["0", "2"], ["", "1s"], "no number of seconds"),
        ("Pod", "exit-code", ["0", "255"], ["256", "-1", "²", "", "0001"], "no exit code between 0 and 255"),
        ("Pod", "log", ["", "led on\n"], [], ""),
        ("Node", "fault", FAULTS, NO_FAULTS, f"none of {steering.FAULT_FORMS}"),
    ],
)
def test_what_fits(kind: str, name: str, good: list[str], bad: list[str], why: str) -> None:
    for text in good:
        assert steering.problems(kind, {"annotations": {PREFIX + name: text}}) == []
    for text in bad:
        (problem,) = steering.problems(kind, {"annotations": {PREFIX + name: text}})
        assert problem == f"annotation {PREFIX}{name} is {why}: {text!r}"


def test_what_is_unknown() -> None:
    (problem,) = steering.problems("Pod", annotated(run_secs="1", log="x") | {"labels": {}})
    assert problem == f"annotation {PREFIX}run-secs is unknown on a Pod; there are: {', '.join(steering.KNOWN['Pod'])}"
    (problem,) = steering.problems("Node", annotated(run_seconds="1"))
    assert problem == f"annotation {PREFIX}run-seconds belongs on a Pod, not on a Node"
    for metadata in ({}, {"annotations": None}, {"annotations": {"other/fault": "x"}}):
        assert steering.problems("Node", metadata) == []


def test_who_writes_them_is_warned_as_long_as_they_are_new() -> None:
    bad = pod(run_seconds="soon", exit_code="3")
    (text,) = told(PODS, bad)
    assert "run-seconds is no number of seconds: 'soon'" in text
    assert told(PODS, bad, old=bad) == []
    assert told(PODS, bad, old=pod(run_seconds="later")) == [text]
    assert told(PODS, pod(run_seconds="1")) == []
    assert len(told(NODES, {"metadata": annotated(fault="broken")}, {"metadata": {"name": "n"}})) == 1


@pytest.mark.parametrize("storage", TEMPLATES, ids="/".join)
def test_templates_are_looked_at_too(storage: tuple[str, str]) -> None:
    path = TEMPLATES[storage]
    obj: JsonObject = pod(log_text="x")
    for key in reversed(path):
        obj = {key: obj}
    (text,) = told(storage, {"metadata": {"name": "w"}, **obj})
    assert text.startswith(f"{'.'.join(path)}.metadata.annotations: annotation {PREFIX}log-text is unknown")
    (text,) = told(storage, {"metadata": annotated(log="x")})
    kind = TABLE.by_storage(storage).kind
    assert (
        text
        == f"annotation {PREFIX}log does nothing on a {kind}; it belongs into {'.'.join(path)}.metadata.annotations"
    )


def test_the_mark_of_the_deployment_loop_is_no_mistake() -> None:
    assert told(DEPLOYMENTS, {"metadata": annotated(pod_template_hash="abc"), "spec": {"template": pod()}}) == []


ENDLESS = f"{PREFIX}run-seconds is not set: the containers run until the pod is deleted"
ENDLESS_JOB = (
    f"spec.template.metadata.annotations: {PREFIX}run-seconds is not set: the Job's pods run until they are deleted"
)


def once(policy: str = "Never", container: JsonObject | None = None, **annotations: str) -> JsonObject:
    return {**pod(**annotations), "spec": {"restartPolicy": policy, "containers": [{"name": "c", **(container or {})}]}}


def job(template: JsonObject, **spec: Any) -> JsonObject:
    return {"metadata": {"name": "j"}, "spec": {"template": template, **spec}}


@pytest.mark.parametrize("policy", ["Never", "OnFailure"])
def test_containers_that_never_end_are_told_of_once(policy: str) -> None:
    assert told(PODS, once(policy)) == [ENDLESS]
    assert told(JOBS, job(once(policy))) == [ENDLESS_JOB]
    assert told(PODS, once(policy), old=once(policy)) == told(JOBS, job(once(policy)), old=job(once(policy))) == []
    assert told(PODS, once(policy), config=AdmissionConfig()) == []


def test_containers_that_end_or_are_not_to_end_are_not() -> None:
    for ending in (once(run_seconds="1"), once("OnFailure", {"stdinOnce": True}), once("Always"), pod()):
        assert told(PODS, ending) == told(JOBS, job(ending)) == []
    timed = once()
    timed["spec"]["activeDeadlineSeconds"] = 30
    assert told(PODS, timed) == told(JOBS, job(timed)) == told(JOBS, job(once(), activeDeadlineSeconds=30)) == []
    assert told(DEPLOYMENTS, job(once())) == []


@pytest.mark.parametrize("owner", ["Job", "CronJob", "Workflow"])
def test_what_has_an_owner_is_not_told_of(owner: str) -> None:
    """kubectl 1.25 makes no controller of a CronJob when it creates a Job of it."""
    for storage, obj in ((PODS, once()), (JOBS, job(once()))):
        obj["metadata"]["ownerReferences"] = [{"kind": owner, "name": "j", "uid": "u"}]
        assert told(storage, obj) == []


def test_a_bare_server_does_not_warn() -> None:
    assert told(PODS, pod(run_seconds="soon"), config=AdmissionConfig()) == []
    assert not admission_config(ServeOptions(controllers="none")).steering_warnings
    assert all(admission_config(ServeOptions(controllers=loop)).steering_warnings for loop in LOOPS)
