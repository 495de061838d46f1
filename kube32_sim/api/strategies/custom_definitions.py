"""CustomResourceDefinition: its defaults, which versions it has stored things in, and what its writes are checked for.

The rules are many and imported late: a start can do without.  What it defines comes and goes with it
(`registry/custom_types.py`), and so do conditions and accepted names: they are written to its status.
"""

from __future__ import annotations

from typing import Any

from kube32_sim.api.customs.naming import FINALIZER
from kube32_sim.api.errors import FieldError
from kube32_sim.api.strategies.base import Context, Strategy
from kube32_sim.api.strategies.spec import Unversioned

JsonObject = dict[str, Any]


class CustomResourceDefinition(Unversioned):
    """A status write changes metadata too: upstream means to keep it, and keeps the new for the new."""

    returns_deleted = True
    counts_deletion = False

    def default(self, obj: JsonObject) -> None:
        super().default(obj)
        status = obj.setdefault("status", {})
        if not status.get("storedVersions") and (storage := _storage_version(obj)):
            status["storedVersions"] = [storage]

    def default_spec(self, obj: JsonObject, spec: JsonObject) -> None:
        names = spec.setdefault("names", {})
        kind = names.get("kind", "")
        if kind and not names.get("singular"):
            names["singular"] = kind.lower()
        if kind and not names.get("listKind"):
            names["listKind"] = f"{kind}List"
        conversion = spec.setdefault("conversion", {"strategy": "None"})
        service = ((conversion.get("webhook") or {}).get("clientConfig") or {}).get("service")
        if service is not None:
            service.setdefault("port", 443)

    def reset_status(self, obj: JsonObject) -> None:
        storage = _storage_version(obj)
        accepted = {"plural": "", "kind": ""}
        obj["status"] = {
            "conditions": None,
            "acceptedNames": accepted,
            "storedVersions": [storage] if storage else None,
        }

    def prepare_update(self, obj: JsonObject, old: JsonObject, context: Context) -> None:
        """A version that becomes the storage version is one that something may be stored in from now on."""
        super().prepare_update(obj, old, context)
        status, storage = obj.get("status") or {}, _storage_version(obj)
        stored = status.get("storedVersions") or []
        if storage and storage not in stored:
            obj["status"] = status | {"storedVersions": [*stored, storage]}

    def validate(self, obj: JsonObject, context: Context) -> list[FieldError]:
        from kube32_sim.api.validation.crd import validate_crd

        return validate_crd(obj)

    def validate_update(self, obj: JsonObject, old: JsonObject, context: Context) -> list[FieldError]:
        from kube32_sim.api.validation.crd import validate_crd_update

        return validate_crd_update(obj, old)

    def validate_status_update(self, obj: JsonObject, old: JsonObject, context: Context) -> list[FieldError]:
        from kube32_sim.api.validation.crd import validate_crd_status

        return validate_crd_status(obj)

    def deletion_finalizers(self, obj: JsonObject) -> tuple[str, ...]:
        return (FINALIZER,)

    def warnings(self, obj: JsonObject, old: JsonObject | None, context: Context) -> list[str]:
        from kube32_sim.api.validation.crd.formats import format_warnings

        return format_warnings(obj["spec"], old["spec"] if old else None)


def _storage_version(obj: JsonObject) -> str:
    """The name of the first version that is marked so."""
    versions = obj["spec"].get("versions") or ()
    return next((each.get("name", "") for each in versions if each.get("storage")), "")


STRATEGIES: dict[tuple[str, str], Strategy] = {
    ("apiextensions.k8s.io", "CustomResourceDefinition"): CustomResourceDefinition(),
}
