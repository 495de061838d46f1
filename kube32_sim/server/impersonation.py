"""Acting as somebody else: `Impersonate-User` and its companions, as `kubectl --as` sends them.

Who may not `impersonate` may be allowed to do it for some requests only (constrained impersonation): with the verb
`impersonate-on:MODE:VERB` for what is asked, and `impersonate:MODE` for whom he acts as.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple
from urllib.parse import unquote

from multidict import CIMultiDictProxy

from kube32_sim.api import errors
from kube32_sim.api.authorization import MASTERS, UNAUTHENTICATED, Attributes, Authorizer
from kube32_sim.api.errors import ApiError
from kube32_sim.api.users import ACCOUNT_PREFIX, ANONYMOUS, User, account_groups
from kube32_sim.api.validation.names import dns1123_subdomain
from kube32_sim.server.authorization import demand

EXTRA_PREFIX = "impersonate-extra-"
AUTHENTICATION = "authentication.k8s.io"
_AUTHENTICATED = "system:authenticated"
NODE, NODES = "system:node:", "system:nodes"
NODE_NAME = "authentication.kubernetes.io/node-name"
"""In the extra of a ServiceAccount: where the pod runs that its token is bound to."""


def wanted(headers: CIMultiDictProxy[str]) -> bool:
    return any(name[:12].lower() == "impersonate-" for name in headers)


class Wanted(NamedTuple):
    """Whom somebody wants to act as.  account: namespace and name where it is a ServiceAccount.  node: where one."""

    user: User
    account: tuple[str, str] | None
    node: str

    @property
    def only_name(self) -> bool:
        return not (self.user.uid or self.user.groups or self.user.extra)


def impersonated(user: User, headers: CIMultiDictProxy[str], authorizer: Authorizer, asked: Attributes) -> User:
    """Who a request is to be taken for; ApiError 403 where the user may not act as that one.

    asked: what the request is about.
    """
    whom = _wanted(headers)
    groups: Sequence[str] = whom.user.groups
    try:
        for attributes in _asked_for(whom, "impersonate", ""):
            demand(authorizer, user, attributes)
    except ApiError:
        mode = _mode_for(user, whom, authorizer, asked)
        if not mode:
            raise
        if whom.node:
            groups = [NODES]
    if whom.account and not groups:
        groups = account_groups(whom.account[0])
    return replace(whom.user, groups=_with_known(whom.user.name, groups))


def _wanted(headers: CIMultiDictProxy[str]) -> Wanted:
    name = _text(headers.get("Impersonate-User", ""))
    if not name:
        raise errors.bad_request("impersonating a group, a uid or extra fields needs Impersonate-User beside them")
    extra: dict[str, list[str]] = {}
    for header, value in headers.items():
        if header.lower().startswith(EXTRA_PREFIX):
            extra.setdefault(unquote(header[len(EXTRA_PREFIX) :].lower()), []).append(_text(value))
    groups = tuple(map(_text, headers.getall("Impersonate-Group", [])))
    node = name.removeprefix(NODE) if name.startswith(NODE) else ""
    if node and dns1123_subdomain(node, prefix=False):
        node = ""
    return Wanted(User(name, _text(headers.get("Impersonate-Uid", "")), groups, extra), _account(name), node)


def _text(header: str) -> str:
    """A header that is no UTF-8 as it is shown in an answer."""
    return header.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _mode_for(user: User, whom: Wanted, authorizer: Authorizer, asked: Attributes) -> str:
    """The first mode of constrained impersonation that allows it; "" for none."""
    return next((mode for mode in _modes(user, whom) if _constrained(user, whom, authorizer, asked, mode)), "")


def _modes(user: User, whom: Wanted) -> Iterator[str]:
    if whom.node:
        if whom.only_name:
            if _account(user.name) and list(user.extra.get(NODE_NAME, ())) == [whom.node]:
                yield "associated-node"
            yield "arbitrary-node"
    elif whom.account:
        if whom.only_name:
            yield "serviceaccount"
    elif MASTERS not in whom.user.groups and "" not in whom.user.groups:
        yield "user-info"


def _constrained(user: User, whom: Wanted, authorizer: Authorizer, asked: Attributes, mode: str) -> bool:
    verb = f"impersonate-on:{mode}:{asked.verb}"
    if not authorizer.decide(user, asked._replace(verb=verb)).allowed:
        return False
    wanted = list(_asked_for(whom, f"impersonate:{mode}", AUTHENTICATION))
    if mode == "associated-node":  # which of them it is has been looked at
        wanted = [each._replace(name="*") for each in wanted]
    return all(authorizer.decide(user, each).allowed for each in wanted)


def _account(name: str) -> tuple[str, str] | None:
    """(namespace, name) of the ServiceAccount of that user name."""
    namespace, colon, account = name.removeprefix(ACCOUNT_PREFIX).partition(":")
    whole = name.startswith(ACCOUNT_PREFIX) and colon and namespace and account and ":" not in account
    return (namespace, account) if whole else None


def _asked_for(whom: Wanted, verb: str, group: str) -> Iterator[Attributes]:
    """group: of users, groups and accounts.  Nodes are users where the group is the core one, as they ever were."""
    user = whom.user
    if whom.account is not None:
        namespace, name = whom.account
        yield Attributes(verb, group, "v1", "serviceaccounts", namespace=namespace, name=name)
    elif whom.node and group:
        yield Attributes(verb, group, "v1", "nodes", name=whom.node)
    else:
        yield Attributes(verb, group, "v1", "users", name=user.name)
    for each in user.groups:
        yield Attributes(verb, group, "v1", "groups", name=each)
    for key, values in user.extra.items():
        for value in values:
            yield Attributes(verb, AUTHENTICATION, "v1", "userextras", key, name=value)
    if user.uid:
        yield Attributes(verb, AUTHENTICATION, "v1", "uids", name=user.uid)


def _with_known(name: str, groups: Sequence[str]) -> tuple[str, ...]:
    """Everybody is known or unknown, whatever groups were asked for."""
    if name == ANONYMOUS.name:
        return tuple(groups) if UNAUTHENTICATED in groups else (*groups, UNAUTHENTICATED)
    told = _AUTHENTICATED in groups or UNAUTHENTICATED in groups
    return tuple(groups) if told else (*groups, _AUTHENTICATED)
