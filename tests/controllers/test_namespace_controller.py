"""Namespaces that are being deleted, and the `default` ServiceAccount of those that are not."""

from kube32_controllers import namespace_controller
from kube32_controllers.namespace_controller import Content, plan_namespace
from kube32_controllers.serviceaccount_controller import SERVICE_ACCOUNTS, ServiceAccountController
from workload_objects import NOW, FakeView

from kube32_sim.api.builtin import builtin_table
from kube32_sim.client import NAMESPACES, PODS
from kube32_sim.cluster import Cluster
from kube32_sim.runtime.actions import Create, Delete, Patch, Update
from tests.support.objects import MAPS

TABLE = builtin_table()
POD_ROW = TABLE.by_kind("", "v1", "Pod")
DEPLOYMENT_ROW = TABLE.by_kind("apps", "v1", "Deployment")


def make_namespace(*, deleting=True, finalizers=("kubernetes",)):
    metadata = {"name": "a", "uid": "uid-a", "resourceVersion": "9"}
    if deleting:
        metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    return {"metadata": metadata, "spec": {"finalizers": list(finalizers)}, "status": {"phase": "Terminating"}}


def item(name, *, deleting=False, finalizers=()):
    metadata = {"name": name, "namespace": "a", "uid": f"uid-{name}"}
    if deleting:
        metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    if finalizers:
        metadata["finalizers"] = list(finalizers)
    return {"metadata": metadata}


def test_content_is_deleted():
    content = [Content(POD_ROW, [item("p"), item("q", deleting=True)]), Content(DEPLOYMENT_ROW, [item("d")])]
    *deletes, patch = plan_namespace(make_namespace(), content, NOW).actions
    assert all(isinstance(action, Delete) and action.others_go_on for action in deletes)
    assert patch.patch == {}, "nothing is told where all of them are deleted"
    told = {each["type"]: each for each in patch.if_refused["status"]["conditions"]}
    failure = told["NamespaceDeletionContentFailure"]
    assert (failure["status"], failure["reason"]) == ("True", "ContentDeletionFailed")
    assert failure["message"] == "Failed to delete all resource types, 2 remaining: {error}"
    assert [(action.resource.plural, action.namespace, action.name, action.uid) for action in deletes] == [
        ("pods", "a", "p", "uid-p"),
        ("deployments", "a", "d", "uid-d"),
    ]


def test_an_empty_namespace_is_finalized_of_its_own_finalizer_only():
    (update,) = plan_namespace(make_namespace(finalizers=["kubernetes", "example.com/x"]), [], NOW).actions
    assert isinstance(update, Update)
    assert update.subresource == "finalize"
    assert update.obj["spec"]["finalizers"] == ["example.com/x"]
    assert update.obj["metadata"]["resourceVersion"] == "9"


def test_nothing_is_done_for_a_namespace_in_use_or_done_with():
    assert plan_namespace(make_namespace(deleting=False), [], NOW).actions == ()
    assert plan_namespace(make_namespace(finalizers=[]), [], NOW).actions == ()


def test_what_remains_is_told_in_conditions_once():
    namespace = make_namespace()
    content = [
        Content(POD_ROW, [item("p", deleting=True, finalizers=["x.example/y"]), item("q", deleting=True)]),
        Content(DEPLOYMENT_ROW, [item("d", deleting=True, finalizers=["x.example/y"])]),
    ]
    (patch,) = plan_namespace(namespace, content, NOW).actions
    assert isinstance(patch, Patch)
    conditions = patch.patch["status"]["conditions"]
    found = {one["type"]: (one["status"], one["reason"], one["message"]) for one in conditions}
    assert found["NamespaceContentRemaining"] == (
        "True",
        "SomeResourcesRemain",
        "Some resources are remaining: pods. has 2 resource instances, deployments.apps has 1 resource instances",
    )
    assert found["NamespaceFinalizersRemaining"] == (
        "True",
        "SomeFinalizersRemain",
        "Some content in the namespace has finalizers remaining: x.example/y in 2 resource instances",
    )
    assert found["NamespaceDeletionContentFailure"][:2] == ("False", "ContentDeleted")
    namespace["status"]["conditions"] = conditions
    assert plan_namespace(namespace, content, NOW + 60).actions == ()


def test_every_active_namespace_gets_a_default_service_account():
    active, leaving = make_namespace(deleting=False), make_namespace()
    loop = ServiceAccountController()
    view = FakeView({NAMESPACES: [active]})
    assert list(loop.keys(NAMESPACES, active, view)) == ["a"]
    (create,) = loop.plan("a", view, NOW).actions
    assert isinstance(create, Create)
    assert create.obj["metadata"] == {"name": "default", "namespace": "a"}
    assert loop.plan("a", FakeView({NAMESPACES: [leaving]}), NOW).actions == ()
    account = item("default")
    assert loop.plan("a", FakeView({NAMESPACES: [active], SERVICE_ACCOUNTS: [account]}), NOW).actions == ()


def test_a_deleted_default_service_account_is_looked_at_others_are_not():
    loop, view = ServiceAccountController(), FakeView({})
    assert list(loop.keys(SERVICE_ACCOUNTS, item("default"), view)) == ["a"]
    assert list(loop.keys(SERVICE_ACCOUNTS, item("other"), view)) == []
    assert PODS not in loop.watches


async def test_a_large_namespace_is_emptied_step_by_step(monkeypatch):
    monkeypatch.setattr(namespace_controller, "MOST_AT_ONCE", 20)
    told = []

    def noted(namespace, content, now):
        told.append(sum(len(kind.objects) for kind in content))
        return plan_namespace(namespace, content, now)

    monkeypatch.setattr(namespace_controller, "plan_namespace", noted)
    async with Cluster(nodes=0, clock="virtual") as cluster:
        await cluster.client.create(NAMESPACES, "", {"metadata": {"name": "large"}})
        for number in range(110):
            metadata = {"name": f"m{number:03}", "finalizers": ["x.example/y"] if number < 30 else []}
            await cluster.client.create(MAPS, "large", {"metadata": metadata})
        await cluster.client.delete(NAMESPACES, "", "large")
        await cluster.settle()
        left = [stored.name for stored in cluster.store.list(("", "configmaps"), "large")]
        assert left == [f"m{number:03}" for number in range(30)]
        conditions = (await cluster.client.get(NAMESPACES, "", "large"))["status"]["conditions"]
        assert "configmaps. has 30 resource instances" in str(conditions)
        assert len(told) > 5
        assert max(told) < 40, "never all of them at once"
        for name in left:
            await cluster.client.patch(MAPS, "large", name, {"metadata": {"finalizers": None}})
        await cluster.settle()
        assert cluster.store.get(("", "namespaces"), "large") is None
