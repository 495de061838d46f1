"""What of a configuration does not fit its schema, told as upstream tells it."""

from __future__ import annotations

import pytest

from kube32_sim.api.managed import gotext
from kube32_sim.api.managed.checking import faults
from kube32_sim.api.managed.shapes import shape_of, shape_of_definition

POD = shape_of_definition("io.k8s.api.core.v1.PodSpec")
SERVICE = shape_of_definition("io.k8s.api.core.v1.ServiceSpec")
CLAIM = shape_of_definition("io.k8s.api.resource.v1.ResourceClaimStatus")
META = shape_of_definition("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta")
NO_KEYS = 'omits all key fields ["name"] (and doesn\'t have default values for any key fields)'
LIST = "associative list with keys"


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({"nope": 1}, [".nope: field not declared in schema"]),
        ({"hostNetwork": "yes"}, [".hostNetwork: expected boolean, got &{yes}"]),
        ({"hostname": 5}, [".hostname: expected string, got &value.valueUnstructured{Value:5}"]),
        ({"hostname": True}, [".hostname: expected string, got &value.valueUnstructured{Value:true}"]),
        ({"hostname": []}, [".hostname: expected string, got &value.valueUnstructured{Value:[]interface {}{}}"]),
        ({"priority": "5"}, [".priority: expected numeric (int or float), got string"]),
        ({"priority": True}, [".priority: expected numeric (int or float), got bool"]),
        ({"priority": {}}, [".priority: expected numeric (int or float), got map[string]interface {}"]),
        ({"containers": {"a": 1}}, [".containers: expected list, got &{map[a:1]}"]),
        ({"containers": "a"}, [".containers: expected list, got &{a}"]),
        ({"nodeSelector": []}, [".nodeSelector: expected map, got &{[]}"]),
        ({"overhead": {"cpu": {}}}, [".overhead.cpu: expected any scalar, got &{map[]}"]),
        ({"containers": [{"name": "a"}, {"name": "a"}]}, ['.containers: duplicate entries for key [name="a"]']),
        ({"containers": [{"image": "x"}]}, [f".containers: element 0: {LIST} has an element that {NO_KEYS}"]),
        ({"containers": [{"name": "a", "x": 1}]}, ['.containers[name="a"].x: field not declared in schema']),
        ({"containers": [{"name": 1}]},
         [".containers[name=1].name: expected string, got &value.valueUnstructured{Value:1}"]),
        ({"containers": [None]}, [f".containers: element 0: {LIST} may not have a null element"]),
        ({"containers": ["a"]}, [f".containers: element 0: {LIST} may not have non-map elements"]),
        ({"containers": None, "hostname": None, "tolerations": None}, []),
    ],
)  # fmt: skip
def test_what_cannot_be_applied(config, expected):
    assert faults(POD, config) == expected


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({"tolerations": [{"key": "a"}, {"nope": 1}]}, [".tolerations[1].nope: field not declared in schema"]),
        ({"tolerations": [{"key": 1}]},
         [".tolerations[0].key: expected string, got &value.valueUnstructured{Value:1}"]),
        ({"tolerations": ["x"]}, [".tolerations[0]: expected map, got &{x}"]),
        ({"nodeSelector": {"a": 1}}, [".nodeSelector.a: expected string, got &value.valueUnstructured{Value:1}"]),
        ({"containers": [{"name": "a", "command": ["x", 2]}]},
         ['.containers[name="a"].command[1]: expected string, got &value.valueUnstructured{Value:2}']),
        ({"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"terms": []}}}},
         [".affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.terms: field not declared in schema"]),
        ({"topologySpreadConstraints": [{"topologyKey": "z", "whenUnsatisfiable": "x", "labelSelector": {"match": 1}}]},
         ['.topologySpreadConstraints[topologyKey="z",whenUnsatisfiable="x"].labelSelector.match: '
          "field not declared in schema"]),
    ],
)  # fmt: skip
def test_what_is_managed_as_a_whole_is_looked_into_too(config, expected):
    assert faults(POD, config) == expected


def test_a_map_is_looked_at_up_to_its_first_unknown_field_and_a_list_up_to_its_first_item_without_keys():
    config = {"hostname": 1, "nope": 1, "subdomain": 1, "containers": [{"name": "a"}]}
    assert len(faults(POD, config)) == 2
    assert len(faults(POD, {"containers": [{"name": "a", "x": 1}, {}, {"name": "b", "x": 1}]})) == 2
    assert len(faults(POD, {"containers": [{"name": "a", "x": 1}, {"name": "b", "x": 1}]})) == 2


def test_keys_may_be_left_out_that_have_defaults_and_others_while_one_is_there():
    assert faults(SERVICE, {"ports": [{"port": 1}, {"port": 1, "protocol": "UDP"}]}) == []
    same = '.ports: duplicate entries for key [port=1,protocol="TCP"]'
    assert faults(SERVICE, {"ports": [{"port": 1}, {"port": 1, "protocol": "TCP"}]}) == [same]
    assert faults(SERVICE, {"ports": [{}]}) == []
    assert faults(POD, {"imagePullSecrets": [{}]}) == []
    device = {"driver": "d", "pool": "p", "device": "x"}
    assert faults(CLAIM, {"devices": [device, {**device, "shareID": "s"}]}) == []
    assert faults(CLAIM, {"devices": [device, device]}) == [
        '.devices: duplicate entries for key [device="x",driver="d",pool="p"]'
    ]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (["a", "a"], ['.finalizers: duplicate entries for key [="a"]']),
        ([{}], [".finalizers: element 0: associative list without keys has an element that's a map type"]),
        ([[]], [".finalizers: element 0: not supported: associative list with lists as elements"]),
        ([None], [".finalizers: element 0: associative list without keys has an element that's an explicit null"]),
        ([1], [".finalizers[=1]: expected string, got &value.valueUnstructured{Value:1}"]),
        (["a", "b"], []),
    ],
)
def test_values_of_sets(value, expected):
    assert faults(META, {"finalizers": value}) == expected


def test_where_there_is_no_schema_everything_fits():
    free = shape_of({"type": "object", "x-kubernetes-preserve-unknown-fields": True})
    assert faults(free, {"a": [None, {"b": 1}, [1]]}) == []


@pytest.mark.parametrize(
    ("value", "plain", "syntax"),
    [
        ("a\n", "a\n", '"a\\n"'),
        ("\x01é\u200b\U000e0001", "\x01é\u200b\U000e0001", '"\\x01é\\u200b\\U000e0001"'),
        (2026.01, "2026.01", "2026.01"),
        (2.0, "2", "2"),
        (1e21, "1e+21", "1e+21"),
        (-0.5, "-0.5", "-0.5"),
        (None, "<nil>", "interface {}(nil)"),
        ([1, "a", None], "[1 a <nil>]", '[]interface {}{1, "a", interface {}(nil)}'),
        ({"b": [], "a": False}, "map[a:false b:[]]", 'map[string]interface {}{"a":false, "b":[]interface {}{}}'),
    ],
)
def test_values_as_go_shows_them(value, plain, syntax):
    assert (gotext.plain(value), gotext.syntax(value)) == (plain, syntax)


@pytest.mark.parametrize("value", [[1, {"a": 2}], "text", 5, True, {"a": [1]}, None])
def test_a_field_without_a_type_takes_anything(value: object) -> None:
    """What Go's generators make of a field of any JSON."""
    holder = shape_of({"type": "object", "properties": {"any": {"x-kubernetes-preserve-unknown-fields": True}}})
    assert faults(holder, {"any": value}) == []
