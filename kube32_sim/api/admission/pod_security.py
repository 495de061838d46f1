"""PodSecurity: the levels `baseline` and `restricted` that labels of a namespace ask for.

`enforce` refuses pods, `warn` only tells, also about the pods that a workload's template would make.  The checks and
their wording follow the Pod Security Standards as upstream's admission words them; the order is that of the answers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from kube32_sim.api.admission.lifecycle import NAMESPACES
from kube32_sim.api.admission.refusal import refuse
from kube32_sim.api.strategies.base import Context

JsonObject = dict[str, Any]
Check = Callable[[JsonObject], Sequence[str]]

_LABEL = "pod-security.kubernetes.io/"
TEMPLATES = {
    ("apps", "deployments"): ("spec", "template"),
    ("apps", "replicasets"): ("spec", "template"),
    ("apps", "daemonsets"): ("spec", "template"),
    ("apps", "statefulsets"): ("spec", "template"),
    ("", "replicationcontrollers"): ("spec", "template"),
    ("", "podtemplates"): ("template",),
    ("batch", "jobs"): ("spec", "template"),
    ("batch", "cronjobs"): ("spec", "jobTemplate", "spec", "template"),
}
"""Where workloads keep their pod template."""
_DEFAULT_CAPABILITIES = frozenset(
    (
        *("AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD", "NET_BIND_SERVICE"),
        *("SETFCAP", "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT"),
    )
)
_SAFE_SYSCTLS = frozenset(
    (
        *("kernel.shm_rmid_forced", "net.ipv4.ip_local_port_range", "net.ipv4.ip_unprivileged_port_start"),
        *("net.ipv4.tcp_syncookies", "net.ipv4.ping_group_range", "net.ipv4.ip_local_reserved_ports"),
        *("net.ipv4.tcp_keepalive_time", "net.ipv4.tcp_fin_timeout", "net.ipv4.tcp_keepalive_intvl"),
        *("net.ipv4.tcp_keepalive_probes", "net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"),
    )
)
_SAFE_VOLUMES = frozenset(
    (
        *("configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "persistentVolumeClaim", "projected"),
        *("secret", "image"),
    )
)


def _containers(spec: JsonObject) -> Iterator[JsonObject]:
    for field in ("initContainers", "containers", "ephemeralContainers"):
        yield from spec.get(field) or ()


def _security(owner: JsonObject) -> JsonObject:
    found: JsonObject = owner.get("securityContext") or {}
    return found


def _quoted(names: Sequence[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)


def _named(containers: Sequence[JsonObject], head: str = "") -> str:
    """`container "a"`, or `containers "a", "b"`."""
    word = "container" if len(containers) == 1 else "containers"
    return f"{head}{word} {_quoted([each.get('name', '') for each in containers])}"


def _told(reason: str, *details: str) -> list[str]:
    given = [detail for detail in details if detail]
    return [f"{reason} ({'; '.join(given)})"] if given else []


def _which(spec: JsonObject, wrong: Callable[[JsonObject], object], text: str) -> str:
    found = [each for each in _containers(spec) if wrong(each)]
    return f"{_named(found)} {text}" if found else ""


def _capabilities(container: JsonObject, kind: str) -> list[str]:
    return list((_security(container).get("capabilities") or {}).get(kind) or ())


def _app_armor(spec: JsonObject) -> list[str]:
    wrong = [
        f"{where} must not set AppArmor profile type to {_quoted([kind])}"
        for where, owner in (("pod", spec), *((_named([each]), each) for each in _containers(spec)))
        if (kind := (_security(owner).get("appArmorProfile") or {}).get("type")) == "Unconfined"
    ]
    return _told("forbidden AppArmor profile", *wrong)


def _added_capabilities(spec: JsonObject, allowed: frozenset[str]) -> str:
    wrong = [each for each in _containers(spec) if set(_capabilities(each, "add")) - allowed]
    names = sorted({name for each in wrong for name in _capabilities(each, "add")} - allowed)
    return f"{_named(wrong)} must not include {_quoted(names)} in securityContext.capabilities.add" if wrong else ""


def _capabilities_baseline(spec: JsonObject) -> list[str]:
    return _told("non-default capabilities", _added_capabilities(spec, _DEFAULT_CAPABILITIES))


def _host_namespaces(spec: JsonObject) -> list[str]:
    shared = [f"{field}=true" for field in ("hostNetwork", "hostPID", "hostIPC") if spec.get(field)]
    return _told("host namespaces", ", ".join(shared))


def _host_path_volumes(spec: JsonObject) -> list[str]:
    names = [volume.get("name", "") for volume in spec.get("volumes") or () if "hostPath" in volume]
    return _told("hostPath volumes", f"{'volume' if len(names) == 1 else 'volumes'} {_quoted(names)}" if names else "")


def _host_ports(spec: JsonObject) -> list[str]:
    using = [each for each in _containers(spec) if any(port.get("hostPort") for port in each.get("ports") or ())]
    ports = sorted({port["hostPort"] for each in using for port in each["ports"] if port.get("hostPort")})
    verb = "uses" if len(using) == 1 else "use"
    word = "hostPort" if len(ports) == 1 else "hostPorts"
    return _told("hostPort", f"{_named(using)} {verb} {word} {', '.join(map(str, ports))}" if using else "")


def _privileged(spec: JsonObject) -> list[str]:
    text = "must not set securityContext.privileged=true"
    return _told("privileged", _which(spec, lambda each: _security(each).get("privileged"), text))


def _proc_mount(spec: JsonObject) -> list[str]:
    wrong = [each for each in _containers(spec) if _security(each).get("procMount", "Default") != "Default"]
    kinds = sorted({_security(each)["procMount"] for each in wrong})
    return _told(
        "procMount", f"{_named(wrong)} must not set securityContext.procMount to {_quoted(kinds)}" if wrong else ""
    )


def _unconfined(owner: JsonObject) -> bool:
    return bool((_security(owner).get("seccompProfile") or {}).get("type") == "Unconfined")


def _unconfined_details(spec: JsonObject) -> tuple[str, str]:
    text = 'must not set securityContext.seccompProfile.type to "Unconfined"'
    return (f"pod {text}" if _unconfined(spec) else ""), _which(spec, _unconfined, text)


def _seccomp_baseline(spec: JsonObject) -> list[str]:
    return _told("seccompProfile", *_unconfined_details(spec))


def _sysctls(spec: JsonObject) -> list[str]:
    names = [each.get("name", "") for each in _security(spec).get("sysctls") or ()]
    return _told("forbidden sysctls", ", ".join(name for name in names if name not in _SAFE_SYSCTLS))


def _host_process(spec: JsonObject) -> list[str]:
    def wrong(owner: JsonObject) -> bool:
        return bool((_security(owner).get("windowsOptions") or {}).get("hostProcess"))

    text = "must not set securityContext.windowsOptions.hostProcess=true"
    return _told("hostProcess", f"pod {text}" if wrong(spec) else "", _which(spec, wrong, text))


def _escalation(spec: JsonObject) -> list[str]:
    def wrong(container: JsonObject) -> bool:
        return _security(container).get("allowPrivilegeEscalation") is not False

    text = "must set securityContext.allowPrivilegeEscalation=false"
    return _told("allowPrivilegeEscalation != false", _which(spec, wrong, text))


def _capabilities_restricted(spec: JsonObject) -> list[str]:
    kept = _which(
        spec,
        lambda each: "ALL" not in _capabilities(each, "drop"),
        'must set securityContext.capabilities.drop=["ALL"]',
    )
    return _told("unrestricted capabilities", kept, _added_capabilities(spec, frozenset(("NET_BIND_SERVICE",))))


def _restricted_volumes(spec: JsonObject) -> list[str]:
    wrong = [volume for volume in spec.get("volumes") or () if not volume.keys() & _SAFE_VOLUMES]
    if not wrong:
        return []
    kinds = sorted({kind for volume in wrong for kind in volume if kind != "name"})
    one = len(wrong) == 1
    head = f"{'volume' if one else 'volumes'} {_quoted([volume.get('name', '') for volume in wrong])}"
    word = "type" if len(kinds) == 1 else "types"
    text = f"{head} {'uses' if one else 'use'} restricted volume {word} {_quoted(kinds)}"
    return _told("restricted volume types", text)


def _non_root(spec: JsonObject) -> list[str]:
    pod = _security(spec).get("runAsNonRoot")
    said_no = [each for each in _containers(spec) if _security(each).get("runAsNonRoot") is False]
    silent = [each for each in _containers(spec) if _security(each).get("runAsNonRoot") is None]
    must_not = f"{_named(said_no)} must not set securityContext.runAsNonRoot=false" if said_no else ""
    pod_no = "pod must not set securityContext.runAsNonRoot=false" if pod is False and not said_no else ""
    unset = ""
    if pod is None and silent:
        unset = f"{_named(silent, 'pod or ')} must set securityContext.runAsNonRoot=true"
    return _told("runAsNonRoot != true", pod_no, must_not, unset)


def _root_user(spec: JsonObject) -> list[str]:
    pod = "pod must not set runAsUser=0" if _security(spec).get("runAsUser") == 0 else ""
    return _told(
        "runAsUser=0", pod, _which(spec, lambda each: _security(each).get("runAsUser") == 0, "must not set runAsUser=0")
    )


def _seccomp_restricted(spec: JsonObject) -> list[str]:
    missing = ""
    if "seccompProfile" not in _security(spec):
        silent = [each for each in _containers(spec) if "seccompProfile" not in _security(each)]
        if silent:
            text = 'must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"'
            missing = f"{_named(silent, 'pod or ')} {text}"
    return _told("seccompProfile", *_unconfined_details(spec), missing)


_BASELINE: tuple[Check, ...] = (
    _app_armor,
    _capabilities_baseline,
    _host_namespaces,
    _host_path_volumes,
    _host_ports,
    _privileged,
    _proc_mount,
    _seccomp_baseline,
    _sysctls,
    _host_process,
)
_RESTRICTED: tuple[Check, ...] = (
    _app_armor,
    _host_namespaces,
    _host_ports,
    _privileged,
    _proc_mount,
    _sysctls,
    _host_process,
    _escalation,
    _capabilities_restricted,
    _restricted_volumes,
    _non_root,
    _root_user,
    _seccomp_restricted,
)
_LEVELS = {"baseline": _BASELINE, "restricted": _RESTRICTED}


def violations(spec: JsonObject, level: str) -> str:
    """What a pod spec does that a level forbids, in one text; "" where nothing."""
    return ", ".join(text for check in _LEVELS.get(level, ()) for text in check(spec))


def _policy(context: Context, mode: str) -> tuple[str, str]:
    """(level, how messages call it) that the namespace asks for; ("", "") where it asks for nothing."""
    namespace = context.cluster.get(NAMESPACES, "", context.namespace)
    labels = ((namespace or {}).get("metadata") or {}).get("labels") or {}
    level = labels.get(_LABEL + mode, "")
    if level not in _LEVELS:
        return "", ""
    return level, f"{level}:{labels.get(f'{_LABEL}{mode}-version', 'latest')}"


def warnings(obj: JsonObject, context: Context) -> list[str]:
    """What the namespace wants to be told about a pod, or about the pods of a workload."""
    level, shown = _policy(context, "warn")
    if not level:
        return []
    spec: Any = obj
    for key in (*TEMPLATES.get(context.row.storage, ()), "spec"):
        spec = (spec or {}).get(key)
    wrong = violations(spec or {}, level)
    return [f'would violate PodSecurity "{shown}": {wrong}'] if wrong else []


def validate(obj: JsonObject, context: Context) -> None:
    """403 for a pod that the namespace's enforced level forbids."""
    level, shown = _policy(context, "enforce")
    wrong = violations(obj["spec"], level) if level else ""
    if wrong:
        raise refuse(context, obj, f'violates PodSecurity "{shown}": {wrong}')
