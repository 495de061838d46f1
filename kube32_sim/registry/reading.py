"""Lists: which objects, as of which revision, in which pages; and the selections that lists and watches share."""

from __future__ import annotations

import base64
import posixpath
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import orjson

from kube32_sim.api import errors, jsontext, selectors
from kube32_sim.api.field_selectors import FieldSelector
from kube32_sim.api.resources import ResourceType
from kube32_sim.storage.interface import Compacted, JsonObject, Store
from kube32_sim.storage.objects import StoredObject
from kube32_sim.storage.watching import Selection

_NOT_BASE64 = re.compile(r"[^A-Za-z0-9_-]")
LIST_TOO_OLD = "The resourceVersion for the provided list is too old."
CONTINUE_TOO_OLD = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without "
    "the continue parameter, or use the continue token in this response to retrieve the remainder of the results. "
    "Continuing with the provided token results in an inconsistent list - objects that were created, modified, or "
    "deleted between the time the first chunk was returned and now may show up in the list."
)


def select(
    row: ResourceType,
    namespace: str,
    labels: selectors.LabelSelector | None = None,
    fields: FieldSelector | None = None,
) -> Selection:
    """The selection a list, watch or deletecollection asks for."""
    name, exact = "", None
    if fields is not None:
        once = _required_once(fields)
        name = once.get("metadata.name", "")
        if name:
            fields = fields.without("metadata.name")
        for path in row.indexed:
            if path in once:
                exact, fields = (path, once[path]), fields.without(path)
                break
    return Selection(
        namespace,
        name,
        None if labels is None or labels.everything else labels,
        None if fields is None or fields.everything else fields,
        exact,
    )


def _required_once(fields: FieldSelector) -> dict[str, str]:
    """The paths that have one requirement, which asks for one value."""
    paths = [requirement.path for requirement in fields.requirements]
    return {path: value for path, op, value in fields.requirements if op == "=" and paths.count(path) == 1}


@dataclass(frozen=True, slots=True)
class Page:
    """A list's answer.  remaining: objects after this page, or None where it is not known (selectors)."""

    items: Sequence[StoredObject]
    revision: int
    continue_token: str = ""
    remaining: int | None = None


def encode_continue(revision: int, key: str) -> str:
    text = orjson.dumps({"v": "meta.k8s.io/v1", "rv": revision, "start": key + "\0"})
    return base64.urlsafe_b64encode(text).decode().rstrip("=")


def decode_continue(token: str) -> tuple[int, str]:
    """(revision, key after which to go on); revision below 0: as of now.  Raises ApiError 400, in upstream's words."""
    fields = _token_fields(token)
    version, revision, start = fields.get("v") or "", fields.get("rv") or 0, fields.get("start") or ""
    for name, value, kind in (("v", version, str), ("rv", revision, int), ("start", start, str)):
        if type(value) is not kind:
            raise _bad_token(f": json: cannot unmarshal into Go struct field continueToken.{name}")
    if version != "meta.k8s.io/v1":
        raise _bad_token(f": server does not recognize this encoded version {version}")
    if not revision:
        raise _bad_token(": incorrect encoded start resourceVersion (version meta.k8s.io/v1)")
    if not start:
        raise _bad_token(": encoded start key empty (version meta.k8s.io/v1)")
    key = start.removeprefix("/") or "/"
    if key[0] == "/" or posixpath.normpath(f"/{key}") != f"/{key}" or key[-1] != "\0":
        raise _bad_token(f": {start}")
    return revision, key[:-1]


def _token_fields(token: str) -> JsonObject:
    illegal = _NOT_BASE64.search(token)
    if illegal is not None or len(token) % 4 == 1:
        at = illegal.start() if illegal is not None else len(token) - 1
        raise _bad_token(f": illegal base64 data at input byte {len(token[:at].encode())}")
    try:
        fields = jsontext.loads(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))
    except jsontext.JsonError as error:
        raise _bad_token(f": {error}") from None
    if not isinstance(fields, dict):
        raise _bad_token(": json: cannot unmarshal into Go value of type storage.continueToken")
    return fields


def _bad_token(why: str) -> errors.ApiError:
    return errors.bad_request(f"invalid continue token: continue key is not valid{why}")


def _candidates(
    store: Store, row: ResourceType, selection: Selection, revision: int, after: str | None
) -> Iterator[StoredObject]:
    """A superset of what is selected, in key order, found as narrowly as the present allows."""
    present = revision >= store.revision
    if present and selection.exact is not None:
        found, prefix = store.by_field(row.storage, *selection.exact), selection.namespace and f"{selection.namespace}/"
        return (stored for stored in found if stored.key.startswith(prefix) and (after is None or stored.key > after))
    if present and selection.name and (selection.namespace or not row.namespaced):
        key = f"{selection.namespace}/{selection.name}" if row.namespaced else selection.name
        one = store.get(row.storage, key)
        return iter([one] if one is not None and (after is None or key > after) else [])
    return store.page(row.storage, selection.namespace, revision, after)


def _equality(selection: Selection) -> tuple[str, str] | None:
    """A label and the one value of it that the selection asks for, if it does."""
    labels = selection.labels
    for requirement in labels.requirements if isinstance(labels, selectors.LabelSelector) else ():
        if requirement.operator in ("=", "=="):
            return requirement.key, requirement.values[0]
    return None


def _narrow(found: Iterator[StoredObject], selection: Selection) -> Iterator[StoredObject]:
    """What the selection matches.  Where it asks for one value of a label, most are turned down without a call."""
    wanted = _equality(selection)
    if wanted is not None:
        found = _labelled(found, *wanted)
    return (stored for stored in found if selection.matches(stored))


def _labelled(found: Iterable[StoredObject], key: str, value: str) -> Iterator[StoredObject]:
    return (stored for stored in found if stored.labels.get(key) == value)


def _few_of_all(store: Store, row: ResourceType, selection: Selection) -> list[StoredObject] | None:
    """What is selected now, for a selector that asks for one value of a label and is likely to leave little.

    To look at everything as it lies in memory and sort what is left takes half the time of going in key order.
    None where that is no gain: another index knows better, or the namespace is a small part of all.
    """
    wanted = _equality(selection)
    if wanted is None or selection.name or selection.exact is not None:
        return None
    everywhere, here = store.count(row.storage), store.count_in(row.storage, selection.namespace)
    if 2 * here < everywhere:
        return None
    found = _labelled(store.unordered(row.storage), *wanted)
    return sorted((stored for stored in found if selection.matches(stored)), key=lambda stored: stored.key)


def list_page(
    store: Store,
    row: ResourceType,
    selection: Selection,
    *,
    revision: int | None = None,
    limit: int = 0,
    continue_token: str = "",
) -> Page:
    """One page of a list.  revision: exactly as of it; None: as of now."""
    after: str | None = None
    at = store.revision if revision is None else revision
    if continue_token:
        at, after = decode_continue(continue_token)
        if selection.namespace and not after.startswith(f"{selection.namespace}/"):
            raise _bad_token(": it is of another namespace's list")
        if at > store.revision:
            raise _bad_token(": it is of a revision that is still to come")
        if at < 0:
            at = store.revision
    if limit <= 0 and after is None and at >= store.revision:
        few = _few_of_all(store, row, selection)
        if few is not None:
            return Page(few, at)
    try:
        found = _candidates(store, row, selection, at, after)
    except Compacted as error:
        if after is None:
            raise errors.expired(LIST_TOO_OLD) from error
        raise errors.expired(CONTINUE_TOO_OLD, encode_continue(-1, after)) from error
    narrowed = bool(selection.name or selection.labels or selection.fields or selection.exact)
    matching = _narrow(found, selection) if narrowed else found
    if limit <= 0:
        return Page(list(matching), at)
    items = list(islice(matching, limit))
    # as upstream: there is more where anything is left to look at, be it selected or not
    ahead = next(found, None) if len(items) == limit else None
    if ahead is None:
        return Page(items, at)
    last = items[-1].key
    if narrowed:
        remaining = None
    elif at >= store.revision:
        remaining = store.count_after(row.storage, selection.namespace, last)
    else:
        remaining = 1 + sum(1 for _ in found)
    return Page(items, at, encode_continue(at, last), remaining)
