"""`/metrics`: Prometheus text, with Kubernetes' names where it has one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from kube32_sim.storage.interface import Store
from kube32_sim.storage.watching import Hub


class Metrics:
    def __init__(
        self,
        store: Store,
        hub: Hub,
        leads: Callable[[], bool | None] = lambda: None,
        refused: Mapping[int, int] = MappingProxyType({}),
    ) -> None:
        """leads: whether this process is the leader; None where none is elected.

        refused: how many requests met a bound, by status code.
        """
        self._refused = refused
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
        if self._refused:
            lines += [
                "# HELP apiserver_request_terminations_total Number of requests that met a bound, by status code.",
                "# TYPE apiserver_request_terminations_total counter",
            ]
        for code, number in sorted(self._refused.items()):
            lines.append(f'apiserver_request_terminations_total{{code="{code}",component="apiserver"}} {number}')
        leads = self._leads()
        if leads is not None:
            lines += [
                "# HELP leader_election_master_status Whether this replica runs the control loops.",
                "# TYPE leader_election_master_status gauge",
                f'leader_election_master_status{{name="kube32-sim"}} {int(leads)}',
            ]
        return "\n".join(lines) + "\n"
