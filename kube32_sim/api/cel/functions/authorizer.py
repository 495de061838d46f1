"""`kubernetes.authz`: `authorizer.group('apps').resource('deployments').namespace('x').check('create').allowed()`.

An authorizer is given to an expression as an `AuthorizerValue`, as the variable `authorizer` (type `AUTHORIZER`); what
`authorizer.requestResource` is given is its `request_resource(...)` (type `RESOURCE_CHECK`).  The values in between are
texts, so that they can be in an expression; which authorizer they ask is kept beside them for as long as the
`AuthorizerValue` lives.
"""

from __future__ import annotations

import json
from itertools import count
from typing import Any
from weakref import WeakValueDictionary

from kube32_sim.api.authorization import Attributes, Authorizer
from kube32_sim.api.cel.functions.declaring import Overload, Special, method
from kube32_sim.api.users import User, service_account
from kube32_sim.api.validation import names

_PACKAGE = "kubernetes.authorization."
AUTHORIZER, PATH_CHECK, GROUP_CHECK = f"{_PACKAGE}Authorizer", f"{_PACKAGE}PathCheck", f"{_PACKAGE}GroupCheck"
RESOURCE_CHECK, DECISION = f"{_PACKAGE}ResourceCheck", f"{_PACKAGE}Decision"

_known: WeakValueDictionary[int, AuthorizerValue] = WeakValueDictionary()
_numbers = count(1)


class AuthorizerValue:
    """Who asks, and who decides.  It must live as long as the evaluations that it is a value for."""

    def __init__(self, user: User, authorizer: Authorizer) -> None:
        self.user = user
        self.authorizer = authorizer
        self._number = next(_numbers)
        _known[self._number] = self

    def special(self) -> Special:
        """As the variable `authorizer`."""
        return _new(AUTHORIZER, {"authorizer": self._number})

    def request_resource(self, attributes: Attributes) -> Special:
        """As the variable `authorizer.requestResource`: what the request itself is about, but for its verb."""
        fields = {name: getattr(attributes, name) for name in ("group", "resource", "subresource", "namespace", "name")}
        return _new(RESOURCE_CHECK, {"authorizer": self._number, **fields})


def _new(kind: str, fields: dict[str, Any]) -> Special:
    return Special(kind, json.dumps(fields))


def _with(kind: str, value: Special, **fields: Any) -> Special:
    return _new(kind, {**json.loads(value.text), **fields})


def _path(value: Special, path: str) -> Special:
    if not path.strip():
        raise ValueError("path must not be empty")
    return _with(PATH_CHECK, value, path=path)


def _resource(value: Special, resource: str) -> Special:
    if not resource.strip():
        raise ValueError("resource must not be empty")
    return _with(RESOURCE_CHECK, value, resource=resource)


def _service_account(value: Special, namespace: str, name: str) -> Special:
    if names.dns1123_subdomain(name):
        raise ValueError("Invalid service account name")
    if names.dns1123_label(namespace):
        raise ValueError("Invalid service account namespace")
    return _with(AUTHORIZER, value, account=[namespace, name])


def _check(value: Special, verb: str) -> Special:
    fields = json.loads(value.text)
    asked = _known[fields.pop("authorizer")]
    account = fields.pop("account", None)
    user = asked.user if account is None else service_account(*account)
    asking = {name: text for name, text in fields.items() if name not in ("field_selector", "label_selector")}
    if "path" not in asking:
        asking["version"] = "*"
    decision = asked.authorizer.decide(user, Attributes(verb, **asking))
    return _new(DECISION, {"allowed": decision.allowed, "reason": decision.reason})


def _decision(value: Special) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(value.text)
    return found


_NARROWED = {
    "subresource": ("resourcecheck_subresource", "subresource"),
    "namespace": ("resourcecheck_namespace", "namespace"),
    "name": ("resourcecheck_name", "name"),
    "fieldSelector": ("authorizer_fieldselector", "field_selector"),
    "labelSelector": ("authorizer_labelselector", "label_selector"),
}


def _narrowed(name: str, id: str, field: str) -> Overload:
    def act(value: Special, text: str) -> Special:
        return _with(RESOURCE_CHECK, value, **{field: text})

    return method(name, id, (RESOURCE_CHECK, "string"), RESOURCE_CHECK, act)


OVERLOADS: list[Overload] = [
    method("path", "authorizer_path", (AUTHORIZER, "string"), PATH_CHECK, _path),
    method("group", "authorizer_group", (AUTHORIZER, "string"), GROUP_CHECK,
           lambda value, group: _with(GROUP_CHECK, value, group=group)),
    method("serviceAccount", "authorizer_serviceaccount", (AUTHORIZER, "string", "string"), AUTHORIZER,
           _service_account),
    method("resource", "groupcheck_resource", (GROUP_CHECK, "string"), RESOURCE_CHECK, _resource),
    *(_narrowed(name, id, field) for name, (id, field) in _NARROWED.items()),
    method("check", "pathcheck_check", (PATH_CHECK, "string"), DECISION, _check),
    method("check", "resourcecheck_check", (RESOURCE_CHECK, "string"), DECISION, _check),
    method("errored", "decision_errored", (DECISION,), "bool", lambda value: False),
    method("error", "decision_error", (DECISION,), "string", lambda value: ""),
    method("allowed", "decision_allowed", (DECISION,), "bool", lambda value: _decision(value)["allowed"]),
    method("reason", "decision_reason", (DECISION,), "string", lambda value: _decision(value)["reason"]),
]  # fmt: skip
