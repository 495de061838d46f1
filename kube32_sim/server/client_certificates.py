"""Who calls, by the certificate that the connection shows: as kube-apiserver's --client-ca-file has it.

A caller need not show any; one of other authorities, or not good today, ends the connection while TLS begins.
The common name is the user, the organizations are the groups (upstream's `CommonNameUserConversion`).
"""

from __future__ import annotations

import ssl
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from kube32_sim.api.users import User
from kube32_sim.clock import RealClock
from kube32_sim.options import OptionError

UID = "1.3.6.1.4.1.57683.2"
"""The attribute of a subject that is the user's uid."""
CREDENTIAL = "authentication.kubernetes.io/credential-id"


def prepare(context: ssl.SSLContext, authorities: Path | None) -> None:
    """What every server's TLS is: 1.2 or newer whatever the system's configuration says, one handshake a connection.

    authorities: a file with those of whose certificates callers are known; None: no certificates are asked for.
    """
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.options |= ssl.OP_NO_RENEGOTIATION | ssl.OP_NO_COMPRESSION
    if authorities is not None:
        _ask_for_certificates(context, authorities)


def _ask_for_certificates(context: ssl.SSLContext, authorities: Path) -> None:
    """OptionError where the file cannot be used."""
    option = f"--client-ca-file {authorities}"
    try:
        text = authorities.read_bytes()
    except OSError as error:
        raise OptionError(f"{option}: {error.strerror}") from error
    if b"CERTIFICATE-----" not in text:
        raise OptionError(f"{option}: no certificate in it (PEM)")
    try:
        context.load_verify_locations(cadata=text.decode("utf-8", "replace"))
    except (ssl.SSLError, ValueError) as error:
        raise OptionError(f"{option}: it is damaged") from error
    context.verify_mode = ssl.CERT_OPTIONAL


class _Holder(NamedTuple):
    """Whose a certificate is, and from when to when it is good (seconds since 1970)."""

    user: User | None
    start: float
    end: float


class ClientCertificates:
    """Knows callers by the certificates that TLS has verified.  Certificates are good in real time."""

    def __init__(self) -> None:
        self._clock = RealClock()

    def user(self, transport: Any) -> User | None:
        """Of a connection; None where it shows no certificate, or one without a name.

        Raises ValueError where its certificate is not good any more.
        """
        tls = transport.get_extra_info("ssl_object") if transport is not None else None
        shown = tls.getpeercert(True) if tls is not None else None
        if not shown:
            return None
        holder = _holder(shown)
        if not holder.start <= self._clock.now() <= holder.end:
            raise ValueError("the certificate is not good now")
        return holder.user


@lru_cache(maxsize=4096)
def _holder(certificate: bytes) -> _Holder:
    """certificate: as DER."""
    from cryptography import x509
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.x509.oid import NameOID, ObjectIdentifier

    found = x509.load_der_x509_certificate(certificate)
    start, end = found.not_valid_before_utc.timestamp(), found.not_valid_after_utc.timestamp()

    def values(oid: ObjectIdentifier) -> list[str]:
        return [str(each.value) for each in found.subject.get_attributes_for_oid(oid)]

    names, uids = values(NameOID.COMMON_NAME), values(ObjectIdentifier(UID))
    if not names or not names[-1]:
        return _Holder(None, start, end)
    groups = (*values(NameOID.ORGANIZATION_NAME), "system:authenticated")
    extra = {CREDENTIAL: [f"X509SHA256={found.fingerprint(SHA256()).hex()}"]}
    return _Holder(User(names[-1], uids[0] if uids else "", groups, extra, certified=True), start, end)
