"""Which of several replicas runs the loops: a Lease that one holds, by the rules of client-go's `leaderelection`.

A candidate takes the Lease when nobody holds it, or when it has seen no change of it for as long as it lasts: by its
own clock, from the moment in which it saw the last one, so whose clock says what does not matter.  The leader renews
it; who cannot for too long, or sees that another has it, stops what it does and stands again.  At the end it lets go,
so that another can begin at once.

A leader that was stopped in the middle of something, and wakes up when its time is over, must not write any more.  The
Lease cannot see to that; the term does, which is stored with it and goes with each of the leader's writes
(`storage/fencing`).
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar

from kube32_sim.api.errors import ApiError
from kube32_sim.client import LEASES, Client
from kube32_sim.clock import Clock, rfc3339_micro
from kube32_sim.election import JITTER
from kube32_sim.ids import Ids
from kube32_sim.storage.fencing import leading, taking
from kube32_sim.storage.interface import Unavailable

log = logging.getLogger(__name__)

JsonObject = dict[str, Any]
T = TypeVar("T")

BORROWS = "_borrows"
"""The end of the identity of who has the lease for one piece of work."""
_ATTEMPTS = 10
"""To take it from a leader that renews it."""
RELEASE_SECONDS = 2.0
"""Patience for letting go at the end; a lease that is not let go runs out."""
MOST_FAILURES = 3
"""Terms in a row that could not begin, after which others have their turn."""
_STEPS = 1000
_EPSILON = 0.01
"""Seconds after which a lease that has run out is surely seen as such."""


@dataclass(frozen=True, slots=True)
class Rules:
    """The Lease, and client-go's three durations (seconds); `election` says what they must be to each other."""

    namespace: str = "kube-system"
    name: str = "kube32-sim"
    lease_duration: int = 15
    renew_deadline: float = 10.0
    retry_period: float = 2.0


@dataclass(frozen=True, slots=True)
class Record:
    """What a Lease says.  holder: "" where nobody has it.  version: the resourceVersion of the Lease."""

    holder: str
    duration: int
    acquired: str
    renewed: str
    transitions: int
    version: str = ""

    @staticmethod
    def of(lease: JsonObject) -> Record:
        spec = lease.get("spec") or {}
        return Record(
            spec.get("holderIdentity") or "",
            spec.get("leaseDurationSeconds") or 0,
            spec.get("acquireTime") or "",
            spec.get("renewTime") or "",
            spec.get("leaseTransitions") or 0,
            lease["metadata"].get("resourceVersion", ""),
        )

    def spec(self) -> JsonObject:
        held = {"holderIdentity": self.holder} if self.holder else {}
        return {
            **held,
            "leaseDurationSeconds": self.duration,
            "acquireTime": self.acquired,
            "renewTime": self.renewed,
            "leaseTransitions": self.transitions,
        }


NOBODY = Record("", 0, "", "", 0)


class Duties(Protocol):
    """What only the leader does.  Each term has its own."""

    async def start(self) -> None: ...

    async def stop(self) -> None: ...


class Elector:
    """One candidate.  leading: whether it is the leader.  leader: who is, as far as it knows."""

    def __init__(
        self,
        client: Client,
        clock: Clock,
        ids: Ids,
        rules: Rules,
        identity: str,
        duties: Callable[[], Awaitable[Duties]],
        tell: Callable[[str], None] = log.info,
    ) -> None:
        """identity: nobody else's, ever.  duties: makes those of a term.  tell: told that we lead, or do no more."""
        self._client = client
        self._clock = clock
        self._ids = ids
        self._rules = rules
        self.identity = identity
        self._borrower = identity.endswith(BORROWS)
        self._complained = False
        self._make = duties
        self._tell = tell
        self._seen = NOBODY
        self._seen_at = clock.steady()
        self._told = ""
        """Who was told of as the leader last."""
        self._signal = clock.signal()
        self._task: asyncio.Task[None] | None = None
        self._terms = 0
        self._failures = 0
        """Terms in a row that could not begin."""
        self.leading = False

    @property
    def leader(self) -> str:
        return self._seen.holder

    @property
    def _term(self) -> str:
        """The present one, or the last."""
        return f"{self.identity} {self._terms}"

    def start(self) -> None:
        log.info("%s is a candidate for the lease %s/%s", self.identity, self._rules.namespace, self._rules.name)
        self._task = self._clock.spawn(self._run(), f"candidate for {self._rules.name}")

    async def stop(self) -> None:
        """Stop what the leader does, then let others have it at once."""
        if self._task is None:
            return
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        self._task = None
        if self._terms:  # it may be ours though no answer has told so yet
            await self._release()

    def heard(self, lease: JsonObject) -> None:
        """The Lease has been written: let go, or taken from us, it is looked at now and not some time later.

        Another's lasts from this moment on.
        """
        record = Record.of(lease)
        if record.holder != self.identity and record != self._seen:
            self._see(record)
        if not record.holder or (self.leading and record.holder != self.identity):
            self._signal.set()

    async def _run(self) -> None:
        period = self._rules.retry_period
        while True:
            while not await self._try(self._rules.renew_deadline):
                await self._pause(min(period * (1 + JITTER * self._ids.integer(_STEPS) / _STEPS), self._until_free()))
            await self._lead()
            if self._failures >= MOST_FAILURES:
                await self._stand_back()

    async def _stand_back(self) -> None:
        """Others may be able to do what we cannot."""
        seconds = self._rules.lease_duration
        log.warning("%d terms of %s could not begin: others may, for %d s", self._failures, self._rules.name, seconds)
        self._failures = 0
        await self._release()
        await self._clock.sleep(seconds)

    def _until_free(self) -> float:
        """Seconds until the lease of whoever holds it runs out: it is not free for longer than it takes to ask."""
        left = self._seen_at + self._seen.duration - self._clock.steady()
        return left + _EPSILON if self._seen.holder and left > 0 else math.inf

    async def _pause(self, seconds: float) -> None:
        cancel = self._clock.call_at(self._clock.now() + seconds, self._signal.set)
        try:
            await self._signal.wait()
        finally:
            cancel()

    # for one piece of work

    async def borrow(self, work: Callable[[], Awaitable[T]]) -> T:
        """Take the lease at once, whoever leads, and keep it while `work` is done; then anybody may have it.

        Who led is deposed, and writes nothing more meanwhile.  Raises Unavailable where the lease cannot be had, or is
        lost before the work is done.
        """
        done: list[T] = []

        async def run() -> None:
            done.append(await work())

        await self._clock.spawn(self._borrowed(run), f"borrowing the lease {self._rules.name}")
        return done[0]

    async def _borrowed(self, run: Callable[[], Coroutine[Any, Any, None]]) -> None:
        for _ in range(_ATTEMPTS):
            if await self._try(self._rules.renew_deadline):
                break
        else:
            raise Unavailable(f"the lease {self._rules.name} cannot be had now ({self.leader or 'nobody'} has it)")
        self.leading = True
        with leading(self._term):
            task = self._clock.spawn(run(), f"what borrows the lease {self._rules.name}")
        task.add_done_callback(lambda _: self._signal.set())
        try:
            await self._keep(task)
        finally:
            self.leading = False
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            await self._release()
        if task.cancelled():
            raise Unavailable(f"the lease {self._rules.name} was lost before all was done")
        task.result()

    # leading

    async def _lead(self) -> None:
        """As long as the lease is ours: with the duties under way."""
        self._tell(f"{self.identity} became leader")
        self.leading = True
        with leading(self._term):  # what is started now, and all that this starts, writes under it
            term = self._clock.spawn(self._serve(), f"term of {self._rules.name}")
        try:
            await self._keep(term)
        finally:
            self.leading = False
            term.cancel()
            await asyncio.gather(term, return_exceptions=True)
            self._tell(f"{self.identity} stopped leading")

    async def _serve(self) -> None:
        """The duties, from their start until this is cancelled."""
        duties: Duties | None = None
        try:
            duties = await self._make()
            await duties.start()
            self._failures = 0
            await self._clock.signal().wait()
        except ApiError as error:
            self._failures += 1
            log.warning("the term of %s cannot begin: %s", self._rules.name, error.message)
        except Exception:
            self._failures += 1
            log.exception("the term of %s ended by accident", self._rules.name)
        finally:
            if duties is not None:
                await self._end(duties)

    async def _end(self, duties: Duties) -> None:
        try:
            await duties.stop()
        except Exception:
            log.exception("the end of a term of %s is not as it should be", self._rules.name)

    async def _keep(self, term: asyncio.Task[None]) -> None:
        """Renew the lease until that fails for too long, another has it, or the term has ended by itself."""
        rules, renewed = self._rules, self._clock.steady()
        while not term.done():
            await self._pause(rules.retry_period)
            now = self._clock.steady()
            left = rules.renew_deadline - (now - renewed)
            if await self._try(max(left, 0.0) or rules.retry_period):
                renewed = now
            elif self._seen.holder != self.identity:
                log.warning("%s is the leader now: %s", self._seen.holder or "nobody", rules.name)
                return
            elif self._clock.steady() - renewed >= rules.renew_deadline:
                log.warning("the lease %s could not be renewed within %g s", rules.name, rules.renew_deadline)
                return

    # the lease

    async def _try(self, patience: float) -> bool:
        """Take the lease or renew it; whether it is ours.  patience: seconds of real time."""
        try:
            async with asyncio.timeout(patience):
                ours = await self._acquire_or_renew()
        except TimeoutError:
            self._complain(f"no answer within {patience:.1f} s")
        except ApiError as error:
            if error.reason in ("Conflict", "AlreadyExists"):  # another was quicker
                log.debug("the lease %s: %s", self._rules.name, error.message)
            else:
                self._complain(error.message)
        else:
            self._complained = False
            return ours
        return False

    def _complain(self, why: str) -> None:
        """Once, until it is well again: it is tried every few seconds."""
        level = logging.DEBUG if self._complained else logging.WARNING
        log.log(level, "the lease %s: %s", self._rules.name, why)
        self._complained = True

    async def _acquire_or_renew(self) -> bool:
        now = rfc3339_micro(self._clock.now())
        wanted = Record(self.identity, self._rules.lease_duration, now, now, 0)
        try:
            lease = await self._client.get(LEASES, self._rules.namespace, self._rules.name)
        except ApiError as error:
            if error.code != 404:
                raise
            if self.leading:
                self._see(NOBODY)
                return False
            lease = {"metadata": {"name": self._rules.name}, "spec": wanted.spec()}
            with self._beginning():
                made = await self._client.create(LEASES, self._rules.namespace, lease)
            self._see(Record.of(made))
            return True
        old = Record.of(lease)
        if old != self._seen:
            self._see(old)
        ours = old.holder == self.identity
        if self.leading and not ours:
            return False  # though nobody may have it: others may have led meanwhile, and our term is over
        if ours:
            wanted = replace(wanted, acquired=old.acquired, transitions=old.transitions)
        elif self._is_held(old):
            return False
        else:
            wanted = replace(wanted, transitions=old.transitions + 1)
        with self._beginning():
            await self._write(lease, wanted)
        return True

    def _is_held(self, record: Record) -> bool:
        """Whether somebody else has the lease, and we cannot take it from him."""
        if not record.holder or (self._borrower and not self.leading and not record.holder.endswith(BORROWS)):
            return False
        return self._clock.steady() < self._seen_at + record.duration

    def _beginning(self) -> AbstractContextManager[None]:
        """Who does not lead yet begins a term with the write of the Lease."""
        if self.leading:
            return nullcontext()
        self._terms += 1
        return taking(self._term)

    async def _write(self, lease: JsonObject, record: Record) -> None:
        """In the place of what was read; a Conflict where that is not what is stored any more."""
        made = await self._client.update(LEASES, self._rules.namespace, {**lease, "spec": record.spec()})
        self._see(Record.of(made))

    def _see(self, record: Record) -> None:
        self._seen, self._seen_at = record, self._clock.steady()
        news = record.holder not in ("", self._told, self.identity)  # that we lead is told when we begin
        if news and not self._borrower:
            log.info("new leader elected: %s", record.holder)
        self._told = record.holder

    async def _release(self) -> None:
        try:
            async with asyncio.timeout(RELEASE_SECONDS):
                while not await self._let_go():
                    pass
        except TimeoutError:
            log.warning("the lease %s is not let go, and runs out: no answer", self._rules.name)
        except ApiError as error:
            log.warning("the lease %s is not let go, and runs out: %s", self._rules.name, error.message)

    async def _let_go(self) -> bool:
        """Whether it is ours no more.  The renewal that was under way when we were stopped may have come between."""
        now = rfc3339_micro(self._clock.now())
        lease = await self._client.get(LEASES, self._rules.namespace, self._rules.name)
        if Record.of(lease).holder != self.identity:
            return True
        try:
            await self._write(lease, Record("", 1, now, now, Record.of(lease).transitions))
        except ApiError as error:
            if error.reason != "Conflict":
                raise
            return False
        return True
