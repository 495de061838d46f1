"""Policies and bindings made ready once per revision, and which of them a request invokes.

What both kinds of policies have in common; what they do is `validating`'s and `mutating`'s business.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from kube32_sim.api.dynamic_admission.matching import Equivalents, Matching, namespace_name, of_policy
from kube32_sim.api.dynamic_admission.request import AdmissionRequest
from kube32_sim.api.errors import ApiError, forbidden
from kube32_sim.api.policies.conditions import Conditions
from kube32_sim.api.policies.expressions import Expression, Scope
from kube32_sim.api.policies.params import Misconfigured, find_params, params_row
from kube32_sim.api.resources import ResourceType

JsonObject = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Policy:
    """ignore: of its failurePolicy.  param_kind: None where it has no parameters."""

    name: str
    matching: Matching
    ignore: bool
    param_kind: JsonObject | None
    conditions: Conditions
    variables: Mapping[str, Expression]


class Binding(NamedTuple):
    """matching: None where it is for all that its policy is for.  actions: of a ValidatingAdmissionPolicyBinding."""

    name: str
    policy: str
    matching: Matching | None
    param_ref: JsonObject | None
    actions: tuple[str, ...]


class Common(NamedTuple):
    """The fields of a `Policy`, and the scope in which its other expressions are compiled."""

    fields: JsonObject
    scope: Scope


def common_of(obj: JsonObject) -> Common:
    """What a stored policy of either kind has."""
    spec = obj["spec"]
    params, ignore = spec.get("paramKind"), spec.get("failurePolicy") == "Ignore"
    scope = Scope(params=params is not None, composed=True)
    fields = {
        "name": obj["metadata"]["name"],
        "matching": of_policy(spec["matchConstraints"]),
        "ignore": ignore,
        "param_kind": params,
        "conditions": Conditions(spec.get("matchConditions") or (), params=params is not None, ignore=ignore),
        "variables": {one["name"]: scope.add(one["name"], one["expression"]) for one in spec.get("variables") or ()},
    }
    return Common(fields, scope)


def compile_binding(obj: JsonObject) -> Binding:
    """A stored binding of either kind."""
    spec = obj["spec"]
    match = spec.get("matchResources")
    return Binding(
        obj["metadata"]["name"],
        spec["policyName"],
        None if match is None else of_policy(match),
        spec.get("paramRef"),
        tuple(spec.get("validationActions") or ()),
    )


class Invocation(NamedTuple):
    """A policy that is to be evaluated.  row: the type as which it sees the request.  params: None for none."""

    policy: Policy
    binding: Binding
    row: ResourceType
    params: JsonObject | None

    @property
    def key(self) -> tuple[str, ...]:
        metadata = self.params["metadata"] if self.params is not None else {}
        return (self.policy.name, self.binding.name, metadata.get("namespace", ""), metadata.get("name", ""))


class Failure(NamedTuple):
    """A policy, or a binding of it, that cannot be used for a request.  why: upstream's words."""

    policy: Policy
    binding: Binding | None
    why: str


Bound = tuple[Policy, Sequence[Binding]]


def invocations(
    bound: Iterable[Bound], request: AdmissionRequest, equivalents: Equivalents
) -> Iterator[Invocation | Failure]:
    """What the policies that a request matches are to be evaluated with."""
    for policy, bindings in bound:
        try:
            row = policy.matching.row(request, equivalents, request.cluster)
            of_params = (
                None if policy.param_kind is None or row is None else params_row(policy.param_kind, request.table)
            )
        except (ApiError, Misconfigured) as error:
            yield Failure(policy, None, f"failed to configure policy: {_why(error)}")
            continue
        if row is None:
            continue
        for binding in bindings:
            try:
                for params in _params(binding, of_params, request, equivalents):
                    yield Invocation(policy, binding, row, params)
            except (ApiError, Misconfigured) as error:
                yield Failure(policy, binding, f"failed to configure binding: {_why(error)}")


def _why(error: ApiError | Misconfigured) -> str:
    return error.message if isinstance(error, ApiError) else str(error)


def _params(
    binding: Binding, of_params: ResourceType | None, request: AdmissionRequest, equivalents: Equivalents
) -> Sequence[JsonObject | None]:
    """No parameters at all: the binding is not for this request, or says that it is nothing without them."""
    if binding.matching is not None and binding.matching.row(request, equivalents, request.cluster) is None:
        return ()
    if of_params is None or binding.param_ref is None:
        return (None,)
    return find_params(of_params, binding.param_ref, namespace_name(request), request.cluster)


def refusal(request: AdmissionRequest, message: str) -> ApiError:
    """403 with the name that the object has, or will have; its causes tell the message by itself."""
    metadata = (request.obj or {}).get("metadata") or {}
    name = request.name or metadata.get("name") or metadata.get("generateName") or "Unknown"
    error = forbidden(request.row.group, request.row.plural, name, message)
    error.details = {**(error.details or {}), "causes": [{"message": message}]}
    return error
