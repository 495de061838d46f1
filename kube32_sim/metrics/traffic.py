"""Requests as kube-apiserver counts them: by what they ask for, and how long their answers took."""

from __future__ import annotations

from collections.abc import Iterator

from kube32_sim.api.paths import RequestInfo
from kube32_sim.metrics.meters import REQUEST_SECONDS, Histogram
from kube32_sim.metrics.text import family, histograms, labelled

_VERBS = {"create": "POST", "update": "PUT"}
"""What upstream calls them in metrics; the others are called as they are, in capitals."""
_PAGES = frozenset(("health", "version", "metrics", "openapi", "discovery"))
_LASTING = frozenset(("watch", "connect"))
"""Verbs whose durations say nothing."""


class _Series:
    """One answer code of one thing that is asked for."""

    __slots__ = ("duration", "labels", "number")

    def __init__(self, labels: str, duration: Histogram | None) -> None:
        self.labels = labels
        self.duration = duration
        self.number = 0


class Traffic:
    """All requests so far.

    Only paths that are served have labels of their own: clients cannot fill the memory with what there is not.
    """

    def __init__(self) -> None:
        self._series: dict[object, _Series] = {}
        self._durations: dict[str, Histogram] = {}

    def note(self, info: RequestInfo | None, method: str, code: int, seconds: float) -> None:
        """An answer.  info: None where nothing is served at the path.  seconds: from the request to its answer."""
        if info is None:
            key: object = (method, code)
        else:
            kind, verb, _, _, group, version, plural, namespace, name, subresource, _, _ = info
            key = (code, verb, plural, subresource, not namespace, not name, group, version, kind)
        series = self._series.get(key)
        if series is None:
            series = self._series[key] = self._new(info, method, code)
        series.number += 1
        if series.duration is not None:
            series.duration.observe(seconds)

    def _new(self, info: RequestInfo | None, method: str, code: int) -> _Series:
        what = _labels(info, method)
        lasts = info is not None and (info.verb in _LASTING or info.subresource == "log")
        duration = None if lasts else self._durations.setdefault(labelled(what), Histogram(REQUEST_SECONDS))
        return _Series(labelled({"code": str(code), **what}), duration)

    def lines(self) -> Iterator[str]:
        numbers: dict[str, int] = {}
        for series in self._series.values():
            numbers[series.labels] = numbers.get(series.labels, 0) + series.number
        yield from family(
            "apiserver_request_total", "counter", "Number of requests, by what they ask for and their answers.",
            numbers.items(),
        )  # fmt: skip
        yield from histograms(
            "apiserver_request_duration_seconds",
            "How long answers take, in seconds; those that last (watches, followed logs) are not in it.",
            self._durations.items(),
        )


def _labels(info: RequestInfo | None, method: str) -> dict[str, str]:
    labels = dict.fromkeys(("group", "version", "resource", "subresource", "scope"), "")
    if info is None:
        return {"component": "apiserver", "verb": method if method.isalpha() and len(method) < 8 else "other", **labels}
    if info.kind in _PAGES:
        first = info.path.split("/", 2)[1]
        return {"component": "apiserver", "verb": method, **labels, "subresource": f"/{first}"}
    scope = "resource" if info.name else "namespace" if info.namespace else "cluster"
    return {
        "component": "apiserver",
        "verb": _VERBS.get(info.verb, info.verb.upper()),
        "group": info.group,
        "version": info.version,
        "resource": info.plural,
        "subresource": info.subresource,
        "scope": scope,
    }
