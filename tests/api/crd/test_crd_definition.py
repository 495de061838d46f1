"""CustomResourceDefinition: names, versions, columns, subresources, conversion, and what a new one gets."""

from __future__ import annotations

import pytest

from tests.api.crd_objects import AT, LOWER, crd, one_version, refusals, version, with_fields
from tests.api.strategy_objects import created

COLUMN = {"name": "Size", "type": "integer", "jsonPath": ".spec.size"}
SCALE = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}
HOOK = {"clientConfig": {"url": "https://hook.example.com/x"}, "conversionReviewVersions": ["v1"]}
NO_STORED = "status.storedVersions: Invalid value: null: must have at least one stored version"
SHOWN = (
    '{"Name":"v1","Served":true,"Storage":true,"Deprecated":false,"DeprecationWarning":null,"Schema":null,'
    '"Subresources":null,"AdditionalPrinterColumns":null,"SelectableFields":null}'
)
SHOWN_2 = SHOWN.replace('"Storage":true', '"Storage":false')
MIXED = "may have mixed case, but should otherwise match:"
NAME = 'must be spec.names.plural+"."+spec.group'
SEE = "see https://github.com/kubernetes/enhancements/pull/1111"
APPROVAL = 'protected groups must have approval annotation "api-approved.kubernetes.io"'


def test_a_new_definition_gets_its_defaults() -> None:
    obj, failures, warnings = created(crd())
    assert (failures, warnings) == ([], [])
    names = {"kind": "Widget", "listKind": "WidgetList", "plural": "widgets", "singular": "widget"}
    assert obj["spec"]["names"] == names
    assert obj["spec"]["conversion"] == {"strategy": "None"}
    accepted = {"plural": "", "kind": ""}
    assert obj["status"] == {"conditions": None, "acceptedNames": accepted, "storedVersions": ["v1"]}
    assert obj["metadata"]["generation"] == 1


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (
            {"group": ""},
            [f'metadata.name: Invalid value: "widgets.g.example.com": {NAME}', "spec.group: Required value"],
        ),
        ({"group": "nodots"}, ['spec.group: Invalid value: "nodots": should be a domain with at least one dot']),
        ({"scope": ""}, ["spec.scope: Required value"]),
        ({"scope": "Odd"}, ['spec.scope: Unsupported value: "Odd": supported values: "Cluster", "Namespaced"']),
        (
            {"preserveUnknownFields": True},
            [
                "spec.preserveUnknownFields: Invalid value: true: cannot set to true, set "
                "x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"
            ],
        ),
        (
            {"versions": []},
            ["spec.versions: Invalid value: []: must have exactly one version marked as storage version", NO_STORED],
        ),
        (
            {"versions": [version(schema=None) | {"schema": None}]},
            ["spec.versions[0].schema.openAPIV3Schema: Required value"],
        ),
        (
            {"versions": [version(), version("v2", {"type": "object", "title": "t"}) | {"schema": {}}]},
            ["spec.versions[1].schema.openAPIV3Schema: Required value"],
        ),
        (
            {"versions": [version(), version() | {"storage": False}]},
            [f"spec.versions: Invalid value: [{SHOWN},{SHOWN_2}]: must contain unique version names"],
        ),
        (
            {"versions": [version("V1", storage=True)]},
            [f'spec.versions[0].name: Invalid value: "V1": {LOWER}', f'spec.version: Invalid value: "V1": {LOWER}'],
        ),
    ],
)
def test_what_a_spec_is_refused_for(spec, expected) -> None:
    found = refusals(crd(**spec))
    if spec.get("group") == "nodots":
        found = found[1:]
    assert found == expected


def test_two_versions_that_are_stored() -> None:
    first, second = refusals(crd(versions=[version(), version("v2", storage=True)]))
    assert first.endswith("must have exactly one version marked as storage version")
    assert second == 'status.storedVersions: Invalid value: ["v1"]: must have the storage version v2'


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (
            {"kind": ""},
            [
                "spec.names.singular: Required value",
                "spec.names.kind: Required value",
                "spec.names.listKind: Required value",
            ],
        ),
        (
            {"kind": "My_Kind", "singular": "w"},
            [
                f'spec.names.kind: Invalid value: "My_Kind": {MIXED} {LOWER}',
                f'spec.names.listKind: Invalid value: "My_KindList": {MIXED} {LOWER}',
            ],
        ),
        (
            {"listKind": "Widget"},
            ['spec.names.listKind: Invalid value: "Widget": kind and listKind may not be the same'],
        ),
        ({"singular": "A"}, [f'spec.names.singular: Invalid value: "A": {LOWER}']),
        ({"shortNames": ["w", "W"]}, [f'spec.names.shortNames[1]: Invalid value: "W": {LOWER}']),
        ({"categories": ["all", ""]}, [f'spec.names.categories[1]: Invalid value: "": {LOWER}']),
    ],
)
def test_names(names, expected) -> None:
    assert refusals(crd(names={"plural": "widgets", "kind": "Widget"} | names)) == expected


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        ({"name": ""}, ["name: Required value"]),
        ({"type": ""}, ["type: Required value: must be one of boolean,date,integer,number,string"]),
        ({"type": "object"}, ['type: Invalid value: "object": must be one of boolean,date,integer,number,string']),
        (
            {"format": "odd"},
            ['format: Invalid value: "odd": must be one of byte,date,date-time,double,float,int32,int64,password'],
        ),
        ({"jsonPath": ""}, ["JSONPath: Required value"]),
        ({"jsonPath": "{.spec}"}, ['JSONPath: Invalid value: "{.spec}": must be a simple json path starting with .']),
        ({"priority": 1, "format": "int32"}, []),
    ],
)
def test_printer_columns(column, expected) -> None:
    found = refusals(one_version(additionalPrinterColumns=[COLUMN, COLUMN | column]))
    assert found == [f"spec.additionalPrinterColumns[1].{each}" for each in expected]


def test_what_versions_do_not_have_in_common_stays_with_them() -> None:
    bad = COLUMN | {"name": ""}
    found = refusals(crd(versions=[version(additionalPrinterColumns=[bad]), version("v2")]))
    assert found == ["spec.versions[0].additionalPrinterColumns[0].name: Required value"]
    typeless = {"type": "object", "properties": {"a": {}}}
    found = refusals(crd(versions=[version(schema=typeless), version("v2")]))
    assert found == [
        "spec.versions[0].schema.openAPIV3Schema.properties[a].type: Required value: must not be empty for specified "
        "object fields"
    ]


@pytest.mark.parametrize(
    ("scale", "expected"),
    [
        ({"specReplicasPath": ""}, "specReplicasPath: Required value"),
        (
            {"specReplicasPath": "spec.x"},
            'specReplicasPath: Invalid value: "spec.x": must be a simple json path starting with .',
        ),
        (
            {"specReplicasPath": ".status.x"},
            'specReplicasPath: Invalid value: ".status.x": should be a json path under .spec',
        ),
        (
            {"statusReplicasPath": ".spec.x"},
            'statusReplicasPath: Invalid value: ".spec.x": should be a json path under .status',
        ),
        (
            {"labelSelectorPath": ".metadata.x"},
            'labelSelectorPath: Invalid value: ".metadata.x": should be a json path under either .spec or .status',
        ),
        ({"labelSelectorPath": ".spec.x"}, None),
        ({"labelSelectorPath": ""}, None),
    ],
)
def test_scale(scale, expected) -> None:
    found = refusals(one_version(subresources={"scale": SCALE | scale}))
    assert found == ([f"spec.subresources.scale.{expected}"] if expected else [])


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"deprecationWarning": "x"}, "can only be set for deprecated versions"),
        ({"deprecated": True, "deprecationWarning": ""}, "must not be an empty string"),
        ({"deprecated": True, "deprecationWarning": "é" * 129}, "must be <= 256 characters long"),
        (
            {"deprecated": True, "deprecationWarning": "é\u200b"},
            "must only contain printable UTF-8 characters; non-printable character found at index 2",
        ),
        ({"deprecated": True, "deprecationWarning": "use v2, please"}, None),
    ],
)
def test_deprecation_warnings(fields, expected) -> None:
    found = [each.partition(": ") for each in refusals(one_version(**fields))]
    assert [path for path, _, _ in found] == ["spec.versions[0].deprecationWarning"] * bool(expected)
    assert all(why.endswith(f": {expected}") for _, _, why in found)


@pytest.mark.parametrize(
    ("conversion", "expected"),
    [
        ({}, ["strategy: Required value"]),
        ({"strategy": "Odd"}, ['strategy: Unsupported value: "Odd": supported values: "None", "Webhook"']),
        (
            {"strategy": "None", "webhook": HOOK},
            [
                "webhookClientConfig: Forbidden: should not be set when strategy is not set to Webhook",
                "conversionReviewVersions: Forbidden: should not be set when strategy is not set to Webhook",
            ],
        ),
        (
            {"strategy": "Webhook"},
            [
                "webhookClientConfig: Required value: required when strategy is set to Webhook",
                "conversionReviewVersions: Required value",
            ],
        ),
        (
            {"strategy": "Webhook", "webhook": HOOK | {"clientConfig": {}}},
            ["webhookClientConfig: Required value: exactly one of url or service is required"],
        ),
        (
            {"strategy": "Webhook", "webhook": HOOK | {"conversionReviewVersions": ["v7", "v7"]}},
            [
                'conversionReviewVersions[1]: Invalid value: "v7": duplicate version',
                'conversionReviewVersions: Invalid value: ["v7","v7"]: must include at least one of v1, v1beta1',
            ],
        ),
        (
            {"strategy": "Webhook", "webhook": HOOK},
            [
                'strategy: Invalid value: "Webhook": kube32-sim converts with strategy None only and calls no '
                "conversion webhooks"
            ],
        ),
    ],
)
def test_conversion(conversion, expected) -> None:
    assert refusals(crd(conversion=conversion)) == [f"spec.conversion.{each}" for each in expected]


def test_the_port_of_a_conversion_webhook_has_a_default() -> None:
    service = {"name": "s", "namespace": "n"}
    hook = HOOK | {"clientConfig": {"service": service}}
    obj, _, _ = created(crd(conversion={"strategy": "Webhook", "webhook": hook}))
    assert obj["spec"]["conversion"]["webhook"]["clientConfig"]["service"]["port"] == 443


@pytest.mark.parametrize(
    ("annotations", "expected"),
    [
        ({}, [f"Required value: {APPROVAL}, {SEE}"]),
        (
            {"api-approved.kubernetes.io": "yes"},
            [f'Invalid value: "yes": {APPROVAL} with either a URL or a reason starting with "unapproved", {SEE}'],
        ),
        ({"api-approved.kubernetes.io": "https://github.com/kubernetes/kubernetes/pull/1"}, []),
        ({"api-approved.kubernetes.io": "unapproved, experimental-only"}, []),
    ],
)
def test_groups_of_kubernetes_want_approval(annotations, expected) -> None:
    body = crd(group="x.k8s.io") | {"metadata": {"name": "widgets.x.k8s.io", "annotations": annotations}}
    assert refusals(body) == [f"metadata.annotations[api-approved.kubernetes.io]: {each}" for each in expected]


def test_preserving_everything_allows_neither_defaults_nor_conversion() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string", "default": "x"}}}
    found = refusals(crd(schema, preserveUnknownFields=True, conversion={"strategy": "Webhook", "webhook": HOOK}))
    assert [each.rpartition(": ")[2] for each in found[:2]] == [
        "must be false in order to use defaults in the schema",
        "must be None if spec.preserveUnknownFields is true",
    ]


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("", "Required value"),
        ("spec", 'Invalid value: "spec": is an invalid path: expected [ or . but got: spec'),
        (".spec.", 'Invalid value: ".spec.": is an invalid path: unexpected end of JSON path'),
        (".spec['size']", "Invalid value: \".spec['size']\": is an invalid path: array notation is not allowed"),
        (".spec.nope", 'Invalid value: ".spec.nope": is an invalid path: does not refer to a valid field'),
        (".spec.size.x", 'Invalid value: ".spec.size.x": is an invalid path: does not refer to a valid field'),
        (
            ".spec",
            'Invalid value: ".spec": must point to a field of type string, boolean or integer. Enum string '
            "fields and strings with formats are allowed.",
        ),
        (".metadata.name", 'Invalid value: ".metadata.name": must not point to fields in metadata'),
        (
            ".spec.ratio",
            'Invalid value: ".spec.ratio": must point to a field of type string, boolean or integer. Enum '
            "string fields and strings with formats are allowed.",
        ),
        (".spec.labels.x", None),
    ],
)
def test_selectable_fields(path, expected) -> None:
    spec = {
        "size": {"type": "integer"},
        "ratio": {"type": "number"},
        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
    }
    metadata = {"type": "object", "properties": {"name": {"type": "string"}}}
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": spec}, "metadata": metadata}}
    found = refusals(one_version(schema=schema, selectableFields=[{"jsonPath": ".spec.size"}, {"jsonPath": path}]))
    assert found == ([f"spec.selectableFields[1].jsonPath: {expected}"] if expected else [])


def test_selectable_fields_are_eight_different_ones_and_have_a_schema() -> None:
    fields = {f"f{index}": {"type": "string"} for index in range(9)}
    many = [{"jsonPath": f".f{index}"} for index in range(9)]
    schema = {"type": "object", "properties": fields}
    found = refusals(one_version(schema=schema, selectableFields=many))
    assert found == ["spec.selectableFields: Too many: 9: must have at most 8 items"]
    found = refusals(one_version(schema=schema, selectableFields=[*many[:8], many[0]]))
    assert found == ['spec.selectableFields[8].jsonPath: Duplicate value: ".f0"']
    found = refusals(crd(versions=[version(selectableFields=many) | {"schema": None}]))
    assert found[1:] == [
        'spec.selectableFields: Invalid value: "": selectableFields may only be set when validations.schema is included'
    ]


def test_the_root_says_little_where_the_status_is_apart() -> None:
    status = {"subresources": {"status": {}}}
    assert refusals(one_version(schema={"type": "object", "maxProperties": 3})) == []
    (found,) = refusals(one_version(schema={"type": "object", "maxProperties": 3, "description": "d"}, **status))
    assert found.startswith(f'{AT}: Invalid value: {{"ID":"","Schema":"","Ref":null,"Description":"d","Type":"object",')
    assert '"MaxProperties":3,' in found
    assert found.endswith(
        "only [Description Type Format Title Maximum ExclusiveMaximum Minimum ExclusiveMinimum MaxLength MinLength "
        "Pattern MaxItems MinItems UniqueItems MultipleOf Required Items Properties ExternalDocs Example "
        "XPreserveUnknownFields XValidations] fields are allowed at the root of the schema if the status subresource "
        "is enabled"
    )
    assert refusals(one_version(schema={"type": "string"}, **status)) == [
        f'{AT}.type: Invalid value: "string": only "object" is allowed as the type at the root of the schema if the '
        "status subresource is enabled",
        f'{AT}.type: Invalid value: "string": must be object at the root',
    ]


def test_formats_that_nothing_knows_are_told() -> None:
    known = {"a": {"type": "string", "format": "date-time"}, "b": {"type": "integer", "format": "int64"}}
    assert created(with_fields(**known))[2] == []
    odd = {"type": "string", "format": "odd"}
    body = with_fields(a=odd, b={"type": "array", "items": odd}, c={"type": "string", "format": "phone"})
    assert sorted(created(body)[2]) == ['unrecognized format "odd"', 'unrecognized format "phone"']
