"""What asking for permission looks like: who wants to do what, and the answer.

Who decides is a chain of the modes that `--authorization-mode` names; the decisions of RBAC are in `api/rbac`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol

from kube32_sim.api.errors import aggregate, go_value
from kube32_sim.api.users import User

JsonObject = dict[str, Any]

MASTERS = "system:masters"
"""The group whose members may do everything, whatever the mode."""
UNAUTHENTICATED = "system:unauthenticated"
OPEN_PATHS = frozenset(("/healthz", "/livez", "/readyz", "/version", "/version/"))
"""What anybody may read, as upstream's system:public-info-viewer."""


class Attributes(NamedTuple):
    """What is to be done.  Either to a resource (`resource` is its plural), or at a `path` of no resource.

    verb: Kubernetes' (`get`, `list`, `deletecollection`, …), or the HTTP method in small letters for a path.
    """

    verb: str
    group: str = ""
    version: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    path: str = ""


class Decision(NamedTuple):
    """reason: upstream's words for why it is allowed, or what went wrong while it was looked up; "" for nothing."""

    allowed: bool
    reason: str = ""


NO_OPINION = Decision(False)


class Rules(NamedTuple):
    """What somebody may do, as SelfSubjectRulesReview tells it.  incomplete: `error` says why."""

    resource: Sequence[JsonObject]
    path: Sequence[JsonObject]
    incomplete: bool = False
    error: str = ""


class Held(NamedTuple):
    """Rules (PolicyRule objects) that somebody holds by one binding, or what went wrong with it.

    source: the binding, as reasons describe it.  role: kind, namespace and name.
    """

    source: str
    role: tuple[str, str, str]
    rules: Sequence[JsonObject]
    failure: str = ""


class Holdings(Protocol):
    """Who holds what by roles."""

    def held(self, user: User, namespace: str) -> Iterator[Held]:
        """By each binding that applies, in order: ClusterRoleBindings by name, then RoleBindings of the namespace."""

    def role_rules(self, kind: str, namespace: str, name: str) -> tuple[Sequence[JsonObject], str]:
        """(the rules of the role that a binding in a namespace refers to, why there are none)."""


class Authorizer(Protocol):
    """Decides, and can tell of everything that somebody may do."""

    @property
    def holdings(self) -> Holdings:
        """By what it is decided who may hand out which permissions."""

    def decide(self, user: User, attributes: Attributes) -> Decision: ...

    def rules(self, user: User, namespace: str) -> Rules: ...


class NoHoldings:
    """Where roles decide nothing."""

    def held(self, user: User, namespace: str) -> Iterator[Held]:
        return iter(())

    def role_rules(self, kind: str, namespace: str, name: str) -> tuple[Sequence[JsonObject], str]:
        return (), ""


NO_HOLDINGS = NoHoldings()


EVERYTHING = Rules(
    [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}],
    [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
)


class AlwaysAllow:
    """Everybody who is known may do everything; who is anonymous may look at health and version."""

    holdings = NO_HOLDINGS

    def decide(self, user: User, attributes: Attributes) -> Decision:
        if user.anonymous or UNAUTHENTICATED in user.groups:
            return Decision(attributes.path in OPEN_PATHS and attributes.verb in ("get", "head"))
        return Decision(True, "kube32-sim: every known user is an administrator")

    def rules(self, user: User, namespace: str) -> Rules:
        return EVERYTHING if self.decide(user, Attributes("*")).allowed else Rules((), ())


ALWAYS_ALLOW = AlwaysAllow()


class Administrators:
    """Some users may do everything; of the others nothing is said.

    names: theirs.  certified: whether those may, too, who show certificates.
    """

    holdings = NO_HOLDINGS

    def __init__(self, names: Iterable[str], *, certified: bool = False) -> None:
        self._names = frozenset(names)
        self._certified = certified

    def decide(self, user: User, attributes: Attributes) -> Decision:
        if self._is_one(user):
            known_by = "certificate" if user.certified else "token of the token file"
            return Decision(True, f"kube32-sim: every user with a {known_by} is an administrator")
        return NO_OPINION

    def rules(self, user: User, namespace: str) -> Rules:
        return EVERYTHING if self._is_one(user) else Rules((), ())

    def _is_one(self, user: User) -> bool:
        return user.name in self._names or (self._certified and user.certified)


class AlwaysDeny:
    """Nobody may do anything, but for the group system:masters (see `Chain`)."""

    holdings = NO_HOLDINGS

    def decide(self, user: User, attributes: Attributes) -> Decision:
        return Decision(False, "Everything is forbidden.")

    def rules(self, user: User, namespace: str) -> Rules:
        return Rules((), ())


class Chain:
    """Several authorizers, asked in order until one allows; before them all the group system:masters is let through."""

    def __init__(self, authorizers: Sequence[Authorizer]) -> None:
        self._authorizers = tuple(authorizers)
        found = [each.holdings for each in authorizers if each.holdings is not NO_HOLDINGS]
        self.holdings: Holdings = found[0] if found else NO_HOLDINGS

    def decide(self, user: User, attributes: Attributes) -> Decision:
        if MASTERS in user.groups:
            return Decision(True)
        reasons = []
        for authorizer in self._authorizers:
            decision = authorizer.decide(user, attributes)
            if decision.allowed:
                return decision
            if decision.reason:
                reasons.append(decision.reason)
        return Decision(False, "\n".join(reasons)) if reasons else NO_OPINION

    def rules(self, user: User, namespace: str) -> Rules:
        found = [authorizer.rules(user, namespace) for authorizer in self._authorizers]
        return Rules(
            [rule for rules in found for rule in rules.resource],
            [rule for rules in found for rule in rules.path],
            any(rules.incomplete for rules in found),
            aggregate([rules.error for rules in found if rules.error]),
        )


def refusal_text(user: User, attributes: Attributes, reason: str = "") -> str:
    """Why a request is refused, in upstream's words, without what goes before `is forbidden`."""
    if attributes.path:
        text = f"User {go_value(user.name)} cannot {attributes.verb} path {go_value(attributes.path)}"
    else:
        resource = attributes.resource
        if attributes.subresource:
            resource = f"{resource}/{attributes.subresource}"
        where = f"in the namespace {go_value(attributes.namespace)}" if attributes.namespace else "at the cluster scope"
        text = (
            f"User {go_value(user.name)} cannot {attributes.verb} resource {go_value(resource)} "
            f"in API group {go_value(attributes.group)} {where}"
        )
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return f"{text}: {reason}" if reason else text
