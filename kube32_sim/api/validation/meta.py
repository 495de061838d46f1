"""Validation of metadata, the same for every kind: names, labels, annotations, owners, finalizers.

Upstream's generic validation (apimachinery `api/validation/objectmeta.go`) together with the checks of the core API on
finalizer names.  managedFields are not looked at here: whoever writes them keeps them right.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from kube32_sim.api.errors import NOT_NEGATIVE, FieldError, forbidden_field, go_value, invalid_value, required, too_long
from kube32_sim.api.validation.names import byte_length, dns1123_label, label_value, qualified_name

if TYPE_CHECKING:
    from kube32_sim.api.resources import ResourceType

JsonObject = dict[str, Any]

ANNOTATIONS_LIMIT = 256 * 1024
"""Bytes of all annotation keys and values together."""

_SHORT = 150
"""Labels that are shorter are the same ones again and again, and remembered; their bound is that of the memory."""
_STANDARD_FINALIZERS = frozenset(("kubernetes", "orphan", "foregroundDeletion"))
_OWNER_KEYS = ("apiVersion", "kind", "name", "uid", "controller", "blockOwnerDeletion")
_BANNED_OWNERS = frozenset((("v1", "Event"),))
_IMMUTABLE = ("name", "namespace", "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds")
_CHECKED = (*_IMMUTABLE, "labels", "annotations", "ownerReferences", "finalizers")
"""What an update of metadata is checked for: where none of it changed there is nothing to find."""


_VALIDATED_AGAIN = frozenset(
    (
        ("", "ConfigMap"),
        ("", "Secret"),
        ("", "Service"),
        ("", "Pod"),
        ("", "PersistentVolume"),
        ("", "ServiceAccount"),
        ("", "LimitRange"),
        ("", "ResourceQuota"),
        ("", "PodTemplate"),
        ("", "ReplicationController"),
        ("apps", "ControllerRevision"),
        ("apps", "DaemonSet"),
        ("apps", "ReplicaSet"),
        ("batch", "Job"),
        ("rbac.authorization.k8s.io", "Role"),
        ("rbac.authorization.k8s.io", "ClusterRole"),
        ("rbac.authorization.k8s.io", "RoleBinding"),
        ("rbac.authorization.k8s.io", "ClusterRoleBinding"),
        ("certificates.k8s.io", "CertificateSigningRequest"),
        ("apiregistration.k8s.io", "APIService"),
        ("node.k8s.io", "RuntimeClass"),
    )
)
"""Kinds whose update validates their metadata as a new object's once more: causes are repeated then."""


IMMUTABLE = "field is immutable"


def validate_metadata(metadata: JsonObject, row: ResourceType, path: str = "metadata") -> list[FieldError]:
    """Failures of a new object's metadata, in upstream's order."""
    found = validate_object_metadata(metadata, row.namespaced, row.strategy.validate_name, path)
    if finalizers := metadata.get("finalizers"):
        found += validate_finalizer_names(finalizers, f"{path}.finalizers")
    return found


def validate_object_metadata(
    metadata: JsonObject, namespaced: bool, validate_name: Callable[..., list[str]], path: str
) -> list[FieldError]:
    """Failures that every metadata can have, also that of an object within another."""
    found = _validate_identity(metadata, namespaced, validate_name, path)
    found += _validate_rest(metadata, path)
    if finalizers := metadata.get("finalizers"):
        found += validate_finalizers(finalizers, f"{path}.finalizers")
    return found


def validate_template_metadata(metadata: JsonObject, path: str) -> list[FieldError]:
    """Failures of a template's labels and annotations (upstream leaves `metadata` out of their paths)."""
    found: list[FieldError] = []
    if labels := metadata.get("labels"):
        found += validate_labels(labels, f"{path}.labels")
    if annotations := metadata.get("annotations"):
        found += validate_annotations(annotations, f"{path}.annotations")
    return found


def _validate_identity(
    metadata: JsonObject, namespaced: bool, validate_name: Callable[..., list[str]], path: str
) -> list[FieldError]:
    found: list[FieldError] = []
    prefix = metadata.get("generateName")
    if prefix:
        found += [invalid_value(f"{path}.generateName", prefix, why) for why in validate_name(prefix, prefix=True)]
    name = metadata.get("name")
    if name:
        if wrong := validate_name(name, prefix=False):
            found += [invalid_value(f"{path}.name", name, why) for why in wrong]
    else:
        found.append(required(f"{path}.name", "name or generateName is required"))
    namespace = metadata.get("namespace")
    if not namespaced:
        if namespace:
            found.append(forbidden_field(f"{path}.namespace", "not allowed on this type"))
    elif not namespace:
        found.append(required(f"{path}.namespace"))
    elif wrong := dns1123_label(namespace):
        found += [invalid_value(f"{path}.namespace", namespace, why) for why in wrong]
    return found


def _validate_rest(metadata: JsonObject, path: str) -> list[FieldError]:
    """Failures of what may also change later: generation, labels, annotations, owners."""
    found: list[FieldError] = []
    generation = metadata.get("generation", 0)
    if generation < 0:
        found.append(invalid_value(f"{path}.generation", generation, NOT_NEGATIVE))
    return found + _validate_maps_and_owners(metadata, path)


def _validate_maps_and_owners(metadata: JsonObject, path: str) -> list[FieldError]:
    found: list[FieldError] = []
    if labels := metadata.get("labels"):
        found += validate_labels(labels, f"{path}.labels")
    if annotations := metadata.get("annotations"):
        found += validate_annotations(annotations, f"{path}.annotations")
    if owners := metadata.get("ownerReferences"):
        found += validate_owner_references(owners, f"{path}.ownerReferences")
    return found


def validate_labels(labels: Mapping[str, str], path: str) -> list[FieldError]:
    """Failures of label keys and values; each names the whole map, as upstream's do."""
    for key, value in labels.items():
        if len(key) + len(value) > _SHORT or not _is_label(key, value):
            return _wrong_labels(labels, path)
    return []


def _wrong_labels(labels: Mapping[str, str], path: str) -> list[FieldError]:
    found: list[FieldError] = []
    for key in sorted(labels):
        found += [invalid_value(path, key, why) for why in qualified_name(key)]
        value = labels[key]
        found += [invalid_value(path, value, why) for why in label_value(value)]
    return found


@lru_cache(4096)
def _is_label(key: str, value: str) -> bool:
    return not qualified_name(key) and not label_value(value)


def validate_annotations(annotations: Mapping[str, str], path: str) -> list[FieldError]:
    found: list[FieldError] = []
    size = 0
    for key in sorted(annotations):
        found += [invalid_value(path, key, why) for why in qualified_name(key.lower())]
        size += len(key) + len(annotations[key])
    if size > ANNOTATIONS_LIMIT // 4:  # bytes are at most four times the characters
        size = sum(byte_length(text) for item in annotations.items() for text in item)
        if size > ANNOTATIONS_LIMIT:
            found.append(too_long(path, ANNOTATIONS_LIMIT))
    return found


def validate_owner_references(owners: Sequence[JsonObject], path: str) -> list[FieldError]:
    found: list[FieldError] = []
    controller = ""
    for owner in owners:
        found += _validate_owner(owner, path)
        if owner.get("controller"):
            current = f"{owner.get('kind', '')}/{owner.get('name', '')}"
            if controller:
                shown = [_as_go_shows(each) for each in owners]
                why = (
                    "Only one reference can have Controller set to true. "
                    f'Found "true" in references for {controller} and {current}'
                )
                found.append(invalid_value(path, shown, why))
            else:
                controller = current
    return found


def _validate_owner(owner: JsonObject, path: str) -> list[FieldError]:
    api_version = owner.get("apiVersion", "")
    found = []
    if not api_version or api_version.count("/") > 1 or api_version.endswith("/"):
        found.append(invalid_value(f"{path}.apiVersion", api_version, "version must not be empty"))
    for key in ("kind", "name", "uid"):
        if not owner.get(key):
            found.append(invalid_value(f"{path}.{key}", "", "must not be empty"))
    if (api_version, owner.get("kind")) in _BANNED_OWNERS:
        group, _, version = api_version.rpartition("/")
        why = f"{group}/{version}, Kind={owner['kind']} is disallowed from being an owner"
        found.append(invalid_value(path, _as_go_shows(owner), why))
    return found


def _as_go_shows(owner: JsonObject) -> JsonObject:
    """An owner reference with its fields in the order of Go's struct, the four required ones always there."""
    return {
        key: owner.get(key, "") for key in _OWNER_KEYS if key in owner or key in ("apiVersion", "kind", "name", "uid")
    }


def validate_finalizers(finalizers: Sequence[str], path: str) -> list[FieldError]:
    found: list[FieldError] = []
    for finalizer in finalizers:
        found += [invalid_value(path, finalizer, why) for why in qualified_name(finalizer)]
    if "orphan" in finalizers and "foregroundDeletion" in finalizers:
        why = "finalizer orphan and foregroundDeletion cannot be both set"
        found.append(invalid_value(path, list(finalizers), why))
    return found


def validate_finalizer_names(finalizers: Sequence[str], path: str) -> list[FieldError]:
    """A finalizer is one of Kubernetes' own or carries a domain."""
    why = "name is neither a standard finalizer name nor is it fully qualified"
    return [
        invalid_value(f"{path}[{index}]", finalizer, why)
        for index, finalizer in enumerate(finalizers)
        if "/" not in finalizer and finalizer not in _STANDARD_FINALIZERS
    ]


def validate_metadata_update(
    new: JsonObject, old: JsonObject, row: ResourceType | None = None, path: str = "metadata"
) -> list[FieldError]:
    """Failures of changed metadata (which has what the server set, as it was).

    Upstream checks an update several times over: once as a new object's metadata and once as a change for every kind,
    once more in the kind's own validation, and some kinds then validate the whole object.  Every pass adds its causes,
    so the answer repeats them alike; without `row` it is a single pass.
    """
    if all(new.get(key) == old.get(key) for key in _CHECKED) and new.get("generation", 0) >= old.get("generation", 0):
        return []
    changed = _validate_changed(new, old, path)
    if row is None:
        return changed
    finalizers = new.get("finalizers") or ()
    fresh = _validate_rest(new, path) + validate_finalizers(finalizers, f"{path}.finalizers")
    names = validate_finalizer_names(finalizers, f"{path}.finalizers")
    if not (changed or fresh or names):
        return []
    found = [*fresh, *changed, *changed, *names]
    return [*found, *fresh, *names] if (row.group, row.kind) in _VALIDATED_AGAIN else found


def _validate_changed(new: JsonObject, old: JsonObject, path: str) -> list[FieldError]:
    found: list[FieldError] = []
    if "deletionTimestamp" in old:
        found += _validate_no_new_finalizers(new, old, path)
    if new.get("generation", 0) < old.get("generation", 0):
        found.append(invalid_value(f"{path}.generation", new.get("generation", 0), "must not be decremented"))
    for key in _IMMUTABLE:
        if new.get(key) != old.get(key):
            found.append(invalid_value(f"{path}.{key}", new.get(key), IMMUTABLE))
    return found + _validate_maps_and_owners(new, path)


def _validate_no_new_finalizers(new: JsonObject, old: JsonObject, path: str) -> list[FieldError]:
    extra = sorted(set(new.get("finalizers") or ()) - set(old.get("finalizers") or ()))
    if not extra:
        return []
    shown = "[]string{" + ", ".join(go_value(each) for each in extra) + "}"
    why = f"no new finalizers can be added if the object is being deleted, found new finalizers {shown}"
    return [forbidden_field(f"{path}.finalizers", why)]
