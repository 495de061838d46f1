"""Settings of admission."""

from __future__ import annotations

from dataclasses import dataclass

from kube32_sim.limits import DEFAULTS


@dataclass(frozen=True, slots=True)
class AdmissionConfig:
    """default_toleration_seconds: of the two default tolerations.  taint_new_nodes: new nodes are not-ready:NoSchedule.

    service_accounts: pods run as `default` where they name no service account, and a named one must exist.
    idle_warnings: who creates an object of a kind that nothing acts on is told so.
    steering_warnings: who gives annotations that are to steer the simulation, and will not, is told so; and who gives
    none where one is needed to bring containers to their end.
    resource_quota: what a namespace's quotas do not leave room for is refused.
    quota_by_status: what quotas allow and what is used is what their status says: nobody counts.
    object_bytes: size of an object that is stored.
    """

    default_toleration_seconds: int = 300
    taint_new_nodes: bool = True
    service_accounts: bool = False
    idle_warnings: bool = False
    steering_warnings: bool = False
    resource_quota: bool = True
    quota_by_status: bool = False
    object_bytes: int = DEFAULTS.max_object_bytes
