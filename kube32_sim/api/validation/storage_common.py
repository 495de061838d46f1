"""What volumes and claims have in common: access modes, sizes, names of classes."""

from __future__ import annotations

from typing import Any

from kube32_sim.api.errors import FieldError, forbidden_field, invalid_value, not_supported
from kube32_sim.api.validation import names
from kube32_sim.api.validation.config_limits import nanos

JsonObject = dict[str, Any]

MODES = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
VOLUME_MODES = ("Block", "Filesystem")
_ONE_POD = "may not use ReadWriteOncePod with other access modes"
_NOT_POSITIVE = "must be greater than zero"


def access_modes(spec: JsonObject, path: str) -> list[FieldError]:
    """Failures of the modes that are there."""
    modes = spec.get("accessModes") or []
    found = [not_supported(path, mode, MODES) for mode in modes if mode not in MODES]
    if "ReadWriteOncePod" in modes and any(mode in MODES and mode != "ReadWriteOncePod" for mode in modes):
        found.append(forbidden_field(path, _ONE_POD))
    return found


def positive(value: Any, path: str) -> list[FieldError]:
    return [invalid_value(path, str(value), _NOT_POSITIVE)] if nanos(value) <= 0 else []


def class_name(name: Any, path: str) -> list[FieldError]:
    return [invalid_value(path, name, why) for why in names.dns1123_subdomain(name)] if name else []
