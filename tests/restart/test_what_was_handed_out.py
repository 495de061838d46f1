"""Keys, tokens and certificates that clients hold are good after a restart; those of a store in memory are not."""

from __future__ import annotations

import ssl
import time
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509

from kube32_sim.api.account_tokens import OF_THIS_PROCESS
from kube32_sim.api.builtin import builtin_table
from kube32_sim.client import Resource
from kube32_sim.clock import VirtualClock
from kube32_sim.cluster import Cluster
from kube32_sim.http_client import HttpClient
from kube32_sim.kept import own_authority, reached
from kube32_sim.kubeconfig import Access
from kube32_sim.server.authority import server_certificate
from kube32_sim.storage.memory import MemoryStore
from kube32_sim.storage.objects import Event
from tests.support.objects import MAPS
from tests.support.restarting import Manner, Outliving

JsonObject = dict[str, Any]
ACCOUNTS = Resource("", "v1", "serviceaccounts")
SECRETS = Resource("", "v1", "secrets")
REVIEWS = Resource("authentication.k8s.io", "v1", "selfsubjectreviews")
YEAR = 365 * 86400.0
BARE: JsonObject = {"nodes": 0, "controllers": "serviceaccount", "clock": "real"}


async def who(access: Access) -> str:
    """As whom a server knows a caller."""
    async with HttpClient(access) as client:
        answer = await client.create(REVIEWS, "", {})
        name: str = answer["status"]["userInfo"]["username"]
        return name


async def token_of(cluster: Cluster, account: str) -> str:
    made = await cluster.client.create(ACCOUNTS, "default", {"spec": {}}, subresource="token", name=account)
    token: str = made["status"]["token"]
    return token


@pytest.mark.parametrize("manner", ["stop", "crash"])
async def test_a_kubeconfig_and_mounted_tokens_are_good_after_a_restart(tmp_path: Path, manner: Manner) -> None:
    async with Outliving(tmp_path, **BARE, tls_self_signed=True) as kept:
        first = kept.cluster
        await first.client.create(ACCOUNTS, "default", {"metadata": {"name": "robot"}})
        token, before, key = await token_of(first, "robot"), first.access, first.registry.signing_key.id
        assert key != OF_THIS_PROCESS.id  # which would be another's after a restart of the process
        second = await kept.restart(manner)
        assert second.registry.signing_key.id == key
        assert await who(Access(second.url, before.token, before.ca)) == "system:admin"
        assert await who(Access(second.url, token, before.ca)) == "system:serviceaccount:default:robot"
        assert (second.access.token, second.access.ca) == (before.token, before.ca)


async def test_a_store_in_memory_keeps_no_secrets() -> None:
    made = []
    for _ in range(2):
        async with Cluster(port=0, nodes=0, controllers="none", tls_self_signed=True) as cluster:
            made.append(cluster.access)
    assert made[0].token != made[1].token
    assert made[0].ca != made[1].ca


async def test_two_clusters_of_a_process_know_their_own_tokens_only(tmp_path: Path) -> None:
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
    async with Outliving(tmp_path / "one", **BARE) as one, Outliving(tmp_path / "other", **BARE) as other:
        for kept in (one, other):
            await kept.cluster.client.create(ACCOUNTS, "default", {"metadata": {"name": "robot"}})
        token = await token_of(one.cluster, "robot")
        assert await who(Access(one.cluster.url, token)) == "system:serviceaccount:default:robot"
        with pytest.raises(Exception, match="Unauthorized"):
            await who(Access(other.cluster.url, token))


async def test_a_secret_with_a_token_is_left_as_it_is(tmp_path: Path) -> None:
    """And it opens the door as before, with the authority that it names."""
    async with Outliving(tmp_path, **BARE, tls_self_signed=True) as kept:
        client = kept.cluster.client
        await client.create(ACCOUNTS, "default", {"metadata": {"name": "robot"}})
        wanted = {
            "metadata": {"name": "robot", "annotations": {"kubernetes.io/service-account.name": "robot"}},
            "type": "kubernetes.io/service-account-token",
        }
        await client.create(SECRETS, "default", wanted)
        await kept.cluster.settle()
        before = await client.get(SECRETS, "default", "robot")
        assert before["data"].keys() == {"token", "namespace", "ca.crt"}
        cluster = await kept.restart()
        await cluster.settle()
        assert await cluster.client.get(SECRETS, "default", "robot") == before


def store() -> MemoryStore:
    return MemoryStore(builtin_table(), VirtualClock())


async def test_an_authority_is_renewed_in_time_for_the_same_key() -> None:
    """Who has the certificate of before goes on trusting the server for as long as that is good itself."""
    kept, now = store(), time.time()
    first = await own_authority(kept, now)
    assert await own_authority(kept, now + 8 * YEAR) == first
    later = await own_authority(kept, now + 9.5 * YEAR)
    assert (later.key, later.certificate != first.certificate) == (first.key, True)
    assert await own_authority(kept, now + 9.6 * YEAR) == later
    chain, _ = server_certificate("127.0.0.1", now + 9.5 * YEAR, later)
    leaf = x509.load_pem_x509_certificate(chain)
    for authority in (first, later):
        leaf.verify_directly_issued_by(x509.load_pem_x509_certificate(authority.certificate))
        ssl.create_default_context(cadata=authority.certificate.decode())
    assert leaf.not_valid_after_utc <= x509.load_pem_x509_certificate(later.certificate).not_valid_after_utc


async def test_names_and_uids_of_a_restart_are_new_and_the_same_every_time(tmp_path: Path) -> None:
    """On a virtual clock chance is seeded: the same story gives the same names, but no start repeats another's."""

    async def story(directory: Path) -> list[tuple[str, str]]:
        """(uid, name) of everything that was ever stored."""
        made: list[tuple[str, str]] = []

        def note(event: Event) -> None:
            if event.type == "ADDED":
                made.append((event.stored.uid, event.stored.key))

        async with Outliving(directory, nodes=0) as kept:
            cluster = kept.cluster
            made += [
                (each.uid, each.key) for storage in cluster.store.storages() for each in cluster.store.list(storage)
            ]
            for _ in range(3):
                cluster.store.subscribe(note)
                for _ in range(4):
                    wanted = {"metadata": {"generateName": "n-"}}
                    space = await cluster.client.create(MAPS, "default", wanted)
                    await cluster.client.delete(MAPS, "default", space["metadata"]["name"])
                cluster = await kept.restart("stop", port=cluster.port)
        return made

    for name in ("one", "other"):
        (tmp_path / name).mkdir()
    one, other = await story(tmp_path / "one"), await story(tmp_path / "other")
    assert one == other
    assert len(one) > 150
    assert len({uid for uid, _ in one}) == len(one)
    assert len({key for _, key in one if key.startswith("default/n-")}) == 12


async def test_where_nothing_was_stored_nothing_was_reached() -> None:
    kept = store()
    assert reached(kept) == 0
    await kept.create(("", "namespaces"), "a", {"metadata": {"name": "a", "uid": "u"}})
    assert reached(kept) == kept.revision > 0
