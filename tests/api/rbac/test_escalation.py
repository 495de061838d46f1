"""Who hands out permissions must hold them: what covers what, and what is told of the rest."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

from kube32_sim.api.authorization import Authorizer, Chain
from kube32_sim.api.errors import ApiError
from kube32_sim.api.rbac.aggregation import aggregated
from kube32_sim.api.rbac.covering import described, uncovered
from kube32_sim.api.rbac.escalation import check_binding, check_role
from kube32_sim.api.rbac.policy import Policy
from kube32_sim.api.users import ADMIN, User
from tests.support.rbac import binding, rule

JsonObject = dict[str, Any]
GROUP = "rbac.authorization.k8s.io"


@pytest.mark.parametrize(
    ("held", "wanted", "missing"),
    [
        (rule("*", "*", "*"), rule("get,list", "pods,pods/log", ",apps"), []),
        (rule("get", "*/log,pods"), rule("get", "pods/log,pods"), []),
        (rule("get", "*/log"), rule("get", "pods"), ['{APIGroups:[""], Resources:["pods"], Verbs:["get"]}']),
        (
            rule("get", "pods"),
            rule("get,list,watch", "pods,nodes"),
            [
                '{APIGroups:[""], Resources:["nodes"], Verbs:["get" "list" "watch"]}',
                '{APIGroups:[""], Resources:["pods"], Verbs:["list" "watch"]}',
            ],
        ),
        (rule("get", "pods", names="a,b"), rule("get", "pods", names="a"), []),
        (
            rule("get", "pods", names="a"),
            rule("get", "pods", names="a,c"),
            ['{APIGroups:[""], Resources:["pods"], ResourceNames:["c"], Verbs:["get"]}'],
        ),
        (rule("get", "pods", names="a"), rule("get", "pods"), ['{APIGroups:[""], Resources:["pods"], Verbs:["get"]}']),
        (rule("get", urls="/api/*"), rule("get", urls="/api/v1"), []),
        (rule("get", urls="/api/*"), rule("get", urls="/apis"), ['{NonResourceURLs:["/apis"], Verbs:["get"]}']),
        (rule("*", "*", "*"), rule("get", urls="/api"), ['{NonResourceURLs:["/api"], Verbs:["get"]}']),
        (rule("get", "pods"), rule("*", "pods"), ['{APIGroups:[""], Resources:["pods"], Verbs:["*"]}']),
    ],
)
def test_what_covers_what(held: JsonObject, wanted: JsonObject, missing: list[str]) -> None:
    assert described(uncovered([held], [wanted])) == missing


def test_several_rules_cover_together_what_none_does_alone() -> None:
    held = [rule("get", "pods"), rule("list", "pods,nodes")]
    assert uncovered(held, [rule("get,list", "pods")]) == []


def test_of_thousands_of_rules_those_that_cover_are_found_at_once() -> None:
    """One by one this would be 400 million comparisons."""
    held = [rule("get,list", f"r{number}", f"g{number}", names=f"n{number}") for number in range(10_000)]
    assert uncovered(held, held) == []
    other = [rule("get,list", f"r{number}", f"g{number + 1}", names=f"n{number}") for number in range(5_000)]
    assert len(uncovered(held, other)) == 10_000


def test_a_rule_of_very_many_parts_is_not_taken_apart_where_another_covers_it() -> None:
    many = rule(*(",".join(f"{what}{number}" for number in range(300)) for what in "vrg"))
    assert uncovered([rule("get", "pods"), many], [many] * 100) == []


class Asking(NamedTuple):
    authorizer: Authorizer
    user: User = User("ann", "", ("devs",))
    namespace: str = ""
    name: str = "r"


def asking(*rules: JsonObject, **fields: Any) -> Asking:
    policy = Policy()
    policy.put_role("", "own", rules)
    policy.put_binding("", "own", binding("own", "own", "User:ann"))
    policy.put_role("ns", "reader", [rule("get", "secrets")])
    return Asking(Chain([policy]), **fields)


def role(*rules: JsonObject, **fields: Any) -> JsonObject:
    return {"metadata": {"name": "r"}, "rules": list(rules), **fields}


def refusal(error: pytest.ExceptionInfo[ApiError]) -> tuple[int, str]:
    return error.value.code, error.value.message


ATTEMPT = (
    'is forbidden: user "ann" (groups=["devs"]) is attempting to grant RBAC permissions not currently held:\n'
    '{APIGroups:[""], Resources:["pods"], Verbs:["get"]}'
)


def test_a_role_gives_no_more_than_its_writer_has() -> None:
    with pytest.raises(ApiError) as error:
        check_role(role(rule("get", "pods")), None, asking(), "clusterroles")
    assert refusal(error) == (403, f'clusterroles.{GROUP} "r" {ATTEMPT}')
    check_role(role(rule("get", "pods")), None, asking(rule("get", "pods")), "clusterroles")
    check_role(role(rule("get", "pods")), None, asking(user=ADMIN), "clusterroles")


def test_who_may_escalate_may_write_any_role() -> None:
    may = rule("escalate", "clusterroles", GROUP, names="r")
    new, old = role(rule("get", "pods")), role()
    check_role(new, old, asking(may), "clusterroles")
    with pytest.raises(ApiError):
        check_role(new, old, asking(may, name="other"), "clusterroles")
    with pytest.raises(ApiError):  # a new object has no name yet
        check_role(new, None, asking(may), "clusterroles")


def test_broken_bindings_are_told_with_the_refusal() -> None:
    given = asking()
    given.authorizer.holdings.put_binding("", "x", binding("x", "gone", "User:ann"))  # type: ignore[attr-defined]
    with pytest.raises(ApiError) as error:
        check_role(role(rule("get", "pods")), None, given, "clusterroles")
    assert error.value.message.endswith(f'; resolution errors: [clusterrole.{GROUP} "gone" not found]')


def test_only_who_may_do_everything_aggregates() -> None:
    whole = role(aggregationRule={"clusterRoleSelectors": []})
    message = f'clusterroles.{GROUP} "r" is forbidden: must have cluster-admin privileges to use the aggregationRule'
    for new, old in ((whole, None), (whole, role()), (role(), whole)):
        with pytest.raises(ApiError) as error:
            check_role(new, old, asking(rule("get", "*", "*")), "clusterroles")
        assert refusal(error) == (403, message)
    check_role(whole, None, asking(rule("escalate", "clusterroles", GROUP)), "clusterroles")


def test_clearing_away_is_no_handing_out() -> None:
    old = role(rule("get", "pods"))
    new = {**old, "metadata": {"name": "r", "finalizers": ["x"], "ownerReferences": [], "resourceVersion": "9"}}
    check_role(new, old, asking(), "clusterroles")
    with pytest.raises(ApiError):
        check_role({**old, "metadata": {"name": "r", "labels": {"a": "b"}}}, old, asking(), "clusterroles")


@pytest.mark.parametrize("held", [rule("bind", "roles", GROUP), rule("get", "secrets"), rule("*", "*", "*")])
def test_who_may_bind_a_role(held: JsonObject) -> None:
    check_binding(binding("b", "reader", kind="Role"), None, asking(held, namespace="ns"), "rolebindings")


def test_who_may_not_bind_a_role() -> None:
    given = asking(rule("bind", "clusterroles", GROUP), rule("bind", "roles", GROUP, names="else"), namespace="ns")
    with pytest.raises(ApiError) as error:
        check_binding(binding("b", "reader", kind="Role"), None, given, "rolebindings")
    text = ATTEMPT.replace("pods", "secrets")
    assert refusal(error) == (403, f'rolebindings.{GROUP} "b" {text}')


def test_a_role_that_is_not_there_is_bound_by_who_may_bind_only() -> None:
    unknown = binding("b", "gone")
    with pytest.raises(ApiError) as error:
        check_binding(unknown, None, asking(), "clusterrolebindings")
    assert refusal(error) == (404, f'clusterroles.{GROUP} "gone" not found')
    check_binding(unknown, None, asking(rule("bind", "clusterroles", GROUP, names="gone")), "clusterrolebindings")


def labelled(name: str, *rules: JsonObject, **labels: str) -> JsonObject:
    return {"metadata": {"name": name, "labels": labels}, "rules": list(rules)}


def test_a_role_is_made_of_others_by_their_names_order() -> None:
    first, second, third = rule("get", "a"), rule("get", "b"), rule("get", "c")
    selectors = [{"matchLabels": {"two": "x"}}, {"matchExpressions": [{"key": "one", "operator": "Exists"}]}]
    whole = {**labelled("whole", third, one="x"), "aggregationRule": {"clusterRoleSelectors": selectors}}
    others = [labelled("z", first, one="x"), labelled("a", second, first, one="y"), labelled("m", second, two="x")]
    assert aggregated(whole, [*others, whole, labelled("n", third)]) == [second, first]


def test_a_role_is_made_of_very_many_rules_at_once() -> None:
    """Each compared with each other one this would be 200 million comparisons."""
    rules = [rule("get", f"r{number}") for number in range(20_000)]
    whole = {**labelled("whole"), "aggregationRule": {"clusterRoleSelectors": [{}]}}
    assert aggregated(whole, [labelled("a", *rules), labelled("b", *rules)]) == rules
