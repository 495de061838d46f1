"""Lists by label take shortcuts; what they answer is what looking at every object in order would."""

from __future__ import annotations

import random

import pytest

from kube32_sim.api.builtin import builtin_table
from kube32_sim.api.selectors import parse_labels
from kube32_sim.clock import VirtualClock
from kube32_sim.registry.reading import list_page, select
from kube32_sim.storage.memory import MemoryStore

MAPS = ("", "configmaps")
ROW = builtin_table().by_storage(MAPS)
SELECTORS = ("", "a=1", "a==1,b=2", "b!=1", "a=1,b!=2", "a in (1)", "a=", "c=1", "b,a=2", "!a")


@pytest.fixture
async def store() -> MemoryStore:
    """Three namespaces, one of which has most; written in no order, some removed again."""
    chance = random.Random(7)
    made = MemoryStore(builtin_table(), VirtualClock())
    keys = [f"{space}/m{number:02}" for space, many in (("n", 60), ("m", 9), ("nn", 9)) for number in range(many)]
    chance.shuffle(keys)
    for key in keys:
        namespace, _, name = key.partition("/")
        labels = {label: chance.choice(("1", "2", "")) for label in "ab" if chance.random() < 0.8}
        metadata = {"name": name, "namespace": namespace, "uid": key, "labels": labels}
        await made.create(MAPS, key, {"metadata": metadata})
    for key in keys[::7]:
        await made.delete(MAPS, key, lambda _: None)
    return made


@pytest.mark.parametrize("text", SELECTORS)
@pytest.mark.parametrize("namespace", ["", "n", "m", "nn", "absent"])
async def test_shortcuts_find_the_same(store: MemoryStore, namespace: str, text: str) -> None:
    labels = parse_labels(text)
    expected = [s.key for s in store.list(MAPS, namespace) if labels.matches(s.labels)]
    selection = select(ROW, namespace, labels)
    whole = list_page(store, ROW, selection)
    assert [stored.key for stored in whole.items] == expected
    assert (whole.revision, whole.continue_token, whole.remaining) == (store.revision, "", None)
    paged, token = [], ""
    while True:
        page = list_page(store, ROW, selection, limit=4, continue_token=token)
        paged += [stored.key for stored in page.items]
        token = page.continue_token
        if not token:
            break
    assert paged == expected


@pytest.mark.parametrize("namespace", ["", "n", "m", "nn", "absent"])
async def test_remaining_counts_what_is_left(store: MemoryStore, namespace: str) -> None:
    total = len(store.list(MAPS, namespace))
    assert store.count_in(MAPS, namespace) == total
    page = list_page(store, ROW, select(ROW, namespace), limit=3)
    assert page.remaining == (total - 3 if total > 3 else None)
