"""A body in another version than its path's: what upstream tells beside the refusal."""

from __future__ import annotations

import pytest

from kube32_sim.cluster import Cluster
from tests.support.definitions import CRDS, custom, definition, object_schema, version
from tests.support.wire import Wire

SPEC = {"type": "object", "properties": {"size": {"type": "integer"}}}


@pytest.mark.parametrize(
    ("api_version", "warned"),
    [
        ("example.com/v1beta1", ['299 - "unknown field \\"spec.more\\""']),
        ("example.com/v3", ['299 - "unknown field \\"spec\\""']),
    ],
)
async def test_unknown_fields_are_those_of_the_bodys_version(
    bare: Cluster, wire: Wire, api_version: str, warned: list[str]
) -> None:
    versions = [
        version(schema=object_schema(spec=SPEC)),
        version("v1beta1", schema=object_schema(spec=SPEC), stored=False),
    ]
    await bare.client.create(CRDS, "", definition("widgets", "Widget", *versions))
    body = custom("a", api_version=api_version, spec={"size": 1, "more": 2})
    answer = await wire("POST", "/apis/example.com/v1/namespaces/default/widgets", body)
    assert answer.status == 400
    assert f"({api_version}) does not match the expected API version" in answer.json()["message"]
    assert answer.headers.get("warning", []) == warned
