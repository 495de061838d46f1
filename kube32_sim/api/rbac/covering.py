"""Whether somebody's rules cover others: who hands out permissions must hold them.

The rules are upstream's (`component-helpers/auth/rbac/validation`): what is to be covered is broken down to single
verbs, resources and names, each of which one rule must cover alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from itertools import chain
from operator import and_, or_
from typing import Any

from kube32_sim.api.errors import go_list

JsonObject = dict[str, Any]
Masks = list[tuple[str, int]]
"""Values of a rule, each with the rules held that allow it."""

MOST_PARTS = 10_000
"""Parts of which it is told that they are missing."""
_FIELDS = (
    ("APIGroups", "apiGroups"),
    ("Resources", "resources"),
    ("NonResourceURLs", "nonResourceURLs"),
    ("ResourceNames", "resourceNames"),
    ("Verbs", "verbs"),
)


def uncovered(held: Sequence[JsonObject], wanted: Sequence[JsonObject]) -> list[JsonObject]:
    """The parts of the wanted rules that no rule held covers, the first of them where they are very many."""
    missing: list[JsonObject] = []
    holdings = _Holdings(held)
    for rule in wanted:
        for part in holdings.missing_of(rule):
            missing.append(part)
            if len(missing) == MOST_PARTS:
                return missing
    return missing


class _Holdings:
    """Rules by what they allow: for each verb, group, resource, name and path the set of rules that allow it.

    A set of rules is an integer with a bit for each of them, so whether one rule allows all of several things is told
    by `&`, of thousands of rules at once.
    """

    def __init__(self, rules: Sequence[JsonObject]) -> None:
        self._allowing: dict[str, dict[str, int]] = {name: {} for _, name in _FIELDS}
        self._nameless = 0
        bit = 1
        for rule in rules:
            for field, allowing in self._allowing.items():
                for value in rule.get(field) or ():
                    allowing[value] = allowing.get(value, 0) | bit
            if not rule.get("resourceNames"):
                self._nameless |= bit
            bit <<= 1
        self._prefixes: dict[str, int] = {}
        for path, mask in self._allowing["nonResourceURLs"].items():
            if path.endswith("*"):
                prefix = path.rstrip("*")
                self._prefixes[prefix] = self._prefixes.get(prefix, 0) | mask
        self._lengths = sorted({len(prefix) for prefix in self._prefixes})

    def missing_of(self, rule: JsonObject) -> Iterator[JsonObject]:
        """The parts of one rule that are not covered."""
        verbs = [(verb, self._of("verbs", verb, "*")) for verb in rule.get("verbs") or ()]  # validation tells of none
        yield from self._missing_resources(rule, verbs)
        for path in rule.get("nonResourceURLs") or ():
            allowing = self._of_path(path)
            for verb, mask in verbs:
                if not allowing & mask:
                    yield {"nonResourceURLs": [path], "verbs": [verb]}

    def _missing_resources(self, rule: JsonObject, verbs: Masks) -> Iterator[JsonObject]:
        groups = [(group, self._of("apiGroups", group, "*")) for group in rule.get("apiGroups") or ()]
        resources = [(each, self._of("resources", each, "*", _as_any(each))) for each in rule.get("resources") or ()]
        names: Masks = [("", self._nameless)]
        if named := rule.get("resourceNames"):
            names = [(name, self._nameless | self._of("resourceNames", name)) for name in named]
        if reduce(and_, (mask for _, mask in chain(verbs, groups, resources, names))):
            return  # one rule covers it all: there may be very many parts
        for group, of_group in groups:
            for resource, of_resource in resources:
                for verb, of_verb in verbs:
                    allowing = of_group & of_resource & of_verb
                    part = {"apiGroups": [group], "resources": [resource], "verbs": [verb]}
                    for name, of_name in names:
                        if not allowing & of_name:
                            yield {**part, "resourceNames": [name]} if named else part

    def _of(self, field: str, *values: str) -> int:
        """The rules that allow any of the values."""
        allowing = self._allowing[field]
        return reduce(or_, (allowing.get(value, 0) for value in values))

    def _of_path(self, path: str) -> int:
        """A rule that is about names covers nothing that has none."""
        found = self._allowing["nonResourceURLs"].get(path, 0)
        for length in self._lengths:
            found |= self._prefixes.get(path[:length], 0)
        return found & self._nameless


def _as_any(resource: str) -> str:
    """`pods/log` -> `*/log`; what is no subresource stays as it is."""
    _, slash, subresource = resource.partition("/")
    return f"*/{subresource}" if slash else resource


def described(parts: Sequence[JsonObject]) -> list[str]:
    """Parts as messages list them, those of one resource together, sorted."""
    plain: dict[tuple[str, str], list[str]] = {}
    rules: list[JsonObject] = []
    for part in parts:
        if "resourceNames" in part or "nonResourceURLs" in part:
            rules.append(part)
        else:
            plain.setdefault((part["apiGroups"][0], part["resources"][0]), []).append(part["verbs"][0])
    rules += [
        {"apiGroups": [group], "resources": [resource], "verbs": verbs} for (group, resource), verbs in plain.items()
    ]
    return sorted({_text(rule) for rule in rules})


def _text(rule: JsonObject) -> str:
    return "{" + ", ".join(f"{title}:{go_list(rule[name])}" for title, name in _FIELDS if rule.get(name)) + "}"
