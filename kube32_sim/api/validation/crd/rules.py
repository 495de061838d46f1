"""Fields of `x-kubernetes-validations`; the expressions in them are checked in `expressions`."""

from __future__ import annotations

import re
from typing import Any

from kube32_sim.api.errors import FieldError, invalid_value, not_supported, required
from kube32_sim.api.validation.crd.nodes import RULES
from kube32_sim.api.validation.crd.selectable import is_field_path

JsonObject = dict[str, Any]

_REASONS = ("FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired")
_broken = re.compile("[\n\r]").search


def rule_faults(schema: JsonObject, path: str) -> list[FieldError]:
    """Of all rules of one schema."""
    found: list[FieldError] = []
    for index, rule in enumerate(schema.get(RULES) or ()):
        at = f"{path}.{RULES}[{index}]"
        found += _texts(rule, at)
        expression = rule.get("messageExpression", "")
        if expression and not expression.strip():
            why = "messageExpression must be non-empty if specified"
            found.append(required(f"{at}.messageExpression", why))
        reason = rule.get("reason")
        if reason is not None and reason not in _REASONS:
            found.append(not_supported(f"{at}.reason", reason, _REASONS))
        found += _field_path(schema, rule.get("fieldPath", ""), f"{at}.fieldPath")
    return found


def _texts(rule: JsonObject, at: str) -> list[FieldError]:
    text, message = rule.get("rule", "").strip(), rule.get("message", "")
    shown = message.strip()
    if not text:
        return [required(f"{at}.rule", "rule is not specified")]
    if message and not shown:
        return [invalid_value(f"{at}.message", message, "message must be non-empty if specified")]
    if _broken(shown):
        return [invalid_value(f"{at}.message", message, "message must not contain line breaks")]
    if _broken(text) and not shown:
        return [required(f"{at}.message", "message must be specified if rule contains line breaks")]
    return []


def _field_path(schema: JsonObject, text: str, at: str) -> list[FieldError]:
    if not text:
        return []
    reasons = []
    if not text.strip():
        reasons.append("fieldPath must be non-empty if specified")
    if _broken(text):
        reasons.append("fieldPath must not contain line breaks")
    if not is_field_path(text, schema):
        reasons.append("fieldPath must be a valid path")
    return [invalid_value(at, text, why) for why in reasons]
