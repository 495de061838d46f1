"""Nodes, namespaces, leases, service accounts: kinds of the cluster itself that have rules of their own.

Events are in `events`, pods in `pods`, what users configure in `config` and its neighbours.
"""

from __future__ import annotations

from typing import Any

from kube32_sim.api.errors import NOT_NEGATIVE, FieldError, forbidden_field, invalid_value, not_supported
from kube32_sim.api.strategies.base import Context, Strategy
from kube32_sim.api.strategies.events import EventStrategy
from kube32_sim.api.strategies.spec import keep_all_but_status
from kube32_sim.api.validation import nodes
from kube32_sim.api.validation.meta import validate_finalizer_names, validate_finalizers
from kube32_sim.api.validation.names import dns1123_label

JsonObject = dict[str, Any]

NAME_LABEL = "kubernetes.io/metadata.name"
KUBERNETES = "kubernetes"
_LEASE_STRATEGIES = ("OldestEmulationVersion",)
_MOUNTABLE = "kubernetes.io/enforce-mountable-secrets"


class NodeStrategy(Strategy):
    """A node may be created with its status; after that the status has its own subresource."""

    status_is_report = True

    def default(self, obj: JsonObject) -> None:
        spec = obj.setdefault("spec", {})
        if "podCIDR" in spec or "podCIDRs" in spec:
            _agree_on_ranges(spec)
        status = obj.setdefault("status", {})
        if "capacity" in status and "allocatable" not in status:
            status["allocatable"] = dict(status["capacity"])

    def prepare_create(self, obj: JsonObject, context: Context) -> None:
        """Upstream's nodes keep everything they come with, but for a configuration that nothing reads any more."""
        obj["spec"].pop("configSource", None)
        obj["status"].pop("config", None)

    def prepare_status_update(self, obj: JsonObject, old: JsonObject, context: Context) -> None:
        keep_all_but_status(obj, old)

    def prepare_update(self, obj: JsonObject, old: JsonObject, context: Context) -> None:
        super().prepare_update(obj, old, context)
        if "configSource" not in old["spec"]:
            obj["spec"].pop("configSource", None)

    def validate(self, obj: JsonObject, context: Context) -> list[FieldError]:
        return nodes.validate_node(obj)

    def validate_update(self, obj: JsonObject, old: JsonObject, context: Context) -> list[FieldError]:
        return nodes.validate_node_update(obj, old)

    def validate_status_update(self, obj: JsonObject, old: JsonObject, context: Context) -> list[FieldError]:
        return nodes.validate_node_update(obj, old)

    def warnings(self, obj: JsonObject, old: JsonObject | None, context: Context) -> list[str]:
        return nodes.node_warnings(obj)


def _agree_on_ranges(spec: JsonObject) -> None:
    """podCIDR rules over podCIDRs: a list that does not start with it becomes that one range."""
    first, ranges = spec.get("podCIDR"), spec.get("podCIDRs")
    if first:
        if not ranges or ranges[0] != first:
            spec["podCIDRs"] = [first]
    elif ranges:
        spec["podCIDR"] = ranges[0]


class NamespaceStrategy(Strategy):
    """A namespace ends in two steps: deleted it is Terminating, and it goes when its own finalizers are gone."""

    returns_deleted = True

    def default(self, obj: JsonObject) -> None:
        if name := obj["metadata"].get("name"):
            obj["metadata"].setdefault("labels", {})[NAME_LABEL] = name

    def prepare_create(self, obj: JsonObject, context: Context) -> None:
        self.default(obj)
        finalizers = obj.setdefault("spec", {}).setdefault("finalizers", [])
        if KUBERNETES not in finalizers:
            finalizers.append(KUBERNETES)
        obj["status"] = {"phase": "Active"}

    def prepare_update(self, obj: JsonObject, old: JsonObject, context: Context) -> None:
        """An ordinary write keeps the finalizers of the spec; `finalize` changes only them (and metadata)."""
        obj["status"] = old.get("status", {})
        if context.subresource == "finalize":
            obj["spec"] = {key: value for key, value in obj.get("spec", {}).items() if value}
        else:
            obj["spec"] = old.get("spec", {})

    def prepare_status_update(self, obj: JsonObject, old: JsonObject, context: Context) -> None:
        keep_all_but_status(obj, old)

    def mark_deleting(self, obj: JsonObject) -> None:
        obj["metadata"].pop("deletionGracePeriodSeconds", None)
        obj["status"] = {**obj.get("status", {}), "phase": "Terminating"}

    def releasable(self, obj: JsonObject) -> bool:
        return not obj.get("spec", {}).get("finalizers")

    def validate_name(self, name: str, *, prefix: bool) -> list[str]:
        return dns1123_label(name, prefix=prefix)

    def validate(self, obj: JsonObject, context: Context) -> list[FieldError]:
        path, found = "spec.finalizers", []
        for finalizer in obj["spec"].get("finalizers") or ():
            found += validate_finalizers([finalizer], path)
            found += [
                FieldError(wrong.reason, path, wrong.message) for wrong in validate_finalizer_names([finalizer], path)
            ]
        return found

    def validate_status_update(self, obj: JsonObject, old: JsonObject, context: Context) -> list[FieldError]:
        deleting = "deletionTimestamp" in obj["metadata"]
        phase, wanted = obj["status"].get("phase", ""), "Terminating" if deleting else "Active"
        if phase == wanted:
            return []
        why = f"may only be '{wanted}' if `deletionTimestamp` is {'not empty' if deleting else 'empty'}"
        return [invalid_value("status.Phase", phase, why)]


class LeaseStrategy(Strategy):
    """Leases; what coordinated leader election adds is dropped, as where its feature is off (upstream's default)."""

    create_on_update = True
    unconditional_update = False

    def prepare_create(self, obj: JsonObject, context: Context) -> None:
        super().prepare_create(obj, context)
        _drop_coordination(obj, {})

    def prepare_update(self, obj: JsonObject, old: JsonObject, context: Context) -> None:
        super().prepare_update(obj, old, context)
        _drop_coordination(obj, old)

    def validate(self, obj: JsonObject, context: Context) -> list[FieldError]:
        spec = obj.get("spec") or {}
        found: list[FieldError] = []
        if spec.get("leaseDurationSeconds", 1) <= 0:
            seconds = spec["leaseDurationSeconds"]
            found.append(invalid_value("spec.leaseDurationSeconds", seconds, "must be greater than 0"))
        if spec.get("leaseTransitions", 0) < 0:
            found.append(invalid_value("spec.leaseTransitions", spec["leaseTransitions"], NOT_NEGATIVE))
        strategy = spec.get("strategy")
        if strategy is not None and "/" not in strategy and strategy not in _LEASE_STRATEGIES:
            found.append(not_supported("spec.strategy", strategy, _LEASE_STRATEGIES))
        if spec.get("preferredHolder") and not strategy:
            why = "may only be specified if `strategy` is defined"
            found.append(forbidden_field("spec.preferredHolder", why))
        return found


def _drop_coordination(obj: JsonObject, old: JsonObject) -> None:
    spec, before = obj.get("spec") or {}, old.get("spec") or {}
    if dropped := [key for key in ("strategy", "preferredHolder") if key in spec and key not in before]:
        obj["spec"] = {key: value for key, value in spec.items() if key not in dropped}


class ServiceAccountStrategy(Strategy):
    returns_deleted = True

    def prepare_create(self, obj: JsonObject, context: Context) -> None:
        super().prepare_create(obj, context)
        _only_names(obj)

    def prepare_update(self, obj: JsonObject, old: JsonObject, context: Context) -> None:
        super().prepare_update(obj, old, context)
        _only_names(obj)

    def warnings(self, obj: JsonObject, old: JsonObject | None, context: Context) -> list[str]:
        had = old is not None and _MOUNTABLE in (old["metadata"].get("annotations") or {})
        if had or _MOUNTABLE not in (obj["metadata"].get("annotations") or {}):
            return []
        why = "deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets"
        return [f"metadata.annotations[{_MOUNTABLE}]: {why}"]


def _only_names(account: JsonObject) -> None:
    """References to secrets keep nothing but the name: the secrets are in the account's own namespace."""
    if secrets := account.get("secrets"):
        account["secrets"] = [{"name": each["name"]} if each.get("name") else {} for each in secrets]


STRATEGIES: dict[tuple[str, str], Strategy] = {
    ("", "Node"): NodeStrategy(),
    ("", "Namespace"): NamespaceStrategy(),
    ("", "ServiceAccount"): ServiceAccountStrategy(),
    ("", "Event"): EventStrategy(),
    ("events.k8s.io", "Event"): EventStrategy(),
    ("coordination.k8s.io", "Lease"): LeaseStrategy(),
}
