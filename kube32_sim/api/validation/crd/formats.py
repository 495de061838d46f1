"""Formats of strings that nothing knows: they are ignored, which who writes the definition is told."""

from __future__ import annotations

from typing import Any

from kube32_sim.api.validation.crd.nodes import nodes, schemas_of

JsonObject = dict[str, Any]

_NAMES = (
    "bsonobjectid uri email hostname ipv4 ipv6 cidr mac uuid uuid3 uuid4 uuid5 isbn isbn10 isbn13 creditcard ssn"
    " hexcolor rgbcolor byte password date duration datetime quantity k8sshortname k8slongname"
)
_KNOWN = frozenset(_NAMES.split())
"""Without dashes, as they are compared."""


def format_warnings(spec: JsonObject, old: JsonObject | None) -> list[str]:
    """One for each format that is unknown and was not there before."""
    before = _unknown(old) if old else {}
    return [f'unrecognized format "{each}"' for each in _unknown(spec) if each not in before]


def _unknown(spec: JsonObject) -> dict[str, None]:
    return {
        node["format"]: None
        for schema in schemas_of(spec)
        for node in nodes(schema)
        if node.get("format") and node.get("type") == "string" and node["format"].replace("-", "") not in _KNOWN
    }
