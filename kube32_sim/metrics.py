"""`/metrics`: Prometheus text, with Kubernetes' names where it has one."""

from __future__ import annotations

from collections.abc import Callable

from kube32_sim.storage.interface import Store
from kube32_sim.storage.watching import Hub


class Metrics:
    def __init__(self, store: Store, hub: Hub, leads: Callable[[], bool | None] = lambda: None) -> None:
        """leads: whether this process is the leader; None where none is elected."""
        self._store = store
        self._hub = hub
        self._leads = leads

    def text(self) -> str:
        lines = [
            "# HELP apiserver_storage_objects Number of stored objects, by resource.",
            "# TYPE apiserver_storage_objects gauge",
        ]
        for group, plural in sorted(self._store.storages()):
            resource = f"{plural}.{group}" if group else plural
            lines.append(f'apiserver_storage_objects{{resource="{resource}"}} {self._store.count((group, plural))}')
        lines += [
            "# HELP apiserver_longrunning_requests Number of open watches.",
            "# TYPE apiserver_longrunning_requests gauge",
            f'apiserver_longrunning_requests{{verb="WATCH"}} {self._hub.count()}',
            "# HELP kube32_sim_store_revision Newest resourceVersion.",
            "# TYPE kube32_sim_store_revision gauge",
            f"kube32_sim_store_revision {self._store.revision}",
        ]
        leads = self._leads()
        if leads is not None:
            lines += [
                "# HELP leader_election_master_status Whether this replica runs the control loops.",
                "# TYPE leader_election_master_status gauge",
                f'leader_election_master_status{{name="kube32-sim"}} {int(leads)}',
            ]
        return "\n".join(lines) + "\n"
