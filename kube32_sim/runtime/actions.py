"""What a loop may do, as data.

A loop decides (`plan`, pure) and says what should happen as a list of actions; the runner applies them through a
`Client`, in order.  A test of a loop is therefore `assert plan(given).actions == (...)`.  Why something is to be done
(`cause`) does not make it another action.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from kube32_sim.causes import Cause
from kube32_sim.client import Resource

JsonObject = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Create:
    """Create an object.  An AlreadyExists answer is not an error: another pass will see the object.

    A refusal ends the creation of further objects of the type, but nothing else that is planned (see `apply`).

    succeeded, refused: events that tell how it went; `{name}` in the message stands for the name the object got,
    `{error}` for the message of the refusal.
    subresource, name: to create a subresource (`binding`) of the object of that name.
    """

    resource: Resource
    namespace: str
    obj: JsonObject
    succeeded: Emit | None = None
    refused: Emit | None = None
    subresource: str = ""
    name: str = ""
    cause: Cause | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Delete:
    """Delete one object, only if it still has this uid.  Gone already is not an error.

    others_go_on: what follows is done though this is refused.
    """

    resource: Resource
    namespace: str
    name: str
    uid: str
    grace_period_seconds: int | None = None
    propagation: str = "Background"
    others_go_on: bool = False
    cause: Cause | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Update:
    """PUT a changed object (it carries the resourceVersion that was observed; a conflict means: look again)."""

    resource: Resource
    namespace: str
    obj: JsonObject
    subresource: str = ""
    cause: Cause | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Patch:
    """Merge patch of one object or its subresource.

    if_refused: the patch to make instead where a Create or Delete before it was refused; `{error}` in its texts stands
    for the message of the refusal.  An empty patch is not made.
    """

    resource: Resource
    namespace: str
    name: str
    patch: JsonObject
    subresource: str = ""
    if_refused: JsonObject | None = None
    cause: Cause | None = field(default=None, compare=False)


_REFERRED = ("namespace", "name", "uid", "resourceVersion")


def reference(api_version: str, kind: str, obj: JsonObject, field_path: str = "") -> JsonObject:
    """The ObjectReference by which events name an object; field_path: of a part of it, such as a container."""
    metadata = obj["metadata"]
    named = {"apiVersion": api_version, "kind": kind, **{key: metadata[key] for key in _REFERRED if key in metadata}}
    return named | {"fieldPath": field_path} if field_path else named


@dataclass(frozen=True, slots=True)
class Emit:
    """Record an event about an object.  Repeats raise the count of the one that is there.

    about: ObjectReference fields (apiVersion, kind, namespace, name, uid, resourceVersion, fieldPath).
    type: Normal or Warning.  component: source.component, such as `deployment-controller`.
    """

    about: JsonObject
    type: str
    reason: str
    message: str
    component: str


Action = Create | Delete | Update | Patch | Emit


@dataclass(frozen=True, slots=True)
class Plan:
    """What to do for one key, and when to look at it again though nothing changes (seconds since 1970)."""

    actions: tuple[Action, ...] = ()
    again_at: float | None = None


class View(Protocol):
    """What loops see: the current objects, through indexes.  Shared and without apiVersion/kind: never change them."""

    def get(self, resource: Resource, namespace: str, name: str) -> JsonObject | None: ...

    def list(self, resource: Resource, namespace: str = "") -> Sequence[JsonObject]: ...

    def owned(self, resource: Resource, uid: str) -> Sequence[JsonObject]:
        """Objects of a type that name this uid among their ownerReferences."""

    def by_field(self, resource: Resource, field: str, value: str) -> Sequence[JsonObject]:
        """Through a field index, such as pods by `spec.nodeName`."""


class Loop(Protocol):
    """One control loop.  Keys are `namespace/name` of the object reconciled (`name` where cluster-scoped)."""

    @property
    def name(self) -> str:
        """As `--controllers` knows it."""

    @property
    def watches(self) -> tuple[Resource, ...]:
        """Types whose changes concern the loop."""

    def keys(self, resource: Resource, obj: JsonObject, view: View) -> Iterable[str]:
        """Keys to look at again when `obj` of a watched type was added, changed or deleted."""

    def plan(self, key: str, view: View, now: float) -> Plan:
        """What to do about one key now.  No effects."""
