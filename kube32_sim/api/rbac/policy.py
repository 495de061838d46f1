"""Roles and bindings, and what follows from them: the authorizer of `--authorization-mode=RBAC`.

Whoever keeps it up to date hands it every object of the four types (`registry/rbac` follows the store).  Bindings are
found by their subjects; what a user holds is put together once and kept until any role or binding changes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from kube32_sim.api.authorization import NO_OPINION, Attributes, Decision, Held, Rules
from kube32_sim.api.errors import aggregate, go_value
from kube32_sim.api.rbac.grants import Grants
from kube32_sim.api.users import ACCOUNT_PREFIX, User

JsonObject = dict[str, Any]

GROUP = "rbac.authorization.k8s.io"
MOST_USERS = 1024
"""Of how many users, in each of their namespaces, it is kept what they hold: 50 KB of one with the role admin."""
_PLURALS = {"Role": "role", "ClusterRole": "clusterrole"}


class _Binding(NamedTuple):
    """subjects: (key, description) in order.  role: kind and name."""

    title: str
    role: tuple[str, str]
    subjects: Sequence[tuple[str, str]]


class Policy:
    """An `Authorizer` and its `Holdings` (`api.authorization`).  Namespace "": ClusterRoles and ClusterRoleBindings."""

    def __init__(self) -> None:
        self._roles: dict[tuple[str, str], Sequence[JsonObject]] = {}
        self._bindings: dict[str, dict[str, _Binding]] = {}
        self._by_subject: dict[str, dict[str, set[str]]] = {}
        self._grants: dict[tuple[str, tuple[str, ...], str], Grants] = {}
        self.holdings = self

    # what there is

    def put_role(self, namespace: str, name: str, rules: Sequence[JsonObject]) -> None:
        self._roles[namespace, name] = rules
        self._grants.clear()

    def drop_role(self, namespace: str, name: str) -> None:
        self._roles.pop((namespace, name), None)
        self._grants.clear()

    def put_binding(self, namespace: str, name: str, obj: JsonObject) -> None:
        """obj: a RoleBinding, or with namespace "" a ClusterRoleBinding."""
        self.drop_binding(namespace, name)
        reference = obj["roleRef"]
        kind, role = reference.get("kind", ""), reference.get("name", "")
        of = f"{name}/{namespace}" if namespace else name
        title = f"{'Role' if namespace else 'ClusterRole'}Binding {go_value(of)} of {kind} {go_value(role)} to "
        described = [_subject(subject, namespace) for subject in obj.get("subjects") or ()]
        binding = _Binding(title, (kind, role), [each for each in described if each[0]])
        self._bindings.setdefault(namespace, {})[name] = binding
        keys = self._by_subject.setdefault(namespace, {})
        for key, _ in binding.subjects:
            keys.setdefault(key, set()).add(name)
        self._grants.clear()

    def drop_binding(self, namespace: str, name: str) -> None:
        bindings = self._bindings.get(namespace, {})
        binding = bindings.pop(name, None)
        if binding is not None:
            keys = self._by_subject[namespace]
            for key in {key for key, _ in binding.subjects}:
                keys[key].discard(name)
                if not keys[key]:
                    del keys[key]
            if not bindings:
                del self._bindings[namespace], self._by_subject[namespace]
        self._grants.clear()

    # what is asked

    def decide(self, user: User, attributes: Attributes) -> Decision:
        key = (user.name, user.groups, attributes.namespace)
        grants = self._grants.get(key)
        if grants is None:
            grants = self._grants_of(user, attributes.namespace)
            if len(self._grants) >= MOST_USERS:
                del self._grants[next(iter(self._grants))]
            self._grants[key] = grants
        decision = grants.decide(attributes)
        if decision is not None:
            return decision
        return Decision(False, f"RBAC: {aggregate(grants.failures)}") if grants.failures else NO_OPINION

    def _grants_of(self, user: User, namespace: str) -> Grants:
        """A role that several bindings give counts once, by the first of them."""
        grants, known = Grants(), set()
        for held in self.held(user, namespace):
            if held.failure:
                grants.failures.append(held.failure)
            elif held.role not in known:
                known.add(held.role)
                grants.add(held.source, held.rules)
        return grants

    def held(self, user: User, namespace: str) -> Iterator[Held]:
        keys = [f"User {user.name}", *(f"Group {group}" for group in user.groups)]
        for place in ("", namespace) if namespace else ("",):
            by_subject = self._by_subject.get(place, {})
            names = set().union(*(by_subject.get(key, ()) for key in keys))
            for name in sorted(names):
                binding = self._bindings[place][name]
                subject = next(described for key, described in binding.subjects if key in keys)
                kind, role = binding.role
                rules, failure = self.role_rules(kind, place, role)
                where = place if kind == "Role" else ""
                yield Held(binding.title + subject, (kind, where, role), rules, failure)

    def role_rules(self, kind: str, namespace: str, name: str) -> tuple[Sequence[JsonObject], str]:
        if kind not in _PLURALS:
            return (), f"unsupported role reference kind: {go_value(kind)}"
        rules = None
        if kind == "ClusterRole" or namespace:
            rules = self._roles.get(("" if kind == "ClusterRole" else namespace, name))
        if rules is None:
            return (), f"{_PLURALS[kind]}.{GROUP} {go_value(name)} not found"
        return rules, ""

    def rules(self, user: User, namespace: str) -> Rules:
        resource, path, failures = [], [], []
        for held in self.held(user, namespace):
            if held.failure:
                failures.append(held.failure)
            for rule in held.rules:
                if rule.get("resources"):
                    resource.append(_only(rule, "verbs", "apiGroups", "resources", "resourceNames"))
                if rule.get("nonResourceURLs"):
                    path.append(_only(rule, "verbs", "nonResourceURLs"))
        return Rules(resource, path, False, aggregate(failures))


def _only(rule: JsonObject, *names: str) -> JsonObject:
    return {name: list(rule[name]) for name in names if rule.get(name)}


def _subject(subject: JsonObject, namespace: str) -> tuple[str, str]:
    """(the key by which users are found, how reasons describe it); no key for a subject that is nobody."""
    kind, name = subject.get("kind", ""), subject.get("name", "")
    if kind == "ServiceAccount":
        place = subject.get("namespace") or namespace
        key = f"User {ACCOUNT_PREFIX}{place}:{name}" if place else ""
        return key, f"{kind} {go_value(f'{name}/{place}')}"
    return (f"{kind} {name}" if kind in ("User", "Group") else ""), f"{kind} {go_value(name)}"
