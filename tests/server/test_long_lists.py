"""Long lists: sent in pieces, which together are what a short list would be."""

from __future__ import annotations

from itertools import pairwise

import pytest

from kube32_sim.client import Resource
from kube32_sim.cluster import Cluster
from kube32_sim.server.long_lists import LONG, PIECE, is_long, pieces, size
from tests.support.wire import Wire

MAPS = Resource("", "v1", "configmaps")
LIST = "/api/v1/namespaces/default/configmaps"


@pytest.mark.parametrize(
    "parts",
    [
        [b"{}"],
        [b"a" * PIECE, b"b"],
        [b"a", b"b" * PIECE],
        [b"ab" * 1000] * 1000,
        [b"a" * (PIECE - 1)] * 3,
        [b"a" * 3 * PIECE, b"", b"c"],
    ],
)
def test_pieces_are_the_whole(parts: list[bytes]) -> None:
    sent = list(pieces(parts))
    whole = b",".join(parts)
    assert b"".join(sent) == whole
    assert size(parts) == len(whole)
    assert all(len(piece) >= PIECE for piece, _ in pairwise(sent))
    assert is_long(parts) == (len(whole) >= LONG)


async def fill(cluster: Cluster, count: int) -> None:
    for number in range(count):
        obj = {"metadata": {"name": f"map-{number:03}"}, "data": {"text": "a long list, " * 400}}
        await cluster.client.create(MAPS, "default", obj)


async def test_a_long_list_is_whole_and_the_connection_goes_on(bare: Cluster, wire: Wire) -> None:
    await fill(bare, 300)
    long = await wire("GET", LIST)
    assert long.status == 200
    assert int(long.header("Content-Length")) == len(long.body) >= LONG
    assert long.header("Content-Type") == "application/json"
    names = [item["metadata"]["name"] for item in long.json()["items"]]
    assert names == [f"map-{number:03}" for number in range(300)]
    page = await wire("GET", f"{LIST}?limit=299")
    assert page.json()["metadata"]["remainingItemCount"] == 1
    assert page.json()["items"] == long.json()["items"][:299]


async def test_a_long_list_shows_the_moment_it_was_asked_for(bare: Cluster, wire: Wire) -> None:
    await fill(bare, 300)
    await wire.ask("GET", LIST, Connection="close")
    begun = await wire.begin()
    await bare.client.delete(MAPS, "default", "map-299")
    rest = await wire.rest()
    assert len(rest) == int(begun.header("Content-Length"))
    assert b'"name":"map-299"' in rest
