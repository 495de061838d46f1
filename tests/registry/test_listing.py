"""Lists in pages and at revisions: consistent, complete, and honest about what they no longer know."""

from __future__ import annotations

import base64
from typing import Any

import orjson
import pytest

from kube32_sim.api.builtin import builtin_table
from kube32_sim.api.errors import ApiError
from kube32_sim.api.selectors import parse_labels
from kube32_sim.clock import VirtualClock
from kube32_sim.registry.reading import Page, list_page, select
from kube32_sim.storage.memory import MemoryStore

MAPS = ("", "configmaps")
ROW = builtin_table().by_storage(MAPS)


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore(builtin_table(), VirtualClock())


async def put(store: MemoryStore, namespace: str, *names: str, **labels: str) -> None:
    for name in names:
        metadata = {"name": name, "namespace": namespace, "uid": f"{namespace}-{name}", "labels": labels}
        await store.create(MAPS, f"{namespace}/{name}", {"metadata": metadata})


async def drop(store: MemoryStore, namespace: str, *names: str) -> None:
    for name in names:
        await store.delete(MAPS, f"{namespace}/{name}", lambda _: None)


def page(store: MemoryStore, namespace: str = "", labels: str = "", **more: Any) -> Page:
    return list_page(store, ROW, select(ROW, namespace, parse_labels(labels)), **more)


def keys(found: Page) -> list[str]:
    return [stored.key for stored in found.items]


def token(**parts: Any) -> str:
    return base64.urlsafe_b64encode(orjson.dumps({"v": "meta.k8s.io/v1", "rv": 1, "start": "a/x\0"} | parts)).decode()


async def test_pages_show_one_moment_though_objects_come_and_go(store: MemoryStore) -> None:
    await put(store, "a", *"bdfh")
    first = page(store, "a", limit=2)
    await drop(store, "a", "b", "f")
    await put(store, "a", "a", "e", "i")
    second = page(store, "a", limit=2, continue_token=first.continue_token)
    assert (keys(first), first.remaining) == (["a/b", "a/d"], 2)
    assert (keys(second), second.continue_token, second.remaining) == (["a/f", "a/h"], "", None)
    assert second.revision == first.revision


async def test_pages_of_a_selection_do_not_tell_how_many_remain(store: MemoryStore) -> None:
    await put(store, "a", *"bd", app="x")
    await put(store, "a", *"ce", app="y")
    first = page(store, "", "app=x", limit=1)
    assert (keys(first), first.remaining, bool(first.continue_token)) == (["a/b"], None, True)
    last = page(store, "", "app=x", limit=1, continue_token=first.continue_token)
    assert keys(last) == ["a/d"]
    # whether what is left is selected is looked at when it is asked for
    none = page(store, "", "app=x", limit=1, continue_token=last.continue_token)
    assert (keys(none), none.continue_token) == ([], "")
    assert page(store, "", "app=y", limit=2).continue_token == ""


async def test_objects_of_other_namespaces_are_not_left_over(store: MemoryStore) -> None:
    await put(store, "a", "b", app="x")
    await put(store, "c", "d", app="x")
    assert page(store, "a", "app=x", limit=1).continue_token == ""


async def test_a_forgotten_page_comes_with_a_token_that_goes_on_as_of_now(store: MemoryStore) -> None:
    await put(store, "a", *"bdf")
    first = page(store, "a", limit=1)
    await put(store, "a", "a", "e")
    store.compact(store.revision)
    with pytest.raises(ApiError) as caught:
        page(store, "a", limit=1, continue_token=first.continue_token)
    assert (caught.value.code, caught.value.reason) == (410, "Expired")
    assert caught.value.message.startswith("The provided continue parameter is too old")
    again = caught.value.status()["metadata"]["continue"]
    second = page(store, "a", limit=2, continue_token=again)
    assert (keys(second), second.revision) == (["a/d", "a/e"], store.revision)
    third = page(store, "a", limit=2, continue_token=second.continue_token)
    assert keys(third) == ["a/f"]


@pytest.mark.parametrize(
    "bad",
    [
        "garbage",
        "%%%",
        "é",
        base64.urlsafe_b64encode(b"[" * 40_000).decode(),
        base64.urlsafe_b64encode(b"\xff\xfe").decode(),
        base64.urlsafe_b64encode(b'["v"]').decode(),
        token(v="v9"),
        token(rv="1"),
        token(rv=1.5),
        token(rv=True),
        token(start=""),
        token(start="a/x"),
        token(start=None),
        token(start="b/x\0"),
        token(rv=10**9),
    ],
)
async def test_tokens_of_nobodys_making_are_refused(store: MemoryStore, bad: str) -> None:
    await put(store, "a", "b")
    with pytest.raises(ApiError) as caught:
        page(store, "a", limit=1, continue_token=bad)
    assert (caught.value.code, caught.value.reason) == (400, "BadRequest")


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        (token(rv=0), ": incorrect encoded start resourceVersion (version meta.k8s.io/v1)"),
        (token(start=""), ": encoded start key empty (version meta.k8s.io/v1)"),
        (token(start="a/../b\0"), ": a/../b\0"),
        (token(v="v9"), ": server does not recognize this encoded version v9"),
        ("ab%d", ": illegal base64 data at input byte 2"),
    ],
)
async def test_what_is_wrong_with_a_token_is_told_in_upstreams_words(store: MemoryStore, bad: str, why: str) -> None:
    await put(store, "a", "b")
    with pytest.raises(ApiError) as caught:
        page(store, "a", limit=1, continue_token=bad.rstrip("="))
    assert caught.value.message == f"invalid continue token: continue key is not valid{why}"


async def test_a_token_does_not_open_other_namespaces(store: MemoryStore) -> None:
    await put(store, "a", "b", "c")
    await put(store, "c", "d")
    everywhere = page(store, "", limit=1)
    with pytest.raises(ApiError):
        page(store, "c", limit=10, continue_token=everywhere.continue_token)
    assert keys(page(store, "", limit=10, continue_token=everywhere.continue_token)) == ["a/c", "c/d"]


async def test_lists_at_exact_revisions(store: MemoryStore) -> None:
    await put(store, "a", "b")
    at = store.revision
    await put(store, "a", "c")
    await drop(store, "a", "b")
    assert (keys(page(store, "a", revision=at)), page(store, "a", revision=at).revision) == (["a/b"], at)
    assert keys(page(store, "a", revision=store.revision)) == ["a/c"]
    store.compact(at + 1)
    with pytest.raises(ApiError) as caught:
        page(store, "a", revision=at)
    assert (caught.value.code, caught.value.message) == (
        410,
        "The resourceVersion for the provided list is too old.",
    )
    assert keys(page(store, "a", revision=at + 1)) == ["a/b", "a/c"]
