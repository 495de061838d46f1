"""A ServiceAccount acts as the node that its pod runs on, and as no other."""

from __future__ import annotations

import pytest
from multidict import CIMultiDict, CIMultiDictProxy

from kube32_sim.api.authorization import ALWAYS_ALLOW, Attributes
from kube32_sim.api.errors import ApiError
from kube32_sim.api.rbac.policy import Policy
from kube32_sim.api.users import ADMIN, User
from kube32_sim.server.impersonation import NODE_NAME, impersonated
from tests.support.rbac import binding, rule

AGENT = User("system:serviceaccount:ns:agent", extra={NODE_NAME: ["a"]})
LIST = Attributes("list", "", "v1", "pods")


def acting_as(name: str, agent: User = AGENT, asked: Attributes = LIST) -> User:
    policy = Policy()
    rules = [
        rule("impersonate:associated-node", "nodes", "authentication.k8s.io", names="*"),
        rule("impersonate-on:associated-node:list", "pods"),
    ]
    policy.put_role("", "agent", rules)
    policy.put_binding("", "agent", binding("agent", "agent", "ServiceAccount:ns/agent"))
    headers = CIMultiDictProxy(CIMultiDict({"Impersonate-User": name}))
    return impersonated(agent, headers, policy, asked)


def test_its_own_node() -> None:
    assert acting_as("system:node:a") == User("system:node:a", "", ("system:nodes", "system:authenticated"))


@pytest.mark.parametrize(
    ("name", "agent", "asked"),
    [
        ("system:node:b", AGENT, LIST),
        ("system:node:a", User(AGENT.name), LIST),
        ("system:node:a", AGENT, LIST._replace(verb="get")),
        ("system:node:A", AGENT, LIST),
        ("a", AGENT, LIST),
    ],
)
def test_nobody_else(name: str, agent: User, asked: Attributes) -> None:
    with pytest.raises(ApiError, match='cannot impersonate resource "users"'):
        acting_as(name, agent, asked)


def test_a_name_that_is_no_text_is_one_of_replacement_characters() -> None:
    """As aiohttp hands on bytes that are no UTF-8; answers could not show them."""
    headers = {"Impersonate-User": "\udce9", "Impersonate-Group": "\udcff", "Impersonate-Uid": "\udc80"}
    many = CIMultiDictProxy(CIMultiDict(headers | {"Impersonate-Extra-a": "\udc81"}))
    acting = impersonated(ADMIN, many, ALWAYS_ALLOW, LIST)
    assert acting == User("\ufffd", "\ufffd", ("\ufffd", "system:authenticated"), {"a": ["\ufffd"]})
