"""ServiceAccount: which account a pod runs as.  Tokens are not mounted: no container runs that could use one."""

from __future__ import annotations

from typing import Any

from kube32_sim.api.admission.config import AdmissionConfig
from kube32_sim.api.admission.refusal import refuse
from kube32_sim.api.strategies.base import Context

JsonObject = dict[str, Any]

SERVICE_ACCOUNTS = ("", "serviceaccounts")
DEFAULT = "default"
MIRROR = "kubernetes.io/config.mirror"


def mutate(verb: str, obj: JsonObject, old: JsonObject | None, context: Context, config: AdmissionConfig) -> None:
    """The default account where none is named, and the account's pull secrets where the pod brings none.

    A named account must exist; that of the name `default` may still be on its way in a new namespace.
    """
    if verb != "create" or not config.service_accounts or MIRROR in (obj["metadata"].get("annotations") or {}):
        return
    spec = obj["spec"]
    name = spec.get("serviceAccountName") or DEFAULT
    spec["serviceAccountName"] = spec["serviceAccount"] = name
    account = context.cluster.get(SERVICE_ACCOUNTS, context.namespace, name)
    if account is None:
        if name != DEFAULT:
            where = f"{context.namespace}/{name}"
            raise refuse(context, obj, f'error looking up service account {where}: serviceaccount "{name}" not found')
    elif account.get("imagePullSecrets") and not spec.get("imagePullSecrets"):
        spec["imagePullSecrets"] = [dict(secret) for secret in account["imagePullSecrets"]]
