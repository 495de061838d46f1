"""Printing columns of what governs requests: roles, certificates, admission, flow control, aggregated services."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kube32_sim.api.columns.form import AGE, NAME, age_of, condition_status, integer, name_of, section, text
from kube32_sim.api.tables import Cell, Columns, human_duration

JsonObject = dict[str, Any]


def _binding(obj: JsonObject) -> Sequence[Cell]:
    role = section(obj, "roleRef")
    subjects: dict[str, list[str]] = {"User": [], "Group": [], "ServiceAccount": []}
    for subject in obj.get("subjects") or ():
        name = subject.get("name", "")
        account = subject.get("kind") == "ServiceAccount"
        subjects.setdefault(subject.get("kind"), []).append(
            f"{subject.get('namespace', '')}/{name}" if account else name
        )
    return (
        name_of(obj),
        f"{role.get('kind', '')}/{role.get('name', '')}",
        age_of(obj),
        ", ".join(subjects["User"]),
        ", ".join(subjects["Group"]),
        ", ".join(subjects["ServiceAccount"]),
    )


def _signing_status(obj: JsonObject) -> str:
    status = section(obj, "status")
    found = {condition.get("type") for condition in status.get("conditions") or ()}
    words = ["Denied" if "Denied" in found else "Approved" if "Approved" in found else "Pending"]
    if "Failed" in found:
        words.append("Failed")
    if status.get("certificate"):
        words.append("Issued")
    return ",".join(words)


def _signing_request(obj: JsonObject) -> Sequence[Cell]:
    spec = section(obj, "spec")
    seconds = spec.get("expirationSeconds")
    return (
        name_of(obj),
        age_of(obj),
        spec.get("signerName") or "<none>",
        spec.get("username", ""),
        "<none>" if seconds is None else human_duration(seconds),
        _signing_status(obj),
    )


def _webhooks(obj: JsonObject) -> Sequence[Cell]:
    return name_of(obj), len(obj.get("webhooks") or ()), age_of(obj)


def _param_kind(spec: JsonObject) -> str:
    kind = spec.get("paramKind")
    return "<unset>" if kind is None else f"{kind.get('apiVersion', '')}/{kind.get('kind', '')}"


def _validating_policy(obj: JsonObject) -> Sequence[Cell]:
    spec = section(obj, "spec")
    return name_of(obj), len(spec.get("validations") or ()), _param_kind(spec), age_of(obj)


def _mutating_policy(obj: JsonObject) -> Sequence[Cell]:
    spec = section(obj, "spec")
    return name_of(obj), len(spec.get("mutations") or ()), _param_kind(spec), age_of(obj)


def _param_ref(spec: JsonObject) -> str:
    reference = section(spec, "paramRef")
    if name := reference.get("name"):
        return f"{reference.get('namespace') or '*'}/{name}"
    return _go_selector(reference["selector"]) if "selector" in reference else "<unset>"


def _go_selector(selector: JsonObject) -> str:
    """A label selector as Go prints the struct, which is what upstream shows here."""
    labels = section(selector, "matchLabels")
    pairs = "".join(f"{key}: {labels[key]}," for key in sorted(labels))
    expressions = "".join(
        f"LabelSelectorRequirement{{Key:{e.get('key', '')},Operator:{e.get('operator', '')},"
        f"Values:[{' '.join(e.get('values') or ())}],}},"
        for e in selector.get("matchExpressions") or ()
    )
    return (
        f"&LabelSelector{{MatchLabels:map[string]string{{{pairs}}},"
        f"MatchExpressions:[]LabelSelectorRequirement{{{expressions}}},}}"
    )


def _policy_binding(obj: JsonObject) -> Sequence[Cell]:
    spec = section(obj, "spec")
    return name_of(obj), spec.get("policyName", ""), _param_ref(spec), age_of(obj)


def _flow_schema(obj: JsonObject) -> Sequence[Cell]:
    spec = section(obj, "spec")
    method = spec.get("distinguisherMethod")
    return (
        name_of(obj),
        section(spec, "priorityLevelConfiguration").get("name", ""),
        spec.get("matchingPrecedence") or 0,
        "<none>" if method is None else method.get("type", ""),
        age_of(obj),
        condition_status(section(obj, "status").get("conditions") or (), "Dangling") or "?",
    )


def _priority_level(obj: JsonObject) -> Sequence[Cell]:
    spec = section(obj, "spec")
    limited = section(spec, "limited")
    queuing = section(limited, "limitResponse", "queuing")
    return (
        name_of(obj),
        spec.get("type", ""),
        limited.get("nominalConcurrencyShares", "<none>"),
        queuing.get("queues", "<none>"),
        queuing.get("handSize", "<none>"),
        queuing.get("queueLengthLimit", "<none>"),
        age_of(obj),
    )


def _available(obj: JsonObject) -> str:
    for condition in section(obj, "status").get("conditions") or ():
        if condition.get("type") == "Available":
            status, reason = condition.get("status", ""), condition.get("reason")
            return f"{status} ({reason})" if reason and status != "True" else status
    return "Unknown"


def _api_service(obj: JsonObject) -> Sequence[Cell]:
    service = section(obj, "spec").get("service")
    where = "Local" if service is None else f"{service.get('namespace', '')}/{service.get('name', '')}"
    return name_of(obj), where, _available(obj), age_of(obj)


_BINDING = Columns(
    (
        NAME,
        text("Role", "The role that is granted."),
        AGE,
        text("Users", "Users it is granted to.", wide=True),
        text("Groups", "Groups it is granted to.", wide=True),
        text("ServiceAccounts", "Service accounts it is granted to.", wide=True),
    ),
    _binding,
)
_WEBHOOKS = Columns((NAME, integer("Webhooks", "How many webhooks there are."), AGE), _webhooks)
_PARAM_KIND = text("ParamKind", "The kind of the objects with its parameters.")
_POLICY_BINDING = Columns(
    (NAME, text("PolicyName", "The policy that is bound."), text("ParamRef", "Where its parameters are."), AGE),
    _policy_binding,
)
_ADMISSION = "admissionregistration.k8s.io"

COLUMNS = {
    ("rbac.authorization.k8s.io", "RoleBinding"): _BINDING,
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"): _BINDING,
    ("certificates.k8s.io", "CertificateSigningRequest"): Columns(
        (
            NAME,
            AGE,
            text("SignerName", "Who is asked to sign."),
            text("Requestor", "Who asks."),
            text("RequestedDuration", "How long the certificate should be valid."),
            text("Condition", "How far the request is."),
        ),
        _signing_request,
    ),
    (_ADMISSION, "MutatingWebhookConfiguration"): _WEBHOOKS,
    (_ADMISSION, "ValidatingWebhookConfiguration"): _WEBHOOKS,
    (_ADMISSION, "ValidatingAdmissionPolicy"): Columns(
        (NAME, integer("Validations", "How many rules there are."), _PARAM_KIND, AGE), _validating_policy
    ),
    (_ADMISSION, "MutatingAdmissionPolicy"): Columns(
        (NAME, integer("Mutations", "How many changes there are."), _PARAM_KIND, AGE), _mutating_policy
    ),
    (_ADMISSION, "ValidatingAdmissionPolicyBinding"): _POLICY_BINDING,
    (_ADMISSION, "MutatingAdmissionPolicyBinding"): _POLICY_BINDING,
    ("flowcontrol.apiserver.k8s.io", "FlowSchema"): Columns(
        (
            NAME,
            text("PriorityLevel", "The priority level of its requests."),
            text("MatchingPrecedence", "Lower numbers are tried first."),
            text("DistinguisherMethod", "How its requests are told apart."),
            AGE,
            text("MissingPL", "Whether the priority level does not exist."),
        ),
        _flow_schema,
    ),
    ("flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration"): Columns(
        (
            NAME,
            text("Type", "Whether its requests are limited."),
            text("NominalConcurrencyShares", "Its share of the server."),
            text("Queues", "How many queues it has."),
            text("HandSize", "How many queues a flow may use."),
            text("QueueLengthLimit", "How many requests a queue holds."),
            AGE,
        ),
        _priority_level,
    ),
    ("apiregistration.k8s.io", "APIService"): Columns(
        (
            NAME,
            text("Service", "The service that serves the group."),
            text("Available", "Whether it can be reached."),
            AGE,
        ),
        _api_service,
    ),
}
