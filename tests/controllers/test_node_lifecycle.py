"""Node lifecycle: pure decisions first, then what of the loop tests/rules/test_node_lifecycle.py cannot show."""

from math import inf

import pytest
from control_plane import control_plane
from kube32_controllers.node_lifecycle_controller import NodeLifecycle, Observed, Timeouts, reconcile
from kube32_controllers.taint_eviction import UNREACHABLE, evicted, leaves_at, tolerated_seconds
from scheduling_objects import node, pod

from kube32_sim.client import LEASES, NODES, PODS
from kube32_sim.clock import EPOCH, rfc3339, rfc3339_micro
from kube32_sim.runtime.actions import Delete, Emit, Patch, Plan, Update

NOW = EPOCH + 100
NO_SCHEDULE = {"key": UNREACHABLE, "effect": "NoSchedule"}


def no_execute(added):
    return {"key": UNREACHABLE, "effect": "NoExecute", "timeAdded": rfc3339(added)}


def tolerates(seconds=None, **fields):
    toleration = {"key": UNREACHABLE, "operator": "Exists", "effect": "NoExecute", **fields}
    return toleration if seconds is None else {**toleration, "tolerationSeconds": seconds}


def down(*taints, since=NOW, **args):
    obj = node("n", **args)
    condition = {
        "type": "Ready",
        "status": "Unknown",
        "reason": "NodeStatusUnknown",
        "lastTransitionTime": rfc3339(since),
    }
    obj["status"]["conditions"] = [condition]
    obj["spec"]["taints"] = list(taints)
    return obj


def told(plan):
    return [action.reason for action in plan.actions if isinstance(action, Emit)]


# one node


def test_a_node_that_renews_is_left_alone_until_it_could_be_lost():
    assert reconcile(Observed(node("n"), NOW + 7, None), 15.0, NOW) == Plan((), NOW + 7)


def test_stage_1_unknown_no_schedule_and_node_not_ready():
    obj = node("n")
    obj["spec"]["taints"] = [{"key": "mine", "effect": "NoSchedule"}]
    update, patch, event = (plan := reconcile(Observed(obj, NOW, None), 15.0, NOW)).actions
    assert isinstance(update, Update)
    assert update.subresource == "status"
    assert update.obj["status"]["conditions"] == [
        {
            "type": "Ready",
            "status": "Unknown",
            "reason": "NodeStatusUnknown",
            "message": "Kubelet stopped posting node status.",
            "lastTransitionTime": rfc3339(NOW),
        }
    ]
    assert patch == Patch(NODES, "", "n", {"spec": {"taints": [{"key": "mine", "effect": "NoSchedule"}, NO_SCHEDULE]}})
    about = {"kind": "Node", "apiVersion": "v1", "name": "n", "uid": "uid-n"}
    assert event == Emit(about, "Normal", "NodeNotReady", "Node n status is now: NodeNotReady", "node-controller")
    assert plan.again_at == NOW + 15


def test_stage_1_of_a_node_that_never_said_anything():
    obj = {"metadata": {"name": "n", "uid": "u"}, "spec": {}, "status": {}}
    update = reconcile(Observed(obj, NOW, None), 15.0, NOW).actions[0]
    (condition,) = update.obj["status"]["conditions"]
    assert (condition["status"], condition["message"]) == ("Unknown", "Kubelet never posted node status.")


def test_stage_2_no_execute_with_time_added():
    obj = down(NO_SCHEDULE)
    assert reconcile(Observed(obj, NOW, NOW), 15.0, NOW + 14) == Plan((), NOW + 15)
    plan = reconcile(Observed(obj, NOW, NOW), 15.0, NOW + 15)
    assert plan == Plan((Patch(NODES, "", "n", {"spec": {"taints": [NO_SCHEDULE, no_execute(NOW + 15)]}}),), None)


def test_stage_2_may_come_with_stage_1():
    plan = reconcile(Observed(node("n"), NOW, None), 0.0, NOW)
    assert plan.actions[1].patch == {"spec": {"taints": [NO_SCHEDULE, no_execute(NOW)]}}


def test_stage_3_evicts_whose_toleration_has_expired_and_waits_for_the_next():
    pods = (
        pod("now", tolerations=[tolerates(300)], node_name="n", phase="Running"),
        pod("later", tolerations=[tolerates(400)], node_name="n", phase="Running"),
        pod("never", tolerations=[tolerates()], node_name="n", phase="Running"),
        pod("none", node_name="n", phase="Running"),
    )
    obj = down(NO_SCHEDULE, no_execute(NOW))
    plan = reconcile(Observed(obj, NOW, NOW, pods), 15.0, NOW + 300)
    assert [action.obj["metadata"]["name"] for action in plan.actions if isinstance(action, Update)] == ["none", "now"]
    assert told(plan) == ["Evicted", "Evicted"]
    assert plan.again_at == NOW + 400


def test_a_taint_in_place_is_never_put_on_again():
    obj = down(no_execute(NOW - 50), NO_SCHEDULE)
    assert reconcile(Observed(obj, NOW, NOW), 15.0, NOW + 100) == Plan()


def test_a_taint_without_time_gets_one():
    obj = down(NO_SCHEDULE, {"key": UNREACHABLE, "effect": "NoExecute"})
    (patch,) = reconcile(Observed(obj, NOW, NOW), 15.0, NOW + 20).actions
    assert patch.patch["spec"]["taints"] == [NO_SCHEDULE, no_execute(NOW + 20)]


def test_time_added_tells_whole_seconds_only_and_what_was_due_is_more_exact():
    pods = (pod("p", tolerations=[tolerates(300)], node_name="n", phase="Running"),)
    obj = down(NO_SCHEDULE, no_execute(NOW + 15))
    assert reconcile(Observed(obj, NOW, NOW + 0.7, pods), 15.0, NOW + 315.6) == Plan((), NOW + 315.7)
    assert told(reconcile(Observed(obj, NOW, NOW + 0.7, pods), 15.0, NOW + 315.7)) == ["Evicted"]
    assert told(reconcile(Observed(obj, NOW, NOW - 20, pods), 15.0, NOW + 315)) == ["Evicted"]


def test_a_taint_from_the_future_is_dated_anew():
    """The clock was set back: pods are not to wait until it is there again."""
    pods = (pod("p", tolerations=[tolerates(300)], node_name="n", phase="Running"),)
    obj = down(NO_SCHEDULE, no_execute(NOW + 3600), since=NOW + 3500)
    plan = reconcile(Observed(obj, NOW, NOW + 3500, pods), 15.0, NOW)
    (patch,) = plan.actions
    assert patch.patch == {"spec": {"taints": [NO_SCHEDULE, no_execute(NOW)]}}
    assert plan.again_at == NOW + 300


def test_only_what_the_kubelet_alone_can_know_is_unknown():
    obj = node("n")
    obj["status"]["conditions"] = [
        {"type": kind, "status": "False"} for kind in ("DiskPressure", "NetworkUnavailable", "Mine")
    ]
    conditions = reconcile(Observed(obj, NOW, None), 15.0, NOW).actions[0].obj["status"]["conditions"]
    assert [(one["type"], one["status"]) for one in conditions] == [
        ("DiskPressure", "Unknown"),
        ("NetworkUnavailable", "False"),
        ("Mine", "False"),
        ("Ready", "Unknown"),
    ]


def test_recovery_clears_both_taints_and_says_node_ready():
    obj = down(NO_SCHEDULE, {"key": "mine", "effect": "NoExecute"}, no_execute(NOW))
    plan = reconcile(Observed(obj, NOW + 50, NOW), 15.0, NOW + 40)
    update, patch, event = plan.actions
    assert update.obj["status"]["conditions"][0]["status"] == "True"
    assert update.obj["status"]["conditions"][0]["lastTransitionTime"] == rfc3339(NOW + 40)
    assert patch.patch == {"spec": {"taints": [{"key": "mine", "effect": "NoExecute"}]}}
    assert event.reason == "NodeReady"
    assert plan.again_at == NOW + 50


def test_recovery_leaves_the_condition_to_a_kubelet_that_has_reported():
    obj = node("n")
    obj["spec"]["taints"] = [NO_SCHEDULE]
    patch, event = reconcile(Observed(obj, NOW + 50, None), 15.0, NOW).actions
    assert patch == Patch(NODES, "", "n", {"spec": {"taints": None}})
    assert event.reason == "NodeReady"


# one pod


@pytest.mark.parametrize(
    ("tolerations", "seconds"),
    [
        ([], 0),
        ([tolerates(300)], 300),
        ([tolerates(0)], 0),
        ([tolerates(-5)], 0),
        ([tolerates()], inf),
        ([tolerates(effect="")], inf),
        ([{"operator": "Exists"}], inf),
        ([tolerates(effect="NoSchedule")], 0),
        ([tolerates(key="node.kubernetes.io/not-ready")], 0),
        ([tolerates(operator="Equal", value="x")], 0),
        ([tolerates(7, operator="Equal", value="")], 7),
        ([tolerates(7, operator="")], 7),
        ([{"operator": "Equal", "effect": "NoExecute"}], 0),
        ([tolerates(10), tolerates(20)], 10),
        ([tolerates(effect="NoSchedule"), tolerates(20)], 20),
    ],
)
def test_tolerations(tolerations, seconds):
    assert tolerated_seconds(pod("p", tolerations=tolerations)) == seconds


def owned_by(kind, group="apps"):
    obj = pod("p")
    owner = {"apiVersion": f"{group}/v1", "kind": kind, "name": "o", "uid": "o", "controller": True}
    obj["metadata"]["ownerReferences"] = [owner]
    return obj


def test_finished_and_daemonset_pods_stay():
    assert leaves_at(pod("p", phase="Succeeded"), NOW) == inf
    assert leaves_at(pod("p", phase="Failed"), NOW) == inf
    assert leaves_at(owned_by("DaemonSet"), NOW) == inf
    assert leaves_at(owned_by("Job", "batch"), NOW) == NOW
    assert leaves_at(owned_by("DaemonSet", "example.com"), NOW) == NOW


def test_what_an_evicted_pod_looks_like():
    conditions = [
        {"type": kind, "status": "True"} for kind in ("Initialized", "Ready", "ContainersReady", "PodScheduled", "Own")
    ]
    life = {
        "conditions": conditions,
        "podIP": "10.0.0.1",
        "podIPs": [{"ip": "10.0.0.1"}],
        "hostIP": "1.1.1.1",
        "containerStatuses": [{}],
        "qosClass": "Burstable",
    }
    before = pod("p", node_name="n", phase="Running", status=life)
    after = evicted(before, "why", rfc3339(NOW))
    assert "nodeName" not in after["spec"]
    assert after["status"] == {
        "phase": "Pending",
        "reason": "Evicted",
        "message": "why",
        "qosClass": "Burstable",
        "conditions": [
            {"type": "PodScheduled", "status": "False", "lastTransitionTime": rfc3339(NOW)},
            {"type": "Own", "status": "True"},
            {
                "type": "DisruptionTarget",
                "status": "True",
                "reason": "DeletionByTaintManager",
                "message": "why",
                "lastTransitionTime": rfc3339(NOW),
            },
        ],
    }
    assert before["spec"]["nodeName"] == "n"
    assert before["status"]["podIP"] == "10.0.0.1"


def test_terminating_pods_are_removed_when_their_toleration_expires():
    leaving = pod("p", tolerations=[tolerates(300)], node_name="n", phase="Running")
    leaving["metadata"]["deletionTimestamp"] = rfc3339(NOW)
    seen = Observed(down(NO_SCHEDULE, no_execute(NOW)), NOW, NOW, (leaving,))
    assert reconcile(seen, 15.0, NOW + 299) == Plan((), NOW + 300)
    assert reconcile(seen, 15.0, NOW + 300).actions == (Delete(PODS, "default", "p", "uid-p", grace_period_seconds=0),)


# readiness


def ready_pod(name="p", since=NOW - 50, status="True", containers="True", **condition):
    when = {"lastTransitionTime": rfc3339(since)}
    conditions = [
        {"type": "Ready", "status": status, **when, **condition},
        {"type": "ContainersReady", "status": containers, **when},
    ]
    return pod(name, node_name="n", phase="Running", status={"conditions": conditions}, tolerations=[tolerates()])


def marked(plan):
    """Which pods the plan makes ready or not, and since when."""
    updates = [action.obj for action in plan.actions if isinstance(action, Update) and "phase" in action.obj["status"]]
    conditions = [(each["metadata"]["name"], each["status"]["conditions"][0]) for each in updates]
    return [(name, one["status"], one["lastTransitionTime"]) for name, one in conditions]


def test_pods_of_a_node_that_is_given_up_are_not_ready():
    pods = (ready_pod(), ready_pod("not", status="False"), pod("pending", tolerations=[tolerates()]))
    plan = reconcile(Observed(node("n"), NOW, None, pods), 15.0, NOW)
    assert marked(plan) == [("p", "False", rfc3339(NOW))]
    assert told(plan) == ["NodeNotReady", "NodeNotReady"]
    assert plan.actions[-1].about["kind"] == "Pod"
    assert (plan.actions[-1].type, plan.actions[-1].message) == ("Warning", "Node is not ready")


def test_a_pod_that_is_missed_is_marked_later_and_one_that_became_ready_since_is_not():
    pods = (ready_pod("missed"), ready_pod("since", since=NOW + 3))
    plan = reconcile(Observed(down(NO_SCHEDULE), NOW, NOW, pods), 15.0, NOW + 5)
    assert marked(plan) == [("missed", "False", rfc3339(NOW + 5))]


def test_a_pod_that_leaves_at_once_is_not_marked_before():
    leaving = ready_pod()
    leaving["spec"]["tolerations"] = []
    plan = reconcile(Observed(node("n"), NOW, None, (leaving,)), 0.0, NOW)
    assert told(plan) == ["NodeNotReady", "Evicted"]


def test_pods_of_a_node_that_is_back_are_ready_again_unless_their_kubelet_says_why_not():
    pods = (
        ready_pod("mine", status="False"),
        ready_pod("gate", status="False", reason="ReadinessGatesNotReady"),
        ready_pod("containers", status="False", containers="False"),
        ready_pod("ready"),
    )
    plan = reconcile(Observed(down(NO_SCHEDULE), NOW + 50, NOW, pods), 15.0, NOW + 20)
    assert marked(plan) == [("mine", "True", rfc3339(NOW + 20))]
    assert told(plan) == ["NodeReady"]


def test_a_pod_that_is_held_by_finalizers_is_not_removed_again():
    held = pod("p", node_name="n", phase="Running")
    held["metadata"] |= {"deletionTimestamp": rfc3339(NOW), "deletionGracePeriodSeconds": 0}
    assert reconcile(Observed(down(NO_SCHEDULE, no_execute(NOW)), NOW, NOW, (held,)), 15.0, NOW + 1) == Plan()


# the loop


SPEC = {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"memory": "0"}}}]}


class Board:
    """A node's lease and status, renewed by hand."""

    def __init__(self, plane, name="n"):
        self.plane, self.name = plane, name

    async def register(self, **spec):
        obj = node(self.name)
        status = obj.pop("status")
        del obj["metadata"]["uid"]
        created = await self.plane.client.create(NODES, "", obj)
        await self.plane.client.update(NODES, "", {**created, "status": status}, subresource="status")
        spec = {"holderIdentity": self.name, "leaseDurationSeconds": 15, "renewTime": self.moment(), **spec}
        await self.plane.client.create(LEASES, "kube-node-lease", {"metadata": {"name": self.name}, "spec": spec})

    def moment(self):
        return rfc3339_micro(self.plane.clock.now())

    async def renew(self, **spec):
        patch = {"spec": {"renewTime": self.moment(), **spec}}
        await self.plane.client.patch(LEASES, "kube-node-lease", self.name, patch)

    async def renew_for(self, seconds):
        for _ in range(int(seconds / 5)):
            await self.plane.clock.advance(5.0)
            await self.renew()

    async def node(self):
        return await self.plane.client.get(NODES, "", self.name)

    async def ready(self):
        conditions = (await self.node())["status"]["conditions"]
        return next(condition["status"] for condition in conditions if condition["type"] == "Ready")

    async def taints(self):
        return [taint["effect"] for taint in (await self.node())["spec"].get("taints", ())]


def lifecycle(plane, **timeouts):
    return plane.run(NodeLifecycle(plane.clock.now, Timeouts(**timeouts)), 0.5)


async def test_a_shorter_duration_counts_from_the_next_look():
    async with control_plane() as plane:
        board = Board(plane)
        lifecycle(plane)
        await board.register(leaseDurationSeconds=3600)
        await plane.clock.advance(10.0)
        await board.renew(leaseDurationSeconds=2)
        await plane.clock.advance(2.5)
        assert await board.ready() == "Unknown"


async def test_a_machine_that_slept_blames_no_node():
    async with control_plane() as plane:
        board = Board(plane)
        lifecycle(plane)
        await board.register()
        await plane.clock.advance(5.0)
        plane.clock._now += 3600.0
        await plane.clock.advance(1.0)
        assert await board.ready() == "True"
        await plane.clock.advance(14.0)
        assert await board.ready() == "Unknown"


async def test_a_clock_set_back_neither_saves_nor_loses_a_node():
    async with control_plane() as plane:
        lost, alive = Board(plane, "lost"), Board(plane, "alive")
        await plane.clock.advance(7200.0)
        lifecycle(plane)
        await lost.register()
        await plane.clock.advance(20.0)
        await alive.register()
        plane.clock._now -= 3600.0
        await plane.client.patch(NODES, "", "alive", {"metadata": {"labels": {"wake": "up"}}})
        await plane.client.patch(NODES, "", "lost", {"metadata": {"labels": {"wake": "up"}}})
        await plane.clock.advance(10.0)
        assert (await lost.ready(), await alive.ready()) == ("Unknown", "True")
        await plane.clock.advance(10.0)
        assert (await lost.ready(), await alive.ready()) == ("Unknown", "Unknown")


async def test_a_clock_that_is_set_back_postpones_no_stage():
    async with control_plane() as plane:
        board = Board(plane)
        await plane.clock.advance(7200.0)
        lifecycle(plane)
        await board.register()
        await plane.client.create(PODS, "default", {"metadata": {"name": "p"}, "spec": {"nodeName": "n", **SPEC}})
        for seconds, effects in ((16.0, ["NoSchedule"]), (15.0, ["NoSchedule", "NoExecute"])):
            await plane.clock.advance(seconds)
            assert await board.taints() == effects
            plane.clock._now -= 1800.0
            await plane.client.patch(NODES, "", "n", {"metadata": {"labels": {"wake": effects[-1]}}})
            await plane.clock.advance(1.0)
        await plane.clock.advance(298.0)
        assert (await plane.client.get(PODS, "default", "p"))["spec"]["nodeName"] == "n"
        await plane.clock.advance(3.0)
        assert "nodeName" not in (await plane.client.get(PODS, "default", "p"))["spec"]


async def test_a_healthy_node_is_planned_once_a_lease_duration(monkeypatch):
    planned = []
    plan = NodeLifecycle.plan
    monkeypatch.setattr(
        NodeLifecycle, "plan", lambda self, key, view, now: planned.append(now) or plan(self, key, view, now)
    )
    async with control_plane() as plane:
        board = Board(plane)
        lifecycle(plane)
        await board.register()
        await board.renew_for(600)
        assert await board.ready() == "True"
        assert len(planned) < 65


async def test_a_pod_that_vanishes_meanwhile_keeps_no_other_from_leaving():
    names = [f"p{number:02}" for number in range(20)]
    async with control_plane() as plane:
        lifecycle(plane, eviction=0.0)
        await Board(plane).register()
        for name in names:
            spec = {"nodeName": "n", "tolerations": [tolerates(0)], **SPEC}
            await plane.client.create(PODS, "default", {"metadata": {"name": name}, "spec": spec})

        def evicted_first(event):
            if event.stored.name == "p00" and "nodeName" not in event.stored.object()["spec"]:
                gone = plane.client.delete(PODS, "default", "p10", options={"gracePeriodSeconds": 0})
                plane.clock.spawn(gone, "somebody who deletes p10")

        plane.store.subscribe(evicted_first, [("", "pods")])
        await plane.clock.advance(17.0)
        left = (await plane.client.list(PODS, "default")).items
        assert [each["metadata"]["name"] for each in left] == [name for name in names if name != "p10"]
        assert all("nodeName" not in each["spec"] for each in left)
