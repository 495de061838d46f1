"""The files of the page at /ui/: who gets them, how, and what they may not do."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kube32_sim.cluster import Cluster
from kube32_sim.options import ServeOptions
from kube32_sim.server import pages
from tests.support.servers import admin_token_file
from tests.support.wire import Wire, connected

FILES = sorted(path for path in pages.FOLDER.iterdir() if path.is_file())
MOST_LINES = 400


@pytest.mark.parametrize("path", sorted(pages.files()))
async def test_every_file_is_served_with_the_policy_of_a_page(wire: Wire, path: str) -> None:
    answer = await wire("GET", path)
    assert (answer.status, answer.body) == (200, pages.files()[path].content)
    assert answer.header("Content-Security-Policy") == pages.POLICY
    assert answer.header("X-Content-Type-Options") == "nosniff"
    assert "unsafe" not in pages.POLICY


async def test_a_browser_keeps_a_file_until_it_is_another_one(wire: Wire) -> None:
    first = await wire("GET", "/ui/main.js")
    assert first.header("Cache-Control") == "no-cache"
    again = await wire("GET", "/ui/main.js", If_None_Match=f'"other", W/{first.header("ETag")}')
    assert (again.status, again.body, again.header("ETag")) == (304, b"", first.header("ETag"))
    assert (await wire("GET", "/ui/main.js", If_None_Match='"other"')).status == 200


async def test_head_answers_without_a_body(wire: Wire) -> None:
    answer = await wire("HEAD", "/ui/")
    assert answer.status == 200
    assert int(answer.header("Content-Length")) == len(pages.files()["/ui/"].content)


@pytest.mark.parametrize("path", ["/ui", "/ui?x=1"])
async def test_the_path_without_a_slash_leads_to_the_page(wire: Wire, path: str) -> None:
    answer = await wire("GET", path)
    assert (answer.status, answer.header("Location")) == (308, "ui/")


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS"])
async def test_it_is_read_only(wire: Wire, method: str) -> None:
    assert (await wire(method, "/ui/", b"")).status == 405


@pytest.mark.parametrize(
    "path",
    [
        "/ui/index.html", "/ui/missing.js", "/ui//main.js", "/ui/./main.js", "/ui/../ui/main.js", "/ui/../handler.py",
        "/ui/%2e%2e/handler.py", "/ui/..%2fhandler.py", "/ui/..%5chandler.py", "/ui/%00", "/ui/main.js/",
        "/ui/main.js%00", "/ui//etc/passwd", "/ui/" + "../" * 30 + "etc/passwd", "/uix", "/UI/",
    ],
)  # fmt: skip
async def test_no_other_path_leads_to_a_file(wire: Wire, path: str) -> None:
    assert (await wire("GET", path)).status == 404


async def test_it_is_public_where_the_api_asks_for_tokens(tmp_path: Path) -> None:
    options = ServeOptions(port=0, nodes=0, controllers="none", token_file=admin_token_file(tmp_path))
    async with Cluster(options) as cluster, connected(cluster.port) as wire:
        assert (await wire("GET", "/ui/")).status == 200
        assert (await wire("GET", "/ui/main.js")).status == 200
        assert (await wire("GET", "/api/v1/nodes")).status == 403


async def test_pages_of_others_get_none_of_it(wire: Wire) -> None:
    assert (await wire("GET", "/ui/", Host="evil.example")).status == 403
    assert (await wire("GET", "/ui/main.js", Origin="http://evil.example")).status == 403
    assert (await wire("GET", "/ui/main.js", Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="no-cors")).status == 403
    link = {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "navigate", "Sec_Fetch_Dest": "document"}
    assert (await wire("GET", "/ui/", **link)).status == 200


async def test_answers_of_the_api_are_no_page_still(bare: Cluster, wire: Wire) -> None:
    answer = await wire("GET", "/api/v1/nodes")
    assert answer.header("Content-Security-Policy") == "default-src 'none'; frame-ancestors 'none'"


def test_no_text_becomes_markup_and_nothing_comes_from_elsewhere() -> None:
    for path in FILES:
        text = path.read_text(encoding="utf-8")
        assert text.count("\n") <= MOST_LINES, path.name
        assert not re.search(r"innerHTML|outerHTML|insertAdjacent|document\.write|\beval\b|new Function", text), (
            path.name
        )
        addresses = set(re.findall(r"https?://[^\s\"'`]+", text)) - {"http://www.w3.org/2000/svg"}
        assert not addresses, f"{path.name}: {addresses}"
    page = (pages.FOLDER / "index.html").read_text(encoding="utf-8")
    assert not re.search(r"\son\w+=|\sstyle=|<style|<script(?![^>]* src=)", page)


def test_all_files_there_are_served_and_packed() -> None:
    assert len(pages.files()) == len(FILES)
    assert all(set(re.findall(r'from "\./([\w.]+)"', path.read_text())) <= {p.name for p in FILES} for path in FILES)
