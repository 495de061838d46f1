"""Request bodies: JSON, YAML and protobuf, what they must say of themselves, unknown and repeated fields."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kube32_sim.api import jsontext, protobuf
from kube32_sim.api.bodies import decode_body, decode_plain, expected
from kube32_sim.api.errors import ApiError
from kube32_sim.api.resources import ResourceType

CONFIG_MAP = expected("", "v1", "ConfigMap")
POD = expected("", "v1", "Pod")
DEPLOYMENT = expected("apps", "v1", "Deployment")
WIDGET = ResourceType("x.io", "v1", "Widget", "widgets", "widget", namespaced=True, schema="", names_in_list=True)
UNRECOGNIZED = "the object provided is unrecognized (must be of type ConfigMap): couldn't get version/kind; "


def body(data: Any, row: ResourceType = CONFIG_MAP, validation: str = "Warn", media: str = "json") -> Any:
    raw = data if isinstance(data, bytes) else json.dumps(data).encode()
    return decode_body(raw, media, row, validation)


def refusal(data: Any, row: ResourceType = CONFIG_MAP, validation: str = "Warn", media: str = "json") -> str:
    with pytest.raises(ApiError) as raised:
        body(data, row, validation, media)
    assert raised.value.code == 400
    return raised.value.message


def test_an_object_leaves_without_version_and_kind() -> None:
    given = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"k": "v"}}
    assert body(given) == ({"metadata": {"name": "a"}, "data": {"k": "v"}}, [])


@pytest.mark.parametrize(
    "given", [{}, {"apiVersion": "v1"}, {"kind": "ConfigMap"}, {"kind": None, "apiVersion": ""}, b"null", b" {} "]
)
def test_version_and_kind_may_be_left_out(given: Any) -> None:
    assert body(given) == ({"metadata": {}}, [])


@pytest.mark.parametrize(
    ("data", "rest"),
    [
        (b"", "json parse error: unexpected end of JSON input (<empty>)"),
        (b'{"a":1', 'json parse error: unexpected end of JSON input ({"a":1)'),
        (b"not json", "json parse error: invalid character 'n' looking for beginning of value (6e6f74206a736f6e)"),
        (b'{"a":1}x', "json parse error: invalid character 'x' after top-level value ({\"a\":1}x)"),
        (b'{"a" 1}', "json parse error: invalid character '1' after object key ({\"a\" 1})"),
        (b'{"a":NaN}', "json parse error: invalid character 'N' looking for beginning of value ({\"a\":NaN})"),
        (
            b'{"a":-Infinity}',
            "json parse error: invalid character 'I' looking for beginning of value ({\"a\":-Infinity})",
        ),
        (
            b'{"kind":5,"metadata":{"name":"a long name"}}',
            "json parse error: json: cannot unmarshal number into Go struct field .kind of type string "
            '({"kind":5,"metadata":{"name":" ...)',
        ),
    ],
)
def test_what_is_no_object(data: bytes, rest: str) -> None:
    assert refusal(data) == UNRECOGNIZED + rest


@pytest.mark.parametrize("data", [b"[]", b'"text"', b"5", b"true"])
def test_other_values_are_no_object(data: bytes) -> None:
    assert refusal(data).startswith(UNRECOGNIZED + "json parse error: json: cannot unmarshal ")


@pytest.mark.parametrize("depth", [300, 1100, 100_000])
def test_deep_nesting_is_refused(depth: int) -> None:
    assert "exceeded max depth" in refusal(b'{"a":' * depth + b"1" + b"}" * depth)
    assert "exceeded max depth" in refusal(b'{"a":' + b"[" * depth + b"]" * depth + b"}")


@pytest.mark.parametrize(
    ("version", "kind", "row", "message"),
    [
        (
            "v1",
            "Secret",
            CONFIG_MAP,
            'Secret in version "v1" cannot be handled as a ConfigMap: '
            "converting (v1.Secret) to (core.ConfigMap): unknown conversion",
        ),
        (
            "v1",
            "Pod",
            DEPLOYMENT,
            'Pod in version "v1" cannot be handled as a Deployment: '
            "converting (v1.Pod) to (apps.Deployment): unknown conversion",
        ),
        (
            "apps/v1",
            "Deployment",
            expected("autoscaling", "v1", "Scale"),
            'Deployment in version "v1" cannot be handled as a Scale: '
            "converting (v1.Deployment) to (autoscaling.Scale): unknown conversion",
        ),
        (
            "extensions/v1beta1",
            "Deployment",
            DEPLOYMENT,
            "the API version in the data (extensions/v1beta1) does not match the expected API version (apps/v1)",
        ),
        (
            "autoscaling/v2",
            "HorizontalPodAutoscaler",
            expected("autoscaling", "v1", "HorizontalPodAutoscaler"),
            "the API version in the data (autoscaling/v2) does not match the expected API version (autoscaling/v1)",
        ),
    ],
)
def test_another_kind_or_version(version: str, kind: str, row: ResourceType, message: str) -> None:
    assert refusal({"apiVersion": version, "kind": kind}, row) == message


@pytest.mark.parametrize(("version", "kind", "row"), [("v2", "ConfigMap", CONFIG_MAP), ("v1", "pod", POD)])
def test_a_kind_that_is_not_registered(version: str, kind: str, row: ResourceType) -> None:
    start = f'{kind} in version "{version}" cannot be handled as a {row.kind}: no kind "{kind}" is registered for '
    assert refusal({"apiVersion": version, "kind": kind}, row).startswith(f'{start}version "{version}" in scheme "')


def test_evictions_come_in_every_version() -> None:
    given = {"apiVersion": "policy/v1beta1", "kind": "Eviction", "metadata": {"name": "a"}}
    assert body(given, expected("policy", "v1", "Eviction"))[0] == {"metadata": {"name": "a"}}


def test_type_errors_name_the_kind() -> None:
    assert refusal({"data": {"n": 5}}) == (
        'ConfigMap in version "v1" cannot be handled as a ConfigMap: '
        "json: cannot unmarshal number into Go struct field ConfigMap.data of type string"
    )


@pytest.mark.parametrize("number", ["1.50", "1e1", "99999999999999999999", "-0.0"])
def test_numbers_are_quoted_as_they_were_written(number: str) -> None:
    data = f'{{"spec":{{"replicas":{number}}}}}'.encode()
    assert f"cannot unmarshal number {number} into" in refusal(data, DEPLOYMENT)


def test_a_quantity_given_as_a_number_keeps_its_form() -> None:
    data = b'{"spec":{"containers":[{"name":"a","resources":{"limits":{"memory":1e6,"cpu":0.10}}}]}}'
    limits = body(data, POD)[0]["spec"]["containers"][0]["resources"]["limits"]
    assert limits == {"memory": "1e6", "cpu": "100m"}


FAULTY = b'{"metadata":{"name":"d"},"data":{"a":"1","a":"2"},"data2":{"b":1,"b":2}}'
FAULTS = ['duplicate field "data.a"', 'unknown field "data2"']


def test_unknown_and_repeated_fields() -> None:
    obj = {"metadata": {"name": "d"}, "data": {"a": "2"}}
    assert body(FAULTY, validation="Warn") == (obj, FAULTS)
    assert body(FAULTY, validation="Ignore") == (obj, [])
    start = 'ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: '
    assert refusal(FAULTY, validation="Strict") == start + ", ".join(FAULTS)


def test_faults_come_in_the_order_of_the_text() -> None:
    data = b'{"odd":1,"spec":{"containers":[{"name":"a","x":1,"name":"b"},{"name":"c","name":"d"}]},"even":1}'
    assert body(data, POD)[1] == [
        'unknown field "odd"',
        'unknown field "spec.containers[0].x"',
        'duplicate field "spec.containers[0].name"',
        'duplicate field "spec.containers[1].name"',
        'unknown field "even"',
    ]


def test_repeated_objects_merge_as_in_go() -> None:
    data = b'{"metadata":{"name":"a","labels":{"x":"1"}},"metadata":{"namespace":"n","labels":{"y":"2"}}}'
    assert body(data)[0] == {"metadata": {"name": "a", "labels": {"x": "1", "y": "2"}, "namespace": "n"}}


def test_escaped_colons_do_not_hide_a_repeated_key() -> None:
    data = b'{"data":{"a":"\\u003a","a":"x"}}'
    assert body(data)[1] == ['duplicate field "data.a"']
    assert body(b'{"data":{"a":"\\u003A","b":"::"}}')[1] == []


KEYS = st.sampled_from(["a", "b", 'c":', "d"])
PAIRS = st.recursive(
    st.integers(0, 9) | st.sampled_from(["x", ":", '":"', "\\"]),
    lambda inner: st.lists(st.tuples(KEYS, inner), max_size=3).map(tuple) | st.lists(inner, max_size=3),
    max_leaves=12,
)


def _text(value: Any) -> str:
    if isinstance(value, tuple):
        return "{" + ",".join(f"{json.dumps(name)} : {_text(item)}" for name, item in value) + "}"
    return "[" + ",".join(map(_text, value)) + "]" if isinstance(value, list) else json.dumps(value)


def _repeats(value: Any) -> bool:
    if isinstance(value, tuple):
        names = [name for name, _ in value]
        return len(set(names)) < len(names) or any(_repeats(item) for _, item in value)
    return isinstance(value, list) and any(map(_repeats, value))


@settings(max_examples=300, deadline=None)
@given(PAIRS)
def test_the_quick_look_for_repeated_keys_is_exact(value: Any) -> None:
    data = _text(value).encode()
    encoded = jsontext.check_extent(jsontext.loads(data))
    assert jsontext.may_repeat(data, encoded) is _repeats(value)
    assert bool(jsontext.order_of_paths(data)[1]) is _repeats(value)


def test_broken_unicode_is_replaced() -> None:
    assert body(b'{"data":{"a":"\xff","b":"\\ud800"}}')[0]["data"] == {"a": "\ufffd", "b": "\ufffd"}


def test_a_custom_resource_keeps_what_it_has() -> None:
    given = {"apiVersion": "x.io/v1", "kind": "Widget", "metadata": {"name": "a", "odd": 1}, "spec": {"size": None}}
    assert body(given, WIDGET) == (
        {"metadata": {"name": "a"}, "spec": {"size": None}},
        ['unknown field "metadata.odd"'],
    )


def test_a_custom_resource_must_say_what_it_is() -> None:
    assert refusal({"metadata": {"name": "k"}, "spec": {"size": 3}}, WIDGET) == (
        "the object provided is unrecognized (must be of type Widget): Object 'Kind' is missing in "
        '\'{"metadata": {"name": "k"}, "spec": {"size": 3}}\' ({"metadata": {"name": "k"}, "s ...)'
    )
    assert "does not match the expected API version" in refusal({"apiVersion": "x.io/v2", "kind": "Widget"}, WIDGET)
    with pytest.raises(ApiError) as raised:
        body({"apiVersion": "x.io/v1", "kind": "Other", "metadata": {"name": "k"}}, WIDGET)
    assert raised.value.message == 'Other.x.io "k" is invalid: kind: Invalid value: "Other": must be Widget'


def test_yaml_bodies() -> None:
    text = b"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: cm\ndata:\n  k: v\n  on: 'x'\nodd: 1\n"
    assert body(text, media="yaml") == (
        {"metadata": {"name": "cm"}, "data": {"k": "v", "true": "x"}},
        ['unknown field "odd"'],
    )
    assert body(b"", media="yaml") == ({"metadata": {}}, [])
    repeated = b"data:\n  a: x\n  a: z\n"
    assert body(repeated, media="yaml") == (
        {"data": {"a": "z"}, "metadata": {}},
        ['line 3: key "a" already set in map'],
    )
    assert "already set in map" in refusal(repeated, media="yaml", validation="Strict")
    assert refusal(b"a: [b", media="yaml").startswith(
        "the object provided is unrecognized (must be of type ConfigMap): yaml: line "
    )


def test_protobuf_bodies() -> None:
    data = protobuf.encode("v1", "ConfigMap", {"metadata": {"name": "p"}, "data": {"k": "v"}})
    assert body(data, media="protobuf") == ({"metadata": {"name": "p"}, "data": {"k": "v"}}, [])
    secret = protobuf.encode("v1", "Secret", {"metadata": {"name": "p"}})
    assert "unknown conversion" in refusal(secret, media="protobuf")
    refusal(b"k8s\x00\xff\xff", media="protobuf")


def test_options_of_a_delete_are_read_as_they_are() -> None:
    assert decode_plain(b'{"kind":"Pod","apiVersion":"v1","x":[1]}', "json") == {
        "kind": "Pod",
        "apiVersion": "v1",
        "x": [1],
    }
    assert decode_plain(b"gracePeriodSeconds: 5", "yaml") == {"gracePeriodSeconds": 5}
    with pytest.raises(ApiError) as raised:
        decode_plain(b"{broken", "json")
    assert raised.value.message.startswith("couldn't get version/kind; json parse error: ")


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=40) | st.text(alphabet='{}[]":,aé1e.-\\u003\n &*!|', max_size=30).map(str.encode))
def test_any_bytes_are_an_object_or_a_400(data: bytes) -> None:
    for media in ("json", "yaml", "protobuf"):
        assert _code(data, media) in (201, 400)


def _code(data: bytes, media: str) -> int:
    try:
        decode_body(data, media, POD, "Strict")
    except ApiError as error:
        return error.code
    return 201
