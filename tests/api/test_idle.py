"""Kinds that nothing acts on: who creates one is told."""

from __future__ import annotations

from typing import Any

import pytest
from strategy_objects import NOW, TABLE
from test_admission import Stored

from kube32_sim.api import admission, idle
from kube32_sim.api.admission import AdmissionConfig
from kube32_sim.api.resources import ResourceType
from kube32_sim.api.strategies.base import Context
from kube32_sim.assembling import admission_config
from kube32_sim.options import ServeOptions

WARNING = AdmissionConfig(idle_warnings=True)


def told(
    plural: str, group: str, config: AdmissionConfig = WARNING, verb: str = "create", **metadata: Any
) -> list[str]:
    row = TABLE.by_storage((group, plural))
    obj = {"metadata": {"name": "p", **metadata}, "spec": {"template": {"spec": {"containers": []}}}}
    old = obj if verb == "update" else None
    return list(admission.mutate(verb, obj, old, context(row), config))


def context(row: ResourceType, subresource: str = "") -> Context:
    return Context(row, "ns" if row.namespaced else "", "p", NOW, Stored({}), False, "admin", subresource)


@pytest.mark.parametrize("storage", idle.IDLE, ids="/".join)
def test_the_warning_names_the_kind(storage: tuple[str, str]) -> None:
    group, plural = storage
    (text,) = told(plural, group)
    kinds, _ = idle.IDLE[storage]
    assert kinds.lower() == plural
    assert kinds.startswith(TABLE.by_storage(storage).kind[:-1])
    assert text.startswith(f"kube32-sim stores {kinds} but ")


@pytest.mark.parametrize(
    ("plural", "group", "text"),
    [
        ("statefulsets", "apps", "kube32-sim stores StatefulSets but runs no controller for them"),
        (
            "persistentvolumeclaims",
            "",
            "kube32-sim stores PersistentVolumeClaims but binds no volumes: they stay Pending",
        ),
        ("networkpolicies", "networking.k8s.io", "kube32-sim stores NetworkPolicies but does not enforce them"),
    ],
)
def test_the_warning_says_what_does_not_happen(plural: str, group: str, text: str) -> None:
    assert told(plural, group) == [text]


def test_changes_are_not_warned_about_nor_are_creations_where_no_loops_run() -> None:
    assert told("statefulsets", "apps", verb="update") == []
    assert told("statefulsets", "apps", AdmissionConfig()) == []
    assert told("deployments", "apps") == []
    assert admission_config(ServeOptions()).idle_warnings
    assert admission_config(ServeOptions(controllers="job")).idle_warnings
    assert not admission_config(ServeOptions(controllers="none")).idle_warnings


def test_a_replica_set_with_a_controller_is_that_controllers() -> None:
    owner = {"apiVersion": "example.com/v1", "kind": "Rollout", "name": "r", "uid": "u"}
    assert told("replicasets", "apps", ownerReferences=[owner | {"controller": True}]) == []
    assert len(told("replicasets", "apps", ownerReferences=[owner])) == 1
    assert len(told("statefulsets", "apps", ownerReferences=[owner | {"controller": True}])) == 1
