"""What the API server would make of a manifest's object, or why it would refuse it.

The server's own steps, for the kinds that a preview looks at: decoding, defaults, preparation, validation.  Its table
of all kinds (`api.builtin`) stays out of this: loading it takes as long as all the rest.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from kube32_sim.api import quantity, schema, strictness
from kube32_sim.api.decode import DecodeError, decode_value
from kube32_sim.api.decode.leaves import Refused, quantity_text
from kube32_sim.api.errors import failures_of
from kube32_sim.api.resources import ResourceType
from kube32_sim.api.strategies import batch, config, core, pods, workloads
from kube32_sim.api.strategies.base import Context, Lookup, Strategy
from kube32_sim.api.validation.meta import validate_metadata
from kube32_sim.preview.manifests import Manifest
from kube32_sim.preview.placements import JsonObject, PreviewError

UID = "00000000-0000-0000-0000-000000000000"
"""Of every object that owns pods and is only previewed: two previews of a manifest are alike."""

_STRATEGIES: Mapping[tuple[str, str], Strategy] = {
    **pods.STRATEGIES,
    **workloads.STRATEGIES,
    **batch.STRATEGIES,
    **config.STRATEGIES,
    **core.STRATEGIES,
}
_GIVEN_BY_SERVER = ("resourceVersion", "uid", "creationTimestamp", "generation", "managedFields", "selfLink")
_GIVEN_WHEN_DELETED = ("deletionTimestamp", "deletionGracePeriodSeconds")
_ABOUT_QUANTITIES = (quantity.FORMAT_WRONG, quantity.SUFFIX_WRONG, quantity.NUMERIC_WRONG)
_SCHEDULING = "scheduling.k8s.io"


def _row(group: str, kind: str, plural: str, *, namespaced: bool = True) -> ResourceType:
    key = f"io.k8s.api.{group.partition('.')[0] or 'core'}.v1.{kind}"
    strategy = _STRATEGIES[group, kind]
    storage = (group, plural)
    return ResourceType(group, "v1", kind, plural, kind.lower(), namespaced, key, storage=storage, strategy=strategy)


POD = _row("", "Pod", "pods")
WORKLOADS = (
    POD,
    _row("apps", "Deployment", "deployments"),
    _row("apps", "ReplicaSet", "replicasets"),
    _row("apps", "StatefulSet", "statefulsets"),
    _row("apps", "DaemonSet", "daemonsets"),
    _row("batch", "Job", "jobs"),
    _row("", "ReplicationController", "replicationcontrollers"),
)
LIMIT_RANGE = _row("", "LimitRange", "limitranges")
PRIORITY_CLASS = _row(_SCHEDULING, "PriorityClass", "priorityclasses", namespaced=False)
NODE = _row("", "Node", "nodes", namespaced=False)
CRON_JOB = _row("batch", "CronJob", "cronjobs")
ROWS: Mapping[tuple[str, str, str], ResourceType] = MappingProxyType(
    {(row.group, row.version, row.kind): row for row in (*WORKLOADS, NODE, LIMIT_RANGE, PRIORITY_CLASS, CRON_JOB)}
)


def row_of(manifest: Manifest) -> ResourceType | None:
    """The type of an object that matters to a preview; None for other kinds, built in or custom.

    Raises PreviewError for a kind that is not there though it looks as if it were meant to make pods.
    """
    kind = (manifest.group, manifest.version, manifest.kind)
    row = ROWS.get(kind)
    if row is None and not schema.is_registered(*kind) and _looks_built_in(manifest):
        what = f'no matches for kind "{manifest.kind}" in version "{manifest.api_version}"'
        raise PreviewError(f"{manifest.title}: {what}{_meant(manifest)}")
    return row


def _looks_built_in(manifest: Manifest) -> bool:
    """Custom resources have a dot in their group; of the other groups these matter, or else the kind does."""
    if manifest.group in ("", "apps", "batch", _SCHEDULING):
        return True
    return "." not in manifest.group and manifest.kind.lower() in (row.singular for row in ROWS.values())


def _meant(manifest: Manifest) -> str:
    from difflib import get_close_matches

    rows = {row.singular: row for row in ROWS.values()}
    close = get_close_matches(manifest.kind.lower(), rows, n=1, cutoff=0.8)
    if not close:
        return ""
    row = rows[close[0]]
    return f"; there is {row.kind} in {row.api_version}"


def accepted(manifest: Manifest, row: ResourceType, cluster: Lookup) -> JsonObject:
    """The object as it would be stored, with a name, apiVersion and kind; shares nothing that may change.

    Raises PreviewError with a line for everything that is wrong.
    """
    obj = _decoded(manifest, row)
    metadata = obj.setdefault("metadata", {})
    for name in (*_GIVEN_BY_SERVER, *_GIVEN_WHEN_DELETED):
        metadata.pop(name, None)
    if row is not NODE:  # which is registered with what it has
        obj.pop("status", None)
    if row.namespaced:
        metadata["namespace"] = manifest.namespace
    else:
        metadata.pop("namespace", None)
    if metadata.get("name"):
        metadata.pop("generateName", None)
    else:
        metadata["name"] = f"{metadata['generateName']}0"
    if row is not POD:  # nobody refers to a pod
        metadata["uid"] = UID
    elif spec := obj.get("spec"):  # they were added to a running one
        spec.pop("ephemeralContainers", None)
    row.strategy.default(obj)
    return checked(obj, row, cluster, manifest.title)


def as_stored(manifest: Manifest, row: ResourceType) -> tuple[JsonObject, list[str]]:
    """(the object as a server that has it would answer with, what it says that its kind has not).

    Raises PreviewError where it cannot be of its kind, or has a name that none can have.
    """
    obj, unknown = _typed(manifest, row)
    metadata = obj["metadata"]
    if row.namespaced:
        metadata["namespace"] = manifest.namespace
    named = {key: metadata[key] for key in ("name", "namespace") if key in metadata}
    failures = failures_of(lambda: validate_metadata(named, row))
    if failures:
        raise _wrong(manifest.title, map(str, failures))
    row.strategy.default(obj)
    return obj, [f"{manifest.title}: {strictness.unknown_field(field)}" for field in unknown]


def checked(obj: JsonObject, row: ResourceType, cluster: Lookup, title: str) -> JsonObject:
    """The object, prepared as a new one.  Raises PreviewError with the failures of its validation."""
    context = context_of(obj, row, cluster)
    row.strategy.prepare_create(obj, context)
    failures = failures_of(lambda: validate_metadata(obj["metadata"], row) + row.strategy.validate(obj, context))
    if failures:
        raise _wrong(title, dict.fromkeys(map(str, failures)))
    return obj


def context_of(obj: JsonObject, row: ResourceType, cluster: Lookup) -> Context:
    metadata = obj["metadata"]
    return Context(row, metadata.get("namespace", ""), metadata["name"], now="", cluster=cluster)


def _wrong(title: str, texts: Iterable[str]) -> PreviewError:
    return PreviewError("\n".join(f"{title}: {text}" for text in texts))


# decoding


def _decoded(manifest: Manifest, row: ResourceType) -> JsonObject:
    """The object with the fields that its kind has, typed; an unknown one is refused, as kubectl has it by default."""
    obj, unknown = _typed(manifest, row)
    if unknown:
        raise _wrong(manifest.title, dict.fromkeys(map(strictness.unknown_field, unknown)))
    return obj


def _typed(manifest: Manifest, row: ResourceType) -> tuple[JsonObject, Sequence[str]]:
    """(the object, paths of the fields that its kind has not)."""
    try:
        return decode_value(manifest.obj, row.schema)
    except DecodeError as error:
        raise _wrong(manifest.title, _explained(str(error), manifest.obj)) from None


def _explained(error: str, obj: JsonObject) -> dict[str, None]:
    """Go's error, or in its place where the quantities are that it does not tell the place of."""
    found = dict.fromkeys(_wrong_quantities(obj))
    return found if found and error in _ABOUT_QUANTITIES else {error: None}


def _wrong_quantities(obj: JsonObject) -> Iterator[str]:
    """Quantities of a pod's resources that are none, with their paths."""
    path: tuple[str, ...] = ("spec",) if obj["kind"] == "Pod" else ("spec", "template", "spec")
    spec: Any = obj
    for name in path:
        spec = _get(spec, name)
    for kind in ("containers", "initContainers"):
        containers = _get(spec, kind)
        for index, container in enumerate(containers if isinstance(containers, list) else ()):
            where = f"{'.'.join(path)}.{kind}[{index}].resources"
            yield from _wrong_amounts(_get(container, "resources"), where)
    yield from _wrong_amounts({"overhead": _get(spec, "overhead")}, ".".join(path))
    yield from _wrong_amounts(_get(spec, "resources"), f"{'.'.join(path)}.resources")


def _wrong_amounts(resources: Any, path: str) -> Iterator[str]:
    for kind in ("requests", "limits", "overhead"):
        amounts = _get(resources, kind)
        for name, amount in amounts.items() if isinstance(amounts, dict) else ():
            try:
                if amount is not None:
                    quantity_text(amount)
            except Refused as error:
                yield f"{path}.{kind}.{name}: {error}"


def _get(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, dict) else None
