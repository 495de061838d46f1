"""Acting as somebody else: `Impersonate-User` and its companions, as `kubectl --as` sends them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from urllib.parse import unquote

from multidict import CIMultiDictProxy

from kube32_sim.api import errors
from kube32_sim.api.authorization import UNAUTHENTICATED, Attributes, Authorizer
from kube32_sim.api.users import ANONYMOUS, User
from kube32_sim.server.authorization import demand

EXTRA_PREFIX = "impersonate-extra-"
AUTHENTICATION = "authentication.k8s.io"
_AUTHENTICATED = "system:authenticated"
_ACCOUNT = "system:serviceaccount:"


def wanted(headers: CIMultiDictProxy[str]) -> bool:
    return any(name[:12].lower() == "impersonate-" for name in headers)


def impersonated(user: User, headers: CIMultiDictProxy[str], authorizer: Authorizer) -> User:
    """Who a request is to be taken for; ApiError 403 where the user may not `impersonate` all that he asks for."""
    name = headers.get("Impersonate-User", "")
    if not name:
        raise errors.bad_request("impersonating a group, a uid or extra fields needs Impersonate-User beside them")
    groups = headers.getall("Impersonate-Group", [])
    uid = headers.get("Impersonate-Uid", "")
    extra: dict[str, list[str]] = {}
    for header, value in headers.items():
        if header.lower().startswith(EXTRA_PREFIX):
            extra.setdefault(unquote(header[len(EXTRA_PREFIX) :].lower()), []).append(value)
    account = _account(name)
    for attributes in _asked_for(name, account, groups, extra, uid):
        demand(authorizer, user, attributes)
    if account and not groups:
        groups = ["system:serviceaccounts", f"system:serviceaccounts:{account[0]}"]
    return User(name, uid, _with_known(name, groups), extra)


def _account(name: str) -> tuple[str, str] | None:
    """(namespace, name) of the ServiceAccount of that user name."""
    namespace, colon, account = name.removeprefix(_ACCOUNT).partition(":")
    whole = name.startswith(_ACCOUNT) and colon and namespace and account and ":" not in account
    return (namespace, account) if whole else None


def _asked_for(
    name: str, account: tuple[str, str] | None, groups: Sequence[str], extra: dict[str, list[str]], uid: str
) -> Iterator[Attributes]:
    if account is not None:
        yield Attributes("impersonate", version="v1", resource="serviceaccounts", namespace=account[0], name=account[1])
    else:
        yield Attributes("impersonate", version="v1", resource="users", name=name)
    for group in groups:
        yield Attributes("impersonate", version="v1", resource="groups", name=group)
    for key, values in extra.items():
        for value in values:
            yield Attributes("impersonate", AUTHENTICATION, "v1", "userextras", key, name=value)
    if uid:
        yield Attributes("impersonate", AUTHENTICATION, "v1", "uids", name=uid)


def _with_known(name: str, groups: Sequence[str]) -> tuple[str, ...]:
    """Everybody is known or unknown, whatever groups were asked for."""
    if name == ANONYMOUS.name:
        return tuple(groups) if UNAUTHENTICATED in groups else (*groups, UNAUTHENTICATED)
    told = _AUTHENTICATED in groups or UNAUTHENTICATED in groups
    return tuple(groups) if told else (*groups, _AUTHENTICATED)
