"""Candidates for one Lease on a virtual clock: who leads when, what the Lease says, and what ends a term."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from kube32_sim import leading
from kube32_sim.api.errors import ApiError
from kube32_sim.client import LEASES
from kube32_sim.clock import parse_time
from kube32_sim.cluster import Cluster
from kube32_sim.ids import Ids
from kube32_sim.options import ServeOptions
from kube32_sim.runtime.leader_election import BORROWS, Duties, Elector, Rules
from kube32_sim.storage.fencing import LEADING
from tests.support.waiting import eventually

RULES = Rules()
STORED = ("coordination.k8s.io", "leases")
SHORTLY = RULES.retry_period * 2.2
"""The longest that a candidate waits between two looks."""


class Term:
    """Duties that only say that they are under way."""

    def __init__(self, under_way: dict[str, str], who: str) -> None:
        self._under_way, self._who = under_way, who

    async def start(self) -> None:
        assert not self._under_way, "two lead at the same time"
        self._under_way[self._who] = LEADING.get()

    async def stop(self) -> None:
        self._under_way.pop(self._who, None)


class Cut:
    """A client whose writes do not arrive while it is cut off."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self.off = False

    def __getattr__(self, name: str) -> Any:
        if self.off and name != "get":
            return self._refuse
        return getattr(self._client, name)

    async def _refuse(self, *_: object, **__: object) -> None:
        raise ApiError(503, "ServiceUnavailable", "etcd does not answer")


class Late(Cut):
    """A client that reads a state of the Lease once more after it was renewed."""

    async def get(self, *asked: Any) -> Any:
        found = await self._client.get(*asked)
        if self.off:
            self.off = False
            renewed = {**found["spec"], "renewTime": "2026-01-01T00:00:01.000000Z"}
            await self._client.update(asked[0], asked[1], {**found, "spec": renewed})
        return found


class Silent(Cut):
    """A client whose writes arrive, and whose answers do not."""

    async def create(self, *asked: Any) -> Any:
        await self._client.create(*asked)
        await asyncio.get_running_loop().create_future()


class World:
    """Candidates by name.  terms: of who leads, under which he writes."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.terms: dict[str, str] = {}
        self.told: list[str] = []
        self.clients: dict[str, Cut] = {}
        self._started: list[Elector] = []

    async def candidate(self, who: str, client: Cut | None = None) -> Elector:
        async def duties() -> Duties:
            return Term(self.terms, who)

        client = self.clients[who] = client or Cut(self.cluster.client)
        clock, ids = self.cluster.clock, Ids(len(self._started))
        elector = Elector(client, clock, ids, RULES, who, duties, self.told.append)
        elector.start()
        self._started.append(elector)
        await clock.settle()
        return elector

    async def lease(self) -> dict[str, Any]:
        found: dict[str, Any] = (await self.cluster.client.get(LEASES, RULES.namespace, RULES.name))["spec"]
        return found

    async def close(self) -> None:
        for elector in self._started:
            await elector.stop()


@pytest_asyncio.fixture
async def world() -> AsyncIterator[World]:
    async with Cluster(ServeOptions(port=0, nodes=0, controllers="none", clock="virtual")) as cluster:
        made = World(cluster)
        yield made
        await made.close()


async def test_the_first_leads_and_renews(world: World) -> None:
    first = await world.candidate("first")
    assert (list(world.terms), first.leading) == (["first"], True)
    made = await world.lease()
    assert made.pop("acquireTime") == made.pop("renewTime")
    assert made == {"holderIdentity": "first", "leaseDurationSeconds": 15, "leaseTransitions": 0}

    second = await world.candidate("second")
    for _ in range(40):
        await world.cluster.advance(5)
        assert list(world.terms) == ["first"]
    assert (second.leading, second.leader) == (False, "first")
    later = await world.lease()
    assert parse_time(later["renewTime"]) >= world.cluster.clock.now() - RULES.retry_period
    assert parse_time(later["acquireTime"]) <= world.cluster.clock.now() - 200
    assert world.told == ["first became leader"]


async def test_who_lets_go_is_followed_at_once(world: World) -> None:
    first = await world.candidate("first")
    await world.candidate("second")
    before = world.terms["first"]
    await first.stop()
    assert world.terms == {}
    lease = await world.lease()
    assert "holderIdentity" not in lease
    assert (lease["leaseDurationSeconds"], lease["leaseTransitions"]) == (1, 0)

    await world.cluster.advance(SHORTLY)
    assert list(world.terms) == ["second"]
    assert world.terms["second"] != before
    assert (await world.lease())["leaseTransitions"] == 1


async def test_a_renewal_that_came_between_does_not_keep_it(world: World) -> None:
    first = await world.candidate("first", client=Late(world.cluster.client))
    world.clients["first"].off = True
    await first.stop()
    assert "holderIdentity" not in await world.lease()


async def test_a_lease_that_was_taken_in_the_moment_of_the_end_is_let_go(world: World) -> None:
    elector = Elector(Silent(world.cluster.client), world.cluster.clock, Ids(0), RULES, "silent", _never)
    elector.start()
    await eventually(lambda: world.cluster.store.get(STORED, f"{RULES.namespace}/{RULES.name}"), "the lease is taken")
    assert (await world.lease())["holderIdentity"] == "silent"
    await elector.stop()
    assert "holderIdentity" not in await world.lease()


async def _never() -> Duties:
    raise AssertionError("it does not know that it leads")


async def test_who_is_told_need_not_look(world: World) -> None:
    first = await world.candidate("first")
    second = await world.candidate("second")
    second.heard({"metadata": {}, "spec": {"holderIdentity": "first"}})
    await world.cluster.settle()
    assert list(world.terms) == ["first"]
    await first.stop()
    second.heard(await world.cluster.client.get(LEASES, RULES.namespace, RULES.name))
    await world.cluster.settle()
    assert list(world.terms) == ["second"]


async def test_a_leader_that_cannot_renew_stops_before_another_begins(world: World) -> None:
    await world.candidate("first")
    await world.candidate("second")
    await world.cluster.advance(1)
    world.clients["first"].off = True
    await world.cluster.advance(RULES.renew_deadline - RULES.retry_period - 0.1)
    assert list(world.terms) == ["first"]
    await world.cluster.advance(2 * RULES.retry_period)
    assert world.terms == {}
    await world.cluster.advance(RULES.lease_duration - RULES.renew_deadline + SHORTLY)
    assert list(world.terms) == ["second"]

    world.clients["first"].off = False  # and stands again
    await world.cluster.advance(60)
    assert list(world.terms) == ["second"]
    world.clients["second"].off = True
    await world.cluster.advance(RULES.lease_duration + SHORTLY)
    assert list(world.terms) == ["first"]
    assert (await world.lease())["leaseTransitions"] == 2


async def test_another_leads_as_soon_as_the_lease_has_run_out(world: World) -> None:
    await world.candidate("first")
    second = await world.candidate("second")
    world.cluster.store.subscribe(lambda event: second.heard(event.stored.object()), [(LEASES.group, LEASES.plural)])
    await world.cluster.advance(20)
    world.clients["first"].off = True
    renewed = parse_time((await world.lease())["renewTime"])
    await world.cluster.advance(renewed + RULES.lease_duration - world.cluster.clock.now() - 0.1)
    assert world.terms == {}
    await world.cluster.advance(0.2)
    assert list(world.terms) == ["second"]


async def test_times_of_other_clocks_say_nothing(world: World) -> None:
    """A lease whose times are long past, or far ahead, counts from when it was seen."""
    for year in ("2001", "2093"):
        who = f"holder-{year}"
        time = f"{year}-01-01T00:00:00.000000Z"
        spec = {"holderIdentity": who, "leaseDurationSeconds": 15, "acquireTime": time, "renewTime": time}
        lease = {"metadata": {"name": RULES.name}, "spec": {**spec, "leaseTransitions": 4}}
        await world.cluster.client.create(LEASES, RULES.namespace, lease)
        elector = await world.candidate(f"after-{year}")
        await world.cluster.advance(RULES.lease_duration - 0.1)
        assert world.terms == {}
        await world.cluster.advance(SHORTLY)
        assert list(world.terms) == [f"after-{year}"]
        assert (await world.lease())["leaseTransitions"] == 5
        await elector.stop()
        await world.cluster.client.delete(LEASES, RULES.namespace, RULES.name)


async def test_whose_lease_another_has_stops_at_once(world: World) -> None:
    await world.candidate("first")
    lease = await world.cluster.client.get(LEASES, RULES.namespace, RULES.name)
    lease["spec"]["holderIdentity"] = "somebody else"
    await world.cluster.client.update(LEASES, RULES.namespace, lease)
    await world.cluster.advance(RULES.retry_period)
    assert world.terms == {}
    assert world.told == ["first became leader", "first stopped leading"]


async def test_a_lease_that_was_deleted_is_made_again(world: World) -> None:
    await world.candidate("first")
    await world.cluster.client.delete(LEASES, RULES.namespace, RULES.name)
    await world.cluster.advance(RULES.retry_period)
    assert list(world.terms) == ["first"]
    assert (await world.lease())["holderIdentity"] == "first"


@pytest.mark.parametrize("at", ["make", "start"])
async def test_a_term_that_fails_is_begun_again(world: World, at: str) -> None:
    tries: list[str] = []

    class Failing(Term):
        async def start(self) -> None:
            if at == "start" and len(tries) < 3:
                raise OSError("no")
            await super().start()

    async def duties() -> Duties:
        tries.append(LEADING.get())
        if at == "make" and len(tries) < 3:
            raise ApiError(503, "ServiceUnavailable", "etcd does not answer")
        return Failing(world.terms, "it")

    elector = Elector(world.cluster.client, world.cluster.clock, Ids(0), RULES, "it", duties)
    elector.start()
    await world.cluster.advance(4 * SHORTLY)
    assert (list(world.terms), len(tries)) == (["it"], 3)
    assert tries == ["it 1", "it 2", "it 3"]
    await elector.stop()
    assert world.terms == {}


async def test_whose_terms_keep_failing_lets_another_lead(world: World) -> None:
    tries: list[str] = []

    async def duties() -> Duties:
        tries.append(LEADING.get())
        raise OSError("no")

    elector = Elector(world.cluster.client, world.cluster.clock, Ids(0), RULES, "it", duties)
    elector.start()
    await world.cluster.clock.settle()
    await world.candidate("other")
    await world.cluster.advance(4 * SHORTLY)
    assert (len(tries), list(world.terms)) == (3, ["other"])
    await elector.stop()


async def test_whose_terms_keep_failing_tries_again_if_nobody_else_leads(world: World) -> None:
    tries: list[str] = []

    async def duties() -> Duties:
        tries.append(LEADING.get())
        if len(tries) <= 3:
            raise OSError("no")
        return Term(world.terms, "it")

    elector = Elector(world.cluster.client, world.cluster.clock, Ids(0), RULES, "it", duties)
    elector.start()
    await world.cluster.advance(3 * RULES.retry_period)
    assert (len(tries), (await world.lease()).get("holderIdentity")) == (3, None)
    await world.cluster.advance(RULES.lease_duration + SHORTLY)
    assert (len(tries), list(world.terms)) == (4, ["it"])
    await elector.stop()


async def test_all_of_a_term_is_stopped_whatever_becomes_of_a_part(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    class Part:
        def __init__(self, name: str, *, fails: bool = False) -> None:
            self.name, self.fails = name, fails

        def start(self) -> asyncio.Future[None]:
            done = asyncio.get_running_loop().create_future()
            done.set_result(None)
            return done

        async def stop(self) -> None:
            stopped.append(self.name)
            if self.fails:
                raise OSError("no")

    async def none() -> None:
        return

    stopped: list[str] = []
    loops, boards, recorder = Part("loops"), Part("boards", fails=True), Part("recorder")
    more: Any = (none, none, world.cluster.clock)

    async def duties() -> Duties:
        return leading.Term(loops, boards, recorder, *more)  # type: ignore[arg-type]

    elector = Elector(world.cluster.client, world.cluster.clock, Ids(0), RULES, "it", duties)
    elector.start()
    await world.cluster.clock.settle()
    await elector.stop()
    assert stopped == ["boards", "loops", "recorder"]
    assert "the end of a term of kube32-sim is not as it should be" in caplog.text


def borrower(world: World, who: str) -> Elector:
    async def none() -> Duties:
        raise AssertionError("who borrows has no duties")

    return Elector(world.cluster.client, world.cluster.clock, Ids(7), RULES, who + BORROWS, none)


async def test_who_borrows_the_lease_has_it_at_once_and_gives_it_back(world: World) -> None:
    first = await world.candidate("first")
    term = world.terms["first"]

    async def work() -> tuple[str, str]:
        return LEADING.get(), (await world.lease())["holderIdentity"]

    lent, holder = await borrower(world, "load").borrow(work)
    assert holder == f"load{BORROWS}"
    assert lent not in ("", term)
    assert "holderIdentity" not in await world.lease()
    await world.cluster.advance(2 * SHORTLY)
    assert first.leading
    assert world.terms["first"] not in (term, lent)


async def test_a_lease_that_others_have_had_meanwhile_begins_a_new_term(world: World) -> None:
    """A leader that slept through the whole term of another writes no more under its own, though the lease is free."""
    first = await world.candidate("first")
    term = world.terms["first"]
    lease = await world.cluster.client.get(LEASES, RULES.namespace, RULES.name)
    free = {name: value for name, value in lease["spec"].items() if name != "holderIdentity"}
    await world.cluster.client.update(LEASES, RULES.namespace, {**lease, "spec": free})
    await world.cluster.advance(SHORTLY)
    assert first.leading
    assert world.terms["first"] != term
    term = world.terms["first"]
    await world.cluster.client.delete(LEASES, RULES.namespace, RULES.name)
    await world.cluster.advance(SHORTLY)
    assert first.leading
    assert world.terms["first"] != term


async def test_two_do_not_borrow_it_at_once(world: World) -> None:
    async def second() -> None:
        raise AssertionError("nobody else has it meanwhile")

    async def work() -> str:
        with pytest.raises(ApiError, match="cannot be had now") as caught:
            await borrower(world, "second").borrow(second)
        assert caught.value.code == 503
        return "done"

    assert await borrower(world, "first").borrow(work) == "done"


async def test_work_that_fails_gives_the_lease_back_too(world: World) -> None:
    async def work() -> None:
        raise ApiError(409, "Conflict", "in the way")

    with pytest.raises(ApiError, match="in the way"):
        await borrower(world, "load").borrow(work)
    assert "holderIdentity" not in await world.lease()


async def test_work_ends_when_another_takes_the_lease_by_force(world: World) -> None:
    ended, taking = [], asyncio.Event()

    async def work() -> None:
        lease = await world.cluster.client.get(LEASES, RULES.namespace, RULES.name)
        taken = {**lease, "spec": {**lease["spec"], "holderIdentity": "somebody"}}
        await world.cluster.client.update(LEASES, RULES.namespace, taken)
        taking.set()
        try:
            await world.cluster.clock.sleep(3600)
        finally:
            ended.append("work")

    borrowing = asyncio.ensure_future(borrower(world, "load").borrow(work))
    await taking.wait()
    await world.cluster.advance(2 * SHORTLY)
    with pytest.raises(ApiError, match="was lost before all was done"):
        await borrowing
    assert ended == ["work"]
    assert (await world.lease())["holderIdentity"] == "somebody"


async def test_the_log_tells_who_leads(world: World, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    first = await world.candidate("first")
    await world.candidate("second")
    await world.cluster.advance(60)
    await first.stop()
    await world.cluster.advance(60)
    assert [message for message in caplog.messages if "candidate" in message or "elected" in message] == [
        "first is a candidate for the lease kube-system/kube32-sim",
        "second is a candidate for the lease kube-system/kube32-sim",
        "new leader elected: first",
    ]
    caplog.clear()
    await world.candidate("third")
    await world.cluster.advance(60)
    assert [message for message in caplog.messages if "elected" in message] == ["new leader elected: second"]


async def test_that_the_lease_cannot_be_renewed_is_told_once(world: World, caplog: pytest.LogCaptureFixture) -> None:
    await world.candidate("first")
    for outage in (1, 2):
        world.clients["first"].off = True
        await world.cluster.advance(RULES.renew_deadline * 5)
        told = [message for message in caplog.messages if message.endswith("etcd does not answer")]
        assert told == ["the lease kube32-sim: etcd does not answer"] * outage
        world.clients["first"].off = False
        await world.cluster.advance(RULES.renew_deadline * 5)
