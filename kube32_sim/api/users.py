"""Who asks: what authentication finds out, and authorization, admission and reviews go by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

JsonObject = dict[str, Any]


@dataclass(frozen=True, slots=True)
class User:
    name: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: Mapping[str, Sequence[str]] = field(default_factory=dict)
    certified: bool = False
    """Whether it is the caller's own certificate that says all this."""

    @property
    def anonymous(self) -> bool:
        return self.name == "system:anonymous"

    def info(self) -> JsonObject:
        """As a UserInfo of authentication.k8s.io."""
        made: JsonObject = {"username": self.name}
        if self.uid:
            made["uid"] = self.uid
        if self.groups:
            made["groups"] = list(self.groups)
        if self.extra:
            made["extra"] = {key: list(values) for key, values in self.extra.items()}
        return made


ACCOUNT_PREFIX = "system:serviceaccount:"
"""Of the names that ServiceAccounts have as users."""


def account_groups(namespace: str) -> tuple[str, ...]:
    """Of its ServiceAccounts, besides system:authenticated."""
    return ("system:serviceaccounts", f"system:serviceaccounts:{namespace}")


def service_account(
    namespace: str, name: str, *, uid: str = "", extra: Mapping[str, Sequence[str]] | None = None
) -> User:
    groups = (*account_groups(namespace), "system:authenticated")
    return User(f"{ACCOUNT_PREFIX}{namespace}:{name}", uid, groups, extra or {})


def node(name: str) -> User:
    """As which a kubelet calls."""
    return User(f"system:node:{name}", "", ("system:nodes", "system:authenticated"))


ADMIN = User("system:admin", "", ("system:masters", "system:authenticated"))
ANONYMOUS = User("system:anonymous", "", ("system:unauthenticated",))
