"""Nodes and pods as the scheduler's and the node lifecycle's tests want them."""

READY = [{"type": "Ready", "status": "True"}]


def node(name, *, allocatable=None, capacity=None, labels=None, ready=True, unschedulable=False, **metadata):
    status = {"conditions": [{"type": "Ready", "status": "True" if ready else "False"}]}
    if allocatable is not None:
        status["allocatable"] = allocatable
    if capacity is not None:
        status["capacity"] = capacity
    return {
        "metadata": {"name": name, "uid": f"uid-{name}", "labels": labels or {}, **metadata},
        "spec": {"unschedulable": True} if unschedulable else {},
        "status": status,
    }


def container(requests=None, limits=None):
    return {"name": "main", "resources": {"requests": requests or {}, "limits": limits or {}}}


def pod(name, requests=None, *, phase="Pending", node_name="", status=None, created="2026-01-01T00:00:00Z", **spec):
    if node_name:
        spec["nodeName"] = node_name
    spec.setdefault("containers", [container(requests)])
    return {
        "metadata": {
            "name": name,
            "namespace": "default",
            "uid": f"uid-{name}",
            "generation": 1,
            "creationTimestamp": created,
        },
        "spec": {"schedulerName": "default-scheduler", **spec},
        "status": {"phase": phase, **(status or {})},
    }
