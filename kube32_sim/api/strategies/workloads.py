"""Workloads: Deployment, ReplicaSet, DaemonSet, StatefulSet, ReplicationController, and what they are made of
(PodTemplate, ControllerRevision).  Jobs are in `batch`.

Their validation is in `kube32_sim.api.validation.workloads_*`; pod templates are defaulted as pods are.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from kube32_sim.api.errors import NOT_NEGATIVE, FieldError, invalid_value, required
from kube32_sim.api.rollouts import keep_notes
from kube32_sim.api.strategies.base import Context, Strategy
from kube32_sim.api.strategies.pod_defaults import default_pod_template
from kube32_sim.api.strategies.spec import SpecStrategy
from kube32_sim.api.validation import workloads_apps as apps
from kube32_sim.api.validation import workloads_status as status
from kube32_sim.api.validation.names import dns1123_label
from kube32_sim.api.validation.pod import validate_pod_template
from kube32_sim.api.validation.pod_warnings import name_warning, pod_template_warnings
from kube32_sim.api.validation.storage_volumes import claim_warnings
from kube32_sim.api.validation.workloads_common import immutable, selector_value

JsonObject = dict[str, Any]

_TEMPLATE_GENERATION = "deprecated.daemonset.template.generation"
_NUMBER = re.compile(r"-?[0-9]{1,18}").fullmatch


def warn(template: JsonObject, old: JsonObject | None, path: str) -> list[str]:
    """Warnings about a pod template; none where it is the old one."""
    return [] if template == old else pod_template_warnings(template, path)


def same_generation(obj: JsonObject, old: JsonObject | None) -> bool:
    """Whether an update has changed nothing that counts, so that nobody is warned again."""
    return old is not None and obj["metadata"].get("generation") == old["metadata"].get("generation")


def warn_about_name(obj: JsonObject, old: JsonObject | None) -> list[str]:
    """Pods take the names of their owners, and hosts the names of pods: one that is no DNS label earns a warning."""
    return name_warning(obj["metadata"].get("name", ""), "Pod names and hostnames") if old is None else []


class Workload(SpecStrategy):
    """A kind whose spec has a pod template at `spec.template`."""

    #: the selector may not change.
    fixed_selector = True
    #: how often upstream validates the new spec of an update: its causes are told so often.
    checks_of_update = 1
    #: pods take their names from it: one that is no DNS label is warned about.
    names_pods = False
    #: what its status may say.
    counts = status.Counts(())

    def default(self, obj: JsonObject) -> None:
        spec = obj.setdefault("spec", {})
        default_pod_template(spec.setdefault("template", {}))
        self.default_spec(obj, spec)

    def validate_update(self, obj: JsonObject, old: JsonObject, context: Context) -> list[FieldError]:
        found = self.validate(obj, context) * self.checks_of_update
        if self.fixed_selector:
            new = obj["spec"].get("selector")
            if new != old["spec"].get("selector"):
                shown = selector_value(new)
                found += immutable(new, old["spec"].get("selector"), "spec.selector", shown)
        return found

    def warnings(self, obj: JsonObject, old: JsonObject | None, context: Context) -> list[str]:
        if same_generation(obj, old):
            return []
        found = warn_about_name(obj, old) if self.names_pods else []
        return found + pod_template_warnings(obj["spec"].get("template") or {}, "spec.template")

    def validate_status_update(self, obj: JsonObject, old: JsonObject, context: Context) -> list[FieldError]:
        return status.validate_counts(obj.get("status") or {}, old.get("status") or {}, self.counts)


class Deployment(Workload):
    status_locks = ("labels",)
    annotations_count = True
    names_pods = True
    counts = status.DEPLOYMENT

    def prepare_update(self, obj: JsonObject, old: JsonObject, context: Context) -> None:
        keep_notes(obj["metadata"], old["metadata"])
        super().prepare_update(obj, old, context)

    def default_spec(self, obj: JsonObject, spec: JsonObject) -> None:
        spec.setdefault("replicas", 1)
        spec.setdefault("revisionHistoryLimit", 10)
        spec.setdefault("progressDeadlineSeconds", 600)
        strategy = spec.setdefault("strategy", {})
        if strategy.setdefault("type", "RollingUpdate") == "RollingUpdate":
            rolling = strategy.setdefault("rollingUpdate", {})
            rolling.setdefault("maxUnavailable", "25%")
            rolling.setdefault("maxSurge", "25%")

    def validate(self, obj: JsonObject, context: Context) -> list[FieldError]:
        return apps.validate_deployment(obj["spec"])


class ReplicaSet(Workload):
    counters = ("replicas",)
    checks_of_update = 2
    names_pods = True
    counts = status.REPLICA_SET

    def default_spec(self, obj: JsonObject, spec: JsonObject) -> None:
        spec.setdefault("replicas", 1)

    def validate(self, obj: JsonObject, context: Context) -> list[FieldError]:
        return apps.validate_replica_set(obj["spec"])


class ReplicationController(Workload):
    """The first of its kind: its selector is a plain map, and its pods are orphaned unless the deletion says else."""

    counters = ("replicas",)
    fixed_selector = False
    checks_of_update = 2
    names_pods = True
    counts = status.REPLICATION_CONTROLLER
    orphans_by_default = True

    def default(self, obj: JsonObject) -> None:
        """Its template may be missing, which is told then."""
        spec = obj.setdefault("spec", {})
        template = spec.get("template")
        if template is not None:
            default_pod_template(template)
            self._take_labels(obj, spec, apps.template_labels(template))
        spec.setdefault("replicas", 1)

    @staticmethod
    def _take_labels(obj: JsonObject, spec: JsonObject, labels: Mapping[str, str]) -> None:
        if not labels:
            return
        if not spec.get("selector"):
            spec["selector"] = dict(labels)
        if not obj["metadata"].get("labels"):
            obj["metadata"]["labels"] = dict(labels)

    def validate(self, obj: JsonObject, context: Context) -> list[FieldError]:
        return apps.validate_replication_controller(obj["spec"])


class DaemonSet(Workload):
    """Besides `metadata.generation` it counts the changes of its template, in an annotation kept for old clients."""

    counters = ("currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled", "numberReady")
    checks_of_update = 2
    counts = status.DAEMON_SET

    def default_spec(self, obj: JsonObject, spec: JsonObject) -> None:
        spec.setdefault("revisionHistoryLimit", 10)
        strategy = spec.setdefault("updateStrategy", {})
        if strategy.setdefault("type", "RollingUpdate") == "RollingUpdate":
            rolling = strategy.setdefault("rollingUpdate", {})
            rolling.setdefault("maxUnavailable", 1)
            rolling.setdefault("maxSurge", 0)

    def prepare_create(self, obj: JsonObject, context: Context) -> None:
        super().prepare_create(obj, context)
        _set_template_generation(obj, max(_template_generation(obj), 1))

    def prepare_update(self, obj: JsonObject, old: JsonObject, context: Context) -> None:
        super().prepare_update(obj, old, context)
        changed = obj["spec"]["template"] != old["spec"]["template"]
        _set_template_generation(obj, _template_generation(old) + changed)

    def prepare_status_update(self, obj: JsonObject, old: JsonObject, context: Context) -> None:
        super().prepare_status_update(obj, old, context)
        _set_template_generation(obj, _template_generation(old))

    def validate(self, obj: JsonObject, context: Context) -> list[FieldError]:
        return apps.validate_daemon_set(obj["spec"])

    def warnings(self, obj: JsonObject, old: JsonObject | None, context: Context) -> list[str]:
        return warn(obj["spec"]["template"], old and old["spec"].get("template"), "spec.template")


def _template_generation(obj: JsonObject) -> int:
    value = (obj["metadata"].get("annotations") or {}).get(_TEMPLATE_GENERATION, "")
    return int(value) if _NUMBER(value) else 0


def _set_template_generation(obj: JsonObject, generation: int) -> None:
    annotations = obj["metadata"].get("annotations") or {}
    obj["metadata"]["annotations"] = {**annotations, _TEMPLATE_GENERATION: str(generation)}


class StatefulSet(Workload):
    counters = ("replicas", "availableReplicas")
    counts = status.STATEFUL_SET

    def default_spec(self, obj: JsonObject, spec: JsonObject) -> None:
        spec.setdefault("replicas", 1)
        spec.setdefault("revisionHistoryLimit", 10)
        spec.setdefault("podManagementPolicy", "OrderedReady")
        retention = spec.setdefault("persistentVolumeClaimRetentionPolicy", {})
        retention.setdefault("whenDeleted", "Retain")
        retention.setdefault("whenScaled", "Retain")
        strategy = spec.setdefault("updateStrategy", {})
        if not strategy.get("type"):
            strategy["type"] = "RollingUpdate"
            strategy.setdefault("rollingUpdate", {})
        if strategy["type"] == "RollingUpdate" and "rollingUpdate" in strategy:
            strategy["rollingUpdate"].setdefault("partition", 0)
        for claim in spec.get("volumeClaimTemplates") or ():
            _default_claim(claim)

    def prepare_create(self, obj: JsonObject, context: Context) -> None:
        super().prepare_create(obj, context)
        _drop_max_unavailable(obj)

    def prepare_update(self, obj: JsonObject, old: JsonObject, context: Context) -> None:
        _drop_max_unavailable(obj)
        super().prepare_update(obj, old, context)

    def validate_name(self, name: str, *, prefix: bool) -> list[str]:
        return dns1123_label(name, prefix=prefix)

    def validate(self, obj: JsonObject, context: Context) -> list[FieldError]:
        return apps.validate_stateful_set(obj["spec"], new=True)

    def validate_update(self, obj: JsonObject, old: JsonObject, context: Context) -> list[FieldError]:
        found = apps.validate_stateful_set(obj["spec"], new=False)
        return found + apps.stateful_set_locked(obj["spec"], old["spec"])

    def warnings(self, obj: JsonObject, old: JsonObject | None, context: Context) -> list[str]:
        if context.subresource == "status":
            return []
        found = super().warnings(obj, old, context)
        for index, claim in enumerate(obj["spec"].get("volumeClaimTemplates") or ()):
            path = f"spec.volumeClaimTemplates[{index}]"
            found += claim_warnings(claim.get("spec") or {}, path if old is None else f"{path}.Spec")
        if obj["spec"].get("revisionHistoryLimit", 0) < 0:
            found.append(_NEGATIVE_LIMIT)
        return found


_NEGATIVE_LIMIT = (
    "spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended"
)


def _drop_max_unavailable(obj: JsonObject) -> None:
    """How many pods may be unavailable belongs to a feature that is off where upstream's defaults rule."""
    rolling = (obj["spec"].get("updateStrategy") or {}).get("rollingUpdate")
    if rolling is not None:
        rolling.pop("maxUnavailable", None)


def _default_claim(claim: JsonObject) -> None:
    claim.setdefault("apiVersion", "v1")
    claim.setdefault("kind", "PersistentVolumeClaim")
    claim.setdefault("metadata", {})
    claim.setdefault("spec", {}).setdefault("volumeMode", "Filesystem")
    claim.setdefault("status", {}).setdefault("phase", "Pending")


class PodTemplate(Strategy):
    returns_deleted = True

    def default(self, obj: JsonObject) -> None:
        default_pod_template(obj.setdefault("template", {}))

    def validate(self, obj: JsonObject, context: Context) -> list[FieldError]:
        return validate_pod_template(obj["template"], "template")

    def warnings(self, obj: JsonObject, old: JsonObject | None, context: Context) -> list[str]:
        return warn(obj["template"], old and old.get("template"), "template")


class ControllerRevision(Strategy):
    """A snapshot: its data never changes."""

    def default(self, obj: JsonObject) -> None:
        obj.setdefault("revision", 0)

    def validate(self, obj: JsonObject, context: Context) -> list[FieldError]:
        found = [required("data", "data is mandatory")] if obj.get("data") is None else []
        if obj["revision"] < 0:
            found.append(invalid_value("revision", obj["revision"], NOT_NEGATIVE))
        return found

    def validate_update(self, obj: JsonObject, old: JsonObject, context: Context) -> list[FieldError]:
        return self.validate(obj, context) + immutable(obj.get("data"), old.get("data"), "data")


STRATEGIES: dict[tuple[str, str], Strategy] = {
    ("apps", "Deployment"): Deployment(),
    ("apps", "ReplicaSet"): ReplicaSet(),
    ("apps", "DaemonSet"): DaemonSet(),
    ("apps", "StatefulSet"): StatefulSet(),
    ("apps", "ControllerRevision"): ControllerRevision(),
    ("", "ReplicationController"): ReplicationController(),
    ("", "PodTemplate"): PodTemplate(),
}
