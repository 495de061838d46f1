"""The rows of the table that a CustomResourceDefinition makes: one a served version, the stored version's first."""

from __future__ import annotations

from typing import Any

from kube32_sim.api.customs.columns import columns_of
from kube32_sim.api.customs.naming import CustomType, names_of
from kube32_sim.api.customs.strategy import CustomStrategy
from kube32_sim.api.customs.version import CustomVersion, paths_of
from kube32_sim.api.resources import ResourceType, Subresource

JsonObject = dict[str, Any]

VERBS = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")
_CHANGES = ("get", "patch", "update")


def rows_of(crd: JsonObject, kind: CustomType) -> list[ResourceType]:
    """Of a definition whose names have been accepted.  The first row is the stored version's, served or not."""
    spec = crd["spec"]
    entries = sorted(spec["versions"], key=lambda version: not version.get("storage"))
    stored = CustomVersion(kind, spec, entries[0], None)
    versions = [stored, *(CustomVersion(kind, spec, entry, stored) for entry in entries[1:])]
    kind.versions = {version.api_version: version for version in versions}
    fields = paths_of(versions)
    return [
        _row(crd, entry, version, fields if version is stored else version.fields)
        for entry, version in zip(entries, versions, strict=True)
        if version is stored or entry.get("served")
    ]


def _row(crd: JsonObject, entry: JsonObject, version: CustomVersion, fields: tuple[str, ...]) -> ResourceType:
    spec, names = crd["spec"], names_of(crd)
    group, plural, kind = spec["group"], names["plural"], names["kind"]
    subresources = []
    if version.has_status:
        subresources.append(Subresource("status", _CHANGES, kind))
    if version.scale is not None:
        subresources.append(Subresource("scale", _CHANGES, "Scale", "autoscaling", "v1"))
    return ResourceType(
        group=group,
        version=entry["name"],
        kind=kind,
        plural=plural,
        singular=names.get("singular") or kind.lower(),
        namespaced=spec["scope"] == "Namespaced",
        schema="",
        short_names=tuple(names.get("shortNames") or ()),
        categories=tuple(names.get("categories") or ()),
        verbs=VERBS if entry.get("served") else (),
        subresources=tuple(subresources),
        storage=(group, plural),
        fields=fields,
        generation=True,
        strategy=CustomStrategy(version),
        columns=columns_of(entry),
        names_in_list=True,
        list_kind=names.get("listKind") or f"{kind}List",
        custom=version,
    )
