"""Defaults and validation of the kinds that extend a cluster: webhooks, admission policies, certificate requests,
aggregated APIs.  They are kept and checked lightly; nothing of them is run.
"""

from __future__ import annotations

import base64
from typing import Any

from kube32_sim.api.errors import FieldError, duplicate, forbidden_field, invalid_value, not_supported, required
from kube32_sim.api.validation import names
from kube32_sim.api.validation.workloads_common import one_of, validate_label_selector

JsonObject = dict[str, Any]

_SIDE_EFFECTS = ("None", "NoneOnDryRun")
_OPERATIONS = ("*", "CONNECT", "CREATE", "DELETE", "UPDATE")
_SCOPES = ("*", "Cluster", "Namespaced")


def default_webhook(webhook: JsonObject, *, mutating: bool) -> None:
    webhook.setdefault("failurePolicy", "Fail")
    webhook.setdefault("matchPolicy", "Equivalent")
    webhook.setdefault("namespaceSelector", {})
    webhook.setdefault("objectSelector", {})
    webhook.setdefault("timeoutSeconds", 10)
    if mutating:
        webhook.setdefault("reinvocationPolicy", "Never")
    service = (webhook.get("clientConfig") or {}).get("service")
    if service is not None:
        service.setdefault("port", 443)
    for rule in webhook.get("rules") or ():
        rule.setdefault("scope", "*")


def default_match(match: JsonObject | None) -> None:
    """Defaults of what an admission policy applies to."""
    if match is None:
        return
    match.setdefault("matchPolicy", "Equivalent")
    match.setdefault("namespaceSelector", {})
    match.setdefault("objectSelector", {})
    for field in ("resourceRules", "excludeResourceRules"):
        for rule in match.get(field) or ():
            rule.setdefault("scope", "*")


def validate_webhooks(obj: JsonObject) -> list[FieldError]:
    found: list[FieldError] = []
    seen: set[str] = set()
    for index, webhook in enumerate(obj.get("webhooks") or ()):
        path, name = f"webhooks[{index}]", webhook.get("name", "")
        found += _webhook(webhook, path)
        if name and name in seen:
            found.append(duplicate(f"{path}.name", name))
        seen.add(name)
    return found


def _webhook(webhook: JsonObject, path: str) -> list[FieldError]:
    name = webhook.get("name", "")
    found = fully_qualified(name, f"{path}.name")
    for index, rule in enumerate(webhook.get("rules") or ()):
        found += _rule(rule, f"{path}.rules[{index}]")
    found += one_of(webhook, path, "failurePolicy", ("Fail", "Ignore"))
    found += one_of(webhook, path, "matchPolicy", ("Equivalent", "Exact"))
    found += one_of(webhook, path, "sideEffects", _SIDE_EFFECTS)
    seconds = webhook.get("timeoutSeconds", 10)
    if not 1 <= seconds <= 30:
        found.append(
            invalid_value(f"{path}.timeoutSeconds", seconds, "the timeout value must be between 1 and 30 seconds")
        )
    for field in ("namespaceSelector", "objectSelector"):
        found += validate_label_selector(webhook.get(field), f"{path}.{field}")
    if not webhook.get("admissionReviewVersions"):
        found.append(required(f"{path}.admissionReviewVersions", "must specify one of v1, v1beta1"))
    return found + _client_config(webhook.get("clientConfig") or {}, f"{path}.clientConfig")


def fully_qualified(name: str, path: str) -> list[FieldError]:
    """A name with at least three parts between dots."""
    if not name:
        return [required(path)]
    found = [invalid_value(path, name, why) for why in names.dns1123_subdomain(name)]
    if not found and len(name.split(".")) < 3:
        found.append(invalid_value(path, name, "should be a domain with at least three segments separated by dots"))
    return found


def _client_config(config: JsonObject, path: str) -> list[FieldError]:
    url, service = config.get("url"), config.get("service")
    if (url is None) == (service is None):
        return [required(path, "exactly one of url or service is required")]
    if url is not None:
        why = "'https' is the only allowed URL scheme; url should be of the form https://host:port/path"
        return [] if url.startswith("https://") else [invalid_value(f"{path}.url", url, why)]
    return [
        required(f"{path}.service.{field}", f"service {field} is required")
        for field in ("name", "namespace")
        if not (service or {}).get(field)
    ]


def _rule(rule: JsonObject, path: str) -> list[FieldError]:
    found = [
        required(f"{path}.{field}")
        for field in ("operations", "apiGroups", "apiVersions", "resources")
        if not rule.get(field)
    ]
    for index, operation in enumerate(rule.get("operations") or ()):
        if operation not in _OPERATIONS:
            found.append(not_supported(f"{path}.operations[{index}]", operation, _OPERATIONS))
    scope = rule.get("scope")
    if scope is not None and scope not in _SCOPES:
        found.append(not_supported(f"{path}.scope", scope, _SCOPES))
    return found


def validate_policy(spec: JsonObject) -> list[FieldError]:
    found = one_of(spec, "spec", "failurePolicy", ("Fail", "Ignore"))
    match = spec.get("matchConstraints")
    if match is None:
        found.append(required("spec.matchConstraints"))
    elif not match.get("resourceRules"):
        found.append(required("spec.matchConstraints.resourceRules"))
    for index, rule in enumerate((match or {}).get("resourceRules") or ()):
        found += _rule(rule, f"spec.matchConstraints.resourceRules[{index}]")
    for index, validation in enumerate(spec.get("validations") or ()):
        if not validation.get("expression", "").strip():
            found.append(required(f"spec.validations[{index}].expression", "expression is not specified"))
    return found


def validate_policy_binding(spec: JsonObject) -> list[FieldError]:
    found = [] if spec.get("policyName") else [required("spec.policyName")]
    for index, action in enumerate(spec.get("validationActions") or ()):
        if action not in ("Audit", "Deny", "Warn"):
            found.append(not_supported(f"spec.validationActions[{index}]", action, ("Audit", "Deny", "Warn")))
    return found


_USAGES = (
    "any",
    "cert sign",
    "client auth",
    "code signing",
    "content commitment",
    "crl sign",
    "data encipherment",
    "decipher only",
    "digital signature",
    "email protection",
    "encipher only",
    "ipsec end system",
    "ipsec tunnel",
    "ipsec user",
    "key agreement",
    "key encipherment",
    "microsoft sgc",
    "netscape sgc",
    "ocsp signing",
    "s/mime",
    "server auth",
    "signing",
    "timestamping",
)


def validate_signing_request(spec: JsonObject) -> list[FieldError]:
    found: list[FieldError] = []
    request = spec.get("request", "")
    if b"-----BEGIN CERTIFICATE REQUEST-----" not in base64.b64decode(request):
        shown = request[:10]
        why = "PEM block type must be CERTIFICATE REQUEST"
        found.append(invalid_value("spec.request", shown, why))
    usages = spec.get("usages") or []
    for index, usage in enumerate(usages):
        if usage not in _USAGES:
            found.append(not_supported(f"spec.usages[{index}]", usage, _USAGES))
        elif usage in usages[:index]:
            found.append(duplicate(f"spec.usages[{index}]", usage))
    seconds = spec.get("expirationSeconds")
    if seconds is not None and seconds < 600:
        why = "may not specify a duration less than 600 seconds (10 minutes)"
        found.append(invalid_value("spec.expirationSeconds", seconds, why))
    return found + _signer(spec.get("signerName", ""))


def validate_decision(conditions: list[JsonObject]) -> list[FieldError]:
    """A request is approved or denied, not both."""
    found: list[FieldError] = []
    kinds = [each.get("type", "") for each in conditions]
    for index, kind in enumerate(kinds):
        path = f"status.conditions[{index}]"
        if not kind:
            found.append(required(f"{path}.type"))
        elif kind in kinds[:index]:
            found.append(duplicate(f"{path}.type", kind))
        if kind in ("Approved", "Denied") and conditions[index].get("status") != "True":
            found.append(not_supported(f"{path}.status", conditions[index].get("status", ""), ("True",)))
    if "Approved" in kinds and "Denied" in kinds:
        found.append(
            invalid_value("status.conditions", "Denied", "Approved and Denied conditions are mutually exclusive")
        )
    return found


def _signer(name: str) -> list[FieldError]:
    path = "spec.signerName"
    if not name:
        return [required(path)]
    domain, slash, rest = name.partition("/")
    if not slash or not rest:
        why = "must be a fully qualified domain and path of the form 'example.com/signer-name'"
        return [invalid_value(path, name, why)]
    found = [invalid_value(path, domain, why) for why in names.dns1123_subdomain(domain)]
    if not found and "." not in domain:
        found.append(invalid_value(path, domain, "should be a domain with at least two segments separated by dots"))
    return found


def validate_api_service(obj: JsonObject) -> list[FieldError]:
    spec, name = obj["spec"], obj["metadata"].get("name", "")
    group, version = spec.get("group", ""), spec.get("version", "")
    found: list[FieldError] = []
    if name != f"{version}.{group}":
        found.append(invalid_value("metadata.name", name, '`spec.version+"."+spec.group`: must match'))
    if not version:
        found.append(required("spec.version"))
    else:
        found += [invalid_value("spec.version", version, why) for why in names.dns1035(version)]
    highest = 20000
    if not 0 < spec.get("groupPriorityMinimum", 0) <= highest:
        why = "must be positive and less than 20000"
        found.append(invalid_value("spec.groupPriorityMinimum", spec.get("groupPriorityMinimum", 0), why))
    if not 0 < spec.get("versionPriority", 0) <= 1000:
        why = "must be positive and less than 1000"
        found.append(invalid_value("spec.versionPriority", spec.get("versionPriority", 0), why))
    if spec.get("service") is None and spec.get("insecureSkipTLSVerify"):
        why = "local APIServices may not have insecureSkipTLSVerify"
        found.append(forbidden_field("spec.insecureSkipTLSVerify", why))
    return found
