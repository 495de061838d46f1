"""Kinds that store nothing: a POST is answered at once from who asks and what is asked.

SubjectAccessReview and its relatives, TokenReview, SelfSubjectReview, and the tokens of ServiceAccounts.  Everybody
but the anonymous user may do everything.  Pure: time and chance come as arguments.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from collections.abc import Callable
from typing import Any

import orjson

from kube32_sim.api.errors import FieldError, bad_request, invalid, invalid_value, method_not_allowed
from kube32_sim.api.resources import ResourceType
from kube32_sim.api.validation import access
from kube32_sim.clock import parse_time, rfc3339
from kube32_sim.ids import Ids

JsonObject = dict[str, Any]

AUDIENCE = "https://kubernetes.default.svc"
ISSUER = "https://kubernetes.default.svc.cluster.local"
_AUTHORIZATION = "authorization.k8s.io"
_AUTHENTICATION = "authentication.k8s.io"
_SHORTEST = 600
_LONGEST = 1 << 32
_HOUR = 3600
_KEY = secrets.token_bytes(32)
"""Signs ServiceAccount tokens, for as long as the process lives: nobody else can make one that opens anything."""


def review(row: ResourceType, obj: JsonObject, user: JsonObject, now: str) -> JsonObject:
    """A decoded review object with its status, apiVersion and kind.

    user: `username`, `groups` and perhaps `uid` of who asks.  now: RFC 3339.  Raises ApiError 400, 405 and 422.
    """
    if row.kind not in _ANSWERS:
        raise method_not_allowed()
    answered = {key: value for key, value in obj.items() if key not in ("kind", "apiVersion", "status")}
    answered.setdefault("metadata", {})
    answered["status"] = _ANSWERS[row.kind](answered, user, now)
    return {"kind": row.kind, "apiVersion": row.api_version, **answered}


def _self_subject_review(obj: JsonObject, user: JsonObject, now: str) -> JsonObject:
    obj["metadata"] = {"creationTimestamp": now}
    return {"userInfo": user}


def _self_access(obj: JsonObject, user: JsonObject, now: str) -> JsonObject:
    _refuse(access.self_access_errors(obj))
    return _decision(user.get("username", ""), user.get("groups") or [])


def _subject_access(obj: JsonObject, user: JsonObject, now: str) -> JsonObject:
    spec = obj.get("spec") or {}
    _refuse(access.subject_access_errors(obj))
    return _decision(spec.get("user", ""), spec.get("groups") or [])


def _local_access(obj: JsonObject, user: JsonObject, now: str) -> JsonObject:
    spec = obj.get("spec") or {}
    _refuse(access.local_access_errors(obj))
    return _decision(spec.get("user", ""), spec.get("groups") or [])


def _refuse(errors: list[FieldError]) -> None:
    if errors:
        raise invalid(_AUTHORIZATION, "", "", errors)


def _decision(user: str, groups: list[str]) -> JsonObject:
    if user == "system:anonymous" or "system:unauthenticated" in groups:
        return {"allowed": False}
    return {"allowed": True, "reason": "kube32-sim: every known user is an administrator"}


def _self_rules(obj: JsonObject, user: JsonObject, now: str) -> JsonObject:
    if not (obj.get("spec") or {}).get("namespace"):
        raise bad_request("no namespace on request")
    status: JsonObject = {"resourceRules": [], "nonResourceRules": [], "incomplete": False}
    if _decision(user.get("username", ""), user.get("groups") or [])["allowed"]:
        status["resourceRules"] = [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}]
        status["nonResourceRules"] = [{"verbs": ["*"], "nonResourceURLs": ["*"]}]
    return status


def _token_review(obj: JsonObject, user: JsonObject, now: str) -> JsonObject:
    spec = obj.get("spec") or {}
    token = spec.get("token", "")
    if not token:
        raise bad_request("token is required for TokenReview in authentication")
    audiences = spec.get("audiences") or [AUDIENCE]
    claims = claims_of(token, parse_time(now))
    accepted = [each for each in audiences if claims is not None and each in claims.get("aud", ())]
    if claims is None or not accepted:
        return {"user": {}, "error": "[invalid bearer token, unknown]"}
    return {"authenticated": True, "user": account_user(claims), "audiences": accepted}


_ANSWERS: dict[str, Callable[[JsonObject, JsonObject, str], JsonObject]] = {
    "SelfSubjectReview": _self_subject_review,
    "SelfSubjectAccessReview": _self_access,
    "SubjectAccessReview": _subject_access,
    "LocalSubjectAccessReview": _local_access,
    "SelfSubjectRulesReview": _self_rules,
    "TokenReview": _token_review,
}


def token_request(request: JsonObject, account: JsonObject, now: float, ids: Ids, bound_uid: str = "") -> JsonObject:
    """The answer to a checked TokenRequest for a stored ServiceAccount, with apiVersion and kind.

    now: seconds since 1970.  bound_uid: of the object that spec.boundObjectRef means.
    """
    spec = dict(request.get("spec") or {})
    spec["audiences"] = spec.get("audiences") or [AUDIENCE]
    seconds = spec.setdefault("expirationSeconds", _HOUR)
    source = account["metadata"]
    token = signed(_claims(source, spec, now, ids, bound_uid))
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


def _claims(account: JsonObject, spec: JsonObject, now: float, ids: Ids, bound_uid: str) -> JsonObject:
    namespace, name = account.get("namespace", ""), account.get("name", "")
    details: JsonObject = {"namespace": namespace, "serviceaccount": {"name": name, "uid": account.get("uid", "")}}
    bound = spec.get("boundObjectRef")
    if bound is not None:
        kind = bound.get("kind", "").lower()
        details[kind] = {"name": bound.get("name", ""), "uid": bound_uid}
    started = int(now)
    return {
        "aud": spec["audiences"],
        "exp": started + spec["expirationSeconds"],
        "iat": started,
        "iss": ISSUER,
        "jti": ids.uid(),
        "kubernetes.io": details,
        "nbf": started,
        "sub": f"system:serviceaccount:{namespace}:{name}",
    }


def _encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _decoded(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def _signature(body: str) -> str:
    return _encoded(hmac.digest(_KEY, body.encode("utf-8", "surrogatepass"), hashlib.sha256))


def signed(claims: JsonObject) -> str:
    """A JWT of these claims."""
    header = _encoded(orjson.dumps({"alg": "HS256", "typ": "JWT"}))
    body = f"{header}.{_encoded(orjson.dumps(claims))}"
    return f"{body}.{_signature(body)}"


def claims_of(token: str, now: float) -> JsonObject | None:
    """The claims of a token that `signed` made and that has not expired; None for any other text."""
    body, _, signature = token.rpartition(".")
    if body.count(".") != 1 or not hmac.compare_digest(_signature(body).encode(), signature.encode("utf-8", "replace")):
        return None
    claims: JsonObject = orjson.loads(_decoded(body.partition(".")[2]))
    return claims if now < claims["exp"] else None


def account_user(claims: JsonObject) -> JsonObject:
    """The user a ServiceAccount is."""
    details = claims["kubernetes.io"]
    groups = ["system:serviceaccounts", f"system:serviceaccounts:{details['namespace']}", "system:authenticated"]
    extra = {"authentication.kubernetes.io/credential-id": [f"JTI={claims['jti']}"]}
    return {"username": claims["sub"], "uid": details["serviceaccount"]["uid"], "groups": groups, "extra": extra}
