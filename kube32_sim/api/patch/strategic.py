"""Strategic merge patch: a merge patch whose lists merge by the keys that the schema names.

Follows apimachinery's `strategicpatch`: the directives `$patch` (replace, delete, merge), `$retainKeys`,
`$setElementOrder/LIST` and `$deleteFromPrimitiveList/LIST`, and its rules for the order of a merged list.
Neither object nor patch is changed; what the patch does not touch is shared with the object.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from kube32_sim.api import schema
from kube32_sim.api.decode.diagnose import describe
from kube32_sim.api.errors import ApiError, bad_request
from kube32_sim.api.patch.gomap import go_text
from kube32_sim.api.patch.json import NotApplicable
from kube32_sim.api.patch.order import identity, in_order

JsonObject = dict[str, Any]

DIRECTIVE = "$patch"
RETAIN_KEYS = "$retainKeys"
DELETE_PREFIX = "$deleteFromPrimitiveList"
ORDER_PREFIX = "$setElementOrder"

BAD_DELETE_LIST = "invalid patch format of primitive list"
BAD_RETAIN_KEYS = "invalid patch format of retainKeys"
BAD_ORDER_LIST = "invalid patch format of setElementOrder list"


@dataclass(frozen=True, slots=True)
class Meta:
    """How a field is patched.

    key: the definition below it.  merge: lists merge, objects by merge_key.  replace: objects do not merge.
    """

    key: str = ""
    merge: bool = False
    replace: bool = False
    merge_key: str = ""


_UNKNOWN = Meta()


@cache
def fields(key: str) -> Mapping[str, Meta]:
    """The patch rules of a definition's fields."""
    found = schema.all_definitions().get(key)
    return {} if found is None else {name: _meta(entry) for name, entry in found.get("properties", {}).items()}


def _meta(described: JsonObject) -> Meta:
    strategies = schema.patch_strategies(described)
    below = described.get("items") or described.get("additionalProperties") or described
    return Meta(
        key=schema.reference(below) or "",
        merge="merge" in strategies,
        replace="replace" in strategies,
        merge_key=schema.patch_merge_key(described) or "",
    )


def apply_strategic(obj: JsonObject, patch: Any, schema_key: str) -> JsonObject:
    """`obj` with the patch merged in by the rules of a definition; raises ApiError (400, 422)."""
    if patch is None:
        return obj
    if not isinstance(patch, dict):
        raise bad_request(f"json: cannot unmarshal {describe(patch)} into Go value of type map[string]interface {{}}")
    try:
        return _merge_map(obj, patch, schema_key)
    except RecursionError:
        raise bad_request("exceeded max depth") from None


def _merge_map(original: JsonObject, patch: JsonObject, key: str) -> JsonObject:
    if DIRECTIVE in patch:
        return _replaced_map(patch)
    made = original.copy()
    left = patch
    if any(name.startswith("$") for name in patch):
        left = patch.copy()
        if RETAIN_KEYS in left:
            _retain(made, left)
        _merge_ordered(made, left, fields(key))
    metas = fields(key)
    for name, value in left.items():
        if value is None:
            made.pop(_list_name(name, DELETE_PREFIX, BAD_DELETE_LIST) or name, None)
        elif name.startswith(DELETE_PREFIX):
            _delete_from(made, name, value)
        else:
            _merge_field(made, name, value, metas.get(name, _UNKNOWN))
    return made


def _replaced_map(patch: JsonObject) -> JsonObject:
    directive = patch[DIRECTIVE]
    if directive == "replace":
        return {name: value for name, value in patch.items() if name != DIRECTIVE}
    if directive == "delete":
        return {}
    raise _bad_directive(directive, patch)


def _bad_directive(directive: Any, patch: JsonObject) -> ApiError:
    return bad_request(f"unknown patch type [{go_text(directive)}] in map [{go_text(patch)}]")


def _list_name(name: str, prefix: str, message: str) -> str:
    """`LIST` of `PREFIX/LIST`; "" where the name has no such prefix."""
    if not name.startswith(prefix):
        return ""
    head, _, rest = name.partition("/")
    if head != prefix or not rest:
        raise bad_request(message)
    return rest


def _retain(made: JsonObject, patch: JsonObject) -> None:
    kept = patch.pop(RETAIN_KEYS)
    if not isinstance(kept, list):
        raise bad_request(BAD_RETAIN_KEYS)
    names = {name for name in kept if isinstance(name, str)}
    for name, value in patch.items():
        if value is not None and not name.startswith((DELETE_PREFIX, ORDER_PREFIX)) and name not in names:
            raise bad_request(BAD_RETAIN_KEYS)
    for name in [name for name in made if name not in names]:
        del made[name]


def _delete_from(made: JsonObject, name: str, value: Any) -> None:
    listed = _list_name(name, DELETE_PREFIX, BAD_DELETE_LIST)
    current = made.get(listed)
    if current is None or type(current) is not type(value):
        return
    if not isinstance(current, list) or any(isinstance(item, dict | list) for item in [*current, *value]):
        raise bad_request(BAD_DELETE_LIST)
    gone = {identity(item) for item in value}
    made[listed] = in_order([item for item in current if identity(item) not in gone], value, current, "")


def _merge_field(made: JsonObject, name: str, value: Any, meta: Meta) -> None:
    current = made.get(name)
    if isinstance(current, dict) and isinstance(value, dict):
        made[name] = value if meta.replace else _merge_map(current, value, meta.key)
    elif isinstance(current, list) and isinstance(value, list):
        made[name] = merge_list(current, value, meta)
    elif current is not None and not isinstance(value, dict | list):
        made[name] = value
    else:
        kept, value = without_directives(_without_nulls(value))
        if kept:
            made[name] = value
        else:
            made.pop(name, None)


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_nulls(item) for name, item in value.items() if item is not None}
    return [_without_nulls(item) for item in value] if isinstance(value, list) else value


def without_directives(value: Any) -> tuple[bool, Any]:
    """Whether a value that is new in the object stays at all, and what is left of it."""
    if isinstance(value, dict):
        if DIRECTIVE in value:
            return False, None
        pairs = [(name, without_directives(item)) for name, item in value.items()]
        return True, {name: item for name, (kept, item) in pairs if kept}
    if isinstance(value, list):
        return True, [item for kept, item in map(without_directives, value) if kept]
    return True, value


def merge_list(current: list[Any], patch: list[Any], meta: Meta) -> list[Any]:
    """Two lists merged: objects by the merge key, scalars as a set; lists of other fields are replaced."""
    if not meta.merge or not (current or patch):
        return patch if not meta.merge else current
    if _element_type(current, patch) is not dict:
        merged = list(dict.fromkeys([*current, *patch]))
        return in_order(merged, patch, current, "")
    if not meta.merge_key:
        raise NotApplicable
    current, patch = _special_items(current, patch, meta.merge_key)
    merged = _merge_items(current, patch, meta)
    return in_order(merged, patch, current, meta.merge_key)


def _element_type(current: Sequence[Any], patch: Sequence[Any]) -> type:
    kinds = {type(item) for item in (*current, *patch)}
    if list in kinds:
        raise NotApplicable
    if len(kinds) != 1 or type(None) in kinds:
        raise bad_request("list element types are not identical")
    return kinds.pop()


def key_value(item: Any, merge_key: str) -> Any:
    """The merge key's value of a list item; raises ApiError 422 where it has none."""
    if not isinstance(item, dict) or merge_key not in item:
        raise NotApplicable
    return item[merge_key]


def _special_items(current: list[Any], patch: list[Any], merge_key: str) -> tuple[list[Any], list[Any]]:
    """What is left of both lists when the items with a `$patch` directive are carried out."""
    plain: list[Any] = []
    gone: set[Hashable] = set()
    replace = False
    for item in patch:
        directive = item.get(DIRECTIVE, plain)
        if directive is plain:
            plain.append(item)
        elif directive == "delete":
            value = key_value(item, merge_key)
            if not gone:
                _check_keys(current, merge_key)
            gone.add(identity(value))
        elif directive == "replace":
            replace = True
        elif directive == "merge":
            raise bad_request("merging lists cannot yet be specified in the patch")
        else:
            raise _bad_directive(directive, item)
    if replace:
        return plain, []
    return [item for item in current if identity(item[merge_key]) not in gone] if gone else current, plain


def _check_keys(items: list[Any], merge_key: str) -> None:
    for item in items:
        key_value(item, merge_key)


def _merge_items(current: list[Any], patch: list[Any], meta: Meta) -> list[Any]:
    """Each item of the patch goes into the first that has its key; one without a key must not come before that."""
    made = current[:]
    places, keyless = _places(made, meta.merge_key)
    for item in patch:
        mine = identity(key_value(item, meta.merge_key))
        at = places.get(mine, len(made))
        if keyless is not None and keyless <= at:
            raise NotApplicable
        if at == len(made):
            places[mine] = at
            made.append(item)
            continue
        made[at] = _merge_map(made[at], item, meta.key)
        if meta.merge_key not in made[at]:  # the patch sets it to null
            keyless = at
    return made


def _places(items: list[Any], merge_key: str) -> tuple[dict[Hashable, int], int | None]:
    """Where each key comes first, and the first item that has none."""
    places: dict[Hashable, int] = {}
    keyless: int | None = None
    for at, item in enumerate(items):
        if merge_key in item:
            places.setdefault(identity(item[merge_key]), at)
        elif keyless is None:
            keyless = at
    return places, keyless


def _merge_ordered(made: JsonObject, patch: JsonObject, metas: Mapping[str, Meta]) -> None:
    """Carry out the `$setElementOrder` directives and take them and their lists out of the patch."""
    for name in [name for name in patch if name.startswith(ORDER_PREFIX)]:
        order = patch.pop(name)
        listed = _list_name(name, ORDER_PREFIX, BAD_ORDER_LIST)
        current, given = made.get(listed), patch.get(listed)
        if not all(isinstance(found, list | None) for found in (current, given)) or not isinstance(order, list):
            raise bad_request(BAD_ORDER_LIST)
        meta = metas.get(listed, _UNKNOWN)
        if given:
            _check_order(given, order, meta.merge_key)
        if current is None and given is None:
            continue
        if given is None:
            merged = current or []
        else:
            merged = merge_list(current, given, meta) if current is not None else without_directives(given)[1]
        made[listed] = in_order(merged, order, current or [], meta.merge_key)
        patch.pop(listed, None)


def _check_order(given: list[Any], order: list[Any], merge_key: str) -> None:
    """The patch's items must come in the order that the directive gives, and all be in it."""
    if not order:
        return
    wanted = [item for item in given if not (isinstance(item, dict) and DIRECTIVE in item)]
    at = 0
    for item in order:
        if at < len(wanted) and _equal(wanted[at], item, merge_key):
            at += 1
    if at < len(wanted):
        raise bad_request(
            f"the order in patch list:\n{go_text(given)}\n doesn't match {ORDER_PREFIX} list:\n{go_text(order)}\n"
        )


def _equal(left: Any, right: Any, merge_key: str) -> bool:
    if not merge_key:
        return bool(left == right)
    return bool(key_value(left, merge_key) == key_value(right, merge_key))
