"""What a change of a definition need not be better at than what is stored: a rule that the old one breaks is not asked
of the new one either, or nothing else of it could be changed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from kube32_sim.api.validation.crd.lists import is_loose_set, key_faults
from kube32_sim.api.validation.crd.nodes import nodes, schemas_of
from kube32_sim.api.validation.crd.openapi import TYPES, Options

JsonObject = dict[str, Any]


class Ratchet(NamedTuple):
    """schemas: every version must have one.  old: the schemas before, by version."""

    options: Options = Options()
    schemas: bool = True
    old: Mapping[str, JsonObject] = {}


def ratchet_of(spec: JsonObject) -> Ratchet:
    """What is asked of a change of a definition with this spec."""
    old = schemas_by_version(spec)
    return Ratchet(
        Options(
            types=not _any(spec, lambda node: bool(node.get("type")) and node["type"] not in TYPES),
            atomic_sets=not _any(spec, is_loose_set),
            map_keys=not _any(spec, lambda node: bool(key_faults(node, ""))),
        ),
        schemas=len(old) == len(spec.get("versions") or ()),
        old=old,
    )


def schemas_by_version(spec: JsonObject) -> dict[str, JsonObject]:
    versions = spec.get("versions") or ()
    found = {each.get("name", ""): (each.get("schema") or {}).get("openAPIV3Schema") for each in versions}
    return {name: schema for name, schema in found.items() if schema is not None}


def _any(spec: JsonObject, is_so: Callable[[JsonObject], bool]) -> bool:
    return any(is_so(node) for schema in schemas_of(spec) for node in nodes(schema))
