"""Certificates as somebody else would have made them."""

from __future__ import annotations

import time

from kube32_sim.server.authority import made_up, server_certificate


def certificates_for(host: str) -> tuple[bytes, bytes, bytes]:
    """(authority, a server's certificate, its key), in PEM."""
    authority = made_up(time.time())
    return authority.certificate, *server_certificate([host], time.time(), authority)
