"""Whether a body is about the object that the path names, and about the state it is in; names for new ones."""

from __future__ import annotations

from kube32_sim.api import errors
from kube32_sim.ids import Ids
from kube32_sim.registry.asked import Asked
from kube32_sim.storage.interface import JsonObject, Store

NAME_ATTEMPTS = 8
"""How often a colliding generated name is made up again (as upstream)."""


def generated_name(base: str, ids: Ids) -> str:
    """`base` cut to 58 characters, and five random ones."""
    return base[: 63 - 5] + ids.suffix(5)


def free_name(asked: Asked, obj: JsonObject, ids: Ids, store: Store) -> str:
    """A generated name that nothing has; the last one tried where chance is against us (then it is a 409)."""
    prefix, name = obj["metadata"]["generateName"], ids.called(asked.row.storage, obj)
    if name and store.get(asked.row.storage, asked._replace(name=name).key) is None:
        return name
    for _ in range(NAME_ATTEMPTS):
        name = generated_name(prefix, ids)
        if store.get(asked.row.storage, asked._replace(name=name).key) is None:
            break
    return name


def check_named(metadata: JsonObject, asked: str) -> None:
    """A PUT, what a patch makes, and an apply of something new say what they are about."""
    name = metadata.get("name", "")
    if not name:
        raise errors.bad_request(
            f"the name of the object ({asked} based on URL) was undeterminable: name must be provided"
        )
    if name != asked:
        raise errors.bad_request(f"the name of the object ({name}) does not match the name on the URL ({asked})")


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


_PREFIXES = {
    ("", "endpoints"): "services/endpoints",
    ("", "nodes"): "minions",
    ("", "replicationcontrollers"): "controllers",
    ("", "services"): "services/specs",
    ("apiextensions.k8s.io", "customresourcedefinitions"): "apiextensions.k8s.io/customresourcedefinitions",
    ("apiregistration.k8s.io", "apiservices"): "apiregistration.k8s.io/apiservices",
    ("networking.k8s.io", "ingresses"): "ingress",
}
"""Where a real server keeps the types that do not lie under their own plural: messages tell it."""


def precondition_failed(asked: Asked, what: str, wanted: str, found: str) -> errors.ApiError:
    """409: the write was meant for another object, or for another state of it.  what: UID or ResourceVersion."""
    row = asked.row
    group, plural = row.storage
    prefix = f"{group}/{plural}" if row.names_in_list else _PREFIXES.get(row.storage, plural)
    why = (
        f"StorageError: invalid object, Code: 4, Key: /registry/{prefix}/{asked.key}, ResourceVersion: 0, "
        f"AdditionalErrorMsg: Precondition failed: {what} in precondition: {wanted}, {what} in object meta: {found}"
    )
    return errors.conflict(row.group, row.plural, asked.name, why)


def check_current(asked: Asked, metadata: JsonObject, old: JsonObject, patch: bool) -> None:
    """409 where the object asked for has another uid or revision; 422 where it has to say which."""
    row, version = asked.row, metadata.get("resourceVersion", "")
    uid = metadata.get("uid")
    if uid and uid != old.get("uid") and not patch:
        raise precondition_failed(asked, "UID", uid, old.get("uid", ""))
    if version and version != "0":
        if version != old["resourceVersion"]:
            raise errors.conflict(row.group, row.plural, asked.name, errors.MODIFIED)
    elif not row.strategy.unconditional_update and not patch:
        failure = errors.invalid_value("metadata.resourceVersion", 0, "must be specified for an update")
        raise errors.invalid(row.group, row.plural, asked.name, [failure])


def taken(asked: Asked, obj: JsonObject, store: Store) -> errors.ApiError:
    """409: there is an object of that name, even where it was made up (and made up anew several times)."""
    row = asked.row
    exists = errors.name_taken if obj["metadata"].get("generateName") else errors.already_exists
    error = exists(row.group, row.plural, asked.name)
    there = store.get(row.storage, asked.key)
    if there is not None and there.deleting:
        error.message = f"object is being deleted: {error.message}"
    return error
