"""What custom objects must hold where their Scale is made of them."""

from __future__ import annotations

from typing import Any

import pytest

from kube32_sim.api.customs.naming import CustomType
from kube32_sim.api.customs.rows import rows_of
from kube32_sim.api.errors import ApiError
from kube32_sim.api.resources import ResourceType
from kube32_sim.api.scale import UNSET, apply_scale, scale_of
from tests.support.definitions import ANYTHING, definition, version

JsonObject = dict[str, Any]
PATHS = {
    "specReplicasPath": ".spec.workers",
    "statusReplicasPath": ".status.workers",
    "labelSelectorPath": ".status.selector",
}


def row() -> ResourceType:
    scaled = definition("widgets", "Widget", version(schema=ANYTHING, subresources={"status": {}, "scale": PATHS}))
    return rows_of(scaled, CustomType("widgets.example.com"))[0]


def widget(spec: Any, status: Any = None) -> JsonObject:
    return {"metadata": {"name": "a"}, "spec": spec, "status": status or {}}


@pytest.mark.parametrize(
    ("spec", "status", "message"),
    [
        ({"workers": -1}, {}, ".spec.workers: Invalid value: -1: should be a non-negative integer"),
        (
            {"workers": 1 << 31},
            {},
            ".spec.workers: Invalid value: 2147483648: should be less than or equal to 2147483647",
        ),
        (
            {"workers": "x"},
            {},
            ".spec.workers: Invalid value: 0: .spec.workers accessor error: x is of the type string, expected int64",
        ),
        (
            {"workers": None},
            {},
            ".spec.workers: Invalid value: 0: .spec.workers accessor error: <nil> is of the type <nil>, expected int64",
        ),
        ({}, {"workers": -1}, ".status.workers: Invalid value: -1: should be a non-negative integer"),
        (
            {},
            {"selector": {"a": "b"}},
            '.status.selector: Invalid value: "": .status.selector accessor error: map[a:b] is of the type '
            "map[string]interface {}, expected string",
        ),
        (
            ["x"],
            {},
            ".spec.workers: Invalid value: 0: .spec.workers accessor error: [x] is of the type []interface {}, "
            "expected map[string]interface{}",
        ),
    ],
)
def test_what_no_scale_can_hold_is_refused(spec: Any, status: Any, message: str) -> None:
    custom = row().custom
    assert custom is not None
    assert [str(fault) for fault in custom.validate(widget(spec, status), None)] == [message]
    wrong_status = message.startswith(".status")
    assert bool(custom.validate(widget(spec, status), None, only_status=True)) == wrong_status


def test_replicas_may_be_missing_but_a_scale_without_them_is_not_shown() -> None:
    custom = row().custom
    assert custom is not None
    assert custom.validate(widget({}), None) == []
    assert custom.validate(widget(None), None) == []
    with pytest.raises(ApiError, match="the spec replicas field"):
        scale_of(row(), widget({}))


@pytest.mark.parametrize("spec", [{}, None])
def test_an_object_without_replicas_can_be_given_some(spec: Any) -> None:
    obj = widget(spec)
    scale = scale_of(row(), obj, UNSET)
    scale["spec"]["replicas"] = 3
    assert apply_scale(row(), obj, scale)["spec"] == {"workers": 3}


def test_a_change_of_a_scale_has_to_say_how_many() -> None:
    with pytest.raises(ApiError) as caught:
        apply_scale(row(), widget({}), scale_of(row(), widget({}), UNSET))
    assert (caught.value.code, caught.value.message) == (400, 'the spec replicas field ".spec.workers" cannot be empty')


def test_what_cannot_be_read_is_no_scale() -> None:
    with pytest.raises(ApiError, match=r"x is of the type string, expected int64"):
        scale_of(row(), widget({"workers": "x"}))
