"""The leader is killed, stopped or paused in the middle of its work: another goes on, nothing is done twice or lost."""

from __future__ import annotations

import signal
import socket
import time
from pathlib import Path
from typing import Any

from tests.support.etcd import Etcd
from tests.support.http import Http
from tests.support.replicas import LEASE, LEASE_SECONDS, LONGEST_LOOK, SHORT, Story, holder, running_replicas
from tests.support.waiting import until

DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
JOBS = "/apis/batch/v1/namespaces/default/jobs"
PODS = "/api/v1/namespaces/default/pods"
SLACK = 3.0
"""Seconds by which a machine with much to do may be late."""


def template(image: str, app: str, **more: Any) -> dict[str, Any]:
    resources = {"requests": {"memory": "8Ki"}}
    spec = {"containers": [{"name": "c", "image": image, "resources": resources}], **more}
    return {"metadata": {"labels": {"app": app}, "annotations": {"sim.kube32.io/run-seconds": "1"}}, "spec": spec}


def deployment(replicas: int, image: str, name: str = "web") -> dict[str, Any]:
    pods = template(image, name)
    del pods["metadata"]["annotations"]
    spec = {"replicas": replicas, "selector": {"matchLabels": {"app": name}}, "template": pods}
    return {"metadata": {"name": name}, "spec": spec}


def job(completions: int) -> dict[str, Any]:
    pods = template("i", "work", restartPolicy="Never")
    return {"metadata": {"name": "work"}, "spec": {"completions": completions, "parallelism": 3, "template": pods}}


def images(client: Http, app: str = "web") -> list[str]:
    """Of the pods that run."""
    pods = client.get(f"{PODS}?labelSelector=app%3D{app}")["items"]
    ready = [
        pod for pod in pods if pod["status"].get("phase") == "Running" and "deletionTimestamp" not in pod["metadata"]
    ]
    return [pod["spec"]["containers"][0]["image"] for pod in ready]


def test_killed_during_a_rollout_and_a_job(tmp_path: Path, etcd: Etcd) -> None:
    with running_replicas(tmp_path, f"{etcd.url}/killed", 3, *SHORT, "--nodes", "4") as replicas:
        first = replicas.leader()
        one, other = (each.http() for each in replicas.others(first))
        story = Story(replicas.others(first)[0].url, "default")
        one.post(DEPLOYMENTS, deployment(6, "old"))
        until(lambda: images(one) == ["old"] * 6, "the Deployment runs")
        other.post(JOBS, job(9))
        other("PATCH", f"{DEPLOYMENTS}/web", {"spec": {"template": {"spec": template("new", "web")["spec"]}}})
        until(lambda: "new" in images(other) and len(story.made("app", "work")) >= 3, "both are under way")

        before = holder(one)
        assert "old" in images(other), "the rollout was over too soon"
        first.kill()
        killed = time.monotonic()
        until(lambda: holder(one) not in ("", before), "another takes the lead")
        assert time.monotonic() - killed < LEASE_SECONDS + LONGEST_LOOK + SLACK
        assert one.get(LEASE)["spec"]["leaseTransitions"] == 1

        until(lambda: other.get(f"{JOBS}/work")["status"].get("succeeded") == 9, "the Job is done")
        until(lambda: images(one) == ["new"] * 6, "the rollout is done")
        until(lambda: len(one.get(f"{PODS}?labelSelector=app%3Dweb")["items"]) == 6, "old pods have gone")
        story.close()
        status = other.get(f"{JOBS}/work")["status"]
        assert (status.get("failed", 0), status["conditions"][-1]["type"]) == (0, "Complete")
        assert len(story.made("app", "work")) == 9
        assert len(story.made("app", "web")) == 12
        assert (story.most("app", "work"), story.most("app", "web")) == (3, 6)
        assert {len(nodes) for nodes in story.nodes().values()} == {1}


def test_stopped_it_lets_go_at_once(tmp_path: Path, etcd: Etcd) -> None:
    with running_replicas(tmp_path, f"{etcd.url}/stopped", 2, "--nodes", "0") as replicas:  # a lease of 15 s
        first = replicas.leader()
        (second,) = replicas.others(first)
        client = second.http()
        before = holder(client)
        assert f"{socket.gethostname()}:{first.port}_" in before, "one sees which replica it is"
        assert first.says(f"{before} is a candidate for the lease kube-system/kube32-sim")
        until(lambda: second.says(f"new leader elected: {before}\n"), "the other's log tells who leads")
        first.stop()
        stopped = time.monotonic()
        until(lambda: holder(client) not in ("", before), "another takes the lead")
        assert time.monotonic() - stopped < SLACK
        assert replicas.leader() is second
        assert not second.says(f"new leader elected: {holder(client)}"), "of itself it says that it became leader"
        until(lambda: _told(client) >= {("became leader", before)}, "events tell of it")
        client.post(DEPLOYMENTS, deployment(2, "i"))
        until(lambda: len(client.get(PODS)["items"]) == 2, "its loops run")


def _told(client: Http) -> set[tuple[str, str]]:
    events = client.get("/api/v1/namespaces/kube-system/events?fieldSelector=reason%3DLeaderElection")["items"]
    return {(what, who) for event in events for who, _, what in [event["message"].partition(" ")]}


def test_paused_it_does_nothing_after_another_took_over(tmp_path: Path, etcd: Etcd) -> None:
    with running_replicas(tmp_path, f"{etcd.url}/paused", 2, *SHORT, "--nodes", "1") as replicas:
        first = replicas.leader()
        (second,) = replicas.others(first)
        client = second.http()
        story = Story(second.url, "default")
        before = holder(client)
        client.post(DEPLOYMENTS, deployment(2, "i", "early"))
        until(lambda: images(client, "early") == ["i"] * 2, "its loops run")

        first.signal(signal.SIGSTOP)
        try:
            client.post(DEPLOYMENTS, deployment(3, "i", "late"))
            until(lambda: holder(client) not in ("", before), "another takes the lead")
            client("PATCH", f"{DEPLOYMENTS}/early", {"spec": {"replicas": 1}})
            until(lambda: images(client, "late") == ["i"] * 3, "the other does the work")
        finally:
            first.signal(signal.SIGCONT)
        until(lambda: first.says("stopped leading"), "it has seen that it leads no more")
        until(lambda: len(images(client, "early")) == 1, "all is done")
        mine = first.http()
        until(lambda: mine.get(f"{DEPLOYMENTS}/late")["status"].get("availableReplicas") == 3, "it has caught up")
        story.close()
        assert (len(story.made("app", "late")), len(story.made("app", "early"))) == (3, 2)
        assert holder(mine) == holder(client) != before
