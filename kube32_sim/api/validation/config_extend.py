"""Defaults and validation of kinds that extend a cluster: what webhooks and admission policies are filled in with, and
what certificate requests and aggregated APIs may say.

Rules, order and words are upstream's.  Webhooks are checked in `admission_webhooks`, admission policies in
`admission_policies`.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from typing import Any

from kube32_sim.api.errors import (
    FieldError,
    duplicate,
    forbidden_field,
    invalid_value,
    not_supported,
    required,
    too_long,
)
from kube32_sim.api.validation import names

JsonObject = dict[str, Any]


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
_SHORTEST = 600
_DECISIONS = ("Approved", "Denied")
_FINAL = (*_DECISIONS, "Failed")
_STATUSES = ("False", "True", "Unknown")
_LONGEST_DOMAIN = 253
_LONGEST_SIGNER = 571


def validate_signing_request(csr: JsonObject) -> list[FieldError]:
    spec = csr["spec"]
    found: list[FieldError] = []
    request = spec.get("request") or ""
    if not _is_pem(request, "CERTIFICATE REQUEST"):
        found.append(invalid_value("spec.request", request, "PEM block type must be CERTIFICATE REQUEST"))
    usages = spec.get("usages") or []
    if not usages:
        found.append(required("spec.usages", "usages must be provided"))
    found += [
        not_supported(f"spec.usages[{index}]", usage, _USAGES)
        for index, usage in enumerate(usages)
        if usage not in _USAGES
    ]
    found += [
        duplicate(f"spec.usages[{index}]", usage) for index, usage in enumerate(usages) if usage in usages[:index]
    ]
    found += _signer(spec.get("signerName", ""), "spec.signerName")
    seconds = spec.get("expirationSeconds")
    if seconds is not None and seconds < _SHORTEST:
        why = "may not specify a duration less than 600 seconds (10 minutes)"
        found.append(invalid_value("spec.expirationSeconds", seconds, why))
    status = csr.get("status") or {}
    found += _request_conditions(status.get("conditions") or [], "status.conditions")
    certificate = status.get("certificate") or ""
    if certificate and not _is_pem(certificate, "CERTIFICATE"):
        why = "must contain at least one CERTIFICATE PEM block"
        found.append(invalid_value("status.certificate", "<certificate data>", why))
    return found


def _is_pem(encoded: str, kind: str) -> bool:
    """Whether base64 holds a PEM block of that type (upstream also reads what is in it)."""
    try:
        text = base64.b64decode(encoded).decode("ascii")
    except (binascii.Error, UnicodeDecodeError):
        return False
    return re.search(rf"(?:^|\n)-----BEGIN {kind}-----\s.*?-----END {kind}-----", text, re.DOTALL) is not None


def _request_conditions(conditions: list[JsonObject], path: str) -> list[FieldError]:
    """A request is approved or denied, not both; what is decided is not half true."""
    found: list[FieldError] = []
    seen: list[str] = []
    for index, condition in enumerate(conditions):
        at, kind, status = f"{path}[{index}]", condition.get("type", ""), condition.get("status", "")
        if not kind:
            found.append(required(f"{at}.type"))
        allowed = ("True",) if kind in _FINAL else _STATUSES
        if not status:
            found.append(required(f"{at}.status"))
        elif status not in allowed:
            found.append(not_supported(f"{at}.status", status, allowed))
        if kind in _DECISIONS and any(each in _DECISIONS and each != kind for each in seen):
            why = "Approved and Denied conditions are mutually exclusive"
            found.append(invalid_value(f"{at}.type", kind, why))
        if kind in seen:
            found.append(duplicate(f"{at}.type", kind))
        seen.append(kind)
    return found


def signing_request_fixed(new: JsonObject, old: JsonObject, subresource: str) -> list[FieldError]:
    """What stays: decisions, which are made by approval alone, and a certificate, which is issued in the status."""
    path, found = "status.conditions", []
    status, before = new.get("status") or {}, old.get("status") or {}
    for kind in _FINAL:
        if len(_of_type(status, kind)) < len(_of_type(before, kind)):
            found.append(forbidden_field(path, f"updates may not remove a condition of type {json.dumps(kind)}"))
    for kind in _DECISIONS if subresource != "approval" else ():
        now, then = _of_type(status, kind), _of_type(before, kind)
        if len(now) > len(then):
            found.append(forbidden_field(path, f"updates may not add a condition of type {json.dumps(kind)}"))
        elif len(now) == len(then) and now != then:
            found.append(forbidden_field(path, f"updates may not modify a condition of type {json.dumps(kind)}"))
    if status.get("certificate") != before.get("certificate"):
        if subresource != "status":
            found.append(forbidden_field("status.certificate", "updates may not set certificate content"))
        elif before.get("certificate"):
            found.append(forbidden_field("status.certificate", "updates may not modify existing certificate content"))
    return found


def _of_type(status: JsonObject, kind: str) -> list[JsonObject]:
    return [each for each in status.get("conditions") or () if each.get("type") == kind]


def _signer(name: str, path: str) -> list[FieldError]:
    if not name:
        return [required(path, "signerName must be provided")]
    parts = name.split("/")
    if len(parts) != 2:
        why = "must be a fully qualified domain and path of the form 'example.com/signer-name'"
        return [invalid_value(path, name, why)]
    domain, rest = parts
    found = [too_long(path, _LONGEST_DOMAIN)] if len(domain) > _LONGEST_DOMAIN else []
    found += _labels(domain, names.dns1123_label, path)
    if "." not in domain:
        found.append(invalid_value(path, domain, "should be a domain with at least two segments separated by dots"))
    found += _labels(rest, names.dns1123_subdomain, path)
    return [*found, too_long(path, _LONGEST_SIGNER)] if len(name) > _LONGEST_SIGNER else found


def _labels(text: str, reasons_of: Any, path: str) -> list[FieldError]:
    """Failures of the first bad part between dots."""
    for label in text.split("."):
        if reasons := reasons_of(label):
            return [invalid_value(path, text, f"validating label {json.dumps(label)}: {why}") for why in reasons]
    return []


def validate_api_service(obj: JsonObject) -> list[FieldError]:
    spec, name = obj["spec"], obj["metadata"].get("name", "")
    group, version = spec.get("group", ""), spec.get("version", "")
    found: list[FieldError] = []
    if name and not names.path_segment(name) and name != f"{version}.{group}":
        why = f'must be `spec.version+"."+spec.group`: {json.dumps(f"{version}.{group}")}'
        found.append(invalid_value("metadata.name", name, why))
    if not group and version != "v1":
        found.append(required("spec.group", "only v1 may have an empty group and it better be legacy kube"))
    if group:
        found += [invalid_value("spec.group", group, why) for why in names.dns1123_subdomain(group)]
    found += [invalid_value("spec.version", version, why) for why in names.dns1035(version)]
    for field, highest in (("groupPriorityMinimum", 20000), ("versionPriority", 1000)):
        value = spec.get(field, 0)
        if not 0 < value <= highest:
            found.append(invalid_value(f"spec.{field}", value, f"must be positive and less than {highest}"))
    service, insecure, bundle = spec.get("service"), spec.get("insecureSkipTLSVerify"), spec.get("caBundle") or ""
    if service is None:
        return found + _local(bundle, bool(insecure))
    found += [required(f"spec.service.{field}") for field in ("namespace", "name") if not service.get(field)]
    port = service.get("port", 0)
    if reasons := names.port_number(port):
        found.append(invalid_value("spec.service.port", port, f"port is not valid: {', '.join(reasons)}"))
    if insecure and bundle:
        found.append(invalid_value("spec.insecureSkipTLSVerify", True, "may not be true if caBundle is present"))
    return found


def _local(bundle: str, insecure: bool) -> list[FieldError]:
    """An API of the server itself has nothing to trust or not to trust."""
    found: list[FieldError] = []
    if bundle:
        shown = f"{len(base64.b64decode(bundle))} bytes"
        found.append(invalid_value("spec.caBundle", shown, "local APIServices may not have a caBundle"))
    if insecure:
        why = "local APIServices may not have insecureSkipTLSVerify"
        found.append(invalid_value("spec.insecureSkipTLSVerify", True, why))
    return found


def validate_api_service_status(status: JsonObject) -> list[FieldError]:
    supported = ("True", "False", "Unknown")
    return [
        not_supported(f"status.conditions[{index}].status", condition.get("status", ""), supported)
        for index, condition in enumerate(status.get("conditions") or ())
        if condition.get("status") not in supported
    ]
