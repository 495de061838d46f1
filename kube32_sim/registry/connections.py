"""Subresources that need what runs on a real node: exec, attach, portforward and proxy are checked, then refused."""

from __future__ import annotations

from kube32_sim.api import errors
from kube32_sim.api.bodies import expected
from kube32_sim.api.dynamic_admission.request import CONNECT
from kube32_sim.api.paths import Query
from kube32_sim.api.steering import RUN_SECONDS
from kube32_sim.api.validation.addresses import sloppy_ip
from kube32_sim.registry.asked import Asked
from kube32_sim.registry.logs import check_node, container_named
from kube32_sim.registry.registry import Registry
from kube32_sim.storage.interface import JsonObject

_FLAGS = ("stdin", "stdout", "stderr", "tty")


async def admit(registry: Registry, asked: Asked, query: Query) -> None:
    """Ask those who want to know of connections; raises ApiError where one of them forbids it."""
    sub = asked.row.subresource(asked.subresource)
    if sub is not None:
        kind = expected(asked.row.group, asked.row.version, sub.kind)
        await registry.admit(asked, CONNECT, _options(sub.kind, query), kind)


def _options(kind: str, query: Query) -> JsonObject:
    """The query as the object that it stands for: PodExecOptions and the like."""
    first = {name: values[0] for name, values in query.items() if values}
    made: JsonObject = {name: True for name in _FLAGS if first.get(name, "").lower() in ("1", "t", "true")}
    if kind == "PodPortForwardOptions":
        ports = [int(port) for values in query.get("ports", ()) for port in values.split(",") if port.isdecimal()]
        return {"ports": ports} if ports else {}
    for name in ("container", "path"):
        if first.get(name):
            made[name] = first[name]
    if query.get("command"):
        made["command"] = list(query["command"])
    return made


async def refusal(registry: Registry, asked: Asked, container: str = "") -> errors.ApiError:
    """What to answer, since no containers run here; raises ApiError for what upstream refuses before it connects."""
    what, port = asked.subresource, ""
    if what == "proxy":
        name, port = _proxied(asked)
        asked = asked._replace(name=name)
    if asked.row.kind == "Service":
        await _check_service(registry, asked, port)
    else:
        obj = registry.get(asked).object()
        if asked.row.kind == "Pod":
            _check_pod(registry, obj, asked, container)
    message = f"{what} is not supported: {asked.row.kind.lower()} {asked.name} is simulated, nothing runs in it"
    if what == "attach":  # who attaches waits for the end
        message += f"; its annotation {RUN_SECONDS} says when it ends"
    return errors.not_implemented(message)


def _check_pod(registry: Registry, pod: JsonObject, asked: Asked, container: str) -> None:
    if asked.subresource == "proxy":
        if not _is_reachable(pod):
            raise errors.bad_request("address not allowed")
        return
    if asked.subresource != "portforward":
        container_named(pod, asked.name, container)
    if not pod["spec"].get("nodeName"):
        raise errors.bad_request(f"pod {asked.name} does not have a host assigned")
    check_node(registry, pod)


def _is_reachable(pod: JsonObject) -> bool:
    """Whether the pod has an address that a proxy may connect to."""
    status = pod.get("status") or {}
    addresses = status.get("podIPs") or [{"ip": status.get("podIP", "")}]
    address = sloppy_ip(addresses[0].get("ip", ""))
    return address is not None and not (
        address.is_loopback or address.is_link_local or address.is_multicast or address.is_unspecified
    )


async def _check_service(registry: Registry, asked: Asked, port: str) -> None:
    """A port that is given by its number is looked up in the Service; where to go then, in its Endpoints."""
    if port.isdecimal():
        registry.get(asked)
    row = registry.table.by_storage(("", "endpoints"))
    await registry.bring_up_to_date(row)
    registry.get(asked._replace(row=row, subresource=""))


def _proxied(asked: Asked) -> tuple[str, str]:
    """The object and the port in `name`, `name:port` or `scheme:name:port`."""
    parts = asked.name.split(":")
    scheme, name = (parts[0], parts[1]) if len(parts) == 3 else ("", parts[0])
    if len(parts) > 3 or not name or scheme not in ("", "http", "https"):
        kind = asked.row.kind.lower()
        raise errors.bad_request(f"invalid {kind} request {errors.go_value(asked.name)}")
    return name, parts[-1] if len(parts) > 1 else ""
