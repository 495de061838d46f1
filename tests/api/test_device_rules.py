"""Claims on devices, their classes and slices: defaults, and what is refused in which words."""

from __future__ import annotations

from typing import Any

import pytest
from strategy_objects import changed, created, texts

JsonObject = dict[str, Any]
LABEL = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with "
    "an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
PLACES = "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required"
REQUESTS = "spec.devices.requests"


def of(kind: str, **spec: Any) -> JsonObject:
    return {"apiVersion": "resource.k8s.io/v1", "kind": kind, "metadata": {"name": "o"}, "spec": spec}


def claim(*requests: JsonObject, **devices: Any) -> JsonObject:
    return of("ResourceClaim", devices={"requests": list(requests)} | devices)


def request(name: str = "r", **exactly: Any) -> JsonObject:
    return {"name": name, "exactly": {"deviceClassName": "c"} | exactly}


def resource_slice(**spec: Any) -> JsonObject:
    pool = {"name": "p", "generation": 1, "resourceSliceCount": 1}
    return of("ResourceSlice", **({"driver": "d.io", "pool": pool, "nodeName": "n"} | spec))


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (claim(request()), []),
        (
            claim({"name": "A"}, {"name": "b", "exactly": {}, "firstAvailable": [{"name": "c"}]}),
            [
                f'{REQUESTS}[0].name: Invalid value: "A": {LABEL}',
                f"{REQUESTS}[0]: Required value: exactly one of `exactly` or `firstAvailable` is required",
                f"{REQUESTS}[1]: Invalid value: null: exactly one of `exactly` or `firstAvailable` is required, but "
                "multiple fields are set",
            ],
        ),
        (
            claim(request(allocationMode="Odd", selectors=[{}]), request(allocationMode="All", count=2)),
            [
                f"{REQUESTS}[0].exactly.selectors[0].cel: Required value",
                f'{REQUESTS}[0].exactly.allocationMode: Unsupported value: "Odd": supported values: "All", '
                '"ExactCount"',
                f"{REQUESTS}[1].exactly.count: Invalid value: 2: must not be specified when allocationMode is 'All'",
                f'{REQUESTS}[1]: Duplicate value: "r"',
            ],
        ),
        (
            claim(request(), constraints=[{"requests": ["x"], "matchAttribute": "a.io/b"}], config=[{}]),
            [
                'spec.devices.constraints[0].requests[0]: Invalid value: "x": must be the name of a request in the '
                "claim or the name of a request and a subrequest separated by '/'",
                "spec.devices.config[0].opaque: Required value",
            ],
        ),
        (
            of("DeviceClass", extendedResourceName="cpu"),
            ['spec.extendedResourceName: Invalid value: "cpu": must be a valid extended resource name'],
        ),
        (
            resource_slice(allNodes=True, devices=[{"name": "a"}, {"name": "a"}]),
            [
                f'spec: Invalid value: "{{`nodeName`, `allNodes`}}": {PLACES}, but multiple fields are set',
                'spec.devices[1]: Duplicate value: "a"',
            ],
        ),
        (
            resource_slice(pool={"name": "p"}),
            ["spec.pool.resourceSliceCount: Invalid value: 0: must be greater than zero"],
        ),
    ],
)
def test_mistakes(body: JsonObject, expected: list[str]) -> None:
    assert texts(created(body)[1]) == expected


def test_requests_of_a_template_have_defaults() -> None:
    body = of("ResourceClaimTemplate", spec={"devices": {"requests": [request()]}})
    obj, failures, _ = created(body)
    exact = obj["spec"]["spec"]["devices"]["requests"][0]["exactly"]
    assert (exact["allocationMode"], exact["count"], failures) == ("ExactCount", 1, [])


def test_a_slice_stays_where_it_is() -> None:
    old = created(resource_slice())[0]
    assert texts(changed(old, resource_slice(nodeName="m"))[1]) == [
        'spec.nodeName: Invalid value: "m": field is immutable'
    ]
