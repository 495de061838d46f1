"""Events: their form, counting, order, failures, and their end after an hour."""

from contextlib import asynccontextmanager

import pytest

from kube32_sim.api import errors
from kube32_sim.client import EVENTS
from kube32_sim.clock import EPOCH, VirtualClock
from kube32_sim.runtime import recorder as recording
from kube32_sim.runtime.actions import Delete, Emit, Plan
from kube32_sim.runtime.event_ttl import EventExpiry, last_told
from kube32_sim.runtime.recorder import Recorder
from kube32_sim.storage.interface import Unavailable

POD = {"kind": "Pod", "apiVersion": "v1", "namespace": "d", "name": "p", "uid": "u", "resourceVersion": "7"}


def emit(message="m", about=POD, reason="Started"):
    return Emit(about, "Normal", reason, message, "kubelet")


class Kept:
    """Keeps created events, applies patches; `refuses` is what the next writes answer."""

    def __init__(self):
        self.events, self.writes, self.refuses = {}, 0, None

    def _write(self):
        self.writes += 1
        if self.refuses is not None:
            raise self.refuses

    async def create(self, resource, namespace, obj):
        assert resource == EVENTS
        self._write()
        assert (namespace, obj["metadata"]["name"]) not in self.events
        self.events[namespace, obj["metadata"]["name"]] = obj

    async def patch(self, resource, namespace, name, patch):
        self._write()
        if (namespace, name) not in self.events:
            raise errors.not_found("", "events", name)
        self.events[namespace, name].update(patch)

    def told(self):
        return [(event["message"], event["count"]) for event in self.events.values()]


@asynccontextmanager
async def recorder():
    clock, client = VirtualClock(), Kept()
    built = Recorder(client, clock)
    built.start()
    try:
        yield built, client, clock
    finally:
        await built.stop()


async def test_form_of_an_event():
    async with recorder() as (record, client, clock):
        await clock.advance(1.5)
        record.record(emit())
        await clock.settle()
        ((namespace, name),) = client.events
        assert (namespace, name) == ("d", f"p.{int((EPOCH + 1.5) * 1e9):x}")
        assert client.events["d", name] == {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": name, "namespace": "d"},
            "involvedObject": POD,
            "reason": "Started",
            "message": "m",
            "source": {"component": "kubelet"},
            "firstTimestamp": "2026-01-01T00:00:01Z",
            "lastTimestamp": "2026-01-01T00:00:01Z",
            "count": 1,
            "type": "Normal",
            "reportingComponent": "kubelet",
            "reportingInstance": "",
        }


async def test_repeats_raise_the_count_and_the_last_time():
    async with recorder() as (record, client, clock):
        for version in ("7", "8", "9"):
            record.record(emit(about={**POD, "resourceVersion": version}))
            await clock.advance(10.0)
        (event,) = client.events.values()
        assert (event["count"], event["firstTimestamp"][-4:], event["lastTimestamp"][-4:]) == (3, ":00Z", ":20Z")


@pytest.mark.parametrize(
    "other",
    [
        emit("other"),
        emit(reason="Other"),
        emit(about={**POD, "uid": "v"}),
        Emit(POD, "Warning", "Started", "m", "kubelet"),
    ],
)
async def test_what_differs_is_another_event(other):
    async with recorder() as (record, client, clock):
        record.record(emit())
        record.record(other)
        await clock.settle()
        assert [count for _, count in client.told()] == [1, 1]


async def test_events_of_cluster_scoped_objects_are_in_default():
    async with recorder() as (record, client, clock):
        record.record(emit(about={"kind": "Node", "apiVersion": "v1", "name": "n", "uid": "u"}))
        await clock.settle()
        assert [namespace for namespace, _ in client.events] == ["default"]


async def test_names_differ_at_one_instant_and_are_never_too_long():
    async with recorder() as (record, client, clock):
        long = {**POD, "name": "x" * 253}
        for number in range(50):
            record.record(emit(str(number), about=long))
        await clock.settle()
        assert len(client.events) == 50
        assert all(len(name) <= 253 for _, name in client.events)


async def test_order_is_kept_and_bursts_of_one_event_are_one_write():
    async with recorder() as (record, client, clock):
        for _ in range(1000):
            record.record(emit("a"))
        record.record(emit("b"))
        await clock.settle()
        assert client.told() == [("a", 1000), ("b", 1)]
        assert client.writes == 2


async def test_an_event_that_was_deleted_is_told_anew():
    async with recorder() as (record, client, clock):
        record.record(emit())
        await clock.settle()
        client.events.clear()
        record.record(emit())
        await clock.settle()
        assert client.told() == [("m", 1)]


async def test_after_an_hour_the_count_begins_anew():
    async with recorder() as (record, client, clock):
        record.record(emit())
        await clock.advance(3600.0)
        record.record(emit())
        await clock.settle()
        assert client.told() == [("m", 1), ("m", 1)]


@pytest.mark.parametrize(
    ("refusal", "logged"),
    [
        (errors.forbidden("", "events", "", "namespace d is being terminated"), ""),
        (errors.bad_request("odd"), "is refused: odd"),
        (OSError("down"), "is lost"),
    ],
)
async def test_a_refused_event_is_dropped_and_the_next_written(refusal, logged, caplog):
    async with recorder() as (record, client, clock):
        client.refuses = refusal
        record.record(emit("a"))
        await clock.settle()
        assert logged in caplog.text
        assert bool(caplog.records) == bool(logged)
        client.refuses = None
        record.record(emit("a"))
        record.record(emit("b"))
        await clock.settle()
        assert client.told() == [("a", 1), ("b", 1)]


async def test_events_of_an_outage_are_counted_once_it_is_over(caplog):
    async with recorder() as (record, client, clock):
        client.refuses = Unavailable("etcd is away")
        for message in "abc":
            record.record(emit(message))
        await clock.settle()
        assert caplog.messages == []
        client.refuses = None
        for message in "de":
            record.record(emit(message))
        await clock.settle()
        assert caplog.messages == ["3 events are lost: they could not be written while the store was away"]
        assert client.told() == [("d", 1), ("e", 1)]


async def test_thousands_of_things_said_again_and_again_are_one_event_each():
    async with recorder() as (record, client, clock):
        for _ in range(3):
            for number in range(5000):
                record.record(emit(str(number)))
            await clock.settle()
        assert client.told() == [(str(number), 3) for number in range(5000)]


async def test_memory_is_bounded(monkeypatch, caplog):
    monkeypatch.setattr(recording, "REMEMBERED", 10)
    monkeypatch.setattr(recording, "QUEUED", 20)
    async with recorder() as (record, client, clock):
        for number in range(50):
            record.record(emit(str(number)))
        assert len(record._entries) <= 10
        assert len(record._queue) == 20
        await clock.settle()
        assert client.told() == [(str(number), 1) for number in range(20)]
        assert "30 events were dropped" in caplog.text


async def test_the_recorder_is_at_rest_between_events():
    async with recorder() as (_record, client, clock):
        await clock.advance(100_000.0)
        assert not clock._due
        assert client.writes == 0


# their end


class One:
    def __init__(self, event):
        self.event = event

    def get(self, resource, namespace, name):
        return self.event


def event(**times):
    return {
        "metadata": {"namespace": "d", "name": "e", "uid": "u", "creationTimestamp": "2026-01-01T00:00:00Z"},
        **times,
    }


def test_the_latest_time_counts():
    assert last_told(event()) == EPOCH
    assert last_told(event(lastTimestamp="2026-01-01T00:00:05Z")) == EPOCH + 5
    assert last_told(event(eventTime="2026-01-01T00:00:05.500000Z")) == EPOCH + 5.5
    assert last_told(event(series={"lastObservedTime": "2026-01-01T00:01:00.000000Z"})) == EPOCH + 60
    assert last_told(event(lastTimestamp="no time")) == EPOCH


def test_events_go_an_hour_after_they_were_last_told():
    view = One(event(lastTimestamp="2026-01-01T00:00:05Z"))
    loop = EventExpiry()
    assert loop.plan("d/e", view, EPOCH + 3604) == Plan(again_at=EPOCH + 3605)
    assert loop.plan("d/e", view, EPOCH + 3605) == Plan((Delete(EVENTS, "d", "e", "u"),))
    assert loop.plan("d/e", One(None), EPOCH) == Plan()


def test_an_event_from_the_future_is_kept_an_hour_from_now():
    view = One(event(lastTimestamp="2036-01-01T00:00:00Z"))
    assert EventExpiry().plan("d/e", view, EPOCH) == Plan(again_at=EPOCH + 3600)
