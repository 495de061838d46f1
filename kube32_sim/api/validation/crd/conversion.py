"""`spec.conversion`.  Upstream's own checks of a webhook come first; then webhooks are refused, for the simulator calls
none to convert objects."""

from __future__ import annotations

from typing import Any

from kube32_sim.api.errors import FieldError, forbidden_field, invalid_value, not_supported, required
from kube32_sim.api.validation import names
from kube32_sim.api.validation.admission_webhooks import client_config

JsonObject = dict[str, Any]

_PATH = "spec.conversion"
_STRATEGIES = ("None", "Webhook")
_REVIEWS = ("v1", "v1beta1")
_ONLY_WEBHOOKS = "should not be set when strategy is not set to Webhook"
_REFUSED = "kube32-sim converts with strategy None only and calls no conversion webhooks"


def conversion_faults(conversion: JsonObject | None, *, preserves: bool) -> list[FieldError]:
    """preserves: spec.preserveUnknownFields."""
    if conversion is None:
        return []
    strategy, webhook = conversion.get("strategy", ""), conversion.get("webhook") or {}
    found: list[FieldError] = []
    if preserves and strategy != "None":
        why = "must be None if spec.preserveUnknownFields is true"
        found.append(invalid_value(f"{_PATH}.strategy", strategy, why))
    if not strategy:
        found.append(required(f"{_PATH}.strategy"))
    elif strategy not in _STRATEGIES:
        found.append(not_supported(f"{_PATH}.strategy", strategy, _STRATEGIES))
    if strategy == "Webhook":
        found += _webhook(webhook)
        return found or [invalid_value(f"{_PATH}.strategy", strategy, _REFUSED)]
    if webhook.get("clientConfig") is not None:
        found.append(forbidden_field(f"{_PATH}.webhookClientConfig", _ONLY_WEBHOOKS))
    if webhook.get("conversionReviewVersions"):
        found.append(forbidden_field(f"{_PATH}.conversionReviewVersions", _ONLY_WEBHOOKS))
    return found


def _webhook(webhook: JsonObject) -> list[FieldError]:
    config, at = webhook.get("clientConfig"), f"{_PATH}.webhookClientConfig"
    lacking = [required(at, "required when strategy is set to Webhook")]
    found = lacking if config is None else client_config(config, at)
    return found + _review_versions(webhook.get("conversionReviewVersions") or [])


def _review_versions(versions: list[str]) -> list[FieldError]:
    path = f"{_PATH}.conversionReviewVersions"
    if not versions:
        return [required(path)]
    found: list[FieldError] = []
    for index, version in enumerate(versions):
        reasons = ["duplicate version"] if version in versions[:index] else names.dns1035(version)
        found += [invalid_value(f"{path}[{index}]", version, why) for why in reasons]
    if not any(version in _REVIEWS for version in versions):
        found.append(invalid_value(path, versions, f"must include at least one of {', '.join(_REVIEWS)}"))
    return found
