"""Decoding objects as Go's typed JSON does."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kube32_sim.api import schema
from kube32_sim.api.decode import DecodeError, Unexact, decode, decode_value, empty, fast, leaves
from kube32_sim.api.decode.diagnose import Diagnosis
from kube32_sim.api.decode.types import Type
from kube32_sim.api.errors import ApiError

CORE = "io.k8s.api.core.v1."
POD, NODE, SERVICE, CONFIG_MAP, SECRET = (CORE + kind for kind in ("Pod", "Node", "Service", "ConfigMap", "Secret"))
DEPLOYMENT = "io.k8s.api.apps.v1.Deployment"
CRD = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinition"


def pod(**container: Any) -> dict[str, Any]:
    return {"spec": {"containers": [{"name": "a", **container}]}}


def decoded_container(**container: Any) -> Any:
    return decode_value(pod(**container), POD)[0]["spec"]["containers"][0]


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        (CONFIG_MAP, {"data": {"n": 5}}, "number into Go struct field ConfigMap.data of type string"),
        (CONFIG_MAP, {"data": "text"}, "string into Go struct field ConfigMap.data of type map[string]string"),
        (CONFIG_MAP, {"data": ["x"]}, "array into Go struct field ConfigMap.data of type map[string]string"),
        (CONFIG_MAP, {"metadata": "text"}, "string into Go struct field ConfigMap.metadata of type v1.ObjectMeta"),
        (CONFIG_MAP, {"metadata": {"name": 7}}, "number into Go struct field ObjectMeta.metadata.name of type string"),
        (
            CONFIG_MAP,
            {"metadata": {"labels": {"x": True}}},
            "bool into Go struct field ObjectMeta.metadata.labels of type string",
        ),
        (
            CONFIG_MAP,
            {"metadata": {"creationTimestamp": 5}},
            "number into Go struct field ObjectMeta.metadata.creationTimestamp of type string",
        ),
        (
            POD,
            {"spec": {"containers": {"name": "x"}}},
            "object into Go struct field PodSpec.spec.containers of type []v1.Container",
        ),
        (POD, pod(image=1.5), "number into Go struct field Container.spec.containers.image of type string"),
        (
            POD,
            pod(imagePullPolicy=1),
            "number into Go struct field Container.spec.containers.imagePullPolicy of type v1.PullPolicy",
        ),
        (
            POD,
            pod(resources={"limits": []}),
            "array into Go struct field ResourceRequirements.spec.containers.resources.limits of type v1.ResourceList",
        ),
        (
            POD,
            pod(livenessProbe={"httpGet": {"port": 1.5}}),
            "number 1.5 into Go struct field HTTPGetAction.spec.containers.livenessProbe.httpGet.port of type int32",
        ),
        (
            DEPLOYMENT,
            {"spec": {"replicas": "two"}},
            "string into Go struct field DeploymentSpec.spec.replicas of type int32",
        ),
        (
            DEPLOYMENT,
            {"spec": {"replicas": 3_000_000_000}},
            "number 3000000000 into Go struct field DeploymentSpec.spec.replicas of type int32",
        ),
        (DEPLOYMENT, {"spec": {"paused": 1}}, "number into Go struct field DeploymentSpec.spec.paused of type bool"),
        (SECRET, {"data": {"a": 1}}, "number into Go struct field Secret.data of type []uint8"),
    ],
)
def test_wrong_types_are_refused_in_go_s_words(key: str, value: dict[str, Any], message: str) -> None:
    with pytest.raises(DecodeError) as raised:
        decode_value(value, key)
    assert str(raised.value) == f"json: cannot unmarshal {message}"


def test_the_first_type_error_counts_and_a_parser_s_error_more() -> None:
    two_faults = {"data": {"n": 5}, "metadata": {"name": 7}}
    with pytest.raises(DecodeError, match=r"ConfigMap\.data"):
        decode_value(two_faults, CONFIG_MAP)
    with pytest.raises(DecodeError, match="quantities must match"):
        decode_value({"metadata": {"name": 7}, **pod(resources={"limits": {"cpu": "12Zb"}})}, POD)


@pytest.mark.parametrize("value", [True, [1], {"a": 1}, "", "12Zb"])
def test_what_is_no_quantity(value: Any) -> None:
    with pytest.raises(DecodeError, match="quantities must match the regular expression"):
        decoded_container(resources={"limits": {"cpu": value}})


def test_decode_words_errors_as_the_400_of_a_body() -> None:
    with pytest.raises(ApiError) as raised:
        decode({"data": {"n": 5}}, CONFIG_MAP, "ConfigMap", "v1")
    assert raised.value.code == 400
    assert raised.value.message.startswith('ConfigMap in version "v1" cannot be handled as a ConfigMap: json: cannot')


@pytest.mark.parametrize(
    ("given", "written"),
    [
        ({"cpu": "1000m"}, {"cpu": "1"}),
        ({"cpu": 1.5}, {"cpu": "1500m"}),
        ({"cpu": 2}, {"cpu": "2"}),
        ({"memory": " 1024Mi "}, {"memory": "1Gi"}),
        ({"cpu": None}, {"cpu": "0"}),
    ],
)
def test_quantities_become_canonical(given: dict[str, Any], written: dict[str, Any]) -> None:
    assert decoded_container(resources={"limits": given})["resources"] == {"limits": written}


def test_numbers_that_keep_their_text_are_read_by_it() -> None:
    value = pod(resources={"limits": {"cpu": leaves.ExactNumber("1e3")}})
    assert decode_value(value, POD)[0]["spec"]["containers"][0]["resources"] == {"limits": {"cpu": "1e3"}}
    with pytest.raises(Unexact):
        decode_value(pod(resources={"limits": {"cpu": 1000.0}}), POD, exact=True)


def test_unknown_fields_are_dropped_and_reported_in_input_order() -> None:
    value = {
        "metadata": {"lables": {}},
        "spec": {"template": {"spec": {"containers": [{"name": "a", "imag": "x"}]}}, "replica": 3},
        "Kind2": 1,
    }
    made, unknown = decode_value(value, DEPLOYMENT)
    assert unknown == ["metadata.lables", "spec.template.spec.containers[0].imag", "spec.replica", "Kind2"]
    assert made["metadata"] == {}
    assert made["spec"]["template"]["spec"]["containers"] == [{"name": "a", "resources": {}}]


def test_field_names_are_case_sensitive() -> None:
    assert decode_value({"Data": {"a": "b"}}, CONFIG_MAP) == ({"metadata": {}}, ["Data"])


def test_no_more_than_a_hundred_unknown_fields_are_reported() -> None:
    assert len(decode_value({f"x{n}": 1 for n in range(500)}, CONFIG_MAP)[1]) == 100


def test_nulls_go_and_zero_values_go_where_go_omits_them() -> None:
    value = {
        "metadata": {"creationTimestamp": None, "labels": {}, "name": ""},
        "spec": {
            "hostNetwork": False,
            "automountServiceAccountToken": False,
            "terminationGracePeriodSeconds": 0,
            "nodeName": "",
            "runtimeClassName": "",
            "tolerations": [],
            "nodeSelector": {},
            "securityContext": {},
            "affinity": None,
            "containers": [],
        },
        "status": None,
    }
    assert decode_value(value, POD)[0] == {
        "metadata": {},
        "spec": {
            "automountServiceAccountToken": False,
            "terminationGracePeriodSeconds": 0,
            "runtimeClassName": "",
            "securityContext": {},
        },
        "status": {},
    }


def test_nulls_in_lists_and_maps_are_zero_values() -> None:
    assert decode_value({"data": {"a": None}}, CONFIG_MAP)[0]["data"] == {"a": ""}
    assert decoded_container(args=["x", None])["args"] == ["x", ""]
    assert decoded_container(env=[None])["env"] == [{"name": ""}]


def test_fields_that_go_always_writes() -> None:
    assert decoded_container() == {"name": "a", "resources": {}}
    assert empty(SERVICE) == {"metadata": {}, "spec": {}, "status": {"loadBalancer": {}}}
    assert empty(NODE)["status"]["daemonEndpoints"] == {"kubeletEndpoint": {"Port": 0}}
    assert empty(NODE)["status"]["nodeInfo"]["osImage"] == ""
    assert empty("io.k8s.api.apps.v1.ReplicaSet")["status"] == {"replicas": 0}
    assert empty(DEPLOYMENT)["spec"] == {"strategy": {}, "template": {"metadata": {}, "spec": {}}}
    event = empty(CORE + "Event")
    assert event["reportingComponent"] == ""
    assert "reportingInstance" not in empty("io.k8s.api.events.v1.Event")


def test_times_that_are_no_pointers_are_null_where_they_are_missing() -> None:
    event = empty(CORE + "Event")
    assert [event[name] for name in ("eventTime", "firstTimestamp", "lastTimestamp")] == [None] * 3
    condition = {"type": "Ready", "status": "True", "lastTransitionTime": "2024-01-01T00:00:00Z"}
    made, _ = decode_value(condition, CORE + "PodCondition")
    assert made == condition | {"lastProbeTime": None}
    assert "startTime" not in empty(CORE + "PodStatus")
    assert empty("io.k8s.api.apps.v1.Deployment")["spec"]["template"]["metadata"] == {}


def test_order_stays_and_the_input_too() -> None:
    value = {"data": {"z": "1", "a": "2"}, "metadata": {"name": "x", "labels": {"b": "1", "a": "2"}}}
    before = copy.deepcopy(value)
    made, _ = decode_value(value, CONFIG_MAP)
    assert list(made) == ["data", "metadata"]
    assert list(made["data"]) == ["z", "a"]
    made["data"]["new"] = "x"
    made["metadata"]["labels"]["new"] = "x"
    assert value == before


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("!!", "illegal base64 data at input byte 0"),
        ("YWJ$", "illegal base64 data at input byte 3"),
        ("YQ==YQ==", "illegal base64 data at input byte 4"),
        ("YQ=", "illegal base64 data at input byte 3"),
        ("YWJjZ", "illegal base64 data at input byte 4"),
    ],
)
def test_what_is_no_base64(text: str, message: str) -> None:
    with pytest.raises(DecodeError) as raised:
        decode_value({"data": {"a": text}}, SECRET)
    assert str(raised.value) == message


@pytest.mark.parametrize(
    ("text", "written"), [("", ""), ("YWJj", "YWJj"), ("YQ==", "YQ=="), ("YW\nJj\r\n", "YWJj"), ("YR==", "YQ==")]
)
def test_base64_is_written_without_line_ends(text: str, written: str) -> None:
    assert decode_value({"data": {"a": text}}, SECRET)[0]["data"] == {"a": written}


def test_bytes_may_come_as_numbers() -> None:
    assert decode_value({"data": {"a": [97, 98]}}, SECRET)[0]["data"] == {"a": "YWI="}


def test_schemas_of_definitions() -> None:
    inner = {
        "type": "object",
        "x-kubernetes-preserve-unknown-fields": True,
        "nullable": False,
        "properties": {"a": {"type": "array", "items": {"type": "string", "odd": 1}}, "b": {"default": {"x": None}}},
        "additionalProperties": False,
        "odd": 1,
    }
    value = {"spec": {"versions": [{"name": "v1", "schema": {"openAPIV3Schema": inner}}]}}
    made, unknown = decode_value(value, CRD)
    assert made["spec"]["versions"][0]["schema"]["openAPIV3Schema"] == {
        "type": "object",
        "x-kubernetes-preserve-unknown-fields": True,
        "properties": {"a": {"type": "array", "items": {"type": "string"}}, "b": {"default": {"x": None}}},
        "additionalProperties": False,
    }
    assert unknown == ["spec.versions[0].schema.openAPIV3Schema.odd"]


def test_deep_nesting_is_refused() -> None:
    deep: dict[str, Any] = {}
    for _ in range(3000):
        deep = {"not": deep}
    with pytest.raises(DecodeError, match="exceeded max depth"):
        decode_value({"spec": {"versions": [{"schema": {"openAPIV3Schema": deep}}]}}, CRD)


def test_errors_of_a_strategic_merge_s_result_have_other_words() -> None:
    def message(value: Any, key: str = CONFIG_MAP) -> str:
        with pytest.raises(DecodeError) as raised:
            decode_value(value, key, converting=True)
        return str(raised.value)

    assert message({"data": {"a": 5}}) == "cannot convert int64 to string"
    assert message({"data": {"a": 5.5}}) == "unrecognized type: string"
    assert message({"data": {"a": ["b"]}}) == "unrecognized type: string"
    assert message({"spec": {"replicas": "x"}}, DEPLOYMENT) == "unrecognized type: int32"
    assert message({"spec": {"replicas": 1.5}}, DEPLOYMENT) == "cannot convert float64 to int32"
    assert message({"spec": {"paused": 1}}, DEPLOYMENT) == "unrecognized type: bool"
    assert message({"data": "x"}) == "cannot restore map from string"
    assert message({"metadata": 1}) == "cannot restore struct from int64"
    assert message({"spec": {"containers": "x"}}, POD) == "cannot restore slice from string"
    assert message(pod(resources={"limits": {"cpu": "x"}}), POD).startswith("quantities must match")


SCALARS: st.SearchStrategy[Any] = (
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(max_size=5) | st.just("1Gi")
)
NAMES = (
    "metadata spec status name labels containers env value ports resources limits template replicas selector "
    "data image annotations volumes conditions type httpGet port odd creationTimestamp"
)
JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES.split()), inner, max_size=4),
    max_leaves=25,
)


@settings(max_examples=300, deadline=None)
@given(JSON, st.sampled_from([POD, DEPLOYMENT, SECRET, NODE, CRD, SERVICE]))
def test_anything_decodes_or_is_refused(value: Any, key: str) -> None:
    try:
        made, _ = decode_value(value, key)
    except DecodeError:
        return
    again, unknown = decode_value(made, key)
    assert unknown == []
    assert again == made


@settings(max_examples=200, deadline=None)
@given(JSON, st.sampled_from([POD, DEPLOYMENT, SERVICE]))
def test_the_quick_decoder_agrees_with_the_thorough_one(value: Any, key: str) -> None:
    try:
        quick = fast.struct_decoder(key)(value)
    except fast.Unusual:
        return
    thorough = Diagnosis()
    assert thorough.decode(Type("struct", "v1.X", key), value) == quick
    assert thorough.error is None
    assert not thorough.unknown


def test_every_definition_can_be_decoded() -> None:
    for key, described in schema.all_definitions().items():
        if "x-kubernetes-group-version-kind" in described and "properties" in described:
            made = empty(key)
            assert decode_value(made, key) == (made, [])
