"""What a cluster stands on: its store, clock and ids, and who it lets in.

An ordinary cluster makes that of its options; a fork is given what its original had at one moment.
"""

from __future__ import annotations

import ssl
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kube32_sim.api.account_tokens import SigningKey
from kube32_sim.api.resources import ResourceTable
from kube32_sim.api.users import User
from kube32_sim.clock import RealClock, VirtualClock
from kube32_sim.greeting import served_hosts
from kube32_sim.ids import Ids
from kube32_sim.kept import own_authority
from kube32_sim.options import ServeOptions
from kube32_sim.server.client_certificates import prepare
from kube32_sim.storage.interface import Store

if TYPE_CHECKING:
    from kube32_sim.registry.forks import Room
    from kube32_sim.server.app import ApiServer
    from kube32_sim.server.waking import Waking
    from kube32_sim.storage.branching import BranchedStore


@dataclass(frozen=True, slots=True)
class Credentials:
    """known, token: as `Cluster` has them.  context, ca: of TLS, None without."""

    known: dict[bytes, User] | None
    token: str = field(repr=False)
    key: SigningKey = field(repr=False)
    context: ssl.SSLContext | None
    ca: bytes | None


async def tls_of(options: ServeOptions, store: Store) -> tuple[ssl.SSLContext | None, bytes | None]:
    """(None without TLS, the certificate by which clients know the server, PEM)."""
    from kube32_sim.server import tls

    context, ca = None, None
    if options.tls_self_signed:
        # the other side looks at its own clock, whatever time it is in here
        now = RealClock().now()
        authority = await own_authority(store, now)
        context, ca = tls.self_signed_context(served_hosts(options), now, authority)
    elif options.tls_cert is not None and options.tls_key is not None:
        context, ca = tls.context_from_files(options.tls_cert, options.tls_key)
    if context is not None:
        prepare(context, options.client_ca_file)
    return context, ca


@dataclass(frozen=True, slots=True)
class Ground:
    """Of a fork.  table: without the custom types of the store, which are added when it begins.

    server: listens already, and hands its requests to `door`, which waits for the handler.  room: for forks of it.
    """

    table: ResourceTable
    store: BranchedStore
    clock: VirtualClock
    ids: Ids
    credentials: Credentials
    server: ApiServer
    door: Waking
    room: Room
