"""What asking for permission looks like: who wants to do what, and the answer; how it is decided is the authorizer's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from kube32_sim.api.users import User

JsonObject = dict[str, Any]


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


class Rules(NamedTuple):
    """What somebody may do, as SelfSubjectRulesReview tells it.  incomplete: `error` says why."""

    resource: Sequence[JsonObject]
    path: Sequence[JsonObject]
    incomplete: bool = False
    error: str = ""


class Authorizer(Protocol):
    def decide(self, user: User, attributes: Attributes) -> Decision: ...

    def rules(self, user: User, namespace: str) -> Rules: ...


class AlwaysAllow:
    """Everybody who is known may do everything; who is anonymous, nothing (what anybody may read is the server's)."""

    def decide(self, user: User, attributes: Attributes) -> Decision:
        if user.anonymous or "system:unauthenticated" in user.groups:
            return Decision(False)
        return Decision(True, "kube32-sim: every known user is an administrator")

    def rules(self, user: User, namespace: str) -> Rules:
        if not self.decide(user, Attributes("*")).allowed:
            return Rules((), ())
        resource = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}
        return Rules([resource], [{"verbs": ["*"], "nonResourceURLs": ["*"]}])


ALWAYS_ALLOW = AlwaysAllow()
