"""What the index of roles and bindings answers, a plain reading of them answers too, whatever has changed before."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from kube32_sim.api.authorization import Attributes
from kube32_sim.api.rbac.policy import Policy
from kube32_sim.api.users import User
from tests.support.rbac import PlainPolicy, binding

JsonObject = dict[str, Any]

VERBS, GROUPS, NAMES = ("get", "list", "*"), ("", "apps", "*"), ("a", "b", "")
RESOURCES = ("pods", "pods/log", "deployments", "*", "*/log", "*/scale")
PATHS = ("/api", "/api/*", "/apis/x", "*", "/healthz")
PLACES = ("", "n1", "n2")
USERS = ("ann", "bob", "system:serviceaccount:n1:sa", "system:serviceaccount:n2:sa")


def some(values: tuple[str, ...], least: int = 1) -> st.SearchStrategy[list[str]]:
    return st.lists(st.sampled_from(values), min_size=least, max_size=3, unique=True)


resource_rules = st.fixed_dictionaries(
    {"verbs": some(VERBS), "apiGroups": some(GROUPS), "resources": some(RESOURCES)},
    optional={"resourceNames": some(NAMES[:2])},
)
path_rules = st.fixed_dictionaries({"verbs": some(VERBS), "nonResourceURLs": some(PATHS)})
role_names = st.sampled_from(("r1", "r2", "r3"))
keys = st.tuples(st.sampled_from(PLACES), role_names)
subjects = st.sampled_from(
    ("User:ann", "User:bob", "Group:devs", "Group:ops", "ServiceAccount:sa", "ServiceAccount:n1/sa", "User:" + USERS[3])
)
bindings = st.builds(
    lambda name, role, words, kind: binding(name, role, *words, kind=kind),
    role_names,
    role_names,
    st.lists(subjects, max_size=3),
    st.sampled_from(("Role", "ClusterRole")),
)
changes = st.one_of(
    st.tuples(st.just("role"), keys, st.lists(resource_rules | path_rules, max_size=3)),
    st.tuples(st.just("binding"), st.tuples(st.sampled_from(PLACES), role_names), bindings),
    st.tuples(st.sampled_from(("no role", "no binding")), keys, st.none()),
)
questions = st.one_of(
    st.builds(
        Attributes,
        st.sampled_from(("get", "list", "delete")),
        st.sampled_from(("", "apps", "batch")),
        st.just("v1"),
        st.sampled_from(("pods", "deployments")),
        st.sampled_from(("", "log", "scale")),
        st.sampled_from(PLACES),
        st.sampled_from(NAMES),
    ),
    st.builds(lambda verb, path: Attributes(verb, path=path), st.sampled_from(("get", "head")), st.sampled_from(
        ("/api", "/api/v1", "/apis/x", "/healthz", "/other"))),
)  # fmt: skip
users = st.builds(
    lambda name, groups: User(name, "", tuple(groups)), st.sampled_from(USERS), some(("devs", "ops", "no"), 0)
)


@settings(max_examples=150, deadline=None)
@given(st.lists(changes, max_size=14), st.lists(st.tuples(users, questions), min_size=1, max_size=8))
def test_the_index_decides_as_a_plain_reading_does(
    made: list[tuple[str, tuple[str, str], Any]], asked: list[tuple[User, Attributes]]
) -> None:
    policy = Policy()
    roles: dict[tuple[str, str], Any] = {}
    stored: dict[tuple[str, str], Any] = {}
    plain = PlainPolicy(roles, stored)
    for what, key, obj in made:
        if what == "role":
            roles[key] = obj
            policy.put_role(*key, obj)
        elif what == "binding":
            stored[key] = obj
            policy.put_binding(*key, obj)
        elif what == "no role":
            roles.pop(key, None)
            policy.drop_role(*key)
        else:
            stored.pop(key, None)
            policy.drop_binding(*key)
        user, question = asked[0]
        assert policy.decide(user, question) == plain.decide(user, question)
    for user, question in asked:
        assert policy.decide(user, question) == plain.decide(user, question)
