"""ClusterRoles that are made of others, as upstream's clusterrole-aggregation controller makes them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson

from kube32_sim.api.selectors import label_selector

JsonObject = dict[str, Any]


def aggregated(role: JsonObject, others: Sequence[JsonObject]) -> list[JsonObject]:
    """The rules of a role with an aggregationRule: those of all roles it selects, each once, by their names' order."""
    found: dict[bytes, JsonObject] = {}
    in_order = sorted(others, key=lambda other: str(other["metadata"]["name"]))
    for selector in map(label_selector, role["aggregationRule"].get("clusterRoleSelectors") or ()):
        for other in in_order:
            metadata = other["metadata"]
            if metadata["name"] != role["metadata"]["name"] and selector.matches(metadata.get("labels") or {}):
                for rule in other.get("rules") or ():
                    found.setdefault(orjson.dumps(rule, option=orjson.OPT_SORT_KEYS), rule)
    return list(found.values())
