"""Nodes, namespaces, leases, events, and the table that finds their strategies."""

from __future__ import annotations

from typing import Any

import pytest
from strategy_objects import TABLE, changed, context_of, created, row_of, texts

from kube32_sim.api.strategies import strategy_for
from kube32_sim.api.strategies.base import Strategy
from kube32_sim.api.strategies.core import NamespaceStrategy
from kube32_sim.api.strategies.pods import PodStrategy

JsonObject = dict[str, Any]


def body(kind: str, api_version: str = "v1", **rest: Any) -> JsonObject:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": "n"}, **rest}


def test_the_table_finds_strategies() -> None:
    assert isinstance(strategy_for("", "Pod"), PodStrategy)
    assert type(strategy_for("example.com", "Unknown")) is Strategy
    assert not strategy_for("coordination.k8s.io", "Lease").unconditional_update
    assert TABLE.by_path("", "v1", "nodes").strategy is strategy_for("", "Node")  # type: ignore[union-attr]


def test_kinds_that_a_put_creates() -> None:
    """Upstream's strategies whose AllowCreateOnUpdate is true."""
    assert {row.kind for row in TABLE if row.strategy.create_on_update} == {
        *("ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"),
        *("Endpoints", "Event", "Lease", "LimitRange", "RuntimeClass", "Service"),
    }


def test_a_node_keeps_the_status_it_comes_with() -> None:
    node = body("Node", status={"capacity": {"cpu": "2", "esp32.io/gpio": "8"}}, spec={"podCIDR": "10.1.0.0/24"})
    made, failures, _ = created(node)
    assert not failures
    assert made["status"]["allocatable"] == made["status"]["capacity"] == {"cpu": "2", "esp32.io/gpio": "8"}
    assert made["spec"] == {"podCIDR": "10.1.0.0/24", "podCIDRs": ["10.1.0.0/24"]}
    assert made["status"]["daemonEndpoints"] == {"kubeletEndpoint": {"Port": 0}}


def test_a_node_is_reported_through_its_status() -> None:
    old = created(body("Node", spec={"unschedulable": True}))[0]
    report = body("Node", status={"capacity": {"cpu": "-1"}}, spec={"unschedulable": False})
    report["metadata"]["labels"] = {"written": "via-status"}
    new, failures = changed(old, report, "status")
    text = 'status.capacity.cpu: Invalid value: "-1": must be greater than or equal to 0'
    assert text in texts(failures)
    assert new["spec"]["unschedulable"] is True
    assert new["metadata"]["labels"] == {"written": "via-status"}
    kept, failures = changed(old, body("Node", status={"phase": "Running"}))
    assert not failures
    assert kept["status"] == old["status"]


def test_taints_are_checked() -> None:
    taints = [
        {"key": "a", "effect": "Odd"},
        {"key": "b"},
        {"key": "c", "effect": "NoExecute"},
        {"key": "c", "effect": "NoExecute"},
    ]
    assert texts(created(body("Node", spec={"taints": taints}))[1]) == [
        'metadata.taints[0].effect: Unsupported value: "Odd": supported values: "NoSchedule", "PreferNoSchedule", '
        '"NoExecute"',
        "metadata.taints[1].effect: Required value",
        'metadata.taints[3]: Duplicate value: {"Key":"c","Value":"","Effect":"NoExecute","TimeAdded":null}: taints '
        "must be unique by key and effect pair",
    ]


def test_a_node_keeps_its_provider_and_range() -> None:
    old = created(body("Node", spec={"providerID": "a", "podCIDR": "10.1.0.0/24"}))[0]
    found = texts(changed(old, body("Node", spec={"providerID": "b", "podCIDR": "10.2.0.0/24"}))[1])
    assert found == [
        'spec.podCIDRs: Forbidden: node updates may not change podCIDR except from "" to valid',
        'spec.providerID: Forbidden: node updates may not change providerID except from "" to valid',
    ]


def test_the_ranges_of_a_node_are_one_of_each_family() -> None:
    found = texts(created(body("Node", spec={"podCIDRs": ["10.1.0.0/24", "10.1.0.0/24", "x"]}))[1])
    assert [text.partition(": ")[0] for text in found] == ["spec.podCIDRs[2]", "spec.podCIDRs"]
    assert found[1].endswith("may specify no more than one CIDR for each IP family")


def test_the_features_of_a_node_are_in_order() -> None:
    old = created(body("Node"))[0]
    report = body("Node", status={"declaredFeatures": ["B", "A/b", "A/b", "c"]})
    found = texts(changed(old, report, "status")[1])
    assert found[:2] == [
        'status.declaredFeatures[1]: Invalid value: "A/b": list must be sorted alphabetically',
        'status.declaredFeatures[2]: Duplicate value: "A/b"',
    ]
    assert found[2].startswith('status.declaredFeatures[3]: Invalid value: "c": invalid feature name "c": must start')
    assert len(found) == 3


def test_a_report_names_an_address_once() -> None:
    old = created(body("Node"))[0]
    addresses = [{"type": "InternalIP", "address": "10.0.0.1"}] * 2
    assert texts(changed(old, body("Node", status={"addresses": addresses}), "status")[1]) == [
        'status.addresses[1]: Duplicate value: {"Type":"InternalIP","Address":"10.0.0.1"}'
    ]


def test_a_node_has_fields_that_mean_nothing_any_more() -> None:
    made, failures, warnings = created(body("Node", spec={"configSource": {}, "externalID": "x"}))
    assert not failures
    assert made["spec"] == {"externalID": "x"}
    assert warnings == ["spec.externalID: this field is deprecated, and is unused by Kubernetes"]
    assert texts(changed(made, body("Node", spec={"externalID": "y"}))[1]) == [
        "spec.externalID: Forbidden: may not be updated"
    ]


def test_a_namespace_begins_active() -> None:
    made, failures, _ = created(body("Namespace", status={"phase": "Terminating"}))
    assert not failures
    assert made["metadata"]["labels"] == {"kubernetes.io/metadata.name": "n"}
    assert made["spec"] == {"finalizers": ["kubernetes"]}
    assert made["status"] == {"phase": "Active"}


def test_a_namespace_ends_in_two_steps() -> None:
    strategy = NamespaceStrategy()
    made = created(body("Namespace"))[0]
    going = {**made, "metadata": {**made["metadata"], "deletionTimestamp": "t", "deletionGracePeriodSeconds": 0}}
    strategy.mark_deleting(going)
    assert going["status"] == {"phase": "Terminating"}
    assert "deletionGracePeriodSeconds" not in going["metadata"]
    assert made["status"] == {"phase": "Active"}
    assert not strategy.releasable(going)
    finalized, failures = changed(made, body("Namespace", spec={"finalizers": []}), "finalize")
    assert not failures
    assert finalized["spec"] == {}
    assert strategy.releasable(finalized)


def test_an_ordinary_write_keeps_a_namespace_s_finalizers() -> None:
    old = created(body("Namespace"))[0]
    assert changed(old, body("Namespace", spec={"finalizers": []}))[0]["spec"] == {"finalizers": ["kubernetes"]}


def test_the_phase_follows_the_deletion() -> None:
    old = created(body("Namespace"))[0]
    found = texts(changed(old, body("Namespace", status={"phase": "Terminating"}), "status")[1])
    assert found == [
        "status.Phase: Invalid value: \"Terminating\": may only be 'Active' if `deletionTimestamp` is empty"
    ]


def test_leases() -> None:
    spec = {"leaseDurationSeconds": 0, "leaseTransitions": -1}
    assert texts(created(body("Lease", "coordination.k8s.io/v1", spec=spec))[1]) == [
        "spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0",
        "spec.leaseTransitions: Invalid value: -1: must be greater than or equal to 0",
    ]
    good = {"holderIdentity": "", "leaseDurationSeconds": 15, "renewTime": "2026-01-01T00:00:00.000000Z"}
    assert not created(body("Lease", "coordination.k8s.io/v1", spec=good))[1]


def test_leases_have_no_coordinated_election() -> None:
    asked = body(
        "Lease", "coordination.k8s.io/v1", spec={"holderIdentity": "a", "preferredHolder": "b", "strategy": "s"}
    )
    lease, failures, _ = created(asked)
    assert (lease["spec"], failures) == ({"holderIdentity": "a"}, [])
    assert changed(lease, asked)[0]["spec"] == {"holderIdentity": "a"}


def test_service_accounts_keep_the_names_of_their_secrets() -> None:
    secrets = [{"name": "a", "namespace": "other", "kind": "Secret"}, {"uid": "1"}]
    account = created(body("ServiceAccount", secrets=secrets))[0]
    assert account["secrets"] == [{"name": "a"}, {}]
    assert changed(account, body("ServiceAccount", secrets=secrets))[0]["secrets"] == [{"name": "a"}, {}]


def test_an_annotation_of_service_accounts_is_deprecated() -> None:
    account = body("ServiceAccount")
    account["metadata"]["annotations"] = {"kubernetes.io/enforce-mountable-secrets": "true"}
    old, _, told = created(account)
    assert told == [
        "metadata.annotations[kubernetes.io/enforce-mountable-secrets]: deprecated in v1.32+; "
        "prefer separate namespaces to isolate access to mounted secrets"
    ]
    assert strategy_for("", "ServiceAccount").warnings(old, old, context_of(row_of(account), account)) == []


def event(**rest: Any) -> list[str]:
    about = {"kind": "Pod", "name": "p", "namespace": "ns"}
    return texts(created(body("Event", **{"involvedObject": about, "reason": "R", "message": "m", **rest}))[1])


def test_events_are_where_their_object_is() -> None:
    assert event() == []
    mismatch = 'involvedObject.namespace: Invalid value: "{}": does not match event.namespace'
    assert event(involvedObject={"kind": "Node", "name": "n"}) == [mismatch.format("")]
    assert event(involvedObject={"kind": "Pod", "name": "p", "namespace": "x"}) == [mismatch.format("x")]


@pytest.mark.parametrize("missing", ["reportingInstance", "action", "reason"])
def test_events_with_a_time_say_who_reports(missing: str) -> None:
    full = {
        "eventTime": "2026-01-01T00:00:00.000000Z",
        "reportingComponent": "example.com/ctl",
        "reportingInstance": "ctl-1",
        "action": "Binding",
    }
    assert event(**full) == []
    assert event(**{**full, missing: ""}) == [f"{missing}: Required value"]
    assert event(**{**full, missing: "x" * 129}) == [f'{missing}: Invalid value: "": can have at most 128 characters']


@pytest.mark.parametrize(
    ("api_version", "shown"), [("v1", "reportingComponent"), ("events.k8s.io/v1", "reportingController")]
)
def test_the_reporter_is_called_as_the_request_s_group_calls_it(api_version: str, shown: str) -> None:
    asked = body("Event", api_version, eventTime="2026-01-01T00:00:00.000000Z", reportingInstance="i")
    about = {"kind": "Pod", "namespace": "ns"}
    asked |= {"action": "A", "reason": "R", "type": "Normal"}
    asked["involvedObject" if api_version == "v1" else "regarding"] = about
    assert f"{shown}: Required value" in texts(created(asked)[1])


def test_events_of_the_new_group_are_named_as_other_objects() -> None:
    wrong = {"name": "Not_Good", "generateName": "Not_"}
    found = {
        api_version: [
            str(each).partition(":")[0]
            for each in created({"apiVersion": api_version, "kind": "Event", "metadata": dict(wrong)})[1]
        ]
        for api_version in ("v1", "events.k8s.io/v1")
    }
    assert not any(each.startswith("metadata") for each in found["v1"])
    assert [each for each in found["events.k8s.io/v1"] if each.startswith("metadata")] == [
        "metadata.generateName",
        "metadata.name",
    ]


@pytest.mark.parametrize(
    ("change", "shown"),
    [
        (
            {"involvedObject": {"kind": "Pod", "name": "q", "namespace": "ns", "uid": "u"}},
            'involvedObject: Invalid value: {"Kind":"Pod","Namespace":"ns","Name":"q","UID":"u","APIVersion":"",'
            '"ResourceVersion":"","FieldPath":""}: field is immutable',
        ),
        ({"source": {"component": "c"}}, 'source: Invalid value: {"Component":"c","Host":""}: field is immutable'),
        ({"related": None}, "related: Invalid value: null: field is immutable"),
        ({"reason": "S"}, 'reason: Invalid value: "S": field is immutable'),
    ],
)
def test_what_an_event_tells_does_not_change(change: Any, shown: str) -> None:
    about = {"kind": "Pod", "name": "p", "namespace": "ns"}
    old = {"metadata": {"name": "e", "namespace": "ns"}, "involvedObject": about, "reason": "R", "source": {}}
    old["related"] = about
    row = row_of({"apiVersion": "events.k8s.io/v1", "kind": "Event"})
    found = texts(row.strategy.validate_update({**old, **change}, old, context_of(row, old)))
    assert set(found) == {shown}
    assert len(found) == (2 if "reason" in change else 1)
