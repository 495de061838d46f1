"""Heartbeats that end as soon as a webhook or policy wants to hear of them: it is asked about ordinary writes."""

from __future__ import annotations

from kube32_sim.api.dynamic_admission.request import UPDATE
from kube32_sim.api.resources import ResourceType
from kube32_sim.registry.dynamic_admission import DynamicAdmission
from kube32_sim.storage.interface import Pulse


class AdmittedPulse:
    """See `storage.interface.Pulse`."""

    __slots__ = ("_dynamic", "_pulse", "_row", "revision")

    def __init__(self, pulse: Pulse, row: ResourceType, dynamic: DynamicAdmission) -> None:
        self._pulse = pulse
        self._row = row
        self._dynamic = dynamic
        self.revision = pulse.revision

    def beat(self, text: str) -> bool:
        if self._dynamic.active:
            subresource = "status" if self._row.subresource("status") is not None else ""
            if self._dynamic.concerns(self._row, subresource, UPDATE):
                return False
        beaten = self._pulse.beat(text)
        self.revision = self._pulse.revision
        return beaten
