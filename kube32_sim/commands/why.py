"""`kube32-sim why`: a pod's chain of causes, the oldest first."""

from __future__ import annotations

import argparse
from collections import Counter
from typing import Any

from kube32_sim.api.errors import ApiError
from kube32_sim.api.own import API_VERSION
from kube32_sim.client import EXPLANATIONS
from kube32_sim.clock import parse_time, rfc3339
from kube32_sim.commands.answering import as_document, say
from kube32_sim.commands.asking import ask
from kube32_sim.durations import format_duration
from kube32_sim.kubeconfig import find_access
from kube32_sim.options import OptionError
from kube32_sim.terminal import printable

JsonObject = dict[str, Any]

PODS = ("pod", "pods", "po")
MOST_NODES = 10
"""Nodes that are told of one by one; of more, how many have which reason."""


def run(parsed: argparse.Namespace) -> int:
    """The exit code; OptionError for what is no pod, CommandError where there is no answer."""
    name = _name(parsed.pod)
    access = find_access(parsed.server, parsed.kubeconfig)
    namespace = parsed.namespace or access.namespace or "default"
    pod = {"namespace": namespace, "name": name} | ({"uid": parsed.uid} if parsed.uid else {})
    body = {"apiVersion": API_VERSION, "kind": "Explanation", "spec": {"pod": pod}}
    answer = ask(
        access, lambda client: client.create(EXPLANATIONS, "", body), lambda error: _refusal(access.server, error)
    )
    say(_rendered(answer, parsed.output))
    return 0


def _name(given: str) -> str:
    kind, slash, name = given.rpartition("/")
    if slash and kind.lower() not in PODS:
        raise OptionError(f"{given}: only pods are explained: pod/NAME")
    if not name:
        raise OptionError(f"{given!r} names no pod: pod/NAME")
    return name


def _refusal(server: str, error: ApiError) -> str:
    if error.code == 404 and not error.message.startswith("pods "):
        return f"{server} explains nothing: it is no simulator, or one of an older version"
    return error.message if error.code == 404 else ""


# printing


def _rendered(answer: JsonObject, output: str) -> str:
    if output:
        return as_document(answer, output)
    status = answer["status"]
    pod, causes = status["pod"], status.get("causes", [])
    lines = [f"pod/{pod['name']} in {pod['namespace']}: {status.get('summary', '')}", ""]
    now = parse_time(status["now"])
    lines += [line for number, cause in enumerate(causes) for line in _told(number, cause, pod["uid"], now)]
    lines += _waiting(status)
    lines += [f"Note: {note}." for note in status.get("notes", [])]
    return "\n".join(map(printable, lines)) + "\n"


def _told(number: int, cause: JsonObject, uid: str, now: float) -> list[str]:
    """A cause in two lines: when, what it is called, of what; then the sentence."""
    at, about = parse_time(cause["time"]), cause.get("about", {})
    age = format_duration(max(0.0, round(now - at, 1)))
    what = f"{about.get('kind', '').lower()}/{about.get('name', '')}"
    facts = [what if about.get("uid") != uid else "this pod", f"by {cause['actor']}"]
    if cause.get("revision"):
        facts.append(f"revision {cause['revision']}")
    because = [str(place + 1) for place in cause.get("because", [])]
    if because:
        facts.append(f"because of {' and '.join(because)}")
    if cause.get("source", "Recorded") != "Recorded":
        facts.append(f"told by {'an event' if cause['source'] == 'Event' else 'the pod itself'}")
    head = f"{number + 1:>3}  {rfc3339(at)} ({age} ago)  {cause['reason']}: {', '.join(facts)}"
    return [head, f"     {cause.get('message', '')}"]


def _waiting(status: JsonObject) -> list[str]:
    nodes = status.get("nodes", [])
    if not nodes:
        return []
    lines = ["", "What the nodes say now (`kube32-sim preview -o wide` tells amounts):"]
    if len(nodes) <= MOST_NODES and not status.get("nodesLeftOut"):
        width = max(len(node["name"]) for node in nodes)
        return lines + [f"     {node['name']:<{width}}  {node['reason']}" for node in nodes]
    counted = Counter(node["reason"] for node in nodes).most_common()
    lines += [f"     {count} nodes: {reason}" for reason, count in counted]
    return lines + ([f"     and {status['nodesLeftOut']} more"] if status.get("nodesLeftOut") else [])
