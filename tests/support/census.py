"""What a process holds, counted: the sizes of all containers that the simulator's own objects keep, and what is open.

A leak is a container that grows with what has happened instead of with what there is: two censuses taken in the same
state, with any amount of churn in between, are to be equal.  What is kept for speed, and bounded, is left out.
"""

from __future__ import annotations

import asyncio
import ctypes
import functools
import gc
import os
import re
import sys
import tempfile
from collections import Counter, deque
from collections.abc import Iterator, Mapping
from typing import Any

from kube32_sim.storage.objects import Decoded

OURS = ("kube32_sim", "kube32_controllers")
DEPTH = 4
"""How many containers within containers are counted."""
_CONTAINERS = (dict, list, set, frozenset, deque, bytearray)
_CACHE = type(functools.lru_cache(lambda: None))
NUMBER = re.compile(r"\d+")

BOUNDED = re.compile(
    "|".join(
        re.escape(name)
        for name in (
            "kube32_sim.timetable.Timetable._",  # what was cancelled, while it is the smaller part
            "kube32_sim.kestrel.nodes.NodeTable._journal",  # 1,024, and some for each node
            "kube32_sim.api.managed.shapes.Shape.elements",  # comparing.ELEMENTS
            "kube32_sim.api.resources.ResourceTable._gone",  # resources.MOST_GONE
            "kube32_controllers.garbage_collector.GarbageCollector._gone",  # MANY, or twice what is needed
            "kube32_sim.runtime.recorder.Recorder._entries",  # of the last hour in which there were any
            "kube32_sim.runtime.recorder._Entry",
            "kube32_sim.runtime.actions.Emit",
            "kube32_sim.api.resources.ResourceType",  # those of ResourceTable._gone, with what they have
            "kube32_sim.api.resources.Subresource",
            "kube32_sim.api.strategies.base.Strategy",
            "kube32_sim.metrics.traffic.",  # for each verb, type, scope and code one
            "kube32_sim.storage.watching.Hub.told",  # for each type one
        )
    )
)
"""What may be more, up to a bound of its own: `bounded` checks these."""

Census = Counter[str]


def census() -> Census:
    """{what: how much}: objects by class, entries by attribute (`[]`: of those within), unbounded caches, tasks."""
    gc.unfreeze()
    _forget()
    gc.collect()
    counted: Census = Counter()
    for obj in gc.get_objects():
        kind = type(obj)
        if kind is _CACHE:
            if obj.cache_info().maxsize is None:
                counted[f"cache {obj.__module__}.{obj.__qualname__}"] += obj.cache_info().currsize
        elif str(kind.__module__).partition(".")[0] in OURS:
            name = f"{kind.__module__}.{kind.__qualname__}"
            counted[name] += 1
            for attribute, value in _attributes(obj):
                _count(f"{name}.{attribute}", value, counted)
    for name in [name for name in sys.modules if name.partition(".")[0] in OURS]:
        for attribute, value in vars(sys.modules[name]).items():
            _count(f"{name}:{attribute}", value, counted)
    for task in asyncio.all_tasks():
        counted[f"task {NUMBER.sub('N', task.get_name())}"] += 1
    counted["file descriptors"] = len(os.listdir("/proc/self/fd"))
    return counted


def _forget() -> None:
    """Empty what is kept for speed and bounded by itself: caches, and the decoded forms of objects."""
    for obj in gc.get_objects():
        if type(obj) is _CACHE and obj.cache_info().maxsize is not None:
            obj.cache_clear()
        elif type(obj) is Decoded:
            while obj._kept:
                obj._kept.popleft().decoded = None
            obj._bytes = 0


def _attributes(obj: Any) -> Iterator[tuple[str, Any]]:
    yield from vars(obj).items() if hasattr(obj, "__dict__") else ()
    for kind in type(obj).__mro__:
        for name in _slots(kind):
            value = getattr(obj, name, None)
            if value is not None:
                yield name, value


def _slots(kind: type) -> tuple[str, ...]:
    slots = kind.__dict__.get("__slots__", ())
    return (slots,) if isinstance(slots, str) else tuple(slots)


def _count(name: str, value: Any, counted: Census, depth: int = DEPTH) -> None:
    if not isinstance(value, _CONTAINERS) or depth == 0:
        return
    counted[name] += len(value)
    for inner in value.values() if isinstance(value, dict) else value:
        if isinstance(inner, (*_CONTAINERS, tuple)):
            _count(f"{name}[]", inner, counted, depth - 1)


def grown(before: Mapping[str, int], after: Mapping[str, int]) -> dict[str, tuple[int, int]]:
    """{what: (before, after)} of what is another number now, unless it is `BOUNDED`."""
    names = sorted(name for name in before.keys() | after.keys() if not BOUNDED.match(name))
    both = {name: (before.get(name, 0), after.get(name, 0)) for name in names}
    return {name: (one, other) for name, (one, other) in both.items() if one != other}


def resident() -> int:
    """Bytes of this process that are in memory, less what Python's allocator keeps for later.

    An arena of a megabyte goes back only when nothing at all is left on it, so what is kept is a matter of chance.
    """
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") - _kept()


def _kept() -> int:
    """Bytes on the arenas of Python's allocator that nothing uses (it tells of them on stderr only)."""
    with tempfile.TemporaryFile() as file:
        stderr = os.dup(2)
        os.dup2(file.fileno(), 2)
        try:
            sys._debugmallocstats()
        finally:
            os.dup2(stderr, 2)
            os.close(stderr)
        file.seek(0)
        text = file.read().decode()
    found = re.findall(r"^(?:# bytes in available blocks|\d+ unused pools \* .*?)\s+=\s+([\d,]+)$", text, re.MULTILINE)
    assert len(found) == 2, text
    return sum(int(number.replace(",", "")) for number in found)


class _Mallinfo(ctypes.Structure):
    """glibc's `struct mallinfo2`."""

    _names = "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost"
    _fields_ = [(name, ctypes.c_size_t) for name in _names.split()]


def in_use() -> tuple[int, int]:
    """(bytes that were allocated from the C library and not freed, Python's own blocks that are in use).

    What is resident is more: pages are given back when nothing on them is used any more, which is a matter of chance.
    """
    gc.collect()
    library = ctypes.CDLL(None)
    library.mallinfo2.restype = _Mallinfo
    found = library.mallinfo2()
    return found.uordblks + found.hblkhd, sys.getallocatedblocks()
