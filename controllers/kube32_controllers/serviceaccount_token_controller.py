"""The tokens controller: a Secret of type kubernetes.io/service-account-token gets the token of its ServiceAccount.

It goes with the account.  Such tokens do not expire; they end with the Secret (`registry/tokens`).
"""

from __future__ import annotations

import base64
from collections.abc import Iterable
from typing import Any

from kube32_controllers.serviceaccount_controller import SERVICE_ACCOUNTS
from kube32_sim.api.account_tokens import OF_THIS_PROCESS, SigningKey, legacy_claims, signed
from kube32_sim.client import Resource
from kube32_sim.runtime.actions import Delete, Patch, Plan, View

JsonObject = dict[str, Any]

SECRETS = Resource("", "v1", "secrets")
TYPE = "kubernetes.io/service-account-token"
NAME, UID = "kubernetes.io/service-account.name", "kubernetes.io/service-account.uid"


def plan_token(
    secret: JsonObject | None, account: JsonObject | None, ca: str, key: SigningKey = OF_THIS_PROCESS
) -> Plan:
    """secret and the ServiceAccount that it names, None where they are not there.  ca: of the server, PEM or ""."""
    if secret is None or secret.get("type") != TYPE or "deletionTimestamp" in secret["metadata"]:
        return Plan()
    metadata = secret["metadata"]
    known = metadata["annotations"].get(UID, "")
    if account is None or known not in ("", account["metadata"]["uid"]):
        return Plan((Delete(SECRETS, metadata["namespace"], metadata["name"], metadata["uid"]),))
    wanted = {"namespace": _base64(metadata["namespace"]), **({"ca.crt": _base64(ca)} if ca else {})}
    has = secret.get("data") or {}
    data = {key: value for key, value in wanted.items() if has.get(key) != value}
    if not has.get("token"):
        data["token"] = _base64(signed(legacy_claims(account["metadata"], metadata["name"]), key))
    if not data and known:
        return Plan()
    patch = {"metadata": {"annotations": {UID: account["metadata"]["uid"]}}, "data": data}
    return Plan((Patch(SECRETS, metadata["namespace"], metadata["name"], patch),))


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _account_of(secret: JsonObject) -> str:
    name: str = (secret["metadata"].get("annotations") or {}).get(NAME, "")
    return name


class ServiceAccountTokenController:
    """See `runtime.actions.Loop`.  ca: the certificate by which clients know the server, PEM; "" for none.

    key: what tokens are signed with.
    """

    name = "serviceaccount-token"
    watches = (SECRETS, SERVICE_ACCOUNTS)

    def __init__(self, ca: str = "", key: SigningKey = OF_THIS_PROCESS) -> None:
        self._ca = ca
        self._key = key

    def keys(self, resource: Resource, obj: JsonObject, view: View) -> Iterable[str]:
        metadata = obj["metadata"]
        if resource == SECRETS:
            return (f"{metadata['namespace']}/{metadata['name']}",) if obj.get("type") == TYPE else ()
        secrets = view.list(SECRETS, metadata["namespace"])
        return [
            f"{metadata['namespace']}/{secret['metadata']['name']}"
            for secret in secrets
            if secret.get("type") == TYPE and _account_of(secret) == metadata["name"]
        ]

    def plan(self, key: str, view: View, now: float) -> Plan:
        namespace, _, name = key.partition("/")
        secret = view.get(SECRETS, namespace, name)
        account = view.get(SERVICE_ACCOUNTS, namespace, _account_of(secret)) if secret is not None else None
        return plan_token(secret, account, self._ca, self._key)
