"""`POST /apis/sim.kube32.io/v1alpha1/schedulingpreviews`: where pods would go, as the server sees it now.

By the profile of the server's scheduler, if that is `kube32`, its own picture is asked, so the answer is what a create
would come to.  It is made without a turn for anybody else, and is bounded for that.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from kube32_controllers.scheduler import Scheduler

from kube32_sim.api import errors
from kube32_sim.api.authorization import Attributes
from kube32_sim.api.errors import FieldError
from kube32_sim.api.own import GROUP
from kube32_sim.clock import RealClock
from kube32_sim.preview.kestrel import KestrelPlacer
from kube32_sim.preview.kube32 import Kube32Placer
from kube32_sim.preview.live import picture_to_change, state_about, state_of, whole_state
from kube32_sim.preview.manifests import Manifest, manifests_of
from kube32_sim.preview.placements import ClusterState, JsonObject, Placer, PreviewError, WantedPod
from kube32_sim.preview.placing import MOST_VERDICTS, made_by_nobody, place_all
from kube32_sim.preview.printing import document
from kube32_sim.preview.remembered import Remembered
from kube32_sim.preview.workloads import wanted_pods
from kube32_sim.registry.asked import Asked
from kube32_sim.registry.identity import fit_namespace
from kube32_sim.registry.own import demand_reading
from kube32_sim.registry.registry import Registry
from kube32_sim.storage.collector import without_collector

KIND = "SchedulingPreview"
PROFILES = ("kestrel", "kube32")
MOST_PODS = 5_000
"""Of one request: those of a StatefulSet take half a millisecond each, in which nobody else has a turn."""
MOST_KEPT = 20_000
"""Nodes and pods of which it is remembered what Kestrel makes of them, while previews follow each other."""
PATIENCE = 60.0
"""Seconds, of the time outside, until that is forgotten after the last one."""
MOST_CAUSES = 50
"""Told of one request."""

_PLACE = re.compile(r"(spec\.(?:pods|objects)\[\d+\])((?:, items\[\d+\])*)")
_NAMED = r"(?:metadata|spec|status|apiVersion|kind|items|value)\b[\w.\[\]/()-]*"
_FIELD = re.compile(rf"({_NAMED})(?:: (?=.)| (?=not set|must))")


@dataclass(frozen=True, slots=True)
class _Request:
    """What is asked, checked as far as it can be by itself."""

    profile: str
    limit: int
    manifests: Sequence[Manifest]


class Previews:
    """Answers what is posted.

    scheduler: None where it is switched off.  Then, and where it goes by other rules than the preview, the picture is
    made of what is stored.
    """

    def __init__(self, registry: Registry, scheduler: Scheduler | None) -> None:
        self._registry = registry
        self._scheduler = scheduler
        self._remembered: Remembered | None = None
        self._real = RealClock()
        self._call_off: Callable[[], object] = lambda: None

    def answer(self, asked: Asked, obj: JsonObject) -> JsonObject:
        """The object with its status, apiVersion and kind.  Raises ApiError 403 and 422."""
        for plural in ("nodes", "pods"):
            demand_reading(self._registry.authorizer, asked, Attributes("list", "", "v1", plural), "a preview")
        metadata, spec = obj.setdefault("metadata", {}), obj.get("spec") or {}
        fit_namespace(asked, metadata)
        name = metadata.get("name", "")
        request = _read(name, spec)
        try:
            with without_collector():
                status = self._status(request)
        except PreviewError as error:
            raise errors.invalid(GROUP, KIND, name, list(_causes(error, request))[:MOST_CAUSES]) from None
        named = {key: metadata[key] for key in ("name", "labels", "annotations") if metadata.get(key)}
        found = document((), request.profile)
        return {**found, "metadata": named, "spec": {**spec, "profile": request.profile}, "status": status}

    def _status(self, request: _Request) -> JsonObject:
        store, scheduler = self._registry.store, self._scheduler
        if request.profile == KestrelPlacer.profile:
            remembered = self._look()
            wanted, state = self._wanted(request, state_of(store, remembered.nodes, remembered.pods))
            return _placed(KestrelPlacer(state, wanted, reading=remembered), wanted, state, request)
        if scheduler is None or scheduler.profile != request.profile:
            wanted, state = self._wanted(request, whole_state(store))
            return _placed(Kube32Placer(state), wanted, state, request)
        wanted, state = self._wanted(request, state_about(store, request.manifests))
        with picture_to_change(scheduler, store, state) as picture:
            return _placed(Kube32Placer(state, picture), wanted, state, request)

    def _wanted(self, request: _Request, state: ClusterState) -> tuple[list[WantedPod], ClusterState]:
        most = min(MOST_PODS, MOST_VERDICTS // max(1, len(state.nodes)))
        of_kubernetes = request.profile == KestrelPlacer.profile
        return wanted_pods(request.manifests, state, of_kubernetes=of_kubernetes, most=most)

    def _look(self) -> Remembered:
        """What there is, in Kestrel's terms; kept for a while, unless it is much."""
        remembered = self._remembered or Remembered(self._registry.store)
        remembered.look()
        self._forget()
        if remembered.size <= MOST_KEPT:
            self._remembered = remembered
            self._call_off = self._real.call_at(self._real.now() + PATIENCE, self._forget)
        return remembered

    def _forget(self) -> None:
        self._remembered = None
        self._call_off()


def _placed(placer: Placer, wanted: Sequence[WantedPod], state: ClusterState, request: _Request) -> JsonObject:
    placements = place_all(placer, wanted, details=True, limit=request.limit)
    status: JsonObject = document(placements, placer.profile)["status"]
    warnings = dict.fromkeys((*state.warnings, *made_by_nobody(wanted, placer.profile), *placer.warnings))
    return {**status, "warnings": list(warnings)} if warnings else status


# reading


def _read(name: str, spec: JsonObject) -> _Request:
    """Raises ApiError 422 with a cause for everything that is wrong with the request itself."""
    profile, limit = spec.get("profile") or Kube32Placer.profile, spec.get("limit") or 0
    failures = []
    if profile not in PROFILES:
        failures.append(errors.not_supported("spec.profile", profile, PROFILES))
    if limit < 0:
        failures.append(errors.invalid_value("spec.limit", limit, "must be greater than or equal to 0"))
    pods, objects = spec.get("pods") or [], spec.get("objects") or []
    if not pods and not objects:
        failures.append(errors.required("spec.pods", "pods to place, or manifests in spec.objects"))
    for index, pod in enumerate(pods):
        failures += _wrong(pod, f"spec.pods[{index}]")
    if failures:
        raise errors.invalid(GROUP, KIND, name, failures[:MOST_CAUSES])
    values = [({**pod, "apiVersion": "v1", "kind": "Pod"}, f"spec.pods[{index}]") for index, pod in enumerate(pods)]
    values += [(obj, f"spec.objects[{index}]") for index, obj in enumerate(objects)]
    try:
        return _Request(profile, limit, manifests_of(values))
    except PreviewError as error:
        found = list(_causes(error, _Request(profile, limit, ())))
        raise errors.invalid(GROUP, KIND, name, found[:MOST_CAUSES]) from None


def _wrong(pod: JsonObject, field: str) -> Iterator[FieldError]:
    for name, expected in (("apiVersion", "v1"), ("kind", "Pod")):
        if pod.get(name, expected) not in ("", expected):
            yield errors.not_supported(f"{field}.{name}", pod[name], [expected])
    metadata = pod.get("metadata") or {}
    if not metadata.get("name") and not metadata.get("generateName"):
        yield errors.required(f"{field}.metadata.name", "name or generateName is required")


# what is wrong, by field


def _causes(error: PreviewError, request: _Request) -> Iterator[FieldError]:
    """A line of a preview's error begins with what it is about: the title of a manifest, or its source alone.

    Else it is about the cluster, which a profile may not be able to express.
    """
    titles = {manifest.source: manifest.title for manifest in request.manifests}
    elsewhere = "spec.profile" if request.profile == "kestrel" else "spec"
    for line in str(error).split("\n"):
        place = _PLACE.match(line)
        if place is None:
            yield FieldError("FieldValueInvalid", elsewhere, line)
            continue
        title = titles.get(place[0], "")
        told = line.removeprefix(title if title and line.startswith(title) else place[0]).removeprefix(": ")
        field = place[1] + place[2].replace(", ", ".")
        found = _FIELD.match(told)
        if found is not None:
            field, told = f"{field}.{found[1]}", told[found.end() :]
        yield FieldError("FieldValueInvalid", field, told)
