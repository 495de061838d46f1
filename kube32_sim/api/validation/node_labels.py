"""Warnings about labels of nodes that have newer names, wherever nodes are selected."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kube32_sim.api.validation.names import label_value

JsonObject = dict[str, Any]

DEPRECATED_NODE_LABELS = {
    "beta.kubernetes.io/arch": 'deprecated since v1.14; use "kubernetes.io/arch" instead',
    "beta.kubernetes.io/os": 'deprecated since v1.14; use "kubernetes.io/os" instead',
    "failure-domain.beta.kubernetes.io/region": 'deprecated since v1.17; use "topology.kubernetes.io/region" instead',
    "failure-domain.beta.kubernetes.io/zone": 'deprecated since v1.17; use "topology.kubernetes.io/zone" instead',
    "beta.kubernetes.io/instance-type": 'deprecated since v1.17; use "node.kubernetes.io/instance-type" instead',
}


def term_warnings(term: JsonObject, path: str, *, values: bool = False) -> list[str]:
    """Of a node selector term at `path`; with `values`, those are told of that no label can have."""
    found: list[str] = []
    for index, each in enumerate(term.get("matchExpressions") or ()):
        at = f"{path}.matchExpressions[{index}]"
        found += _key_warnings(each, at)
        if values:
            found += [
                f"{at}.values[{place}]: {value} is invalid, {why}"
                for place, value in enumerate(each.get("values") or ())
                for why in label_value(value)
            ]
    return found


def _key_warnings(expression: JsonObject, path: str) -> list[str]:
    key = expression.get("key")
    return [f"{path}.key: {key} is {DEPRECATED_NODE_LABELS[key]}"] if key in DEPRECATED_NODE_LABELS else []


def node_affinity_warnings(affinity: JsonObject | None, path: str) -> list[str]:
    """Of a volume's node affinity at `path`."""
    terms = ((affinity or {}).get("required") or {}).get("nodeSelectorTerms") or ()
    return [
        text
        for index, term in enumerate(terms)
        for text in term_warnings(term, f"{path}.required.nodeSelectorTerms[{index}]")
    ]


def selector_warnings(selector: JsonObject | None, path: str) -> list[str]:
    """Of a label selector at `path` that chooses nodes."""
    found = term_warnings(selector or {}, path)
    labels = (selector or {}).get("matchLabels") or ()
    return found + [
        f"{path}.matchLabels.{key}: {text}" for key, text in DEPRECATED_NODE_LABELS.items() if key in labels
    ]


def topology_warnings(terms: Sequence[JsonObject]) -> list[str]:
    """Of the allowed topologies of a StorageClass."""
    return [
        f"allowedTopologies[{index}].matchLabelExpressions[{place}].key: {DEPRECATED_NODE_LABELS[each['key']]}"
        for index, term in enumerate(terms)
        for place, each in enumerate(term.get("matchLabelExpressions") or ())
        if each.get("key") in DEPRECATED_NODE_LABELS
    ]


def scheduling_warnings(runtime_class: JsonObject) -> list[str]:
    """Of the node selector of a RuntimeClass."""
    chosen = (runtime_class.get("scheduling") or {}).get("nodeSelector") or ()
    return [f"scheduling.nodeSelector: {text}" for key, text in DEPRECATED_NODE_LABELS.items() if key in chosen]
