"""Who manages the replicas of an object that is written through its Scale.

The Scale has managedFields of its own for the moment: of all that manage the replicas of the object.  Afterwards who is
no longer among them has lost the replicas of the object, and who is new has them through the subresource `scale`.
"""

from __future__ import annotations

from typing import Any

from kube32_sim.api.managed.entries import Manager, Owned, Owners, without_empty
from kube32_sim.api.managed.fieldset import difference, field, has, single
from kube32_sim.api.managed.shapes import Shape, shape_of_definition

JsonObject = dict[str, Any]

VERSION = "autoscaling/v1"
SUBRESOURCE = "scale"
Path = tuple[str, ...]


def path_of(names: Path) -> Path:
    """Where the replicas are, as FieldsV1 names it; names: of the fields that lead there."""
    return tuple(map(field, names))


_SCALE_REPLICAS = path_of(("spec", "replicas"))


class ScaleVersions:
    """Scales are of one version."""

    def shape(self, version: str) -> Shape | None:
        return scale_shape() if version == VERSION else None

    def convert(self, obj: JsonObject, source: str, target: str) -> JsonObject:
        return obj


def scale_shape() -> Shape:
    return shape_of_definition("io.k8s.api.autoscaling.v1.Scale")


def of_scale(owners: Owners, path: Path) -> Owners:
    """The owners of the replicas (at a path of the object), as owners of those of the Scale."""
    replicas = single(_SCALE_REPLICAS)
    return {
        _there(manager): Owned(replicas, VERSION, owned.time)
        for manager, owned in owners.items()
        if has(owned.fields, path)
    }


def _there(manager: Manager) -> Manager:
    """Who a manager of the object is among those of the Scale."""
    return manager._replace(version=manager.version and VERSION)


def of_parent(owners: Owners, scale_owners: Owners, version: str, path: Path) -> Owners:
    """The owners of the object after a write of its Scale; version: the object's own.  path: of its replicas."""
    replicas = single(path)
    left: Owners = {}
    new = dict(scale_owners)
    for manager, owned in owners.items():
        if has(owned.fields, path) and new.pop(_there(manager), None) is None:
            left[manager] = owned._replace(fields=difference(owned.fields, replicas))
        else:
            left[manager] = owned
    for manager in new:
        if not has(new[manager].fields, _SCALE_REPLICAS):
            continue  # it says something of the Scale, but not how many there are to be
        kept = manager.version and version
        left[Manager(manager.name, manager.operation, kept, manager.subresource)] = Owned(replicas, version)
    return without_empty(left)
