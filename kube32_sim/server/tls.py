"""TLS: contexts from given files, or from a certificate authority of our own (`authority`)."""

from __future__ import annotations

import os
import ssl
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kube32_sim.options import OptionError
from kube32_sim.server.exposure import warn_of_readers

if TYPE_CHECKING:
    from kube32_sim.server.authority import Authority


def context_from_files(cert: Path, key: Path) -> tuple[ssl.SSLContext, bytes]:
    """(server context, the certificates in PEM for the kubeconfig); OptionError where the files cannot be used."""
    chain = _pem("--tls-cert", cert, b"CERTIFICATE-----", "certificate")
    _pem("--tls-key", key, b"PRIVATE KEY-----", "private key")
    warn_of_readers("--tls-key", key)
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


def self_signed_context(
    hosts: Sequence[str], now: float, authority: Authority | None = None
) -> tuple[ssl.SSLContext, bytes]:
    """(server context, the authority's certificate in PEM), good for a year; the authority is made up unless given.

    hosts: names and addresses for which the server's certificate is good besides the usual ones.
    """
    from kube32_sim.server.authority import made_up, server_certificate

    authority = authority or made_up(now)
    chain, key = server_certificate(hosts, now, authority)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    handle, path = tempfile.mkstemp(suffix=".pem")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(key + chain)
        context.load_cert_chain(path)
    finally:
        os.unlink(path)
    return context, authority.certificate
