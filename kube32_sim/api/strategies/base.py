"""What a kind adds to the generic write: defaults, preparation, validation, warnings.

The registry calls these in one fixed order, written once there:

    create   decode -> default -> mutating admission -> prepare_create -> validate(metadata), validate -> validating
             admission -> store
    update   decode -> default -> admission -> prepare_update -> validate_update -> store

A strategy sees plain JSON objects (dicts), may change the object it is handed in place, never the old one, and does no
I/O: what it needs of the cluster it reads through `Context.cluster`.  A kind without a strategy of its own gets
`Strategy()` itself, which treats metadata, spec and status the way most kinds do.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from kube32_sim.api.authorization import ALWAYS_ALLOW, Authorizer
from kube32_sim.api.errors import FieldError
from kube32_sim.api.users import ADMIN, User
from kube32_sim.api.validation.names import dns1123_subdomain

if TYPE_CHECKING:
    from kube32_sim.api.resources import ResourceType

JsonObject = dict[str, Any]
Storage = tuple[str, str]


class Lookup(Protocol):
    """Read access to what is stored, for admission and strategies.  Answers are shared: never change them."""

    def get(self, storage: Storage, namespace: str, name: str) -> JsonObject | None: ...

    def list(self, storage: Storage, namespace: str = "") -> Sequence[JsonObject]:
        """All objects of a type, in one namespace or ("") everywhere, in name order."""


class Context(NamedTuple):
    """The circumstances of one write.  now: RFC 3339 with seconds.  user: who asks.

    authorizer: who decides what the user may do.
    """

    row: ResourceType
    namespace: str
    name: str
    now: str
    cluster: Lookup
    dry_run: bool = False
    user: User = ADMIN
    subresource: str = ""
    authorizer: Authorizer = ALWAYS_ALLOW


class Strategy:
    """The generic behaviour; kinds override what differs."""

    #: PUT of a name that does not exist creates it (upstream: AllowCreateOnUpdate).
    create_on_update = False
    #: PUT without resourceVersion is accepted (upstream: AllowUnconditionalUpdate).
    unconditional_update = True
    #: a write of the status is a report, which counts though it may say nothing new (see `Registry`).
    status_is_report = False
    #: a DELETE that only marks the object makes a new generation of it, and tells of the time it has.
    counts_deletion = True
    #: DELETE answers the deleted object instead of a Status (upstream: ReturnDeletedObject).
    returns_deleted = False
    #: DELETE without a propagationPolicy orphans dependents (upstream's old default of some kinds).
    orphans_by_default = False
    #: what a DELETE is told that does so.
    orphan_warning = ""

    def grace_period(self, obj: JsonObject, requested: int | None) -> int | None:
        """Seconds of grace a delete grants; None: the kind knows no graceful deletion and goes at once."""
        return None

    def default(self, obj: JsonObject) -> None:
        """Fill in the defaults of the kind's schema version (idempotent; runs after every decode)."""

    def check_served(self, context: Context) -> None:
        """Whether there is still the type in the moment in which a new object is stored; raises ApiError."""

    def prepare_create(self, obj: JsonObject, context: Context) -> None:
        """Clear what a client may not set.  Generic: no status where the row has a status subresource; generation 1."""
        if context.row.subresource("status") is not None:
            self.reset_status(obj)
        if context.row.generation:
            obj["metadata"]["generation"] = 1

    def reset_status(self, obj: JsonObject) -> None:
        """What status a new object gets: none, or the kind's initial one."""
        obj["status"] = {}

    def prepare_update(self, obj: JsonObject, old: JsonObject, context: Context) -> None:
        """Keep status and count the generation.  Generic: one up when anything outside metadata and status changed."""
        if context.row.subresource("status") is not None:
            if "status" in old:
                obj["status"] = old["status"]
            else:
                obj.pop("status", None)
        metadata = obj["metadata"]
        if "generation" in old["metadata"]:
            metadata["generation"] = old["metadata"]["generation"]
            if context.row.generation and self.spec_of(obj) != self.spec_of(old):
                metadata["generation"] += 1

    def spec_of(self, obj: JsonObject) -> JsonObject:
        """The part whose change makes a new generation."""
        return {key: value for key, value in obj.items() if key not in ("metadata", "status", "apiVersion", "kind")}

    def prepare_status_update(self, obj: JsonObject, old: JsonObject, context: Context) -> None:
        """A write to the status subresource: everything but status and metadata stays."""
        for key in [key for key in obj if key not in ("status", "metadata") and key not in old]:
            del obj[key]
        for key, value in old.items():
            if key not in ("status", "metadata"):
                obj[key] = value

    def deletion_finalizers(self, obj: JsonObject) -> tuple[str, ...]:
        """What a first DELETE adds to the finalizers: somebody has to clean up before the object may go."""
        return ()

    def mark_deleting(self, obj: JsonObject) -> None:
        """What else shows that a delete was accepted (obj is new, its metadata too; copy what is deeper)."""

    def releasable(self, obj: JsonObject) -> bool:
        """Whether an object that is being deleted and has no finalizers left may go."""
        return True

    def validate_name(self, name: str, *, prefix: bool) -> list[str]:
        """Why `name` (or, with prefix, a generateName) is not valid; generic: a DNS-1123 subdomain."""
        return dns1123_subdomain(name, prefix=prefix)

    def validate(self, obj: JsonObject, context: Context) -> list[FieldError]:
        """Failures of a new object, apart from those of metadata."""
        return []

    def validate_update(self, obj: JsonObject, old: JsonObject, context: Context) -> list[FieldError]:
        """Failures of a changed object: those of `validate`, and changes of immutable fields."""
        return self.validate(obj, context)

    def validate_status_update(self, obj: JsonObject, old: JsonObject, context: Context) -> list[FieldError]:
        return []

    def warnings(self, obj: JsonObject, old: JsonObject | None, context: Context) -> list[str]:
        """Texts for `Warning` headers; old is None on create."""
        return []

    def fields(self, obj: JsonObject) -> dict[str, str] | None:
        """Values of the row's selectable fields where they are not simply at their path; None: all are."""
        return None
