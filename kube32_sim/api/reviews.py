"""Kinds that store nothing: a POST is answered at once from who asks and what is asked.

SubjectAccessReview and its relatives, which the authorizer answers; TokenReview, which is told whose a token is; and
requests for tokens of ServiceAccounts (`account_tokens` makes them).  Pure: time and chance come as arguments.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

from kube32_sim.api.account_tokens import AUDIENCE, ISSUER, OF_THIS_PROCESS, SigningKey, signed
from kube32_sim.api.authorization import Attributes, Authorizer
from kube32_sim.api.errors import FieldError, bad_request, invalid, invalid_value, method_not_allowed
from kube32_sim.api.resources import ResourceType
from kube32_sim.api.users import ACCOUNT_PREFIX, User
from kube32_sim.api.validation import access
from kube32_sim.clock import rfc3339
from kube32_sim.ids import Ids

JsonObject = dict[str, Any]

_AUTHORIZATION = "authorization.k8s.io"
_AUTHENTICATION = "authentication.k8s.io"
_SHORTEST = 600
_LONGEST = 1 << 32
_HOUR = 3600


class Known(NamedTuple):
    """Whose a token is.

    user: None where it is nobody's; failure: why, "" where nothing can be told.  audiences: of those asked for, for
    whom it is.
    """

    user: User | None
    audiences: Sequence[str] = ()
    failure: str = ""


class TokenAuthenticator(Protocol):
    def known(self, token: str, audiences: Sequence[str] = ()) -> Known | None:
        """None for a token that nobody here has made.  audiences: for whom it has to be; none: for the API server."""


class Asking(NamedTuple):
    """Who asks and when (RFC 3339), and who knows the answers."""

    user: User
    now: str
    authorizer: Authorizer
    tokens: TokenAuthenticator


def review(row: ResourceType, obj: JsonObject, asking: Asking) -> JsonObject:
    """A decoded review object with its status, apiVersion and kind; raises ApiError 400, 405 and 422."""
    if row.kind not in _ANSWERS:
        raise method_not_allowed()
    answered = {key: value for key, value in obj.items() if key not in ("kind", "apiVersion", "status")}
    answered.setdefault("metadata", {})
    answered["status"] = _ANSWERS[row.kind](answered, asking)
    return {"kind": row.kind, "apiVersion": row.api_version, **answered}


def _self_subject_review(obj: JsonObject, asking: Asking) -> JsonObject:
    obj["metadata"] = {"creationTimestamp": asking.now}
    return {"userInfo": asking.user.info()}


def _self_access(obj: JsonObject, asking: Asking) -> JsonObject:
    _refuse(access.self_access_errors(obj))
    return _decision(obj["spec"], asking.user, asking)


def _subject_access(obj: JsonObject, asking: Asking) -> JsonObject:
    _refuse(access.subject_access_errors(obj))
    return _decision(obj["spec"], _subject(obj["spec"]), asking)


def _local_access(obj: JsonObject, asking: Asking) -> JsonObject:
    _refuse(access.local_access_errors(obj))
    return _decision(obj["spec"], _subject(obj["spec"]), asking)


def _refuse(errors: list[FieldError]) -> None:
    if errors:
        raise invalid(_AUTHORIZATION, "", "", errors)


def _subject(spec: JsonObject) -> User:
    return User(spec.get("user", ""), spec.get("uid", ""), tuple(spec.get("groups") or ()), spec.get("extra") or {})


def _attributes(spec: JsonObject) -> Attributes:
    path = spec.get("nonResourceAttributes")
    if path is not None:
        return Attributes(path.get("verb", ""), path=path.get("path", ""))
    asked = spec["resourceAttributes"]
    names = ("verb", "group", "version", "resource", "subresource", "namespace", "name")
    return Attributes(**{name: asked.get(name, "") for name in names})


def _decision(spec: JsonObject, user: User, asking: Asking) -> JsonObject:
    decision = asking.authorizer.decide(user, _attributes(spec))
    status: JsonObject = {"allowed": decision.allowed}
    if decision.reason:
        status["reason"] = decision.reason
    return status


def _self_rules(obj: JsonObject, asking: Asking) -> JsonObject:
    namespace = (obj.get("spec") or {}).get("namespace")
    if not namespace:
        raise bad_request("no namespace on request")
    rules = asking.authorizer.rules(asking.user, namespace)
    status: JsonObject = {
        "resourceRules": list(rules.resource),
        "nonResourceRules": list(rules.path),
        "incomplete": rules.incomplete,
    }
    if rules.error:
        status["evaluationError"] = rules.error
    return status


def _token_review(obj: JsonObject, asking: Asking) -> JsonObject:
    spec = obj.get("spec") or {}
    token = spec.get("token", "")
    if not token:
        raise bad_request("token is required for TokenReview in authentication")
    known = asking.tokens.known(token, spec.get("audiences") or ())
    if known is None or known.user is None:
        why = known.failure if known is not None else ""
        return {"user": {}, "error": f"[invalid bearer token, {why}]" if why else "invalid bearer token"}
    return {"authenticated": True, "user": known.user.info(), "audiences": list(known.audiences)}


_ANSWERS: dict[str, Callable[[JsonObject, Asking], JsonObject]] = {
    "SelfSubjectReview": _self_subject_review,
    "SelfSubjectAccessReview": _self_access,
    "SubjectAccessReview": _subject_access,
    "LocalSubjectAccessReview": _local_access,
    "SelfSubjectRulesReview": _self_rules,
    "TokenReview": _token_review,
}


def token_request(
    request: JsonObject,
    account: JsonObject,
    now: float,
    ids: Ids,
    binding: JsonObject,
    key: SigningKey = OF_THIS_PROCESS,
) -> JsonObject:
    """The answer to a checked TokenRequest for a stored ServiceAccount, with apiVersion and kind.

    now: seconds since 1970.  binding: claims about what the token is bound to: `{"pod": {"name": …, "uid": …}}`.
    """
    spec = dict(request.get("spec") or {})
    spec["audiences"] = spec.get("audiences") or [AUDIENCE]
    seconds = spec.setdefault("expirationSeconds", _HOUR)
    source = account["metadata"]
    token = signed(_claims(source, spec, int(now), ids, binding), key)
    metadata = {key: source[key] for key in ("name", "namespace", "uid") if key in source}
    return {
        "kind": "TokenRequest",
        "apiVersion": f"{_AUTHENTICATION}/v1",
        "metadata": {**metadata, "creationTimestamp": rfc3339(now)},
        "spec": spec,
        "status": {"token": token, "expirationTimestamp": rfc3339(now + seconds)},
    }


def check_token_request(request: JsonObject) -> None:
    """Raises ApiError 422 for a time that no token lasts."""
    seconds = (request.get("spec") or {}).get("expirationSeconds", _HOUR)
    why = ""
    if seconds < _SHORTEST:
        why = "may not specify a duration less than 10 minutes"
    elif seconds > _LONGEST:
        why = "may not specify a duration larger than 2^32 seconds"
    if why:
        error = invalid_value("spec.expirationSeconds", seconds, why)
        raise invalid(_AUTHENTICATION, "TokenRequest", "", [error])


def _claims(account: JsonObject, spec: JsonObject, started: int, ids: Ids, binding: JsonObject) -> JsonObject:
    namespace, name = account.get("namespace", ""), account.get("name", "")
    whose = {"namespace": namespace, "serviceaccount": {"name": name, "uid": account.get("uid", "")}}
    return {
        "aud": spec["audiences"],
        "exp": started + spec["expirationSeconds"],
        "iat": started,
        "iss": ISSUER,
        "jti": ids.uid(),
        "kubernetes.io": {**whose, **binding},
        "nbf": started,
        "sub": f"{ACCOUNT_PREFIX}{namespace}:{name}",
    }


def base64_of(text: str) -> str:
    """A text as a Secret's data keeps it."""
    return base64.b64encode(text.encode("utf-8", "surrogatepass")).decode()
