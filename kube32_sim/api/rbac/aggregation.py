"""ClusterRoles that are made of others, as upstream's clusterrole-aggregation controller makes them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from kube32_sim.api.selectors import label_selector

JsonObject = dict[str, Any]


def aggregated(role: JsonObject, others: Sequence[JsonObject]) -> list[JsonObject]:
    """The rules of a role with an aggregationRule: those of all roles it selects, each once, by their names' order."""
    found: list[JsonObject] = []
    in_order = sorted(others, key=lambda other: str(other["metadata"]["name"]))
    for selector in map(label_selector, role["aggregationRule"].get("clusterRoleSelectors") or ()):
        for other in in_order:
            metadata = other["metadata"]
            if metadata["name"] != role["metadata"]["name"] and selector.matches(metadata.get("labels") or {}):
                _append_new(found, other.get("rules") or ())
    return found


def _append_new(found: list[JsonObject], rules: Iterable[JsonObject]) -> None:
    for rule in rules:
        if rule not in found:
            found.append(rule)
