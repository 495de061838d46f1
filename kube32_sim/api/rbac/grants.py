"""All that one user may do in one namespace, or cluster-wide: his rules in one index, asked for every request.

Rules are PolicyRule objects of rbac.authorization.k8s.io/v1.  The matching is upstream's (`pkg/apis/rbac/v1`,
`VerbMatches` and its siblings); that only the first rule that allows something counts, and gives the reason, too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kube32_sim.api.authorization import Attributes, Decision

JsonObject = dict[str, Any]

WIDEST = 4096
"""Combinations of verb, group and resource of a rule that are put into the index one by one."""


class _Cell:
    """Of one verb, group and resource: the number of the first rule for any name, and of the first for each name."""

    __slots__ = ("any", "named")

    def __init__(self) -> None:
        self.any: int | None = None
        self.named: dict[str, int] | None = None

    def add(self, number: int, names: Sequence[str] | None) -> None:
        if not names:
            self.any = number if self.any is None else self.any
            return
        if self.named is None:
            self.named = {}
        for name in names:
            self.named.setdefault(name, number)

    def first(self, name: str) -> int | None:
        if self.named is None:
            return self.any
        named = self.named.get(name)
        return named if self.any is None or (named is not None and named < self.any) else self.any


class Grants:
    """failures: what went wrong while the rules were looked for, as Go's errors say it."""

    def __init__(self) -> None:
        self.failures: list[str] = []
        self._decisions: list[Decision] = []
        self._cells: dict[str, dict[str, dict[str, _Cell]]] = {}
        self._paths: dict[str, dict[str, int]] = {}
        self._prefixes: dict[str, list[tuple[str, int]]] = {}
        self._wide: list[tuple[int, JsonObject]] = []

    def add(self, source: str, rules: Sequence[JsonObject]) -> None:
        """Rules that count after all that were added before.  source: the binding they are held by."""
        number = len(self._decisions)
        self._decisions.append(Decision(True, f"RBAC: allowed by {source}"))
        for rule in rules:
            if rule.get("nonResourceURLs"):
                self._add_paths(number, rule)
            if rule.get("resources"):
                self._add_resources(number, rule)

    def _add_paths(self, number: int, rule: JsonObject) -> None:
        for verb in rule["verbs"]:
            for path in rule["nonResourceURLs"]:
                if path.endswith("*"):
                    self._prefixes.setdefault(verb, []).append((path.rstrip("*"), number))
                else:
                    self._paths.setdefault(verb, {}).setdefault(path, number)

    def _add_resources(self, number: int, rule: JsonObject) -> None:
        verbs, groups, resources = rule["verbs"], rule.get("apiGroups") or (), rule["resources"]
        names = rule.get("resourceNames")
        if len(verbs) * len(groups) * len(resources) > WIDEST:
            self._wide.append((number, rule))
            return
        for verb in verbs:
            by_group = self._cells.setdefault(verb, {})
            for group in groups:
                by_resource = by_group.setdefault(group, {})
                for resource in resources:
                    cell = by_resource.get(resource)
                    if cell is None:
                        cell = by_resource[resource] = _Cell()
                    cell.add(number, names)

    def decide(self, attributes: Attributes) -> Decision | None:
        """None where nothing allows it."""
        number = self._path_rule(attributes) if attributes.path else self._resource_rule(attributes)
        return None if number is None else self._decisions[number]

    def _path_rule(self, attributes: Attributes) -> int | None:
        found: list[int] = []
        for verb in (attributes.verb, "*"):
            number = self._paths.get(verb, _NO_PATHS).get(attributes.path)
            if number is not None:
                found.append(number)
            found += [each for prefix, each in self._prefixes.get(verb, ()) if attributes.path.startswith(prefix)]
        return min(found, default=None)

    def _resource_rule(self, attributes: Attributes) -> int | None:
        resource, subresource = attributes.resource, attributes.subresource
        wanted = (f"{resource}/{subresource}", "*", f"*/{subresource}") if subresource else (resource, "*")
        best: int | None = None
        for verb in (attributes.verb, "*"):
            by_group = self._cells.get(verb)
            if by_group is None:
                continue
            for group in (attributes.group, "*"):
                by_resource = by_group.get(group)
                if by_resource is None:
                    continue
                for each in wanted:
                    cell = by_resource.get(each)
                    if cell is not None:
                        number = cell.first(attributes.name)
                        if number is not None and (best is None or number < best):
                            best = number
        return self._wide_rule(attributes, wanted, best) if self._wide else best

    def _wide_rule(self, attributes: Attributes, wanted: Sequence[str], best: int | None) -> int | None:
        for number, rule in self._wide:
            if (best is None or number < best) and _wide_allows(rule, attributes, wanted):
                return number
        return best


_NO_PATHS: Mapping[str, int] = {}


def _wide_allows(rule: JsonObject, attributes: Attributes, wanted: Sequence[str]) -> bool:
    verbs, groups, names = rule["verbs"], rule["apiGroups"], rule.get("resourceNames")
    return (
        (attributes.verb in verbs or "*" in verbs)
        and (attributes.group in groups or "*" in groups)
        and any(each in rule["resources"] for each in wanted)
        and (not names or attributes.name in names)
    )
