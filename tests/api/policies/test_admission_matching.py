"""Which requests webhooks and admission policies are for."""

from __future__ import annotations

from typing import Any

import pytest

from kube32_sim.api.builtin import builtin_table
from kube32_sim.api.dynamic_admission.matching import Equivalents, Matching, of_policy, of_webhook
from kube32_sim.api.dynamic_admission.request import AdmissionRequest
from kube32_sim.api.errors import ApiError

JsonObject = dict[str, Any]

TABLE = builtin_table()
EQUIVALENTS = Equivalents(TABLE)


class Cluster:
    """Namespaces with labels, and nothing else."""

    def __init__(self, **labels: JsonObject) -> None:
        self.labels = labels

    def get(self, storage: tuple[str, str], namespace: str, name: str) -> JsonObject | None:
        return {"metadata": {"name": name, "labels": self.labels[name]}} if name in self.labels else None

    def list(self, storage: tuple[str, str], namespace: str = "") -> list[JsonObject]:
        return []


def request(
    path: str = "apps/v1/deployments",
    operation: str = "CREATE",
    namespace: str = "default",
    *,
    name: str = "web",
    labels: JsonObject | None = None,
    old_labels: JsonObject | None = None,
) -> AdmissionRequest:
    """path: group/version/plural, and a subresource where there is one."""
    group, version, plural, *sub = path.split("/")
    row = TABLE.by_path(group, version, plural)
    assert row is not None
    obj = None if operation == "DELETE" else {"metadata": {"name": name, "labels": labels or {}}}
    old = None if operation == "CREATE" else {"metadata": {"name": name, "labels": old_labels or {}}}
    cluster = Cluster(default={"team": "a"}, other={})
    return AdmissionRequest(row, operation, namespace, name, TABLE, cluster, "".join(sub), obj=obj, old=old)


def rule(*resources: str, **more: Any) -> JsonObject:
    made = {"operations": ["*"], "apiGroups": ["apps"], "apiVersions": ["v1"], "resources": list(resources)}
    return made | more


def policy(*rules: JsonObject, **more: Any) -> Matching:
    defaults = {"matchPolicy": "Equivalent", "namespaceSelector": {}, "objectSelector": {}}
    return of_policy({**defaults, "resourceRules": list(rules), **more})


def matched(matching: Matching, asked: AdmissionRequest) -> str:
    row = matching.row(asked, EQUIVALENTS, asked.cluster)
    return "" if row is None else f"{row.group}/{row.version}/{row.plural}"


@pytest.mark.parametrize(
    ("wanted", "asked", "answer"),
    [
        (rule("deployments"), request(), True),
        (rule("*"), request(), True),
        (rule("deployments"), request("apps/v1/deployments/scale"), False),
        (rule("*"), request("apps/v1/deployments/scale"), False),
        (rule("deployments/*"), request("apps/v1/deployments/scale"), True),
        (rule("deployments/*"), request(), True),
        (rule("*/scale"), request("apps/v1/deployments/scale"), True),
        (rule("*/scale"), request(), False),
        (rule("*/*"), request("apps/v1/deployments/status"), True),
        (rule("deployments", operations=["UPDATE", "DELETE"]), request(), False),
        (rule("deployments", operations=["UPDATE", "DELETE"]), request(operation="DELETE"), True),
        (rule("deployments", apiGroups=["*"], apiVersions=["*"]), request(), True),
        (rule("deployments", apiGroups=[""]), request(), False),
        (rule("deployments", apiVersions=["v1beta1"]), request(), False),
        (rule("deployments", resourceNames=["web", "db"]), request(), True),
        (rule("deployments", resourceNames=["db"]), request(), False),
        (rule("deployments", scope="Namespaced"), request(), True),
        (rule("deployments", scope="Cluster"), request(), False),
        (rule("namespaces", apiGroups=[""], scope="Cluster"), request("/v1/namespaces", "UPDATE", "web"), True),
        (rule("namespaces", apiGroups=[""], scope="Namespaced"), request("/v1/namespaces", "UPDATE", "web"), False),
        (rule("nodes", apiGroups=[""], scope="Cluster"), request("/v1/nodes", namespace=""), True),
    ],
)
def test_a_rule_says_which_operations_on_which_resources(
    wanted: JsonObject, asked: AdmissionRequest, answer: bool
) -> None:
    matching = policy(wanted)
    assert bool(matched(matching, asked)) is answer
    if answer:
        assert matching.possible(asked.row, asked.subresource, asked.operation, EQUIVALENTS)


def test_excluded_rules_win() -> None:
    matching = policy(rule("*"), excludeResourceRules=[rule("deployments", resourceNames=["web"])])
    assert not matched(matching, request())
    assert matched(matching, request(name="db"))


def test_a_policy_without_rules_is_for_everything_and_a_webhook_for_nothing() -> None:
    assert matched(policy(), request())
    selectors: JsonObject = {"namespaceSelector": {}, "objectSelector": {}, "rules": []}
    assert not matched(of_webhook(selectors), request())
    assert matched(of_webhook(selectors | {"rules": [rule("deployments")]}), request())


def test_an_equivalent_resource_is_matched_as_the_rule_names_it() -> None:
    asked = request("autoscaling/v1/horizontalpodautoscalers")
    wanted = rule("horizontalpodautoscalers", apiGroups=["autoscaling"], apiVersions=["v2"])
    assert matched(policy(wanted), asked) == "autoscaling/v2/horizontalpodautoscalers"
    assert not matched(policy(wanted, matchPolicy="Exact"), asked)
    assert not policy(wanted, matchPolicy="Exact").possible(asked.row, "", "CREATE", EQUIVALENTS)
    both = rule("horizontalpodautoscalers", apiGroups=["autoscaling"], apiVersions=["v2", "v1"])
    assert matched(policy(both), asked) == "autoscaling/v1/horizontalpodautoscalers"


def test_equivalents_follow_the_table() -> None:
    table = builtin_table()
    equivalents = Equivalents(table)
    row = table.by_path("autoscaling", "v2", "horizontalpodautoscalers")
    other = table.by_path("autoscaling", "v1", "horizontalpodautoscalers")
    assert row is not None
    assert other is not None
    assert list(equivalents.of(row, "")) == [other]
    table.remove(other)
    assert list(equivalents.of(row, "")) == []


SELECTED: JsonObject = {"matchLabels": {"team": "a"}}


@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        (request(), True),
        (request(namespace="other"), False),
        (request("/v1/nodes", namespace=""), True),
        (request("/v1/namespaces", "CREATE", "", labels={"team": "a"}), True),
        (request("/v1/namespaces", "CREATE", "", labels={"team": "b"}), False),
        (request("/v1/namespaces", "DELETE", "", name="default"), True),
        (request("/v1/namespaces", "DELETE", "", name="other"), False),
    ],
)
def test_a_namespace_selector_looks_at_the_namespace_of_the_object(asked: AdmissionRequest, answer: bool) -> None:
    matching = policy(rule("*", apiGroups=["*"]), namespaceSelector=SELECTED)
    assert bool(matched(matching, asked)) is answer


def test_a_namespace_that_is_missing_is_told_only_where_all_else_matches() -> None:
    asked = request(namespace="gone")
    assert not matched(policy(rule("pods", apiGroups=[""]), namespaceSelector=SELECTED), asked)
    with pytest.raises(ApiError, match='namespaces "gone" not found'):
        matched(policy(rule("deployments"), namespaceSelector=SELECTED), asked)


@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        (request(labels={"team": "a"}), True),
        (request(labels={"team": "b"}), False),
        (request(operation="UPDATE", labels={}, old_labels={"team": "a"}), True),
        (request(operation="DELETE", old_labels={"team": "a"}), True),
        (request(operation="DELETE", old_labels={}), False),
    ],
)
def test_an_object_selector_looks_at_the_object_before_and_after(asked: AdmissionRequest, answer: bool) -> None:
    assert bool(matched(policy(rule("*"), objectSelector=SELECTED), asked)) is answer


def test_what_has_no_metadata_is_not_selected() -> None:
    asked = request("/v1/pods/exec", "CONNECT")
    asked.obj, asked.old = {"command": ["sh"]}, None
    exec_rule = rule("pods/exec", apiGroups=[""])
    assert matched(policy(exec_rule), asked)
    absent: JsonObject = {"matchExpressions": [{"key": "team", "operator": "DoesNotExist"}]}
    assert not matched(policy(exec_rule, objectSelector=absent), asked)
