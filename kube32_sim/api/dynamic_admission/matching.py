"""Which requests a webhook or an admission policy is for: rules, scope, selectors, equivalent resources.

What is matched is compiled once per revision of a webhook, policy or binding (`of_webhook`, `of_policy`), and then
asked for every write.  Order and words are upstream's `apiserver/pkg/admission/plugin/policy/matching` and
`plugin/webhook/predicates`.  What CEL conditions say is not this module's business.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, Protocol

from kube32_sim.api.dynamic_admission.request import NAMESPACES
from kube32_sim.api.errors import not_found
from kube32_sim.api.resources import ResourceTable, ResourceType
from kube32_sim.api.selectors import LabelSelector, label_selector
from kube32_sim.api.strategies.base import Lookup

JsonObject = dict[str, Any]

EXEMPT = frozenset(
    ("admissionregistration.k8s.io", plural)
    for plural in (
        "mutatingadmissionpolicies",
        "mutatingadmissionpolicybindings",
        "mutatingwebhookconfigurations",
        "validatingadmissionpolicies",
        "validatingadmissionpolicybindings",
        "validatingwebhookconfigurations",
    )
)
"""(group, plural) of what webhooks are never asked about, or nobody could repair a wrong one."""


class Admitted(Protocol):
    """A request as admission sees it.

    row, subresource: what the path says.  operation: CREATE, UPDATE, DELETE or CONNECT.  namespace: "" for what is in
    none.  name: "" where it is not known yet.  obj: None for a delete; old: None for a create.
    """

    @property
    def row(self) -> ResourceType: ...
    @property
    def subresource(self) -> str: ...
    @property
    def operation(self) -> str: ...
    @property
    def namespace(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def obj(self) -> JsonObject | None: ...
    @property
    def old(self) -> JsonObject | None: ...


class Equivalents:
    """The rows that show the same objects as another, found again only after the table has changed."""

    def __init__(self, table: ResourceTable) -> None:
        self._table = table
        self._seen = -1
        self._found: dict[tuple[str, str], list[ResourceType]] = {}

    def of(self, row: ResourceType, subresource: str) -> Sequence[ResourceType]:
        """The others that have the subresource too, in the order of the table."""
        if self._seen != self._table.changed:
            self._seen = self._table.changed
            self._found = {}
            for each in self._table:
                if each.stored:
                    self._found.setdefault(each.storage, []).append(each)
        there = self._found.get(row.storage, ())
        return [each for each in there if each is not row and (not subresource or each.subresource(subresource))]


class Rule(NamedTuple):
    """A RuleWithOperations, or with names a NamedRuleWithOperations.  resources: (plural, subresource) pairs."""

    operations: frozenset[str]
    groups: frozenset[str]
    versions: frozenset[str]
    resources: frozenset[tuple[str, str]]
    scope: str
    names: frozenset[str]

    @classmethod
    def of(cls, rule: JsonObject) -> Rule:
        pairs = (each.partition("/") for each in rule.get("resources") or ())
        return cls(
            frozenset(rule.get("operations") or ()),
            frozenset(rule.get("apiGroups") or ()),
            frozenset(rule.get("apiVersions") or ()),
            frozenset((plural, subresource) for plural, _, subresource in pairs),
            rule.get("scope") or "*",
            frozenset(rule.get("resourceNames") or ()),
        )

    def matches(self, request: Admitted, row: ResourceType) -> bool:
        """Whether it is for a request that is seen as one for `row`."""
        return (
            self.covers(row, request.subresource, request.operation)
            and self._scope(request)
            and (not self.names or request.name in self.names)
        )

    def covers(self, row: ResourceType, subresource: str, operation: str) -> bool:
        """Whether it is for such requests, as far as that follows from the type alone."""
        return (
            _named(self.operations, operation)
            and _named(self.groups, row.group)
            and _named(self.versions, row.version)
            and self._resource(row.plural, subresource)
        )

    def _resource(self, plural: str, subresource: str) -> bool:
        wanted = self.resources
        return (
            (plural, subresource) in wanted
            or ("*", subresource) in wanted
            or (plural, "*") in wanted
            or ("*", "*") in wanted
        )

    def _scope(self, request: Admitted) -> bool:
        if self.scope == "*":
            return True
        inside = bool(request.namespace) and request.row.storage != NAMESPACES
        return inside == (self.scope == "Namespaced")


def _named(wanted: frozenset[str], one: str) -> bool:
    return one in wanted or "*" in wanted


class Matching(NamedTuple):
    """What a webhook, a policy or a binding is for.  rules: None for everything that is not excluded."""

    rules: tuple[Rule, ...] | None
    excluded: tuple[Rule, ...]
    equivalent: bool
    namespaces: LabelSelector
    objects: LabelSelector

    def row(self, request: Admitted, equivalents: Equivalents, cluster: Lookup) -> ResourceType | None:
        """The row as which the request is matched: its own or an equivalent one; None: it is not.

        Raises ApiError 404 where the labels of a namespace decide that does not exist, and all else matches.
        """
        if not self._selects_object(request):
            return None
        if self._first(self.excluded, request, equivalents) is not None:
            return None
        found = request.row if self.rules is None else self._first(self.rules, request, equivalents)
        return found if found is not None and self._selects_namespace(request, cluster) else None

    def possible(self, row: ResourceType, subresource: str, operation: str, equivalents: Equivalents) -> bool:
        """Whether any request of this kind could be matched: what `row` decides for one, asked once for all."""
        if self.rules is None:
            return True
        rows = [row, *(equivalents.of(row, subresource) if self.equivalent else ())]
        return any(rule.covers(one, subresource, operation) for rule in self.rules for one in rows)

    def _first(self, rules: Iterable[Rule], request: Admitted, equivalents: Equivalents) -> ResourceType | None:
        rules = tuple(rules)
        if any(rule.matches(request, request.row) for rule in rules):
            return request.row
        if not self.equivalent or not rules:
            return None
        others = equivalents.of(request.row, request.subresource)
        return next((other for rule in rules for other in others if rule.matches(request, other)), None)

    def _selects_object(self, request: Admitted) -> bool:
        return self.objects.everything or _selects(self.objects, request.obj) or _selects(self.objects, request.old)

    def _selects_namespace(self, request: Admitted, cluster: Lookup) -> bool:
        itself = request.row.storage == NAMESPACES
        if self.namespaces.everything or not (itself or request.namespace):
            return True
        if itself and not request.subresource and request.operation in ("CREATE", "UPDATE"):
            return _selects(self.namespaces, request.obj)
        return _selects(self.namespaces, namespace_of(request, cluster))


def namespace_name(request: Admitted) -> str:
    """The namespace that a request is in, as admission tells it: a Namespace is in itself; "" for none."""
    return request.namespace or (request.name if request.row.storage == NAMESPACES else "")


def namespace_of(request: Admitted, cluster: Lookup) -> JsonObject:
    """The stored Namespace that a request is in (or about); raises ApiError 404."""
    name = namespace_name(request)
    found = cluster.get(NAMESPACES, "", name)
    if found is None:
        raise not_found("", "namespaces", name)
    return found


def _selects(selector: LabelSelector, obj: JsonObject | None) -> bool:
    """What has no metadata (options of a connection) is never selected."""
    if obj is None or "metadata" not in obj:
        return False
    return selector.matches((obj["metadata"] or {}).get("labels") or {})


def of_webhook(webhook: JsonObject) -> Matching:
    """One of the `webhooks` of a configuration, with its defaults; without rules it is for nothing."""
    return _matching(webhook, tuple(map(Rule.of, webhook.get("rules") or ())))


def of_policy(match: JsonObject) -> Matching:
    """MatchResources of a policy or binding, with its defaults; without resourceRules it is for everything."""
    return _matching(match, tuple(map(Rule.of, match.get("resourceRules") or ())) or None)


def _matching(match: JsonObject, rules: tuple[Rule, ...] | None) -> Matching:
    return Matching(
        rules,
        tuple(map(Rule.of, match.get("excludeResourceRules") or ())),
        match.get("matchPolicy") == "Equivalent",
        label_selector(match.get("namespaceSelector")),
        label_selector(match.get("objectSelector")),
    )
