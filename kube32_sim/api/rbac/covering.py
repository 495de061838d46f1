"""Whether somebody's rules cover others: who hands out permissions must hold them.

The rules are upstream's (`component-helpers/auth/rbac/validation`): what is to be covered is broken down to single
verbs, resources and names, each of which one rule must cover alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from kube32_sim.api.errors import go_list

JsonObject = dict[str, Any]

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
    for rule in wanted:
        if any(_covers_whole(each, rule) for each in held):
            continue
        for part in _parts(rule):
            if not any(_covers(each, part) for each in held):
                missing.append(part)
                if len(missing) == MOST_PARTS:
                    return missing
    return missing


def _covers_whole(held: JsonObject, rule: JsonObject) -> bool:
    """Whether a rule covers every part of another one, without looking at them: an administrator's does."""
    names, wanted = held.get("resourceNames"), rule.get("resourceNames")
    return (
        _includes(held["verbs"], _verbs(rule))
        and _includes(held.get("apiGroups") or (), rule.get("apiGroups") or ())
        and _includes(held.get("resources") or (), rule.get("resources") or ())
        and not rule.get("nonResourceURLs")
        and (not names or (bool(wanted) and set(wanted or ()) <= set(names)))
    )


def _verbs(rule: JsonObject) -> Sequence[str]:
    """None where they are missing, which validation will tell."""
    return rule.get("verbs") or ()


def _includes(held: Sequence[str], wanted: Sequence[str]) -> bool:
    return "*" in held or set(wanted) <= set(held)


def _parts(rule: JsonObject) -> Iterator[JsonObject]:
    for group in rule.get("apiGroups") or ():
        for resource in rule.get("resources") or ():
            for verb in _verbs(rule):
                part = {"apiGroups": [group], "resources": [resource], "verbs": [verb]}
                names = rule.get("resourceNames") or ()
                yield from ({**part, "resourceNames": [name]} for name in names)
                if not names:
                    yield part
    for path in rule.get("nonResourceURLs") or ():
        for verb in _verbs(rule):
            yield {"nonResourceURLs": [path], "verbs": [verb]}


def _covers(held: JsonObject, part: JsonObject) -> bool:
    verbs = held["verbs"]
    if part["verbs"][0] not in verbs and "*" not in verbs:
        return False
    if "nonResourceURLs" in part:  # a rule that is about names covers nothing that has none
        path = part["nonResourceURLs"][0]
        paths = held.get("nonResourceURLs") or ()
        return not held.get("resourceNames") and any(_covers_path(each, path) for each in paths)
    groups, resources, names = held.get("apiGroups") or (), held.get("resources") or (), held.get("resourceNames")
    resource = part["resources"][0]
    return (
        (part["apiGroups"][0] in groups or "*" in groups)
        and (resource in resources or "*" in resources or _as_any(resource) in resources)
        and (not names or ("resourceNames" in part and part["resourceNames"][0] in names))
    )


def _as_any(resource: str) -> str:
    """`pods/log` -> `*/log`; what is no subresource stays as it is."""
    _, slash, subresource = resource.partition("/")
    return f"*/{subresource}" if slash else resource


def _covers_path(held: str, path: str) -> bool:
    return held == path or (held.endswith("*") and path.startswith(held.rstrip("*")))


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
