"""matchConditions: whether a webhook or policy that a request matches wants to hear of it.

Upstream's `apiserver/pkg/admission/plugin/webhook/matchconditions`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kube32_sim.api.cel.types import BOOL
from kube32_sim.api.errors import aggregate
from kube32_sim.api.policies.evaluation import Run
from kube32_sim.api.policies.expressions import Expression, Fault, Scope

JsonObject = dict[str, Any]


class Conditions:
    """Those of one webhook or policy, compiled.

    params: whether it has parameters.  ignore: of its failurePolicy; what cannot be evaluated is no match then.
    """

    def __init__(self, conditions: Sequence[JsonObject], *, params: bool = False, ignore: bool = False) -> None:
        scope = Scope(params=params)
        self._ignore = ignore
        self._expressions: list[Expression] = [
            scope.compile(condition["expression"], returns=(BOOL,)) for condition in conditions
        ]

    def match(self, run: Run) -> bool:
        """Whether all are true.  One that is false decides, whatever becomes of others; else raises Fault."""
        faults: list[str] = []
        for expression in self._expressions:
            try:
                if run.value(expression) is False:
                    return False
            except Fault as fault:
                faults.append(str(fault))
        if faults and not self._ignore:
            raise Fault(aggregate(faults))
        return not faults
