"""What a cluster stands on: its store, clock and ids, and who it lets in.

An ordinary cluster makes that of its options; a fork is given what its original had at one moment.
"""

from __future__ import annotations

import logging
import ssl
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kube32_sim.api.account_tokens import SigningKey
from kube32_sim.api.builtin import builtin_table
from kube32_sim.api.resources import ResourceTable
from kube32_sim.api.users import ADMIN, User
from kube32_sim.assembling import Stoppable
from kube32_sim.clock import Clock, RealClock, VirtualClock
from kube32_sim.greeting import served_hosts
from kube32_sim.ids import Ids
from kube32_sim.kept import administrator_token, own_authority, reached
from kube32_sim.options import ServeOptions
from kube32_sim.server.authentication import read_tokens, token_to_show
from kube32_sim.server.client_certificates import prepare
from kube32_sim.server.exposure import warn_of_readers
from kube32_sim.storage.interface import Store, Unavailable
from kube32_sim.storage.opening import open_store

if TYPE_CHECKING:
    from kube32_sim.registry.forks import Room
    from kube32_sim.registry.journal import Journal
    from kube32_sim.server.app import ApiServer
    from kube32_sim.server.waking import Waking
    from kube32_sim.storage.branching import BranchedStore

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Standing:
    """known: the tokens that are known, or None for an open server.  token: an administrator's, for the kubeconfig.

    ends: what is to be stopped last.
    """

    clock: Clock
    store: Store
    ids: Ids
    table: ResourceTable
    known: dict[bytes, User] | None
    token: str
    ends: Sequence[Stoppable] = ()


class _Closing:
    """The end of a store, with the time that a virtual clock has reached."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store, self._clock = store, clock

    async def stop(self) -> None:
        try:
            if self._clock.mode == VirtualClock.mode:
                await self._store.keep_time(self._clock.now())
        except Unavailable as error:
            log.error("the time is not kept: %s", error)
        await self._store.close()


async def stand(options: ServeOptions) -> Standing:
    """As options say.  Raises StoreError, Unavailable, OptionError, OSError; then nothing is left open."""
    virtual = options.clock == "virtual"
    clock: Clock = VirtualClock() if virtual else RealClock()
    table = builtin_table()
    store = await open_store(options.store_place, table, clock, options.limits)
    closing = _Closing(store, clock)
    try:
        if options.store_place.kind == "sqlite":
            warn_of_readers("--store", options.store_place.path)
        seed = options.seed if options.seed is not None else (0 if virtual else None)
        known, token = await _tokens(options, store)
        return Standing(clock, store, Ids(seed, reached(store)), table, known, token, (closing,))
    except BaseException:
        await closing.stop()
        raise


async def _tokens(options: ServeOptions, store: Store) -> tuple[dict[bytes, User] | None, str]:
    if options.token_file is not None:
        tokens = read_tokens(options.token_file)
        return tokens, token_to_show(tokens, options).decode()
    if options.tls:
        token = await administrator_token(store)
        return {token.encode(): ADMIN}, token
    return None, ""


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
    journal: Journal
    credentials: Credentials
    server: ApiServer
    door: Waking
    room: Room

    def standing(self) -> Standing:
        known, token = self.credentials.known, self.credentials.token
        return Standing(self.clock, self.store, self.ids, self.table, known, token)
