"""Forks as objects of the API, and their servers: ports, TLS, credentials, bounds, the end."""

from __future__ import annotations

import asyncio
import errno
import socket
from pathlib import Path
from typing import Any

import pytest

from kube32_sim.api.errors import ApiError
from kube32_sim.client import FORKS, NODES, PODS, Unreachable
from kube32_sim.cluster import Cluster
from kube32_sim.http_client import HttpClient
from kube32_sim.kubeconfig import Access
from kube32_sim.registry.forks import MOST
from tests.support.objects import MAPS, config_map, pod
from tests.support.waiting import eventually

JsonObject = dict[str, Any]


def fork(name: str = "", port: Any = 0, **metadata: Any) -> JsonObject:
    named = {"name": name} if name else {}
    return {"metadata": {**named, **metadata}, "spec": {"port": port}}


def access_of(cluster: Cluster, made: JsonObject) -> Access:
    return Access(made["status"]["server"], cluster.access.token, cluster.access.ca)


async def refused(client: HttpClient, body: JsonObject) -> ApiError:
    with pytest.raises(ApiError) as caught:
        await client.create(FORKS, "", body)
    return caught.value


async def test_made_read_and_removed() -> None:
    async with Cluster(nodes=1, clock="virtual") as cluster, HttpClient(cluster.access) as client:
        await cluster.advance("30s")
        revision = cluster.store.revision
        made = await client.create(FORKS, "", fork("one", labels={"a": "b"}))
        assert made["kind"] == "Fork"
        assert made["status"]["revision"] == str(revision) == str(cluster.store.revision)
        assert made["status"]["forkedAt"] == "2026-01-01T00:00:30.000000Z"
        assert made["metadata"]["labels"] == {"a": "b"}
        assert (await client.get(FORKS, "", "one"))["status"] == made["status"]
        assert [each["metadata"]["name"] for each in (await client.list(FORKS, label_selector="a=b")).items] == ["one"]
        assert (await client.list(FORKS, label_selector="a=c")).items == []
        async with HttpClient(access_of(cluster, made)) as there:
            assert [each["metadata"]["name"] for each in (await there.list(NODES)).items] == ["esp32-0"]
            assert (await there.list(FORKS)).items == []
            gone = await client.delete(FORKS, "", "one")
            assert gone["status"] == "Success"
            assert gone["details"]["uid"] == made["metadata"]["uid"]
            with pytest.raises(Unreachable):
                await there.list(NODES)
        assert (await client.list(FORKS)).items == []
        with pytest.raises(ApiError) as caught:
            await client.delete(FORKS, "", "one")
        assert caught.value.code == 404


async def test_generated_names() -> None:
    async with Cluster(nodes=0, clock="virtual") as cluster, HttpClient(cluster.access) as client:
        names = [(await client.create(FORKS, "", fork(generateName="try-")))["metadata"]["name"] for _ in range(2)]
        assert names == ["try-1", "try-2"]


@pytest.mark.parametrize(
    ("body", "code", "cause"),
    [
        (fork("one", 70000), 422, "spec.port"),
        (fork("one", -1), 422, "spec.port"),
        (fork("Big"), 422, "metadata.name"),
        (fork(), 422, "metadata.name"),
        (fork(generateName="No_"), 422, "metadata.name"),
        (fork("there"), 409, "already exists"),
        (fork("one", "x"), 400, "port"),
        (fork("one", resourceVersion="1"), 400, "resourceVersion"),
    ],
)
async def test_refusals_name_the_field(body: JsonObject, code: int, cause: str) -> None:
    async with Cluster(nodes=0, clock="virtual") as cluster, HttpClient(cluster.access) as client:
        await client.create(FORKS, "", fork("there"))
        error = await refused(client, body)
        assert (error.code, cause in error.message) == (code, True), error.message
        assert len((await client.list(FORKS)).items) == 1


async def test_a_port_that_is_taken() -> None:
    async with Cluster(nodes=0, clock="virtual") as cluster, HttpClient(cluster.access) as client:
        error = await refused(client, fork("one", cluster.port))
        assert error.code == 422
        assert "spec.port" in error.message
        assert "in use" in error.message
        made = await client.create(FORKS, "", fork("one"))
        assert made["status"]["server"].startswith("http://127.0.0.1:")


async def test_the_end_of_a_fork_frees_its_port() -> None:
    async with Cluster(nodes=0, clock="virtual") as cluster, HttpClient(cluster.access) as client:
        made = await client.create(FORKS, "", fork("one"))
        port = int(made["status"]["server"].rpartition(":")[2])
        await client.delete(FORKS, "", "one")
        again = await client.create(FORKS, "", fork("one", port))
        assert again["status"]["server"] == made["status"]["server"]


async def test_a_dry_run_makes_and_removes_nothing() -> None:
    async with Cluster(nodes=0, clock="virtual") as cluster, HttpClient(cluster.access) as client:
        path = "/apis/sim.kube32.io/v1alpha1/forks"
        body = {"apiVersion": "sim.kube32.io/v1alpha1", "kind": "Fork", **fork("one")}
        await client.ask("POST", path, {"dryRun": "All"}, body=body)
        assert (await client.list(FORKS)).items == []
        await client.create(FORKS, "", fork("one"))
        await client.ask("DELETE", f"{path}/one", {"dryRun": "All"})
        assert len((await client.list(FORKS)).items) == 1
        options = {"kind": "DeleteOptions", "apiVersion": "v1", "preconditions": {"uid": "another"}}
        with pytest.raises(ApiError) as caught:
            await client.ask("DELETE", f"{path}/one", body=options)
        assert caught.value.code == 409


async def test_there_may_be_so_many_forks_of_forks_among_them() -> None:
    async with Cluster(nodes=0, clock="virtual") as cluster, HttpClient(cluster.access) as client:
        first = await client.create(FORKS, "", fork("first"))
        async with HttpClient(access_of(cluster, first)) as there:
            for number in range(1, MOST):
                await (there if number % 2 else client).create(FORKS, "", fork(f"n-{number}"))
            for each in (client, there):
                error = await refused(each, fork("more"))
                assert error.code == 409
                assert f"{MOST} forks already" in error.message
            await there.delete(FORKS, "", "n-1")
            await client.create(FORKS, "", fork("more"))
        await client.delete(FORKS, "", "first")  # with those of its own
        left = len((await client.list(FORKS)).items)
        for number in range(MOST - left):
            await client.create(FORKS, "", fork(f"again-{number}"))


async def test_many_at_once_have_one_winner_a_name() -> None:
    async with Cluster(nodes=0, clock="virtual") as cluster, HttpClient(cluster.access) as client:
        making = (client.create(FORKS, "", fork("same")) for _ in range(5))
        found = await asyncio.gather(*making, return_exceptions=True)
        errors = [each for each in found if isinstance(each, ApiError)]
        assert [error.reason for error in errors] == ["AlreadyExists"] * 4


async def test_tls_and_tokens_are_the_originals(tmp_path: Path) -> None:
    tokens = tmp_path / "tokens.csv"
    tokens.write_text("sesame,admin,1,system:masters\nopen,reader,2,\n")
    options: JsonObject = {"tls_self_signed": True, "token_file": tokens, "authorization_mode": "RBAC"}
    async with Cluster(nodes=1, clock="virtual", **options) as cluster, HttpClient(cluster.access) as client:
        made = await client.create(FORKS, "", fork("one"))
        assert made["status"]["server"].startswith("https://")
        there = access_of(cluster, made)
        async with HttpClient(there) as admin:
            await admin.create(MAPS, "default", config_map("new"))
        for token, code in (("open", 403), ("wrong", 401), ("", 403)):
            async with HttpClient(Access(there.server, token, there.ca)) as other:
                with pytest.raises(ApiError) as caught:
                    await other.list(PODS)
                assert caught.value.code == code
        async with HttpClient(Access(cluster.access.server, "open", cluster.access.ca)) as reader:
            assert (await refused(reader, fork("two"))).code == 403


async def test_the_made_up_token_of_an_administrator_works_in_a_fork() -> None:
    async with Cluster(nodes=1, clock="virtual", tls_self_signed=True) as cluster, cluster.fork() as branch:
        assert branch.access.token == cluster.access.token != ""
        async with HttpClient(branch.access) as client:
            assert len((await client.list(NODES)).items) == 1


async def test_a_fork_that_nobody_asked_ends_with_the_server() -> None:
    async with Cluster(nodes=1, clock="virtual") as cluster, HttpClient(cluster.access) as client:
        made = await client.create(FORKS, "", fork("one"))
    port = int(made["status"]["server"].rpartition(":")[2])
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", port)) == errno.ECONNREFUSED


async def test_a_fork_that_works_ends_in_the_middle_of_an_advance() -> None:
    async with Cluster(nodes=2, clock="virtual") as cluster, HttpClient(cluster.access) as client:
        made = await client.create(FORKS, "", fork("one"))
        async with HttpClient(access_of(cluster, made)) as there:
            await there.create(PODS, "default", pod("p"))
            body = {"apiVersion": "sim.kube32.io/v1alpha1", "kind": "ClockAdvance", "spec": {"duration": "87600h"}}
            path = "/apis/sim.kube32.io/v1alpha1/clocks/cluster/advance"
            driving = asyncio.ensure_future(there.ask("POST", path, body=body))
            branch = cluster._forking._forks.branch("one")._cluster
            await eventually(lambda: branch.clock.now() > cluster.clock.now(), "the fork's time moves")
            await client.delete(FORKS, "", "one")
            with pytest.raises((ApiError, Unreachable)):
                await driving


async def test_the_library_ends_a_fork_with_its_block_whoever_has_deleted_it() -> None:
    async with Cluster(nodes=1, clock="virtual") as cluster, HttpClient(cluster.access) as client:
        async with cluster.fork("mine") as branch:
            assert (await client.get(FORKS, "", "mine"))["status"]["server"] == branch.url
            await client.delete(FORKS, "", "mine")
        with pytest.raises(ApiError):
            async with cluster.fork("Not_a_name"):
                pass


async def test_the_client_in_process_makes_the_same() -> None:
    async with Cluster(nodes=0, clock="virtual") as cluster:
        made = await cluster.client.create(FORKS, "", fork("one"))
        assert (await cluster.client.get(FORKS, "", "one"))["status"] == made["status"]
        assert (await cluster.client.delete(FORKS, "", "one"))["status"] == "Success"
        assert (await cluster.client.list(FORKS)).items == []
