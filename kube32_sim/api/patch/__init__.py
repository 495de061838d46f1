"""The three kinds of patch as pure functions: JSON Patch, JSON Merge Patch, strategic merge patch.

Each gives a new object, shares with the old one what it leaves alone, and changes neither object nor patch.
Reading a PATCH request and decoding its result is `patching`'s business.
"""

from __future__ import annotations

from kube32_sim.api.patch.json import NotApplicable, apply_json_patch
from kube32_sim.api.patch.merge import apply_merge_patch
from kube32_sim.api.patch.strategic import apply_strategic

__all__ = ["NotApplicable", "apply_json_patch", "apply_merge_patch", "apply_strategic"]
