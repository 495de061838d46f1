"""Where a preview starts: the nodes and pods of a running cluster, or of a file."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from kube32_sim.api.errors import ApiError
from kube32_sim.client import NAMESPACES, NODES, PODS, Resource, Unreachable
from kube32_sim.preview.placements import ClusterState, PreviewError

if TYPE_CHECKING:
    from kube32_sim.http_client import HttpClient
    from kube32_sim.kubeconfig import Access
    from kube32_sim.preview.manifests import Manifest

JsonObject = dict[str, Any]

PRIORITY_CLASSES = Resource("scheduling.k8s.io", "v1", "priorityclasses")
LIMIT_RANGES = Resource("", "v1", "limitranges")


async def read_cluster(access: Access) -> ClusterState:
    """What a server has now.  Nodes and pods are read as of one moment; nothing is written."""
    from kube32_sim.http_client import HttpClient

    async with HttpClient(access) as client:
        try:
            nodes = await client.list(NODES)
            pods, classes, ranges, namespaces = await asyncio.gather(
                client.list(PODS, at=nodes.resource_version),
                _read_if_allowed(client, PRIORITY_CLASSES),
                _read_if_allowed(client, LIMIT_RANGES),
                _read_if_allowed(client, NAMESPACES),
            )
        except ApiError as error:
            raise PreviewError(f"cannot read the cluster at {access.server}: {error.message}") from error
        except Unreachable as error:
            raise PreviewError(f"cannot reach the cluster: {error}") from error
    return ClusterState(
        nodes.items,
        pods.items,
        priority_classes=classes[0],
        limit_ranges=ranges[0],
        namespaces=None if namespaces[1] else [one["metadata"]["name"] for one in namespaces[0]],
        warnings=[warning for _, warning in (classes, ranges) if warning],
    )


async def _read_if_allowed(client: HttpClient, resource: Resource) -> tuple[list[JsonObject], str]:
    """(objects, warning): who may read nodes and pods may not be allowed to read these."""
    try:
        return (await client.list(resource)).items, ""
    except ApiError as error:
        return [], f"{resource.plural} cannot be read and do not count: {error.message}"


def read_file(path: str) -> ClusterState:
    """Nodes, and the pods they have already, of a file such as `kubectl get nodes,pods -A -o yaml` writes.

    Raises PreviewError with a line for everything that is wrong; fields that are not known are warned of.
    """
    from kube32_sim.preview.manifests import read_manifests

    found = _Objects()
    for manifest in read_manifests([path]):
        try:
            found.add(manifest)
        except PreviewError as error:
            found.problems.append(str(error))
    if found.problems:
        raise PreviewError("\n".join(found.problems))
    if not found.of["Node"]:
        raise PreviewError(f"{path}: there is no Node in it")
    return ClusterState(
        found.of["Node"],
        found.of["Pod"],
        priority_classes=found.of["PriorityClass"],
        limit_ranges=found.of["LimitRange"],
        warnings=found.warnings,
    )


class _Objects:
    """The objects of a file, by kind, each as a server would hold it."""

    def __init__(self) -> None:
        self.of: dict[str, list[JsonObject]] = {"Node": [], "Pod": [], "PriorityClass": [], "LimitRange": []}
        self.warnings: list[str] = []
        self.problems: list[str] = []
        self._seen: dict[tuple[str, str, str], str] = {}

    def add(self, manifest: Manifest) -> None:
        from kube32_sim.preview.objects import as_stored, row_of

        row = row_of(manifest)
        if row is None or manifest.kind not in self.of:
            raise PreviewError(f"{manifest.title}: --nodes takes objects of the kinds {', '.join(self.of)} only")
        obj, warnings = as_stored(manifest, row)
        self.warnings += warnings
        key = (manifest.kind, manifest.namespace if row.namespaced else "", manifest.name)
        if key in self._seen:
            raise PreviewError(f"{manifest.title}: the same object as in {self._seen[key]}")
        self._seen[key] = manifest.source
        self.of[manifest.kind].append(obj)
