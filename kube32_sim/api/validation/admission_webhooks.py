"""Validation of webhook configurations, and of what webhooks and admission policies have in common: which requests they
are for.

Rules, order and words are upstream's `pkg/apis/admissionregistration/validation` and apiserver's `util/webhook`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import SplitResult, urlsplit

from kube32_sim.api.cel.types import BOOL
from kube32_sim.api.errors import FieldError, duplicate, invalid_value, not_supported, required, too_many
from kube32_sim.api.policies.expressions import Expression, Scope
from kube32_sim.api.validation import names
from kube32_sim.api.validation.workloads_common import only_wildcard, validate_label_selector

JsonObject = dict[str, Any]

FAILURE_POLICIES = ("Fail", "Ignore")
_MATCH_POLICIES = ("Equivalent", "Exact")
REINVOCATIONS = ("IfNeeded", "Never")
_SIDE_EFFECTS = ("None", "NoneOnDryRun")
OPERATIONS = ("*", "CONNECT", "CREATE", "DELETE", "UPDATE")
_SCOPES = ("*", "Cluster", "Namespaced")
_REVIEWS = ("v1", "v1beta1")
_MOST_CONDITIONS = 64
_FORM = "; desired format: https://host[/path]"


def validate_webhooks(obj: JsonObject) -> list[FieldError]:
    found: list[FieldError] = []
    seen: set[str] = set()
    for index, webhook in enumerate(obj.get("webhooks") or ()):
        path, name = f"webhooks[{index}]", webhook.get("name", "")
        found += _webhook(webhook, path)
        found += _review_versions(webhook.get("admissionReviewVersions") or [], f"{path}.admissionReviewVersions")
        if name and name in seen:
            found.append(duplicate(f"{path}.name", name))
        seen.add(name)
    return found


def optional_choice(owner: JsonObject, path: str, field: str, supported: Sequence[str]) -> list[FieldError]:
    """A field that may be missing, or else is one of `supported`."""
    value = owner.get(field)
    return [] if value is None or value in supported else [not_supported(f"{path}.{field}", value, supported)]


def _webhook(webhook: JsonObject, path: str) -> list[FieldError]:
    found = fully_qualified(webhook.get("name", ""), f"{path}.name")
    for index, rule in enumerate(webhook.get("rules") or ()):
        found += validate_rule(rule, f"{path}.rules[{index}]")
    found += optional_choice(webhook, path, "failurePolicy", FAILURE_POLICIES)
    found += optional_choice(webhook, path, "matchPolicy", _MATCH_POLICIES)
    if webhook.get("sideEffects") is None:
        found.append(required(f"{path}.sideEffects", f"must specify one of {', '.join(_SIDE_EFFECTS)}"))
    found += optional_choice(webhook, path, "sideEffects", _SIDE_EFFECTS)
    seconds = webhook.get("timeoutSeconds", 10)
    if not 1 <= seconds <= 30:
        why = "the timeout value must be between 1 and 30 seconds"
        found.append(invalid_value(f"{path}.timeoutSeconds", seconds, why))
    for field in ("namespaceSelector", "objectSelector"):
        found += validate_label_selector(webhook.get(field), f"{path}.{field}")
    found += optional_choice(webhook, path, "reinvocationPolicy", REINVOCATIONS)
    found += client_config(webhook.get("clientConfig") or {}, f"{path}.clientConfig")
    return found + validate_match_conditions(webhook, f"{path}.matchConditions")


def fully_qualified(name: str, path: str) -> list[FieldError]:
    """A name with at least three parts between dots."""
    if not name:
        return [required(path)]
    if reasons := names.dns1123_subdomain(name):
        return [invalid_value(path, name, ",".join(reasons))]
    if len(name.split(".")) < 3:
        return [invalid_value(path, name, "should be a domain with at least three segments separated by dots")]
    return []


def _review_versions(versions: Sequence[str], path: str) -> list[FieldError]:
    known = ", ".join(_REVIEWS)
    if not versions:
        return [required(path, f"must specify one of {known}")]
    found: list[FieldError] = []
    for index, version in enumerate(versions):
        if version in versions[:index]:
            found.append(invalid_value(f"{path}[{index}]", version, "duplicate version"))
        else:
            found += [invalid_value(f"{path}[{index}]", version, why) for why in names.dns1035(version)]
    if not any(version in _REVIEWS for version in versions):
        found.append(invalid_value(path, list(versions), f"must include at least one of {known}"))
    return found


def client_config(config: JsonObject, path: str) -> list[FieldError]:
    """Where a webhook is called: exactly one of a URL and a service."""
    url, service = config.get("url"), config.get("service")
    if (url is None) == (service is None):
        return [required(path, "exactly one of url or service is required")]
    return _url(url, f"{path}.url") if url is not None else _service(service or {}, f"{path}.service")


def _url(url: str, path: str) -> list[FieldError]:
    try:
        parts = urlsplit(url)
    except ValueError as error:
        return [required(path, f"url must be a valid URL: {error}{_FORM}")]
    found: list[FieldError] = []
    if parts.scheme != "https":
        found.append(invalid_value(path, parts.scheme, f"'https' is the only allowed URL scheme{_FORM}"))
    user, at, host = parts.netloc.rpartition("@")
    if not host:
        found.append(invalid_value(path, host, f"host must be specified{_FORM}"))
    if at:
        found.append(invalid_value(path, user, "user information is not permitted in the URL"))
    return found + _no_more(parts, path)


def _no_more(parts: SplitResult, path: str) -> list[FieldError]:
    found: list[FieldError] = []
    if parts.fragment:
        found.append(invalid_value(path, parts.fragment, "fragments are not permitted in the URL"))
    if parts.query:
        found.append(invalid_value(path, parts.query, "query parameters are not permitted in the URL"))
    return found


def _service(service: JsonObject, path: str) -> list[FieldError]:
    """Upstream mixes up name and namespace: the one that is missing is told as the other."""
    found: list[FieldError] = []
    if not service.get("namespace"):
        found.append(required(f"{path}.name"))
    if not service.get("name"):
        found.append(required(f"{path}.namespace"))
    port = service.get("port", 0)
    if reasons := names.port_number(port):
        found.append(invalid_value(f"{path}.port", port, f"port is not valid: {', '.join(reasons)}"))
    return found + _service_path(service.get("path", ""), f"{path}.path")


def _service_path(text: str, path: str) -> list[FieldError]:
    if text in ("", "/"):
        return []
    if text == "//":
        return [invalid_value(path, text, "segment[0] may not be empty")]
    found = [] if text.startswith("/") else [invalid_value(path, text, "must start with a '/'")]
    for index, step in enumerate(text[1:].removesuffix("/").split("/")):
        reasons = [f": {why}" for why in names.dns1123_subdomain(step)] if step else [" may not be empty"]
        found += [invalid_value(path, text, f"segment[{index}]{why}") for why in reasons]
    return found


def validate_rule(rule: JsonObject, path: str) -> list[FieldError]:
    """Operations on resources that a webhook or policy is called for."""
    operations = rule.get("operations") or []
    found = [] if operations else [required(f"{path}.operations")]
    found += only_wildcard(operations, f"{path}.operations", "operations")
    for index, operation in enumerate(operations):
        if operation not in OPERATIONS:
            found.append(not_supported(f"{path}.operations[{index}]", operation, OPERATIONS))
    groups, versions = rule.get("apiGroups") or [], rule.get("apiVersions") or []
    found += [] if groups else [required(f"{path}.apiGroups")]
    found += only_wildcard(groups, f"{path}.apiGroups", "API groups")
    found += [] if versions else [required(f"{path}.apiVersions")]
    found += only_wildcard(versions, f"{path}.apiVersions", "API versions")
    found += [required(f"{path}.apiVersions[{index}]") for index, each in enumerate(versions) if not each]
    found += _resources(rule.get("resources") or [], f"{path}.resources")
    return found + optional_choice(rule, path, "scope", _SCOPES)


def _resources(resources: Sequence[str], path: str) -> list[FieldError]:
    """Resources and subresources: a wildcard leaves nothing to name beside it."""
    found = [] if resources else [required(path)]
    wild_subresources: set[str] = set()
    wild_resources: set[str] = set()
    plain = False
    for index, each in enumerate(resources):
        if not each:
            found.append(required(f"{path}[{index}]"))
            continue
        resource, slash, subresource = each.partition("/")
        if not slash:
            plain = each != "*"
            continue
        if resource in wild_subresources:
            why = f"if '{resource}/*' is present, must not specify {each}"
            found.append(invalid_value(f"{path}[{index}]", each, why))
        if subresource in wild_resources:
            why = f"if '*/{subresource}' is present, must not specify {each}"
            found.append(invalid_value(f"{path}[{index}]", each, why))
        if subresource == "*":
            wild_subresources.add(resource)
        if resource == "*":
            wild_resources.add(subresource)
    if len(resources) > 1 and "*/*" in resources:
        found.append(invalid_value(path, list(resources), "if '*/*' is present, must not specify other resources"))
    if "*" in resources and plain:
        why = "if '*' is present, must not specify other resources without subresources"
        found.append(invalid_value(path, list(resources), why))
    return found


def validate_match_conditions(owner: JsonObject, path: str, *, params: bool = False) -> list[FieldError]:
    """params: whether their expressions see `params`."""
    conditions, scope = owner.get("matchConditions") or (), Scope(params=params)
    found: list[FieldError] = []
    if len(conditions) > _MOST_CONDITIONS:
        found.append(too_many(path, len(conditions), _MOST_CONDITIONS))
    seen: set[str] = set()
    for index, condition in enumerate(conditions):
        at, name = f"{path}[{index}]", condition.get("name", "")
        expression = condition.get("expression", "").strip()
        if expression:
            found += expression_faults(scope.compile(expression, returns=(BOOL,)), f"{at}.expression")
        else:
            found.append(required(f"{at}.expression"))
        if name:
            found += [invalid_value(f"{at}.name", name, why) for why in names.qualified_name(name)]
        else:
            found.append(required(f"{at}.name"))
        if name and name in seen:
            found.append(duplicate(f"{at}.name", name))
        seen.add(name)
    return found


def expression_faults(expression: Expression, path: str, shown: str = "") -> list[FieldError]:
    """That an expression does not compile.  shown: how it was written, where it was compiled without its margins."""
    return [invalid_value(path, shown or expression.source, expression.fault)] if expression.fault else []


def validate_match(match: JsonObject | None, path: str) -> list[FieldError]:
    """The `MatchResources` of an admission policy or of its binding."""
    if match is None:
        return []
    found = required_choice(match, path, "matchPolicy", _MATCH_POLICIES)
    for field in ("namespaceSelector", "objectSelector"):
        if match.get(field) is None:
            found.append(required(f"{path}.{field}"))
        found += validate_label_selector(match.get(field), f"{path}.{field}")
    for field in ("resourceRules", "excludeResourceRules"):
        for index, rule in enumerate(match.get(field) or ()):
            at = f"{path}.{field}[{index}]"
            found += _resource_names(rule.get("resourceNames") or [], f"{at}.resourceNames") + validate_rule(rule, at)
    return found


def required_choice(owner: JsonObject, path: str, field: str, supported: Sequence[str]) -> list[FieldError]:
    """A field that must be there and one of `supported`."""
    if owner.get(field) is None:
        return [required(f"{path}.{field}")]
    return optional_choice(owner, path, field, supported)


def _resource_names(given: Sequence[str], path: str) -> list[FieldError]:
    found: list[FieldError] = []
    for index, name in enumerate(given):
        found += [invalid_value(f"{path}[{index}]", name, why) for why in names.path_segment(name)]
        if name in given[:index]:
            found.append(duplicate(f"{path}[{index}]", name))
    return found
