"""The roles and bindings of every API server, as rules of Kubernetes 1.36 that people go by."""

from __future__ import annotations

import pytest

from kube32_sim.api.authorization import Attributes
from kube32_sim.api.builtin import builtin_table
from kube32_sim.api.rbac.bootstrap import bootstrap_objects
from kube32_sim.api.rbac.policy import Policy
from kube32_sim.api.users import ADMIN, ANONYMOUS, User
from kube32_sim.api.validation import config_rbac
from tests.support.rbac import binding

OBJECTS = {(made.plural, made.namespace, made.obj["metadata"]["name"]): made.obj for made in bootstrap_objects()}


@pytest.fixture(scope="module")
def policy() -> Policy:
    """Of them, with ann bound to view, bob to edit and cat to admin in namespace ns."""
    made = Policy()
    for (plural, namespace, name), obj in OBJECTS.items():
        if plural.endswith("roles"):
            made.put_role(namespace, name, obj["rules"])
        else:
            made.put_binding(namespace, name, obj)
    for user, role in (("ann", "view"), ("bob", "edit"), ("cat", "admin")):
        made.put_binding("ns", role, binding(role, role, f"User:{user}"))
    return made


def test_they_are_marked_and_valid() -> None:
    assert len(OBJECTS) > 130
    for (plural, namespace, name), obj in OBJECTS.items():
        metadata = obj["metadata"]
        assert metadata["labels"]["kubernetes.io/bootstrapping"] == "rbac-defaults", name
        assert metadata["annotations"] == {"rbac.authorization.kubernetes.io/autoupdate": "true"}
        if plural.endswith("roles"):
            assert config_rbac.validate_rules(obj, bool(namespace)) == [], name
        else:
            assert config_rbac.validate_binding(obj, bool(namespace)) == [], name
            kind = "roles" if obj["roleRef"]["kind"] == "Role" else "clusterroles"
            assert (kind, namespace if kind == "roles" else "", obj["roleRef"]["name"]) in OBJECTS, name


@pytest.mark.parametrize("group", ["apps", "batch", "discovery.k8s.io", "networking.k8s.io", "policy", ""])
def test_resources_are_such_as_the_server_has(group: str) -> None:
    table = builtin_table()
    gone = {"bindings", "deployments/rollback"}
    for (plural, _, name), obj in OBJECTS.items():
        for rule in obj["rules"] if plural.endswith("roles") else ():
            for resource in rule.get("resources", ()) if group in rule.get("apiGroups", ()) else ():
                if "*" not in resource and resource not in gone and len(rule["apiGroups"]) == 1:
                    row = table.by_storage((group, resource.partition("/")[0]))
                    assert row is not None, (name, resource)


@pytest.mark.parametrize(
    ("user", "asked", "allowed"),
    [
        (ADMIN, Attributes("delete", resource="nodes"), True),
        (ANONYMOUS, Attributes("get", path="/version"), True),
        (ANONYMOUS, Attributes("get", path="/api"), False),
        (User("x", "", ("system:authenticated",)), Attributes("get", path="/apis/apps/v1"), True),
        (User("x", "", ("system:authenticated",)), Attributes("get", path="/metrics"), False),
        (
            User("x", "", ("system:authenticated",)),
            Attributes("create", "authorization.k8s.io", "v1", "selfsubjectaccessreviews"),
            True,
        ),
        (User("m", "", ("system:monitoring",)), Attributes("get", path="/metrics"), True),
        (User("s", "", ("system:serviceaccounts",)), Attributes("get", path="/openid/v1/jwks"), True),
        (User("system:node:a", "", ("system:nodes",)), Attributes("get", resource="nodes", name="a"), False),
        (User("system:kube-scheduler"), Attributes("create", resource="pods", subresource="binding"), True),
        (User("system:kube-controller-manager"), Attributes("list", "x", resource="anythings"), True),
        (
            User("system:serviceaccount:kube-system:job-controller"),
            Attributes("create", resource="pods", namespace="ns"),
            True,
        ),
        (
            User("system:serviceaccount:kube-system:token-cleaner"),
            Attributes("delete", resource="secrets", namespace="kube-system"),
            True,
        ),
        (User("ann"), Attributes("list", resource="pods", namespace="ns"), True),
        (User("ann"), Attributes("get", resource="secrets", namespace="ns"), False),
        (User("ann"), Attributes("create", resource="pods", namespace="ns"), False),
        (User("ann"), Attributes("list", resource="pods", namespace="other"), False),
        (User("bob"), Attributes("get", resource="secrets", namespace="ns"), True),
        (User("bob"), Attributes("patch", "apps", "v1", "deployments", "scale", "ns"), True),
        (User("bob"), Attributes("create", "rbac.authorization.k8s.io", "v1", "roles", "", "ns"), False),
        (User("bob"), Attributes("update", resource="resourcequotas", namespace="ns"), False),
        (User("cat"), Attributes("create", "rbac.authorization.k8s.io", "v1", "roles", "", "ns"), True),
        (User("cat"), Attributes("list", resource="pods", namespace="ns"), True),
        (User("cat"), Attributes("update", resource="pods", subresource="status", namespace="ns"), False),
    ],
)
def test_who_may_do_what(policy: Policy, user: User, asked: Attributes, allowed: bool) -> None:
    assert policy.decide(user, asked).allowed is allowed


def test_admin_is_made_of_edit_and_edit_of_view() -> None:
    view, edit, admin = (OBJECTS["clusterroles", "", name] for name in ("view", "edit", "admin"))
    assert all(rule in edit["rules"] for rule in view["rules"])
    assert all(rule in admin["rules"] for rule in edit["rules"])
    assert edit["metadata"]["labels"]["rbac.authorization.k8s.io/aggregate-to-admin"] == "true"
    assert view["aggregationRule"] == {
        "clusterRoleSelectors": [{"matchLabels": {"rbac.authorization.k8s.io/aggregate-to-view": "true"}}]
    }
