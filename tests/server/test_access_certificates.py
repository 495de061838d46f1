"""Callers who are known by certificates: whose they are, which are refused, and how they go with tokens."""

from __future__ import annotations

import asyncio
import datetime
import http.client
import json
import re
import ssl
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID, ObjectIdentifier

from kube32_sim.clock import RealClock
from kube32_sim.cluster import Cluster
from kube32_sim.options import OptionError, ServeOptions
from kube32_sim.server.client_certificates import CREDENTIAL, UID, prepare
from tests.support.kubectl import Kubectl

NOW = datetime.datetime.now(datetime.UTC)
DAY = datetime.timedelta(days=1)
WHOAMI = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
PEM = serialization.Encoding.PEM


@dataclass
class Maker:
    """An authority that makes certificates into files of a directory."""

    directory: Path
    name: str = "authority"

    def __post_init__(self) -> None:
        self.key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, self.name)])
        builder = x509.CertificateBuilder(subject, subject, self.key.public_key(), 1, NOW - 9 * DAY, NOW + 9 * DAY)
        builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        self.certificate = builder.sign(self.key, hashes.SHA256())
        self.file = self.directory / f"{self.name}.pem"
        self.file.write_bytes(self.certificate.public_bytes(PEM))

    def client(
        self,
        common: str,
        groups: Sequence[str] = (),
        days: tuple[int, int] = (-1, 1),
        usage: ObjectIdentifier = ExtendedKeyUsageOID.CLIENT_AUTH,
        uid: str = "",
    ) -> Path:
        """One file with certificate and key."""
        key = ec.generate_private_key(ec.SECP256R1())
        parts = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
        parts += [x509.NameAttribute(NameOID.COMMON_NAME, common)] if common else []
        parts += [x509.NameAttribute(ObjectIdentifier(UID), uid)] if uid else []
        start, end = (NOW + day * DAY for day in days)
        builder = x509.CertificateBuilder(self.certificate.subject, x509.Name(parts), key.public_key(), 2, start, end)
        made = builder.add_extension(x509.ExtendedKeyUsage([usage]), critical=False).sign(self.key, hashes.SHA256())
        path = self.directory / f"{self.name}-client-{common}.pem"
        private = key.private_bytes(PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        path.write_bytes(made.public_bytes(PEM) + private)
        return path


@pytest.fixture
def maker(tmp_path: Path) -> Maker:
    return Maker(tmp_path)


@pytest_asyncio.fixture
async def guarded(maker: Maker, tmp_path: Path) -> AsyncIterator[Cluster]:
    """Takes tokens and certificates, and roles decide."""
    tokens = tmp_path / "tokens.csv"
    tokens.write_text('root,admin,1,"system:masters"\n')
    options = ServeOptions(
        port=0, nodes=0, controllers="none", tls_self_signed=True, client_ca_file=maker.file, token_file=tokens,
        authorization_mode="RBAC",
    )  # fmt: skip
    async with Cluster(options) as cluster:
        yield cluster


def ask(cluster: Cluster, client: Path | None, path: str = WHOAMI, token: str = "", **more: Any) -> tuple[int, Any]:
    """(code, answer), of a new connection."""
    assert cluster.access.ca is not None
    context = ssl.create_default_context(cadata=cluster.access.ca.decode())
    for name, value in more.items():
        setattr(context, name, value)
    if client is not None:
        context.load_cert_chain(client)
    connection = http.client.HTTPSConnection("127.0.0.1", cluster.port, context=context, timeout=20)
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    try:
        review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
        connection.request("POST" if path == WHOAMI else "GET", path, json.dumps(review), headers)
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())
    finally:
        connection.close()


async def who(cluster: Cluster, client: Path | None, token: str = "") -> Any:
    code, answer = await asyncio.to_thread(ask, cluster, client, token=token)
    return answer["status"]["userInfo"] if code == 201 else code


async def test_the_subject_is_the_user(guarded: Cluster, maker: Maker) -> None:
    info = await who(guarded, maker.client("ann", ["devs", "testers"], uid="u-1"))
    assert (info["username"], info["uid"]) == ("ann", "u-1")
    assert info["groups"] == ["devs", "testers", "system:authenticated"]
    assert info["extra"][CREDENTIAL][0].startswith("X509SHA256=")


async def test_roles_decide_what_a_certificate_opens(guarded: Cluster, maker: Maker) -> None:
    plain, master = maker.client("ann", ["devs"]), maker.client("eve", ["system:masters"])
    codes = [(await asyncio.to_thread(ask, guarded, it, "/api/v1/namespaces"))[0] for it in (plain, master, None)]
    assert codes == [403, 200, 403]


async def test_a_certificate_comes_before_a_token_as_upstream(guarded: Cluster, maker: Maker) -> None:
    ann = maker.client("ann")
    assert (await who(guarded, ann, "root"))["username"] == "ann"
    assert (await who(guarded, ann, "unknown"))["username"] == "ann"
    assert (await who(guarded, None, "root"))["username"] == "admin"
    assert (await who(guarded, None, "unknown"), await who(guarded, None)) == (401, 403)


async def test_a_certificate_without_a_name_is_nobodys(guarded: Cluster, maker: Maker) -> None:
    nameless = maker.client("", ["system:masters"])
    assert await who(guarded, nameless) == 403
    assert (await who(guarded, nameless, "root"))["username"] == "admin"


@pytest.mark.parametrize("what", ["foreign", "expired", "early", "server", "self-made"])
async def test_certificates_that_open_nothing(
    guarded: Cluster, maker: Maker, tmp_path: Path, what: str, caplog: pytest.LogCaptureFixture
) -> None:
    bad = {
        "foreign": lambda: Maker(tmp_path, "authority2").client("eve", ["system:masters"]),
        "expired": lambda: maker.client("eve", ["system:masters"], days=(-3, -2)),
        "early": lambda: maker.client("eve", ["system:masters"], days=(1, 2)),
        "server": lambda: maker.client("eve", ["system:masters"], usage=ExtendedKeyUsageOID.SERVER_AUTH),
        # an authority of the same name as the one that is trusted
        "self-made": lambda: Maker(_folder(tmp_path), "authority").client("eve", ["system:masters"]),
    }[what]()
    with pytest.raises((ssl.SSLError, ConnectionError, http.client.RemoteDisconnected)):
        await asyncio.to_thread(ask, guarded, bad)
    with pytest.raises((ssl.SSLError, ConnectionError, http.client.RemoteDisconnected)):
        await asyncio.to_thread(ask, guarded, bad, maximum_version=ssl.TLSVersion.TLSv1_2)
    why = r"no TLS with 127\.0\.0\.1:\d+: its certificate is not good here: .+ \(--client-ca-file\)"
    assert re.fullmatch(why, caplog.messages[-1]) or what not in ("foreign", "expired")  # each is told once a minute


def _folder(parent: Path) -> Path:
    made = parent / "other"
    made.mkdir()
    return made


async def test_a_certificate_that_ends_while_the_connection_goes_on(
    guarded: Cluster, maker: Maker, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann = maker.client("ann")
    later = RealClock().now() + 3 * 86400
    assert (await who(guarded, ann))["username"] == "ann"
    monkeypatch.setattr(RealClock, "now", lambda self: later)
    assert await who(guarded, ann) == 401
    assert (await who(guarded, ann, "root"))["username"] == "admin"


async def test_without_roles_a_certificate_is_an_administrators_but_not_whom_he_acts_as(maker: Maker) -> None:
    options = ServeOptions(port=0, nodes=0, controllers="none", tls_self_signed=True, client_ca_file=maker.file)
    async with Cluster(options) as cluster:
        ann = maker.client("ann")
        assert (await asyncio.to_thread(ask, cluster, ann, "/api/v1/namespaces"))[0] == 200
        assert (await asyncio.to_thread(ask, cluster, None, "/api/v1/namespaces"))[0] == 403
        assert (await who(cluster, None, cluster.access.token))["username"] == "system:admin"


async def test_no_certificate_is_asked_for_where_none_counts(maker: Maker) -> None:
    options = ServeOptions(port=0, nodes=0, controllers="none", tls_self_signed=True)
    async with Cluster(options) as cluster:
        assert await who(cluster, maker.client("eve", ["system:masters"])) == 403


async def test_kubectl_with_a_certificate(guarded: Cluster, maker: Maker, tmp_path: Path) -> None:
    from kube32_sim.kubeconfig import Access, write_kubeconfig

    ann = maker.client("ann", ["devs"])
    access = Access(guarded.url, ca=guarded.access.ca)
    kubectl = Kubectl(write_kubeconfig(tmp_path / "config", access), tmp_path)
    words = ["--client-certificate", str(ann), "--client-key", str(ann), "auth", "whoami", "-o"]
    groups = await asyncio.to_thread(lambda: kubectl(*words, "jsonpath={.status.userInfo.groups}"))
    assert groups == '["devs","system:authenticated"]'


def test_old_tls_is_refused_whatever_the_system_allows() -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.MINIMUM_SUPPORTED
    prepare(context, None)
    assert context.minimum_version == ssl.TLSVersion.TLSv1_2
    assert context.options & ssl.OP_NO_RENEGOTIATION


async def test_every_server_with_tls_is_prepared(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[object] = []
    monkeypatch.setattr("kube32_sim.ground.prepare", lambda context, authorities: seen.append(authorities))
    async with Cluster(ServeOptions(port=0, nodes=0, controllers="none", tls_self_signed=True)):
        assert seen == [None]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (None, "No such file or directory"),
        ("nothing", "no certificate in it (PEM)"),
        ("-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----\n", "it is damaged"),
    ],
)
async def test_authorities_that_cannot_be_used_are_named(tmp_path: Path, text: str | None, why: str) -> None:
    path = tmp_path / "ca.pem"
    if text is not None:
        path.write_text(text)
    options = ServeOptions(port=0, nodes=0, controllers="none", tls_self_signed=True, client_ca_file=path)
    with pytest.raises(OptionError) as caught:
        await Cluster(options).start()
    assert str(caught.value) == f"--client-ca-file {path}: {why}"


def test_certificates_need_tls(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="--client-ca-file: needs TLS"):
        ServeOptions(client_ca_file=tmp_path / "ca.pem")


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.org"])
def test_a_server_that_asks_for_credentials_may_be_offered_to_others(host: str, tmp_path: Path) -> None:
    ServeOptions(host=host, tls_self_signed=True)
    ServeOptions(host=host, tls_self_signed=True, client_ca_file=tmp_path / "ca.pem")
    with pytest.raises(OptionError, match="--allow-anonymous"):
        ServeOptions(host=host)
