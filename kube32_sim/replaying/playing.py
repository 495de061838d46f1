"""Plays a recording in a private cluster, and follows where its pods go."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, quote, unquote

from kube32_sim.api.errors import ApiError
from kube32_sim.api.paths import RequestInfo
from kube32_sim.api.steering import RUNS_AS
from kube32_sim.clock import RealClock
from kube32_sim.cluster import Cluster
from kube32_sim.http_client import HttpClient
from kube32_sim.kubelet.played import description
from kube32_sim.options import OptionError, ServeOptions
from kube32_sim.recording.audit import METHODS, Entry
from kube32_sim.recording.history import Placements, Step
from kube32_sim.recording.tape import creation
from kube32_sim.replaying.files import Recording
from kube32_sim.replaying.reasons import Taken, explained
from kube32_sim.snapshot import loading
from kube32_sim.storage.objects import Event

JsonObject = dict[str, Any]

PODS = ("", "pods")
PROGRAM = "kube32-sim-replay"
_EXPECTED = ("they are computed from Services and Pods", "run by the simulator from now on")
"""How what a load tells ends that is so with every recording."""
_BOARDS = "kubelet/"
_OURS = "(kube32-sim)"
"""What the user agents of our own programs end with."""
_TOLD_ANEW = ("uid", "resourceVersion", "creationTimestamp", "generation", "managedFields", "selfLink")
"""Metadata that is of the recorded cluster alone."""


@dataclass(slots=True)
class Played:
    """What became of it.  refused: requests that were answered well when they were recorded, and are not now.

    passed_over: how many requests are no part of a replay: refused ones, and those of boards, which are run here.
    """

    steps: list[Step] = field(default_factory=list)
    requests: int = 0
    passed_over: int = 0
    refused: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def options_of(recording: Recording, **more: Any) -> ServeOptions:
    """Those of the private cluster: the recorded server's, but for those that are given.  Raises OptionError."""
    found: dict[str, Any] = {"port": 0, "nodes": 0, "clock": "virtual"}
    for name, text in recording.options.items():
        if name not in ServeOptions.__dataclass_fields__:
            raise OptionError(f"the recording has an option {name!r}, which this version does not know")
        found[name] = _value(str(ServeOptions.__dataclass_fields__[name].type), text)
    return ServeOptions(**{**found, **{key: value for key, value in more.items() if value is not None}})


def _value(kind: str, text: str) -> Any:
    return int(text) if kind == "int" else float(text) if "float" in kind else text


async def play(
    recording: Recording,
    options: ServeOptions,
    *,
    speed: float = 0.0,
    progress: Callable[[int], object] = int,
    look: Callable[[Cluster], object] = id,
) -> Played:
    """speed: how many times as fast as it was recorded; 0: as fast as can be.  progress: called after each request.

    look: called with the cluster as it is in the end.

    Raises CommandError where the state cannot be loaded.
    """
    played, real = Played(), RealClock()
    async with Cluster(options) as cluster, HttpClient(cluster.access, timeout=None, program=PROGRAM) as client:
        if recording.state.lines:
            loaded = await loading.load(client, "replay", recording.state, loading.Options("Replace"), lambda _: None)
            played.notes += [note for note in loaded.notes if not note.endswith(_EXPECTED)]
        await cluster.settle()
        follower = _Follower(cluster)
        cluster.ids.called = _Names(recording.steps, follower.placements).called
        player = _Player(client, follower.placements, recording.steps)
        begin, origin = cluster.clock.now(), recording.begin
        for entry in recording.entries:
            behind = entry.time - origin - (cluster.clock.now() - begin)
            if behind > 0:
                if speed:
                    await real.sleep(behind / speed)
                await cluster.advance(behind)
            if _is_played(entry):
                played.requests += 1
                played.refused += await player.send(entry)
            else:
                played.passed_over += 1
            progress(1)
        left = recording.end - origin - (cluster.clock.now() - begin)
        if left > 0:
            await cluster.advance(left)
        await cluster.settle()
        follower.stop()
        played.steps = explained(follower.taken, cluster.journal)
        look(cluster)
    return played


class _Follower:
    """Follows the pods of a cluster from now on."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self.placements = Placements(cluster.clock.now())
        self.taken: list[Taken] = []
        for pod in sorted((stored.object() for stored in cluster.store.list(PODS)), key=creation):
            self.placements.there(pod)
        self.stop = cluster.store.subscribe(self._heard, [PODS])

    def _heard(self, event: Event) -> None:
        gone, stored = event.type == "DELETED", event.stored
        step = self.placements.changed(stored.object(), self._cluster.clock.now(), gone=gone)
        if step is not None:
            self.taken.append(Taken(step, stored.uid, stored.revision))


class _Names:
    """New pods are called as they were: of pods that are alike, loops take the first by name."""

    def __init__(self, recorded: Iterable[Step], placements: Placements) -> None:
        self._names = {step.pod: step.name for step in recorded if step.pod[-1:].isdigit() and "#" in step.pod}
        self._placements = placements

    def called(self, storage: tuple[str, str], obj: JsonObject) -> str:
        """Each name is told once."""
        if storage != PODS:
            return ""
        _, _, name = self._names.pop(self._placements.next_key(obj), "").partition("/")
        return name if name.startswith(obj["metadata"]["generateName"]) else ""


def _is_played(entry: Entry) -> bool:
    """Boards are run by the replay itself: what they wrote is not sent, but for the nodes that they made."""
    return entry.done and "dryRun=" not in entry.uri and (not _is_board(entry) or _makes_node(entry))


def _is_board(entry: Entry) -> bool:
    """Whether one of our own boards wrote it, in a process of its own."""
    return entry.agent.startswith(_BOARDS) and entry.agent.endswith(_OURS)


def _makes_node(entry: Entry) -> bool:
    return entry.verb == "create" and entry.info.plural == "nodes" and entry.info.group == ""


class _Player:
    """Sends what was recorded.  Names that were generated are others now, also those of pods that loops made."""

    def __init__(self, client: HttpClient, placements: Placements, recorded: Iterable[Step]) -> None:
        self._client = client
        self._placements = placements
        self._pods = {step.name: step.pod for step in recorded}
        self._made: dict[tuple[str, str, str], str] = {}
        """(plural, namespace, name as recorded) -> name now."""

    async def send(self, entry: Entry) -> Sequence[str]:
        """Answers what is to be told where it is refused now."""
        info = entry.info
        try:
            name = self._name_now(info)
            body = self._body(entry, info, name)
            answer = await self._client.ask(
                METHODS[entry.verb], _path(info, name), _query(entry), body=body, media=entry.content_type or None
            )
        except ApiError as error:
            told = f"it was answered {entry.code}, and now {error.code}: {error.message}"
            return [f"{METHODS[entry.verb]} {entry.path}: {told}"]
        if entry.made and not info.name:
            self._made[info.plural, info.namespace, entry.made] = str((answer.get("metadata") or {}).get("name") or "")
        return ()

    def _name_now(self, info: RequestInfo) -> str:
        if not info.name:
            return ""
        made = self._made.get((info.plural, info.namespace, info.name))
        if made is None and info.plural == "pods":
            key = self._pods.get(f"{info.namespace}/{info.name}", "")
            made = self._placements.name_of(key) if key else None
        return made or info.name

    def _body(self, entry: Entry, info: RequestInfo, name: str) -> Any:
        body = entry.body
        if isinstance(body, list):
            return [one for one in body if not _is_about_the_recorded(one)]
        if not isinstance(body, dict):
            return body
        metadata = body.get("metadata")
        if isinstance(metadata, dict):
            metadata = {key: value for key, value in metadata.items() if key not in _TOLD_ANEW}
            if name and "name" in metadata:
                metadata["name"] = name
            body = {**body, "metadata": metadata}
        if "preconditions" in body:
            body = {key: value for key, value in body.items() if key != "preconditions"}
        return _with_board(body) if _makes_node(entry) and _is_board(entry) else body


def _is_about_the_recorded(step: object) -> bool:
    """Whether a step of a JSON patch, as kubectl makes them, is about the state that an object was in."""
    path = step.get("path") if isinstance(step, dict) else None
    return path in ("/metadata/resourceVersion", "/metadata/uid")


def _with_board(node: JsonObject) -> JsonObject:
    """A node that a board has made is run by the replay."""
    metadata = node["metadata"]
    annotations = {RUNS_AS: description(node), **(metadata.get("annotations") or {})}
    return {**node, "metadata": {**metadata, "annotations": annotations}}


def _path(info: RequestInfo, name: str) -> str:
    parts = info.path.split("/")
    if info.name and name != info.name:
        place = max(index for index, part in enumerate(parts) if unquote(part) == info.name)
        parts[place] = quote(name, safe="")
    return "/".join(parts)


def _query(entry: Entry) -> dict[str, str] | None:
    """What was asked beside: of several values of one key, which no write has, the last."""
    pairs = dict(parse_qsl(entry.uri.partition("?")[2], keep_blank_values=True))
    pairs.pop("timeout", None)
    return pairs or None
