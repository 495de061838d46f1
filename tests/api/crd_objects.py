"""CustomResourceDefinitions for tests: a good one, and changes of it."""

from __future__ import annotations

import copy
from typing import Any

from tests.api.strategy_objects import changed, created, texts

JsonObject = dict[str, Any]

AT = "spec.validation.openAPIV3Schema"
"""Where messages see the schema of the only version."""
LOWER = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, "
    "and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is "
    "'[a-z]([-a-z0-9]*[a-z0-9])?')"
)


def version(name: str = "v1", schema: JsonObject | None = None, **more: Any) -> JsonObject:
    """The first is the one that is stored, unless `storage` says otherwise."""
    whole = {"openAPIV3Schema": {"type": "object"} if schema is None else schema}
    return {"name": name, "served": True, "storage": name == "v1", "schema": whole} | more


def crd(schema: JsonObject | None = None, **spec: Any) -> JsonObject:
    """One version with this schema; spec: fields that are different."""
    names = {"plural": "widgets", "kind": "Widget"}
    whole = {"group": "g.example.com", "scope": "Namespaced", "names": names, "versions": [version(schema=schema)]}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.g.example.com"},
        "spec": copy.deepcopy(whole | spec),
    }


def one_version(**more: Any) -> JsonObject:
    return crd(versions=[version(**more)])


def with_fields(**properties: JsonObject) -> JsonObject:
    """A definition whose schema has these fields."""
    return crd({"type": "object", "properties": properties})


def refusals(body: JsonObject) -> list[str]:
    """What a POST is refused for."""
    return texts(created(body)[1])


def stored(body: JsonObject, *conditions: str) -> JsonObject:
    """What a POST made of a good definition, with these conditions."""
    obj, failures, _ = created(body)
    assert failures == []
    return obj | {"status": obj["status"] | {"conditions": [{"type": each, "status": "True"} for each in conditions]}}


def change_refusals(old: JsonObject, body: JsonObject) -> list[str]:
    """What a PUT is refused for.  old: from `stored`."""
    return texts(changed(old, body)[1])
