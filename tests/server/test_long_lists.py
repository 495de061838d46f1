"""Long lists: sent in pieces, which together are what a short list would be."""

from __future__ import annotations

import gzip
import json
from itertools import pairwise
from typing import Any

import pytest
import yaml

from kube32_sim.api import protobuf
from kube32_sim.client import Resource
from kube32_sim.cluster import Cluster
from kube32_sim.server.long_lists import LONG, PIECE, pieces, size
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


FORMS = {
    "json": {},
    "pretty": {"User_Agent": "curl/8"},
    "yaml": {"Accept": "application/yaml"},
    "protobuf": {"Accept": "application/vnd.kubernetes.protobuf"},
    "table": {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"},
    "yaml table": {"Accept": "application/yaml;as=Table;v=v1;g=meta.k8s.io"},
    "metadata": {"Accept": "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"},
    "old metadata": {"Accept": "application/json;as=PartialObjectMetadataList;v=v1beta1;g=meta.k8s.io"},
    "protobuf metadata": {
        "Accept": "application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
    },
    "old protobuf metadata": {
        "Accept": "application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;v=v1beta1;g=meta.k8s.io"
    },
}


def read(form: str, body: bytes) -> Any:
    if "protobuf" in form:
        return protobuf.decode(body)[2]
    return yaml.load(body, getattr(yaml, "CSafeLoader", yaml.SafeLoader)) if "yaml" in form else json.loads(body)


@pytest.mark.parametrize("compressed", [False, True], ids=["plain", "gzip"])
@pytest.mark.parametrize("form", FORMS)
async def test_a_long_list_says_in_pieces_what_short_lists_say(
    bare: Cluster, wire: Wire, form: str, compressed: bool
) -> None:
    await fill(bare, 230)
    headers = FORMS[form] | ({"Accept_Encoding": "gzip"} if compressed else {})
    long = await wire("GET", LIST, **headers)
    assert (long.status, long.header("Content-Encoding")) == (200, "gzip" if compressed else "")
    assert (form == "json" and not compressed) == (long.header("Transfer-Encoding") != "chunked")
    whole = read(form, gzip.decompress(long.body) if compressed else long.body)
    pages = [read(form, (await wire("GET", f"{LIST}?limit=115", **FORMS[form])).body)]
    token = pages[0]["metadata"]["continue"]
    pages.append(read(form, (await wire("GET", f"{LIST}?limit=115&continue={token}", **FORMS[form])).body))
    array = "rows" if "table" in form else "items"
    for page in pages:
        page["metadata"].pop("continue", None)
        page["metadata"].pop("remainingItemCount", None)
    items = [item for page in pages for item in page.pop(array)]
    assert len(items) == 230
    assert without_ages(whole.pop(array)) == without_ages(items)
    assert pages[0] == whole
    assert (await wire("GET", "/healthz")).body == b"ok"


def without_ages(items: Any) -> Any:
    for item in items:
        if "cells" in item:
            item["cells"][-1] = ""
    return items


async def test_a_long_list_over_http_1_0(bare: Cluster, wire: Wire) -> None:
    await fill(bare, 230)
    await wire.send(f"GET {LIST} HTTP/1.0\r\nAccept: application/yaml\r\n\r\n".encode())
    begun = await wire.begin()
    assert begun.header("Transfer-Encoding") == ""
    assert len(read("yaml", await wire.rest())["items"]) == 230
