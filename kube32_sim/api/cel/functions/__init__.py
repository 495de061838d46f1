"""Kubernetes' own functions in CEL: what they are called, which types they take, and what they do."""

from __future__ import annotations

from kube32_sim.api.cel.functions import (
    addresses,
    authorizer,
    comparisons,
    formats,
    jsonpatches,
    lists,
    quantities,
    regexes,
    semvers,
    texts,
    urls,
)
from kube32_sim.api.cel.functions.declaring import Overload

OVERLOADS: list[Overload] = [
    overload
    for module in (
        comparisons,
        texts,
        lists,
        regexes,
        urls,
        addresses,
        quantities,
        semvers,
        formats,
        authorizer,
        jsonpatches,
    )
    for overload in module.OVERLOADS
]
"""All that Kubernetes 1.36 adds, but for what the library has as extensions of its own (sets, optional values)."""

RUNNING_OVERLOADS = [*OVERLOADS, *lists.RUNNING_OVERLOADS]
"""These, and what is only called by expressions that macros have become."""
