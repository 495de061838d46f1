"""What roles and bindings allow, and why, in upstream's words."""

from __future__ import annotations

from typing import Any

import pytest

from kube32_sim.api.authorization import (
    ALWAYS_ALLOW,
    AlwaysDeny,
    Attributes,
    Chain,
    Decision,
    refusal_text,
)
from kube32_sim.api.rbac.grants import WIDEST, Grants
from kube32_sim.api.rbac.policy import MOST_USERS, Policy
from kube32_sim.api.users import ADMIN, ANONYMOUS, User
from tests.support.rbac import binding, rule

JsonObject = dict[str, Any]
ANN = User("ann", "", ("devs", "system:authenticated"))
ROBOT = User("system:serviceaccount:ns:robot", "", ("system:serviceaccounts",))


def policy_of(*rules: JsonObject, to: str = "User:ann", namespace: str = "") -> Policy:
    """One role, bound to one subject."""
    policy = Policy()
    policy.put_role("", "r", rules)
    policy.put_binding(namespace, "b", binding("b", "r", to))
    return policy


@pytest.mark.parametrize(
    ("given", "asked", "allowed"),
    [
        (rule("get", "pods"), Attributes("get", resource="pods"), True),
        (rule("*", "pods"), Attributes("made-up", resource="pods"), True),
        (rule("get", "pods"), Attributes("list", resource="pods"), False),
        (rule("get", "pods"), Attributes("get", "apps", resource="pods"), False),
        (rule("get", "pods", "*"), Attributes("get", "apps", resource="pods"), True),
        (rule("get", "pods"), Attributes("get", resource="pods", subresource="log"), False),
        (rule("get", "pods/log"), Attributes("get", resource="pods", subresource="log"), True),
        (rule("get", "pods/log"), Attributes("get", resource="pods"), False),
        (rule("get", "*/log"), Attributes("get", resource="pods", subresource="log"), True),
        (rule("get", "*/log"), Attributes("get", resource="pods", subresource="alog"), False),
        (rule("get", "*"), Attributes("get", resource="pods", subresource="log"), True),
        (rule("get", "pods/*"), Attributes("get", resource="pods", subresource="log"), False),
        (rule("get", "pods", names="a,b"), Attributes("get", resource="pods", name="b"), True),
        (rule("get", "pods", names="a"), Attributes("get", resource="pods", name="b"), False),
        (rule("list", "pods", names="a"), Attributes("list", resource="pods"), False),
        (rule("get", urls="/api"), Attributes("get", path="/api"), True),
        (rule("get", urls="/api"), Attributes("get", path="/api/v1"), False),
        (rule("get", urls="/api/*"), Attributes("get", path="/api/v1"), True),
        (rule("get", urls="/api/*"), Attributes("get", path="/api"), False),
        (rule("*", urls="*"), Attributes("post", path="/logs"), True),
        (rule("*", "*", "*"), Attributes("get", path="/api"), False),
        (rule("*", urls="*"), Attributes("get", resource="pods"), False),
    ],
)
def test_what_a_rule_allows(given: JsonObject, asked: Attributes, allowed: bool) -> None:
    assert policy_of(given).decide(ANN, asked).allowed is allowed


READ = Attributes("get", resource="pods", namespace="ns")


@pytest.mark.parametrize(
    ("to", "namespace", "user", "reason"),
    [
        ("User:ann", "", ANN, 'ClusterRoleBinding "b" of ClusterRole "r" to User "ann"'),
        ("Group:devs", "", ANN, 'ClusterRoleBinding "b" of ClusterRole "r" to Group "devs"'),
        ("User:ann", "ns", ANN, 'RoleBinding "b/ns" of ClusterRole "r" to User "ann"'),
        ("ServiceAccount:robot", "ns", ROBOT, 'RoleBinding "b/ns" of ClusterRole "r" to ServiceAccount "robot/ns"'),
        (
            "ServiceAccount:ns/robot",
            "",
            ROBOT,
            'ClusterRoleBinding "b" of ClusterRole "r" to ServiceAccount "robot/ns"',
        ),
        (f"User:{ROBOT.name}", "", ROBOT, f'ClusterRoleBinding "b" of ClusterRole "r" to User "{ROBOT.name}"'),
    ],
)
def test_why_something_is_allowed(to: str, namespace: str, user: User, reason: str) -> None:
    decision = policy_of(rule("get", "pods"), to=to, namespace=namespace).decide(user, READ)
    assert decision == Decision(True, f"RBAC: allowed by {reason}")


@pytest.mark.parametrize(
    ("to", "namespace"), [("User:bob", ""), ("User:ann", "other"), ("ServiceAccount:robot", ""), ("Robot:ann", "")]
)
def test_who_is_nobody_in_a_binding(to: str, namespace: str) -> None:
    policy = policy_of(rule("get", "pods"), to=to, namespace=namespace)
    assert policy.decide(ANN, READ) == policy.decide(ROBOT, READ) == Decision(False)


def test_a_role_that_is_missing_is_told() -> None:
    policy = Policy()
    for name in ("one", "two"):
        policy.put_binding("", name, binding(name, "gone", "User:ann"))
    assert policy.decide(ANN, READ).reason == 'RBAC: clusterrole.rbac.authorization.k8s.io "gone" not found'
    policy.put_binding("ns", "three", binding("three", "r", "Group:devs", kind="Role"))
    assert policy.decide(ANN, READ).reason == (
        'RBAC: [clusterrole.rbac.authorization.k8s.io "gone" not found, role.rbac.authorization.k8s.io "r" not found]'
    )
    policy.put_role("ns", "r", [rule("get", "pods")])
    assert policy.decide(ANN, READ).allowed


def test_rules_are_told_binding_by_binding() -> None:
    policy = policy_of(rule("get", "pods", names="a"), rule("get", urls="/api"))
    policy.put_binding("ns", "again", binding("again", "r", "Group:devs"))
    policy.put_binding("ns", "broken", binding("broken", "gone", "User:ann"))
    rules = policy.rules(ANN, "ns")
    assert rules.resource == [rule("get", "pods", names="a")] * 2
    assert rules.path == [rule("get", urls="/api")] * 2
    assert rules.error == 'clusterrole.rbac.authorization.k8s.io "gone" not found'
    assert policy.rules(ANN, "other").resource == [rule("get", "pods", names="a")]


def test_a_very_wide_rule_is_read_as_it_is() -> None:
    many = ",".join(f"r{number}" for number in range(WIDEST))
    wide = rule("get,list", many + ",pods/log", "a,b", names="n")
    grants = Grants()
    grants.add("first", [wide])
    grants.add("second", [rule("get", "*", "*")])
    named = Attributes("list", "b", resource="r7", name="n")
    assert grants.decide(named) == Decision(True, "RBAC: allowed by first")
    assert grants.decide(named._replace(verb="get")) == Decision(True, "RBAC: allowed by first")
    assert grants.decide(named._replace(verb="get", name="o")) == Decision(True, "RBAC: allowed by second")
    assert grants.decide(named._replace(name="o")) is None


def test_whoever_asks_however_many_did_before_is_answered() -> None:
    policy = policy_of(rule("get", "pods"), to="Group:devs")
    users = [User(f"user-{number}", "", ("devs",) if number % 2 else ()) for number in range(MOST_USERS + 3)]
    for _ in range(2):
        assert [policy.decide(user, READ).allowed for user in users] == [bool(user.groups) for user in users]


def test_the_modes_are_asked_in_order() -> None:
    policy = policy_of(rule("get", "pods"))
    assert Chain([policy]).decide(ADMIN, Attributes("x", resource="y")) == Decision(True)
    assert Chain([AlwaysDeny()]).decide(ADMIN, READ).allowed
    assert Chain([AlwaysDeny()]).decide(ANN, READ) == Decision(False, "Everything is forbidden.")
    assert Chain([AlwaysDeny(), policy]).decide(ANN, READ).allowed
    broken = policy_of(to="User:bob")
    broken.put_binding("", "c", binding("c", "gone", "User:ann"))
    assert Chain([AlwaysDeny(), broken]).decide(ANN, READ).reason == (
        'Everything is forbidden.\nRBAC: clusterrole.rbac.authorization.k8s.io "gone" not found'
    )
    both = Chain([ALWAYS_ALLOW, policy]).rules(ANN, "ns")
    assert both.resource == [rule("*", "*", "*"), rule("get", "pods")]


def test_everybody_may_look_at_health() -> None:
    assert ALWAYS_ALLOW.decide(ANONYMOUS, Attributes("get", path="/healthz")).allowed
    assert not ALWAYS_ALLOW.decide(ANONYMOUS, Attributes("get", path="/healthz/ping")).allowed
    assert not ALWAYS_ALLOW.decide(ANONYMOUS, Attributes("post", path="/healthz")).allowed


def test_refusals_in_upstream_s_words() -> None:
    odd = User('<"&>')
    assert refusal_text(odd, Attributes("get", path="/x"), "why <") == (
        'User "&lt;\\"&amp;&gt;" cannot get path "/x": why <'
    )
    assert refusal_text(ANN, Attributes("get", "apps", resource="deployments", subresource="scale")) == (
        'User "ann" cannot get resource "deployments/scale" in API group "apps" at the cluster scope'
    )
