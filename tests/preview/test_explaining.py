"""What is told to make a pod fit does, and amounts are the smallest ones."""

from __future__ import annotations

from collections import Counter

import pytest

from kube32_sim.api import quantity
from kube32_sim.preview.changes import KINDS
from kube32_sim.preview.explaining import applied, explanation, runs
from kube32_sim.preview.placements import ClusterState, PreviewError, WantedPod
from kube32_sim.preview.placing import make_placer
from tests.preview.random_states import Draw

PROFILES = ("kube32", "kestrel")


def places(state: ClusterState, wanted: WantedPod, profile: str) -> bool:
    try:
        return runs(make_placer(profile, state, [wanted]).place(wanted, details=False))
    except PreviewError:
        return False


def drawn(seed: int, profile: str) -> tuple[ClusterState, WantedPod]:
    draw, kestrel = Draw(seed), profile == "kestrel"
    state = draw.state(kestrel=kestrel, nodes=draw.rng.randrange(1, 6), pods=draw.rng.randrange(10))
    return state, draw.wanted(kestrel=kestrel)


@pytest.mark.parametrize("profile", PROFILES)
def test_every_change_that_is_told_makes_the_pod_fit(profile: str) -> None:
    kinds: Counter[str] = Counter()
    for seed in range(250):
        state, wanted = drawn(seed, profile)
        found = explanation(state, wanted, profile)
        assert found.fits == places(state, wanted, profile)
        assert not (found.fits and found.changes)
        for told in (*((change,) for change in found.changes), *([found.pair] if found.pair else [])):
            assert places(*applied(told, state, wanted), profile), (seed, told)
            assert told[-1].nodes
        kinds.update(change.kind for change in found.changes)
        kinds["pair"] += bool(found.pair)
    expected = {"request", "selector", "uncordon", "delete", "board", "pair"}
    expected |= {"affinity", "toleration", "priority"} if profile == "kestrel" else {"ready"}
    assert expected <= {kind for kind, count in kinds.items() if count}, kinds


@pytest.mark.parametrize("profile", PROFILES)
def test_of_a_resource_one_unit_less_would_not_do(profile: str) -> None:
    looked_at = 0
    for seed in range(250):
        state, wanted = drawn(seed, profile)
        for change in explanation(state, wanted, profile).changes:
            if change.kind != "request" or change.after is None:
                continue
            container = change.field.partition(".resources")[0].removeprefix("spec.")
            kind, index = container[:-1].split("[")
            resource = change.field.partition("requests[")[2][:-1]
            unit = quantity.NANO // 1000 if resource == "cpu" else quantity.NANO
            more = quantity.from_nanos(quantity.parse(change.after).nanos + unit).text
            obj = change.edit(state, wanted.obj)[1]
            resources = obj["spec"][kind][int(index)]["resources"]
            for part in ("requests", "limits"):
                if resource in resources.get(part, {}):
                    resources[part][resource] = more
            assert not places(state, WantedPod(obj), profile), (seed, change)
            looked_at += 1
    assert looked_at > 25


@pytest.mark.parametrize("profile", PROFILES)
def test_nothing_given_is_changed_and_the_order_is_that_of_size(profile: str) -> None:
    for seed in range(60):
        state, wanted = drawn(seed, profile)
        before = repr((state, wanted))
        changes = explanation(state, wanted, profile).changes
        assert repr((state, wanted)) == before
        ranks = [KINDS.index(change.kind) for change in changes]
        assert ranks == sorted(ranks)


@pytest.mark.parametrize("profile", PROFILES)
def test_a_limit_is_the_most_that_still_fits(profile: str) -> None:
    looked_at = 0
    for seed in range(150):
        state, wanted = drawn(seed, profile)
        for limit in explanation(state, wanted, profile).limits:
            kind, index = limit.field.partition(".resources")[0].removeprefix("spec.")[:-1].split("[")
            unit = quantity.NANO // 1000 if limit.resource == "cpu" else quantity.NANO
            for extra, fits in ((0, True), (unit, False)):
                amount = quantity.from_nanos(quantity.parse(limit.most).nanos + extra).text
                containers = [dict(one) for one in wanted.obj["spec"][kind]]
                resources = dict(containers[int(index)].get("resources") or {})
                resources["requests"] = {**(resources.get("requests") or {}), limit.resource: amount}
                containers[int(index)]["resources"] = resources
                obj = {**wanted.obj, "spec": {**wanted.obj["spec"], kind: containers}}
                if fits and profile == "kube32":
                    continue  # the scheduler may prefer another board then, which refuses the pod
                assert places(state, WantedPod(obj), profile) == fits, (seed, limit)
                looked_at += 1
    assert looked_at > 25
