"""A CustomResourceDefinition as a whole: its spec, in upstream's order, its status, and what of it may change."""

from __future__ import annotations

from typing import Any

from kube32_sim.api.customs.naming import is_true
from kube32_sim.api.errors import FieldError, invalid_value, not_supported, required
from kube32_sim.api.validation import names
from kube32_sim.api.validation.crd.approval import approval_faults
from kube32_sim.api.validation.crd.conversion import conversion_faults
from kube32_sim.api.validation.crd.internal import InternalSpec, internal
from kube32_sim.api.validation.crd.nodes import nodes, schemas_of
from kube32_sim.api.validation.crd.ratchet import Ratchet, ratchet_of, schemas_by_version
from kube32_sim.api.validation.crd.schemas import schema_faults
from kube32_sim.api.validation.crd.selectable import selectable_faults
from kube32_sim.api.validation.crd.shown import shown_version
from kube32_sim.api.validation.crd.versions import column_faults, deprecation_faults, subresource_faults
from kube32_sim.api.validation.workloads_common import immutable

JsonObject = dict[str, Any]

_SCOPES = ("Cluster", "Namespaced")
_PRESERVES = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"
_WAS_STORED = (
    "missing from spec.versions; {0} was previously a storage version, and must remain in spec.versions until a storage"
    " migration ensures no data remains persisted in {0} and removes {0} from status.storedVersions"
)


def validate_crd(obj: JsonObject) -> list[FieldError]:
    """Failures of a new definition, apart from those of metadata that any object could have."""
    spec, name = obj["spec"], obj["metadata"].get("name", "")
    found: list[FieldError] = []
    if name != f"{(spec.get('names') or {}).get('plural', '')}.{spec.get('group', '')}":
        found.append(invalid_value("metadata.name", name, 'must be spec.names.plural+"."+spec.group'))
    return found + _spec(spec, Ratchet()) + _rest(obj, None)


def validate_crd_update(obj: JsonObject, old: JsonObject) -> list[FieldError]:
    """Failures of a change; a rule that the old definition breaks is not asked of the new one."""
    spec, before = obj["spec"], old["spec"]
    found = _spec(spec, Ratchet(old=schemas_by_version(before)))
    if found:
        found = _spec(spec, ratchet_of(before))
    return found + _fixed(spec, before, is_true(old, "Established")) + _rest(obj, old)


def validate_crd_status(obj: JsonObject) -> list[FieldError]:
    """Failures of a write to the status subresource; upstream looks at the names that were accepted only."""
    return _names((obj.get("status") or {}).get("acceptedNames") or {}, "status.acceptedNames")


def _rest(obj: JsonObject, old: JsonObject | None) -> list[FieldError]:
    """What comes after the spec."""
    spec, found = obj["spec"], validate_crd_status(obj)
    found += _stored((obj.get("status") or {}).get("storedVersions"), spec.get("versions") or [])
    found += approval_faults(obj, old)
    if spec.get("preserveUnknownFields") and not (old and old["spec"].get("preserveUnknownFields")):
        found.append(invalid_value("spec.preserveUnknownFields", True, _PRESERVES))
    return found


def _stored(stored: list[str] | None, versions: list[JsonObject]) -> list[FieldError]:
    path = "status.storedVersions"
    if not stored:
        return [invalid_value(path, stored, "must have at least one stored version")]
    known = {version.get("name", "") for version in versions}
    found = [
        invalid_value(path, stored, f"must have the storage version {version.get('name', '')}")
        for version in versions
        if version.get("storage") and version.get("name", "") not in stored
    ]
    for index, name in enumerate(stored):
        if name not in known:
            found.append(invalid_value(f"{path}[{index}]", name, _WAS_STORED.format(name)))
    return found


def _fixed(spec: JsonObject, before: JsonObject, established: bool) -> list[FieldError]:
    own, old = spec.get("names") or {}, before.get("names") or {}
    found: list[FieldError] = []
    if established:
        found += immutable(spec.get("scope"), before.get("scope"), "spec.scope")
        found += immutable(own.get("kind"), old.get("kind"), "spec.names.kind")
    found += immutable(spec.get("group"), before.get("group"), "spec.group")
    return found + immutable(own.get("plural"), old.get("plural"), "spec.names.plural")


def _spec(spec: JsonObject, ratchet: Ratchet) -> list[FieldError]:
    inner, preserves = internal(spec), bool(spec.get("preserveUnknownFields"))
    found = _group(spec.get("group", "")) + _scope(spec.get("scope", ""))
    found += _missing_schemas(inner, ratchet, preserves)
    if preserves and any(node.get("default") is not None for schema in schemas_of(spec) for node in nodes(schema)):
        why = "must be false in order to use defaults in the schema"
        found.append(invalid_value("spec.preserveUnknownFields", True, why))
    for index, version in enumerate(inner.versions):
        found += _version(version, f"spec.versions[{index}]", inner, ratchet)
    found += _version_list(inner)
    found += _required_names(spec.get("names") or {}) + _names(spec.get("names") or {}, "spec.names")
    found += _common(inner, ratchet)
    return found + conversion_faults(spec.get("conversion"), preserves=preserves)


def _group(group: str) -> list[FieldError]:
    if not group:
        return [required("spec.group")]
    if reasons := names.dns1123_subdomain(group):
        return [invalid_value("spec.group", group, ",".join(reasons))]
    if "." not in group:
        return [invalid_value("spec.group", group, "should be a domain with at least one dot")]
    return []


def _scope(scope: str) -> list[FieldError]:
    if not scope:
        return [required("spec.scope")]
    return [] if scope in _SCOPES else [not_supported("spec.scope", scope, _SCOPES)]


def _missing_schemas(inner: InternalSpec, ratchet: Ratchet, preserves: bool) -> list[FieldError]:
    """Every version has a schema; of a definition that has none already, only the versions that are served."""
    if _openapi(inner.validation) is not None:
        return []
    lacking = [
        (f"spec.versions[{index}].schema.openAPIV3Schema", version)
        for index, version in enumerate(inner.versions)
        if _openapi(version.get("schema")) is None
    ]
    if ratchet.schemas:
        return [required(path) for path, _ in lacking]
    why = "because otherwise all fields are pruned"
    return [required(path, why) for path, version in lacking if version.get("served") and not preserves]


def _openapi(validation: JsonObject | None) -> JsonObject | None:
    schema: JsonObject | None = (validation or {}).get("openAPIV3Schema")
    return schema


def _version(version: JsonObject, path: str, inner: InternalSpec, ratchet: Ratchet) -> list[FieldError]:
    """A version, without what all have in common."""
    name, schema = version.get("name", ""), _openapi(version.get("schema"))
    found: list[FieldError] = []
    if reasons := names.dns1035(name):
        found.append(invalid_value(f"{path}.name", name, ",".join(reasons)))
    found += deprecation_faults(version, path)
    if schema is not None:
        found += schema_faults(
            schema,
            f"{path}.schema.openAPIV3Schema",
            status=_has_status(inner.subresources_of(version)),
            options=ratchet.options,
            old=ratchet.old.get(name),
        )
    found += subresource_faults(version.get("subresources"), f"{path}.subresources")
    found += column_faults(version.get("additionalPrinterColumns") or [], f"{path}.additionalPrinterColumns")
    return found + _selectable(version.get("selectableFields") or [], schema, path, _NO_VERSION_SCHEMA)


_NO_VERSION_SCHEMA = "selectableFields may only be set when version.schema.openAPIV3Schema is not included"
"""Upstream's words, which say the opposite of what is meant."""
_NO_COMMON_SCHEMA = "selectableFields may only be set when validations.schema is included"


def _selectable(fields: list[JsonObject], schema: JsonObject | None, path: str, lacking: str) -> list[FieldError]:
    if not fields:
        return []
    if schema is None:
        return [invalid_value(f"{path}.selectableFields", "", lacking)]
    return selectable_faults(fields, schema, f"{path}.selectableFields")


def _has_status(subresources: JsonObject | None) -> bool:
    return (subresources or {}).get("status") is not None


def _version_list(inner: InternalSpec) -> list[FieldError]:
    versions, listed = inner.versions, [each.get("name", "") for each in inner.versions]
    reasons = []
    if len(set(listed)) < len(listed):
        reasons.append("must contain unique version names")
    if sum(1 for version in versions if version.get("storage")) != 1:
        reasons.append("must have exactly one version marked as storage version")
    found = [invalid_value("spec.versions", [shown_version(each) for each in versions], why) for why in reasons]
    if inner.version and (reasons := names.dns1035(inner.version)):
        found.append(invalid_value("spec.version", inner.version, ",".join(reasons)))
    return found


def _required_names(own: JsonObject) -> list[FieldError]:
    fields = ("plural", "singular", "kind", "listKind")
    return [required(f"spec.names.{field}") for field in fields if not own.get(field)]


def _names(own: JsonObject, path: str) -> list[FieldError]:
    found: list[FieldError] = []
    for field in ("plural", "singular"):
        found += _label(own.get(field), f"{path}.{field}")
    for field in ("kind", "listKind"):
        value = own.get(field)
        if value and (reasons := names.dns1035(value.lower())):
            why = f"may have mixed case, but should otherwise match: {','.join(reasons)}"
            found.append(invalid_value(f"{path}.{field}", value, why))
    for index, short in enumerate(own.get("shortNames") or ()):
        found += _label(short, f"{path}.shortNames[{index}]", empty=False)
    if own.get("kind") and own["kind"] == own.get("listKind"):
        found.append(invalid_value(f"{path}.listKind", own["listKind"], "kind and listKind may not be the same"))
    for index, category in enumerate(own.get("categories") or ()):
        found += _label(category, f"{path}.categories[{index}]", empty=False)
    return found


def _label(value: str | None, path: str, *, empty: bool = True) -> list[FieldError]:
    """empty: a missing value is no failure here."""
    if not value and empty:
        return []
    reasons = names.dns1035(value or "")
    return [invalid_value(path, value or "", ",".join(reasons))] if reasons else []


def _common(inner: InternalSpec, ratchet: Ratchet) -> list[FieldError]:
    """What all versions have in common."""
    schema = _openapi(inner.validation)
    found: list[FieldError] = []
    if schema is not None:
        subresources = [inner.subresources, *(each.get("subresources") for each in inner.versions)]
        found += schema_faults(
            schema,
            "spec.validation.openAPIV3Schema",
            status=any(map(_has_status, subresources)),
            options=ratchet.options,
            old=ratchet.old.get(inner.version),
        )
    found += subresource_faults(inner.subresources, "spec.subresources")
    found += column_faults(inner.columns, "spec.additionalPrinterColumns")
    return found + _selectable(inner.selectable, schema, "spec", _NO_COMMON_SCHEMA)
