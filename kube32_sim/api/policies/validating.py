"""ValidatingAdmissionPolicy: what is wrong with a request, and what follows from it.

Words and order are upstream's `apiserver/pkg/admission/plugin/policy/validating`.  Audit annotations are evaluated, for
their errors refuse requests, and then forgotten: nothing keeps an audit log.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from kube32_sim.api.authorization import Authorizer
from kube32_sim.api.cel.types import BOOL, NULL, STRING
from kube32_sim.api.dynamic_admission.matching import Equivalents
from kube32_sim.api.dynamic_admission.request import AdmissionRequest
from kube32_sim.api.errors import ApiError
from kube32_sim.api.policies.compiled import Binding, Bound, Failure, Policy, common_of, invocations, refusal
from kube32_sim.api.policies.evaluation import Run
from kube32_sim.api.policies.expressions import Expression, Fault

JsonObject = dict[str, Any]

_FAULT = ""
_CODES = {"Forbidden": 403, "Invalid": 422, "RequestEntityTooLarge": 413, "Unauthorized": 401}
LONGEST_MESSAGE = 5 * 1024
"""Bytes of what a messageExpression makes; of a longer one nothing is used."""


class Validation(NamedTuple):
    """fallback: the message where `message` makes none.  reason: a Kubernetes StatusReason."""

    expression: Expression
    message: Expression | None
    fallback: str
    reason: str


@dataclass(frozen=True, slots=True)
class ValidatingPolicy(Policy):
    validations: Sequence[Validation]
    annotations: Sequence[Expression]


class Denial(NamedTuple):
    """reason: _FAULT where an expression went wrong."""

    message: str
    reason: str = _FAULT


def compile_validating(obj: JsonObject) -> ValidatingPolicy:
    """A stored ValidatingAdmissionPolicy."""
    fields, scope = common_of(obj)
    spec = obj["spec"]
    validations = []
    for each in spec.get("validations") or ():
        source, built = each["expression"], each.get("messageExpression")
        fallback = each.get("message", "").strip() or f"failed expression: {source.strip()}"
        validations.append(
            Validation(
                scope.compile(source, returns=(BOOL,)),
                scope.compile(built, returns=(STRING,), authorizer=False) if built else None,
                fallback,
                each.get("reason") or "Invalid",
            )
        )
    annotations = [
        scope.compile(each["valueExpression"], returns=(STRING, NULL)) for each in spec.get("auditAnnotations") or ()
    ]
    return ValidatingPolicy(**fields, validations=validations, annotations=annotations)


def validate(
    bound: Iterable[Bound], request: AdmissionRequest, equivalents: Equivalents, authorizer: Authorizer
) -> list[str]:
    """Ask all policies (ValidatingPolicy ones) that are for a request.  Answers warnings; raises ApiError to refuse."""
    refusals: list[tuple[Policy, Binding | None, Denial]] = []
    warnings: list[str] = []
    for invoked in invocations(bound, request, equivalents):
        if isinstance(invoked, Failure):
            if not invoked.policy.ignore:
                refusals.append((invoked.policy, invoked.binding, Denial(invoked.why)))
            continue
        policy, binding = invoked.policy, invoked.binding
        assert isinstance(policy, ValidatingPolicy)
        run = Run(request, invoked.row, authorizer, params=invoked.params, variables=policy.variables)
        denials, unusable = _evaluate(policy, run)
        for denial in denials:
            if "Deny" in binding.actions:
                refusals.append((policy, binding, denial))
            if "Warn" in binding.actions:
                where = f"ValidatingAdmissionPolicy '{policy.name}' with binding '{binding.name}'"
                warnings.append(f"Validation failed for {where}: {denial.message}")
        refusals += [(policy, binding, denial) for denial in unusable]
    if refusals:
        error = _refused(request, *refusals[0])
        error.warnings = warnings
        raise error
    return warnings


def _refused(request: AdmissionRequest, policy: Policy, binding: Binding | None, denial: Denial) -> ApiError:
    by = f"ValidatingAdmissionPolicy '{policy.name}'" + (f" with binding '{binding.name}'" if binding else "")
    error = refusal(request, f"{by} denied request: {denial.message}")
    error.reason = denial.reason or "Invalid"
    error.code = _CODES.get(error.reason, 422)
    return error


def _evaluate(policy: ValidatingPolicy, run: Run) -> tuple[list[Denial], list[Denial]]:
    """What is wrong with the request, and which audit annotations are, which always refuse it.

    What goes wrong itself counts unless the policy says that it is to be ignored.
    """
    try:
        if not policy.conditions.match(run):
            return [], []
    except Fault as fault:
        return [Denial(str(fault))], []
    denials: list[Denial] = []
    for validation in policy.validations:
        try:
            if run.value(validation.expression) is not True:
                denials.append(Denial(_message(validation, run), validation.reason))
        except Fault as fault:
            denials.append(Denial(str(fault)))
    unusable: list[Denial] = []
    for annotation in policy.annotations:
        try:
            run.value(annotation)
        except Fault as fault:
            unusable.append(Denial(str(fault)))
    if policy.ignore:
        return [denial for denial in denials if denial.reason != _FAULT], []
    return denials, unusable


def _message(validation: Validation, run: Run) -> str:
    """A messageExpression that goes wrong, or makes several lines, nothing or far too much, is as if it were not."""
    made: Any = ""
    if validation.message is not None:
        try:
            made = run.value(validation.message)
        except Fault:
            made = ""
    text = made.strip() if isinstance(made, str) else ""
    usable = text and "\n" not in text and len(text.encode()) <= LONGEST_MESSAGE
    return text if usable else validation.fallback
