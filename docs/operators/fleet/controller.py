"""A controller written with the official client: of several replicas one leads, and makes Deployments of Fleets.

    python docs/operators/fleet/controller.py --identity a --namespace default

A Fleet has a ConfigMap that lists its groups, and a Deployment for each group; all are owned by it, so that they go
with it. What is wanted is applied on the server; what is no longer wanted is deleted.
"""

from __future__ import annotations

import argparse
import logging
import os
import queue
import threading
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

from kubernetes import client, config
from kubernetes.informer import ADDED, DELETED, MODIFIED, SharedInformer
from kubernetes.leaderelection import electionconfig, leaderelection
from kubernetes.leaderelection.resourcelock.leaselock import LeaseLock

GROUP, VERSION, PLURAL = "example.com", "v1", "fleets"
MANAGER = "fleet-controller"
LABEL = "example.com/fleet"
LEASE_SECONDS, RENEW_SECONDS, RETRY_SECONDS = 4, 3, 1
"""Short, so that nobody waits long; 15, 10 and 2 are usual. Nobody may be held up for as long as the lease lasts."""

log = logging.getLogger(MANAGER)


class Controller:
    """Level-triggered: what changed only says which Fleet to look at; everything else is read from the caches."""

    def __init__(self, namespace: str) -> None:
        self.namespace = namespace
        self.custom, self.apps, self.core = client.CustomObjectsApi(), client.AppsV1Api(), client.CoreV1Api()
        self.fleets = SharedInformer(self._list_fleets)
        self.deployments = SharedInformer(self.apps.list_namespaced_deployment, namespace, label_selector=LABEL)
        self.due: queue.SimpleQueue[str] = queue.SimpleQueue()

    def _list_fleets(self, **options: Any) -> Any:
        """Lists and watches custom objects in the form that an informer expects of a typed client."""
        options.setdefault("_preload_content", True)
        found = self.custom.list_namespaced_custom_object(GROUP, VERSION, self.namespace, PLURAL, **options)
        if not isinstance(found, dict):
            return found  # a watch: the stream itself
        metadata = SimpleNamespace(resource_version=found["metadata"]["resourceVersion"])
        return SimpleNamespace(items=found["items"], metadata=metadata)

    def run(self) -> None:
        """For as long as this process leads."""
        for kind in (ADDED, MODIFIED, DELETED):
            self.fleets.add_event_handler(kind, lambda fleet: self.due.put(fleet["metadata"]["name"]))
            self.deployments.add_event_handler(kind, lambda made: self.due.put(made.metadata.labels[LABEL]))
        self.fleets.start()
        self.deployments.start()
        while True:
            name = self.due.get()
            try:
                self.reconcile(name)
            except client.ApiException as error:
                log.warning("%s: %s", name, error.body or error)
                threading.Timer(RETRY_SECONDS, self.due.put, [name]).start()

    def reconcile(self, name: str) -> None:
        fleet = self.fleets.cache.get_by_key(f"{self.namespace}/{name}")
        if fleet is None or fleet["metadata"].get("deletionTimestamp"):
            return  # what it owned is collected
        wanted = {f"{name}-{group['board']}": group for group in fleet["spec"]["groups"]}
        self._apply(self.core.patch_namespaced_config_map, config_map(fleet))
        for group in wanted.values():
            self._apply(self.apps.patch_namespaced_deployment, deployment(fleet, group))
        ready = 0
        for made in self.deployments.cache.list():
            if made.metadata.labels[LABEL] != name:
                continue
            if made.metadata.name in wanted:
                ready += made.status.ready_replicas or 0
            elif made.metadata.deletion_timestamp is None:
                self.apps.delete_namespaced_deployment(made.metadata.name, self.namespace)
        self._report(fleet, ready)

    def _apply(self, patch: Any, body: Mapping[str, Any]) -> None:
        options = {"field_manager": MANAGER, "force": True, "_content_type": "application/apply-patch+yaml"}
        patch(body["metadata"]["name"], self.namespace, body, **options)

    def _report(self, fleet: Mapping[str, Any], ready: int) -> None:
        status = {"ready": ready, "observedGeneration": fleet["metadata"]["generation"]}
        if fleet.get("status") != status:
            name, body = fleet["metadata"]["name"], {"status": status}
            self.custom.patch_namespaced_custom_object_status(GROUP, VERSION, self.namespace, PLURAL, name, body)


def owned(fleet: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Metadata of what goes with the Fleet."""
    owner = {
        "apiVersion": f"{GROUP}/{VERSION}",
        "kind": "Fleet",
        "name": fleet["metadata"]["name"],
        "uid": fleet["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }
    return {"name": name, "labels": {LABEL: fleet["metadata"]["name"]}, "ownerReferences": [owner]}


def config_map(fleet: Mapping[str, Any]) -> dict[str, Any]:
    data = {group["board"]: str(group["replicas"]) for group in fleet["spec"]["groups"]}
    metadata = owned(fleet, f"{fleet['metadata']['name']}-groups")
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def deployment(fleet: Mapping[str, Any], group: Mapping[str, Any]) -> dict[str, Any]:
    name = f"{fleet['metadata']['name']}-{group['board']}"
    labels = {"app": name}
    pod = {
        "nodeSelector": {"esp32.io/board": group["board"]},
        "containers": [{"name": "program", "image": fleet["spec"]["image"]}],
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": owned(fleet, name),
        "spec": {
            "replicas": group["replicas"],
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pod},
        },
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--identity", required=True, help="name of this replica")
    parser.add_argument("--namespace", default="default")
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    config.load_kube_config()

    def lead() -> None:
        log.info("%s leads", options.identity)
        Controller(options.namespace).run()

    election = electionconfig.Config(
        LeaseLock(MANAGER, options.namespace, options.identity),
        lease_duration=LEASE_SECONDS,
        renew_deadline=RENEW_SECONDS,
        retry_period=RETRY_SECONDS,
        onstarted_leading=lead,
        onstopped_leading=lambda: os._exit(1),  # whoever no longer leads must not go on writing
    )
    leaderelection.LeaderElection(election).run()


if __name__ == "__main__":
    main()
