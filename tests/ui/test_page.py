"""The page at /ui/ in a real browser, on a real server whose clock stands still."""

from __future__ import annotations

import json
import re
from typing import Any

from tests.support.http import Http
from tests.support.webdriver import Browser

PODS = "/api/v1/namespaces/default/pods"
NODE = "/api/v1/nodes/esp32-s3-0"


def pod(name: str, **resources: str) -> dict[str, Any]:
    container = {"name": "c", "image": "i", "resources": {"requests": resources}}
    return {"metadata": {"name": name}, "spec": {"containers": [container]}}


def card(name: str) -> str:
    """The element of a board, as JavaScript."""
    return f"document.getElementById('board-{name}').closest('.board')"


def bars(browser: Browser, name: str) -> dict[str, str]:
    script = f"return [...{card(name)}.querySelectorAll('[role=meter]')].map((m) => [m.ariaLabel, m.ariaValueText])"
    return dict(browser.run(script))


def test_boards_have_a_card_with_what_is_free(page: Browser) -> None:
    assert page.texts("#boards h3") == ["esp32-s3-0", "esp32-s3-1", "esp32-s3-psram8-0", "linux-0"]
    assert bars(page, "esp32-s3-0") == {
        "Heap of esp32-s3-0": "25 % used, 288Ki free of 384Ki",
        "Pins of esp32-s3-0": "0 % used, 34 free of 34",
    }
    assert bars(page, "esp32-s3-psram8-0")["PSRAM of esp32-s3-psram8-0"] == "0 % used, 8Mi free of 8Mi"
    assert list(bars(page, "linux-0")) == ["Memory of linux-0"]
    assert page.text("#total-boards") == "4 of 4"


def test_a_pod_is_shown_where_it_goes_and_its_request_is_not_free_any_more(page: Browser, api: Http) -> None:
    made = api.post(PODS, pod("lamp", memory="40Ki", **{"esp32.io/gpio": "3"}))
    node = made["spec"]["nodeName"]
    page.wait(f"{card(node)}.innerText.includes('lamp')", "the pod is on its board's card")
    assert "288Ki" not in bars(page, node)[f"Heap of {node}"]
    assert "248Ki free" in bars(page, node)[f"Heap of {node}"]
    api("DELETE", f"{PODS}/lamp?gracePeriodSeconds=0")
    page.wait(f"!{card(node)}.innerText.includes('lamp')", "the pod is gone again")


def test_a_pod_that_waits_says_why(page: Browser, api: Http) -> None:
    api.post(PODS, pod("vast", memory="100Gi"))
    page.wait("document.querySelector('#waiting').innerText.includes('Insufficient memory')")
    assert page.texts("#waiting strong") == ["default/vast"]
    assert page.text("#waiting-count") == "1"
    api("DELETE", f"{PODS}/vast?gracePeriodSeconds=0")
    page.wait("!document.querySelector('#no-waiting').hidden")


def test_conditions_and_taints_appear_and_go(page: Browser, api: Http) -> None:
    taint = {"key": "room", "value": "cellar", "effect": "NoSchedule"}
    api("PATCH", NODE, {"spec": {"taints": [taint], "unschedulable": True}})
    page.wait(f"{card('esp32-s3-0')}.innerText.includes('room=cellar:NoSchedule')")
    assert "cordoned" in page.run(f"return {card('esp32-s3-0')}.innerText")
    api("PATCH", NODE, {"spec": {"taints": None, "unschedulable": None}})
    page.wait(f"!{card('esp32-s3-0')}.innerText.includes('cellar')")


def test_a_fault_and_the_way_back(page: Browser, api: Http) -> None:
    page.click("[aria-label='Switch off esp32-s3-1']")
    page.wait(f"{card('esp32-s3-1')}.innerText.includes('switched off')")
    annotations = api.get("/api/v1/nodes/esp32-s3-1")["metadata"]["annotations"]
    assert annotations["sim.kube32.io/fault"] == "stopped"
    page.click("[data-advance='1m']")
    page.wait(f"{card('esp32-s3-1')}.innerText.includes('Lost')")
    assert page.text("#total-boards") == "3 of 4"
    assert "Ready=Unknown" in page.run(f"return {card('esp32-s3-1')}.innerText")
    page.click("[aria-label='Heal esp32-s3-1']")
    page.wait("document.querySelector('[aria-label=\"Heal esp32-s3-1\"]').disabled")
    page.click("[data-advance='10s']")
    page.wait(f"{card('esp32-s3-1')}.dataset.state === 'good'")


def test_events_are_told_newest_first(page: Browser, api: Http) -> None:
    about = {"kind": "Node", "name": "esp32-s3-0"}
    for number in (1, 2):
        event = {"metadata": {"name": f"e{number}"}, "involvedObject": {**about, "namespace": ""}, "type": "Warning"}
        event |= {"reason": f"Smoke{number}", "message": "it smells", "lastTimestamp": "2026-01-01T00:00:00Z"}
        api.post("/api/v1/namespaces/default/events", event)
    page.wait("document.querySelector('#events strong').innerText === 'Warning: Smoke2'")
    assert page.texts("#events strong")[1] == "Warning: Smoke1"
    assert page.texts("#events .about")[0] == "node/esp32-s3-0"


def test_a_virtual_clock_is_moved_on_and_what_others_do_is_seen(page: Browser, api: Http) -> None:
    path = "/apis/sim.kube32.io/v1alpha1/clocks/cluster"
    before = api.get(path)["status"]["now"]
    page.wait("document.querySelector('#now').dateTime !== ''")
    page.type("#advance-by", "1h30m")
    page.press("Enter")
    page.wait("document.querySelector('#advanced').textContent === 'moved on 1h30m'")
    after = api.get(path)["status"]["now"]
    assert after > before
    assert page.run("return document.querySelector('#now').dateTime").startswith(after[:19])
    api.post(f"{path}/advance", {"spec": {"duration": "1h"}})
    moved = api.get(path)["status"]["now"][:19]
    page.wait(f"document.querySelector('#now').dateTime.startsWith('{moved}')")


def test_a_duration_that_is_none_is_refused_in_words(page: Browser) -> None:
    page.type("#advance-by", "soon")
    page.press("Enter")
    page.wait("document.querySelector('#problems').innerText.includes('soon')")


def test_the_filter_finds_names_labels_and_pods(page: Browser, api: Http) -> None:
    node = api.post(PODS, pod("needle"))["spec"]["nodeName"]
    page.wait(f"{card(node)}.innerText.includes('needle')")
    for words, expected in [
        ("psram8", ["esp32-s3-psram8-0"]),
        ("board=esp32-s3 s3-1", ["esp32-s3-1"]),
        ("needle", [node]),
        ("nothing like this", []),
    ]:
        page.type("#filter", words)
        page.wait(f"JSON.stringify([...document.querySelectorAll('#boards h3')].map((e) => e.innerText)) === "
                  f"{json.dumps(json.dumps(expected, separators=(',', ':')))}", words)  # fmt: skip
    assert page.text("#no-boards") == "No board matches."
    assert page.text("#shown") == "0 of 4 boards"


def test_many_pods_of_a_board_are_folded(page: Browser, api: Http) -> None:
    for number in range(8):
        body = pod(f"many-{number}")
        body["spec"]["nodeName"] = "linux-0"
        api.post(PODS, body)
    page.wait(f"{card('linux-0')}.innerText.includes('Show 2 more')")
    assert page.run(f"return {card('linux-0')}.querySelectorAll('.pods li').length") == 6
    page.run(f"{card('linux-0')}.querySelector('.quiet').click()")
    page.wait(f"{card('linux-0')}.querySelectorAll('.pods li').length === 8")


def test_a_heartbeat_draws_nothing(page: Browser, api: Http) -> None:
    page.run("""window.seen = [];
        new MutationObserver((all) => window.seen.push(...all.map((one) => one.target.nodeName)))
            .observe(document.querySelector("#boards"), { subtree: true, childList: true, characterData: true,
                                                          attributes: true });""")
    before = api.get(NODE)["metadata"]["resourceVersion"]
    api.post("/apis/sim.kube32.io/v1alpha1/clocks/cluster/advance", {"spec": {"duration": "30s"}})
    assert api.get(NODE)["metadata"]["resourceVersion"] != before
    api("PATCH", NODE, {"metadata": {"annotations": {"sim.kube32.io/fault": "partitioned"}}})
    page.wait(f"{card('esp32-s3-0')}.innerText.includes('cut off')")
    touched = page.run(f"return {card('esp32-s3-1')}.dataset.state") and page.run("return window.seen.length")
    assert touched < 10, "only the one card was touched"
    api("PATCH", NODE, {"metadata": {"annotations": {"sim.kube32.io/fault": None}}})
    api.post("/apis/sim.kube32.io/v1alpha1/clocks/cluster/advance", {"spec": {"duration": "30s"}})


MANIFESTS = """\
# two documents
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {a: b}}
  template:
    metadata: {labels: {a: b}}
    spec: {containers: [{name: c, image: i}]}
---
apiVersion: v1
kind: Pod
metadata: {name: vast}
spec:
  containers:
  - name: c
    image: i
    resources: {requests: {memory: 100Gi}}
"""


def test_a_preview_says_where_pods_would_go(page: Browser) -> None:
    page.run("document.querySelector('#manifest').value = arguments[0]", MANIFESTS)
    page.click("#preview-form button")
    page.wait("document.querySelector('#preview-told').innerText.includes('would find')")
    assert page.text("#preview-told") == "2 of 3 pods would find a node. Nothing was created."
    titles = page.texts("#placements summary strong")
    assert sorted(re.sub(r" → .*", "", title) for title in titles) == ["vast: no node", "web-0", "web-1"]
    assert "Insufficient memory" in page.text("#placements [data-placed=false]")
    page.run("document.querySelector('#manifest').value = arguments[0]", MANIFESTS + "  nonsense: [\n")
    page.click("#preview-form button")
    page.wait("/line \\d+/.test(document.querySelector('#preview-told').innerText)")
