"""How many more fit is how many can be created before one fails."""

from __future__ import annotations

import pytest

from kube32_sim.preview.capacity import MOST, Template, how_many, templates_of
from kube32_sim.preview.explaining import runs
from kube32_sim.preview.placements import ClusterState, PreviewError, WantedPod
from kube32_sim.preview.placing import make_placer
from tests.preview.random_states import Draw

PROFILES = ("kube32", "kestrel")
SEEDS = range(80)


def template(pod: WantedPod, count: int = 1) -> Template:
    return templates_of([pod], {pod.name: count})[0]


def numbered(pod: WantedPod, number: int) -> WantedPod:
    return WantedPod({**pod.obj, "metadata": {**pod.obj["metadata"], "name": f"{pod.name}-{number}"}})


def created(state: ClusterState, pods: list[WantedPod], profile: str, most: int = 400) -> list[bool]:
    """Of pods that are created in turn again and again, which run; up to the first one that does not."""
    placer, found = make_placer(profile, state, pods), list[bool]()
    while (not found or found[-1]) and len(found) < most:
        pod = numbered(pods[len(found) % len(pods)], len(found))
        found.append(runs(placer.place(pod, details=False)))
    return found


def drawn(seed: int, profile: str) -> tuple[Draw, ClusterState]:
    draw, kestrel = Draw(seed), profile == "kestrel"
    return draw, draw.state(kestrel=kestrel, nodes=draw.rng.randrange(1, 6), pods=draw.rng.randrange(6))


@pytest.mark.parametrize("profile", PROFILES)
def test_as_many_fit_as_can_be_created(profile: str) -> None:
    numbers = set()
    for seed in SEEDS:
        draw, state = drawn(seed, profile)
        one = template(WantedPod(draw.pod("new", kestrel=profile == "kestrel")))
        found = how_many(state, [one], profile)
        assert found.rounds == created(state, [one.pod], profile).count(True), seed
        assert found.stop is not None
        assert found.more == (found.rounds,)
        assert sum(sum(counts) for counts in found.nodes.values()) == found.rounds
        numbers.add(found.rounds)
    assert len(numbers) > 5


@pytest.mark.parametrize("profile", PROFILES)
def test_of_a_mix_as_many_rounds_fit_as_can_be_created(profile: str) -> None:
    numbers = set()
    for seed in SEEDS:
        draw, state = drawn(seed, profile)
        pods = [WantedPod(draw.pod(name, kestrel=profile == "kestrel")) for name in ("one", "two")]
        mix = templates_of(pods, {"one": 4, "pod/two": 2})
        found = how_many(state, mix, profile)
        assert found.share == (2, 1)
        in_turn = [mix[0].pod, mix[0].pod, mix[1].pod]
        assert found.rounds == created(state, in_turn, profile).count(True) // 3, seed
        placer = make_placer(profile, state, [one.pod for one in mix])
        for one, fits in zip(mix, found.fits, strict=True):
            there = [runs(placer.place(numbered(one.pod, number), details=False)) for number in range(fits)]
            assert all(there)
            if fits < one.count:
                # a board that refuses a pod has it for a moment all the same, and the placer would count it
                break
        numbers.add(found.fits)
    assert len(numbers) > 3


def test_what_asks_for_nothing_has_no_bound() -> None:
    draw = Draw(1)
    node = draw.node("n")
    node["spec"], node["status"]["conditions"] = {}, [{"type": "Ready", "status": "True"}]
    for profile in PROFILES:
        pod = {"metadata": {"name": "new", "namespace": "default"}, "spec": {"containers": [{"name": "c"}]}}
        if profile == "kube32":
            pod["spec"]["containers"][0]["resources"] = {"requests": {"memory": "0"}}
        found = how_many(ClusterState([node], ()), [template(WantedPod(pod))], profile)
        assert (found.rounds, found.more, found.stop) == (None, None, None)
        assert MOST == 50_000


def test_what_binds_is_told_with_the_number_of_nodes() -> None:
    nodes = []
    for number in range(3):
        node = Draw(2).node(f"n{number}")
        node["spec"], node["metadata"]["labels"] = {}, {}
        node["status"] = {"conditions": [{"type": "Ready", "status": "True"}], "allocatable": {"memory": "100Ki"}}
        nodes.append(node)
    nodes[2]["spec"] = {"unschedulable": True}
    pod = {"metadata": {"name": "new", "namespace": "default"}, "spec": {"containers": [{"name": "c"}]}}
    found = how_many(ClusterState(nodes, ()), [template(WantedPod(pod))], "kube32")
    assert found.rounds == 12  # 16Ki each
    assert found.stop is not None
    assert found.stop.first == ("memory", 2)
    assert found.stop.reasons == {"Insufficient memory": 2, "node(s) were unschedulable": 1}
    assert [(usage.before, usage.after) for usage in found.usage if usage.resource == "memory"] == [(204800, 8192)]


def test_counts_are_of_templates_that_there_are() -> None:
    pod = WantedPod(Draw(3).pod("new", kestrel=False))
    with pytest.raises(PreviewError, match=r"--count: other: not among the manifests, which have pod/new"):
        templates_of([pod], {"other": 3})
    with pytest.raises(PreviewError, match="DaemonSet/ds: a DaemonSet has one pod on each node"):
        templates_of([WantedPod(pod.obj, "DaemonSet/ds")], {})
