"""`kube32-sim faults`: boards that break, and requests that fail (docs/faults.md)."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path

from kube32_sim.api import steering
from kube32_sim.api.errors import ApiError
from kube32_sim.api.own import API_VERSION, GROUP, VERSION
from kube32_sim.client import NODES, Client, JsonObject, Resource
from kube32_sim.commands.answering import as_document, say
from kube32_sim.commands.asking import ask
from kube32_sim.kubeconfig import find_access
from kube32_sim.options import CommandError, OptionError
from kube32_sim.special_files import read_patiently
from kube32_sim.terminal import columns

SCENARIOS = Resource(GROUP, VERSION, "faultscenarios")
NAME = "cluster"
NONE = "none"
NOTHING = "no faults are set\n"

Work = Callable[[Client], Coroutine[None, None, str]]


def run(parsed: argparse.Namespace) -> int:
    """The exit code; CommandError where there is no answer, OptionError for what cannot be asked for."""
    work = _WORK[parsed.action](parsed)
    access = find_access(parsed.server, parsed.kubeconfig)
    say(ask(access, work, lambda error: _refusal(access.server, error)))
    return 0


def _refusal(server: str, error: ApiError) -> str:
    if error.code == 404 and not error.details:
        return f"{server} has no faults: it is no simulator, or an older one"
    return ""


def _board(parsed: argparse.Namespace) -> Work:
    fault, names = parsed.fault, list(dict.fromkeys(parsed.nodes))
    if fault != NONE and steering.fault(fault) is None:
        raise OptionError(f"argument FAULT: {fault!r} is none of {NONE}, {steering.FAULT_FORMS}")
    annotations = {steering.FAULT: None if fault == NONE else fault}

    async def work(client: Client) -> str:
        await client.list(SCENARIOS)  # else it is no simulator, whose nodes would break by that
        there = {node["metadata"]["name"] for node in (await client.list(NODES)).items}
        missing = [name for name in names if name not in there]
        if missing:
            raise CommandError(f"there is no node {', '.join(missing)}; nothing was changed")
        for name in names:
            await client.patch(NODES, "", name, {"metadata": {"annotations": annotations}})
        return "".join(f"node/{name} {'healed' if fault == NONE else fault}\n" for name in names)

    return work


def _set(parsed: argparse.Namespace) -> Work:
    body = _scenario(parsed.file)

    async def work(client: Client) -> str:
        return _rendered(await client.update(SCENARIOS, "", body), parsed.output)

    return work


def _scenario(file: str) -> JsonObject:
    """Of a file, looked at before it is sent.  Raises OptionError, which names what is wrong."""
    from kube32_sim.api.errors import invalid
    from kube32_sim.api.fault_scenarios import decoded, problem, read

    try:
        data = _standard_input() if file == "-" else read_patiently(Path(file).expanduser())
        obj = decoded(data)
        wrong = read(obj.get("spec") or {})[1]
        if wrong:
            raise invalid(GROUP, "FaultScenario", NAME, wrong)
    except OSError as error:
        raise OptionError(f"argument FILE: {file}: {error.strerror}") from error
    except ApiError as error:
        raise OptionError(f"argument FILE: {file}: {problem(error)}") from error
    metadata = {"name": NAME} | (obj.get("metadata") or {})
    return {"apiVersion": API_VERSION, "kind": "FaultScenario", "metadata": metadata, "spec": obj["spec"]}


def _standard_input() -> bytes:
    if sys.stdin is None:
        raise CommandError("standard input is closed: there is nothing to read")
    return sys.stdin.buffer.read()


def _show(parsed: argparse.Namespace) -> Work:
    async def work(client: Client) -> str:
        found = (await client.list(SCENARIOS)).items
        if found:
            return _rendered({"apiVersion": API_VERSION, "kind": "FaultScenario", **found[0]}, parsed.output)
        return NOTHING if not parsed.output else _rendered(_NO_LIST, parsed.output)

    return work


_NO_LIST: JsonObject = {"apiVersion": API_VERSION, "kind": "FaultScenarioList", "metadata": {}, "items": []}


def _clear(parsed: argparse.Namespace) -> Work:
    async def work(client: Client) -> str:
        try:
            await client.delete(SCENARIOS, "", NAME)
        except ApiError as error:
            if error.reason != "NotFound" or not error.details:
                raise
        return NOTHING

    return work


_WORK = {"board": _board, "set": _set, "show": _show, "clear": _clear}


def _rendered(obj: JsonObject, output: str) -> str:
    if output:
        return as_document(obj, output)
    status = obj["status"]
    rows = [("RULE", "EFFECT", "MATCHED", "HIT")]
    for rule, counts in zip(obj["spec"]["rules"], status["rules"], strict=True):
        rows.append((rule["name"], _effect(rule), str(counts["matched"]), str(counts["hit"])))
    head = f"seed {obj['spec'].get('seed') or 0}, {status['requests']} requests since {status['since']}"
    return "\n".join([head, *columns(rows)]) + "\n"


def _effect(rule: JsonObject) -> str:
    """`500 after`, `latency 200ms to 2s`, `watch Expired after 3 events`."""
    from kube32_sim.api.fault_scenarios import read

    effect = read({"rules": [rule]})[0].rules[0].effect
    return effect.text
