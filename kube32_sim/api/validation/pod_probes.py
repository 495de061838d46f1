"""Validation of probes and lifecycle hooks: one handler each, and sensible numbers."""

from __future__ import annotations

from typing import Any

from kube32_sim.api.errors import NOT_NEGATIVE, FieldError, forbidden_field, invalid_value, not_supported, required
from kube32_sim.api.validation.names import http_header_name, port_name, port_number

JsonObject = dict[str, Any]

PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_PROBE_HANDLERS = ("exec", "httpGet", "tcpSocket", "grpc")
_HOOK_HANDLERS = ("exec", "httpGet", "tcpSocket", "sleep")
_NUMBERS = ("initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold")


def validate_probe(kind: str, probe: JsonObject, path: str) -> list[FieldError]:
    """kind: one of PROBES."""
    found = _validate_handler(probe, _PROBE_HANDLERS, None, path)
    for field in _NUMBERS:
        if probe.get(field, 0) < 0:
            found.append(invalid_value(f"{path}.{field}", probe[field], NOT_NEGATIVE))
    grace = probe.get("terminationGracePeriodSeconds")
    if grace is not None and grace <= 0:
        found.append(invalid_value(f"{path}.terminationGracePeriodSeconds", grace, "must be greater than 0"))
    if kind == "readinessProbe":
        if grace is not None:
            why = "must not be set for readinessProbes"
            found.append(invalid_value(f"{path}.terminationGracePeriodSeconds", grace, why))
    elif probe.get("successThreshold", 0) != 1:
        found.append(invalid_value(f"{path}.successThreshold", probe.get("successThreshold", 0), "must be 1"))
    return found


def validate_lifecycle(lifecycle: JsonObject, grace: int | None, path: str) -> list[FieldError]:
    found: list[FieldError] = []
    for hook in ("postStart", "preStop"):
        if hook in lifecycle:
            found += _validate_handler(lifecycle[hook], _HOOK_HANDLERS, grace, f"{path}.{hook}")
    return found


def _validate_handler(owner: JsonObject, kinds: tuple[str, ...], grace: int | None, path: str) -> list[FieldError]:
    given = [kind for kind in kinds if kind in owner]
    if not given:
        return [required(path, "must specify a handler type")]
    found = _validate_action(given[0], owner[given[0]], grace, f"{path}.{given[0]}")
    why = "may not specify more than 1 handler type"
    return found + [forbidden_field(f"{path}.{kind}", why) for kind in given[1:]]


def _validate_action(kind: str, action: JsonObject, grace: int | None, path: str) -> list[FieldError]:
    if kind == "exec":
        return [] if action.get("command") else [required(f"{path}.command")]
    if kind == "httpGet":
        return _validate_http_get(action, path)
    if kind == "sleep":
        seconds = action.get("seconds", 0)
        if grace is None or 0 <= seconds <= grace:
            return []
        why = f"must be non-negative and less than terminationGracePeriodSeconds ({grace})"
        return [invalid_value(path, seconds, why)]
    return validate_port(action.get("port", 0), f"{path}.port")


def _validate_http_get(action: JsonObject, path: str) -> list[FieldError]:
    found: list[FieldError] = []
    if not action.get("path"):
        found.append(required(f"{path}.path"))
    found += validate_port(action.get("port", 0), f"{path}.port")
    if action.get("scheme") not in ("HTTP", "HTTPS"):
        found.append(not_supported(f"{path}.scheme", action.get("scheme", ""), ("HTTP", "HTTPS")))
    for header in action.get("httpHeaders") or ():
        name = header.get("name", "")
        found += [invalid_value(f"{path}.httpHeaders", name, why) for why in http_header_name(name)]
    return found


def validate_port(port: int | str, path: str) -> list[FieldError]:
    """A port by number or by name."""
    reasons = port_name(port) if isinstance(port, str) else port_number(port)
    return [invalid_value(path, port, why) for why in reasons]
