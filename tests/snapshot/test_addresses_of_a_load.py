"""Services of a load whose addresses others have."""

from __future__ import annotations

from typing import Any

import pytest

from kube32_sim import Cluster
from kube32_sim.options import CommandError
from tests.snapshot.loads import config_map, load_objects


def service(name: str, address: str) -> dict[str, Any]:
    spec = {"clusterIP": address, "clusterIPs": [address], "ports": [{"port": 80}]}
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name, "namespace": "default"}, "spec": spec}


@pytest.mark.parametrize(("address", "holder"), [("10.96.0.1", "kubernetes"), ("10.96.0.77", "first")])
async def test_an_address_that_another_has_stops_the_load(address: str, holder: str) -> None:
    async with Cluster(nodes=0, clock="virtual") as cluster:
        objects = [config_map("a"), service("first", "10.96.0.77"), service("second", address)]
        told = f"Service default/second: the Service default/{holder} has the address {address}"
        with pytest.raises(CommandError, match=told):
            await load_objects(cluster, objects)
        assert cluster.store.get(("", "configmaps"), "default/a") is None
        await load_objects(cluster, objects[:2])
        assert cluster.store.get(("networking.k8s.io", "ipaddresses"), "10.96.0.77") is not None
