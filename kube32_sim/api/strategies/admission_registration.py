"""Admission registration: configurations of webhooks, admission policies of both kinds and their bindings.

What checks them knows CEL and is imported late: a start can do without.
"""

from __future__ import annotations

from typing import Any

from kube32_sim.api.errors import FieldError
from kube32_sim.api.policies import permissions
from kube32_sim.api.strategies.base import Context, Strategy
from kube32_sim.api.strategies.spec import ALL_METADATA, SpecStrategy
from kube32_sim.api.validation import config_extend as extend

JsonObject = dict[str, Any]

_GROUP = "admissionregistration.k8s.io"


class Webhooks(Strategy):
    """ValidatingWebhookConfiguration and MutatingWebhookConfiguration."""

    unconditional_update = False

    def __init__(self, *, mutating: bool) -> None:
        self.mutating = mutating

    def default(self, obj: JsonObject) -> None:
        for webhook in obj.get("webhooks") or ():
            extend.default_webhook(webhook, mutating=self.mutating)

    def validate(self, obj: JsonObject, context: Context) -> list[FieldError]:
        from kube32_sim.api.validation.admission_webhooks import validate_webhooks

        return validate_webhooks(obj)


class AdmissionPolicy(SpecStrategy):
    """ValidatingAdmissionPolicy and MutatingAdmissionPolicy."""

    unconditional_update = False
    status_locks = ALL_METADATA

    def __init__(self, *, mutating: bool) -> None:
        self.mutating = mutating

    def default_spec(self, obj: JsonObject, spec: JsonObject) -> None:
        spec.setdefault("failurePolicy", "Fail")
        extend.default_match(spec.get("matchConstraints"))

    def validate(self, obj: JsonObject, context: Context) -> list[FieldError]:
        return self._validate(obj, None, context)

    def validate_update(self, obj: JsonObject, old: JsonObject, context: Context) -> list[FieldError]:
        return self._validate(obj, old, context)

    def _validate(self, obj: JsonObject, old: JsonObject | None, context: Context) -> list[FieldError]:
        from kube32_sim.api.validation import admission_policies as policies

        found = policies.validate_mutating_policy(obj) if self.mutating else policies.validate_policy(obj)
        return found or permissions.policy_permission(obj, old, context)

    def validate_status_update(self, obj: JsonObject, old: JsonObject, context: Context) -> list[FieldError]:
        from kube32_sim.api.validation.admission_policies import validate_policy_status

        return validate_policy_status(obj.get("status") or {})


class AdmissionPolicyBinding(SpecStrategy):
    unconditional_update = False

    def __init__(self, *, mutating: bool) -> None:
        self.mutating = mutating

    def default_spec(self, obj: JsonObject, spec: JsonObject) -> None:
        extend.default_match(spec.get("matchResources"))

    def validate(self, obj: JsonObject, context: Context) -> list[FieldError]:
        from kube32_sim.api.validation.admission_policies import validate_policy_binding

        found = validate_policy_binding(obj["spec"], validating=not self.mutating)
        bound = (_GROUP, f"{'mutating' if self.mutating else 'validating'}admissionpolicies")
        return found or permissions.binding_permission(obj, bound, context)


STRATEGIES: dict[tuple[str, str], Strategy] = {
    (_GROUP, "ValidatingWebhookConfiguration"): Webhooks(mutating=False),
    (_GROUP, "MutatingWebhookConfiguration"): Webhooks(mutating=True),
    (_GROUP, "ValidatingAdmissionPolicy"): AdmissionPolicy(mutating=False),
    (_GROUP, "MutatingAdmissionPolicy"): AdmissionPolicy(mutating=True),
    (_GROUP, "ValidatingAdmissionPolicyBinding"): AdmissionPolicyBinding(mutating=False),
    (_GROUP, "MutatingAdmissionPolicyBinding"): AdmissionPolicyBinding(mutating=True),
}
