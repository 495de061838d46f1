"""Definitions with the features of those that people install are accepted, and every schema gets an answer."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.api.crd_objects import change_refusals, crd, refusals, stored, version
from tests.api.strategy_objects import changed, created

JsonObject = dict[str, Any]

STRING: JsonObject = {"type": "string"}
STATUS = {"status": {}}
PRESERVED: JsonObject = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
QUANTITY: JsonObject = {
    "anyOf": [{"type": "integer"}, {"type": "string"}],
    "pattern": r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|"
    r"(\.[0-9]+))))?$",
    "x-kubernetes-int-or-string": True,
}
CONDITIONS: JsonObject = {
    "type": "array",
    "maxItems": 8,
    "items": {
        "type": "object",
        "required": ["type", "status"],
        "properties": {
            "type": STRING | {"maxLength": 316},
            "status": STRING | {"enum": ["True", "False", "Unknown"]},
            "lastTransitionTime": STRING | {"format": "date-time"},
            "observedGeneration": {"type": "integer", "format": "int64", "minimum": 0},
        },
    },
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["type"],
}


def obj(*needed: str, **properties: JsonObject) -> JsonObject:
    return {"type": "object", "properties": properties} | ({"required": list(needed)} if needed else {})


def many(items: JsonObject, **more: Any) -> JsonObject:
    return {"type": "array", "items": items} | more


def whole(spec: JsonObject, **more: JsonObject) -> JsonObject:
    return obj("spec", apiVersion=STRING, kind=STRING, metadata={"type": "object"}, spec=spec, **more)


def certificate() -> JsonObject:
    """cert-manager: columns of conditions, enums, durations, several resources' secrets."""
    column = {"name": "Ready", "type": "string", "jsonPath": '.status.conditions[?(@.type == "Ready")].status'}
    issuer = obj("name", name=STRING, kind=STRING, group=STRING)
    key = obj(
        algorithm=STRING | {"enum": ["RSA", "ECDSA", "Ed25519"]},
        rotationPolicy=STRING | {"default": "Always"},
        size={"type": "integer"},
    )
    labels = {"type": "object", "additionalProperties": STRING}
    spec = obj(
        "issuerRef",
        "secretName",
        issuerRef=issuer,
        secretName=STRING,
        privateKey=key,
        dnsNames=many(STRING),
        secretTemplate=obj(annotations=labels, labels=labels),
        revisionHistoryLimit={"type": "integer", "format": "int32", "minimum": 1},
    )
    status = obj(conditions=CONDITIONS, revision={"type": "integer"}, notAfter=STRING | {"format": "date-time"})
    schema = whole(spec, status=status)
    fields = [{"jsonPath": ".spec.issuerRef.name"}]
    return version(schema=schema, subresources=STATUS, additionalPrinterColumns=[column], selectableFields=fields)


def service_monitor() -> JsonObject:
    """The Prometheus operator: integers or strings, quantities, patterns, atomic maps."""
    reference = obj("key", key=STRING, name=STRING | {"default": ""}, optional={"type": "boolean"})
    reference |= {"x-kubernetes-map-type": "atomic"}
    duration = STRING | {"pattern": "^(0|(([0-9]+)y)?(([0-9]+)w)?(([0-9]+)d)?(([0-9]+)h)?(([0-9]+)m)?(([0-9]+)s)?)$"}
    port = {"anyOf": [{"type": "integer"}, {"type": "string"}], "x-kubernetes-int-or-string": True}
    values = {"type": "object", "additionalProperties": many(STRING)}
    endpoint = obj(port=STRING, targetPort=port, interval=duration, params=values, bearerTokenSecret=reference)
    expression = obj("key", "operator", key=STRING, operator=STRING, values=many(STRING, **ATOMIC_LIST))
    selector = obj(matchLabels={"type": "object", "additionalProperties": STRING}, matchExpressions=many(expression))
    selector["properties"]["matchExpressions"] |= ATOMIC_LIST
    selector |= {"x-kubernetes-map-type": "atomic"}
    spec = obj("endpoints", "selector", endpoints=many(endpoint), selector=selector, limit=QUANTITY)
    return version(schema=whole(spec))


ATOMIC_LIST = {"x-kubernetes-list-type": "atomic"}


def application() -> JsonObject:
    """Argo CD: `operation` beside spec, anything as values, no status subresource, column of a nested field."""
    source = obj("repoURL", repoURL=STRING, helm=obj(valuesObject=PRESERVED, parameters=many(obj(name=STRING))))
    spec = obj("project", project=STRING, source=source, sources=many(source), info=many(obj("name", name=STRING)))
    columns = [{"name": "Sync Status", "type": "string", "jsonPath": ".status.sync.status", "priority": 10}]
    schema = whole(spec, operation=obj(sync=obj(revision=STRING)), status=obj(sync=obj(status=STRING)))
    return version(schema=schema, subresources={}, additionalPrinterColumns=columns)


def http_route() -> JsonObject:
    """The Gateway API: rules in CEL on lists and on the root of objects, defaults of objects, sets of maps."""
    path = obj(
        type=STRING | {"default": "PathPrefix", "enum": ["Exact", "PathPrefix"]}, value=STRING | {"maxLength": 99}
    )
    path |= {
        "default": {"type": "PathPrefix", "value": "/"},
        "x-kubernetes-validations": [
            {"rule": "self.type != 'Exact' || self.value.startsWith('/')", "message": "value must start with '/'"},
        ],
    }
    ref = obj("name", name=STRING | {"maxLength": 253}, sectionName=STRING | {"maxLength": 253})
    parents = many(ref, maxItems=32) | ATOMIC_LIST
    parents["x-kubernetes-validations"] = [
        {
            "message": "sectionName must be unique",
            "rule": "self.all(p1, self.exists_one(p2, p1.name == p2.name && (!has(p1.sectionName) || p1.sectionName == "
            "'') == (!has(p2.sectionName) || p2.sectionName == '')))",
        },
    ]
    match = obj(path=path) | {"type": "object"}
    rules = many(obj(matches=many(match, maxItems=8) | {"default": [{"path": {"type": "PathPrefix", "value": "/"}}]}))
    rules |= {"maxItems": 16, "default": [{"matches": [{"path": {"type": "PathPrefix", "value": "/"}}]}]}
    spec = obj(parentRefs=parents, hostnames=many(STRING | {"maxLength": 253}, maxItems=16), rules=rules)
    return version(schema=whole(spec, status=obj("parents", parents=CONDITIONS)), subresources=STATUS)


def kopf() -> JsonObject:
    """What tutorials of operators write: an open spec and an open status."""
    return version(schema=obj(spec=PRESERVED, status=PRESERVED))


def workflow() -> JsonObject:
    """Whole resources inside, one of them open; and a scale."""
    embedded = PRESERVED | {"x-kubernetes-embedded-resource": True}
    closed = {"type": "object", "x-kubernetes-embedded-resource": True, "properties": {"spec": obj(x=STRING)}}
    scale = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}
    spec = obj(template=embedded, other=closed, replicas={"type": "integer", "default": 1})
    schema = whole(spec, status=obj(replicas={"type": "integer"}))
    return version(schema=schema, subresources={"status": {}, "scale": scale})


REAL = [certificate, service_monitor, application, http_route, kopf, workflow]


@pytest.mark.parametrize("make", REAL, ids=lambda make: make.__name__)
def test_definitions_that_people_install(make) -> None:
    body = crd(versions=[make()], names={"plural": "widgets", "kind": "Widget", "categories": ["all"]})
    obj_, failures, warnings = created(body)
    assert ([str(each) for each in failures], warnings) == ([], [])
    assert changed(obj_, body)[1] == []


def test_versions_with_schemas_of_their_own() -> None:
    old = certificate() | {"name": "v1alpha1", "storage": False, "deprecated": True, "deprecationWarning": "use v1"}
    assert refusals(crd(versions=[old, certificate()])) == []
    other = http_route() | {"name": "v1beta1", "storage": False, "subresources": None}
    assert refusals(crd(versions=[other, certificate()])) == []


LEAVES = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(["string", "integer", "object", "array", "odd", "null"]),
        "default": st.sampled_from(["x", 1, {}, []]),
        "nullable": st.just(True),
        "pattern": st.sampled_from(["a", "(", "[", r"\p{Greek}+", "a{2}{3}"]),
        "required": st.just(["a"]),
        "x-kubernetes-preserve-unknown-fields": st.booleans(),
        "x-kubernetes-embedded-resource": st.just(True),
        "x-kubernetes-int-or-string": st.just(True),
        "x-kubernetes-list-type": st.sampled_from(["map", "set", "atomic", "odd"]),
        "x-kubernetes-map-type": st.sampled_from(["atomic", "granular", "odd"]),
        "x-kubernetes-list-map-keys": st.just(["a"]),
        "$ref": st.just("x"),
    },
)


def _deeper(inner: st.SearchStrategy[JsonObject]) -> st.SearchStrategy[JsonObject]:
    named = st.dictionaries(st.sampled_from(["a", "b", "metadata", "kind"]), inner, max_size=3)
    several = st.lists(inner, min_size=1, max_size=2)
    parts = {
        "properties": named,
        "items": st.one_of(inner, several),
        "additionalProperties": st.one_of(inner, st.booleans()),
        "not": inner,
        "allOf": several,
        "anyOf": several,
        "oneOf": several,
        "definitions": named,
        "dependencies": st.dictionaries(st.just("a"), st.one_of(inner, st.just(["b"])), max_size=1),
    }
    return st.builds(lambda leaf, more: leaf | more, LEAVES, st.fixed_dictionaries({}, optional=parts))


@settings(max_examples=100, deadline=None)
@given(schema=st.recursive(LEAVES, _deeper, max_leaves=12), apart=st.booleans())
def test_every_schema_gets_an_answer(schema: JsonObject, apart: bool) -> None:
    body = crd(versions=[version(schema=schema, subresources=STATUS if apart else None)])
    found = refusals(body)
    if not found:
        assert change_refusals(stored(body), body) == []
