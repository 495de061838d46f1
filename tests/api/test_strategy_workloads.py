"""Workloads: defaults, what a write keeps and clears, and refusals in upstream's words."""

from __future__ import annotations

from typing import Any

import pytest
from strategy_objects import UID, changed, created, texts

JsonObject = dict[str, Any]

POD: JsonObject = {"containers": [{"name": "app", "image": "nginx:1.25"}]}


CLAIM: JsonObject = {
    "metadata": {"name": "data"},
    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
}


def deployment(**spec: Any) -> JsonObject:
    whole = {"selector": {"matchLabels": {"a": "b"}}, "template": {"metadata": {"labels": {"a": "b"}}, "spec": POD}}
    return _object("apps/v1", "Deployment", whole | spec)


def daemon_set(**spec: Any) -> JsonObject:
    return deployment(**spec) | {"kind": "DaemonSet"}


def job(**spec: Any) -> JsonObject:
    return _object("batch/v1", "Job", {"template": {"spec": {**POD, "restartPolicy": "Never"}}} | spec)


def cron_job(schedule: str, **spec: Any) -> JsonObject:
    return _object("batch/v1", "CronJob", {"schedule": schedule, "jobTemplate": {"spec": job()["spec"]}} | spec)


def _object(api_version: str, kind: str, spec: JsonObject) -> JsonObject:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": "w"}, "spec": spec}


def refusals(body: JsonObject) -> list[str]:
    return texts(created(body)[1])


def test_a_deployment_gets_its_defaults() -> None:
    obj, failures, warnings = created(deployment())
    assert (failures, warnings) == ([], [])
    spec = obj["spec"]
    assert (spec["replicas"], spec["revisionHistoryLimit"], spec["progressDeadlineSeconds"]) == (1, 10, 600)
    assert spec["strategy"] == {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"}}
    assert spec["template"]["spec"]["restartPolicy"] == "Always"
    assert (obj["status"], obj["metadata"]["generation"]) == ({}, 1)


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"replicas": -1}, ["spec.replicas: Invalid value: -1: must be greater than or equal to 0"]),
        (
            {"selector": {}},
            ["spec.selector: Invalid value: {}: empty selector is invalid for deployment"],
        ),
        (
            {"selector": {"matchLabels": {"z": "1", "a": "2"}}},
            ['spec.template.metadata.labels: Invalid value: {"a":"b"}: `selector` does not match template `labels`'],
        ),
        (
            {"strategy": {"type": "Recreate", "rollingUpdate": {"maxSurge": 1}}},
            ["spec.strategy.rollingUpdate: Forbidden: may not be specified when strategy `type` is 'Recreate'"],
        ),
        (
            {"strategy": {"type": "Odd", "rollingUpdate": {"maxSurge": "5%"}}},
            [
                'spec.strategy: Unsupported value: {"Type":"Odd","RollingUpdate":{"MaxUnavailable":0,"MaxSurge":"5%"}}'
                ': supported values: "Recreate", "RollingUpdate"'
            ],
        ),
        (
            {"strategy": {"rollingUpdate": {"maxSurge": "0%", "maxUnavailable": 0}}},
            ["spec.strategy.rollingUpdate.maxUnavailable: Invalid value: 0: may not be 0 when `maxSurge` is 0"],
        ),
        (
            {"template": {"metadata": {"labels": {"a": "b"}}, "spec": {**POD, "restartPolicy": "OnFailure"}}},
            ['spec.template.spec.restartPolicy: Unsupported value: "OnFailure": supported values: "Always"'],
        ),
    ],
)
def test_deployments_are_refused(spec: JsonObject, expected: list[str]) -> None:
    assert refusals(deployment(**spec)) == expected


def test_a_change_of_labels_is_no_new_generation_and_one_of_annotations_is() -> None:
    old = created(deployment())[0]
    relabelled = deployment()
    relabelled["metadata"]["labels"] = {"x": "y"}
    assert changed(old, relabelled)[0]["metadata"]["generation"] == 1
    annotated = deployment()
    annotated["metadata"]["annotations"] = {"x": "y"}
    assert changed(old, annotated)[0]["metadata"]["generation"] == 2
    assert changed(old, deployment(replicas=2))[0]["metadata"]["generation"] == 2


def test_an_update_keeps_the_status_and_a_status_update_the_spec() -> None:
    old = created(deployment())[0]
    old["status"] = {"replicas": 1}
    assert changed(old, deployment() | {"status": {"replicas": 9}})[0]["status"] == {"replicas": 1}
    body = deployment(replicas=7) | {"status": {"replicas": 2}}
    body["metadata"] |= {"labels": {"not": "taken"}, "annotations": {"is": "taken"}}
    obj, failures = changed(old, body, "status")
    assert failures == []
    assert (obj["spec"]["replicas"], obj["status"]) == (1, {"replicas": 2})
    assert obj["metadata"].get("labels") is None
    assert obj["metadata"]["annotations"] == {"is": "taken"}


def test_selectors_are_there_to_stay() -> None:
    old = created(deployment())[0]
    other = deployment(selector={"matchLabels": {"a": "c"}}, template={"metadata": {"labels": {"a": "c"}}, "spec": POD})
    immutable = ['spec.selector: Invalid value: {"matchLabels":{"a":"c"}}: field is immutable']
    assert texts(changed(old, other)[1]) == immutable
    daemons = created(daemon_set())[0]
    assert texts(changed(daemons, other | {"kind": "DaemonSet"})[1]) == immutable


def test_a_daemon_set_counts_the_changes_of_its_template() -> None:
    obj, failures, _ = created(daemon_set())
    assert failures == []
    assert obj["metadata"]["annotations"] == {"deprecated.daemonset.template.generation": "1"}
    assert obj["spec"]["updateStrategy"] == {
        "type": "RollingUpdate",
        "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1},
    }
    assert obj["status"] == {
        "currentNumberScheduled": 0,
        "desiredNumberScheduled": 0,
        "numberMisscheduled": 0,
        "numberReady": 0,
    }
    new_image = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "app", "image": "nginx:2"}]}}
    again = changed(obj, daemon_set(template=new_image))[0]
    assert again["metadata"]["annotations"] == {"deprecated.daemonset.template.generation": "2"}
    kept = changed(again, daemon_set(template=new_image, minReadySeconds=3))[0]
    assert kept["metadata"]["annotations"] == {"deprecated.daemonset.template.generation": "2"}
    assert kept["metadata"]["generation"] == 3


@pytest.mark.parametrize("policy", ["Never", "OnFailure"])
def test_a_daemon_set_restarts_always(policy: str) -> None:
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {**POD, "restartPolicy": policy}}
    assert refusals(daemon_set(template=template)) == [
        f'spec.template.spec.restartPolicy: Unsupported value: "{policy}": supported values: "Always"'
    ]


@pytest.mark.parametrize(
    ("rolling", "expected"),
    [
        ({"maxUnavailable": 0}, "maxUnavailable: Required value: cannot be 0 when maxSurge is 0"),
        ({"maxSurge": 1}, "maxSurge: Invalid value: 1: may not be set when maxUnavailable is non-zero"),
        ({"maxUnavailable": "101%"}, 'maxUnavailable: Invalid value: "101%": must not be greater than 100%'),
    ],
)
def test_how_daemon_sets_may_roll(rolling: JsonObject, expected: str) -> None:
    body = daemon_set(updateStrategy={"rollingUpdate": rolling})
    assert refusals(body) == [f"spec.updateStrategy.rollingUpdate.{expected}"]


def test_a_job_makes_its_selector_and_labels() -> None:
    obj, failures, _ = created(job())
    assert failures == []
    labels = {
        "batch.kubernetes.io/controller-uid": UID,
        "batch.kubernetes.io/job-name": "w",
        "controller-uid": UID,
        "job-name": "w",
    }
    assert obj["metadata"]["labels"] == obj["spec"]["template"]["metadata"]["labels"] == labels
    assert obj["spec"]["selector"] == {"matchLabels": {"batch.kubernetes.io/controller-uid": UID}}
    rest = {key: value for key, value in obj["spec"].items() if key not in ("selector", "template")}
    assert rest == {
        "backoffLimit": 6,
        "completionMode": "NonIndexed",
        "completions": 1,
        "manualSelector": False,
        "parallelism": 1,
        "podReplacementPolicy": "TerminatingOrFailed",
        "suspend": False,
    }


def test_parallel_jobs_have_no_default_completions() -> None:
    assert "completions" not in created(job(parallelism=3))[0]["spec"]
    assert created(job(completions=4))[0]["spec"]["parallelism"] == 1
    indexed = created(job(completionMode="Indexed", completions=2, backoffLimitPerIndex=1))[0]["spec"]
    assert indexed["backoffLimit"] == 2147483647


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        (None, 'Required value: valid values: "OnFailure", "Never"'),
        ("Always", 'Required value: valid values: "OnFailure", "Never"'),
        ("Never", ""),
        ("OnFailure", ""),
    ],
)
def test_jobs_name_a_restart_policy(policy: str | None, expected: str) -> None:
    pod = POD if policy is None else {**POD, "restartPolicy": policy}
    found = refusals(job(template={"spec": pod}))
    assert found == ([f"spec.template.spec.restartPolicy: {expected}"] if expected else [])


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"backoffLimit": -1}, "spec.backoffLimit: Invalid value: -1: must be greater than or equal to 0"),
        (
            {"completionMode": "Odd"},
            'spec.completionMode: Unsupported value: "Odd": supported values: "NonIndexed", "Indexed"',
        ),
        ({"backoffLimitPerIndex": 1}, "spec.backoffLimitPerIndex: Invalid value: 1: requires indexed completion mode"),
        (
            {
                "podFailurePolicy": {
                    "rules": [{"action": "FailJob", "onExitCodes": {"operator": "In", "values": [2, 1]}}]
                }
            },
            "spec.podFailurePolicy.rules[0].onExitCodes.values: Invalid value: [2,1]: must be ordered",
        ),
        (
            {"podReplacementPolicy": "Odd"},
            'spec.podReplacementPolicy: Unsupported value: "Odd": supported values: "Failed", "TerminatingOrFailed"',
        ),
    ],
)
def test_jobs_are_refused(spec: JsonObject, expected: str) -> None:
    assert refusals(job(**spec)) == [expected]


def test_what_of_a_job_may_change() -> None:
    old = created(job())[0]
    body = job(suspend=True, parallelism=2, completions=1, **_made(old))
    assert texts(changed(old, body)[1]) == []
    body["spec"]["completions"] = 5
    assert texts(changed(old, body)[1]) == ["spec.completions: Invalid value: 5: field is immutable"]
    other = job(completions=1, parallelism=1, **_made(old))
    other["spec"]["template"]["spec"]["nodeSelector"] = {"x": "y"}
    running = changed(old, other)[1]
    assert [error.field for error in running] == ["spec.template"]
    old["spec"]["suspend"] = True
    assert texts(changed(old, other)[1]) == []


def _made(old: JsonObject) -> JsonObject:
    metadata = {"labels": dict(old["spec"]["template"]["metadata"]["labels"])}
    template = {"metadata": metadata, "spec": {**POD, "restartPolicy": "Never"}}
    return {"selector": old["spec"]["selector"], "template": template}


def test_a_job_whose_name_is_no_host_name_is_warned_about() -> None:
    body = job()
    body["metadata"]["name"] = "with.dot"
    assert created(body)[2] == [
        "metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; "
        "a DNS label is recommended: [must not contain dots]"
    ]


HUGE = "9" * 5000


@pytest.mark.parametrize(
    ("schedule", "expected"),
    [
        ("*/5 * * * *", ""),
        ("0 0-6/2,12 1 jan-DEC MON-fri", ""),
        ("@daily", ""),
        ("@every 1h30m", ""),
        ("* * * *", "expected exactly 5 fields, found 4: [* * * *]"),
        ("61 * * * *", "end of range (61) above maximum (59): 61"),
        ("0 0 0 * *", "beginning of range (0) below minimum (1): 0"),
        ("5-3 * * * *", "beginning of range (5) beyond end of range (3): 5-3"),
        ("x * * * *", 'failed to parse int from x: strconv.Atoi: parsing "x": invalid syntax'),
        ("*/0 * * * *", "step of range should be a positive number: */0"),
        ("@sometimes", "unrecognized descriptor: @sometimes"),
        ("TZ=UTC * * * * *", "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"),
        (
            "9" * 5000 + " * * * *",
            f'failed to parse int from {"9" * 5000}: strconv.Atoi: parsing "{"9" * 5000}": value out of range',
        ),
    ],
)
def test_schedules(schedule: str, expected: str) -> None:
    found = created(cron_job(schedule))[1]
    assert [error.message.partition('": ')[2] for error in found] == ([expected] if expected else [])


def test_a_cron_job_gets_its_defaults() -> None:
    obj = created(cron_job("0 0 * * *"))[0]
    rest = {key: value for key, value in obj["spec"].items() if key != "jobTemplate"}
    assert rest == {
        "concurrencyPolicy": "Allow",
        "failedJobsHistoryLimit": 1,
        "schedule": "0 0 * * *",
        "successfulJobsHistoryLimit": 3,
        "suspend": False,
    }
    assert "backoffLimit" not in obj["spec"]["jobTemplate"]["spec"]


def test_most_of_a_stateful_set_is_there_to_stay() -> None:
    def body(**spec: Any) -> JsonObject:
        return deployment(serviceName="pg", **spec) | {"kind": "StatefulSet"}

    old, failures, _ = created(body(volumeClaimTemplates=[CLAIM]))
    assert failures == []
    assert old["status"] == {"replicas": 0, "availableReplicas": 0}
    claim = old["spec"]["volumeClaimTemplates"][0]
    assert (claim["kind"], claim["spec"]["volumeMode"], claim["status"]) == (
        "PersistentVolumeClaim",
        "Filesystem",
        {"phase": "Pending"},
    )
    old = created(body())[0]
    assert changed(old, body(replicas=3, minReadySeconds=1))[1] == []
    assert texts(changed(old, body(podManagementPolicy="Parallel"))[1]) == [
        "spec: Forbidden: updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', "
        "'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are "
        "forbidden"
    ]


def test_containers_of_a_stateful_set_mount_its_claims() -> None:
    def failures(*, volumes: Any = (), **container: Any) -> list[str]:
        spec = {"containers": [POD["containers"][0] | container], "volumes": list(volumes)}
        template = {"metadata": {"labels": {"a": "b"}}, "spec": spec}
        body = deployment(serviceName="pg", volumeClaimTemplates=[CLAIM], template=template)
        return texts(created(body | {"kind": "StatefulSet"})[1])

    assert failures(volumeMounts=[{"name": "data", "mountPath": "/data"}]) == []
    assert failures(volumeDevices=[{"name": "data", "devicePath": "/dev/x"}]) == []
    both = [{"name": name, "mountPath": f"/{name}"} for name in ("data", "own")]
    assert failures(volumeMounts=both, volumes=[{"name": "own", "emptyDir": {}}]) == []
    assert failures(volumeMounts=both) == [
        'spec.template.spec.containers[0].volumeMounts[1].name: Not found: "own"',
    ]


def test_a_replication_controller_takes_selector_and_labels_from_its_template() -> None:
    body = _object("v1", "ReplicationController", {"template": {"metadata": {"labels": {"a": "b"}}, "spec": POD}})
    obj, failures, _ = created(body)
    assert failures == []
    assert obj["spec"]["selector"] == obj["metadata"]["labels"] == {"a": "b"}
    assert obj["status"] == {"replicas": 0}


def test_a_controller_revision_never_changes_its_data() -> None:
    body = {
        "apiVersion": "apps/v1",
        "kind": "ControllerRevision",
        "metadata": {"name": "r"},
        "revision": 1,
        "data": {"a": 1},
    }
    old, failures, _ = created(body)
    assert failures == []
    assert [e.field for e in changed(old, body | {"data": {"a": 2}})[1]] == ["data"]
    assert changed(old, body | {"revision": 2})[1] == []
