"""What the validation of many kinds is made of: numbers, percentages, label selectors, immutable fields.

Wording follows upstream's `ValidateNonnegativeField`, `ValidatePositiveIntOrPercent`, `ValidateLabelSelector` and
`ValidateImmutableField`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kube32_sim.api.errors import NOT_NEGATIVE, FieldError, forbidden_field, invalid_value, not_supported, required
from kube32_sim.api.validation import names

JsonObject = dict[str, Any]

IMMUTABLE = "field is immutable"
PROTOCOLS = ("SCTP", "TCP", "UDP")
_PATH = r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+"
_DIGITS = 18
"""Of a number that means anything; more only cost time."""


def non_negative(owner: JsonObject, path: str, *fields: str) -> list[FieldError]:
    """Failures of those `fields` that are there and below 0."""
    return [
        invalid_value(f"{path}.{field}", owner[field], NOT_NEGATIVE)
        for field in fields
        if owner.get(field) is not None and owner[field] < 0
    ]


def one_of(owner: JsonObject, path: str, field: str, supported: Iterable[str]) -> list[FieldError]:
    """The field must be there and one of `supported` (in the order of the message)."""
    value = owner.get(field, "")
    if not value:
        return [required(f"{path}.{field}")]
    return [] if value in supported else [not_supported(f"{path}.{field}", value, supported)]


def only_wildcard(items: Sequence[str], path: str, what: str) -> list[FieldError]:
    """`*` stands alone.  what: the items, for the message."""
    if len(items) < 2 or "*" not in items:
        return []
    return [invalid_value(path, list(items), f"if '*' is present, must not specify other {what}")]


def domain_prefixed_path(value: str, path: str) -> list[FieldError]:
    """`domain/path`, upstream's `IsDomainPrefixedPath`."""
    if not value:
        return [required(path)]
    domain, _, rest = value.partition("/")
    if not domain or not rest:
        return [invalid_value(path, value, 'must be a domain-prefixed path (such as "acme.io/foo")')]
    found = [invalid_value(path, domain, why) for why in names.dns1123_subdomain(domain)]
    if not re.fullmatch(_PATH, rest):
        found.append(invalid_value(path, rest, f"Invalid path (regex used for validation is '{_PATH}')"))
    return found


def int_or_percent(value: Any, path: str) -> list[FieldError]:
    if isinstance(value, str):
        return [invalid_value(path, value, why) for why in names.percent(value)]
    return [invalid_value(path, value, NOT_NEGATIVE)] if isinstance(value, int) and value < 0 else []


def as_number(value: Any) -> int:
    """The number in an int-or-percent: 0 for what is neither."""
    if isinstance(value, str):
        digits = value.removesuffix("%")
        return int(digits[:_DIGITS]) if digits.isascii() and digits.isdigit() else 0
    return value if isinstance(value, int) else 0


def at_most_all(value: Any, path: str) -> list[FieldError]:
    is_percent = isinstance(value, str) and not names.percent(value)
    return (
        [invalid_value(path, value, "must not be greater than 100%")] if is_percent and as_number(value) > 100 else []
    )


def immutable(new: Any, old: Any, path: str, shown: Any = None) -> list[FieldError]:
    """shown: the value as the message has it, where that is not the new value itself."""
    return [] if new == old else [invalid_value(path, new if shown is None else shown, IMMUTABLE)]


def in_order(value: Mapping[str, Any], *keys: str) -> JsonObject:
    """An object with its fields in the order of Go's struct; what is not in `keys` is left out."""
    return {key: value[key] for key in keys if value.get(key) not in (None, [], {})}


def map_value(labels: Mapping[str, str] | None) -> Any:
    """A map as Go prints it: sorted by key; null where it is not there."""
    return dict(sorted(labels.items())) if labels else None


def selector_value(selector: Mapping[str, Any] | None) -> Any:
    """A label selector as messages show it."""
    if selector is None:
        return None
    shown: JsonObject = {}
    if labels := selector.get("matchLabels"):
        shown["matchLabels"] = map_value(labels)
    if expressions := selector.get("matchExpressions"):
        shown["matchExpressions"] = [
            {"key": each.get("key", ""), "operator": each.get("operator", "")} | in_order(each, "values")
            for each in expressions
        ]
    return shown


def validate_label_selector(selector: Mapping[str, Any] | None, path: str) -> list[FieldError]:
    if selector is None:
        return []
    found: list[FieldError] = []
    for key, value in sorted((selector.get("matchLabels") or {}).items()):
        found += [invalid_value(f"{path}.matchLabels", key, why) for why in names.qualified_name(key)]
        found += [invalid_value(f"{path}.matchLabels", value, why) for why in names.label_value(value)]
    for index, each in enumerate(selector.get("matchExpressions") or ()):
        found += _validate_expression(each, f"{path}.matchExpressions[{index}]")
    return found


def _validate_expression(expression: Mapping[str, Any], path: str) -> list[FieldError]:
    operator, key, values = expression.get("operator", ""), expression.get("key", ""), expression.get("values") or ()
    found: list[FieldError] = []
    if operator in ("In", "NotIn"):
        if not values:
            found.append(required(f"{path}.values", "must be specified when `operator` is 'In' or 'NotIn'"))
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            why = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            found.append(forbidden_field(f"{path}.values", why))
    else:
        found.append(invalid_value(f"{path}.operator", operator, "not a valid selector operator"))
    found += [invalid_value(f"{path}.key", key, why) for why in names.qualified_name(key)]
    for index, value in enumerate(values):
        found += [invalid_value(f"{path}.values[{index}]", value, why) for why in names.label_value(value)]
    return found


def is_empty(selector: Mapping[str, Any]) -> bool:
    return not selector.get("matchLabels") and not selector.get("matchExpressions")


def selects(selector: Mapping[str, Any] | None, labels: Mapping[str, str]) -> bool:
    """Whether a valid label selector matches; no selector matches nothing."""
    if selector is None:
        return False
    wanted = selector.get("matchLabels") or {}
    if any(labels.get(key) != value for key, value in wanted.items()):
        return False
    return all(_meets(each, labels) for each in selector.get("matchExpressions") or ())


def _meets(expression: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    key, operator, values = expression.get("key", ""), expression.get("operator"), expression.get("values") or ()
    if operator == "In":
        return key in labels and labels[key] in values
    if operator == "NotIn":
        return key not in labels or labels[key] not in values
    return (key in labels) is (operator == "Exists")
