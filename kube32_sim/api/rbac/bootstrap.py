"""The roles and bindings that every API server with RBAC has, made of `bootstrap_roles.toml`."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from kube32_sim.api.rbac.aggregation import aggregated
from kube32_sim.api.rbac.policy import GROUP

JsonObject = dict[str, Any]

CONTROLLER = "system:controller:"
_AGGREGATE = "rbac.authorization.k8s.io/aggregate-to-"
_VERBS = {
    "read": ("get", "list", "watch"),
    "write": ("create", "update", "patch", "delete", "deletecollection"),
    "tend": ("get", "list", "watch", "update", "patch"),
}
_EVENTS = "create,update,patch core,events.k8s.io events"
_SUBJECTS = {"user": "User", "group": "Group"}


class Made(NamedTuple):
    """An object to create, without apiVersion and kind; namespace: "" where it is cluster-scoped."""

    plural: str
    namespace: str
    obj: JsonObject


@cache
def bootstrap_objects() -> tuple[Made, ...]:
    """In the order in which they are created: roles before what refers to them, parts before what is made of them.

    They are the same ones every time: never change them.
    """
    data = tomllib.loads(Path(__file__).with_name("bootstrap_roles.toml").read_text(encoding="utf-8"))
    controllers = {CONTROLLER + name: text for name, text in data["controllers"].items()}
    roles = [_role(name, "", text) for name, text in {**data["cluster-roles"], **controllers}.items()]
    for name, part_of in data["aggregated"].items():
        roles.append(_aggregated(name, part_of, roles))
    made = [Made("clusterroles", "", role) for role in roles]
    accounts = {CONTROLLER + name: f"account:{name}" for name in data["controllers"]}
    for name, subjects in {**data["cluster-bindings"], **accounts}.items():
        made.append(Made("clusterrolebindings", "", _binding(name, "", "ClusterRole", name, subjects)))
    return (*made, *_namespaced(data))


def _namespaced(data: Mapping[str, Any]) -> Iterator[Made]:
    for namespace, roles in data["roles"].items():
        for name, text in roles.items():
            yield Made("roles", namespace, _role(name, namespace, text))
    for namespace, bindings in data["bindings"].items():
        for name, subjects in bindings.items():
            role = name if name in data["roles"][namespace] else name.removeprefix("system::")
            yield Made("rolebindings", namespace, _binding(name, namespace, "Role", role, subjects))


def _metadata(name: str, namespace: str) -> JsonObject:
    metadata: JsonObject = {
        "name": name,
        "labels": {"kubernetes.io/bootstrapping": "rbac-defaults"},
        "annotations": {"rbac.authorization.kubernetes.io/autoupdate": "true"},
    }
    return {**metadata, "namespace": namespace} if namespace else metadata


def _role(name: str, namespace: str, text: str) -> JsonObject:
    metadata = _metadata(name, namespace)
    if name.startswith("system:aggregate-to-"):
        metadata["labels"][_AGGREGATE + name.rpartition("-")[2]] = "true"
    return {"metadata": metadata, "rules": [_rule(line) for line in text.strip().splitlines()]}


def _aggregated(name: str, part_of: str, roles: list[JsonObject]) -> JsonObject:
    metadata = _metadata(name, "")
    if part_of:
        metadata["labels"][_AGGREGATE + part_of] = "true"
    selectors = [{"matchLabels": {_AGGREGATE + name: "true"}}]
    role: JsonObject = {"metadata": metadata, "aggregationRule": {"clusterRoleSelectors": selectors}}
    return {**role, "rules": aggregated(role, roles)}


def _rule(line: str) -> JsonObject:
    """Everything in it is sorted, as upstream's are."""
    words = (_EVENTS if line == "events" else line).split()
    verbs = sorted({verb for word in words[0].split(",") for verb in _VERBS.get(word, (word,))})
    if words[1] == "urls":
        return {"nonResourceURLs": sorted(words[2].split(",")), "verbs": verbs}
    groups = sorted("" if group == "core" else group for group in words[1].split(","))
    rule: JsonObject = {"apiGroups": groups, "resources": sorted(words[2].split(",")), "verbs": verbs}
    if len(words) > 3:
        rule["resourceNames"] = sorted(words[3].split(","))
    return rule


def _binding(name: str, namespace: str, kind: str, role: str, subjects: str) -> JsonObject:
    binding: JsonObject = {
        "metadata": _metadata(name, namespace),
        "roleRef": {"apiGroup": GROUP, "kind": kind, "name": role},
    }
    if subjects:
        binding["subjects"] = [_subject(word) for word in subjects.split()]
    return binding


def _subject(word: str) -> JsonObject:
    kind, _, name = word.partition(":")
    if kind == "account":
        return {"kind": "ServiceAccount", "name": name, "namespace": "kube-system"}
    return {"apiGroup": GROUP, "kind": _SUBJECTS[kind], "name": name}
