"""Which names a CustomResourceDefinition may have beside the others of its group, and what its status says of it.

The rules, reasons and messages are those of apiextensions-apiserver's naming, establishing and approval controllers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from kube32_sim.api.errors import aggregate

if TYPE_CHECKING:
    from kube32_sim.api.customs.version import CustomVersion

JsonObject = dict[str, Any]

DEFINITIONS = ("apiextensions.k8s.io", "customresourcedefinitions")
"""(group, plural) of the definitions themselves."""
FINALIZER = "customresourcecleanup.apiextensions.k8s.io"
APPROVED = "api-approved.kubernetes.io"
_PROTECTED = ("k8s.io", "kubernetes.io")
_RESOURCE_NAMES = (("plural", "PluralConflict"), ("singular", "SingularConflict"))
_KIND_NAMES = (("kind", "KindConflict"), ("listKind", "ListKindConflict"))


class CustomType:
    """What the versions of one CustomResourceDefinition share.

    terminating: the definition is being deleted, nothing new may be created.  gone: it is deleted.
    versions: by their apiVersion.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.versions: Mapping[str, CustomVersion] = {}
        self.terminating = False
        self.gone = False


class Taken:
    """The names that definitions of a group have, each as often as it is had."""

    def __init__(self, definitions: Iterable[JsonObject] = ()) -> None:
        """definitions: their `status.acceptedNames`."""
        self.resources: Counter[str] = Counter()
        self.kinds: Counter[str] = Counter()
        for names in definitions:
            self.add(names)

    def __bool__(self) -> bool:
        return bool(self.resources or self.kinds)

    def add(self, names: JsonObject) -> None:
        self.resources.update(_resource_names(names))
        self.kinds.update(_kind_names(names))

    def drop(self, names: JsonObject) -> None:
        """The names of one that has them no more."""
        for counter, had in ((self.resources, _resource_names(names)), (self.kinds, _kind_names(names))):
            for name in had:
                counter[name] -= 1
                if not counter[name]:
                    del counter[name]


def _resource_names(names: JsonObject) -> list[str]:
    named = [names[field] for field, _ in _RESOURCE_NAMES if names.get(field)]
    return named + (names.get("shortNames") or [])


def _kind_names(names: JsonObject) -> list[str]:
    return [names[field] for field, _ in _KIND_NAMES if names.get(field)]


def is_true(crd: JsonObject, kind: str) -> bool:
    """Whether the condition of that type is."""
    return any(each["type"] == kind and each["status"] == "True" for each in conditions_of(crd))


def conditions_of(crd: JsonObject) -> list[JsonObject]:
    return (crd.get("status") or {}).get("conditions") or []


def names_of(crd: JsonObject) -> JsonObject:
    """What a type is called: as has been accepted, or as is asked where no names, or only some, have been."""
    accepted = (crd.get("status") or {}).get("acceptedNames") or {}
    found: JsonObject = accepted if accepted.get("plural") and accepted.get("kind") else crd["spec"]["names"]
    return found


def status_of(crd: JsonObject, taken: Taken, now: str) -> JsonObject:
    """The status of a definition as it should be; the one it has where nothing changes.

    taken: the names of the others of its group.  now: RFC 3339.
    """
    status = crd.get("status") or {}
    accepted, conflict = _accepted(crd["spec"]["names"], status.get("acceptedNames") or {}, taken)
    if conflict is None:
        named = ("NamesAccepted", "True", "NoConflicts", "no conflicts found")
    else:
        named = ("NamesAccepted", "False", *conflict)
    wanted = [named]
    if not is_true(crd, "Established"):
        if conflict is None:
            wanted.append(("Established", "True", "InitialNamesAccepted", "the initial names have been accepted"))
        else:
            wanted.append(("Established", "False", "NotAccepted", "not all names are accepted"))
    wanted += _approval(crd)
    conditions = conditions_of(crd)
    for condition in wanted:
        conditions = with_condition(conditions, *condition, now)
    return {**status, "acceptedNames": accepted, "conditions": conditions}


def _accepted(asked: JsonObject, had: JsonObject, taken: Taken) -> tuple[JsonObject, tuple[str, str] | None]:
    """(the names that it has from now on, reason and message of the last conflict)."""
    names, conflict = {**had, "categories": list(asked.get("categories") or [])}, None
    for field, reason in (*_RESOURCE_NAMES, ("shortNames", "ShortNamesConflict"), *_KIND_NAMES):
        used = taken.kinds if (field, reason) in _KIND_NAMES else taken.resources
        clashes = [f'"{name}" is already in use' for name in _new(field, asked, had) if name in used]
        if clashes:
            conflict = reason, aggregate(clashes)
        else:
            names[field] = asked.get(field, "")
    return {field: value for field, value in names.items() if value or field in ("plural", "kind")}, conflict


def _new(field: str, asked: JsonObject, had: JsonObject) -> list[str]:
    """The names of that field that the definition does not have yet."""
    wanted, own = asked.get(field) or "", had.get(field) or ""
    if isinstance(wanted, str):
        return [str(wanted)] if wanted and wanted != own else []
    return [name for name in wanted if name not in own]


def _approval(crd: JsonObject) -> list[tuple[str, str, str, str]]:
    """Groups of Kubernetes itself want to be approved of."""
    group: str = crd["spec"]["group"]
    if not any(group == each or group.endswith(f".{each}") for each in _PROTECTED):
        return []
    kind = "KubernetesAPIApprovalPolicyConformant"
    value = (crd["metadata"].get("annotations") or {}).get(APPROVED, "")
    if value.startswith("unapproved"):
        return [(kind, "False", "UnapprovedAnnotation", f'not approved: "{value}"')]
    return [(kind, "True", "ApprovedAnnotation", f"approved in {value}")] if value else []


def with_condition(
    conditions: list[JsonObject], kind: str, status: str, reason: str, message: str, now: str
) -> list[JsonObject]:
    """The conditions with this one; its time moves where its status does."""
    made = {"type": kind, "status": status, "lastTransitionTime": now, "reason": reason, "message": message}
    old = next((each for each in conditions if each["type"] == kind), None)
    if old is None:
        return [*conditions, made]
    if old["status"] == status:
        made["lastTransitionTime"] = old.get("lastTransitionTime", now)
    return [made if each is old else each for each in conditions]


def terminating(crd: JsonObject, status: str, reason: str, message: str, now: str) -> JsonObject:
    """The status of a definition that is being deleted."""
    conditions = with_condition(conditions_of(crd), "Terminating", status, reason, message, now)
    return {**(crd.get("status") or {}), "conditions": conditions}
