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
    """schemas: every version must have one.  names: scope and kind stay.  old: schemas by version of the
    definition that is changed."""

    options: Options = Options()
    schemas: bool = True
    names: bool = False
    old: Mapping[str, JsonObject] = {}


def ratchet_of(old: JsonObject) -> Ratchet:
    """What is asked of a change of `old`, a whole definition."""
    spec = old["spec"]
    versions = spec.get("versions") or ()
    by_version = {each.get("name", ""): (each.get("schema") or {}).get("openAPIV3Schema") for each in versions}
    return Ratchet(
        Options(
            types=not _any(spec, lambda node: bool(node.get("type")) and node["type"] not in TYPES),
            atomic_sets=not _any(spec, is_loose_set),
            map_keys=not _any(spec, lambda node: bool(key_faults(node, ""))),
        ),
        schemas=all(schema is not None for schema in by_version.values()),
        names=_is_established(old),
        old={name: schema for name, schema in by_version.items() if schema is not None},
    )


def _any(spec: JsonObject, is_so: Callable[[JsonObject], bool]) -> bool:
    return any(is_so(node) for schema in schemas_of(spec) for node in nodes(schema))


def _is_established(crd: JsonObject) -> bool:
    conditions = (crd.get("status") or {}).get("conditions") or ()
    return any(each.get("type") == "Established" and each.get("status") == "True" for each in conditions)
