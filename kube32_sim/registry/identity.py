"""Whether a body is about the object that the path names, and about the state it is in; names for new ones."""

from __future__ import annotations

from kube32_sim.api import errors
from kube32_sim.ids import Ids
from kube32_sim.registry.asked import Asked
from kube32_sim.storage.interface import JsonObject


def generated_name(base: str, ids: Ids) -> str:
    """`base` cut to 58 characters, and five random ones."""
    return base[: 63 - 5] + ids.suffix(5)


def check_named(metadata: JsonObject, asked: str) -> None:
    """A PUT, and an apply of something new, say what they are about."""
    name = metadata.get("name", "")
    if not name:
        raise errors.bad_request(
            f"the name of the object ({asked} based on URL) was undeterminable: name must be provided"
        )
    if name != asked:
        raise name_mismatch(name, asked)


def name_mismatch(given: str, asked: str) -> errors.ApiError:
    return errors.bad_request(f"the name of the object ({given}) does not match the name on the URL ({asked})")


def fit_namespace(asked: Asked, metadata: JsonObject) -> None:
    """The namespace of an object is that of the path."""
    given = metadata.get("namespace", "")
    if not asked.row.namespaced:
        metadata.pop("namespace", None)
    elif given and given != asked.namespace:
        raise errors.bad_request(
            "the namespace of the provided object does not match the namespace sent on the request"
        )
    else:
        metadata["namespace"] = asked.namespace


def check_current(asked: Asked, metadata: JsonObject, old: JsonObject, patch: bool) -> None:
    """409 where the object asked for has another uid or revision; 422 where it has to say which."""
    row, version = asked.row, metadata.get("resourceVersion", "")
    uid = metadata.get("uid")
    if uid and uid != old.get("uid") and not patch:
        path = f"/registry/{row.storage[1]}/{asked.key}"
        raise errors.conflict(
            row.group,
            row.plural,
            asked.name,
            f"StorageError: invalid object, Code: 4, Key: {path}, ResourceVersion: 0, AdditionalErrorMsg: "
            f"Precondition failed: UID in precondition: {uid}, UID in object meta: {old.get('uid', '')}",
        )
    if version and version != "0":
        if version != old["resourceVersion"]:
            raise errors.conflict(row.group, row.plural, asked.name, errors.MODIFIED)
    elif not row.strategy.unconditional_update and not patch:
        failure = errors.invalid_value("metadata.resourceVersion", 0, "must be specified for an update")
        raise errors.invalid(row.group, row.plural, asked.name, [failure])
