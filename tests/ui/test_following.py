"""How the page follows a server: one that ends, forgets, refuses, is away, or says things that no real one would."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.fake_api import FakeApi, JsonObject
from tests.support.servers import ADMIN_TOKEN, admin_token_file, doomed_server, running_server
from tests.support.waiting import until
from tests.support.webdriver import Browser
from tests.ui.conftest import opened

EVIL = '<img src=x onerror="window.hurt=1"><script>window.hurt=2</script>"\'`${1}</li>&amp;'


def node(name: str, revision: int = 1, **more: Any) -> JsonObject:
    ready = {"type": "Ready", "status": "True", "reason": "", "message": ""}
    amounts = {"memory": "300Ki", "esp32.io/gpio": "30"}
    status = {"conditions": [ready], "capacity": amounts, "allocatable": amounts}
    metadata = {"name": name, "resourceVersion": str(revision), "labels": {"esp32.io/board": "esp32"}}
    return {"metadata": metadata, "spec": {}, "status": status, **more}


def pod(name: str, revision: int = 1, *, on: str = "", message: str = "") -> JsonObject:
    conditions = [{"type": "PodScheduled", "status": "False", "message": message}] if message else []
    return {
        "metadata": {"name": name, "namespace": "default", "uid": name, "resourceVersion": str(revision),
                     "creationTimestamp": "2026-01-01T00:00:00Z"},
        "spec": {"nodeName": on, "containers": [{"name": "c"}]},
        "status": {"phase": "Running" if on else "Pending", "conditions": conditions},
    }  # fmt: skip


def names(browser: Browser, *expected: str) -> None:
    wanted = json.dumps(json.dumps(expected, separators=(",", ":")))
    browser.wait(f"JSON.stringify([...document.querySelectorAll('#boards h3')].map((e) => e.textContent)) === {wanted}")


def test_text_from_outside_stays_text(browser: Browser, fake: FakeApi) -> None:
    spec = {"taints": [{"key": EVIL, "value": EVIL, "effect": "NoSchedule"}]}
    bad = node(EVIL, spec=spec)
    bad["metadata"] |= {"labels": {"esp32.io/board": EVIL, EVIL: EVIL}, "annotations": {"sim.kube32.io/fault": EVIL}}
    bad["status"]["conditions"].append({"type": EVIL, "status": "True", "reason": EVIL, "message": EVIL})
    bad["status"]["allocatable"] = {"memory": EVIL}
    event = {"metadata": {"uid": "e", "resourceVersion": "1"}, "involvedObject": {"kind": EVIL, "name": EVIL}}
    fake.objects = {
        "nodes": [bad],
        "pods": [pod(EVIL, on=EVIL), pod(f"{EVIL}2", message=EVIL)],
        "events": [{**event, "type": "Warning", "reason": EVIL, "message": EVIL, "lastTimestamp": EVIL}],
    }
    opened(browser, fake.url)
    names(browser, EVIL)
    browser.wait(f"document.querySelector('#waiting').textContent.includes({json.dumps(EVIL)})")
    verdict = {"name": EVIL, "feasible": False, "reason": EVIL, "detail": EVIL}
    placement = {"pod": EVIL, "namespace": EVIL, "node": None, "message": EVIL, "nodes": [verdict]}
    status = {"placements": [placement], "warnings": [EVIL]}
    fake.answers["POST", "/apis/sim.kube32.io/v1alpha1/schedulingpreviews"] = 200, {"status": status}
    browser.type("#manifest", "kind: Pod")
    browser.click("#preview-form button")
    browser.wait("document.querySelector('#placements table')")
    fake.send("pods", "MODIFIED", pod(f"{EVIL}2", 2, message=EVIL + "again"))
    browser.wait("document.querySelector('#waiting').textContent.includes('again')")
    assert browser.run("return window.hurt ?? 0") == 0
    assert browser.run("return document.querySelectorAll('main img, main script').length") == 0
    assert browser.text("#placements td:last-child").startswith(EVIL)


def test_the_browser_itself_lets_no_text_become_markup(browser: Browser, fake: FakeApi) -> None:
    opened(browser, fake.url)
    refused = browser.run("try { document.body.innerHTML = '<b>x</b>'; return ''; } catch (e) { return e.name; }")
    assert refused == "TypeError"
    browser.complaints()  # it says so, too


def test_events_change_what_was_listed(browser: Browser, fake: FakeApi) -> None:
    fake.objects["nodes"] = [node("a"), node("c")]
    opened(browser, fake.url)
    names(browser, "a", "c")
    fake.send("nodes", "ADDED", node("b", 11))
    names(browser, "a", "b", "c")
    fake.send("nodes", "DELETED", node("c", 12))
    names(browser, "a", "b")


def test_a_watch_goes_on_where_it_ended(browser: Browser, fake: FakeApi) -> None:
    opened(browser, fake.url)
    fake.send("nodes", "BOOKMARK", {"kind": "Node", "metadata": {"resourceVersion": "77"}})
    fake.send("nodes", "ADDED", node("a", 78))
    names(browser, "a")
    fake.end("nodes")
    until(lambda: any("nodes" in path and "resourceVersion=78" in path for _, path, _ in fake.asked), "it goes on")
    assert fake.count("/api/v1/nodes?limit") == 1, "nothing was listed again"


def test_a_history_that_is_gone_is_listed_anew(browser: Browser, fake: FakeApi) -> None:
    fake.objects["nodes"] = [node("old")]
    opened(browser, fake.url)
    names(browser, "old")
    fake.objects["nodes"] = [node("new")]
    fake.send("nodes", "ERROR", {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"})
    names(browser, "new")
    assert browser.run("return document.body.dataset.connection") == "live"


def test_a_server_that_is_away_is_told_of_and_the_next_one_is_another(browser: Browser, tmp_path: Path) -> None:
    (tmp_path / "second").mkdir()
    with doomed_server(tmp_path, "--nodes", "1") as first:
        opened(browser, first.url)
        names(browser, "esp32-0")
        port = first.url.rpartition(":")[2]
    browser.wait("document.body.dataset.connection === 'lost'")
    assert browser.text("#connection").startswith("Disconnected, trying again")
    assert browser.texts("#boards h3") == ["esp32-0"], "what was seen last stays"
    with running_server(tmp_path / "second", "--port", port, "--nodes", "linux=1"):
        browser.wait("document.body.dataset.connection === 'live'")
        names(browser, "linux-0")


def test_who_may_not_is_told_and_asked_for_a_token(browser: Browser, tmp_path: Path) -> None:
    options = ("--nodes", "1", "--token-file", str(admin_token_file(tmp_path)))
    with running_server(tmp_path, *options, token=ADMIN_TOKEN) as server:
        opened(browser, server.url, "refused")
        browser.wait("document.querySelector('#connection').innerText === 'Not allowed: nodes, pods, events'")
        assert 'User "system:anonymous" cannot list resource "nodes"' in browser.text("#access-told")
        browser.type("#token", "wrong")
        browser.press("Enter")
        browser.wait("document.querySelector('#access-told').innerText === 'Unauthorized'")
        browser.type("#token", ADMIN_TOKEN)
        browser.press("Enter")
        names(browser, "esp32-0")
        assert browser.run("return JSON.stringify(localStorage)").count(ADMIN_TOKEN) == 0
        assert browser.run("return document.querySelector('#token').value") == ""
        opened(browser, server.url)  # the tab knows it still
        browser.click("#forget")
        browser.wait("document.body.dataset.connection === 'refused'")
        assert browser.texts("#boards h3") == []


def test_who_may_see_only_some_of_it_sees_that(browser: Browser, fake: FakeApi) -> None:
    fake.objects["nodes"] = [node("a")]
    opened(browser, fake.url)
    names(browser, "a")
    fake.refusal = 403, {"kind": "Status", "code": 403, "message": "pods are not for you"}
    fake.end("pods")
    browser.wait("document.querySelector('#connection').innerText === 'Not allowed: pods'")
    assert browser.texts("#boards h3") == ["a"]


@pytest.mark.parametrize("text", ["kind: Pod\nmetadata: {name: a}\n", '{"kind": "Pod", "metadata": {"name": "a"}}'])
def test_a_pasted_manifest_is_what_is_asked_about(browser: Browser, fake: FakeApi, text: str) -> None:
    path = "/apis/sim.kube32.io/v1alpha1/schedulingpreviews"
    nodes = [
        {"name": "a", "feasible": True, "score": 81},
        {"name": "b", "feasible": False, "reason": "full", "score": 0},
    ]
    placement = {"pod": "a", "namespace": "default", "node": "a", "score": 81, "message": "", "nodes": nodes}
    fake.answers["POST", path] = 200, {"status": {"placements": [placement]}}
    opened(browser, fake.url)
    browser.run("document.querySelector('#manifest').value = arguments[0]", text)
    browser.run("document.querySelector('#profile').value = 'kestrel'")
    browser.click("#preview-form button")
    browser.wait("document.querySelector('#placements details')")
    assert browser.text("#preview-told") == "1 of 1 pod would find a node. Nothing was created."
    assert browser.text("#placements summary").split("\n") == ["a → a", "default, score 81"]
    browser.click("#placements summary")
    assert browser.texts("#placements td") == ["81", "fits", "–", "full"]
    ((_, _, body),) = [one for one in fake.asked if one[1] == path]
    assert "kestrel" in body


def test_a_message_about_a_line_is_about_the_pasted_one(browser: Browser, fake: FakeApi) -> None:
    path = "/apis/sim.kube32.io/v1alpha1/schedulingpreviews"
    fake.answers["POST", path] = 400, {"message": "yaml: line 8: did not find expected key"}
    opened(browser, fake.url)
    browser.type("#manifest", "kind: Pod\nx: [")
    browser.click("#preview-form button")
    browser.wait("document.querySelector('#preview-told').innerText.includes('expected key')")
    assert browser.text("#preview-told") == "yaml: line 2: did not find expected key"


def test_a_page_that_nobody_sees_holds_no_connection(browser: Browser, fake: FakeApi) -> None:
    fake.objects["nodes"] = [node("a")]
    opened(browser, fake.url)
    hide = "Object.defineProperty(document, 'hidden', { value: arguments[0], configurable: true });"
    browser.run(f"{hide} document.dispatchEvent(new Event('visibilitychange'));", True)
    browser.wait("document.body.dataset.connection === 'paused'")
    assert browser.texts("#boards h3") == ["a"]
    browser.run(f"{hide} document.dispatchEvent(new Event('visibilitychange'));", False)
    browser.wait("document.body.dataset.connection === 'live'")
    assert fake.count("/api/v1/nodes?limit") == 1, "it goes on where it was"


def test_what_is_not_known_is_not_said(browser: Browser, fake: FakeApi) -> None:
    fake.refusal = 403, {"kind": "Status", "code": 403, "message": "not for you"}
    opened(browser, fake.url, "refused")
    assert browser.text("#access-told") == "not for you"
    assert browser.texts(".totals dd") == ["–"] * 4
    assert browser.run("return [...document.querySelectorAll('.empty')].filter((e) => e.offsetParent).length") == 0


def test_one_window_follows_events_and_others_look_now_and_then(browser: Browser, fake: FakeApi) -> None:
    close = browser.new_tab()
    try:
        browser.open(f"{fake.url}/ui/icon.svg")
        browser.run("navigator.locks.request('kube32-sim-events', () => new Promise(() => {}));")
        browser.to_first_tab()
        opened(browser, fake.url)
        event = {"metadata": {"uid": "e", "resourceVersion": "1"}, "involvedObject": {}, "reason": "Smoke"}
        fake.objects["events"] = [event]
        browser.wait("document.querySelector('#events').innerText.includes('Smoke')")
        assert fake.count("/api/v1/events?watch") == 0
    finally:
        close()
    until(lambda: fake.count("/api/v1/events?watch") == 1, "its turn has come")
    fake.send("events", "ADDED", {**event, "metadata": {"uid": "f", "resourceVersion": "12"}, "reason": "Fire"})
    browser.wait("document.querySelector('#events').innerText.includes('Fire')")
