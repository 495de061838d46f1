"""TLS: contexts from given files, or from a certificate authority made up for this run."""

from __future__ import annotations

import datetime
import ipaddress
import os
import ssl
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from kube32_sim.options import OptionError

if TYPE_CHECKING:
    from cryptography import x509


def context_from_files(cert: Path, key: Path) -> tuple[ssl.SSLContext, bytes]:
    """(server context, the certificates in PEM for the kubeconfig); OptionError where the files cannot be used."""
    chain = _pem("--tls-cert", cert, b"CERTIFICATE-----", "certificate")
    _pem("--tls-key", key, b"PRIVATE KEY-----", "private key")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)

    def refuse_password() -> str:
        raise OptionError(f"--tls-key {key}: it is encrypted, which is not supported")

    try:
        context.load_cert_chain(cert, key, refuse_password)
    except ssl.SSLError as error:
        other = error.reason == "KEY_VALUES_MISMATCH"
        why = "the key is of another certificate" if other else "they are damaged"
        raise OptionError(f"--tls-cert {cert}, --tls-key {key}: {why}") from error
    return context, chain


def _pem(option: str, path: Path, marker: bytes, what: str) -> bytes:
    """The content of a file that must hold something in PEM."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise OptionError(f"{option} {path}: {error.strerror}") from error
    if marker not in content:
        raise OptionError(f"{option} {path}: no {what} in it (PEM)")
    return content


def self_signed_context(host: str, now: float) -> tuple[ssl.SSLContext, bytes]:
    """(server context, the made-up authority's certificate in PEM), good for a year."""
    authority, chain, key = _make_certificates(host, datetime.datetime.fromtimestamp(now, datetime.UTC))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    handle, path = tempfile.mkstemp(suffix=".pem")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(key + chain)
        context.load_cert_chain(path)
    finally:
        os.unlink(path)
    return context, authority


def _make_certificates(host: str, now: datetime.datetime) -> tuple[bytes, bytes, bytes]:
    """(authority, server certificate, server key) in PEM."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

    def name(text: str) -> x509.Name:
        return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])

    ca_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    start, end = now - datetime.timedelta(hours=1), now + datetime.timedelta(days=365)
    ca = (
        x509.CertificateBuilder(name("kube32-sim-ca"), name("kube32-sim-ca"), ca_key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(start)
        .not_valid_after(end)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(ca_key.public_key()), critical=False)
        .sign(ca_key, hashes.SHA256())
    )
    leaf = (
        x509.CertificateBuilder(name("kube32-sim-ca"), name("kube32-sim"), key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(start)
        .not_valid_after(end)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName(_names(host)), critical=False)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(ca_key.public_key()), critical=False)
        .sign(ca_key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    return ca.public_bytes(pem), leaf.public_bytes(pem), private


def _names(host: str) -> list[x509.GeneralName]:
    from cryptography import x509

    names: list[x509.GeneralName] = [x509.DNSName("localhost"), x509.DNSName("kubernetes.default.svc")]
    addresses = {ipaddress.ip_address("127.0.0.1"), ipaddress.ip_address("::1")}
    try:
        addresses.add(ipaddress.ip_address(host))
    except ValueError:
        names.append(x509.DNSName(host))
    return names + [x509.IPAddress(address) for address in sorted(addresses, key=str)]
