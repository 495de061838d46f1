"""What is kept where in etcd: all keys begin with the store's prefix, so several simulators can share one etcd.

    PREFIX/format                       the number of this layout
    PREFIX/opened                       written by every process that begins (or begins anew) to follow
    PREFIX/objects/GROUP/PLURAL/KEY     an object: JSON without apiVersion, kind and resourceVersion
    PREFIX/guards/SUBJECT               written along with every decision on the subject
    PREFIX/leader                       the term of the leader
    PREFIX/private/NAME                 what processes share besides objects
    PREFIX/clock                        the time that a virtual clock has reached

The group "" is written `core`; no group of users can be called so, for theirs have a dot.
"""

from __future__ import annotations

from kube32_sim.storage.interface import Storage

FORMAT = b"1"
CORE = "core"
ORIGIN = "origin"
"""Shared besides objects: made by chance when the first process begins, so it tells one history from another."""


class Keys:
    """prefix: with a slash at its beginning and none at its end."""

    def __init__(self, prefix: str) -> None:
        root = f"{prefix}/".encode()
        self.root = root
        self.end = root[:-1] + b"0"  # "0" follows "/"
        self.format = root + b"format"
        self.opened = root + b"opened"
        self.origin = self.private(ORIGIN)
        self.leader = root + b"leader"
        self.clock = root + b"clock"
        self.objects = root + b"objects/"
        self.guards = root + b"guards/"
        self._storages: dict[str, Storage] = {}
        self._roots: dict[Storage, bytes] = {}

    def private(self, name: str) -> bytes:
        return self.root + b"private/" + name.encode()

    def guard(self, subject: str) -> bytes:
        return self.guards + subject.encode()

    def object(self, storage: Storage, key: str) -> bytes:
        root = self._roots.get(storage)
        if root is None:
            group, plural = storage
            root = self._roots[storage] = self.objects + f"{group or CORE}/{plural}/".encode()
        return root + key.encode()

    def place(self, name: bytes) -> tuple[Storage, str]:
        """Which object's key that is; ValueError where it is none."""
        group, plural, key = name[len(self.objects) :].decode().split("/", 2)
        kind = f"{group}/{plural}"
        storage = self._storages.get(kind)
        if storage is None:
            storage = self._storages[kind] = ("" if group == CORE else group, plural)
        return storage, key
