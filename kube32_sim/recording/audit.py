"""Requests as entries of an audit log: https://kubernetes.io/docs/reference/config-api/apiserver-audit.v1/."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

from kube32_sim.api import media
from kube32_sim.api.paths import RequestInfo, parse, parse_query
from kube32_sim.clock import parse_time, rfc3339_micro

JsonObject = dict[str, Any]

API_VERSION = "audit.k8s.io/v1"
CONTENT_TYPE, REVISION, MADE = (f"sim.kube32.io/{name}" for name in ("content-type", "revision", "name"))
"""Annotations of ours: how a patch is meant, the store's revision after the write, the name that a new object got."""
WRITES = frozenset(("create", "update", "patch", "delete", "deletecollection"))
_PATCHES = {
    "json": "application/json-patch+json",
    "apply": "application/apply-patch+yaml",
    "strategic": "application/strategic-merge-patch+json",
    "merge": "application/merge-patch+json",
}


_BUILTIN = ("/api/", "/apis/apps/", "/apis/batch/", "/apis/policy/", "/apis/autoscaling/")


class NoEntry(ValueError):
    """What cannot be read as an entry; the message names the field."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A write that was answered.

    time: when it came, seconds since 1970 on the cluster's clock.  uri: path and query.  body: None where there was
    none.  content_type: of the body.  code: of the answer.  made: the name that was generated for a new object.
    revision: the store's newest afterwards; 0 where that is not known.
    """

    time: float
    verb: str
    uri: str
    user: JsonObject = field(default_factory=dict)
    agent: str = ""
    body: Any = None
    content_type: str = ""
    code: int = 200
    made: str = ""
    revision: int = 0
    uid: str = ""

    @property
    def path(self) -> str:
        return self.uri.partition("?")[0]

    @property
    def info(self) -> RequestInfo:
        path, _, query = self.uri.partition("?")
        return parse(METHODS[self.verb], path, parse_query(query))

    @property
    def done(self) -> bool:
        """Whether it changed something, or would have but for a dry run."""
        return self.code < 400


METHODS = {"create": "POST", "update": "PUT", "patch": "PATCH", "delete": "DELETE", "deletecollection": "DELETE"}


def to_json(entry: Entry) -> JsonObject:
    """As an Event of audit.k8s.io/v1."""
    info, when = entry.info, rfc3339_micro(entry.time)
    ours = {CONTENT_TYPE: entry.content_type, REVISION: str(entry.revision or ""), MADE: entry.made}
    reference = {
        "resource": info.plural,
        "namespace": info.namespace,
        "name": info.name,
        "apiGroup": info.group,
        "apiVersion": info.version,
        "subresource": info.subresource,
    }
    event: JsonObject = {
        "kind": "Event",
        "apiVersion": API_VERSION,
        "level": "Request",
        "auditID": entry.uid,
        "stage": "ResponseComplete",
        "requestURI": entry.uri,
        "verb": entry.verb,
        "user": entry.user,
        "userAgent": entry.agent,
        "objectRef": {key: value for key, value in reference.items() if value},
        "responseStatus": {"metadata": {}, "code": entry.code},
        "requestReceivedTimestamp": when,
        "stageTimestamp": when,
        "annotations": {key: value for key, value in ours.items() if value},
    }
    if entry.body is not None:
        event["requestObject"] = entry.body
    return event


def from_json(event: Mapping[str, Any]) -> Entry | None:
    """The entry of an audit event; None for what is no finished write.  Raises NoEntry."""
    verb, uri = _text(event, "verb"), _text(event, "requestURI")
    if event.get("stage") != "ResponseComplete" or verb not in WRITES:
        return None
    if not uri.startswith("/"):
        raise NoEntry(f"requestURI: {uri!r} is no path")
    when = _text(event, "requestReceivedTimestamp") or _text(event, "stageTimestamp")
    try:
        time = parse_time(when)
    except ValueError:
        raise NoEntry(f"requestReceivedTimestamp: {when!r} is no time as RFC 3339 has it") from None
    notes, status = _part(event, "annotations"), _part(event, "responseStatus")
    body = event.get("requestObject")
    code = status.get("code", 200)
    revision = str(notes.get(REVISION) or "0")
    return Entry(
        time,
        verb,
        uri,
        user=dict(_part(event, "user")),
        agent=_text(event, "userAgent"),
        body=body,
        content_type=str(notes.get(CONTENT_TYPE) or _content_type(verb, uri, body)),
        code=code if isinstance(code, int) else 200,
        made=str(notes.get(MADE) or _made(event)),
        revision=int(revision) if revision.isdecimal() else 0,
        uid=_text(event, "auditID"),
    )


def _text(event: Mapping[str, Any], name: str) -> str:
    value = event.get(name, "")
    if not isinstance(value, str):
        raise NoEntry(f"{name}: {value!r} is no text")
    return value


def _part(event: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = event.get(name) or {}
    if not isinstance(value, dict):
        raise NoEntry(f"{name}: {value!r} is no object")
    return value


def _made(event: Mapping[str, Any]) -> str:
    """The name of a new object, where the level of the log is RequestResponse."""
    metadata = _part(_part(event, "responseObject"), "metadata")
    return str(metadata.get("name") or "") if event.get("verb") == "create" else ""


def _content_type(verb: str, uri: str, body: Any) -> str:
    """A real server's log does not say how a patch is meant.  What it is most probably:

    a list is a JSON patch; with a field manager and an identity it is a configuration that was applied; anything else
    is what kubectl sends, which custom resources take as a merge patch.
    """
    if verb != "patch":
        return media.JSON
    if isinstance(body, list):
        return _PATCHES["json"]
    query = parse_qs(urlsplit(uri).query)
    if isinstance(body, dict) and {"apiVersion", "kind"} <= body.keys() and "fieldManager" in query:
        return _PATCHES["apply" if "force" in query or "kubectl" in query["fieldManager"] else "strategic"]
    return _PATCHES["strategic" if uri.startswith(_BUILTIN) or ".k8s.io/" in uri else "merge"]
