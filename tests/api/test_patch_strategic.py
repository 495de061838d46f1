"""Strategic merge patch: merge keys from the schema, directives, the order of lists."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kube32_sim.api.errors import ApiError
from kube32_sim.api.patch import apply_strategic

POD = "io.k8s.api.core.v1.Pod"
DEPLOYMENT = "io.k8s.api.apps.v1.Deployment"
OBJECT: dict[str, Any] = {
    "metadata": {"name": "p", "labels": {"k": "v"}, "finalizers": ["a.example/x"]},
    "spec": {
        "containers": [
            {
                "name": "app",
                "image": "nginx:1",
                "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}],
                "ports": [{"containerPort": 80, "protocol": "TCP"}, {"containerPort": 443, "protocol": "TCP"}],
                "args": ["a", "b"],
            },
            {"name": "side", "image": "busybox"},
        ],
        "volumes": [{"name": "v", "emptyDir": {}}, {"name": "w", "configMap": {"name": "cm"}}],
        "tolerations": [{"key": "a", "operator": "Exists"}],
        "nodeSelector": {"x": "1", "y": "2"},
    },
}


def patched(patch: Any, obj: dict[str, Any] = OBJECT, key: str = POD) -> dict[str, Any]:
    before, asked = copy.deepcopy(obj), copy.deepcopy(patch)
    made = apply_strategic(obj, patch, key)
    assert obj == before
    assert patch == asked
    return made


def spec(patch: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = patched({"spec": patch})["spec"]
    return found


def names(items: list[dict[str, Any]]) -> list[str]:
    return [item["name"] for item in items]


def test_objects_merge_and_null_deletes() -> None:
    made = patched({"metadata": {"labels": {"k": None, "n": "1"}, "annotations": {"x": "y", "z": None}}})
    assert made["metadata"]["labels"] == {"n": "1"}
    assert made["metadata"]["annotations"] == {"x": "y"}
    assert made["spec"] is OBJECT["spec"]


def test_lists_with_a_merge_key_merge() -> None:
    made = spec({"containers": [{"name": "side", "image": "z"}]})
    assert names(made["containers"]) == ["app", "side"]
    assert made["containers"][1]["image"] == "z"
    assert made["containers"][0] is OBJECT["spec"]["containers"][0]


def test_a_new_item_comes_first_where_nothing_says_otherwise() -> None:
    assert names(spec({"containers": [{"name": "new", "image": "n"}]})["containers"]) == ["new", "app", "side"]


def test_lists_inside_lists_merge() -> None:
    made = spec({"containers": [{"name": "app", "env": [{"name": "B", "value": "two"}, {"name": "C", "value": "3"}]}]})
    assert made["containers"][0]["env"] == [
        {"name": "A", "value": "1"},
        {"name": "B", "value": "two"},
        {"name": "C", "value": "3"},
    ]


def test_ports_merge_by_container_port() -> None:
    made = spec({"containers": [{"name": "app", "ports": [{"containerPort": 8080}]}]})
    assert [port["containerPort"] for port in made["containers"][0]["ports"]] == [8080, 80, 443]


def test_other_lists_are_replaced() -> None:
    assert spec({"tolerations": [{"key": "b"}]})["tolerations"] == [{"key": "b"}]
    assert spec({"containers": [{"name": "app", "args": ["z"]}]})["containers"][0]["args"] == ["z"]


def test_lists_of_scalars_merge_as_sets() -> None:
    made = patched({"metadata": {"finalizers": ["b.example/y", "a.example/x"]}})
    assert made["metadata"]["finalizers"] == ["b.example/y", "a.example/x"]
    assert patched({"metadata": {"finalizers": ["c"]}})["metadata"]["finalizers"] == ["c", "a.example/x"]


@pytest.mark.parametrize(
    ("patch", "field", "value"),
    [
        ({"nodeSelector": {"$patch": "replace", "only": "this"}}, "nodeSelector", {"only": "this"}),
        ({"nodeSelector": {"$patch": "delete"}}, "nodeSelector", {}),
        (
            {"containers": [{"$patch": "replace"}, {"name": "sole", "image": "s"}]},
            "containers",
            [{"name": "sole", "image": "s"}],
        ),
        ({"containers": [{"name": "app", "$patch": "delete"}]}, "containers", [{"name": "side", "image": "busybox"}]),
        (
            {"volumes": [{"$retainKeys": ["name", "emptyDir"], "name": "w", "emptyDir": {}}]},
            "volumes",
            [{"name": "v", "emptyDir": {}}, {"name": "w", "emptyDir": {}}],
        ),
    ],
)
def test_directives(patch: dict[str, Any], field: str, value: Any) -> None:
    assert spec(patch)[field] == value


def test_delete_in_a_nested_list() -> None:
    made = spec({"containers": [{"name": "app", "env": [{"name": "A", "$patch": "delete"}]}]})
    assert made["containers"][0]["env"] == [{"name": "B", "value": "2"}]


def test_retain_keys_of_an_object() -> None:
    obj = {"spec": {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}}}
    patch = {"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}}
    assert patched(patch, obj, DEPLOYMENT)["spec"]["strategy"] == {"type": "Recreate"}


def test_set_element_order() -> None:
    made = spec({"$setElementOrder/containers": [{"name": "side"}, {"name": "app"}]})
    assert names(made["containers"]) == ["side", "app"]
    made = spec(
        {
            "$setElementOrder/containers": [{"name": "new"}, {"name": "app"}],
            "containers": [{"name": "new", "image": "n"}],
        }
    )
    assert names(made["containers"]) == ["new", "app", "side"]
    made = spec(
        {
            "$setElementOrder/containers": [{"name": "app"}],
            "containers": [{"name": "side", "$patch": "delete"}],
        }
    )
    assert names(made["containers"]) == ["app"]


def test_delete_from_a_list_of_scalars() -> None:
    obj = {"metadata": {"finalizers": ["a", "b", "c"]}}
    assert patched({"metadata": {"$deleteFromPrimitiveList/finalizers": ["b"]}}, obj) == {
        "metadata": {"finalizers": ["a", "c"]}
    }
    both = {"metadata": {"$deleteFromPrimitiveList/finalizers": ["a"], "finalizers": ["d"]}}
    assert sorted(patched(both, obj)["metadata"]["finalizers"]) == ["b", "c", "d"]
    assert patched({"metadata": {"$deleteFromPrimitiveList/finalizers": ["x"]}}, {"metadata": {}}) == {"metadata": {}}


def test_directives_in_what_is_new_are_left_out() -> None:
    made = patched(
        {"spec": {"initContainers": [{"name": "x", "$patch": "delete"}, {"name": "y"}], "os": {"$patch": "delete"}}}
    )
    assert made["spec"]["initContainers"] == [{"name": "y"}]
    assert "os" not in made["spec"]


def test_directives_in_lists_without_merge_key_stay() -> None:
    made = spec({"tolerations": [{"$patch": "replace"}]})
    assert made["tolerations"] == [{"$patch": "replace"}]


def test_null_patches_nothing() -> None:
    assert patched(None) == OBJECT


@pytest.mark.parametrize(
    ("patch", "code", "message"),
    [
        ([], 400, "json: cannot unmarshal array into Go value of type map[string]interface {}"),
        ({"$patch": "odd"}, 400, "unknown patch type [odd] in map [map[$patch:odd]]"),
        ({"spec": {"containers": [{"name": "a", "$patch": "odd"}]}}, 400, "unknown patch type [odd] in map"),
        ({"spec": {"containers": [{"$patch": "merge"}]}}, 400, "merging lists cannot yet be specified in the patch"),
        ({"spec": {"containers": [{"image": "x"}]}}, 422, "the server rejected our request"),
        ({"spec": {"containers": [{"$patch": "delete"}]}}, 422, "the server rejected our request"),
        ({"spec": {"containers": ["x"]}}, 400, "list element types are not identical"),
        ({"spec": {"containers": [[]]}}, 422, "the server rejected our request"),
        ({"spec": {"$retainKeys": "x"}}, 400, "invalid patch format of retainKeys"),
        ({"spec": {"$retainKeys": ["a"], "b": 1}}, 400, "invalid patch format of retainKeys"),
        ({"spec": {"$setElementOrder/containers": 5}}, 400, "invalid patch format of setElementOrder list"),
        ({"spec": {"$setElementOrder": []}}, 400, "invalid patch format of setElementOrder list"),
        ({"metadata": {"$deleteFromPrimitiveList": []}}, 400, "invalid patch format of primitive list"),
        ({"metadata": {"$deleteFromPrimitiveList/finalizers": [{}]}}, 400, "invalid patch format of primitive list"),
        (
            {
                "spec": {
                    "$setElementOrder/containers": [{"name": "a"}],
                    "containers": [{"name": "b"}],
                }
            },
            400,
            "the order in patch list:\n[map[name:b]]\n doesn't match $setElementOrder list:\n[map[name:a]]\n",
        ),
    ],
)
def test_what_is_refused(patch: Any, code: int, message: str) -> None:
    with pytest.raises(ApiError) as raised:
        patched(patch)
    assert raised.value.code == code
    assert raised.value.message.startswith(message)


NAMES = (
    "spec metadata containers name env volumes finalizers labels tolerations nodeSelector $patch $retainKeys "
    "$setElementOrder/containers $setElementOrder/finalizers $deleteFromPrimitiveList/finalizers $setElementOrder"
)
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.sampled_from(["app", "replace", "delete", "merge", 1, True, 1.5]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES.split()), inner, max_size=4),
    max_leaves=20,
)


@settings(max_examples=400, deadline=None)
@given(VALUES)
def test_any_patch_applies_or_is_refused_and_changes_nothing(patch: Any) -> None:
    for value in (patch, {"spec": patch}, {"metadata": patch}, {"spec": {"containers": patch}}):
        assert _code(value) in (200, 400, 422)


def _code(patch: Any) -> int:
    try:
        patched(patch)
    except ApiError as error:
        return error.code
    return 200


class Counted(str):
    """A text that counts how often one is compared with another."""

    compared = 0
    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        Counted.compared += 1
        return str.__eq__(self, other)

    __hash__ = str.__hash__


def counted(number: int) -> list[Counted]:
    return [Counted(f"example.com/{index}") for index in range(number)]


def containers(number: int, **more: str) -> list[dict[str, Any]]:
    return [{"name": name, **more} for name in counted(number)]


LARGE = 400


@pytest.mark.parametrize(
    ("obj", "patch", "left"),
    [
        ({"containers": containers(LARGE)}, {"containers": containers(LARGE, image="i")[::-1]}, LARGE),
        ({"containers": containers(LARGE)}, {"containers": containers(LARGE, **{"$patch": "delete"})}, 0),
        (
            {"containers": containers(LARGE)},
            {"containers": containers(LARGE, image="i"), "$setElementOrder/containers": containers(LARGE)},
            LARGE,
        ),
        ({"x": counted(LARGE)}, {"$deleteFromPrimitiveList/x": counted(LARGE)[LARGE // 2 :]}, LARGE // 2),
        ({"x": counted(LARGE)}, {"$setElementOrder/x": counted(LARGE)[::-1]}, LARGE),
    ],
    ids=["merge", "delete", "ordered merge", "delete scalars", "order scalars"],
)
def test_long_lists_are_merged_by_looking_up(obj: dict[str, Any], patch: dict[str, Any], left: int) -> None:
    Counted.compared = 0
    made = apply_strategic(obj, patch, "io.k8s.api.core.v1.PodSpec")
    assert [len(items) for items in made.values()] == [left]
    assert Counted.compared <= 4 * LARGE


def test_true_is_not_one_when_scalars_are_deleted() -> None:
    assert patched({"x": None, "$deleteFromPrimitiveList/y": [True]}, {"x": 1, "y": [1, 2]}) == {"y": [1, 2]}


def test_an_item_without_a_key_is_refused_only_where_it_is_looked_at() -> None:
    obj = {"containers": [{"name": "a"}, {"image": "i"}]}
    made = patched({"containers": [{"name": "a", "image": "j"}]}, obj, "io.k8s.api.core.v1.PodSpec")
    assert made["containers"] == [{"name": "a", "image": "j"}, {"image": "i"}]
    with pytest.raises(ApiError):
        patched({"containers": [{"name": "b"}]}, obj, "io.k8s.api.core.v1.PodSpec")
