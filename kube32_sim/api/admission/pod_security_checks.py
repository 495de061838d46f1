"""The Pod Security Standards: what the levels `baseline` and `restricted` forbid in a pod spec.

Each check answers at most one text, `reason (detail)`, worded as upstream's admission words it; their order is that of
the answers.  Where a restricted check is a stricter form of a baseline one, `restricted` has only the stricter.
A version of the standards is the minor version of the Kubernetes that they came with.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, partial
from typing import Any

JsonObject = dict[str, Any]
Check = Callable[[JsonObject], str]


def _words(*lines: str) -> frozenset[str]:
    return frozenset(word for line in lines for word in line.split())


_DEFAULT_CAPABILITIES = _words(
    "AUDIT_WRITE CHOWN DAC_OVERRIDE FOWNER FSETID KILL MKNOD NET_BIND_SERVICE SETFCAP SETGID SETPCAP SETUID SYS_CHROOT"
)
_SAFE_SYSCTLS: dict[int, frozenset[str]] = {
    0: _words(
        "kernel.shm_rmid_forced net.ipv4.ip_local_port_range net.ipv4.ip_unprivileged_port_start",
        "net.ipv4.tcp_syncookies net.ipv4.ping_group_range",
    ),
    27: _words("net.ipv4.ip_local_reserved_ports"),
    29: _words(
        "net.ipv4.tcp_keepalive_time net.ipv4.tcp_fin_timeout net.ipv4.tcp_keepalive_intvl",
        "net.ipv4.tcp_keepalive_probes",
    ),
    32: _words("net.ipv4.tcp_rmem net.ipv4.tcp_wmem"),
}
_SAFE_VOLUMES = _words("configMap csi downwardAPI emptyDir ephemeral persistentVolumeClaim projected secret image")
_SE_LINUX_TYPES = ("", "container_t", "container_init_t", "container_kvm_t")
LEVELS = ("baseline", "restricted")


def violations(spec: JsonObject, level: str, version: str = "latest") -> str:
    """What a pod spec does that a level forbids, in one text; "" where nothing."""
    return ", ".join(text for check in _checks(level, version) if (text := check(spec)))


def violated(spec: JsonObject, level: str, version: str = "latest") -> list[str]:
    """The same without who does it."""
    return [text.partition(" (")[0] for check in _checks(level, version) if (text := check(spec))]


def _containers(spec: JsonObject) -> Iterator[JsonObject]:
    for field in ("initContainers", "containers", "ephemeralContainers"):
        yield from spec.get(field) or ()


def _security(owner: JsonObject) -> JsonObject:
    found: JsonObject = owner.get("securityContext") or {}
    return found


def _plural(word: str, count: int) -> str:
    return word if count == 1 else f"{word}s"


def _quoted(names: Iterable[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)


def _named(containers: Sequence[JsonObject]) -> str:
    """`container "a"`, or `containers "a", "b"`."""
    return f"{_plural('container', len(containers))} {_quoted(each.get('name', '') for each in containers)}"


def _where(spec: JsonObject, wrong: Callable[[JsonObject], object], *, pod: bool = True) -> str:
    """Who does what `wrong` looks for: `pod and container "a"`; "" where nobody."""
    found = [each for each in _containers(spec) if wrong(each)]
    setters = [*(["pod"] if pod and wrong(spec) else []), *([_named(found)] if found else [])]
    return " and ".join(setters)


def _told(reason: str, *details: str) -> str:
    given = [detail for detail in details if detail]
    return f"{reason} ({'; '.join(given)})" if given else ""


def _does(who: str, text: str) -> str:
    return f"{who} {text}" if who else ""


def _app_armor(spec: JsonObject) -> str:
    who = _where(spec, lambda owner: (_security(owner).get("appArmorProfile") or {}).get("type") == "Unconfined")
    return _told("forbidden AppArmor profile", _does(who, 'must not set AppArmor profile type to "Unconfined"'))


def _capabilities(container: JsonObject, kind: str) -> list[str]:
    return list((_security(container).get("capabilities") or {}).get(kind) or ())


def _added_capabilities(spec: JsonObject, allowed: frozenset[str]) -> str:
    who = _where(spec, lambda each: set(_capabilities(each, "add")) - allowed, pod=False)
    names = sorted({name for each in _containers(spec) for name in _capabilities(each, "add")} - allowed)
    return _does(who, f"must not include {_quoted(names)} in securityContext.capabilities.add")


def _capabilities_baseline(spec: JsonObject) -> str:
    return _told("non-default capabilities", _added_capabilities(spec, _DEFAULT_CAPABILITIES))


def _host_namespaces(spec: JsonObject) -> str:
    shared = [f"{field}=true" for field in ("hostNetwork", "hostPID", "hostIPC") if spec.get(field)]
    return _told("host namespaces", ", ".join(shared))


def _host_path_volumes(spec: JsonObject) -> str:
    names = [volume.get("name", "") for volume in spec.get("volumes") or () if "hostPath" in volume]
    return _told("hostPath volumes", f"{_plural('volume', len(names))} {_quoted(names)}" if names else "")


def _host_ports(spec: JsonObject) -> str:
    using = [each for each in _containers(spec) if any(port.get("hostPort") for port in each.get("ports") or ())]
    if not using:
        return ""
    ports = sorted({str(port["hostPort"]) for each in using for port in each["ports"] if port.get("hostPort")})
    verb = "uses" if len(using) == 1 else "use"
    return _told("hostPort", f"{_named(using)} {verb} {_plural('hostPort', len(ports))} {', '.join(ports)}")


def _handler_hosts(container: JsonObject) -> set[str]:
    handlers = [container.get(kind) for kind in ("livenessProbe", "readinessProbe", "startupProbe")]
    handlers += [(container.get("lifecycle") or {}).get(hook) for hook in ("postStart", "preStop")]
    actions = [(handler or {}).get(kind) or {} for handler in handlers for kind in ("httpGet", "tcpSocket")]
    return {action["host"] for action in actions if action.get("host")}


def _handlers(spec: JsonObject) -> str:
    using = [each for each in _containers(spec) if _handler_hosts(each)]
    if not using:
        return ""
    hosts = sorted(set().union(*(_handler_hosts(each) for each in using)))
    verb = "uses" if len(using) == 1 else "use"
    word = _plural("probe or lifecycle host", len(hosts))
    using.sort(key=lambda each: str(each.get("name", "")))
    return _told("probe or lifecycle host", f"{_named(using)} {verb} {word} {_quoted(hosts)}")


def _privileged(spec: JsonObject) -> str:
    who = _where(spec, lambda each: _security(each).get("privileged"), pod=False)
    return _told("privileged", _does(who, "must not set securityContext.privileged=true"))


def _proc_mount(spec: JsonObject) -> str:
    kinds = sorted({_security(each).get("procMount", "Default") for each in _containers(spec)} - {"Default"})
    who = _where(spec, lambda each: _security(each).get("procMount", "Default") != "Default", pod=False)
    return _told("procMount", _does(who, f"must not set securityContext.procMount to {_quoted(kinds)}"))


def _se_linux(allowed: Sequence[str], spec: JsonObject) -> str:
    def options(owner: JsonObject) -> JsonObject:
        found: JsonObject = _security(owner).get("seLinuxOptions") or {}
        return found

    def wrong(owner: JsonObject) -> bool:
        given = options(owner)
        return bool(given.get("type", "") not in allowed or given.get("user") or given.get("role"))

    owners = [spec, *_containers(spec)]
    kinds = sorted({options(owner).get("type", "") for owner in owners}.difference(allowed))
    details = [f"{_plural('type', len(kinds))} {_quoted(kinds)}"] if kinds else []
    details += [f"{key} may not be set" for key in ("user", "role") if any(options(owner).get(key) for owner in owners)]
    text = f"set forbidden securityContext.seLinuxOptions: {'; '.join(details)}"
    return _told("seLinuxOptions", _does(_where(spec, wrong), text))


def _unconfined(owner: JsonObject) -> bool:
    return bool((_security(owner).get("seccompProfile") or {}).get("type") == "Unconfined")


def _seccomp_baseline(spec: JsonObject) -> str:
    text = 'must not set securityContext.seccompProfile.type to "Unconfined"'
    return _told("seccompProfile", _does(_where(spec, _unconfined), text))


def _sysctls(allowed: frozenset[str], spec: JsonObject) -> str:
    names = [each.get("name", "") for each in _security(spec).get("sysctls") or ()]
    return _told("forbidden sysctls", ", ".join(name for name in names if name not in allowed))


def _host_process(spec: JsonObject) -> str:
    who = _where(spec, lambda owner: (_security(owner).get("windowsOptions") or {}).get("hostProcess"))
    return _told("hostProcess", _does(who, "must not set securityContext.windowsOptions.hostProcess=true"))


def _escalation(spec: JsonObject) -> str:
    who = _where(spec, lambda each: _security(each).get("allowPrivilegeEscalation") is not False, pod=False)
    text = "must set securityContext.allowPrivilegeEscalation=false"
    return _told("allowPrivilegeEscalation != false", _does(who, text))


def _capabilities_restricted(spec: JsonObject) -> str:
    kept = _where(spec, lambda each: "ALL" not in _capabilities(each, "drop"), pod=False)
    text = 'must set securityContext.capabilities.drop=["ALL"]'
    added = _added_capabilities(spec, frozenset(("NET_BIND_SERVICE",)))
    return _told("unrestricted capabilities", _does(kept, text), added)


def _restricted_volumes(spec: JsonObject) -> str:
    wrong = [volume for volume in spec.get("volumes") or () if not volume.keys() & _SAFE_VOLUMES]
    if not wrong:
        return ""
    kinds = sorted({kind for volume in wrong for kind in volume if kind != "name"})
    head = f"{_plural('volume', len(wrong))} {_quoted(volume.get('name', '') for volume in wrong)}"
    verb = "uses" if len(wrong) == 1 else "use"
    text = f"{head} {verb} restricted volume {_plural('type', len(kinds))} {_quoted(kinds)}"
    return _told("restricted volume types", text)


def _non_root(spec: JsonObject) -> str:
    refused = _where(spec, lambda owner: _security(owner).get("runAsNonRoot") is False)
    silent = [each for each in _containers(spec) if _security(each).get("runAsNonRoot") is None]
    text = _does(refused, "must not set securityContext.runAsNonRoot=false")
    if not refused and silent and not _security(spec).get("runAsNonRoot"):
        text = f"pod or {_named(silent)} must set securityContext.runAsNonRoot=true"
    return _told("runAsNonRoot != true", text)


def _root_user(spec: JsonObject) -> str:
    who = _where(spec, lambda owner: _security(owner).get("runAsUser") == 0)
    return _told("runAsUser=0", _does(who, "must not set runAsUser=0"))


def _seccomp_restricted(spec: JsonObject) -> str:
    found = _seccomp_baseline(spec)
    silent = [each for each in _containers(spec) if "seccompProfile" not in _security(each)]
    if not found and silent and "seccompProfile" not in _security(spec):
        text = 'must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"'
        return _told("seccompProfile", f"pod or {_named(silent)} {text}")
    return found


def _not_on_windows(check: Check) -> Check:
    """A check of what Windows does not have."""
    return lambda spec: "" if (spec.get("os") or {}).get("name") == "windows" else check(spec)


def _not_among_own_users(check: Check) -> Check:
    """A check of what does not matter where a pod has users of its own."""
    return lambda spec: "" if spec.get("hostUsers") is False else check(spec)


@cache
def _checks(level: str, version: str) -> tuple[Check, ...]:
    """The checks of a level in their order, as they were in that version: `latest`, or `v1.` and a number."""
    minor = _NEWEST if version == "latest" else min(int(version.removeprefix("v1.")), _NEWEST)
    sysctls = frozenset[str]().union(*(names for since, names in _SAFE_SYSCTLS.items() if since <= minor))
    types = (*_SE_LINUX_TYPES, "container_engine_t") if minor >= 31 else _SE_LINUX_TYPES
    restricted = level == "restricted"
    windows = _not_on_windows if minor >= 25 else _always
    users = _not_among_own_users if minor >= 35 else _always
    table: tuple[tuple[bool, Check], ...] = (
        (True, _app_armor),
        (not restricted or minor < 22, _capabilities_baseline),
        (True, _host_namespaces),
        (not restricted, _host_path_volumes),
        (True, _host_ports),
        (minor >= 34, _handlers),
        (True, _privileged),
        (not restricted or minor < 35, users(_proc_mount)),
        (True, partial(_se_linux, types)),
        (not restricted and minor >= 19, _seccomp_baseline),
        (True, partial(_sysctls, sysctls)),
        (True, _host_process),
        (restricted and minor >= 8, windows(_escalation)),
        (restricted and minor >= 22, windows(_capabilities_restricted)),
        (restricted and minor >= 35, _proc_mount),
        (restricted, _restricted_volumes),
        (restricted, users(_non_root)),
        (restricted and minor >= 23, users(_root_user)),
        (restricted and minor >= 19, windows(_seccomp_restricted)),
    )
    return tuple(check for there, check in table if there)


def _always(check: Check) -> Check:
    return check


_NEWEST = 36
