"""Printing columns: what a row of each kind shows."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from kube32_sim.api.columns import _BY_KIND, columns_for
from kube32_sim.api.tables import render, row_template

JsonObject = dict[str, Any]
NOW = 1_767_225_600.0  # 2026-01-01T00:00:00Z
HOUR_AGO = "2025-12-31T23:00:00Z"


def row(group: str, kind: str, obj: JsonObject) -> JsonObject:
    """The row of an object that was made an hour ago under the name x."""
    metadata = {"name": "x", "creationTimestamp": HOUR_AGO, **obj.get("metadata", {})}
    template = row_template(columns_for(group, kind), {**obj, "metadata": metadata})
    found: JsonObject = orjson.loads(render(template, NOW) + b"null}")
    return found


def cells(group: str, kind: str, **obj: Any) -> list[Any]:
    found: list[Any] = row(group, kind, obj)["cells"]
    return found


def shape(group: str, kind: str) -> list[tuple[str, str, str, int]]:
    return [(c.name, c.type, c.format, c.priority) for c in columns_for(group, kind).definitions]


def test_columns_of_a_pod() -> None:
    assert shape("", "Pod") == [
        ("Name", "string", "name", 0),
        ("Ready", "string", "", 0),
        ("Status", "string", "", 0),
        ("Restarts", "string", "", 0),
        ("Age", "string", "", 0),
        ("IP", "string", "", 1),
        ("Node", "string", "", 1),
        ("Nominated Node", "string", "", 1),
        ("Readiness Gates", "string", "", 1),
    ]


def test_columns_with_other_types() -> None:
    assert [column[1] for column in shape("apps", "ReplicaSet")[:5]] == [
        "string",
        "integer",
        "integer",
        "integer",
        "string",
    ]
    assert [column[1] for column in shape("apps", "Deployment")[:5]] == ["string"] * 5
    assert shape("", "Event")[-1] == ("Name", "string", "name", 1)
    assert shape("batch", "CronJob")[3] == ("Suspend", "boolean", "", 0)


@pytest.mark.parametrize(
    ("group", "kind"), [("", "LimitRange"), ("rbac.authorization.k8s.io", "Role"), ("x", "Unheard")]
)
def test_kinds_without_columns_of_their_own(group: str, kind: str) -> None:
    assert shape(group, kind) == [("Name", "string", "name", 0), ("Created At", "date", "", 0)]
    assert cells(group, kind) == ["x", HOUR_AGO]


@pytest.mark.parametrize(("group", "kind"), sorted(_BY_KIND))
def test_an_empty_object_has_a_cell_for_every_column(group: str, kind: str) -> None:
    """Bookmarks are printed too: an object with nothing but a resourceVersion."""
    columns = columns_for(group, kind)
    assert len(columns.cells({"metadata": {"resourceVersion": "1"}})) == len(columns.definitions)
    assert all(column.description for column in columns.definitions)


def running(**more: Any) -> JsonObject:
    return {"name": "a", "ready": True, "restartCount": 0, "state": {"running": {}}, **more}


def waiting(reason: str, **more: Any) -> JsonObject:
    return {"name": "a", "ready": False, "restartCount": 0, "state": {"waiting": {"reason": reason}}, **more}


def ended(code: int, **more: Any) -> JsonObject:
    return {"name": "a", "ready": False, "restartCount": 0, "state": {"terminated": {"exitCode": code, **more}}}


ONE: JsonObject = {"containers": [{"name": "a"}]}
TWO: JsonObject = {"containers": [{"name": "a"}, {"name": "b"}]}
INIT: JsonObject = {"initContainers": [{"name": "a"}, {"name": "i"}], "containers": [{"name": "c"}]}
SIDECAR: JsonObject = {"initContainers": [{"name": "a", "restartPolicy": "Always"}], "containers": [{"name": "c"}]}
LAST = {"lastState": {"terminated": {"exitCode": 1, "finishedAt": "2025-12-31T23:50:00Z"}}}


@pytest.mark.parametrize(
    ("spec", "status", "shown"),
    [
        (ONE, {"phase": "Pending"}, ["0/1", "Pending", "0"]),
        (ONE, {}, ["0/1", "", "0"]),
        (
            ONE,
            {"phase": "Pending", "containerStatuses": [waiting("ContainerCreating")]},
            ["0/1", "ContainerCreating", "0"],
        ),
        (ONE, {"phase": "Running", "containerStatuses": [running()]}, ["1/1", "Running", "0"]),
        (ONE, {"phase": "Running", "containerStatuses": [running(ready=False)]}, ["0/1", "Running", "0"]),
        (
            ONE,
            {"phase": "Running", "containerStatuses": [running(restartCount=3, **LAST)]},
            ["1/1", "Running", "3 (10m ago)"],
        ),
        (ONE, {"phase": "Running", "containerStatuses": [running(restartCount=3)]}, ["1/1", "Running", "3"]),
        (
            ONE,
            {"phase": "Running", "containerStatuses": [waiting("CrashLoopBackOff", restartCount=7, **LAST)]},
            ["0/1", "CrashLoopBackOff", "7 (10m ago)"],
        ),
        (ONE, {"phase": "Succeeded", "containerStatuses": [ended(0, reason="Completed")]}, ["0/1", "Completed", "0"]),
        (ONE, {"phase": "Failed", "containerStatuses": [ended(1, reason="Error")]}, ["0/1", "Error", "0"]),
        (ONE, {"phase": "Failed", "containerStatuses": [ended(137, reason="OOMKilled")]}, ["0/1", "OOMKilled", "0"]),
        (ONE, {"phase": "Failed", "containerStatuses": [ended(3)]}, ["0/1", "ExitCode:3", "0"]),
        (ONE, {"phase": "Failed", "containerStatuses": [ended(137, signal=9)]}, ["0/1", "Signal:9", "0"]),
        (ONE, {"phase": "Failed", "reason": "Evicted"}, ["0/1", "Evicted", "0"]),
        (
            ONE,
            {
                "phase": "Pending",
                "conditions": [{"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"}],
            },
            ["0/1", "SchedulingGated", "0"],
        ),
        # The first container with something to tell gives the reason.
        (
            TWO,
            {"phase": "Running", "containerStatuses": [running(), waiting("ErrImagePull")]},
            ["1/2", "ErrImagePull", "0"],
        ),
        (
            TWO,
            {"phase": "Running", "containerStatuses": [waiting("CrashLoopBackOff"), waiting("ErrImagePull")]},
            ["0/2", "CrashLoopBackOff", "0"],
        ),
        # One has completed, another still runs.
        (
            TWO,
            {
                "phase": "Running",
                "conditions": [{"type": "Ready", "status": "True"}],
                "containerStatuses": [ended(0, reason="Completed"), running()],
            },
            ["1/2", "Running", "0"],
        ),
        (
            TWO,
            {"phase": "Running", "containerStatuses": [ended(0, reason="Completed"), running()]},
            ["1/2", "NotReady", "0"],
        ),
        # Init containers.
        (INIT, {"phase": "Pending", "initContainerStatuses": [running(ready=False)]}, ["0/1", "Init:0/2", "0"]),
        (
            INIT,
            {"phase": "Pending", "initContainerStatuses": [ended(0), waiting("PodInitializing", name="i")]},
            ["0/1", "Init:1/2", "0"],
        ),
        (
            INIT,
            {"phase": "Pending", "initContainerStatuses": [waiting("CrashLoopBackOff", restartCount=4, **LAST)]},
            ["0/1", "Init:CrashLoopBackOff", "4 (10m ago)"],
        ),
        (INIT, {"phase": "Pending", "initContainerStatuses": [ended(1, reason="Error")]}, ["0/1", "Init:Error", "0"]),
        (INIT, {"phase": "Pending", "initContainerStatuses": [ended(2)]}, ["0/1", "Init:ExitCode:2", "0"]),
        (INIT, {"phase": "Pending", "initContainerStatuses": [ended(137, signal=9)]}, ["0/1", "Init:Signal:9", "0"]),
        # Restarts of init containers are forgotten once they are done, those of sidecars are not.
        (
            INIT,
            {
                "phase": "Running",
                "initContainerStatuses": [
                    {**ended(0, reason="Completed"), "restartCount": 2},
                    {**ended(0), "name": "i"},
                ],
                "containerStatuses": [running(name="c")],
            },
            ["1/1", "Running", "0"],
        ),
        (
            SIDECAR,
            {
                "phase": "Running",
                "initContainerStatuses": [running(started=True, restartCount=2, **LAST)],
                "containerStatuses": [running(name="c", restartCount=1)],
            },
            ["2/2", "Running", "3 (10m ago)"],
        ),
        (SIDECAR, {"phase": "Pending", "initContainerStatuses": [running(started=False)]}, ["0/2", "Init:0/1", "0"]),
    ],
)
def test_status_of_a_pod(spec: JsonObject, status: JsonObject, shown: list[str]) -> None:
    assert cells("", "Pod", spec=spec, status=status)[1:4] == shown


@pytest.mark.parametrize(
    ("status", "shown"),
    [
        ({"phase": "Running", "containerStatuses": [running()]}, "Terminating"),
        ({"phase": "Running", "reason": "NodeLost"}, "Unknown"),
        ({"phase": "Succeeded"}, "Succeeded"),
    ],
)
def test_status_of_a_pod_that_is_deleted(status: JsonObject, shown: str) -> None:
    assert cells("", "Pod", metadata={"deletionTimestamp": HOUR_AGO}, spec=ONE, status=status)[2] == shown


def test_wide_columns_of_a_pod() -> None:
    assert cells("", "Pod", spec=ONE)[4:] == ["60m", "<none>", "<none>", "<none>", "<none>"]
    spec = {**ONE, "nodeName": "n", "readinessGates": [{"conditionType": "a/b"}, {"conditionType": "c/d"}]}
    conditions = [{"type": "a/b", "status": "True"}, {"type": "c/d", "status": "False"}]
    status = {"podIP": "10.0.0.1", "podIPs": [{"ip": "10.0.0.1"}], "nominatedNodeName": "m", "conditions": conditions}
    assert cells("", "Pod", spec=spec, status=status)[4:] == ["60m", "10.0.0.1", "n", "m", "1/2"]


def test_a_pod_that_has_ended_says_so() -> None:
    assert "conditions" not in row("", "Pod", {"status": {"phase": "Running"}})
    done = row("", "Pod", {"status": {"phase": "Succeeded"}})["conditions"]
    assert done == [
        {"type": "Completed", "status": "True", "reason": "Succeeded", "message": "The pod has completed successfully."}
    ]
    failed = row("", "Pod", {"status": {"phase": "Failed"}})["conditions"]
    assert failed == [{"type": "Completed", "status": "True", "reason": "Failed", "message": "The pod failed."}]


def ready(status: str) -> JsonObject:
    return {"conditions": [{"type": "MemoryPressure", "status": "False"}, {"type": "Ready", "status": status}]}


def test_nodes() -> None:
    info = {
        "kubeletVersion": "v1.36.2",
        "osImage": "Debian 12",
        "kernelVersion": "6.1.0",
        "architecture": "amd64",
        "containerRuntimeVersion": "containerd://1.7.0",
    }
    addresses = [
        {"type": "Hostname", "address": "h"},
        {"type": "InternalIP", "address": "10.0.0.1"},
        {"type": "ExternalIP", "address": "34.1.2.3"},
    ]
    labels = {
        "node-role.kubernetes.io/etcd": "",
        "node-role.kubernetes.io/control-plane": "",
        "kubernetes.io/role": "w",
    }
    status = {**ready("True"), "nodeInfo": info, "addresses": addresses}
    assert cells("", "Node", metadata={"labels": labels}, status=status)[1:] == [
        "Ready",
        "control-plane,etcd,w",
        "60m",
        "v1.36.2",
        "10.0.0.1",
        "34.1.2.3",
        "Debian 12",
        "6.1.0 (amd64)",
        "containerd://1.7.0",
    ]
    bare = ["Unknown", "<none>", "60m", "", "<none>", "<none>", "<unknown>", "<unknown>", "<unknown>"]
    assert cells("", "Node")[1:] == bare
    assert cells("", "Node", status=ready("False"))[1] == "NotReady"
    assert cells("", "Node", status=ready("Unknown"))[1] == "NotReady"
    assert cells("", "Node", spec={"unschedulable": True}, status=ready("True"))[1] == "Ready,SchedulingDisabled"


TEMPLATE = {"spec": {"containers": [{"name": "app", "image": "nginx:1"}, {"name": "side", "image": "box:2"}]}}
SELECTS = {
    "matchLabels": {"b": "c", "app": "web"},
    "matchExpressions": [
        {"key": "x", "operator": "NotIn", "values": ["2", "1"]},
        {"key": "e", "operator": "Exists"},
        {"key": "d", "operator": "DoesNotExist"},
        {"key": "i", "operator": "In", "values": ["v"]},
    ],
}
SELECTED = "app=web,b=c,!d,e,i in (v),x notin (1,2)"


def test_deployments_and_their_like() -> None:
    spec = {"replicas": 4, "selector": SELECTS, "template": TEMPLATE}
    status = {"replicas": 5, "updatedReplicas": 3, "readyReplicas": 2, "availableReplicas": 1}
    wide = ["app,side", "nginx:1,box:2"]
    assert cells("apps", "Deployment", spec=spec, status=status)[1:] == ["2/4", 3, 1, "60m", *wide, SELECTED]
    assert cells("apps", "Deployment", spec={"replicas": 0})[1:] == ["0/0", 0, 0, "60m", "", "", ""]
    assert cells("apps", "ReplicaSet", spec=spec, status=status)[1:] == [4, 5, 2, "60m", *wide, SELECTED]
    assert cells("apps", "ReplicaSet")[1:] == [0, 0, 0, "60m", "", "", "<none>"]
    assert cells("apps", "StatefulSet", spec=spec, status=status)[1:] == ["2/4", "60m", *wide]
    controller = {"replicas": 1, "selector": {"b": "c", "a": "b"}, "template": TEMPLATE}
    assert cells("", "ReplicationController", spec=controller)[1:] == [1, 0, 0, "60m", *wide, "a=b,b=c"]


def test_daemon_sets() -> None:
    status = {
        "desiredNumberScheduled": 5,
        "currentNumberScheduled": 4,
        "numberReady": 3,
        "updatedNumberScheduled": 2,
        "numberAvailable": 1,
    }
    template = {"spec": {"nodeSelector": {"b": "1", "a": "2"}, "containers": [{"name": "c", "image": "i"}]}}
    spec = {"template": template, "selector": {"matchLabels": {"k": "v"}}}
    assert cells("apps", "DaemonSet", spec=spec, status=status)[1:] == [
        5,
        4,
        3,
        2,
        1,
        "a=2,b=1",
        "60m",
        "c",
        "i",
        "k=v",
    ]
    assert cells("apps", "DaemonSet")[6] == "<none>"


@pytest.mark.parametrize(
    ("spec", "status", "shown"),
    [
        ({"completions": 5}, {"startTime": HOUR_AGO, "succeeded": 1}, ["Running", "1/5", "60m"]),
        ({}, {}, ["Running", "0/1", ""]),
        ({"parallelism": 3}, {}, ["Running", "0/1 of 3", ""]),
        (
            {"completions": 3},
            {
                "startTime": "2024-01-01T00:00:00Z",
                "completionTime": "2024-01-01T00:05:30Z",
                "succeeded": 3,
                "conditions": [
                    {"type": "SuccessCriteriaMet", "status": "True"},
                    {"type": "Complete", "status": "True"},
                ],
            },
            ["Complete", "3/3", "5m30s"],
        ),
        (
            {},
            {"conditions": [{"type": "FailureTarget", "status": "True"}, {"type": "Failed", "status": "True"}]},
            ["Failed", "0/1", ""],
        ),
        ({}, {"conditions": [{"type": "FailureTarget", "status": "True"}]}, ["FailureTarget", "0/1", ""]),
        ({}, {"conditions": [{"type": "Suspended", "status": "True"}]}, ["Suspended", "0/1", ""]),
        ({}, {"conditions": [{"type": "Suspended", "status": "False"}]}, ["Running", "0/1", ""]),
    ],
)
def test_jobs(spec: JsonObject, status: JsonObject, shown: list[str]) -> None:
    assert cells("batch", "Job", spec=spec, status=status)[1:4] == shown


def test_jobs_that_are_deleted() -> None:
    gone = {"deletionTimestamp": HOUR_AGO}
    assert cells("batch", "Job", metadata=gone)[1] == "Terminating"
    complete = {"conditions": [{"type": "Complete", "status": "True"}]}
    assert cells("batch", "Job", metadata=gone, status=complete)[1] == "Complete"


def test_cron_jobs() -> None:
    job = {"spec": {"template": TEMPLATE}}
    spec = {"schedule": "* * * * *", "timeZone": "Etc/UTC", "suspend": False, "jobTemplate": job}
    status = {"active": [{}, {}], "lastScheduleTime": "2025-12-31T23:59:30Z"}
    wide = ["app,side", "nginx:1,box:2", "<none>"]
    shown = ["* * * * *", "Etc/UTC", "False", 2, "30s", "60m", *wide]
    assert cells("batch", "CronJob", spec=spec, status=status)[1:] == shown
    assert cells("batch", "CronJob", spec={"schedule": "@daily", "suspend": True})[1:6] == [
        "@daily",
        "<none>",
        "True",
        0,
        "<none>",
    ]
    assert cells("batch", "CronJob")[3] == "<unset>"


PORTS = [{"port": 80, "protocol": "TCP", "nodePort": 30080}, {"port": 53, "protocol": "UDP"}]


@pytest.mark.parametrize(
    ("spec", "points", "shown"),
    [
        (
            {"type": "ClusterIP", "clusterIPs": ["10.96.0.9"], "ports": PORTS},
            [],
            ["ClusterIP", "10.96.0.9", "<none>", "80:30080/TCP,53/UDP"],
        ),
        (
            {"type": "ClusterIP", "clusterIP": "None", "clusterIPs": ["None"]},
            [],
            ["ClusterIP", "None", "<none>", "<none>"],
        ),
        (
            {"type": "NodePort", "externalIPs": ["1.1.1.1", "2.2.2.2"]},
            [],
            ["NodePort", "<none>", "1.1.1.1,2.2.2.2", "<none>"],
        ),
        ({"type": "LoadBalancer"}, [], ["LoadBalancer", "<none>", "<pending>", "<none>"]),
        (
            {"type": "LoadBalancer"},
            [{"ip": "5.6.7.8"}, {"hostname": "lb.x"}],
            ["LoadBalancer", "<none>", "5.6.7.8,lb.x", "<none>"],
        ),
        (
            {"type": "LoadBalancer", "externalIPs": ["9.9.9.9"]},
            [{"ip": "5.6.7.8"}],
            ["LoadBalancer", "<none>", "5.6.7.8,9.9.9.9", "<none>"],
        ),
        ({"type": "ExternalName", "externalName": "db.x"}, [], ["ExternalName", "<none>", "db.x", "<none>"]),
    ],
)
def test_services(spec: JsonObject, points: list[JsonObject], shown: list[str]) -> None:
    found = cells(
        "", "Service", spec={**spec, "selector": {"c": "d", "a": "b"}}, status={"loadBalancer": {"ingress": points}}
    )
    assert found[1:] == [*shown, "60m", "a=b,c=d"]


def test_endpoints() -> None:
    addresses = [{"ip": f"10.1.1.{i}"} for i in range(1, 5)]
    many = [{"addresses": addresses, "ports": [{"port": 80}, {"port": 443}]}]
    assert cells("", "Endpoints", subsets=many)[1] == "10.1.1.1:80,10.1.1.2:80,10.1.1.3:80 + 5 more..."
    assert cells("", "Endpoints", subsets=[{"addresses": addresses[:2]}])[1] == "10.1.1.1,10.1.1.2"
    assert cells("", "Endpoints", subsets=[{"addresses": [{"ip": "fd::1"}], "ports": [{"port": 1}]}])[1] == "[fd::1]:1"
    assert cells("", "Endpoints", subsets=[{"notReadyAddresses": addresses, "ports": [{"port": 80}]}])[1] == ""
    assert cells("", "Endpoints")[1] == "<none>"


def test_endpoint_slices() -> None:
    endpoints = [{"addresses": [f"10.1.1.{i}"]} for i in range(1, 6)]
    ports = [{"name": "x", "port": 80}, {"name": "y"}, {}]
    found = cells("discovery.k8s.io", "EndpointSlice", addressType="IPv4", endpoints=endpoints, ports=ports)
    assert found[1:4] == ["IPv4", "80,y,*", "10.1.1.1,10.1.1.2,10.1.1.3 + 2 more..."]
    assert cells("discovery.k8s.io", "EndpointSlice", endpoints=[], ports=[])[2:4] == ["<unset>", "<unset>"]


@pytest.mark.parametrize(
    ("hosts", "shown"),
    [([], "*"), ([None], "*"), (["a", "b", "c"], "a,b,c"), (["a", None, "b", "c", None], "a,b,c + 2 more...")],
)
def test_hosts_of_an_ingress(hosts: list[str | None], shown: str) -> None:
    rules = [{"host": host} if host else {} for host in hosts]
    assert cells("networking.k8s.io", "Ingress", spec={"rules": rules})[2] == shown


def test_the_rest_of_networking() -> None:
    spec = {"ingressClassName": "n", "tls": [{}]}
    found = cells("networking.k8s.io", "Ingress", spec=spec, status={"loadBalancer": {"ingress": [{"ip": "1.2.3.4"}]}})
    assert found[1:] == ["n", "*", "1.2.3.4", "80, 443", "60m"]
    assert cells("networking.k8s.io", "Ingress")[1:5] == ["<none>", "*", "", "80"]
    parameters = {"kind": "P", "name": "p", "apiGroup": "g.x"}
    assert cells("networking.k8s.io", "IngressClass", spec={"controller": "c", "parameters": parameters})[1:3] == [
        "c",
        "P.g.x/p",
    ]
    assert cells("networking.k8s.io", "NetworkPolicy", spec={"podSelector": {}})[1] == "<none>"
    parent = {"group": "", "resource": "services", "namespace": "default", "name": "kubernetes"}
    assert cells("networking.k8s.io", "IPAddress", spec={"parentRef": parent})[1] == "services/default/kubernetes"
    assert (
        cells("networking.k8s.io", "ServiceCIDR", spec={"cidrs": ["10.96.0.0/16", "fd::/64"]})[1]
        == "10.96.0.0/16,fd::/64"
    )


def test_configuration() -> None:
    assert cells("", "ConfigMap", data={"a": "", "b": ""}, binaryData={"c": ""}) == ["x", 3, "60m"]
    assert cells("", "Secret", type="Opaque", data={"a": ""}) == ["x", "Opaque", 1, "60m"]
    assert cells("", "ServiceAccount") == ["x", 0, "60m"]
    assert cells("", "Namespace", status={"phase": "Active"}) == ["x", "Active", "60m"]
    quota = {"hard": {"pods": "4", "limits.cpu": "2", "cpu": "1"}, "used": {"pods": "1", "cpu": "500m"}}
    assert cells("", "ResourceQuota", status=quota)[1:3] == ["cpu: 500m/1, pods: 1/4", "limits.cpu: 0/2"]


def test_events() -> None:
    event = {
        "firstTimestamp": HOUR_AGO,
        "lastTimestamp": "2025-12-31T23:59:55Z",
        "count": 4,
        "type": "Warning",
        "reason": "FailedScheduling",
        "message": " no room \n",
        "involvedObject": {"kind": "Pod", "name": "p", "fieldPath": "spec.containers{a}"},
        "source": {"component": "scheduler", "host": "h"},
    }
    shown = [
        "5s",
        "Warning",
        "FailedScheduling",
        "pod/p",
        "spec.containers{a}",
        "scheduler, h",
        "no room",
        "60m",
        4,
        "x",
    ]
    assert cells("", "Event", **event) == shown


def test_events_of_the_new_kind() -> None:
    event = {
        "eventTime": "2025-12-31T23:00:00.000000Z",
        "series": {"count": 9, "lastObservedTime": "2025-12-31T23:59:50.500000Z"},
        "regarding": {"kind": "Node"},
        "reportingController": "c",
        "reportingInstance": "i",
        "note": "n",
    }
    assert cells("events.k8s.io", "Event", **event) == ["9s", "", "", "node", "", "c, i", "n", "60m", 9, "x"]
    single = {
        "eventTime": "2025-12-31T23:00:00.000000Z",
        "reportingComponent": "c",
        "involvedObject": {"kind": "A", "name": "b"},
    }
    found = cells("", "Event", **single)
    assert (found[0], found[5], found[7:9]) == ("60m", "c", ["60m", 1])


def test_volumes() -> None:
    spec = {
        "capacity": {"storage": "5Gi"},
        "accessModes": ["ReadWriteMany", "ReadWriteOnce"],
        "persistentVolumeReclaimPolicy": "Retain",
        "claimRef": {"namespace": "n", "name": "c"},
        "storageClassName": "slow",
        "volumeMode": "Filesystem",
    }
    found = cells("", "PersistentVolume", spec=spec, status={"phase": "Bound"})
    assert found[1:] == ["5Gi", "RWO,RWX", "Retain", "Bound", "n/c", "slow", "<unset>", "", "60m", "Filesystem"]
    claim = {"volumeName": "v", "storageClassName": "slow"}
    status = {"phase": "Bound", "capacity": {"storage": "5Gi"}, "accessModes": ["ReadWriteOncePod"]}
    found = cells("", "PersistentVolumeClaim", spec=claim, status=status)
    assert found[1:] == ["Bound", "v", "5Gi", "RWOP", "slow", "<unset>", "60m", "<unset>"]
    found = cells("", "PersistentVolumeClaim", metadata={"deletionTimestamp": HOUR_AGO}, status={"phase": "Pending"})
    assert found[1:5] == ["Terminating", "", "", ""]


def test_storage_classes() -> None:
    marked = {"annotations": {"storageclass.kubernetes.io/is-default-class": "true"}}
    found = cells("storage.k8s.io", "StorageClass", metadata=marked, provisioner="p", allowVolumeExpansion=True)
    assert found == ["x (default)", "p", "Delete", "Immediate", True, "60m"]
    found = cells("storage.k8s.io", "StorageClass", reclaimPolicy="Retain", volumeBindingMode="WaitForFirstConsumer")
    assert found[:5] == ["x", "", "Retain", "WaitForFirstConsumer", False]


def test_csi_drivers() -> None:
    assert cells("storage.k8s.io", "CSIDriver")[1:7] == [True, False, False, "<unset>", False, "<none>"]
    spec = {
        "attachRequired": False,
        "tokenRequests": [{"audience": "a"}, {"audience": "b"}],
        "volumeLifecycleModes": ["Ephemeral"],
    }
    assert cells("storage.k8s.io", "CSIDriver", spec=spec)[1:7] == [False, False, False, "a,b", False, "Ephemeral"]


def test_claims_of_devices() -> None:
    gone = {"deletionTimestamp": HOUR_AGO}
    assert cells("resource.k8s.io", "ResourceClaim")[1] == "pending"
    assert cells("resource.k8s.io", "ResourceClaim", metadata=gone)[1] == "deleted"
    status = {"allocation": {}, "reservedFor": [{}]}
    assert cells("resource.k8s.io", "ResourceClaim", metadata=gone, status=status)[1] == "deleted,allocated,reserved"


def test_bindings() -> None:
    subjects = [
        {"kind": "User", "name": "u"},
        {"kind": "Group", "name": "g"},
        {"kind": "ServiceAccount", "namespace": "n", "name": "s"},
        {"kind": "User", "name": "v"},
    ]
    found = cells("rbac.authorization.k8s.io", "RoleBinding", roleRef={"kind": "Role", "name": "r"}, subjects=subjects)
    assert found == ["x", "Role/r", "60m", "u, v", "g", "n/s"]


def test_policies_and_classes() -> None:
    found = cells("policy", "PodDisruptionBudget", spec={"minAvailable": 2}, status={"disruptionsAllowed": 1})
    assert found == ["x", "2", "N/A", 1, "60m"]
    assert cells("policy", "PodDisruptionBudget", spec={"maxUnavailable": "50%"})[1:3] == ["N/A", "50%"]
    found = cells("scheduling.k8s.io", "PriorityClass", value=-5, preemptionPolicy="Never")
    assert found == ["x", -5, False, "60m", "Never"]
    owners = [
        {"kind": "Pod", "name": "p"},
        {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "d", "controller": True},
    ]
    assert cells("apps", "ControllerRevision", metadata={"ownerReferences": owners}, revision=3)[1:3] == [
        "daemonset.apps/d",
        3,
    ]
    assert cells("coordination.k8s.io", "Lease", spec={"holderIdentity": "h"}) == ["x", "h", "60m"]


def test_autoscalers() -> None:
    metrics = [
        {"type": "Resource", "resource": {"name": "cpu", "target": {"averageUtilization": 80}}},
        {"type": "Pods", "pods": {"target": {"averageValue": "10"}}},
        {"type": "Object", "object": {"target": {"value": "5"}}},
    ]
    current = [{"type": "Resource", "resource": {"current": {"averageUtilization": 20}}}]
    spec = {
        "scaleTargetRef": {"kind": "Deployment", "name": "d"},
        "maxReplicas": 4,
        "minReplicas": 1,
        "metrics": metrics,
    }
    found = cells(
        "autoscaling", "HorizontalPodAutoscaler", spec=spec, status={"currentReplicas": 2, "currentMetrics": current}
    )
    assert found[1:] == ["Deployment/d", "cpu: 20%/80%, <unknown>/10 + 1 more...", "1", 4, 2, "60m"]
    old = {"targetCPUUtilizationPercentage": 50, "maxReplicas": 2}
    assert cells("autoscaling", "HorizontalPodAutoscaler", spec=old)[2:4] == ["cpu: <unknown>/50%", "<unset>"]
    assert cells("autoscaling", "HorizontalPodAutoscaler")[2] == "<none>"


def test_signing_requests() -> None:
    spec = {"signerName": "s", "username": "u", "expirationSeconds": 3600}
    status = {"conditions": [{"type": "Approved"}], "certificate": "QQ=="}
    found = cells("certificates.k8s.io", "CertificateSigningRequest", spec=spec, status=status)
    assert found == ["x", "60m", "s", "u", "60m", "Approved,Issued"]
    assert cells("certificates.k8s.io", "CertificateSigningRequest")[2:] == ["<none>", "", "<none>", "Pending"]


def test_admission_and_flow_control() -> None:
    group = "admissionregistration.k8s.io"
    assert cells(group, "MutatingWebhookConfiguration", webhooks=[{}, {}]) == ["x", 2, "60m"]
    policy = {"validations": [{}], "paramKind": {"apiVersion": "v1", "kind": "ConfigMap"}}
    assert cells(group, "ValidatingAdmissionPolicy", spec=policy) == ["x", 1, "v1/ConfigMap", "60m"]
    for reference, shown in (
        ({"name": "p"}, "*/p"),
        ({"name": "p", "namespace": "n"}, "n/p"),
        (
            {"selector": {"matchLabels": {"a": "b"}}},
            "&LabelSelector{MatchLabels:map[string]string{a: b,},MatchExpressions:[]LabelSelectorRequirement{},}",
        ),
    ):
        assert cells(group, "ValidatingAdmissionPolicyBinding", spec={"paramRef": reference})[2] == shown
    flow = {"matchingPrecedence": 9, "priorityLevelConfiguration": {"name": "l"}}
    dangling = {"conditions": [{"type": "Dangling", "status": "False"}]}
    found = cells("flowcontrol.apiserver.k8s.io", "FlowSchema", spec=flow, status=dangling)
    assert found == ["x", "l", 9, "<none>", "60m", "False"]
    found = cells("flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration", spec={"type": "Exempt"})
    assert found == ["x", "Exempt", "<none>", "<none>", "<none>", "<none>", "60m"]


def test_aggregated_services() -> None:
    assert cells("apiregistration.k8s.io", "APIService")[1:3] == ["Local", "Unknown"]
    service = {"service": {"namespace": "n", "name": "s"}}
    broken = {"conditions": [{"type": "Available", "status": "False", "reason": "R"}]}
    assert cells("apiregistration.k8s.io", "APIService", spec=service, status=broken)[1:3] == ["n/s", "False (R)"]
