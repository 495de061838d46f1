"""TLS as users meet it: with what the kubeconfig says the server is reached and trusted, and with nothing else."""

from __future__ import annotations

import asyncio
import base64
import json
import logging
import re
import ssl
import stat
import urllib.error
import urllib.request
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import uvloop
import yaml
from cryptography import x509
from cryptography.hazmat.primitives import serialization

from kube32_sim.client import NODES, Unreachable
from kube32_sim.cluster import Cluster
from kube32_sim.http_client import HttpClient
from kube32_sim.kubeconfig import Access, read_access
from kube32_sim.options import OptionError, ServeOptions
from kube32_sim.server.tls_site import WRONG_DOOR
from tests.support.certificates import certificates_for
from tests.support.kubectl import Kubectl
from tests.support.servers import Server


def fetch(url: str, authority: bytes | None, token: str = "") -> Any:
    context = ssl.create_default_context(cadata=authority.decode() if authority is not None else None)
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {token}"} if token else {})
    with urllib.request.urlopen(request, context=context, timeout=10) as answer:
        return json.load(answer)


def certificate_files(directory: Path) -> tuple[Path, Path, bytes]:
    """A certificate for 127.0.0.1 as somebody else would have made it, its key, and its authority."""
    authority, chain, key = certificates_for("127.0.0.1")
    (directory / "cert.pem").write_bytes(chain)
    (directory / "key.pem").write_bytes(key)
    return directory / "cert.pem", directory / "key.pem", authority


def test_a_self_signed_server_is_trusted_by_its_kubeconfig(
    start_server: Callable[..., AbstractContextManager[Server]], tmp_path: Path
) -> None:
    with start_server("--tls-self-signed", "--nodes", "0") as server:
        assert server.url.startswith("https://127.0.0.1:")
        assert stat.S_IMODE(server.kubeconfig.stat().st_mode) == 0o600
        document = yaml.safe_load(server.kubeconfig.read_text())
        authority = base64.b64decode(document["clusters"][0]["cluster"]["certificate-authority-data"])
        token = document["users"][0]["user"]["token"]
        assert fetch(f"{server.url}/version", authority)["major"] == "1"
        assert fetch(f"{server.url}/api/v1/nodes", authority, token)["items"] == []
        assert fetch(f"{server.url}/api/v1/nodes".replace("127.0.0.1", "localhost"), authority, token)["items"] == []
        with pytest.raises(urllib.error.HTTPError, match="403"):
            fetch(f"{server.url}/api/v1/nodes", authority)
        home = tmp_path / "home"
        home.mkdir()
        kubectl = Kubectl(server.kubeconfig, home)
        assert "kube-system" in kubectl("get", "namespaces")
        assert kubectl("auth", "whoami", "-o", "jsonpath={.status.userInfo.username}") == "system:admin"


async def test_another_authority_is_not_trusted(tmp_path: Path) -> None:
    _, _, other = certificate_files(tmp_path)
    async with Cluster(ServeOptions(port=0, nodes=0, controllers="none", tls_self_signed=True)) as cluster:
        for authority in (other, None):
            access = Access(cluster.url, cluster.access.token, authority)
            async with HttpClient(access) as client:
                with pytest.raises(Unreachable, match="certificate verify failed"):
                    await client.list(NODES)
        async with HttpClient(cluster.access) as client:
            assert (await client.list(NODES)).items == []


async def test_the_certificate_is_good_today_whatever_the_virtual_clock_says() -> None:
    options = ServeOptions(port=0, nodes=0, controllers="none", tls_self_signed=True, clock="virtual")
    async with Cluster(options) as cluster, HttpClient(cluster.access) as client:
        assert (await client.list(NODES)).items == []
        listening = cluster.access.ca
    assert listening is not None
    made = x509.load_pem_x509_certificate(listening).not_valid_before_utc
    assert abs(datetime.now(UTC) - made) < timedelta(hours=2)


async def test_given_files_are_used(tmp_path: Path) -> None:
    cert, key, authority = certificate_files(tmp_path)
    options = ServeOptions(port=0, nodes=0, controllers="none", tls_cert=cert, tls_key=key)
    async with Cluster(options) as cluster:
        assert (await asyncio.to_thread(fetch, f"{cluster.url}/version", authority))["major"] == "1"
        async with HttpClient(Access(cluster.url, cluster.access.token, authority)) as client:
            assert (await client.list(NODES)).items == []
        with pytest.raises(urllib.error.HTTPError, match="401"):
            await asyncio.to_thread(fetch, f"{cluster.url}/api/v1/nodes", authority, "made-up")


@pytest.mark.parametrize(
    ("cert", "key", "complaint"),
    [
        ("none.pem", "key.pem", "--tls-cert {cert}: No such file or directory"),
        ("cert.pem", "none.pem", "--tls-key {key}: No such file or directory"),
        (".", "key.pem", "--tls-cert {cert}: Is a directory"),
        ("key.pem", "cert.pem", "--tls-cert {cert}: no certificate in it (PEM)"),
        ("cert.pem", "cert.pem", "--tls-key {key}: no private key in it (PEM)"),
        ("cert.pem", "other.pem", "--tls-cert {cert}, --tls-key {key}: the key is of another certificate"),
        ("damaged.pem", "key.pem", "--tls-cert {cert}, --tls-key {key}: they are damaged"),
        ("cert.pem", "encrypted.pem", "--tls-key {key}: it is encrypted, which is not supported"),
    ],
)
async def test_files_that_cannot_be_used_are_named(tmp_path: Path, cert: str, key: str, complaint: str) -> None:
    _, _, other = certificates_for("127.0.0.1")
    _, private, _ = certificate_files(tmp_path)
    (tmp_path / "other.pem").write_bytes(other)
    (tmp_path / "damaged.pem").write_text("-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----\n")
    loaded = serialization.load_pem_private_key(private.read_bytes(), None)
    locked = serialization.BestAvailableEncryption(b"secret")
    form = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8)
    (tmp_path / "encrypted.pem").write_bytes(loaded.private_bytes(*form, locked))
    options = ServeOptions(port=0, nodes=0, tls_cert=tmp_path / cert, tls_key=tmp_path / key)
    with pytest.raises(OptionError) as caught:
        await Cluster(options).start()
    assert str(caught.value) == complaint.format(cert=tmp_path / cert, key=tmp_path / key)


async def test_a_cluster_writes_the_kubeconfig_it_is_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "kubeconfig"
    options = ServeOptions(port=0, nodes=0, controllers="none", tls_self_signed=True, kubeconfig=path)
    async with Cluster(options):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        async with HttpClient(read_access([path])) as client:
            assert (await client.list(NODES)).items == []


LOOPS = [None, uvloop.new_event_loop]


@pytest.mark.parametrize("loop", LOOPS, ids=["asyncio", "uvloop"])
def test_plain_http_on_a_tls_port_is_told_so(loop: Any, caplog: Any) -> None:
    async def run() -> None:
        async with Cluster(ServeOptions(port=0, nodes=0, controllers="none", tls_self_signed=True)) as cluster:
            for _ in range(2):
                reader, writer = await asyncio.open_connection("127.0.0.1", cluster.port)
                writer.write(b"GET /api HTTP/1.1\r\nHost: localhost\r\n\r\n")
                async with asyncio.timeout(10):
                    assert await reader.read() == WRONG_DOOR
                writer.close()
            async with HttpClient(cluster.access) as client:
                assert (await client.list(NODES)).items == []

    with asyncio.Runner(loop_factory=loop) as runner:
        runner.run(run())
    (told,) = (record.getMessage() for record in caplog.records if record.levelname == "WARNING")
    assert re.fullmatch(r"no TLS with 127\.0\.0\.1:\d+: it speaks plain HTTP; .*https://", told)


@pytest.mark.parametrize("loop", LOOPS, ids=["asyncio", "uvloop"])
def test_who_fails_at_tls_is_told_of(loop: Any, caplog: Any, tmp_path: Path) -> None:
    """And who only looks whether the port is open is not; who says nothing keeps nothing from ending."""
    _, _, other = certificate_files(tmp_path)

    async def run() -> None:
        async with Cluster(ServeOptions(port=0, nodes=0, controllers="none", tls_self_signed=True)) as cluster:
            reader, writer = await asyncio.open_connection("127.0.0.1", cluster.port)
            writer.close()
            with pytest.raises(urllib.error.URLError, match="certificate verify failed"):
                await asyncio.to_thread(fetch, cluster.url, other)
            reader, writer = await asyncio.open_connection("127.0.0.1", cluster.port)
            writer.write(b"\x00" * 20)
            async with asyncio.timeout(10):
                with suppress(ConnectionError):
                    await reader.read()
            writer.close()
            reader, writer = await asyncio.open_connection("127.0.0.1", cluster.port)
            async with HttpClient(cluster.access) as client:
                assert (await client.list(NODES)).items == []
        async with asyncio.timeout(10):
            with suppress(ConnectionError):
                assert await reader.read() == b""
        writer.close()

    with asyncio.Runner(loop_factory=loop) as runner:
        runner.run(run())
    told = [record.getMessage().partition(": ")[2] for record in caplog.records if record.levelno >= logging.WARNING]
    assert told[0] == "it does not trust the certificate of this server"
    assert len(told) == 2, told


async def test_plain_http_on_a_tls_port_harms_nobody(caplog: Any) -> None:
    async with Cluster(ServeOptions(port=0, nodes=0, controllers="none", tls_self_signed=True)) as cluster:
        reader, writer = await asyncio.open_connection("127.0.0.1", cluster.port)
        writer.write(b"GET /api HTTP/1.1\r\nHost: localhost\r\n\r\n")
        async with asyncio.timeout(10):
            with suppress(ConnectionError):
                await reader.read()
        writer.close()
        async with HttpClient(cluster.access) as client:
            assert (await client.list(NODES)).items == []
    assert not [record for record in caplog.records if record.levelname == "ERROR"]
