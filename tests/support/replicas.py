"""Several servers on one etcd, each in a process of its own that can be killed, paused and stopped."""

from __future__ import annotations

import http.client
import json
import signal
import socket
import threading
import urllib.parse
from collections import defaultdict
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from tests.support.http import Http
from tests.support.servers import START_PATIENCE, put_away, ready_line, start_command
from tests.support.waiting import until

LEASE = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/kube32-sim"
SHORT = (
    *("--leader-elect-lease-duration", "2s"),
    *("--leader-elect-renew-deadline", "1500ms"),
    *("--leader-elect-retry-period", "300ms"),
    *("--reconcile-interval", "100ms"),
)
LEASE_SECONDS, LONGEST_LOOK = 2.0, 0.3 * 2.2
"""How long the lease of SHORT lasts, and the longest time between two looks at it."""


class Replica:
    """One server.  It must end cleanly unless it is killed."""

    def __init__(self, directory: Path, store: str, *options: str) -> None:
        directory.mkdir()
        self.log = directory / "server.log"
        self.kubeconfig = directory / "kubeconfig"
        arguments = ("--port", "0", "--kubeconfig", str(self.kubeconfig), "--store", store, *options)
        self._process = start_command(["serve", *arguments], self.log)
        self.url = ""
        self._clients: list[Http] = []

    def ready(self) -> None:
        self.url = ready_line(self._process, self.log)

    @property
    def port(self) -> int:
        return urllib.parse.urlsplit(self.url).port or 0

    def http(self) -> Http:
        """A new client, closed with the replica."""
        self._clients.append(Http(self.url))
        return self._clients[-1]

    def signal(self, number: int) -> None:
        self._process.send_signal(number)

    @property
    def running(self) -> bool:
        return self._process.poll() is None

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def stop(self) -> None:
        """By SIGTERM; it has had no accident."""
        self.signal(signal.SIGTERM)
        code = self._process.wait(timeout=START_PATIENCE)
        text = self.log.read_text()
        assert (code, "Traceback" in text) == (0, False), text

    def says(self, text: str) -> bool:
        return text in self.log.read_text()

    def close(self) -> None:
        for client in self._clients:
            client.close()
        put_away(self._process)


class Replicas(list[Replica]):
    """Those of one prefix."""

    def leader(self) -> Replica:
        """Who runs the loops, as its log says."""

        def leading() -> list[Replica]:
            return [one for one in self if one.running and _leads(one.log.read_text())]

        (found,) = until(leading, "somebody leads")
        return found

    def others(self, one: Replica) -> list[Replica]:
        return [each for each in self if each is not one]


def _leads(log: str) -> bool:
    return log.rfind("became leader") > log.rfind("stopped leading")


@contextmanager
def running_replicas(directory: Path, store: str, count: int, *options: str) -> Iterator[Replicas]:
    """All of them started at the same moment.  Those that still run at the end must end cleanly."""
    with ExitStack() as stack:
        found = Replicas()
        for number in range(count):
            replica = Replica(directory / f"replica-{number}", store, *options)
            stack.callback(replica.close)
            found.append(replica)
        for replica in found:
            replica.ready()
        yield found
        for replica in found:
            if replica.running:
                replica.stop()


def holder(client: Http) -> str:
    """Who has the lease; "" for nobody."""
    status, lease = client.request("GET", LEASE)
    return str(lease["spec"].get("holderIdentity", "")) if status == 200 else ""


class Story:
    """What a watch of a namespace's pods tells, from when it begins.  events: (type, pod) in order."""

    def __init__(self, url: str, namespace: str) -> None:
        address = urllib.parse.urlsplit(url)
        assert address.hostname is not None
        self._connection = http.client.HTTPConnection(address.hostname, address.port, timeout=120)
        self._connection.request("GET", f"/api/v1/namespaces/{namespace}/pods?watch=1&timeoutSeconds=120")
        self._answer = self._connection.getresponse()
        assert self._answer.status == 200
        self.events: list[tuple[str, dict[str, Any]]] = []
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        while line := self._answer.readline():
            event = json.loads(line)
            self.events.append((event["type"], event["object"]))

    def nodes(self) -> dict[str, list[str]]:
        """Of each pod (by uid) the nodes it was on, one after the other."""
        found: dict[str, list[str]] = defaultdict(list)
        for _, pod in self.events:
            on = pod["spec"].get("nodeName", "")
            if on and on not in found[pod["metadata"]["uid"]][-1:]:
                found[pod["metadata"]["uid"]].append(on)
        return found

    def made(self, label: str, value: str) -> set[str]:
        """The uids of all pods that ever had a label."""
        return {pod["metadata"]["uid"] for _, pod in self.events if pod["metadata"]["labels"].get(label) == value}

    def most(self, label: str, value: str) -> int:
        """How many pods with a label there were at most at a time, without those that were done or going."""
        there: set[str] = set()
        most = 0
        for kind, pod in self.events:
            if pod["metadata"]["labels"].get(label) != value:
                continue
            done = pod["status"].get("phase") in ("Succeeded", "Failed")
            gone = done or kind == "DELETED" or "deletionTimestamp" in pod["metadata"]
            (there.discard if gone else there.add)(pod["metadata"]["uid"])
            most = max(most, len(there))
        return most

    def close(self) -> None:
        """Hear no more; what was told until now is there."""
        assert self._connection.sock is not None
        self._connection.sock.shutdown(socket.SHUT_RDWR)
        self._thread.join(10)
        self._answer.close()
        self._connection.close()
