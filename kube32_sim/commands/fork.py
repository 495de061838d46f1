"""`kube32-sim fork`: branches of a running simulator."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Coroutine
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

from kube32_sim.api.errors import ApiError
from kube32_sim.api.own import API_VERSION
from kube32_sim.arguments import PROGRAM
from kube32_sim.client import FORKS, Client, JsonObject
from kube32_sim.commands.answering import as_document, say
from kube32_sim.commands.asking import ask
from kube32_sim.kubeconfig import Access, KubeconfigError, find_access, full_path, server_of, write_kubeconfig
from kube32_sim.options import KUBECONFIG, CommandError
from kube32_sim.terminal import columns

Work = Callable[[Client], Coroutine[None, None, JsonObject]]


def run(parsed: argparse.Namespace) -> int:
    """The exit code; CommandError where it cannot be done."""
    making = not (parsed.list or parsed.delete)
    if parsed.name and not making:
        parsed.error(f"NAME {parsed.name!r}: not together with {'--list' if parsed.list else '--delete'}")
    access = find_access(parsed.server, "" if making or parsed.server else parsed.kubeconfig)
    if parsed.list:
        forks = _ask(access, _list)
        _say(forks, parsed.output, _table(forks))
    elif parsed.delete:
        fork = _ask(access, _deleting(parsed.delete))
        _remove_kubeconfig(parsed.delete, access, fork)
        _say(fork, parsed.output, f"fork {fork['metadata']['name']} deleted")
    else:
        _make(parsed, access)
    return 0


def _make(parsed: argparse.Namespace, access: Access) -> None:
    if parsed.kubeconfig:
        _check_free(Path(parsed.kubeconfig), access)
    made = _ask(access, _making(parsed.name, parsed.port))
    own = access_of(access, made)
    path = Path(parsed.kubeconfig) if parsed.kubeconfig else default_kubeconfig(made["metadata"]["name"])
    try:
        path = write_kubeconfig(path, own)
    except KubeconfigError:
        _ask(access, _deleting(made["metadata"]["name"]))  # nothing half done
        raise
    _say(made, parsed.output, _greeting(made, access, own, path))


def default_kubeconfig(name: str) -> Path:
    return KUBECONFIG.with_name(f"{KUBECONFIG.name}-{name}").expanduser()


def access_of(access: Access, fork: JsonObject) -> Access:
    """How a fork is called by who calls its original so: at the same host, at the port of its own."""
    there, told = urlsplit(access.server), urlsplit(fork["status"]["server"])
    host = f"[{there.hostname}]" if ":" in (there.hostname or "") else there.hostname
    return replace(access, server=f"{told.scheme}://{host}:{told.port}")


def _check_free(path: Path, access: Access) -> None:
    """Before anything is forked: whoever uses the original goes on using that."""
    if server_of(path) == access.server:
        raise CommandError(
            f"--kubeconfig: {full_path(path)} is the one of the simulator that is to be forked; name another file"
        )


def _remove_kubeconfig(name: str, access: Access, fork: JsonObject) -> None:
    """The one that was made for it, unless it has become another's."""
    path = default_kubeconfig(name)
    try:
        if server_of(path) == access_of(access, fork).server:
            path.unlink()
    except (KubeconfigError, OSError):
        pass  # then it is none of ours


def _ask(access: Access, work: Work) -> JsonObject:
    return ask(access, work, lambda error: _refusal(access.server, error), timeout=None)


def _refusal(server: str, error: ApiError) -> str:
    if error.code == 404 and not (error.details or {}).get("name"):
        return f"{server} cannot be forked: it is no simulator, or one of an older version"
    return ""


def _making(name: str, port: int) -> Work:
    async def work(client: Client) -> JsonObject:
        metadata = {"name": name} if name else {"generateName": "fork-"}
        body = {"apiVersion": API_VERSION, "kind": "Fork", "metadata": metadata, "spec": {"port": port}}
        return await client.create(FORKS, "", body)

    return work


def _deleting(name: str) -> Work:
    async def work(client: Client) -> JsonObject:
        there = await client.get(FORKS, "", name)
        await client.delete(FORKS, "", name)
        return there

    return work


async def _list(client: Client) -> JsonObject:
    found = await client.list(FORKS)
    metadata = {"resourceVersion": found.resource_version}
    return {"apiVersion": API_VERSION, "kind": "ForkList", "metadata": metadata, "items": found.items}


def _greeting(fork: JsonObject, access: Access, own: Access, path: Path) -> str:
    program = os.environ.get(PROGRAM) or "kube32-sim"
    name, status = fork["metadata"]["name"], fork["status"]
    return "\n".join(
        [
            f"fork {name} of {access.server}, as of {status['forkedAt']}, is serving on {own.server}",
            f"Use it:  export KUBECONFIG={path}  and then  kubectl get nodes",
            f"Its clock stands still until it is moved:  {program} clock advance 10s",
        ]
    )


def _table(forks: JsonObject) -> str:
    rows = [("NAME", "SERVER", "REVISION", "FORKED")]
    for fork in forks["items"]:
        status = fork["status"]
        rows.append((fork["metadata"]["name"], status["server"], status["revision"], status["forkedAt"]))
    return "\n".join(columns(rows)) if len(rows) > 1 else "there are no forks"


def _say(obj: JsonObject, output: str, text: str) -> None:
    say(as_document(obj, output) if output else f"{text}\n")
