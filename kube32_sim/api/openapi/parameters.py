"""The query and path parameters of operations.

Which operation takes which is kubectl's business too: it asks the documents whether a type knows `fieldValidation` and
`dryRun` before it sends them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from kube32_sim.api.resources import Subresource

JsonObject = dict[str, Any]


class Parameter(NamedTuple):
    """place: `query` or `path`.  kind: `string`, `boolean` or `integer`."""

    name: str
    kind: str
    description: str
    place: str = "query"


def _query(*described: tuple[str, str, str]) -> tuple[Parameter, ...]:
    return tuple(Parameter(*each) for each in described)


PRETTY = Parameter("pretty", "string", "Defaults to 'false'; if 'true', the output is indented for people.")
_DRY_RUN = Parameter("dryRun", "string", "When present, nothing is persisted; the only value is All.")
_WRITES = (
    _DRY_RUN,
    *_query(
        ("fieldManager", "string", "The name of the actor that makes the change."),
        ("fieldValidation", "string", "What to do about unknown and duplicate fields: Ignore, Warn or Strict."),
    ),
)
_SELECTING = _query(
    ("continue", "string", "The token of the page before, to go on from."),
    ("fieldSelector", "string", "Restrict the list by fields."),
    ("labelSelector", "string", "Restrict the list by labels."),
    ("limit", "integer", "The most items of one answer."),
    ("resourceVersion", "string", "Which version of the data may be served."),
    ("resourceVersionMatch", "string", "How resourceVersion is applied."),
    ("sendInitialEvents", "boolean", "Begin a watch with what there is."),
    ("timeoutSeconds", "integer", "End the call after this time."),
)
_BOOKMARKS = Parameter("allowWatchBookmarks", "boolean", "Ask for BOOKMARK events in a watch.")
_WATCH = Parameter("watch", "boolean", "Watch for changes instead of listing.")
_LISTS = (_BOOKMARKS, *_SELECTING, _WATCH)
_DELETES = (
    _DRY_RUN,
    *_query(
        ("gracePeriodSeconds", "integer", "The time before the object is deleted."),
        ("orphanDependents", "boolean", "Deprecated: use propagationPolicy."),
        ("propagationPolicy", "string", "What happens to dependents: Orphan, Background or Foreground."),
    ),
)
_FORCE = Parameter("force", "boolean", "Take over fields that others manage (apply only).")
_BY_VERB: dict[str, tuple[Parameter, ...]] = {
    "get": (),
    "list": _LISTS,
    "watch": _LISTS,
    "watchlist": _LISTS,
    "create": _WRITES,
    "update": _WRITES,
    "patch": (*_WRITES, _FORCE),
    "delete": _DELETES,
    "deletecollection": (*_DELETES, *_SELECTING),
}

_CONTAINER = ("container", "string", "Which container, where the pod has several.")
_STREAMS = (
    ("stderr", "boolean", "Pass on what the process writes to standard error."),
    ("stdin", "boolean", "Pass on standard input to the process."),
    ("stdout", "boolean", "Pass on what the process writes to standard output."),
    ("tty", "boolean", "Give the process a terminal."),
)
_OF_SUBRESOURCES: dict[str, tuple[Parameter, ...]] = {
    "log": _query(
        _CONTAINER,
        ("follow", "boolean", "Go on with what is written from now on."),
        ("insecureSkipTLSVerifyBackend", "boolean", "Take any certificate of the kubelet for good."),
        ("limitBytes", "integer", "End after so many bytes."),
        ("previous", "boolean", "Of the container that ran before this one."),
        ("sinceSeconds", "integer", "Only what is not older than so many seconds."),
        ("stream", "string", "All, Stdout or Stderr."),
        ("tailLines", "integer", "Only the last so many lines."),
        ("timestamps", "boolean", "Begin every line with its time."),
    ),
    "exec": _query(
        ("command", "string", "What to run, and its arguments; not through a shell."), _CONTAINER, *_STREAMS
    ),
    "attach": _query(_CONTAINER, *_STREAMS),
    "portforward": _query(("ports", "integer", "The ports to forward.")),
    "proxy": _query(("path", "string", "The path, query included, for the proxied request.")),
}

_IN_PATH = {
    "name": "name of the {kind}",
    "namespace": "object name and auth scope, such as for teams and projects",
    "path": "path to the resource",
}


def of_operation(verb: str, sub: Subresource | None, *, connect: bool) -> tuple[Parameter, ...]:
    """The query parameters of one operation, by name but for those that upstream puts last."""
    own = _OF_SUBRESOURCES.get(sub.name, ()) if sub is not None else ()
    return own if connect else (*own, *_BY_VERB[verb], PRETTY)


def of_path(kind: str, names: Iterable[str]) -> tuple[Parameter, ...]:
    """The parameters that stand in a path itself: `name`, `namespace`, `path`."""
    return tuple(Parameter(name, "string", _IN_PATH[name].format(kind=kind), "path") for name in names)


def common(operations: Sequence[Sequence[Parameter]]) -> tuple[Parameter, ...]:
    """Parameters that all operations of a path take: they are said once, for the path, by name."""
    first, *others = operations
    shared = [each for each in first if all(each in other for other in others)]
    return tuple(sorted(shared, key=lambda each: each.name))
