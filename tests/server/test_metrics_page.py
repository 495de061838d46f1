"""`/metrics`: what Prometheus reads, by Kubernetes' names."""

from __future__ import annotations

import json
import re

import pytest
from prometheus_client.parser import text_string_to_metric_families

from kube32_sim.api import errors
from kube32_sim.api.paths import parse
from kube32_sim.client import NODES
from kube32_sim.cluster import Cluster
from kube32_sim.metrics.meters import Histogram
from kube32_sim.metrics.text import family, histograms, labelled
from kube32_sim.metrics.traffic import Traffic
from kube32_sim.registry import binding
from kube32_sim.registry.asked import Asked
from tests.support.objects import pod, pod_spec
from tests.support.servers import CLONE
from tests.support.waiting import eventually
from tests.support.wire import Wire, connected

PODS = "/api/v1/namespaces/default/pods"


class Page:
    """A page as Prometheus reads it."""

    def __init__(self, text: str) -> None:
        families = list(text_string_to_metric_families(text))
        assert len({one.name for one in families}) == len(families)
        self.kinds = {one.name: one.type for one in families}
        self.samples = [sample for one in families for sample in one.samples]
        keys = [(sample.name, *sorted(sample.labels.items())) for sample in self.samples]
        assert len(set(keys)) == len(keys), "a sample is there twice"

    def sum(self, metric: str, **labels: str) -> float:
        return sum(one.value for one in self.samples if one.name == metric and labels.items() <= one.labels.items())


async def read(wire: Wire) -> Page:
    answer = await wire("GET", "/metrics")
    assert answer.status == 200
    assert answer.header("content-type").startswith("text/plain; version=0.0.4")
    return Page(answer.body.decode())


async def test_requests_are_counted_by_what_they_ask_for_and_how_they_ended(wire: Wire) -> None:
    await wire("POST", PODS, pod("one"))
    await wire("POST", PODS, pod("one"))
    await wire("GET", f"{PODS}/one")
    await wire("GET", f"{PODS}/two")
    await wire("GET", PODS)
    await wire(
        "PATCH", f"{PODS}/one/status", {"status": {"phase": "Running"}}, Content_Type="application/merge-patch+json"
    )
    page = await read(wire)
    named = {"resource": "pods", "group": "", "version": "v1", "scope": "resource"}
    assert page.kinds["apiserver_request"] == "counter"
    assert page.sum("apiserver_request_total", verb="POST", resource="pods", code="201") == 1
    assert page.sum("apiserver_request_total", verb="POST", resource="pods", code="409") == 1
    assert page.sum("apiserver_request_total", verb="GET", code="200", **named) == 1
    assert page.sum("apiserver_request_total", verb="GET", code="404", **named) == 1
    assert page.sum("apiserver_request_total", verb="LIST", code="200", resource="pods", scope="namespace") == 1
    assert page.sum("apiserver_request_total", verb="PATCH", subresource="status", code="200") == 1


async def test_how_long_answers_take_is_a_histogram_over_all_their_codes(wire: Wire) -> None:
    for name in ("one", "two", "one"):
        await wire("POST", PODS, pod(name))
    page = await read(wire)
    assert page.kinds["apiserver_request_duration_seconds"] == "histogram"
    what = {"verb": "POST", "resource": "pods"}
    assert page.sum("apiserver_request_duration_seconds_count", **what) == 3
    assert page.sum("apiserver_request_duration_seconds_bucket", le="+Inf", **what) == 3
    assert page.sum("apiserver_request_duration_seconds_bucket", le="60", **what) == 3
    assert page.sum("apiserver_request_duration_seconds_sum", **what) > 0


async def test_what_is_not_served_fills_no_memory(wire: Wire) -> None:
    for number in range(20):
        await wire("GET", f"/apis/none.example/v1/things{number}")
        await wire("GET", f"/nothing/{number}")
    page = await read(wire)
    unknown = [s for s in page.samples if s.name == "apiserver_request_total" and s.labels["code"] == "404"]
    assert [(one.value, one.labels["resource"], one.labels["verb"]) for one in unknown] == [(40, "", "GET")]


async def test_watches_and_what_they_are_sent_are_counted(bare: Cluster, wire: Wire) -> None:
    async with connected(bare.port) as watcher:
        await watcher.ask("GET", f"{PODS}?watch=true")
        await watcher.begin()
        await wire("POST", PODS, pod("one"))
        await wire("POST", PODS, pod("two"))
        page = await read(wire)
        assert page.sum("apiserver_longrunning_requests", verb="WATCH") == 1
        assert page.sum("apiserver_watch_events_total", resource="pods", group="") == 2
        assert page.sum("apiserver_request_duration_seconds_count", verb="WATCH") == 0
    await eventually(lambda: bare.hub.count() == 0, "the watch has ended")
    assert (await read(wire)).sum("apiserver_longrunning_requests", verb="WATCH") == 0
    assert (await read(wire)).sum("apiserver_request_duration_seconds_count", verb="WATCH") == 0


async def test_the_store_and_the_clock_are_told(bare: Cluster, wire: Wire) -> None:
    await wire("POST", PODS, pod("one"))
    page = await read(wire)
    assert page.sum("apiserver_storage_objects", resource="pods") == 1
    assert page.sum("kube32_sim_store_revision") == bare.store.revision
    assert page.sum("kube32_sim_store_up") == 1
    assert page.sum("kube32_sim_clock_seconds", mode="Real") > 1e9


async def test_the_process_is_told_by_the_names_of_every_process(wire: Wire) -> None:
    page = await read(wire)
    assert page.sum("process_cpu_seconds_total") > 0
    assert page.sum("process_resident_memory_bytes") > 1e7
    assert page.sum("process_open_fds") > 3
    assert page.sum("kubernetes_build_info") == 1


async def test_a_request_that_is_worked_on_is_in_flight(wire: Wire, bare: Cluster) -> None:
    inflight = bare._server._handler.inflight
    inflight.writes.free -= 2
    page = await read(wire)
    assert page.sum("apiserver_current_inflight_requests", request_kind="mutating") == 2
    assert page.sum("apiserver_current_inflight_requests", request_kind="readOnly") == 0


async def test_scheduling_is_counted_in_the_create_request_and_in_the_loop(virtual_cluster: Cluster) -> None:
    large = pod_spec(nodeSelector={"none": "such"})
    async with connected(virtual_cluster.port) as wire:
        await wire("POST", PODS, pod("fits"))
        await wire("POST", PODS, pod("waits", spec=large))
        page = await read(wire)
        attempts = "scheduler_schedule_attempts_total"
        assert page.sum(attempts, result="scheduled", profile="kube32") == 1
        assert page.sum(attempts, result="unschedulable") == 1
        assert page.sum("scheduler_pending_pods", queue="unschedulable") == 1
        await virtual_cluster.advance("5s")
        page = await read(wire)
        assert page.sum(attempts, result="unschedulable") > 1
        assert page.sum("scheduler_scheduling_attempt_duration_seconds_count", result="scheduled") == 1


async def test_a_node_that_was_found_and_refused_is_no_success(
    virtual_cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(asked: Asked, pod: dict[str, object]) -> None:
        raise errors.conflict("", "pods/binding", asked.name, "somebody else was quicker")

    async with connected(virtual_cluster.port) as wire:
        await wire("POST", PODS, pod("waits", spec=pod_spec(nodeSelector={"floor": "two"})))
        monkeypatch.setattr(binding, "_check_bindable", refuse)
        node = virtual_cluster.store.list(("", "nodes"))[0].name
        await virtual_cluster.client.patch(NODES, "", node, {"metadata": {"labels": {"floor": "two"}}})
        await virtual_cluster.advance("5s")
        page = await read(wire)
        attempts = "scheduler_schedule_attempts_total"
        assert page.sum(attempts, result="scheduled") == 0
        assert page.sum(attempts, result="error") >= 1


async def test_loops_tell_how_often_and_how_long_they_work(virtual_cluster: Cluster) -> None:
    async with connected(virtual_cluster.port) as wire:
        before = await read(wire)
        await virtual_cluster.advance("5s")
        page = await read(wire)
    for loop in ("node-lifecycle", "scheduler", "deployment"):
        assert page.sum("kube32_sim_loop_passes_total", name=loop) >= 1, loop
    keys = "workqueue_adds_total"
    assert page.sum(keys, name="node-lifecycle") > before.sum(keys, name="node-lifecycle")
    duration = "workqueue_work_duration_seconds_count"
    assert page.sum(duration, name="node-lifecycle") == page.sum(keys, name="node-lifecycle")


async def test_without_a_scheduler_nothing_is_pending(wire: Wire) -> None:
    page = await read(wire)
    assert "scheduler_pending_pods" not in page.kinds


# the format


def test_labels_are_escaped() -> None:
    hostile = 'a"b\\c\nd'
    lines = family("one", "gauge", "One.", [(labelled({"name": hostile}), 1)])
    (found,) = text_string_to_metric_families("\n".join(lines) + "\n")
    assert found.samples[0].labels == {"name": hostile}


def test_a_family_without_samples_is_left_out() -> None:
    assert list(family("none", "gauge", "None.", [])) == []
    assert list(histograms("none", "None.", [])) == []


def test_buckets_are_cumulated_and_bounds_belong_to_the_lower_one() -> None:
    histogram = Histogram((1.0, 2.0))
    for value in (0.5, 1.0, 1.5, 9.0):
        histogram.observe(value)
    lines = list(histograms("h", "H.", [("", histogram)]))
    assert lines[2:] == ['h_bucket{le="1"} 2', 'h_bucket{le="2"} 3', 'h_bucket{le="+Inf"} 4', "h_sum 12.0", "h_count 4"]


@pytest.mark.parametrize("method", ["BREW", "X" * 5000, "G'T"])
def test_strange_methods_share_a_few_labels(method: str) -> None:
    traffic = Traffic()
    traffic.note(None, method, 405, 0.1)
    (line,) = [line for line in traffic.lines() if line.startswith("apiserver_request_total{")]
    assert ('verb="BREW"' if method == "BREW" else 'verb="other"') in line


def test_lasting_requests_have_no_duration() -> None:
    traffic = Traffic()
    traffic.note(parse("GET", f"{PODS}/one/log", {}), "GET", 200, 1000.0)
    assert not [line for line in traffic.lines() if "duration" in line]


# the dashboard


def test_the_dashboard_asks_for_nothing_that_is_not_told() -> None:
    """Every metric that a panel names is one of the page's, as it is written in the code."""
    path = CLONE / "docs/grafana-dashboard.json"
    dashboard = json.loads(path.read_text(encoding="utf-8"))
    source = "".join(one.read_text(encoding="utf-8") for one in (CLONE / "kube32_sim/metrics").glob("*.py"))
    asked = [target["expr"] for panel in dashboard["panels"] for target in panel.get("targets", ())]
    assert len(asked) > 10
    for expression in asked:
        names = [word for word in _words(expression) if "_" in word and not word.startswith("__")]
        assert names, expression
        for name in names:
            plain = name.removesuffix("_bucket").removesuffix("_sum").removesuffix("_count")
            assert f'"{plain}"' in source, (expression, name)


def _words(expression: str) -> list[str]:
    functions = ("histogram_quantile", "label_replace")
    bare = re.sub(r"\[[^]]*\]|\{[^}]*\}|by \([^)]*\)", " ", expression)
    return [word for word in re.findall(r"[a-z_0-9]{4,}", bare) if word not in functions]


# the document


async def test_the_document_lists_what_there_is(virtual_cluster: Cluster) -> None:
    virtual_cluster._server._handler.refusals.counts[429] += 1
    async with connected(virtual_cluster.port) as wire:
        await wire("POST", PODS, pod("one"))
        text = (await wire("GET", "/metrics")).body.decode()
    rows = re.findall(r"^# HELP (\S+) (.*)\n# TYPE \S+ (\S+)$", text, re.M)
    leads = ("leader_election_master_status", "Whether this replica runs the control loops.", "gauge")
    wanted = "".join(f"| `{name}` | {kind} | {about} |\n" for name, about, kind in sorted([*rows, leads]))
    document = (CLONE / "docs/metrics.md").read_text(encoding="utf-8")
    (found,) = re.findall(r"^\| metric \|.*\n\|[- |]+\n((?:\|.*\n)+)", document, re.M)
    assert found == wanted, f"it should be:\n{wanted}"
