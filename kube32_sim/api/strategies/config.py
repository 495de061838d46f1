"""Configuration: ConfigMap, Secret, LimitRange, ResourceQuota, PriorityClass, RBAC, certificates, aggregated APIs.

The other kinds by which a cluster is extended are in `admission_registration` and `custom_definitions`.
"""

from __future__ import annotations

import base64
from typing import Any

from kube32_sim.api.errors import FieldError, forbidden_field
from kube32_sim.api.rbac import escalation
from kube32_sim.api.strategies.base import Context, Strategy
from kube32_sim.api.strategies.spec import ALL_METADATA, CreatedByPut, SpecStrategy, Unversioned
from kube32_sim.api.validation import config_data as data
from kube32_sim.api.validation import config_extend as extend
from kube32_sim.api.validation import config_limits as limits
from kube32_sim.api.validation import config_rbac as rbac
from kube32_sim.api.validation.names import path_segment
from kube32_sim.api.validation.workloads_common import immutable

JsonObject = dict[str, Any]


class ConfigMap(Strategy):
    def validate(self, obj: JsonObject, context: Context) -> list[FieldError]:
        return data.validate_config_map(obj)

    def validate_update(self, obj: JsonObject, old: JsonObject, context: Context) -> list[FieldError]:
        return data.locked(obj, old, "data", "binaryData") + data.validate_config_map(obj)


class Secret(Strategy):
    """`stringData` is for writing only: its values go into `data`, over what is there."""

    def default(self, obj: JsonObject) -> None:
        if not obj.get("type"):
            obj["type"] = "Opaque"
        texts = obj.pop("stringData", None)
        if texts:
            encoded = {key: base64.b64encode(text.encode("utf-8", "surrogatepass")) for key, text in texts.items()}
            obj["data"] = (obj.get("data") or {}) | {key: value.decode() for key, value in encoded.items()}

    def validate(self, obj: JsonObject, context: Context) -> list[FieldError]:
        return data.validate_secret(obj)

    def validate_update(self, obj: JsonObject, old: JsonObject, context: Context) -> list[FieldError]:
        found = data.secret_type_fixed(obj, old)
        return found + data.locked(obj, old, "data") + data.validate_secret(obj)

    def warnings(self, obj: JsonObject, old: JsonObject | None, context: Context) -> list[str]:
        return data.secret_warnings(obj)


class LimitRange(CreatedByPut):
    def default_spec(self, obj: JsonObject, spec: JsonObject) -> None:
        for limit in spec.get("limits") or ():
            if limit.get("type") == "Container":
                _default_limit(limit)

    def validate(self, obj: JsonObject, context: Context) -> list[FieldError]:
        return limits.validate_limit_range(obj["spec"])


def _default_limit(limit: JsonObject) -> None:
    """A container's default limit is its maximum, its default request the default limit, or else the minimum."""
    default = (limit.get("max") or {}) | (limit.get("default") or {})
    request = (limit.get("min") or {}) | default | (limit.get("defaultRequest") or {})
    if default:
        limit["default"] = default
    if request:
        limit["defaultRequest"] = request


class ResourceQuota(SpecStrategy):
    returns_deleted = True

    def validate(self, obj: JsonObject, context: Context) -> list[FieldError]:
        return limits.validate_quota(obj["spec"])

    def validate_update(self, obj: JsonObject, old: JsonObject, context: Context) -> list[FieldError]:
        return self.validate(obj, context) + limits.quota_scopes_fixed(obj["spec"], old["spec"])

    def validate_status_update(self, obj: JsonObject, old: JsonObject, context: Context) -> list[FieldError]:
        return limits.validate_quota_status(obj.get("status") or {})


class PriorityClass(Strategy):
    """Its generation stays 1: nothing that counts may change."""

    def default(self, obj: JsonObject) -> None:
        obj.setdefault("value", 0)
        obj.setdefault("preemptionPolicy", "PreemptLowerPriority")

    def spec_of(self, obj: JsonObject) -> JsonObject:
        return {}

    def validate(self, obj: JsonObject, context: Context) -> list[FieldError]:
        return rbac.validate_priority_class(obj)

    def validate_update(self, obj: JsonObject, old: JsonObject, context: Context) -> list[FieldError]:
        found: list[FieldError] = []
        if obj.get("value") != old.get("value"):
            found.append(forbidden_field("value", "may not be changed in an update."))
        policy = obj.get("preemptionPolicy")
        return found + immutable(policy, old.get("preemptionPolicy"), "preemptionPolicy")


class _Rbac(Strategy):
    create_on_update = True

    def __init__(self, *, namespaced: bool) -> None:
        self.namespaced = namespaced

    def validate_name(self, name: str, *, prefix: bool) -> list[str]:
        return path_segment(name, prefix=prefix)


class Role(_Rbac):
    def prepare_create(self, obj: JsonObject, context: Context) -> None:
        super().prepare_create(obj, context)
        escalation.check_role(obj, None, context, context.row.plural)

    def prepare_update(self, obj: JsonObject, old: JsonObject, context: Context) -> None:
        super().prepare_update(obj, old, context)
        escalation.check_role(obj, old, context, context.row.plural)

    def validate(self, obj: JsonObject, context: Context) -> list[FieldError]:
        return rbac.validate_rules(obj, self.namespaced) + rbac.validate_aggregation(obj)


class RoleBinding(_Rbac):
    def prepare_create(self, obj: JsonObject, context: Context) -> None:
        super().prepare_create(obj, context)
        escalation.check_binding(obj, None, context, context.row.plural)

    def prepare_update(self, obj: JsonObject, old: JsonObject, context: Context) -> None:
        super().prepare_update(obj, old, context)
        escalation.check_binding(obj, old, context, context.row.plural)

    def default(self, obj: JsonObject) -> None:
        reference = obj.setdefault("roleRef", {})
        if not reference.get("apiGroup"):
            reference["apiGroup"] = rbac.GROUP
        for subject in obj.get("subjects") or ():
            if not subject.get("apiGroup") and subject.get("kind") in ("User", "Group"):
                subject["apiGroup"] = rbac.GROUP

    def validate(self, obj: JsonObject, context: Context) -> list[FieldError]:
        return rbac.validate_binding(obj, self.namespaced)

    def validate_update(self, obj: JsonObject, old: JsonObject, context: Context) -> list[FieldError]:
        return self.validate(obj, context) + rbac.role_fixed(obj, old)


class CertificateSigningRequest(SpecStrategy):
    """Who asks is written by the server; the spec never changes, and approval is a subresource of its own."""

    def prepare_create(self, obj: JsonObject, context: Context) -> None:
        super().prepare_create(obj, context)
        spec = obj["spec"]
        for name in ("username", "groups", "uid", "extra"):
            spec.pop(name, None)
        spec.update(context.user.info())

    def prepare_update(self, obj: JsonObject, old: JsonObject, context: Context) -> None:
        conditions = (obj.get("status") or {}).get("conditions") or []
        super().prepare_update(obj, old, context)
        obj["spec"] = old["spec"]
        if context.subresource == "approval":
            timed = _timed(conditions, _conditions(old), context.now)
            obj["status"] = {**(old.get("status") or {}), "conditions": timed}

    def prepare_status_update(self, obj: JsonObject, old: JsonObject, context: Context) -> None:
        super().prepare_status_update(obj, old, context)
        if conditions := _conditions(obj):
            timed = _timed(conditions, _conditions(old), context.now)
            obj["status"] = {**obj["status"], "conditions": timed}

    def validate_name(self, name: str, *, prefix: bool) -> list[str]:
        return path_segment(name, prefix=prefix)

    def validate(self, obj: JsonObject, context: Context) -> list[FieldError]:
        return extend.validate_signing_request(obj)

    def validate_update(self, obj: JsonObject, old: JsonObject, context: Context) -> list[FieldError]:
        return self.validate(obj, context) + extend.signing_request_fixed(obj, old, context.subresource)

    def validate_status_update(self, obj: JsonObject, old: JsonObject, context: Context) -> list[FieldError]:
        return self.validate_update(obj, old, context)


def _conditions(obj: JsonObject) -> list[JsonObject]:
    return (obj.get("status") or {}).get("conditions") or []


def _timed(conditions: list[JsonObject], before: list[JsonObject], now: str) -> list[JsonObject]:
    """Conditions with the times that are missing: now, but a status that was so before keeps the time it came about."""
    since = {(each.get("type"), each.get("status")): each.get("lastTransitionTime") for each in before}
    return [
        each
        | {
            "lastUpdateTime": each.get("lastUpdateTime") or now,
            "lastTransitionTime": each.get("lastTransitionTime")
            or since.get((each.get("type"), each.get("status")))
            or now,
        }
        for each in conditions
    ]


_LOCAL = {
    "type": "Available",
    "status": "True",
    "reason": "Local",
    "message": "Local APIServices are always available",
}
"""What upstream says of an APIService without a service: the server itself serves its group."""
_NOT_FORWARDED = {
    "type": "Available",
    "status": "False",
    "reason": "NotForwarded",
    "message": "kube32-sim forwards no requests to other API servers",
}
"""What is said of one that leaves its group to another server."""


class ApiService(Unversioned):
    status_locks = ALL_METADATA

    def default_spec(self, obj: JsonObject, spec: JsonObject) -> None:
        service = spec.get("service")
        if service is not None:
            service.setdefault("port", 443)

    def prepare_create(self, obj: JsonObject, context: Context) -> None:
        super().prepare_create(obj, context)
        remote = (obj.get("spec") or {}).get("service")
        obj["status"] = {"conditions": [(_NOT_FORWARDED if remote else _LOCAL) | {"lastTransitionTime": context.now}]}

    def validate_name(self, name: str, *, prefix: bool) -> list[str]:
        return path_segment(name, prefix=prefix)

    def validate(self, obj: JsonObject, context: Context) -> list[FieldError]:
        return extend.validate_api_service(obj)

    def validate_status_update(self, obj: JsonObject, old: JsonObject, context: Context) -> list[FieldError]:
        return extend.validate_api_service_status(obj.get("status") or {})


_RBAC = "rbac.authorization.k8s.io"

STRATEGIES: dict[tuple[str, str], Strategy] = {
    ("", "ConfigMap"): ConfigMap(),
    ("", "Secret"): Secret(),
    ("", "LimitRange"): LimitRange(),
    ("", "ResourceQuota"): ResourceQuota(),
    ("scheduling.k8s.io", "PriorityClass"): PriorityClass(),
    (_RBAC, "Role"): Role(namespaced=True),
    (_RBAC, "ClusterRole"): Role(namespaced=False),
    (_RBAC, "RoleBinding"): RoleBinding(namespaced=True),
    (_RBAC, "ClusterRoleBinding"): RoleBinding(namespaced=False),
    ("certificates.k8s.io", "CertificateSigningRequest"): CertificateSigningRequest(),
    ("apiregistration.k8s.io", "APIService"): ApiService(),
}
