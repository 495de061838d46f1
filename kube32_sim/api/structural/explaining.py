"""What is wrong with a value, as kube-openapi's validator finds it: the slow way, for values that `checking` refuses.

Every validator that applies to a kind of value speaks, even after the type is wrong.  Where one of several schemas must
fit, the faults of the one that fitted best are told; `Findings.matches` counts that as upstream does.  With the old
value at hand, a part that did not change has no faults, except below anyOf and its like.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

from kube32_sim.api.errors import MOST_FAILURE_TEXT, MOST_FAILURES
from kube32_sim.api.managed.gotext import quoted
from kube32_sim.api.structural.correlation import Pair
from kube32_sim.api.structural.enums import enum_of
from kube32_sim.api.structural.faults import Fault, invalid, missing, not_in, over, placeless, wrong_type
from kube32_sim.api.structural.formats import format_check
from kube32_sim.api.structural.scalars import number_faults, string_faults
from kube32_sim.api.structural.values import additional, format_of, items_of, json_type, types_of, whole

JsonObject = dict[str, Any]

MOST_LOOKS = 100_000
"""Of an object that is wrong already: many schemas for each of many values take long, and each says much the same."""
_META = frozenset(("apiVersion", "kind", "metadata"))


class Findings:
    """faults: by their words.  matches: how many checks were passed.  looks: how often a value was held to a schema."""

    __slots__ = ("_text", "faults", "looks", "matches")

    def __init__(self, faults: Iterable[Fault] = (), matches: int = 0) -> None:
        self.faults: dict[str, Fault] = {}
        self.matches = matches
        self.looks = 1
        self._text = 0
        for fault in faults:
            self.add_fault(fault)

    def add(self, other: Findings) -> None:
        for fault in other.faults.values():
            self.add_fault(fault)
        self.matches += other.matches
        self.looks += other.looks

    def add_fault(self, fault: Fault) -> None:
        self.faults.setdefault(fault.message, fault)
        self._text += len(fault.message)

    @property
    def full(self) -> bool:
        """Whether nobody is told more of one object: what is left of a list or a map needs no look."""
        many = len(self.faults) >= MOST_FAILURES or self._text >= MOST_FAILURE_TEXT
        return many or (self.looks >= MOST_LOOKS and bool(self.faults))


def explain_object(schema: JsonObject, value: JsonObject, old: JsonObject) -> Findings:
    """Of a whole object that is to take the place of another; what is wrong at its root is never pardoned, for its
    metadata and type, which no schema tells, count as changed."""
    return _explain(schema, value, "", Pair(schema, value, old))


def explain(schema: JsonObject, value: Any, name: str = "", pair: Pair | None = None) -> Findings:
    """pair: the value beside what it was, where that is known."""
    found = _explain(schema, value, name, pair)
    if found.faults and pair is not None and pair.equal:
        return Findings((), found.matches)
    return found


def _explain(schema: JsonObject, value: Any, name: str, pair: Pair | None) -> Findings:
    found = Findings()
    if value is None:
        found.add(_type_of_null(schema, name))
        found.add(_enum(schema, value, name))
        return found
    if types_of(schema) or format_of(schema):
        found.add(_type(schema, value, name))
        found.matches += 1
    found.add(_combined(schema, value, name))
    found.matches += 1
    for findings in _by_kind(schema, value, name, pair):
        found.add(findings)
        found.matches += 1
    found.matches += 1
    return found


def _by_kind(schema: JsonObject, value: Any, name: str, pair: Pair | None) -> Iterable[Findings]:
    if isinstance(value, str):
        yield Findings(string_faults(schema, value, name))
        if format_check(format_of(schema)) is not None:
            yield Findings()
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield Findings(number_faults(schema, value, name), 1)
    elif isinstance(value, list):
        yield _list(schema, value, name, pair)
    yield _enum(schema, value, name)
    if isinstance(value, dict):
        yield _fields(schema, value, name, pair)


def _type_of_null(schema: JsonObject, name: str) -> Findings:
    types = types_of(schema)
    if types and not schema.get("nullable"):
        return Findings([wrong_type(name, ",".join(types), "null")])
    return Findings((), 1)


def _type(schema: JsonObject, value: Any, name: str) -> Findings:
    types, form = types_of(schema), format_of(schema)
    kind, own_form = json_type(value)
    numeric = "number" in types or "integer" in types
    fits = (
        kind in types
        or (kind == "integer" and "number" in types)
        or (kind == "number" and "integer" in types and whole(value))
    )
    if form and kind not in ("string", "array") and not fits and own_form != form:
        return Findings([wrong_type(name, form, own_form)])
    if form and kind in ("string", "array") and not numeric:
        return Findings((), 1)
    return Findings((), 1) if fits else Findings([wrong_type(name, ",".join(types), kind)])


def _enum(schema: JsonObject, value: Any, name: str) -> Findings:
    values = schema.get("enum")
    if not values or value in (allowed := enum_of(values)):
        return Findings()
    return Findings([not_in(name, value, allowed)])


def _list(schema: JsonObject, value: list[Any], name: str, pair: Pair | None) -> Findings:
    found, items = Findings((), 1), items_of(schema)
    if items is not None:
        for at, item in enumerate(value):
            if found.full:
                break
            found.add(explain(items, item, f"{name}[{at}]", pair.item(at) if pair is not None else None))
    least, most = schema.get("minItems"), schema.get("maxItems")
    if least is not None and len(value) < least:
        found.add_fault(invalid(name, f"should have at least {least} items", len(value)))
    if most is not None and len(value) > most:
        found.add_fault(over(name, f"should have at most {most} items", len(value), most))
    if schema.get("uniqueItems") and repeats(value):
        found.add_fault(invalid(name, "shouldn't contain duplicates", None))
    return found


def repeats(value: list[Any]) -> bool:
    """Whether something is in a list twice."""
    return len({json.dumps(item, sort_keys=True) for item in value}) < len(value)


def _fields(schema: JsonObject, value: JsonObject, name: str, pair: Pair | None) -> Findings:
    found = Findings()
    least, most = schema.get("minProperties"), schema.get("maxProperties")
    if least is not None and len(value) < least:
        found.add_fault(invalid(name, f"should have at least {least} properties", len(value)))
    if most is not None and len(value) > most:
        found.add_fault(over(name, f"should have at most {most} properties", len(value), most))
    properties, more = schema.get("properties") or {}, additional(schema)
    if more is not None:
        for key in [key for key in value if key not in properties]:
            if found.full:
                break
            found.add(explain(more, value[key], f"{name}.{key}", _field_pair(pair, name, key)))
    for key, item in value.items():
        if found.full:
            break
        if key in properties:
            path = f"{name}.{key}" if name else key
            found.add(explain(properties[key], item, path, _field_pair(pair, name, key)))
    for key in schema.get("required") or ():
        if key not in value:
            found.add_fault(missing(f"{name}.{key}"))
    return found


def _field_pair(pair: Pair | None, name: str, key: str) -> Pair | None:
    if pair is None or (not name and key in _META):
        return None
    return pair.field(key)


def _combined(schema: JsonObject, value: Any, name: str) -> Findings:
    """anyOf, oneOf, allOf, not."""
    found = Findings()
    for key, judged in _JUDGES.items():
        if each := schema.get(key):
            tried = [_explain(one, value, name, None) for one in each]
            found.add(judged(tried, name))
            found.looks += sum(one.looks for one in tried)
    refused = schema.get("not")
    if refused is not None and not _explain(refused, value, name, None).faults:
        found.add_fault(placeless(f"{quoted(name)} must not validate the schema (not)"))
    found.matches += 1
    return found


def _any_of(tried: list[Findings], name: str) -> Findings:
    good = next((each for each in tried if not each.faults), None)
    if good is not None:
        return good
    found = Findings([placeless(f"{quoted(name)} must validate at least one schema (anyOf)")])
    found.add(_best(tried))
    return found


def _one_of(tried: list[Findings], name: str) -> Findings:
    good = [each for each in tried if not each.faults]
    if len(good) == 1:
        return good[0]
    why = f"Found {len(good)} valid alternatives" if good else "Found none valid"
    found = Findings([placeless(f"{quoted(name)} must validate one and only one schema (oneOf). {why}")])
    if not good:
        found.add(_best(tried))
    return found


def _all_of(tried: list[Findings], name: str) -> Findings:
    found = Findings()
    for each in tried:
        found.add(each)
    if found.faults:
        why = ". None validated" if all(each.faults for each in tried) else ""
        found.add_fault(placeless(f"{quoted(name)} must validate all the schemas (allOf){why}"))
    return found


def _best(tried: list[Findings]) -> Findings:
    """Of several that failed the first that passed most checks."""
    return max(tried, key=lambda each: each.matches)


_JUDGES: dict[str, Callable[[list[Findings], str], Findings]] = {"anyOf": _any_of, "oneOf": _one_of, "allOf": _all_of}
