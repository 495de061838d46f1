"""Roles and bindings in few words, and a plain reading of them that the indexed one is held against."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kube32_sim.api.authorization import Attributes, Decision
from kube32_sim.api.users import User

JsonObject = dict[str, Any]
GROUP = "rbac.authorization.k8s.io"


def rule(verbs: str, resources: str = "", groups: str = "", names: str = "", urls: str = "") -> JsonObject:
    """Each a list joined by commas; no groups: the core group."""
    made: JsonObject = {"verbs": verbs.split(",")}
    if resources:
        made |= {"apiGroups": groups.split(","), "resources": resources.split(",")}
    if names:
        made["resourceNames"] = names.split(",")
    if urls:
        made["nonResourceURLs"] = urls.split(",")
    return made


def subject(word: str) -> JsonObject:
    """`User:ann`, `Group:devs`, `ServiceAccount:namespace/name`, the namespace may be missing."""
    kind, _, name = word.partition(":")
    if kind != "ServiceAccount":
        return {"kind": kind, "name": name, "apiGroup": GROUP}
    namespace, slash, account = name.rpartition("/")
    return {"kind": kind, "name": account, **({"namespace": namespace} if slash else {})}


def binding(name: str, role: str, *subjects: str, kind: str = "ClusterRole") -> JsonObject:
    reference = {"apiGroup": GROUP, "kind": kind, "name": role}
    return {"metadata": {"name": name}, "roleRef": reference, "subjects": [subject(word) for word in subjects]}


class PlainPolicy:
    """All of it read from the first binding to the last for every question.

    roles, bindings: by namespace ("" for those of the cluster) and name.
    """

    def __init__(
        self, roles: Mapping[tuple[str, str], Sequence[JsonObject]], bindings: Mapping[tuple[str, str], JsonObject]
    ) -> None:
        self._roles = roles
        self._bindings = bindings

    def decide(self, user: User, asked: Attributes) -> Decision:
        failures: list[str] = []
        for namespace in ("", asked.namespace) if asked.namespace else ("",):
            for (place, name), obj in sorted(self._bindings.items()):
                subjects = [one for one in obj["subjects"] if self._means(one, namespace, user)]
                if place != namespace or not subjects:
                    continue
                reference = obj["roleRef"]
                where = "" if reference["kind"] == "ClusterRole" else namespace or "nowhere"
                rules = self._roles.get((where, reference["name"]))
                if rules is None:
                    failures.append(f'{reference["kind"].lower()}.{GROUP} "{reference["name"]}" not found')
                elif any(self._allows(one, asked) for one in rules):
                    return Decision(True, self._reason(name, namespace, reference, subjects[0]))
        once = list(dict.fromkeys(failures))
        if not once:
            return Decision(False)
        return Decision(False, f"RBAC: {once[0]}" if len(once) == 1 else f"RBAC: [{', '.join(once)}]")

    @staticmethod
    def _means(one: JsonObject, namespace: str, user: User) -> bool:
        if one["kind"] == "User":
            return user.name == one["name"]
        if one["kind"] == "Group":
            return one["name"] in user.groups
        place = one.get("namespace") or namespace
        return bool(place) and user.name == f"system:serviceaccount:{place}:{one['name']}"

    @staticmethod
    def _allows(one: JsonObject, asked: Attributes) -> bool:
        if asked.verb not in one["verbs"] and "*" not in one["verbs"]:
            return False
        if asked.path:
            urls: Iterable[str] = one.get("nonResourceURLs") or ()
            return any(url == asked.path or (url[-1] == "*" and asked.path.startswith(url[:-1])) for url in urls)
        combined = f"{asked.resource}/{asked.subresource}" if asked.subresource else asked.resource
        names = one.get("resourceNames")
        return (
            any(group in ("*", asked.group) for group in one.get("apiGroups") or ())
            and any(
                each in ("*", combined) or (asked.subresource != "" and each == f"*/{asked.subresource}")
                for each in one.get("resources") or ()
            )
            and (not names or asked.name in names)
        )

    @staticmethod
    def _reason(name: str, namespace: str, reference: JsonObject, one: JsonObject) -> str:
        of = f'RoleBinding "{name}/{namespace}"' if namespace else f'ClusterRoleBinding "{name}"'
        place = one.get("namespace") or namespace
        who = f"{one['name']}/{place}" if one["kind"] == "ServiceAccount" else one["name"]
        return f'RBAC: allowed by {of} of {reference["kind"]} "{reference["name"]}" to {one["kind"]} "{who}"'
