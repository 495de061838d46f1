"""Admission policies and requests for tests: what they have in common, once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kube32_sim.api.authorization import ALWAYS_ALLOW, Authorizer
from kube32_sim.api.builtin import builtin_table
from kube32_sim.api.dynamic_admission.matching import Equivalents
from kube32_sim.api.dynamic_admission.request import AdmissionRequest
from kube32_sim.api.errors import ApiError
from kube32_sim.api.policies import mutating, validating
from kube32_sim.api.policies.compiled import Bound, compile_binding
from kube32_sim.api.resources import ResourceTable
from kube32_sim.api.users import ADMIN, User

JsonObject = dict[str, Any]
Storage = tuple[str, str]

TABLE = builtin_table()


class Cluster:
    """What is stored: (storage, namespace, name) -> object."""

    def __init__(self, *objects: tuple[Storage, JsonObject]) -> None:
        self._objects = {self._key(storage, obj["metadata"]): obj for storage, obj in objects}

    @staticmethod
    def _key(storage: Storage, metadata: JsonObject) -> tuple[Storage, str, str]:
        return (storage, metadata.get("namespace", ""), metadata["name"])

    def get(self, storage: Storage, namespace: str, name: str) -> JsonObject | None:
        return self._objects.get((storage, namespace, name))

    def list(self, storage: Storage, namespace: str = "") -> Sequence[JsonObject]:
        return [obj for key, obj in sorted(self._objects.items()) if key[0] == storage and namespace in ("", key[1])]


def namespace(name: str = "default", **labels: str) -> tuple[Storage, JsonObject]:
    metadata = {"name": name, "labels": labels, "managedFields": []}
    return (("", "namespaces"), {"metadata": metadata, "spec": {"finalizers": ["kubernetes"]}, "status": {}})


def config_map(name: str, data: JsonObject, namespace: str = "default", **labels: str) -> tuple[Storage, JsonObject]:
    metadata = {"name": name, "namespace": namespace, "labels": labels}
    return (("", "configmaps"), {"metadata": metadata, "data": data})


DEFAULT = Cluster(namespace())


def deployment(name: str = "web", replicas: int = 1, **metadata: Any) -> JsonObject:
    """As it is stored."""
    containers = [{"name": "main", "image": "nginx"}]
    template = {"metadata": {"labels": {"app": name}}, "spec": {"containers": containers}}
    spec = {"replicas": replicas, "selector": {"matchLabels": {"app": name}}, "template": template}
    return {"metadata": {"name": name, "namespace": "default", **metadata}, "spec": spec}


def request(
    obj: JsonObject | None = None,
    old: JsonObject | None = None,
    *,
    path: str = "apps/v1/deployments",
    where: str = "default",
    cluster: Cluster = DEFAULT,
    user: User = ADMIN,
    table: ResourceTable = TABLE,
    **more: Any,
) -> AdmissionRequest:
    """path: group/version/plural, and a subresource where there is one.  What is done follows from what there is."""
    group, version, plural, *sub = path.split("/")
    row = table.by_path(group, version, plural)
    assert row is not None
    operation = more.pop("operation", "DELETE" if obj is None else "CREATE" if old is None else "UPDATE")
    name = more.pop("name", (obj or old or {}).get("metadata", {}).get("name", ""))
    return AdmissionRequest(row, operation, where, name, table, cluster, "".join(sub), user, obj=obj, old=old, **more)


def policy(
    *validations: str | JsonObject, name: str = "p", rules: Sequence[JsonObject] | None = None, **spec: Any
) -> JsonObject:
    """A ValidatingAdmissionPolicy for everything, with its defaults."""
    every = {"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*/*"]}
    match = {"matchPolicy": "Equivalent", "namespaceSelector": {}, "objectSelector": {}}
    wanted = [{"expression": each} if isinstance(each, str) else each for each in validations]
    made = {
        "failurePolicy": "Fail",
        "matchConstraints": {**match, "resourceRules": [every] if rules is None else rules},
        "validations": wanted,
    }
    return {"metadata": {"name": name}, "spec": {**made, **spec}}


def mutation(expression: str) -> JsonObject:
    if expression.startswith("["):
        return {"patchType": "JSONPatch", "jsonPatch": {"expression": expression}}
    return {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}}


def mutating_policy(*expressions: str, again: str = "Never", **more: Any) -> JsonObject:
    """A MutatingAdmissionPolicy; a list is a JSON patch, everything else a configuration."""
    made = policy(**more)
    del made["spec"]["validations"]
    made["spec"] |= {"mutations": list(map(mutation, expressions)), "reinvocationPolicy": again}
    return made


def binding(policy_name: str = "p", name: str = "b", actions: Sequence[str] = ("Deny",), **spec: Any) -> JsonObject:
    made = {"policyName": policy_name, "validationActions": list(actions), **spec}
    return {"metadata": {"name": name}, "spec": made}


def params_of(name: str = "", **more: Any) -> JsonObject:
    return {**({"name": name} if name else {}), "parameterNotFoundAction": "Deny", **more}


def validate(
    asked: AdmissionRequest,
    of: JsonObject | Sequence[JsonObject],
    bindings: Sequence[JsonObject] | None = None,
    authorizer: Authorizer = ALWAYS_ALLOW,
) -> list[str]:
    """Warnings; raises ApiError."""
    bound = _bound(of, bindings, validating.compile_validating)
    return validating.validate(bound, asked, Equivalents(asked.table), authorizer)


def mutate(
    asked: AdmissionRequest,
    of: JsonObject | Sequence[JsonObject],
    bindings: Sequence[JsonObject] | None = None,
    *,
    again: bool = False,
) -> JsonObject:
    """The object that comes out; raises ApiError."""
    bound = _bound(of, bindings, mutating.compile_mutating)
    mutating.mutate(bound, asked, Equivalents(asked.table), ALWAYS_ALLOW, again=again)
    return asked.obj or {}


def _bound(of: JsonObject | Sequence[JsonObject], bindings: Sequence[JsonObject] | None, compiled: Any) -> list[Bound]:
    policies = [of] if isinstance(of, Mapping) else of
    made: list[Bound] = []
    for each in policies:
        name = each["metadata"]["name"]
        theirs = [binding(name)] if bindings is None else [one for one in bindings if one["spec"]["policyName"] == name]
        made.append((compiled(each), [compile_binding(one) for one in theirs]))
    return made


def refused(error: ApiError) -> str:
    """Why, without what is said of everything that is forbidden."""
    return error.message.partition(" is forbidden: ")[2] or error.message
