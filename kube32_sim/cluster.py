"""A whole simulated cluster: store, registry, loops, boards and server, put together from `ServeOptions`.

async with Cluster(nodes=2, clock="virtual") as cluster:
    await cluster.advance("330s")
    pods = await cluster.client.list(PODS, "default")

Without `async` it runs in a thread of its own, and what is answered (`kube32_sim.blocking`) needs no `await`.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from inspect import isawaitable
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from kube32_controllers.scheduler import Scheduler

from kube32_sim.api.allocation import Allocators
from kube32_sim.api.authorization import Authorizer
from kube32_sim.api.customs.naming import DEFINITIONS
from kube32_sim.api.resources import ResourceTable
from kube32_sim.api.users import service_account
from kube32_sim.assembling import (
    Forking,
    Parts,
    Stoppable,
    admission_config,
    made_faults,
    placing_options,
    serve_own_types,
)
from kube32_sim.bootstrap import API_SERVER, bootstrap, make_endpoints, make_roles, relocate, rules_writer
from kube32_sim.durations import format_duration, seconds_of
from kube32_sim.greeting import reachable
from kube32_sim.ground import Credentials, Ground, stand, tls_of
from kube32_sim.hosts import bracketed
from kube32_sim.kept import signing_key
from kube32_sim.kubeconfig import Access, write_kubeconfig
from kube32_sim.leading import Candidate, Dormant, LocalBoards
from kube32_sim.local_client import LocalClient
from kube32_sim.loops import Loops, MeteredBinder, make_recorder, make_scheduler
from kube32_sim.metrics.meters import Meters
from kube32_sim.metrics.page import Metrics
from kube32_sim.metrics.traffic import Traffic
from kube32_sim.options import ServeOptions
from kube32_sim.recording.tape import Tape
from kube32_sim.registry.computed import COMPUTED, ComputedEndpoints
from kube32_sim.registry.custom_types import CustomTypes
from kube32_sim.registry.hooks import WriteHooks
from kube32_sim.registry.journal import Journal
from kube32_sim.registry.policies import AdmissionPolicies
from kube32_sim.registry.policy_status import POLICIES, catch_up, policy_status
from kube32_sim.registry.rbac import AGGREGATOR, CLUSTER_ROLES, Aggregation, make_authorizer
from kube32_sim.registry.registry import Registry
from kube32_sim.registry.tokens import Tokens
from kube32_sim.registry.unfinished_types import UnfinishedTypes
from kube32_sim.runtime.recorder import Recorder
from kube32_sim.server.app import ApiServer
from kube32_sim.server.authentication import Authenticator
from kube32_sim.server.client_certificates import ClientCertificates
from kube32_sim.server.documents import CustomDefinitions, Documents
from kube32_sim.server.exposure import check_exposure
from kube32_sim.server.handler import Handler
from kube32_sim.server.inflight import Inflight
from kube32_sim.server.origins import origins_of
from kube32_sim.server.refusals import Refusals
from kube32_sim.storage.interface import Storage, Unavailable
from kube32_sim.storage.opening import cannot_start
from kube32_sim.storage.watching import Hub
from kube32_sim.webhooks.dispatching import Dispatcher

if TYPE_CHECKING:
    from kube32_sim.blocking import BlockingCluster
    from kube32_sim.branches import Fork

log = logging.getLogger(__name__)

T = TypeVar("T")


class Cluster:
    """Not started until entered (or `start`).  clock, store, registry and client are there from then on.

    Options are `ServeOptions`, or its fields by name: `Cluster(nodes=10, clock="virtual")`.
    """

    def __init__(self, options: ServeOptions | None = None, *, ground: Ground | None = None, **fields: Any) -> None:
        """ground: what a fork stands on."""
        self.options = replace(options or ServeOptions(port=0), **fields)
        self._ground = ground
        self.port = 0
        self.candidate: Candidate | None = None
        self._ready = False
        self._stack: list[Stoppable] = []
        self._entered: BlockingCluster | None = None

    async def start(self) -> None:
        """Build and start everything, or raise and leave nothing running.

        OSError, OptionError: it cannot be so.  StoreError, Unavailable: the store cannot be opened, or written.
        """
        try:
            await self._build()
        except Unavailable as error:
            await self.stop()
            raise cannot_start(error, self.options.store_place) from error
        except BaseException:
            await self.stop()
            raise

    async def _build(self) -> None:
        options, ground = self.options, self._ground
        stands = await stand(options) if ground is None else ground.standing()
        self._stack += stands.ends
        self.clock, self.store, self.ids, table = stands.clock, stands.store, stands.ids, stands.table
        self._known, self._token = stands.known, stands.token
        self.hub = Hub(self.store, self.clock.gauge)
        shown = Hub(self.store, self.clock.gauge, kept=True) if self.store.deferred else self.hub
        scheduler = await make_scheduler(options, self.store, still=ground is not None)
        self._meters = Meters(scheduler)
        binder = None if scheduler is None else MeteredBinder(scheduler, self._meters.scheduling)
        low, high = options.node_ports.start, options.node_ports.stop - 1
        allocators = Allocators(self.ids, str(options.service_network), (low, high))
        announce = self._announce if scheduler is not None else None
        self.journal = Journal(self.clock, was_undone=self.store.was_undone) if ground is None else ground.journal
        hooks = WriteHooks(allocators, binder, announce, self.ids, self.journal, charges_quotas=not options.loops)
        self.hooks = hooks
        computed = None
        if "endpoints" in options.loops:
            computed = ComputedEndpoints(self.store, {self.hub, shown}, self.clock, self.ids)
        self.registry = Registry(
            table,
            self.store,
            self.clock,
            self.ids,
            admission_config(options),
            hooks,
            collects_garbage="garbage-collector" in options.loops,
            counts_reports=scheduler is not None,
            computed=computed,
            authorizer=self._authorizer(),
        )
        place = options.store_place
        self._forking = Forking(self._fork, self.registry, ground.room if ground else None)
        self.registry.signing_key = ground.credentials.key if ground else await signing_key(self.store, place)
        self._tape = Tape(self.store, self.clock, self.registry.authorizer, lambda: placing_options(options))
        self.faults = made_faults(options, self.clock)
        about = options, self.registry, hooks, scheduler
        own = serve_own_types(Parts(*about, self._alone, self._tape, self._forking, self.faults))
        hooks.follow(self.store, self.clock)
        self._ask_others(table)
        self.client = LocalClient(self.registry, self.hub)
        self.recorder = make_recorder(self.client, self.clock)
        await self._start_server(shown)
        await self._bootstrap()
        collector = self.client.of(AGGREGATOR, service_account("kube-system", AGGREGATOR))
        self._aggregation = Aggregation(self.store, rules_writer(collector))
        if options.loops:
            hooks.after(CLUSTER_ROLES, self._aggregation.follow)
        await self._repair()
        self.recorder.start()
        self._stack.append(self.recorder)
        await self._start_duties(scheduler, table)
        self._stack += [self._server, *own]  # clients go before loops and boards: these have much to do for them
        await self.store.keep_time(self.clock.now())  # and with it all that was written so far
        if options.kubeconfig is not None:
            write_kubeconfig(options.kubeconfig, self.access)
        self._ready = True

    async def _bootstrap(self) -> None:
        """What every cluster has, from its start on; a fork has what its original had."""
        options = self.options
        if self._ground is not None:
            await relocate(self.client.of(API_SERVER), self.store, options.service_network, self.port)
            return
        await bootstrap(self.client.of(API_SERVER), self.store, options.service_network, self.port)
        if "RBAC" in options.authorization_modes:
            await make_roles(self.registry)

    def _ask_others(self, table: ResourceTable) -> None:
        registry = self.registry
        webhooks = Dispatcher(table, self.store, registry.lookup, registry.authorizer, self.clock, self.ids)
        policies = AdmissionPolicies(self.store, table, registry.authorizer)
        registry.dynamic.use(policies, webhooks=webhooks)
        if self.options.loops:
            self.hooks.after(POLICIES, policy_status(registry))
        self._stack.append(webhooks)

    def _announce(self, pod: dict[str, object]) -> None:
        from kube32_controllers.scheduler import creation_events

        for event in creation_events(pod):
            self.recorder.record(event)

    async def _start_server(self, hub: Hub) -> None:
        """hub: of the watchers outside."""
        options, ground = self.options, self._ground
        context, ca = (
            await tls_of(options, self.store) if ground is None else (ground.credentials.context, ground.credentials.ca)
        )
        self._context = context
        refusals = Refusals() if ground is None else ground.door.refusals
        traffic, inflight = Traffic(), Inflight(options.limits)
        told = self._leads, refusals.counts, inflight.seated
        metrics = Metrics(self.store, hub, self.clock, traffic, self._meters, *told)
        computed = COMPUTED if "endpoints" in options.loops else ()
        definitions, trouble = CustomDefinitions(self.store), lambda: self.store.trouble
        parts = self.registry.table, metrics.text, lambda: self._ready, definitions, computed, trouble
        documents = Documents(*parts, needs_store=self.store.optimistic)
        tokens = Tokens(self._known, self.clock.now, self.registry.lookup, self.registry.signing_key)
        certificates = ClientCertificates() if options.client_ca_file is not None else None
        authenticator = Authenticator(tokens, certificates, origins_of(options))
        seen = refusals, traffic, inflight, self._tape, self.faults
        handler = Handler(self.registry, hub, authenticator, documents, options.limits, *seen)
        self._streams = handler.streams
        self._customs = CustomTypes(self.registry, self._streams.end_of)
        self.hooks.after(DEFINITIONS, self._customs.follow)
        if self.store.optimistic:
            self.store.subscribe(self._customs.hear, [DEFINITIONS])
        self._unfinished = UnfinishedTypes(self.store, self.clock, self._customs.go_on_with)
        if self.store.deferred:
            self.store.subscribe(self._unfinished.hear, [DEFINITIONS])
        self._stack.append(self._unfinished)
        await self._customs.begin()
        server = self._server = ApiServer(handler, self.clock, options.limits) if ground is None else ground.server
        self._stack.append(server)
        if ground is None:
            await server.start(options.host, options.port, context)
        else:
            ground.door.use(handler)
        check_exposure(options, server.addresses)
        self.port = server.port
        scheme = "https" if context is not None else "http"
        host = bracketed(options.host)
        self.url = f"{scheme}://{host}:{self.port}"
        documents.discovery.address = f"{host}:{self.port}"
        self.access = Access(f"{scheme}://{reachable(options.host)}:{self.port}", self._token, ca)

    def _authorizer(self) -> Authorizer:
        """Who has a token or a certificate may do everything, whatever roles say, unless it is asked what he may do."""
        options = self.options
        all_may = not options.authorization_mode
        known = [user.name for user in (self._known or {}).values()] if all_may else []
        return make_authorizer(options.authorization_modes, self.store, known, certified=all_may)

    async def _start_duties(self, scheduler: Scheduler | None, table: ResourceTable) -> None:
        """Loops and boards: now, or when this process leads."""
        options, ca = self.options, (self.access.ca or b"").decode()
        key = self.registry.signing_key

        def make(recorder: Recorder) -> tuple[Loops, LocalBoards]:
            parts = options, scheduler, table, self.store, self.client, recorder, self.clock
            loops = Loops(*parts, ca, key, self._meters)
            resumes = self._ground is not None
            return loops, LocalBoards(options, self.store, self.client, self.clock, self.ids, resumes=resumes)

        if options.elects:
            parts = self.store, self.client, self.clock, self.ids, self.recorder, self.port
            self.candidate = Candidate(options.election, *parts, self._take_over, self._unfinished.look_after, make)
            self.candidate.start()
            self._stack.append(self.candidate)
            return
        self.loops, boards = make(self.recorder)
        if self._ground is not None:
            dormant = Dormant(self.loops, boards, self.store, self.clock)
            self._stack.append(dormant)
            dormant.start()
            return
        self.loops.start()
        self._stack.append(self.loops)
        self._stack.append(boards)
        await boards.start()

    async def _alone(self, work: Callable[[], Awaitable[T]]) -> T:
        """Where others share the store, no loops may see half of a snapshot; here there is no turn for them."""
        return await (work() if self.candidate is None else self.candidate.alone(work))

    def _leads(self) -> bool | None:
        return None if self.candidate is None else self.candidate.elector.leading

    async def _take_over(self) -> None:
        """The beginning of a term."""
        await self._customs.begin()
        await bootstrap(self.client.of(API_SERVER), self.store, self.options.service_network, self.port)
        await self._repair()

    async def _repair(self) -> None:
        """What an earlier run, or another process, has left half done; and where the API server is from now on."""
        if self.options.loops:
            await self._aggregation.begin()
            await catch_up(self.registry)  # it knows the custom types now
        now = self.clock.timestamp()
        await self.hooks.repair(now)
        await make_endpoints(self.store, self.ids, now, self.options.host, self.port)

    async def _fork(self, port: int) -> Fork[Cluster]:
        """A branch that has not begun."""
        from kube32_sim import branches

        credentials = Credentials(self._known, self._token, self.registry.signing_key, self._context, self.access.ca)
        parts = self.options, self.store, self.clock, self.ids, self.journal, credentials, self._forking.room, port
        return await branches.fork(*parts, lambda options, ground: Cluster(options, ground=ground))

    @asynccontextmanager
    async def fork(self, name: str = "", port: int = 0) -> AsyncIterator[Cluster]:
        """A branch of this cluster from now on, on a virtual clock of its own; it ends with the block.

        name: by which it is listed, or a generated one.  Raises ApiError for one that cannot be.
        """
        async with self._forking.forked(name, port) as branch:
            yield await branch.wake()

    async def stop(self) -> None:
        """Stop everything, the last started first."""
        while self._stack:
            await self._stack.pop().stop()

    def watchers(self, storage: Storage | None = None) -> int:
        """How many watches and followed logs clients outside have open: of a type, or in all."""
        return len(self._streams) if storage is None else self._streams.about(storage)

    # time

    async def settle(self) -> None:
        """Run until nothing more is due now."""
        await self.clock.settle()

    async def advance(self, duration: str | float | timedelta) -> None:
        """Move a virtual clock on; answers when everything due by then has run.

        duration: Go's (`"330s"`), a number of seconds, or a timedelta.  Raises NotVirtual on a real clock, ValueError.
        """
        await self.store.keep_time(await self.clock.advance(seconds_of(duration)))

    async def run_until(
        self, condition: Callable[[], T | Awaitable[T]], limit: str | float | timedelta, what: str = "the condition"
    ) -> T:
        """Let time pass until the condition's answer is true (any true value), and answer that.

        On a virtual clock time stands at the moment when it became true.  Raises TimeoutError, which names `what`, when
        it is not true by the limit.
        """
        until = self.clock.now() + seconds_of(limit)
        await self.settle()
        while True:
            answer = condition()
            found = await answer if isawaitable(answer) else answer
            if found:
                await self.store.keep_time(self.clock.now())
                return found
            if not await self.clock.step(until):
                raise TimeoutError(f"{what} is not true within {format_duration(seconds_of(limit))}; it is {found!r}")

    async def __aenter__(self) -> Cluster:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    def __enter__(self) -> BlockingCluster:
        from kube32_sim.blocking import entered

        self._entered = entered(self)
        return self._entered

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._entered is not None:
            self._entered.close()
