"""Validation of API priority and fairness: FlowSchema and PriorityLevelConfiguration.

Rules, order and words are upstream's `pkg/apis/flowcontrol/validation`.
"""

from __future__ import annotations

import math
from typing import Any

from kube32_sim.api.errors import FieldError, duplicate, forbidden_field, invalid_value, not_supported, required
from kube32_sim.api.validation import names
from kube32_sim.api.validation.workloads_common import only_wildcard

JsonObject = dict[str, Any]

_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch")
_METHODS = ("ByNamespace", "ByUser")
_SUBJECTS = {"Group": "group", "ServiceAccount": "serviceAccount", "User": "user"}
_LOWEST_PRECEDENCE = 10_000
_MOST_QUEUES = 10_000_000
_HASH_BITS = 60
EXEMPT = "exempt"


def validate_flow_schema(obj: JsonObject) -> list[FieldError]:
    spec, path = obj["spec"], "spec"
    precedence, at = spec.get("matchingPrecedence", 0), f"{path}.matchingPrecedence"
    found: list[FieldError] = []
    if precedence <= 0:
        found.append(invalid_value(at, precedence, "must be a positive value"))
    if precedence > _LOWEST_PRECEDENCE:
        found.append(invalid_value(at, precedence, f"must not be greater than {_LOWEST_PRECEDENCE}"))
    if precedence == 1 and obj["metadata"].get("name") != EXEMPT:
        found.append(invalid_value(at, precedence, "only the schema named 'exempt' may have matchingPrecedence 1"))
    method = spec.get("distinguisherMethod")
    if method is not None and method.get("type", "") not in _METHODS:
        shown = {"Type": method.get("type", "")}
        found.append(not_supported(f"{path}.distinguisherMethod.type", shown, _METHODS))
    name, at = (spec.get("priorityLevelConfiguration") or {}).get("name", ""), f"{path}.priorityLevelConfiguration.name"
    if name:
        found += [invalid_value(at, name, why) for why in names.dns1123_subdomain(name)]
    else:
        found.append(required(at, "must reference a priority level"))
    for index, rule in enumerate(spec.get("rules") or ()):
        found += _rule(rule, f"{path}.rules[{index}]")
    return found + validate_flow_status(obj)


def _rule(rule: JsonObject, path: str) -> list[FieldError]:
    found: list[FieldError] = []
    for index, subject in enumerate(rule.get("subjects") or ()):
        found += _subject(subject, f"{path}.subjects[{index}]")
    if not rule.get("subjects"):
        found.append(required(f"{path}.subjects", "subjects must contain at least one value"))
    if not rule.get("resourceRules") and not rule.get("nonResourceRules"):
        found.append(required(path, "at least one of resourceRules and nonResourceRules has to be non-empty"))
    for index, each in enumerate(rule.get("resourceRules") or ()):
        found += _resource_rule(each, f"{path}.resourceRules[{index}]")
    for index, each in enumerate(rule.get("nonResourceRules") or ()):
        found += _url_rule(each, f"{path}.nonResourceRules[{index}]")
    return found


def _subject(subject: JsonObject, path: str) -> list[FieldError]:
    kind = subject.get("kind", "")
    if kind not in _SUBJECTS:
        return [not_supported(f"{path}.kind", kind, sorted(_SUBJECTS))]
    field = _SUBJECTS[kind]
    who = subject.get(field)
    if who is None:
        found = [required(f"{path}.{field}", f"{field} is required when subject kind is '{kind}'")]
    else:
        found = _account(who, f"{path}.{field}") if kind == "ServiceAccount" else _named(who, f"{path}.{field}")
    for other in ("ServiceAccount", "User", "Group"):
        name = _SUBJECTS[other]
        if other != kind and subject.get(name) is not None:
            why = f"{name} is forbidden when subject kind is not '{other}'"
            found.append(forbidden_field(f"{path}.{name}", why))
    return found


def _named(who: JsonObject, path: str) -> list[FieldError]:
    return [] if who.get("name") else [required(f"{path}.name")]


def _account(who: JsonObject, path: str) -> list[FieldError]:
    name, namespace = who.get("name", ""), who.get("namespace", "")
    found = _named(who, path)
    if name not in ("", "*"):
        found += [invalid_value(f"{path}.name", name, why) for why in names.dns1123_subdomain(name)]
    if not namespace:
        return [*found, required(f"{path}.namespace", "must specify namespace for service account")]
    return found + [invalid_value(f"{path}.namespace", namespace, why) for why in names.dns1123_label(namespace)]


def _verbs(rule: JsonObject, path: str) -> list[FieldError]:
    verbs = rule.get("verbs") or []
    if not verbs:
        return [required(f"{path}.verbs", "verbs must contain at least one value")]
    if "*" in verbs:
        return only_wildcard(verbs, f"{path}.verbs", "verbs")
    return [] if set(verbs) <= set(_VERBS) else [not_supported(f"{path}.verbs", list(verbs), _VERBS)]


def _url_rule(rule: JsonObject, path: str) -> list[FieldError]:
    urls, at = rule.get("nonResourceURLs") or [], f"{path}.nonResourceURLs"
    found = _verbs(rule, path)
    if not urls:
        return [*found, required(at, "nonResourceURLs must contain at least one value")]
    if "*" in urls:
        return found + only_wildcard(urls, at, "non-resource URLs")
    reasons = [(index, url, _url_error(url)) for index, url in enumerate(urls)]
    return found + [invalid_value(f"{at}[{index}]", url, why) for index, url, why in reasons if why]


def _url_error(url: str) -> str:
    if not url:
        return "must not be empty"
    if url == "/":
        return ""
    if not url.startswith("/"):
        return "must start with slash"
    if " " in url:
        return "must not contain white-space"
    if "//" in url:
        return "must not contain double slash"
    wild = url.count("*")
    return "wildcard can only do suffix matching" if wild > 1 or (wild == 1 and not url.endswith("/*")) else ""


def _resource_rule(rule: JsonObject, path: str) -> list[FieldError]:
    found = _verbs(rule, path)
    for field, one, many in (("apiGroups", "api group", "api groups"), ("resources", "resource", "resources")):
        items = rule.get(field) or []
        if not items:
            found.append(required(f"{path}.{field}", f"resource rules must supply at least one {one}"))
        found += only_wildcard(items, f"{path}.{field}", many)
    namespaces, at = rule.get("namespaces") or [], f"{path}.namespaces"
    if not namespaces and not rule.get("clusterScope"):
        why = "resource rules that are not cluster scoped must supply at least one namespace"
        return [*found, required(at, why)]
    if "*" in namespaces:
        return found + only_wildcard(namespaces, at, "namespaces")
    told = "each member of this list must be '*' or a DNS-1123 label; "
    return found + [
        invalid_value(f"{at}[{index}]", name, f"{told}{why}")
        for index, name in enumerate(namespaces)
        for why in names.dns1123_label(name)
    ]


def validate_flow_status(obj: JsonObject) -> list[FieldError]:
    """The conditions in the status of either kind."""
    found: list[FieldError] = []
    seen: set[str] = set()
    for index, condition in enumerate((obj.get("status") or {}).get("conditions") or ()):
        path, kind = f"status.conditions[{index}].type", condition.get("type", "")
        if kind in seen:
            found.append(duplicate(path, kind))
        seen.add(kind)
        if not kind:
            found.append(required(path, "must not be empty"))
    return found


def validate_priority_level(obj: JsonObject) -> list[FieldError]:
    spec, name, path = obj["spec"], obj["metadata"].get("name", ""), "spec"
    kind, limited, exempt = spec.get("type", ""), spec.get("limited"), spec.get("exempt")
    found: list[FieldError] = []
    if (name == EXEMPT) != (kind == "Exempt"):
        found.append(invalid_value(f"{path}.type", kind, "type must be 'Exempt' if and only if name is 'exempt'"))
    if kind == "Exempt":
        if limited is not None:
            found.append(forbidden_field(f"{path}.limited", "must be nil if the type is not Limited"))
        if exempt is not None:
            found += _exempt(exempt, f"{path}.exempt")
    elif kind == "Limited":
        if exempt is not None:
            found.append(forbidden_field(f"{path}.exempt", "must be nil if the type is Limited"))
        if limited is None:
            found.append(required(f"{path}.limited", "must not be empty when type is Limited"))
        else:
            found += _limited(limited, f"{path}.limited")
    else:
        found.append(not_supported(f"{path}.type", kind, ("Exempt", "Limited")))
    return found + validate_flow_status(obj)


def _exempt(exempt: JsonObject, path: str) -> list[FieldError]:
    return _shares(exempt, path) + _lendable(exempt, path)


def _shares(owner: JsonObject, path: str) -> list[FieldError]:
    shares = owner.get("nominalConcurrencyShares") or 0
    if shares >= 0:
        return []
    return [invalid_value(f"{path}.nominalConcurrencyShares", shares, "must be a non-negative integer")]


def _lendable(owner: JsonObject, path: str) -> list[FieldError]:
    share = owner.get("lendablePercent")
    if share is None or 0 <= share <= 100:
        return []
    return [invalid_value(f"{path}.lendablePercent", share, names.in_range(0, 100))]


def _limited(limited: JsonObject, path: str) -> list[FieldError]:
    found = _shares(limited, path) + _response(limited.get("limitResponse") or {}, f"{path}.limitResponse")
    found += _lendable(limited, path)
    borrowed = limited.get("borrowingLimitPercent")
    if borrowed is not None and borrowed < 0:
        why = "if specified, must be a non-negative integer"
        found.append(invalid_value(f"{path}.borrowingLimitPercent", borrowed, why))
    return found


def _response(response: JsonObject, path: str) -> list[FieldError]:
    kind, queuing = response.get("type", ""), response.get("queuing")
    if kind == "Reject":
        why = "must be nil if limited.limitResponse.type is not Limited"
        return [forbidden_field(f"{path}.queuing", why)] if queuing is not None else []
    if kind != "Queue":
        return [not_supported(f"{path}.type", kind, ("Queue", "Reject"))]
    if queuing is None:
        return [required(f"{path}.queuing", "must not be empty if limited.limitResponse.type is Limited")]
    return _queuing(queuing, f"{path}.queuing")


def _queuing(queuing: JsonObject, path: str) -> list[FieldError]:
    length, queues, hand = (queuing.get(field, 0) for field in ("queueLengthLimit", "queues", "handSize"))
    found: list[FieldError] = []
    if length <= 0:
        found.append(invalid_value(f"{path}.queueLengthLimit", length, "must be positive"))
    if queues <= 0:
        found.append(invalid_value(f"{path}.queues", queues, "must be positive"))
    elif queues > _MOST_QUEUES:
        found.append(invalid_value(f"{path}.queues", queues, f"must not be greater than {_MOST_QUEUES}"))
    at = f"{path}.handSize"
    if hand <= 0:
        found.append(invalid_value(at, hand, "must be positive"))
    elif hand > queues:
        found.append(invalid_value(at, hand, f"should not be greater than queues ({queues})"))
    elif math.ceil(math.log2(queues) * hand) > _HASH_BITS:
        why = f"required entropy bits of deckSize {queues} and handSize {hand} should not be greater than {_HASH_BITS}"
        found.append(invalid_value(at, hand, why))
    return found
