"""The picture of the cluster by which the profile `kestrel` schedules: who is where, and for whom room is kept.

Kept true by the store's events, as `scheduler_cache` is.  A pod that waits for others to go counts as if it were on its
node already (`status.nominatedNodeName`); those others count until they have gone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from kube32_controllers.kestrel_nodes import Domains, Site, read_node
from kube32_controllers.kestrel_pods import KestrelRecord, read_pod, told
from kube32_controllers.scheduler_cache import NODES, PODS, Decision, Event, SchedulerCache, StoredObject, key_of
from kube32_sim.api.pod_state import finished
from kube32_sim.kestrel.affinity import Barrier, barrier
from kube32_sim.kestrel.bindings import Bindings
from kube32_sim.kestrel.choosing import Chooser
from kube32_sim.kestrel.filters import evaluate, no_fit
from kube32_sim.kestrel.models import NODE, ZONE, Node, Pod, PodSpec, Request, eviction_order
from kube32_sim.kestrel.preemption import Preemption
from kube32_sim.kestrel.profiles import KESTREL
from kube32_sim.translation.kubernetes import age

JsonObject = dict[str, Any]


class KestrelCache(SchedulerCache):
    """table, chooser: to ask, not to change.  waiting: unbound pods by key."""

    def __init__(self) -> None:
        super().__init__()
        self._bindings = Bindings(KESTREL)
        self.table = self._bindings.table
        self.chooser = Chooser(self.table)
        self._preemption = Preemption(self._bindings, self.chooser)
        self._sites: dict[str, Site] = {}
        self._domains = Domains()
        self._records: dict[str, KestrelRecord] = {}
        self._on: dict[str, dict[str, KestrelRecord]] = {}
        self._guests: dict[str, Pod] = {}
        self._seqs: dict[str, int] = {}
        self._repelling: dict[str, KestrelRecord] = {}
        self._apart: set[str] = set()
        self._binds = self._changes = 0
        self._new: KestrelRecord | None = None
        self._priorities: Counter[int] = Counter()
        self._refused: tuple[int, PodSpec, Decision] | None = None

    @property
    def position(self) -> int:
        """How many changes there have been; looking for a place is none, though the table knows of it."""
        return self._changes

    # feeding

    def load(self, nodes: Iterable[StoredObject], pods: Iterable[StoredObject]) -> None:
        """Pods come in the order of their age: of those with the same priority the newest are evicted first."""
        for stored in nodes:
            self.put_node(stored.object(), stored.revision)
        for stored in sorted(pods, key=lambda one: age(one.copy())):
            self.put_pod(stored.copy(), stored.revision)

    def observe(self, event: Event) -> None:
        stored = event.stored
        if stored.storage == PODS:
            super().observe(event)
        elif stored.storage == NODES:
            if event.type == "DELETED":
                self.drop_node(stored.key)
            elif event.heartbeat and stored.key in self._sites:
                self._put(replace(self._sites[stored.key], revision=stored.revision))
            else:
                self.put_node(stored.object(), stored.revision)

    # nodes

    def put_node(self, obj: JsonObject, revision: int) -> None:
        self._put(read_node(obj, revision))

    def _put(self, site: Site) -> None:
        name = site.node.name
        old, self._sites[name] = self._sites.get(name), site
        if old is not None and old.node == site.node and not site.reports:
            return
        self._domains.replace(old, site)
        if old is not None and (old.node.zone, old.zoned) == (site.node.zone, site.zoned):
            self._renew(name)
            return
        if old is not None:
            self._vacate(name)
        self._bindings.put_node(site.made(()))
        self._renew(name)
        here = self._on.get(name, {})
        for record in sorted(here.values(), key=lambda one: self._seqs[one.key]):
            self._enter(record)
        self._changes += 1

    def _renew(self, name: str) -> None:
        """Let the node's record say what its report and its pods make of it now."""
        site, before = self._sites.get(name), self.table.position
        if site is not None:
            self._bindings.put_node(site.made(self._on.get(name, {}).values()))
            self._changes += self.table.position != before

    def drop_node(self, name: str) -> None:
        old = self._sites.pop(name, None)
        if old is not None:
            self._domains.replace(old, None)
            self._vacate(name)
            self._bindings.drop_node(name)
            self._changes += 1

    def _vacate(self, name: str) -> None:
        for key in self._on.get(name, {}):
            self._leave(key)

    # pods

    def put_pod(self, obj: JsonObject, revision: int) -> None:
        key = key_of(obj)
        if finished(obj):
            self.drop_pod(key)
            return
        old = self._records.get(key)
        if old is not None and old.uid != obj["metadata"].get("uid", ""):
            self.drop_pod(key)
            old = None
        arrival = old.order[1] if old is not None else next(self._arrivals)
        known, self._new = old or self._new, None
        if known is not None and known.uid != obj["metadata"].get("uid", ""):
            known = None
        self._settle_in(old, read_pod(obj, revision, arrival, known))

    def drop_pod(self, key: str) -> None:
        old = self._records.get(key)
        if old is not None:
            self._take_out(old)
            del self._records[key]
            self._seqs.pop(key, None)

    def _settle_in(self, old: KestrelRecord | None, new: KestrelRecord) -> None:
        """Let a pod's new state take the place of the old one in every index."""
        key, place = new.key, new.place
        if not place and old is not None and old.nominated and not old.node:
            self._seqs.pop(key, None)  # it was never bound; whoever was stays as old as it is
        self._records[key] = new
        if old is not None and (old.place != place or old.spec != new.spec):
            self._take_out(old)
            old = None
        self.waiting.pop(key, None)
        if new.waits:
            self.waiting[key] = new
        if not place:
            return
        self._on.setdefault(place, {})[key] = new
        if new.repelling and new.node:
            self._repelling[key] = new
        if old is None:
            if key not in self._seqs:
                self._binds += 1
                self._seqs[key] = self._binds
            self._enter(new)
            self._changes += 1
        self._tell_node(new)

    def _take_out(self, record: KestrelRecord) -> None:
        key, place = record.key, record.place
        self.waiting.pop(key, None)
        self._repelling.pop(key, None)
        self._apart.discard(key)
        if place:
            here = self._on[place]
            del here[key]
            if not here:
                del self._on[place]
            if key in self._guests:
                self._leave(key)
            self._changes += 1
            self._tell_node(record)

    def _tell_node(self, record: KestrelRecord) -> None:
        """The pods of a node say more of it than what they take: what its report includes, and what cannot be said."""
        site = self._sites.get(record.place)
        if site is not None and (site.reports or record.lasting):
            self._renew(record.place)

    def _enter(self, record: KestrelRecord) -> None:
        node = self.table.nodes.get(record.place)
        if node is not None:
            spec = record.spec
            if not self._sites[node.name].zoned:  # nobody is kept out of a zone by a pod that is in none
                spec = replace(spec, anti_terms=tuple(term for term in spec.anti_terms if term.topology != ZONE))
            if any(term.topology == NODE for term in spec.anti_terms):
                self._apart.add(record.key)
            pod = Pod(record.key, spec, self._bindings.affinity.relations(spec), self._seqs[record.key])
            self._guests[record.key] = pod
            self._priorities[spec.priority] += 1
            self._bindings.enter(pod, node)

    def _leave(self, key: str) -> None:
        pod = self._guests.pop(key)
        self._priorities[pod.spec.priority] -= 1
        if not self._priorities[pod.spec.priority]:
            del self._priorities[pod.spec.priority]
        self._bindings.leave(pod)

    # asking

    def decide(self, request: Request) -> Decision:
        """Where a pod of which only this is known goes now."""
        return self._find(PodSpec(request, preempts=False), None)

    def place(self, pod: JsonObject) -> Decision:
        """Where a pod goes that is about to be stored; what was read of it is kept until then."""
        self._new = read_pod({**pod, "metadata": {**pod["metadata"], "name": ""}}, 0, 0, None)
        return self.decide_for(self._new)

    def decide_for(self, record: KestrelRecord) -> Decision:
        """Where a pod goes now, or where room can be made for it; the room that is kept for it counts as free."""
        why = self._why_not(record)
        if why:
            return Decision(None, why)
        kept = self._guests.get(record.key)
        node = kept.node if kept is not None else None
        if kept is None or node is None:
            return self._find_anew(record.spec)
        self._bindings.leave(kept)
        try:
            return self._find(record.spec, node)
        finally:
            self._bindings.enter(kept, node)

    def second(self) -> tuple[int, str] | None:
        """Not known: a pod may go where room was kept for it, whatever other nodes are like."""
        return None

    def verdicts_of(self, record: KestrelRecord) -> dict[str, str]:
        """Of each node by its name why a pod does not fit there now; "" where it does."""
        return {name: self.misfit_of(record, name) for name in sorted(self.table.nodes)}

    def misfit_of(self, record: KestrelRecord, name: str) -> str:
        """Why a pod does not fit on a node now; "" where it does."""
        node, why = self.table.nodes.get(name), self._why_not(record)
        if node is None or why:
            return why or "there is no such node"
        kept = self._guests.get(record.key)
        at = kept.node if kept is not None else None
        if kept is None or at is None:
            return self._reason(record.spec, node, self._rules(record.spec))
        self._bindings.leave(kept)
        try:
            return self._reason(record.spec, node, self._rules(record.spec))
        finally:
            self._bindings.enter(kept, at)

    def _why_not(self, record: KestrelRecord) -> str:
        """What of a pod, or of the pods and nodes that are there, cannot be said in Kestrel's terms."""
        if record.problems:
            return told(record.problems)
        for _, other in sorted(self._repelling.items()):
            for term in other.repelling:
                if other.key != record.key and term.may_select(record.identity):
                    return f"pod {other.key} on node {other.node}: {told(term.problems)}"
        return self._domains.trouble(record.spec, kept_apart=bool(self._apart))

    def _rules(self, spec: PodSpec) -> Barrier | None:
        return barrier(self._bindings.affinity.relations(spec))

    def _reason(self, spec: PodSpec, node: Node, rules: Barrier | None) -> str:
        verdict = evaluate(KESTREL, spec.request, node)
        if isinstance(verdict, str):
            return verdict
        return rules.reason(node) if rules is not None else ""

    def _find_anew(self, spec: PodSpec) -> Decision:
        """For whom no room is kept.  Equal pods follow each other: the last refusal is remembered."""
        last = self._refused
        if last is not None and last[0] == self._changes and last[1] == spec:
            return last[2]
        found = self._find(spec, None)
        if found.node is None:
            self._refused = self._changes, spec, found
        return found

    def _find(self, spec: PodSpec, kept: Node | None) -> Decision:
        """kept: the node where room is kept for the pod, which comes first."""
        rules = self._rules(spec)
        if kept is not None and not self._reason(spec, kept, rules):
            return Decision(kept.name)
        found = self.chooser.choose(spec.request, rules)
        if found is not None:
            score, node = found
            return Decision(node.name, score=score)
        message = no_fit(self.chooser.reasons(spec.request, rules), len(self.table.nodes))
        if not spec.preempts or min(self._priorities, default=spec.priority) >= spec.priority:
            return Decision(None, message)
        if kept is not None and self._will_be_free(spec, kept):
            return Decision(None, message, nominated=kept.name)
        preempted = self._preemption.preempt_for(Pod("", spec, self._bindings.affinity.relations(spec)))
        if preempted is None:
            return Decision(None, message)
        place, victims = preempted
        return Decision(
            None,
            message,
            nominated=place.name,
            victims=tuple(victim.name for victim in sorted(victims, key=eviction_order)),
        )

    def _will_be_free(self, spec: PodSpec, node: Node) -> bool:
        """Whether a pod fits on a node when those of lower priority have gone that are going already."""
        going = [
            self._guests[key]
            for key, record in self._on.get(node.name, {}).items()
            if record.going and record.spec.priority < spec.priority
        ]
        for pod in going:
            self._bindings.leave(pod)
        try:
            return bool(going) and not self._reason(spec, node, self._rules(spec))
        finally:
            for pod in going:
                self._bindings.enter(pod, node)
