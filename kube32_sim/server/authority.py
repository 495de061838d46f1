"""A certificate authority of our own, and what it vouches for: the server's certificate (`--tls-self-signed`).

Clients keep the authority's certificate, so a server whose objects outlive it keeps its authority, too (`kept.py`); its
own certificate is another at each start.
"""

from __future__ import annotations

import datetime
import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass, field

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from kube32_sim.hosts import OWN_NAMES, address_of, spelled

NAME = "kube32-sim-ca"
OWN_DAYS, SERVER_DAYS = 3650, 365
"""How long certificates are good: the authority's and a server's."""


@dataclass(frozen=True, slots=True)
class Authority:
    """Who vouches for the server: its certificate and its private key, in PEM."""

    certificate: bytes
    key: bytes = field(repr=False)


def made_up(now: float) -> Authority:
    """A new one."""
    key = new_key()
    return Authority(certificate_of(key, now), key)


def new_key() -> bytes:
    """Of a new authority, in PEM."""
    return _private_pem(ec.generate_private_key(ec.SECP256R1()))


def certificate_of(key: bytes, now: float) -> bytes:
    """What clients trust, in PEM, good for ten years: of the same key it is good for the same server certificates."""
    own = _private_key(key)
    made = (
        _certificate(NAME, own.public_key(), now, OWN_DAYS)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(own.public_key()), critical=False)
        .sign(own, hashes.SHA256())
    )
    return made.public_bytes(serialization.Encoding.PEM)


def outlasts_a_server(certificate: bytes, now: float) -> bool:
    """Whether an authority's certificate is good for as long as a server certificate that is made now."""
    end = x509.load_pem_x509_certificate(certificate).not_valid_after_utc
    return end >= _moment(now) + datetime.timedelta(days=SERVER_DAYS)


def server_certificate(hosts: Sequence[str], now: float, authority: Authority) -> tuple[bytes, bytes]:
    """(certificate, its private key) of a server, in PEM, good for a year.

    hosts: names and addresses by which it is reached, besides those that every server has.
    """
    own, key = _private_key(authority.key), ec.generate_private_key(ec.SECP256R1())
    made = (
        _certificate("kube32-sim", key.public_key(), now, SERVER_DAYS)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName(_names(hosts)), critical=False)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(own.public_key()), critical=False)
        .sign(own, hashes.SHA256())
    )
    return made.public_bytes(serialization.Encoding.PEM), _private_pem(key)


def _certificate(name: str, key: ec.EllipticCurvePublicKey, now: float, days: int) -> x509.CertificateBuilder:
    """What is said of everyone.  An hour back: clocks differ."""
    start = _moment(now)
    return (
        x509.CertificateBuilder(_name(NAME), _name(name), key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(start - datetime.timedelta(hours=1))
        .not_valid_after(start + datetime.timedelta(days=days))
    )


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _moment(now: float) -> datetime.datetime:
    return datetime.datetime.fromtimestamp(now, datetime.UTC)


def _private_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def _private_key(pem: bytes) -> ec.EllipticCurvePrivateKey:
    key = serialization.load_pem_private_key(pem, None)
    assert isinstance(key, ec.EllipticCurvePrivateKey)
    return key


def _names(hosts: Sequence[str]) -> list[x509.GeneralName]:
    names = dict.fromkeys(OWN_NAMES)
    addresses = dict.fromkeys(map(ipaddress.ip_address, ("127.0.0.1", "::1")))
    for host in hosts:
        address = address_of(host)
        if address is not None:
            addresses[address] = None
        elif spelled(host):
            names[spelled(host)] = None
    return [*map(x509.DNSName, names), *map(x509.IPAddress, addresses)]
