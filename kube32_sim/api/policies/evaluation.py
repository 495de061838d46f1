"""A request as the variables of CEL expressions, and the evaluation of one policy with them.

Variables of a policy (`variables.x`) are evaluated when the first expression that may ask for them is; one that goes
wrong is missing, and told of only where an expression really asks for it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from kube32_sim.api.authorization import Attributes, Authorizer
from kube32_sim.api.cel.messages import LIMIT_EXCEEDED
from kube32_sim.api.dynamic_admission.matching import namespace_name
from kube32_sim.api.dynamic_admission.request import NAMESPACES, AdmissionRequest
from kube32_sim.api.policies.expressions import VARIABLES, Expression, Fault, running, stands_alone
from kube32_sim.api.resources import ResourceType

if TYPE_CHECKING:
    from kube32_sim.api.cel.environment import Activation
    from kube32_sim.api.cel.functions.authorizer import AuthorizerValue

JsonObject = dict[str, Any]

MOST_EXTENT, PART_EXTENT = 10_000_000, 32
"""Of a variable: so many characters at most, of which each value that is in it counts as some."""
_HIDDEN = ("managedFields", "ownerReferences", "selfLink")
"""Metadata of a namespace that `namespaceObject` does not show."""
_missing = re.compile(rf"no such (?:key: |attribute\(s\): {VARIABLES}\.)(\w+)$").search


def request_values(request: AdmissionRequest, row: ResourceType) -> JsonObject:
    """The variables of the request itself.  row: the type as which it was matched."""
    return {
        "object": request.shown(row),
        "oldObject": request.shown_old(row),
        "request": _request(request, row),
        "namespaceObject": None if request.row.storage == NAMESPACES else _shown_namespace(request),
    }


def _request(request: AdmissionRequest, row: ResourceType) -> JsonObject:
    """An AdmissionRequest of `admission.k8s.io` without uid and objects; what is empty is absent."""
    kind, own_kind = request.kind_row(row), request.kind_row()
    made: JsonObject = {
        "kind": _kind(kind),
        "resource": _resource(row),
        "requestKind": _kind(own_kind),
        "requestResource": _resource(request.row),
        "operation": request.operation,
        "userInfo": request.user.info(),
        "dryRun": request.dry_run,
    }
    optional = {
        "subResource": request.subresource,
        "requestSubResource": request.subresource,
        "name": request.name,
        "namespace": namespace_name(request),
        "options": request.options,
    }
    return made | {name: value for name, value in optional.items() if value}


def _kind(row: ResourceType) -> JsonObject:
    return {"group": row.group, "version": row.version, "kind": row.kind}


def _resource(row: ResourceType) -> JsonObject:
    return {"group": row.group, "version": row.version, "resource": row.plural}


def _shown_namespace(request: AdmissionRequest) -> JsonObject | None:
    found = request.namespace_object()
    if found is None:
        return None
    metadata = {name: value for name, value in found["metadata"].items() if name not in _HIDDEN}
    return {name: value for name, value in found.items() if name in ("spec", "status")} | {"metadata": metadata}


class Run:
    """One evaluation of a policy: with one request as it is now, and one object of parameters where it has any."""

    def __init__(
        self,
        request: AdmissionRequest,
        row: ResourceType,
        authorizer: Authorizer,
        *,
        params: JsonObject | None = None,
        variables: Mapping[str, Expression] | None = None,
    ) -> None:
        """row: the type as which the request was matched.  variables: the policy's; each sees those before it."""
        self._request = request
        self._authorizer = authorizer
        self._asking: AuthorizerValue | None = None
        self._values = request_values(request, row) | {"params": params}
        self._variables = variables or {}
        self._known: JsonObject = {}
        self._alone: JsonObject = {}
        self._failed: dict[str, str] = {}
        self._done: set[str] = set()
        self._activation: Activation | None = None

    def value(self, expression: Expression) -> Any:
        """Raises Fault."""
        for name in expression.uses:
            self._ensure(name)
        if expression.asks and self._asking is None:
            self._ask()
        if self._activation is None:
            self._activation = running().activation({**self._values, **self._alone, VARIABLES: self._known})
        try:
            return expression.evaluate(self._activation)
        except Fault as fault:
            missing = _missing(str(fault))
            why = self._failed.get(missing.group(1)) if missing and missing.group(1) in expression.uses else None
            if why is None:
                raise
            raise Fault(f"expression '{expression.source}' resulted in error: {why}") from None

    def _ensure(self, name: str) -> None:
        variable = self._variables.get(name)
        if variable is None or name in self._done:
            return
        self._done.add(name)
        if variable.program is None:
            self._failed[name] = f'composited variable "{name}" fails to compile: {variable.fault}'
            return
        try:
            value = self.value(variable)
        except Fault as fault:
            why = str(fault).partition(" resulted in error: ")[2]
            self._failed[name] = f'composited variable "{name}" fails to evaluate: {why}'
        else:
            if _too_large(value):
                self._failed[name] = f'composited variable "{name}" fails to evaluate: {LIMIT_EXCEEDED}'
            elif stands_alone(variable.type):
                self._alone[f"{VARIABLES}.{name}"] = value
            else:
                self._known[name] = value
            self._activation = None

    def _ask(self) -> None:
        """Bind the authorizer, which few expressions want."""
        from kube32_sim.api.cel.functions.authorizer import AuthorizerValue

        request = self._request
        self._asking = AuthorizerValue(request.user, self._authorizer)
        row, where = request.row, namespace_name(request)
        about = Attributes("", row.group, row.version, row.plural, request.subresource, where, request.name)
        self._values["authorizer"] = self._asking.special()
        self._values["authorizer.requestResource"] = self._asking.request_resource(about)
        self._activation = None


def _too_large(value: Any) -> bool:
    """Whether a variable has become more than any object is: each could be twice the one before it."""
    left, inside = MOST_EXTENT, [value]
    while inside and left >= 0:
        found = inside.pop()
        left -= PART_EXTENT
        if isinstance(found, str | bytes):
            left -= len(found)
        elif isinstance(found, dict):
            left -= sum(len(key) for key in found if isinstance(key, str))
            inside.extend(found.values())
        elif isinstance(found, list | tuple):
            inside.extend(found)
    return left < 0
