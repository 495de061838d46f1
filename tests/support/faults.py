"""Scenarios of faults, as objects and set over HTTP."""

from __future__ import annotations

from typing import Any

JsonObject = dict[str, Any]

SCENARIOS = "/apis/sim.kube32.io/v1alpha1/faultscenarios"
SCENARIO = f"{SCENARIOS}/cluster"


def rule(name: str = "rule", effect: JsonObject | None = None, match: JsonObject | None = None, **more: Any) -> Any:
    return {"name": name, "match": match or {}, "effect": {"status": 503} if effect is None else effect, **more}


def scenario(*rules: JsonObject, seed: int = 0) -> JsonObject:
    spec = {"seed": seed, "rules": list(rules)}
    return {
        "apiVersion": "sim.kube32.io/v1alpha1",
        "kind": "FaultScenario",
        "metadata": {"name": "cluster"},
        "spec": spec,
    }
