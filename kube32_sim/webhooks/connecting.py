"""Where a webhook is reached and whom it has to be: URLs, Services, certificates; and failures as Go tells them.

Services of a simulated cluster lead nowhere, but a Service of type ExternalName leads to a real host (as upstream), and
so does one whose Endpoints somebody has written; the certificate is the Service's all the same (`NAME.NAMESPACE.svc`).
"""

from __future__ import annotations

import base64
import binascii
import os
import socket
import ssl
from functools import lru_cache
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult

from kube32_sim.api.strategies.base import Lookup

JsonObject = dict[str, Any]

HTTPS = 443
_SERVICES, _ENDPOINTS = ("", "services"), ("", "endpoints")
_DOMAIN = ".svc"


class Unreachable(Exception):
    """A webhook that cannot be called; the text says why, in Go's words where Go has any."""


class Target(NamedTuple):
    """url: without the query.  context: whom to trust."""

    url: str
    context: ssl.SSLContext


def target(client: JsonObject) -> Target:
    """Where a clientConfig leads; raises Unreachable where its certificates cannot be used."""
    context = _context(client.get("caBundle") or "")
    service = client.get("service")
    if service is None:
        return Target(client.get("url", ""), context)
    host = f"{service['name']}.{service['namespace']}{_DOMAIN}:{service.get('port', HTTPS)}"
    path = service.get("path") or ""
    return Target(f"https://{host}{path if path.startswith('/') else f'/{path}'}", context)


@lru_cache(maxsize=200)
def _context(bundle: str) -> ssl.SSLContext:
    """bundle: certificates in PEM, in base64; "" for those of the system.

    As strict as Go: what is in the bundle is trusted by itself, and only what the certificate says of alternative names
    counts.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.hostname_checks_common_name = False
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    if not bundle:
        context.load_default_certs()
        return context
    try:
        context.load_verify_locations(cadata=base64.b64decode(bundle).decode("ascii"))
    except (binascii.Error, UnicodeDecodeError, ssl.SSLError, ValueError):
        why = "unable to load root certificates: unable to parse bytes as PEM block"
        raise Unreachable(f"could not get REST client: {why}") from None
    return context


class Resolver(AbstractResolver):
    """Names of Services lead to where these do; all others are looked up."""

    def __init__(self, cluster: Lookup) -> None:
        self._cluster = cluster
        self._others = aiohttp.ThreadedResolver()

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        """Raises Unreachable for a Service that leads nowhere, and OSError."""
        name, _, namespace = host.removesuffix(_DOMAIN).partition(".")
        if not host.endswith(_DOMAIN) or not namespace or "." in namespace:
            return await self._others.resolve(host, port, family)
        real, real_port = self._behind(namespace, name, port)
        found = await self._others.resolve(real, real_port, family)
        return [{**each, "hostname": host} for each in found]

    def _behind(self, namespace: str, name: str, port: int) -> tuple[str, int]:
        service = self._cluster.get(_SERVICES, namespace, name)
        if service is None:
            raise Unreachable(f'service "{name}" not found')
        spec = service["spec"]
        if spec.get("type") == "ExternalName":
            return spec.get("externalName", ""), port
        if all(each.get("port") != port for each in spec.get("ports") or ()):
            raise Unreachable(f'no service port {port} found for service "{name}"')
        if not spec.get("selector"):
            address = _address(self._cluster.get(_ENDPOINTS, namespace, name) or {}, service, port)
            if address is not None:
                return address
        raise Unreachable(
            f'no endpoints available for service "{name}": pods are simulated, nothing listens in them; let the '
            "Service be of type ExternalName, or give the webhook a url"
        )

    async def close(self) -> None:
        await self._others.close()


def _address(endpoints: JsonObject, service: JsonObject, port: int) -> tuple[str, int] | None:
    """Where the endpoints say that a port of the Service leads."""
    ports = service["spec"].get("ports") or ()
    asked = next((each.get("name", "") for each in ports if each.get("port") == port), None)
    for subset in endpoints.get("subsets") or ():
        for each in subset.get("ports") or ():
            if each.get("name", "") == asked and subset.get("addresses"):
                return subset["addresses"][0]["ip"], each["port"]
    return None


# failures

_UNTRUSTED = frozenset((2, 18, 19, 20, 21))
"""OpenSSL's codes for certificates of nobody that is trusted."""
_EXPIRED = frozenset((9, 10))
_OTHER_HOST = frozenset((62, 64))


def why(error: BaseException, url: str) -> str:
    """What went wrong on the way to a URL, as Go says it."""
    host = urlsplit(url)
    address = f"{host.hostname}:{host.port or HTTPS}"
    if isinstance(error, Unreachable):
        return str(error)
    if isinstance(error, TimeoutError):
        return "context deadline exceeded"
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        return _certificate(error.certificate_error, host.hostname or "")
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        cause = error.os_error
        return str(cause) if isinstance(cause, Unreachable) else f"dial tcp: lookup {host.hostname}: no such host"
    if isinstance(error, aiohttp.ClientSSLError):
        return _tls(error.os_error)
    if isinstance(error, aiohttp.ClientConnectorError):
        cause = error.os_error
        told = os.strerror(cause.errno).lower() if cause.errno and cause.errno > 0 else str(cause)
        return f"dial tcp {address}: connect: {told}"
    return "EOF" if isinstance(error, aiohttp.ServerDisconnectedError) else str(error) or type(error).__name__


def _certificate(error: Exception, host: str) -> str:
    code = getattr(error, "verify_code", 0)
    if code in _OTHER_HOST:
        told = f"certificate is valid for other names, not {host}"
    elif code in _EXPIRED:
        told = "certificate has expired or is not yet valid"
    elif code in _UNTRUSTED:
        told = "certificate signed by unknown authority"
    else:
        told = getattr(error, "verify_message", "") or str(error)
    return f"tls: failed to verify certificate: x509: {told}"


def _tls(error: OSError) -> str:
    if getattr(error, "reason", "") == "WRONG_VERSION_NUMBER":
        return "http: server gave HTTP response to HTTPS client"
    return f"remote error: {getattr(error, 'reason', None) or error}"
