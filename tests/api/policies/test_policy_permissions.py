"""Who writes a policy or binding must be allowed to read its parameters."""

from __future__ import annotations

from typing import Any

import pytest

from kube32_sim.api.authorization import AlwaysAllow, Attributes, Decision
from kube32_sim.api.strategies.base import Context
from kube32_sim.api.users import ADMIN, User
from tests.support.definitions import definition
from tests.support.policies import TABLE, Cluster, binding, mutating_policy, params_of, policy

JsonObject = dict[str, Any]

GROUP = "admissionregistration.k8s.io"
EVE = User("eve", "7", ("dev", "system:authenticated"), {"k": ["v"]})
MAPS = {"apiVersion": "v1", "kind": "ConfigMap"}
WIDGETS = {"apiVersion": "example.com/v1", "kind": "Widget"}
STORED = Cluster(
    ((GROUP, "validatingadmissionpolicies"), policy("true", paramKind=MAPS)),
    (("apiextensions.k8s.io", "customresourcedefinitions"), definition()),
)


class Asked(AlwaysAllow):
    """Refuses everything, and remembers what it was asked."""

    def __init__(self, *, allowed: bool = False) -> None:
        self.allowed = allowed
        self.asked: list[Attributes] = []

    def decide(self, user: User, attributes: Attributes) -> Decision:
        self.asked.append(attributes)
        return Decision(self.allowed)


def told(
    obj: JsonObject, plural: str, authorizer: Asked, *, user: User = EVE, old: JsonObject | None = None
) -> list[str]:
    row = TABLE.by_path(GROUP, "v1", plural)
    assert row is not None
    context = Context(row, "", "p", "2030-01-01T00:00:00Z", STORED, user=user, authorizer=authorizer)
    strategy = row.strategy
    faults = strategy.validate(obj, context) if old is None else strategy.validate_update(obj, old, context)
    return [str(fault) for fault in faults]


@pytest.mark.parametrize(
    ("kind", "about"),
    [
        (MAPS, Attributes("get", "", "v1", "configmaps", "", "*", "*")),
        (WIDGETS, Attributes("get", "example.com", "v1", "widgets", "", "*", "*")),
        ({"apiVersion": "none.com/v1", "kind": "None"}, Attributes("get", "none.com", "v1", "*", "", "*", "*")),
    ],
)
@pytest.mark.parametrize("mutating", [False, True])
def test_a_policy_wants_all_parameters_to_be_readable(kind: JsonObject, about: Attributes, mutating: bool) -> None:
    of = mutating_policy("Object{}", paramKind=kind) if mutating else policy("true", paramKind=kind)
    plural = "mutatingadmissionpolicies" if mutating else "validatingadmissionpolicies"
    refusing = Asked()
    assert told(of, plural, refusing) == [
        'spec.paramKind: Forbidden: user &{eve 7 [dev system:authenticated] map[k:[v]]} must have "get" permission on '
        f"all objects of the referenced paramKind (kind={kind['kind']}, apiVersion={kind['apiVersion']})"
    ]
    assert refusing.asked == [about]
    assert told(of, plural, Asked(allowed=True)) == []
    assert told(of, plural, Asked(), user=ADMIN) == []
    assert told(of, plural, Asked(), old=of) == []
    assert len(told(of, plural, Asked(), old=policy("true"))) == 1


def test_what_has_no_parameters_asks_nobody() -> None:
    refusing = Asked()
    assert told(policy("true"), "validatingadmissionpolicies", refusing) == []
    assert told(binding(), "validatingadmissionpolicybindings", refusing) == []
    assert refusing.asked == []


@pytest.mark.parametrize(
    ("of", "about"),
    [
        (binding(paramRef=params_of("x", namespace="n")), Attributes("get", "", "v1", "configmaps", "", "n", "x")),
        (binding(paramRef=params_of(selector={})), Attributes("list", "", "v1", "configmaps")),
        (binding("none", paramRef=params_of("x")), Attributes("get", "*", "*", "*", "", "", "x")),
    ],
)
def test_a_binding_wants_its_parameters_to_be_readable(of: JsonObject, about: Attributes) -> None:
    refusing = Asked()
    assert told(of, "validatingadmissionpolicybindings", refusing) == [
        f'spec.paramRef: Forbidden: user {about.verb} does not have "&{{eve 7 [dev system:authenticated] map[k:[v]]}}" '
        "permission on the object referenced by paramRef"
    ]
    assert refusing.asked == [about]
    assert len(told(of, "validatingadmissionpolicybindings", Asked(), old=of)) == 1
    assert told(of, "validatingadmissionpolicybindings", Asked(allowed=True)) == []
