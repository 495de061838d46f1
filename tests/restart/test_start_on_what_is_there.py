"""A start makes what is missing, changes what has to change, and touches nothing else."""

from __future__ import annotations

import logging
from pathlib import Path

import orjson
import pytest

from kube32_sim.bootstrap import API_SERVICES
from kube32_sim.client import SERVICES, Resource
from tests.support.objects import ENDPOINTS, SLICES, config_map, service
from tests.support.restarting import Manner, Outliving, contents
from tests.support.webhook import VALIDATING, rule

MAPS = Resource("", "v1", "configmaps")
RANGES = Resource("networking.k8s.io", "v1", "servicecidrs")
BARE = {"nodes": 0, "controllers": "none", "clock": "real"}


@pytest.mark.parametrize("manner", ["stop", "crash"])
async def test_a_restart_at_the_same_port_writes_nothing(tmp_path: Path, manner: Manner) -> None:
    async with Outliving(tmp_path, **BARE) as kept:
        first = kept.cluster
        await first.client.create(MAPS, "default", config_map("mine", a="1"))
        before, revision = contents(first), first.store.revision
        second = await kept.restart(manner, port=first.port)
        assert contents(second) == before
        assert second.store.revision == revision
        assert len(before) > 150  # roles, bindings, APIServices, namespaces, …


async def test_at_another_port_only_what_leads_there_changes(tmp_path: Path) -> None:
    async with Outliving(tmp_path, **BARE) as kept:
        first = kept.cluster
        before, revision = contents(first), first.store.revision
        second = await kept.restart()
        after = contents(second)
        assert second.port != first.port
        changed = {key for key in before.keys() | after.keys() if before.get(key) != after.get(key)}
        assert changed == {
            ("", "services", "default/kubernetes"),
            ("", "endpoints", "default/kubernetes"),
            ("discovery.k8s.io", "endpointslices", "default/kubernetes"),
        }
        assert second.store.revision == revision + 3
        client = second.client
        (port,) = (await client.get(SERVICES, "default", "kubernetes"))["spec"]["ports"]
        assert (port["port"], port["targetPort"]) == (443, second.port)
        (subset,) = (await client.get(ENDPOINTS, "default", "kubernetes"))["subsets"]
        assert subset["ports"][0]["port"] == second.port
        found = await client.get(SLICES, "default", "kubernetes")
        assert (found["ports"][0]["port"], found["metadata"]["generation"]) == (second.port, 2)


async def test_the_endpoints_of_the_server_itself_stay_where_endpoints_are_computed(tmp_path: Path) -> None:
    async with Outliving(tmp_path, nodes=0) as kept:
        made = {"web": "web", "gone": "gone"}
        for name in made:
            await kept.cluster.client.create(SERVICES, "default", service(name, {"app": name}))
        for resource in (ENDPOINTS, SLICES):
            await kept.cluster.client.list(resource, "default")
        before = contents(kept.cluster)
        await kept.cluster.client.delete(SERVICES, "default", "gone")  # and nobody looks
        cluster = await kept.restart(port=kept.cluster.port)
        for resource in (ENDPOINTS, SLICES):
            found = (await cluster.client.list(resource, "default")).items
            names = {each["metadata"]["name"].partition("-")[0] for each in found}
            assert names == {"kubernetes", "web"}
        after = contents(cluster)
        computed = {key for key in after if key[1] in ("endpoints", "endpointslices")}
        assert {key: after[key] for key in computed} == {key: before[key] for key in computed}


async def test_the_service_of_the_server_itself_is_made_again_and_its_endpoints_stay(tmp_path: Path) -> None:
    async with Outliving(tmp_path, nodes=0) as kept:
        await kept.cluster.client.delete(SERVICES, "default", "kubernetes")
        client = (await kept.restart()).client
        assert (await client.get(SERVICES, "default", "kubernetes"))["spec"]["clusterIP"] == "10.96.0.1"
        for resource in (ENDPOINTS, SLICES):
            assert [each["metadata"]["name"] for each in (await client.list(resource)).items] == ["kubernetes"]


async def test_what_was_deleted_meanwhile_is_made_again_and_what_was_changed_stays(tmp_path: Path) -> None:
    async with Outliving(tmp_path, **BARE) as kept:
        client = kept.cluster.client
        await client.delete(API_SERVICES, "", "v1.batch")
        await client.patch(SERVICES, "default", "kubernetes", {"metadata": {"labels": {"mine": "yes"}}})
        client = (await kept.restart(port=kept.cluster.port)).client
        assert (await client.get(API_SERVICES, "", "v1.batch"))["spec"]["group"] == "batch"
        assert (await client.get(SERVICES, "default", "kubernetes"))["metadata"]["labels"]["mine"] == "yes"


@pytest.mark.parametrize("cut", range(1, 40, 6))
async def test_a_first_start_that_was_cut_off_is_made_whole(tmp_path: Path, cut: int) -> None:
    """After any number of its writes: another start makes the rest, conditions too."""
    async with Outliving(tmp_path, **BARE) as kept:
        whole = contents(kept.cluster)
        everything = sorted(whole, key=lambda key: int(orjson.loads(whole[key])["metadata"]["resourceVersion"]))
        for group, plural, key in everything[-cut:]:  # the last ones were never written
            await kept.cluster.store.delete((group, plural), key, lambda _: None)
        ranges = await kept.cluster.client.get(RANGES, "", "kubernetes") if cut < len(everything) else None
        if ranges is not None:
            await kept.cluster.client.update(RANGES, "", {**ranges, "status": {}}, subresource="status")
        cluster = await kept.restart()
        assert contents(cluster).keys() == whole.keys()
        (ready,) = (await cluster.client.get(RANGES, "", "kubernetes"))["status"]["conditions"]
        assert (ready["type"], ready["status"]) == ("Ready", "True")


async def test_webhooks_that_are_away_keep_no_start(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """One that wants to hear of everything, and must: what is there is not asked about; what is missing is told of."""
    async with Outliving(tmp_path, **BARE) as kept:
        client = kept.cluster.client
        hook = {
            "name": "all.example.com",
            "clientConfig": {"url": "https://127.0.0.1:1/"},
            "rules": [rule(["*"], ["*"], "*", "*")],
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
        }
        await client.delete(API_SERVICES, "", "v1.batch")
        await client.create(VALIDATING, "", {"metadata": {"name": "all"}, "webhooks": [hook]})
        caplog.set_level(logging.WARNING)
        cluster = await kept.restart(port=kept.cluster.port)
        told = [
            record.getMessage()
            for record in caplog.records
            if "is not what it should be from the start" in record.getMessage()
        ]
        assert len(told) == 1, told
        assert "apiservices v1.batch" in told[0]
        assert (await cluster.client.get(SERVICES, "default", "kubernetes"))["spec"]["ports"]


async def test_another_range_of_addresses_is_told_of(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async with Outliving(tmp_path, **BARE) as kept:
        caplog.set_level(logging.WARNING)
        cluster = await kept.restart(service_cluster_ip_range="10.50.0.0/24")
        assert "--service-cluster-ip-range 10.50.0.0/24" in caplog.text
        made = await cluster.client.create(SERVICES, "default", service("new", {"app": "new"}))
        assert made["spec"]["clusterIP"].startswith("10.")
