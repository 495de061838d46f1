"""The admission policies that are stored: compiled once per revision, and asked for what a write concerns.

What they say is `api/policies`' business; where in a write they are asked, `registry/dynamic_admission`'s.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from kube32_sim.api.authorization import Authorizer
from kube32_sim.api.dynamic_admission.matching import Equivalents
from kube32_sim.api.dynamic_admission.request import DELETE, AdmissionRequest
from kube32_sim.api.resources import ResourceTable, ResourceType
from kube32_sim.storage.interface import JsonObject, Storage, Store
from kube32_sim.storage.objects import Event, StoredObject

if TYPE_CHECKING:  # what is behind takes time, and most clusters have no policy
    from kube32_sim.api.policies.compiled import Binding, Bound, Policy

_GROUP = "admissionregistration.k8s.io"
_VALIDATING = ((_GROUP, "validatingadmissionpolicies"), (_GROUP, "validatingadmissionpolicybindings"))
_MUTATING = ((_GROUP, "mutatingadmissionpolicies"), (_GROUP, "mutatingadmissionpolicybindings"))
_NEVER = frozenset((*_VALIDATING, *_MUTATING))
"""What policies are never asked about, or nobody could repair a wrong one; and types that store nothing."""
_Asked = tuple[ResourceType, str, str]


class _Kind:
    """The policies of one kind with their bindings, by name.

    What a revision compiles to is kept until there is another; which policies could concern a type, until anything
    changes.  active: whether there are policies and bindings at all.
    """

    def __init__(self, store: Store, storages: tuple[Storage, Storage], compile_policy: Callable[[JsonObject], Policy]):
        self._store = store
        self._policies, self._bindings = storages
        self._compile_policy = compile_policy
        self._compiled: dict[tuple[Storage, str], tuple[int, Policy | Binding]] = {}
        self._concerned: dict[_Asked, tuple[Bound, ...]] = {}
        self._table_seen = -1
        self._bound: tuple[Bound, ...] | None = None
        self.active = self._any()
        store.subscribe(self._forget, storages)

    def _any(self) -> bool:
        return bool(self._store.count(self._bindings) and self._store.count(self._policies))

    def _forget(self, event: Event) -> None:
        """Something about them has changed."""
        self.active = self._any()
        self._bound = None
        self._concerned.clear()

    def concerned(
        self, row: ResourceType, subresource: str, operation: str, table: ResourceTable, equivalents: Equivalents
    ) -> tuple[Bound, ...]:
        """Those that could be for such requests."""
        if self._table_seen != table.changed:
            self._table_seen = table.changed
            self._concerned.clear()
        key = (row, subresource, operation)
        found = self._concerned.get(key)
        if found is None:
            found = tuple(
                (policy, bindings)
                for policy, bindings in self._all()
                if policy.matching.possible(row, subresource, operation, equivalents)
            )
            self._concerned[key] = found
        return found

    def _all(self) -> tuple[Bound, ...]:
        """Every policy that has bindings, with these."""
        if self._bound is None:
            self._bound = self._read()
        return self._bound

    def _read(self) -> tuple[Bound, ...]:
        from kube32_sim.api.policies.compiled import Binding, Policy, compile_binding

        kept, self._compiled = self._compiled, {}
        bindings: dict[str, list[Binding]] = {}
        for stored in self._store.list(self._bindings):
            binding = self._ready(stored, compile_binding, kept)
            assert isinstance(binding, Binding)
            bindings.setdefault(binding.policy, []).append(binding)
        found: list[Bound] = []
        for stored in self._store.list(self._policies):
            if stored.name in bindings:
                policy = self._ready(stored, self._compile_policy, kept)
                assert isinstance(policy, Policy)
                found.append((policy, bindings[stored.name]))
        return tuple(found)

    def _ready(
        self,
        stored: StoredObject,
        compiled: Callable[[JsonObject], Policy | Binding],
        kept: dict[tuple[Storage, str], tuple[int, Policy | Binding]],
    ) -> Policy | Binding:
        key = (stored.storage, stored.uid)
        revision, made = kept.get(key, (0, None))
        if made is None or revision != stored.revision:
            made = compiled(stored.object())
        self._compiled[key] = (stored.revision, made)
        return made


def _compile_validating(obj: JsonObject) -> Policy:
    from kube32_sim.api.policies.validating import compile_validating

    return compile_validating(obj)


def _compile_mutating(obj: JsonObject) -> Policy:
    from kube32_sim.api.policies.mutating import compile_mutating

    return compile_mutating(obj)


class AdmissionPolicies:
    """All of both kinds (an `dynamic_admission.request.Policies`)."""

    def __init__(self, store: Store, table: ResourceTable, authorizer: Authorizer) -> None:
        self._table = table
        self._authorizer = authorizer
        self._equivalents = Equivalents(table)
        self._validating = _Kind(store, _VALIDATING, _compile_validating)
        self._mutating = _Kind(store, _MUTATING, _compile_mutating)

    @property
    def active(self) -> bool:
        return self._validating.active or self._mutating.active

    def concerns(self, row: ResourceType, subresource: str, operation: str) -> bool:
        if row.storage in _NEVER or not row.stored:
            return False
        found = self._concerned(self._validating, row, subresource, operation)
        return bool(found or self._concerned(self._mutating, row, subresource, operation))

    def mutate(self, request: AdmissionRequest, *, again: bool) -> Sequence[str]:
        if request.operation != DELETE:
            bound = self._of(self._mutating, request)
            if bound:
                from kube32_sim.api.policies.mutating import mutate

                mutate(bound, request, self._equivalents, self._authorizer, again=again)
        return ()

    def validate(self, request: AdmissionRequest) -> Sequence[str]:
        bound = self._of(self._validating, request)
        if not bound:
            return ()
        from kube32_sim.api.policies.validating import validate

        return validate(bound, request, self._equivalents, self._authorizer)

    def _of(self, kind: _Kind, request: AdmissionRequest) -> tuple[Bound, ...]:
        if request.row.storage in _NEVER or not request.row.stored:
            return ()
        return self._concerned(kind, request.row, request.subresource, request.operation)

    def _concerned(self, kind: _Kind, row: ResourceType, subresource: str, operation: str) -> tuple[Bound, ...]:
        return kind.concerned(row, subresource, operation, self._table, self._equivalents) if kind.active else ()
