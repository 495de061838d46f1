"""Defaults of pods and pod templates: what core/v1 fills in where a manifest is silent.

`default_pod_spec` is what pods and templates share; `default_pod_template` and `default_pod` add what only they have.
Everything changes its argument in place and may run again without effect.
"""

from __future__ import annotations

import re
from typing import Any

from kube32_sim.api.validation.pod_resources import aggregate, is_huge_page, is_pod_level

JsonObject = dict[str, Any]

_REFERENCE = re.compile(
    r"[A-Za-z0-9][A-Za-z0-9.:/_-]*?"
    r"(?::(?P<tag>[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}))?"
    r"(?P<digest>@[A-Za-z0-9_+.-]+:[0-9a-fA-F]{32,})?"
).fullmatch
_MODE = 0o644
_DISABLED_PROJECTIONS = ("clusterTrustBundle", "podCertificate")
"""They wait for the feature gates ClusterTrustBundleProjection and PodCertificateRequest, off in Kubernetes 1.36."""
_VOLUME_MODES = ("configMap", "secret", "downwardAPI", "projected")


def default_pod(pod: JsonObject) -> None:
    """Defaults of a Pod object: its spec's, requests taken from limits, service links, host ports."""
    spec = pod.setdefault("spec", {})
    default_pod_spec(spec)
    if spec["terminationGracePeriodSeconds"] < 0:
        spec["terminationGracePeriodSeconds"] = 1
    spec.setdefault("enableServiceLinks", True)
    containers = spec.get("containers") or ()
    for container in (*containers, *spec["initContainers"]) if "initContainers" in spec else containers:
        resources = container["resources"]
        if limits := resources.get("limits"):
            requests = resources.setdefault("requests", {})
            for name, quantity in limits.items():
                requests.setdefault(name, quantity)
    if spec.get("hostNetwork"):
        _default_host_ports(spec)
    if spec.get("resources"):
        _default_pod_resources(spec)


def _default_host_ports(spec: JsonObject) -> None:
    """In the host's network a container port is a port of the host."""
    for field in ("containers", "initContainers"):
        for container in spec.get(field) or ():
            for port in container.get("ports") or ():
                if not port.get("hostPort"):
                    port["hostPort"] = port.get("containerPort", 0)


def _default_pod_resources(spec: JsonObject) -> None:
    """Pod-level huge pages and requests from what the containers ask for, else requests from the limits."""
    resources = spec["resources"]
    if not resources.get("limits") and not resources.get("requests"):
        return
    for name, amount in aggregate(spec, "limits").items():
        if is_huge_page(name) and name not in (resources.get("requests") or {}):
            resources.setdefault("limits", {}).setdefault(name, amount.text)
    if not resources.get("limits"):
        return
    requests = resources.setdefault("requests", {})
    for name, amount in aggregate(spec, "requests").items():
        if name in ("cpu", "memory"):
            requests.setdefault(name, amount.text)
    for name, quantity in resources["limits"].items():
        if is_pod_level(name):
            requests.setdefault(name, quantity)
    if not requests:
        del resources["requests"]


def default_pod_template(template: JsonObject) -> None:
    """Defaults of a PodTemplateSpec, as workloads carry it."""
    template.setdefault("metadata", {})
    default_pod_spec(template.setdefault("spec", {}))


def default_pod_spec(spec: JsonObject) -> None:
    """Defaults that pods and templates share."""
    spec.setdefault("restartPolicy", "Always")
    spec.setdefault("terminationGracePeriodSeconds", 30)
    spec.setdefault("dnsPolicy", "ClusterFirst")
    spec.setdefault("securityContext", {})
    spec.setdefault("schedulerName", "default-scheduler")
    for container in spec.get("containers") or ():
        default_container(container)
    if "initContainers" in spec:
        for container in spec["initContainers"] or ():
            default_container(container)
    if "ephemeralContainers" in spec:
        for container in spec["ephemeralContainers"] or ():
            default_container(container)
    for volume in spec.get("volumes") or ():
        default_volume(volume)
    spec.pop("schedulingGroup", None)  # waits for the feature gate GenericWorkload
    if "serviceAccount" in spec or "serviceAccountName" in spec:
        _default_service_account(spec)


def _default_service_account(spec: JsonObject) -> None:
    """`serviceAccount` is the old name of `serviceAccountName`; both are always shown, the new one rules."""
    name = spec.get("serviceAccountName") or spec.get("serviceAccount")
    if name:
        spec["serviceAccountName"] = spec["serviceAccount"] = name


def _drop_disabled(container: JsonObject) -> None:
    """A stop signal waits for the feature gate ContainerStopSignals, which is off in Kubernetes 1.36."""
    lifecycle = {key: value for key, value in container.pop("lifecycle").items() if key != "stopSignal"}
    if lifecycle:
        container["lifecycle"] = lifecycle


def default_container(container: JsonObject) -> None:
    if "imagePullPolicy" not in container:
        container["imagePullPolicy"] = pull_policy(container.get("image", ""))
    container.setdefault("resources", {})
    container.setdefault("terminationMessagePath", "/dev/termination-log")
    container.setdefault("terminationMessagePolicy", "File")
    for port in container.get("ports") or ():
        port.setdefault("protocol", "TCP")
    for variable in container.get("env") or ():
        if reference := (variable.get("valueFrom") or {}).get("fieldRef"):
            reference.setdefault("apiVersion", "v1")
    for kind in ("livenessProbe", "readinessProbe", "startupProbe"):
        if kind in container:
            _default_probe(container[kind])
    if container.get("lifecycle") and "stopSignal" in container["lifecycle"]:
        _drop_disabled(container)
    for handler in (container.get("lifecycle") or {}).values():
        if isinstance(handler, dict) and "httpGet" in handler:
            _default_http_get(handler["httpGet"])


def pull_policy(image: str) -> str:
    """Always for the tag `latest` or none at all (without a digest), IfNotPresent otherwise and for bad references."""
    match = _REFERENCE(image)
    if match is None or (image != image.lower() and _has_upper_name(image)):
        return "IfNotPresent"
    tag = match["tag"]
    if tag is None:
        tag = "" if match["digest"] else "latest"
    return "Always" if tag == "latest" else "IfNotPresent"


def _has_upper_name(image: str) -> bool:
    """Whether capitals stand where references have none: after the registry, before tag and digest."""
    name = image.partition("@")[0]
    head, slash, path = name.partition("/")
    path = path if slash else head
    return any(letter.isupper() for letter in path.partition(":")[0])


def _default_probe(probe: JsonObject) -> None:
    for field, value in (
        ("timeoutSeconds", 1),
        ("periodSeconds", 10),
        ("successThreshold", 1),
        ("failureThreshold", 3),
    ):
        if not probe.get(field):
            probe[field] = value
    if "httpGet" in probe:
        _default_http_get(probe["httpGet"])
    if "grpc" in probe:
        probe["grpc"].setdefault("service", "")


def _default_http_get(action: JsonObject) -> None:
    if not action.get("path"):
        action["path"] = "/"
    if not action.get("scheme"):
        action["scheme"] = "HTTP"


def default_volume(volume: JsonObject) -> None:
    """The source of a volume: an empty directory where none is named, file modes, and the rest of core/v1's."""
    if not (volume.keys() - {"name"}):
        volume["emptyDir"] = {}
        return
    for field in _VOLUME_MODES:
        if field in volume:
            volume[field].setdefault("defaultMode", _MODE)
    if "downwardAPI" in volume:
        _default_downward_items(volume["downwardAPI"])
    for source in (volume.get("projected") or {}).get("sources") or ():
        if "serviceAccountToken" in source:
            source["serviceAccountToken"].setdefault("expirationSeconds", 3600)
        if "downwardAPI" in source:
            _default_downward_items(source["downwardAPI"])
        for kind in _DISABLED_PROJECTIONS:
            source.pop(kind, None)
    if "hostPath" in volume:
        volume["hostPath"].setdefault("type", "")
    if "image" in volume and not volume["image"].get("pullPolicy"):
        volume["image"]["pullPolicy"] = pull_policy(volume["image"].get("reference", ""))
    if "ephemeral" in volume:
        template = volume["ephemeral"].get("volumeClaimTemplate") or {}
        claim = template.setdefault("spec", {})
        claim.setdefault("volumeMode", "Filesystem")
        (claim.get("resources") or {}).pop("claims", None)
    _default_network_disks(volume)


def _default_downward_items(source: JsonObject) -> None:
    for item in source.get("items") or ():
        if reference := item.get("fieldRef"):
            reference.setdefault("apiVersion", "v1")


def _default_network_disks(volume: JsonObject) -> None:
    if "iscsi" in volume:
        volume["iscsi"].setdefault("iscsiInterface", "default")
    if "rbd" in volume:
        for field, value in (("pool", "rbd"), ("user", "admin"), ("keyring", "/etc/ceph/keyring")):
            volume["rbd"].setdefault(field, value)
    if "azureDisk" in volume:
        for field, setting in (
            ("cachingMode", "ReadWrite"),
            ("kind", "Shared"),
            ("fsType", "ext4"),
            ("readOnly", False),
        ):
            volume["azureDisk"].setdefault(field, setting)
    if "scaleIO" in volume:
        volume["scaleIO"].setdefault("storageMode", "ThinProvisioned")
        volume["scaleIO"].setdefault("fsType", "xfs")
