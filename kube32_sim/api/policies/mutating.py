"""MutatingAdmissionPolicy: what its mutations make of an object.

Words and order are upstream's `apiserver/pkg/admission/plugin/policy/mutating`; patches are applied by `patching`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from kube32_sim.api.authorization import Authorizer
from kube32_sim.api.dynamic_admission.matching import Equivalents
from kube32_sim.api.dynamic_admission.request import AdmissionRequest
from kube32_sim.api.errors import ApiError
from kube32_sim.api.policies.compiled import Bound, Failure, Invocation, Policy, common_of, invocations, refusal
from kube32_sim.api.policies.evaluation import Run
from kube32_sim.api.policies.expressions import APPLY, FIELDS, RETURNS, Expression, Fault
from kube32_sim.api.policies.patching import apply_configuration, apply_operations

JsonObject = dict[str, Any]

_INVOKED = "MutatingAdmissionPolicy"
"""Under which a request remembers the policies that may be asked again."""


class Mutation(NamedTuple):
    """kind: its patchType."""

    kind: str
    expression: Expression


@dataclass(frozen=True, slots=True)
class MutatingPolicy(Policy):
    """again: its reinvocationPolicy lets it be asked again."""

    mutations: Sequence[Mutation]
    again: bool


def compile_mutating(obj: JsonObject) -> MutatingPolicy:
    """A stored MutatingAdmissionPolicy."""
    fields, scope = common_of(obj)
    spec = obj["spec"]
    mutations = []
    for each in spec.get("mutations") or ():
        kind = each["patchType"]
        source = each[FIELDS[kind]]["expression"]
        mutations.append(Mutation(kind, scope.compile(source, returns=(RETURNS[kind],), patch=True)))
    return MutatingPolicy(**fields, mutations=mutations, again=spec.get("reinvocationPolicy") == "IfNeeded")


def mutate(
    bound: Iterable[Bound], request: AdmissionRequest, equivalents: Equivalents, authorizer: Authorizer, *, again: bool
) -> None:
    """Let all policies (MutatingPolicy ones) that are for a request change its object.  Raises ApiError to refuse.

    again: only those that were asked before and let themselves be asked again.
    """
    invoked = request.notes.setdefault(_INVOKED, set())
    faults: list[tuple[str, str]] = []
    # Which ones the request matches is found out before any of them changes it.
    for found in list(invocations(bound, request, equivalents)):
        if isinstance(found, Failure):
            if not found.policy.ignore:
                faults.append((_told(found), ""))
            continue
        policy = found.policy
        assert isinstance(policy, MutatingPolicy)
        if again and found.key not in invoked:
            continue
        try:
            if not policy.conditions.match(_bound(found, request, authorizer)):
                continue
            happened = _run(found, request, authorizer)
            if policy.again:
                invoked.add(found.key)
        except Fault as fault:
            happened = [str(fault)]
        if not policy.ignore:
            faults += [(_told(Failure(policy, found.binding, why)), "Invalid") for why in happened]
    if faults:
        raise _refused(request, faults)


def _told(failure: Failure) -> str:
    name, binding = failure.policy.name, failure.binding
    by = f'policy "{name}"' if binding is None else f"policy '{name}' with binding '{binding.name}'"
    return f"{by} denied request: {failure.why}"


def _refused(request: AdmissionRequest, faults: Sequence[tuple[str, str]]) -> ApiError:
    """A 403 even where its reason is Invalid, as upstream's."""
    message, reason = faults[0]
    details = refusal(request, message).details or {}
    details["causes"] = [{"message": message} for message, _ in faults]
    return ApiError(403, reason or "Forbidden", message, details)


def _run(invocation: Invocation, request: AdmissionRequest, authorizer: Authorizer) -> list[str]:
    """Apply the mutations one after the other; answers what went wrong."""
    policy = invocation.policy
    assert isinstance(policy, MutatingPolicy)
    faults: list[str] = []
    for mutation in policy.mutations:
        try:
            _apply(mutation, invocation, request, authorizer)
        except Fault as fault:
            faults.append(str(fault))
        except ApiError as error:
            faults.append(error.message)
    return faults


def _apply(mutation: Mutation, invocation: Invocation, request: AdmissionRequest, authorizer: Authorizer) -> None:
    """Raises Fault, and ApiError where what comes out is no object of its kind."""
    row, shown = request.kind_row(invocation.row), request.shown(invocation.row)
    if shown is None:
        return
    value = _bound(invocation, request, authorizer).value(mutation.expression)
    patched = apply_configuration if mutation.kind == APPLY else apply_operations
    request.change(patched(row, shown, value), invocation.row)


def _bound(invocation: Invocation, request: AdmissionRequest, authorizer: Authorizer) -> Run:
    variables = invocation.policy.variables
    return Run(request, invocation.row, authorizer, params=invocation.params, variables=variables)
