"""Pods for the tests of pod life: a few fields make one."""

from typing import Any

from kube32_sim.kubelet.pod_life import Advanced, PodLife, advance, begin

T0 = 1_767_225_600.0


def pod(
    *containers: str,
    policy: str = "Always",
    init: tuple[dict[str, Any], ...] = (),
    annotations: dict[str, str] | None = None,
    **spec: Any,
) -> dict[str, Any]:
    """Containers by name (`app` where none is given); annotations without their prefix."""
    return {
        "metadata": {
            "name": "p",
            "namespace": "n",
            "uid": "u",
            "annotations": {f"sim.kube32.io/{key}": value for key, value in (annotations or {}).items()},
        },
        "spec": {
            "restartPolicy": policy,
            "containers": [{"name": name, "image": f"{name}:1"} for name in containers or ("app",)],
            "initContainers": list(init),
            **spec,
        },
        "status": {"phase": "Pending"},
    }


def deleted(given: dict[str, Any], grace: int = 30) -> dict[str, Any]:
    """The pod, being deleted."""
    given["metadata"] |= {"deletionTimestamp": "2026-01-01T00:00:00Z", "deletionGracePeriodSeconds": grace}
    return given


def live(given: dict[str, Any], *moments: float) -> Advanced:
    """A life begun at T0, followed to each of the moments (seconds after T0); what came of the last step."""
    life, _ = begin(given, T0)
    step = Advanced(life)
    for moment in moments:
        step = advance(given, step.life, T0 + moment)
    return step


def reasons(step: Advanced) -> list[str]:
    return [happening.reason for happening in step.happenings]


def runs(life: PodLife) -> list[bool]:
    return [container.running is not None for container in life.containers]
