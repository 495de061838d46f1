"""Tokens of ServiceAccounts over what is stored: the subresource `token`, and whether a token is still good."""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Callable, Mapping, Sequence

from kube32_sim.api import account_tokens, errors, reviews
from kube32_sim.api.account_tokens import SigningKey
from kube32_sim.api.reviews import Known
from kube32_sim.api.strategies.base import Lookup
from kube32_sim.api.users import User
from kube32_sim.clock import parse_time
from kube32_sim.registry.asked import Asked
from kube32_sim.registry.registry import Registry
from kube32_sim.storage.interface import JsonObject

GROUP = "authentication.k8s.io"
BINDABLE = {"Pod": "pods", "Node": "nodes", "Secret": "secrets"}
"""What a token may be bound to: its end is the token's end."""
LEEWAY = 60.0
"""Seconds that a token outlives the deletion of what it is bound to, while that is still there."""
_PLURALS = {kind.lower(): plural for kind, plural in BINDABLE.items()}


class Tokens:
    """static: of a token file; None where there is none.  now: seconds since 1970, for tokens that expire.

    key: with which tokens of ServiceAccounts are signed.
    """

    def __init__(
        self,
        static: Mapping[bytes, User] | None,
        now: Callable[[], float],
        cluster: Lookup,
        key: SigningKey = account_tokens.OF_THIS_PROCESS,
    ) -> None:
        self.static = static
        self._secret = secrets.token_bytes(32)
        self._users = {self._digest(known): user for known, user in (static or {}).items()}
        self._now = now
        self._cluster = cluster
        self._key = key

    def known(self, token: str, audiences: Sequence[str] = ()) -> Known | None:
        """See `reviews.TokenAuthenticator`."""
        wanted = audiences or account_tokens.API_AUDIENCES
        user = self._of_file(token)
        if user is not None:
            return _for(user, account_tokens.API_AUDIENCES, wanted)
        if account_tokens.unverified_issuer(token) not in (account_tokens.ISSUER, account_tokens.LEGACY_ISSUER):
            return None
        claims = account_tokens.claims_of(token, self._key)
        if claims is None:
            return Known(None)
        found = _for(account_tokens.account_user(claims), claims.get("aud") or account_tokens.API_AUDIENCES, wanted)
        failure = found.failure or self._expired(claims) or self._gone(claims, token)
        return Known(None, failure=failure) if failure else found

    def _of_file(self, token: str) -> User | None:
        """The user of the token file.

        Digests under a key of this process are compared, so that the time it takes tells nothing of any token.
        """
        return self._users.get(self._digest(token.encode("utf-8", "surrogateescape")))

    def _digest(self, token: bytes) -> bytes:
        return hmac.digest(self._secret, token, "sha256")

    def _expired(self, claims: JsonObject) -> str:
        return "service account token has expired" if self._now() >= claims.get("exp", float("inf")) else ""

    def _gone(self, claims: JsonObject, token: str) -> str:
        """Why the account, or what the token is bound to, is not what it was; "" where all is there."""
        details = account_tokens.details_of(claims)
        namespace, account = details["namespace"], details["serviceaccount"]
        found = self._cluster.get(("", "serviceaccounts"), namespace, account["name"])
        if found is None:
            return errors.not_found("", "serviceaccounts", account["name"]).message
        if self._deleted(found):
            return f"service account {namespace}/{account['name']} has been deleted"
        if found["metadata"]["uid"] != account["uid"]:
            return f"service account UID ({found['metadata']['uid']}) does not match claim ({account['uid']})"
        bound = next((kind for kind in ("secret", "pod", "node") if kind in details), "")  # a pod's node may go
        there = not bound or self._bound_is_there(bound, namespace, details[bound])
        if claims["iss"] == account_tokens.LEGACY_ISSUER:
            there = there and self._kept(namespace, details["secret"], token)
        return "" if there else "service account token has been invalidated"

    def _bound_is_there(self, kind: str, namespace: str, bound: JsonObject) -> bool:
        found = self._cluster.get(("", _PLURALS[kind]), "" if kind == "node" else namespace, bound["name"])
        if found is None or self._deleted(found):
            return False
        return not bound.get("uid") or found["metadata"]["uid"] == bound["uid"]

    def _deleted(self, obj: JsonObject) -> bool:
        since = obj["metadata"].get("deletionTimestamp")
        return since is not None and parse_time(since) < self._now() - LEEWAY

    def _kept(self, namespace: str, secret: JsonObject, token: str) -> bool:
        """Whether the Secret that a token is of keeps this one."""
        found = self._cluster.get(("", "secrets"), namespace, secret["name"]) or {}
        kept: str = (found.get("data") or {}).get("token", "")
        return hmac.compare_digest(reviews.base64_of(token).encode(), kept.encode())


def _for(user: User, audiences: Sequence[str], wanted: Sequence[str]) -> Known:
    common = [audience for audience in wanted if audience in audiences]
    if common:
        return Known(user, common)
    told = f"token audiences {errors.go_list(audiences)} is invalid for the target audiences {errors.go_list(wanted)}"
    return Known(None, failure=told)


def token(registry: Registry, asked: Asked, request: JsonObject) -> JsonObject:
    """TokenRequest: a token for the ServiceAccount."""
    given = (request.get("metadata") or {}).get("name", "")
    if given and given != asked.name:
        why = "must match the service account name if specified"
        failure = errors.invalid_value("metadata.name", given, why)
        raise errors.invalid(GROUP, "TokenRequest", asked.name, [failure])
    account = registry.get(asked).object()
    reviews.check_token_request(request)
    bound = (request.get("spec") or {}).get("boundObjectRef")
    claims = _binding(registry, asked, bound) if bound is not None else {}
    return reviews.token_request(request, account, registry.clock.now(), registry.ids, claims, registry.signing_key)


def _binding(registry: Registry, asked: Asked, reference: JsonObject) -> JsonObject:
    """The claims about what the token is to be bound to: name and uid, and the node of a pod.

    Raises ApiError 400, 404 and 409.
    """
    group, _, version = reference.get("apiVersion", "").rpartition("/")
    kind, name = reference.get("kind", ""), reference.get("name", "")
    if group or kind not in BINDABLE:
        raise errors.bad_request(f"cannot bind token to object of type {group}/{version}, Kind={kind}")
    plural = BINDABLE[kind]
    found = registry.lookup.get(("", plural), "" if kind == "Node" else asked.namespace, name)
    if found is None:
        raise errors.not_found("", plural, name)
    if kind == "Pod" and found["spec"].get("serviceAccountName", "") != asked.name:
        raise errors.bad_request(
            f"cannot bind token for serviceaccount {errors.go_value(asked.name)} to pod running with different "
            "serviceaccount name."
        )
    uid: str = found["metadata"]["uid"]
    if reference.get("uid") and reference["uid"] != uid:
        why = (
            f"the UID in the bound object reference ({reference['uid']}) does not match the UID in record. "
            "The object might have been deleted and then recreated"
        )
        raise errors.conflict("", kind, name, why)
    claims = {kind.lower(): {"name": name, "uid": uid}}
    node = found["spec"].get("nodeName", "") if kind == "Pod" else ""
    if node:
        there = registry.lookup.get(("", "nodes"), "", node)
        claims["node"] = {"name": node} if there is None else {"name": node, "uid": there["metadata"]["uid"]}
    return claims
