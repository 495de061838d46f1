"""What `wait_for` takes for a condition and a reference: kubectl's, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from kube32_sim.api.builtin import builtin_table
from kube32_sim.blocking.conditions import read_condition
from kube32_sim.blocking.references import read_reference

WEB: dict[str, Any] = {
    "metadata": {"name": "web", "generation": 2},
    "status": {
        "replicas": 3,
        "ready": True,
        "empty": "",
        "conditions": [
            {"type": "Available", "status": "True", "observedGeneration": 2},
            {"type": "Progressing", "status": "False"},
            {"type": "Old", "status": "True", "observedGeneration": 1},
        ],
    },
}


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ("condition=Available", True),
        ("condition=available=true", True),
        ("condition=Progressing", False),
        ("condition=Progressing=False", True),
        ("condition=Old", False),
        ("condition=Missing=Unknown", False),
        ("jsonpath={.status.replicas}=3", True),
        ("jsonpath={.status.replicas}=30", False),
        ("jsonpath='{.status.replicas}'=3", True),
        ("jsonpath={.status.ready}='true'", True),
        ("jsonpath={.status.replicas}", True),
        ("jsonpath={.status.empty}", False),
        ("jsonpath={.status.missing}", False),
        ('jsonpath={.status.conditions[?(@.type=="Available")].status}=True', True),
        ("jsonpath={.status.conditions[*].status}=True", False),
        ("create", True),
        ("delete", False),
        (lambda web: web["status"]["replicas"] == 3, True),
        (lambda web: web["status"]["missing"] == 3, False),
    ],
)
def test_conditions(condition: Any, holds: bool) -> None:
    read = read_condition(condition)
    assert read.holds(WEB) is holds
    assert read.holds(None) is (condition == "delete")
    assert read.seen(WEB)


@pytest.mark.parametrize(
    "condition",
    [
        "",
        "Available",
        "condition=",
        "condition",
        "jsonpath=",
        "jsonpath=.status",
        "jsonpath={.a",
        "jsonpath={.a}3",
        "delete=1",
    ],
)
def test_what_is_no_condition(condition: str) -> None:
    with pytest.raises(ValueError, match="is nothing to wait for; there are: condition=NAME"):
        read_condition(condition)


def test_a_path_that_is_none() -> None:
    with pytest.raises(ValueError, match="unrecognized"):
        read_condition("jsonpath={.a[}=1")


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("pod/web", "pod/web in shop"),
        ("pods", "pods in shop"),
        ("po/web", "pod/web in shop"),
        ("Pod/web", "pod/web in shop"),
        ("deploy/web", "deployment/web in shop"),
        ("deployments.apps/web", "deployment/web in shop"),
        ("deployments.v1.apps/web", "deployment/web in shop"),
        ("node/esp32-0", "node/esp32-0"),
        ("events.events.k8s.io", "events in shop"),
    ],
)
def test_references(text: str, meant: str) -> None:
    assert read_reference(builtin_table(), text, "shop").text == meant


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "names no object"),
        ("pod/", "names no object"),
        ("/web", "names no object"),
        ("pod/a/b", "names no object"),
        ("pds", "there is no type 'pds' in this cluster; did you mean '(pods|pdb)"),
        ("deployments.batch/x", "there is no type 'deployments.batch'"),
    ],
)
def test_what_is_no_reference(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        read_reference(builtin_table(), text)


def test_a_group_is_kept_apart() -> None:
    assert read_reference(builtin_table(), "events.events.k8s.io").row.group == "events.k8s.io"
    assert read_reference(builtin_table(), "events").row.group == ""
