"""What a load stores at one replica is not overlooked by what another decides at the same moment."""

from __future__ import annotations

from typing import Any

import pytest

from kube32_sim import Cluster
from kube32_sim.client import Resource
from kube32_sim.storage.interface import Outrun
from tests.snapshot.loads import config_map, load_objects
from tests.support.etcd import Etcd
from tests.support.waiting import eventually

SERVICES = Resource("", "v1", "services")
POD: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "loaded", "namespace": "default"},
    "spec": {"nodeName": "n", "containers": [{"name": "c", "image": "i"}]},
}
SERVICE: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {"name": "loaded", "namespace": "default"},
    "spec": {"ports": [{"port": 80}]},
}


@pytest.mark.parametrize("obj", [POD, SERVICE], ids=lambda obj: obj["kind"])
async def test_who_decided_before_the_load_is_outrun(etcd: Etcd, obj: dict[str, Any]) -> None:
    common = {"nodes": 0, "store": f"{etcd.url}/heeded-{obj['kind']}"}
    subject = f"{obj['kind'].lower()}s"
    async with Cluster(**common) as one, Cluster(**common) as other, other.store.deciding(subject):
        await load_objects(one, [obj])
        with pytest.raises(Outrun):
            await other.store.create(("", "configmaps"), "default/late", config_map("late"))


async def test_a_load_that_is_outrun_by_a_service_goes_on(etcd: Etcd) -> None:
    common = {"nodes": 0, "store": f"{etcd.url}/outrun"}
    names = [f"s{number}" for number in range(40)]
    async with Cluster(**common) as one, Cluster(**common) as other:
        loaded = [{**SERVICE, "metadata": {"name": name, "namespace": "default"}} for name in names]
        made: list[str] = []

        def heard(event: Any) -> None:  # of each that is loaded: one more is made elsewhere
            if event.stored.name in names:
                body = {"metadata": {"name": f"o{len(made)}"}, "spec": {"ports": [{"port": 80}]}}
                made.append(body["metadata"]["name"])
                other.clock.spawn(other.client.create(SERVICES, "default", body), "another Service")

        other.store.subscribe(heard, [("", "services")])
        assert (await load_objects(one, loaded)).loaded == len(names)
        wanted = 2 * len(names) + 1
        await eventually(lambda: one.store.count(("", "services")) == wanted, "all are there")
        addresses = [stored.object()["spec"]["clusterIP"] for stored in one.store.list(("", "services"))]
        assert len(set(addresses)) == wanted
