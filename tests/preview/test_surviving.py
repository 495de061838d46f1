"""What survives the loss of a node or a zone, against trying everything."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from kube32_sim.preview.capacity import Filling, templates_of
from kube32_sim.preview.explaining import runs
from kube32_sim.preview.placements import ClusterState, PreviewError, WantedPod
from kube32_sim.preview.placing import make_placer
from kube32_sim.preview.start import age
from kube32_sim.preview.surviving import domains_of, survive, survive_more
from kube32_sim.translation.terms import name_of
from tests.preview.random_states import Draw

JsonObject = dict[str, Any]
PROFILES = ("kube32", "kestrel")


def stranded(state: ClusterState, new: list[JsonObject], lost: tuple[str, ...], profile: str) -> list[str]:
    """Pods without a place on a cluster that has lost nodes, by a placer on that cluster.  new: pods with their nodes.

    At a board that refuses a pod the placer counts it all the same: each pod is tried on a placer of its own.
    """
    there = [*sorted(state.pods, key=age), *new]
    gone = sorted((pod for pod in there if pod["spec"]["nodeName"] in lost), key=lambda pod: -pod["spec"]["priority"])
    left = replace(
        state,
        nodes=[node for node in state.nodes if node["metadata"]["name"] not in lost],
        pods=[pod for pod in there if pod["spec"]["nodeName"] not in lost],
    )
    found = []
    for pod in gone:
        spec = {name: value for name, value in pod["spec"].items() if name != "nodeName"}
        wanted = WantedPod({**pod, "spec": {**spec, "preemptionPolicy": "Never"}})
        placement = make_placer(profile, left, [wanted]).place(wanted, details=False)
        if not runs(placement):
            found.append(name_of(pod))
            continue
        bound = {**pod, "spec": {**pod["spec"], "nodeName": placement.node}, "status": {"phase": "Pending"}}
        left = replace(left, pods=[*left.pods, bound])
    return found


def placed(state: ClusterState, pod: WantedPod, profile: str) -> list[JsonObject]:
    """Pods of a template with their nodes, until one does not run."""
    found: list[JsonObject] = []
    placer = make_placer(profile, state, [pod])
    while True:
        obj = {**pod.obj, "metadata": {**pod.obj["metadata"], "name": f"new-{len(found)}", "uid": f"new-{len(found)}"}}
        placement = placer.place(WantedPod(obj), details=False)
        if not runs(placement):
            return found
        found.append({**obj, "spec": {**obj["spec"], "nodeName": placement.node}, "status": {"phase": "Pending"}})


def by_trying(state: ClusterState, new: list[JsonObject], of: str, profile: str) -> list[int]:
    """How many of the new pods there may be, each number with each loss."""
    domains = domains_of(state, of)[0].values()
    numbers = range(len(new) + 1)
    return [n for n in numbers if not any(stranded(state, new[:n], lost, profile) for lost in domains)]


def drawn(seed: int, profile: str, most: int) -> tuple[Draw, ClusterState]:
    draw, kestrel = Draw(seed), profile == "kestrel"
    return draw, draw.state(kestrel=kestrel, nodes=draw.rng.randrange(2, 6), pods=draw.rng.randrange(most))


@pytest.mark.parametrize(
    ("profile", "seed"), [("kube32", 245), ("kube32", 376), ("kestrel", 414), ("kestrel", 437), ("kestrel", 567)]
)
def test_a_smaller_number_may_not_survive_where_a_larger_one_does(profile: str, seed: int) -> None:
    draw, state = drawn(seed, profile, 8)
    pod = templates_of([WantedPod(draw.pod("new", kestrel=profile == "kestrel"))], {})[0]
    filling = Filling(state, [pod], profile)
    filling.fill()
    found = survive_more(filling, "node")
    survived = by_trying(state, placed(state, pod.pod, profile), "node", profile)
    assert found.rounds == survived[-1]
    assert survived != list(range(survived[-1] + 1)), "this one is in order"


@pytest.mark.parametrize("of", ["node", "zone"])
@pytest.mark.parametrize("profile", PROFILES)
def test_the_largest_number_that_survives_every_loss(profile: str, of: str) -> None:
    numbers = set()
    for seed in range(40):
        draw, state = drawn(seed, profile, 4)
        pod = templates_of([WantedPod(draw.pod("new", kestrel=profile == "kestrel"))], {})[0]
        filling = Filling(state, [pod], profile)
        filling.fill()
        found = survive_more(filling, of)
        new = placed(state, pod.pod, profile)
        domains = domains_of(state, of)[0]
        survived = by_trying(state, new, of, profile)
        assert found.rounds == (survived[-1] if survived else None), seed
        assert found.survives == bool(survived)
        if found.rounds is not None and found.rounds < len(new):
            assert found.worst is not None
            assert found.worst.stranded
            above = stranded(state, new[: found.rounds + 1], domains[found.worst.domain], profile)
            assert len(found.worst.stranded) == len(above)
        numbers.add(found.rounds)
    assert len(numbers) > 3


@pytest.mark.parametrize("profile", PROFILES)
def test_each_loss_strands_the_pods_that_find_no_place(profile: str) -> None:
    some = 0
    for seed in range(60):
        _, state = drawn(seed, profile, 14)
        found = survive(state, [], profile, "node")
        for loss in found.losses:
            assert list(loss.stranded) == stranded(state, [], loss.nodes, profile), seed
            some += bool(loss.stranded)
    assert some > 10


def test_wanted_pods_that_fit_nowhere_do_not_survive() -> None:
    draw = Draw(5)
    state = draw.state(kestrel=False, nodes=2, pods=0)
    pod = draw.pod("huge", kestrel=False)
    pod["spec"]["containers"][0]["resources"] = {"requests": {"memory": "1Gi"}}
    found = survive(state, [WantedPod(pod)], "kube32", "node")
    assert found.unplaced == ("default/huge",)
    assert not found.survives


def test_pods_of_daemonsets_go_with_their_node() -> None:
    draw = Draw(6)
    state = draw.state(kestrel=False, nodes=1, pods=1)
    owner = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "ds", "uid": "1", "controller": True}
    assert not survive(state, [], "kube32", "node").survives
    state.pods[0]["metadata"]["ownerReferences"] = [owner]
    found = survive(state, [], "kube32", "node")
    assert found.survives
    assert found.losses[0].moved == 0


def test_zones_have_to_be_there() -> None:
    state = Draw(7).state(kestrel=False, nodes=2, pods=0)
    del state.nodes[0]["metadata"]["labels"]["topology.kubernetes.io/zone"]
    assert "is lost with no zone" in survive(state, [], "kube32", "zone").warnings[0]
    del state.nodes[1]["metadata"]["labels"]["topology.kubernetes.io/zone"]
    with pytest.raises(PreviewError, match=r"--survive zone: no node has the label topology\.kubernetes\.io/zone"):
        survive(state, [], "kube32", "zone")
