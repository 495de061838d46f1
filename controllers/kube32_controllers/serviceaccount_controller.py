"""The service account loop: every active namespace has a ServiceAccount `default`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kube32_sim.client import NAMESPACES, Resource
from kube32_sim.runtime.actions import Create, Plan, View

JsonObject = dict[str, Any]

SERVICE_ACCOUNTS = Resource("", "v1", "serviceaccounts")
DEFAULT = "default"


def plan_service_account(namespace: JsonObject | None, account: JsonObject | None) -> Plan:
    """namespace and its `default` ServiceAccount, None where they are not there."""
    if namespace is None or account is not None or "deletionTimestamp" in namespace["metadata"]:
        return Plan()
    name = namespace["metadata"]["name"]
    obj = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": DEFAULT, "namespace": name}}
    return Plan((Create(SERVICE_ACCOUNTS, name, obj),))


class ServiceAccountController:
    """See `runtime.actions.Loop`."""

    name = "serviceaccount"
    watches = (NAMESPACES, SERVICE_ACCOUNTS)

    def keys(self, resource: Resource, obj: JsonObject, view: View) -> Iterable[str]:
        metadata = obj["metadata"]
        if resource == NAMESPACES:
            return (metadata["name"],)
        return (metadata["namespace"],) if metadata["name"] == DEFAULT else ()

    def plan(self, key: str, view: View, now: float) -> Plan:
        return plan_service_account(view.get(NAMESPACES, "", key), view.get(SERVICE_ACCOUNTS, key, DEFAULT))
