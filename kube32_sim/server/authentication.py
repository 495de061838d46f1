"""Who calls: static tokens in Kubernetes' CSV form, or everybody an administrator where there are none."""

from __future__ import annotations

import csv
import hmac
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from urllib.parse import unquote

from multidict import CIMultiDictProxy

from kube32_sim.api import errors, reviews
from kube32_sim.api.field_selectors import parse_fields
from kube32_sim.api.paths import Query, RequestInfo
from kube32_sim.api.strategies.base import Lookup
from kube32_sim.api.users import ADMIN, ANONYMOUS, User
from kube32_sim.options import OptionError


class TokenFileError(OptionError):
    """A token file that cannot be used; the message names file and line."""


def read_tokens(path: Path) -> dict[bytes, User]:
    """`token,user,uid,"group1,group2"` a line, as kube-apiserver's --token-auth-file."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise TokenFileError(f"--token-file {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise TokenFileError(f"--token-file {path}: no UTF-8 text") from error
    lines = csv.reader(text.splitlines(keepends=True), skipinitialspace=True)
    try:
        tokens = dict(_entry(record) for record in lines if record and not record[0].startswith("#"))
    except (csv.Error, ValueError) as error:
        raise TokenFileError(f"--token-file {path}, line {lines.line_num}: {error}") from error
    if not tokens:
        raise TokenFileError(f"--token-file {path}: no tokens in it")
    return tokens


def _entry(record: Sequence[str]) -> tuple[bytes, User]:
    """(token, user) of one line's fields; ValueError where they are not what they should be."""
    token, name, uid, *more = [*map(str.strip, record), "", ""]
    if len(record) < 3 or not token or not name:
        raise ValueError('expected token,user,uid[,"group1,group2"]')
    groups = tuple(group.strip() for group in more[0].split(",") if group.strip())
    return token.encode(), User(name, uid, (*groups, "system:authenticated"))


class Authenticator:
    """tokens: None means that everybody is an administrator.

    now: seconds since 1970, for tokens that expire.  cluster: where ServiceAccounts are looked up; a token ends with
    the one it was made for.
    """

    def __init__(self, tokens: Mapping[bytes, User] | None, now: Callable[[], float], cluster: Lookup) -> None:
        self._tokens = tokens
        self._now = now
        self._cluster = cluster

    def user(self, authorization: str | None) -> User:
        """Of an Authorization header; ApiError 401 for a token that is unknown."""
        scheme, _, token = (authorization or "").partition(" ")
        token = token.strip() if scheme.lower() == "bearer" else ""  # as upstream: nobody knows another scheme
        if not token:
            return ADMIN if self._tokens is None else ANONYMOUS
        found = self._static(token) or self._account(token)
        if found is None and self._tokens is None:
            return ADMIN
        if found is None:
            raise errors.unauthorized()
        return found

    def _static(self, token: str) -> User | None:
        """The user of the token file; every token is looked at, so that time tells nothing."""
        given = token.encode("utf-8", "surrogateescape")
        found = None
        for known, user in (self._tokens or {}).items():
            if hmac.compare_digest(known, given):
                found = user
        return found

    def _account(self, token: str) -> User | None:
        """The ServiceAccount that a token of this server's own making stands for."""
        claims = reviews.claims_of(token, self._now())
        if claims is None:
            return None
        details = claims["kubernetes.io"]
        account = self._cluster.get(("", "serviceaccounts"), details["namespace"], details["serviceaccount"]["name"])
        if account is None or account["metadata"]["uid"] != details["serviceaccount"]["uid"]:
            return None
        info = reviews.account_user(claims)
        return User(info["username"], info["uid"], tuple(info["groups"]), info["extra"])


def impersonated(user: User, headers: CIMultiDictProxy[str]) -> User:
    """Who a request is to be taken for: `Impersonate-User` and its companions, as `kubectl --as` sends them."""
    name = headers.get("Impersonate-User", "")
    groups = headers.getall("Impersonate-Group", [])
    if not name:
        raise errors.bad_request("impersonating a group, a uid or extra fields needs Impersonate-User beside them")
    if user.anonymous:
        message = f'User "{user.name}" cannot impersonate resource "users" in API group "" at the cluster scope'
        raise errors.forbidden("", "users", name, message)
    if name == ANONYMOUS.name:
        return ANONYMOUS
    kind, _, account = name.partition("serviceaccount:")
    if not groups and kind == "system:":
        groups = ["system:serviceaccounts", f"system:serviceaccounts:{account.partition(':')[0]}"]
    extra: dict[str, list[str]] = {}
    for header, value in headers.items():
        if header.lower().startswith(EXTRA_PREFIX):
            extra.setdefault(unquote(header[len(EXTRA_PREFIX) :].lower()), []).append(value)
    known = (*dict.fromkeys((*groups, "system:authenticated")),)
    return User(name, headers.get("Impersonate-Uid", ""), known, extra)


EXTRA_PREFIX = "impersonate-extra-"
OPEN_PATHS = ("/healthz", "/livez", "/readyz", "/version", "/version/")
"""What anybody may read, as upstream's system:public-info-viewer."""


def authorize(user: User, info: RequestInfo, query: Query) -> None:
    """Anonymous callers may look at health and version only; ApiError 403 otherwise."""
    if not user.anonymous or (info.path in OPEN_PATHS and info.verb in ("get", "head")):
        return
    if not info.plural:
        message = f'forbidden: User "{user.name}" cannot {info.verb} path "{info.path}"'
        raise errors.forbidden("", "", "", message)
    resource = f"{info.plural}/{info.subresource}" if info.subresource else info.plural
    namespace = info.namespace or (info.name if info.plural == "namespaces" else "")
    where = f' in the namespace "{namespace}"' if namespace else " at the cluster scope"
    message = f'User "{user.name}" cannot {info.verb} resource "{resource}" in API group "{info.group}"{where}'
    raise errors.forbidden(info.group, info.plural, info.name or _selected(info, query), message)


def _selected(info: RequestInfo, query: Query) -> str:
    """The one object that a list or watch selects by its name: it is asked for as if the path named it."""
    if info.verb not in ("list", "watch"):
        return ""
    try:
        return parse_fields((query.get("fieldSelector") or ("",))[0]).exact("metadata.name") or ""
    except errors.ApiError:
        return ""
