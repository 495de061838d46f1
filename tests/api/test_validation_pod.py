"""Pods and pod templates: what is refused, in which words; what changes are allowed; what is warned about."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from strategy_objects import changed, created, texts

from kube32_sim.api.strategies.pod_defaults import default_pod_template
from kube32_sim.api.validation.pod import validate_pod_template
from kube32_sim.api.validation.pod_warnings import pod_template_warnings

JsonObject = dict[str, Any]


def pod(container: JsonObject | None = None, **spec: Any) -> JsonObject:
    containers = [{"name": "c", "image": "i", **(container or {})}]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": containers, **spec}}


def refused(container: JsonObject | None = None, **spec: Any) -> list[str]:
    return texts(created(pod(container, **spec))[1])


AT = "spec.containers[0]"
GRPC = {"grpc": {"port": 1}}
RANGE = "must be between 1 and 65535, inclusive"

CONTAINER_CASES: list[tuple[JsonObject, list[str]]] = [
    ({"image": ""}, [f"{AT}.image: Required value"]),
    ({"image": " i"}, [f'{AT}.image: Invalid value: " i": must not have leading or trailing whitespace']),
    (
        {"imagePullPolicy": "Sometimes"},
        [f'{AT}.imagePullPolicy: Unsupported value: "Sometimes": supported values: "Always", "IfNotPresent", "Never"'],
    ),
    ({"ports": [{"containerPort": 0}]}, [f"{AT}.ports[0].containerPort: Required value"]),
    ({"ports": [{"containerPort": 70000}]}, [f"{AT}.ports[0].containerPort: Invalid value: 70000: {RANGE}"]),
    (
        {"ports": [{"containerPort": 1, "hostPort": 5}, {"containerPort": 2, "hostPort": 5}]},
        [f'{AT}.ports[1].hostPort: Duplicate value: "TCP//5"'],
    ),
    (
        {"ports": [{"containerPort": 1, "name": "x1"}, {"containerPort": 2, "name": "x1"}]},
        [f'{AT}.ports[1].name: Duplicate value: "x1"'],
    ),
    (
        {"env": [{"name": "a=b"}]},
        [
            f'{AT}.env[0].name: Invalid value: "a=b": a valid environment variable name must consist only of printable '
            "ASCII characters other than '='"
        ],
    ),
    (
        {"env": [{"name": "A", "valueFrom": {}}]},
        [
            f'{AT}.env[0].valueFrom: Invalid value: "": must specify one of: `fieldRef`, `resourceFieldRef`, '
            "`configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"
        ],
    ),
    (
        {"env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "spec.bogus"}}}]},
        [
            f'{AT}.env[0].valueFrom.fieldRef.fieldPath: Invalid value: "spec.bogus": error converting fieldPath: '
            "field label not supported: spec.bogus"
        ],
    ),
    (
        {"env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['a b']"}}}]},
        [
            f'{AT}.env[0].valueFrom.fieldRef: Invalid value: "a b": name part must consist of alphanumeric characters, '
            "'-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or "
            "'123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
        ],
    ),
    ({"volumeMounts": [{"name": "v", "mountPath": "/v"}]}, [f'{AT}.volumeMounts[0].name: Not found: "v"']),
    (
        {"resources": {"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}},
        [f'{AT}.resources.requests: Invalid value: "2": must be less than or equal to cpu limit of 1'],
    ),
    (
        {"resources": {"requests": {"example.com/gpu": "2"}}},
        [f"{AT}.resources.limits: Required value: Limit must be set for non overcommitable resources"],
    ),
    # kube32's scheduler reads requests: its own resources need no limit beside them
    ({"resources": {"requests": {"esp32.io/gpio": "2"}}}, []),
    ({"resources": {"requests": {"esp32.io/psram": "1Mi"}, "limits": {"esp32.io/psram": "2Mi"}}}, []),
    (
        {"resources": {"limits": {"esp32.io/gpio": "500m"}}},
        [
            f'{AT}.resources.limits[esp32.io/gpio]: Invalid value: "500m": must be an integer',
            f'{AT}.resources.requests[esp32.io/gpio]: Invalid value: "500m": must be an integer',
        ],
    ),
    ({"livenessProbe": {}}, [f"{AT}.livenessProbe: Required value: must specify a handler type"]),
    (
        {"startupProbe": {"tcpSocket": {"port": "x y"}}},
        [
            f'{AT}.startupProbe.tcpSocket.port: Invalid value: "x y": must contain only alpha-numeric characters '
            "(a-z, 0-9), and hyphens (-)"
        ],
    ),
    (
        {"lifecycle": {"preStop": {"sleep": {"seconds": 31}}}},
        [
            f"{AT}.lifecycle.preStop.sleep: Invalid value: 31: must be non-negative and less than "
            "terminationGracePeriodSeconds (30)"
        ],
    ),
    (
        {"securityContext": {"runAsUser": -1, "procMount": "Odd"}},
        [
            f"{AT}.securityContext.runAsUser: Invalid value: -1: must be between 0 and 2147483647, inclusive",
            f'{AT}.securityContext.procMount: Unsupported value: "Odd": supported values: "Default", "Unmasked"',
        ],
    ),
]


@pytest.mark.parametrize(("container", "expected"), CONTAINER_CASES)
def test_containers(container: JsonObject, expected: list[str]) -> None:
    assert refused(container) == expected


SPEC_CASES: list[tuple[JsonObject, list[str]]] = [
    (
        {"restartPolicy": "Odd"},
        ['spec.restartPolicy: Unsupported value: "Odd": supported values: "Always", "OnFailure", "Never"'],
    ),
    (
        {"dnsPolicy": "None"},
        ["spec.dnsConfig: Required value: must provide `dnsConfig` when `dnsPolicy` is None"],
    ),
    (
        {"activeDeadlineSeconds": 0},
        ["spec.activeDeadlineSeconds: Invalid value: 0: must be between 1 and 2147483647, inclusive"],
    ),
    ({"hostname": "a.b"}, ['spec.hostname: Invalid value: "a.b": must not contain dots']),
    (
        {"tolerations": [{"operator": "Equal"}, {"key": "k", "tolerationSeconds": 1}]},
        [
            'spec.tolerations[0].operator: Invalid value: "Equal": operator must be Exists when `key` is empty, which '
            'means "match all values and all keys"',
            "spec.tolerations[1].effect: Invalid value: \"\": effect must be 'NoExecute' when `tolerationSeconds` is "
            "set",
        ],
    ),
    (
        {"topologySpreadConstraints": [{"maxSkew": 0, "topologyKey": "z", "whenUnsatisfiable": "DoNotSchedule"}]},
        ["spec.topologySpreadConstraints[0].maxSkew: Invalid value: 0: must be greater than zero"],
    ),
    (
        {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": []}}}},
        [
            "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms: Required "
            "value: must have at least one node selector term"
        ],
    ),
    (
        {"volumes": [{"name": "a", "emptyDir": {}, "hostPath": {"path": "/"}}, {"name": "a", "secret": {}}]},
        [
            "spec.volumes[0].hostPath: Forbidden: may not specify more than 1 volume type",
            "spec.volumes[1].secret.secretName: Required value",  # no duplicate: the first is no volume
        ],
    ),
    (
        {"volumes": [{"name": "a", "configMap": {"name": "c", "items": [{"key": "k", "path": "../x"}]}}]},
        ["spec.volumes[0].configMap.items[0].path: Invalid value: \"../x\": must not contain '..'"],
    ),
    (
        {"initContainers": [{"name": "c", "image": "i", "readinessProbe": {"exec": {"command": ["x"]}}}]},
        [
            'spec.initContainers[0].name: Duplicate value: "c"',
            "spec.initContainers[0].readinessProbe: Forbidden: may not be set for init containers without "
            "restartPolicy=Always",
        ],
    ),
    (
        {"nodeName": "n", "schedulingGates": [{"name": "g"}]},
        ["spec.nodeName: Forbidden: cannot be set until all schedulingGates have been cleared"],
    ),
    (
        {"shareProcessNamespace": True, "hostPID": True},
        [
            "spec.securityContext.shareProcessNamespace: Invalid value: true: ShareProcessNamespace and HostPID cannot "
            "both be enabled"
        ],
    ),
    (
        {"resources": {"requests": {"cpu": "1"}, "limits": {"cpu": "500m"}}},
        ['spec.resources.requests: Invalid value: "1": must be less than or equal to cpu limit of 500m'],
    ),
]


@pytest.mark.parametrize(("spec", "expected"), SPEC_CASES)
def test_specs(spec: JsonObject, expected: list[str]) -> None:
    assert refused(**spec) == expected


@pytest.mark.parametrize(
    "spec",
    [
        {"volumes": [{"name": "a"}, {"name": "b", "hostPath": {"path": "/x"}}]},
        {"initContainers": [{"name": "s", "image": "i", "restartPolicy": "Always", "startupProbe": GRPC}]},
        {"tolerations": [{"operator": "Exists"}], "nodeSelector": {"a": "b"}, "hostAliases": [{"ip": "::1"}]},
        {"dnsPolicy": "None", "dnsConfig": {"nameservers": ["1.1.1.1"], "searches": ["a_b.c.", "."]}},
        {"securityContext": {"fsGroup": 1, "sysctls": [{"name": "net.core.somaxconn", "value": "1"}]}},
    ],
)  # fmt: skip
def test_good_pods(spec: JsonObject) -> None:
    assert refused(**spec) == []


def test_templates_are_checked_without_what_only_pods_need() -> None:
    template: JsonObject = {
        "spec": {"containers": [{"name": "c", "image": " i "}]},
        "metadata": {"labels": {"a": "b c"}},
    }
    default_pod_template(template)
    found = texts(validate_pod_template(template, "spec.template"))
    assert len(found) == 1
    assert found[0].startswith('spec.template.labels: Invalid value: "b c": a valid label must be')


def update(change: JsonObject, **spec: Any) -> list[str]:
    old, failures, _ = created(pod(**spec))
    assert not failures
    new = pod(**spec)
    new["spec"].update(change)
    return texts(changed(old, new)[1])


IMMUTABLE = "spec: Forbidden: pod updates may not change fields other than `spec.containers[*].image`,"


def test_images_deadlines_and_tolerations_may_change() -> None:
    assert update({"containers": [{"name": "c", "image": "j"}], "activeDeadlineSeconds": 5}) == []
    assert update({"tolerations": [{"key": "a", "operator": "Exists"}]}) == []


def test_other_fields_may_not_change() -> None:
    for change in ({"nodeName": "n"}, {"containers": [{"name": "c", "image": "i", "command": ["x"]}]}):
        found = update(change)
        assert len(found) == 1
        assert found[0].startswith(IMMUTABLE)


def test_containers_are_not_added() -> None:
    containers = [{"name": "c", "image": "i"}, {"name": "d", "image": "i"}]
    text = "spec.containers: Forbidden: pod updates may not add or remove containers"
    assert update({"containers": containers}) == [text]


def test_deadlines_only_shrink() -> None:
    assert update({"activeDeadlineSeconds": 9}, activeDeadlineSeconds=30) == []
    text = "spec.activeDeadlineSeconds: Invalid value: 60: must be less than or equal to previous value"
    assert update({"activeDeadlineSeconds": 60}, activeDeadlineSeconds=30) == [text]


def test_tolerations_are_not_taken_away() -> None:
    old = [{"key": "a", "operator": "Exists", "effect": "NoExecute"}]
    text = "spec.tolerations: Forbidden: existing toleration can not be modified except its tolerationSeconds"
    assert update({"tolerations": []}, tolerations=old) == [text]
    assert update({"tolerations": [{**old[0], "tolerationSeconds": 3}]}, tolerations=old) == []


def test_a_gated_pod_may_be_narrowed() -> None:
    gates = [{"name": "g"}]
    assert update({"schedulingGates": [], "nodeSelector": {"a": "b"}}, schedulingGates=gates) == []
    text = "spec.schedulingGates[0].name: Forbidden: only deletion is allowed, but found new scheduling gate 'h'"
    assert update({"schedulingGates": [{"name": "h"}]}, schedulingGates=gates) == [text]


def test_a_negative_grace_period_is_one() -> None:
    """Pods are converted so; templates keep what they say, with a warning."""
    old, _, warnings = created(pod(terminationGracePeriodSeconds=-1))
    assert old["spec"]["terminationGracePeriodSeconds"] == 1
    assert not warnings
    template = {"spec": {"terminationGracePeriodSeconds": -1}}
    assert pod_template_warnings(template, "spec.template") == [
        "spec.template.spec.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be "
        "treated as 1"
    ]


def status_update(old_status: JsonObject, new_status: JsonObject, **spec: Any) -> list[str]:
    old, _, _ = created(pod(**spec))
    old["status"] |= old_status
    return texts(changed(old, {**pod(**spec), "status": new_status}, "status")[1])


def test_ended_containers_stay_ended() -> None:
    def statuses(state: JsonObject) -> JsonObject:
        return {"containerStatuses": [{"name": "c", "state": state, "image": "i"}]}

    ended, running = statuses({"terminated": {"exitCode": 0}}), statuses({"running": {}})
    text = "status.containerStatuses[0].state: Forbidden: may not be transitioned to non-terminated state"
    assert status_update(ended, running, restartPolicy="Never") == [text]
    assert status_update(ended, running, restartPolicy="Always") == []
    failed = statuses({"terminated": {"exitCode": 1}})
    assert status_update(failed, running, restartPolicy="OnFailure") == []


def test_reported_addresses_are_checked() -> None:
    assert status_update({}, {"podIP": "10.0.0.1"}) == []
    assert status_update({}, {"podIP": "x"}) == [
        'status.podIPs[0]: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)'
    ]


def test_ephemeral_containers_are_only_added() -> None:
    old, _, _ = created(pod())
    body = pod()
    body["spec"]["ephemeralContainers"] = [{"name": "debug", "image": "i", "targetContainerName": "c"}]
    new, failures = changed(old, body, "ephemeralcontainers")
    assert not failures
    assert new["metadata"]["generation"] == 2
    _, failures = changed(new, pod(), "ephemeralcontainers")
    assert texts(failures) == [
        'spec.ephemeralContainers: Forbidden: existing ephemeral containers "debug" may not be removed\n'
    ]


def warned(body: JsonObject) -> list[str]:
    return created(body)[2]


def test_warnings() -> None:
    body = pod(
        {"env": [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]}, nodeSelector={"beta.kubernetes.io/os": "l"}
    )
    body["metadata"]["name"] = "dots.in.name"
    assert warned(body) == [
        "metadata.name: this is used in the Pod's hostname, which can result in surprising behavior; a DNS label is "
        "recommended: [must not contain dots]",
        'spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use "kubernetes.io/os" instead',
        'spec.containers[0].env[1]: hides previous definition of "A", which may be dropped when using apply',
    ]


def test_warnings_about_templates_name_their_place() -> None:
    template = {"spec": {"imagePullSecrets": [{"name": "a"}, {"name": "a"}]}}
    assert pod_template_warnings(copy.deepcopy(template), "spec.template") == [
        'spec.template.spec.imagePullSecrets[1].name: duplicate name "a"'
    ]
