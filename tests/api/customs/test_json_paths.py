"""JSONPaths of columns: what client-go's dialect finds."""

from __future__ import annotations

from typing import Any

import pytest

from kube32_sim.api.customs.paths import JSONPath, PathError, simple_path

POD = {
    "spec": {"replicas": 3, "a.b": "dotted", "tags": ["x", "y", "z"]},
    "status": {
        "conditions": [
            {"type": "Ready", "status": "True", "count": 2},
            {"type": "Synced", "status": "False", "count": 5, "note": {"deep": 1}},
        ]
    },
}


@pytest.mark.parametrize(
    ("path", "found"),
    [
        (".spec.replicas", [3]),
        ("{.spec.replicas}", [3]),
        ("$.spec.replicas", [3]),
        (".spec.nothing", []),
        (".spec.replicas.deeper", []),
        (".spec.a\\.b", ["dotted"]),
        (".spec['a.b']", ["dotted"]),
        ('.spec["a.b"]', ["dotted"]),
        (".spec.tags[0]", ["x"]),
        (".spec.tags[-1]", ["z"]),
        (".spec.tags[7]", []),
        (".spec.tags[]", ["x"]),
        (".spec.tags[2, 0]", ["z", "x"]),
        (".spec['replicas','a.b']", [3, "dotted"]),
        (".spec.tags[0:2]", ["x", "y"]),
        (".spec.tags[::2]", ["x", "z"]),
        (".spec.tags[*]", ["x", "y", "z"]),
        (".spec.tags.*", ["x", "y", "z"]),
        ('.status.conditions[?(@.type=="Ready")].status', ["True"]),
        (".status.conditions[?(@.type=='Ready')].status", ["True"]),
        ('.status.conditions[?(@.type != "Ready")].status', ["False"]),
        (".status.conditions[?(@.count>3)].type", ["Synced"]),
        (".status.conditions[?(@.count<=2)].type", ["Ready"]),
        (".status.conditions[?(@.note)].type", ["Synced"]),
        ('.status.conditions[?(@.count=="2")].type', []),
        ("..deep", [1]),
    ],
)
def test_what_a_path_finds(path: str, found: list[Any]) -> None:
    assert JSONPath(path).find(POD) == found


@pytest.mark.parametrize("path", ["spec", ".a[", ".a[::0]", ".a[?(1==1=)]"])
def test_what_is_no_path(path: str) -> None:
    with pytest.raises(PathError):
        JSONPath(path)


def test_names_of_a_path_of_plain_fields() -> None:
    assert simple_path(".spec.replicas") == ("spec", "replicas")
    assert simple_path("") == ()
