"""Which form an answer takes: `Accept` negotiated as a real API server does, and what bodies are accepted.

Two look at the header, as upstream: the route (`_route_accepts`), then the handler (`_pick`, clauses as `_clauses`
orders them).  Where the handler would choose protobuf but the client takes the same form as JSON too, it gets JSON,
which costs us next to nothing.  Encoding is the server's business.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Literal, NamedTuple

from kube32_sim.api.errors import ApiError, not_acceptable, unsupported_media_type
from kube32_sim.api.resources import ResourceType

JSON = "application/json"
YAML = "application/yaml"
PROTOBUF = "application/vnd.kubernetes.protobuf"
STREAM = ";stream=watch"

Encoding = Literal["json", "yaml", "protobuf"]

_ROUTE = (JSON, YAML, PROTOBUF)
_ROUTE_STREAMS = (*_ROUTE, f"{JSON}{STREAM}", f"{PROTOBUF}{STREAM}")
ENCODINGS: dict[str, Encoding] = {JSON: "json", YAML: "yaml", PROTOBUF: "protobuf"}
_META = frozenset(("v1", "v1beta1"))
_FORMS = {"Table": "table", "PartialObjectMetadata": "partial", "PartialObjectMetadataList": "partial-list"}
_DISCOVERY_VERSIONS = frozenset(("v2", "v2beta1"))


class Accepted(NamedTuple):
    """form: object, table, partial, partial-list or discovery.  version: of the form (`v1`, `v1beta1`; `v2` …).

    content_type: for the answer's header.
    """

    form: str = "object"
    version: str = ""
    encoding: Encoding = "json"
    content_type: str = JSON


PLAIN = Accepted()


class _Clause(NamedTuple):
    type: str
    subtype: str
    parameters: tuple[tuple[str, str], ...]
    quality: float


def _clause(text: str) -> _Clause | None:
    """A part of the header; None for what is no media type.  `*` alone is `*/*`; a quality that is no number is 0."""
    media, *rest = text.split(";")
    kind, slash, subtype = (part.strip() for part in media.partition("/"))
    if "/" in subtype or (not subtype and kind != "*"):
        return None
    parameters = []
    quality = 1.0
    for item in rest:
        key, _, value = (part.strip() for part in item.partition("="))
        if not value or "=" in value:
            continue
        if key == "q":
            quality = _number(value)
        else:
            parameters.append((key, value))
    return _Clause(kind, subtype if slash and subtype else "*", tuple(parameters), quality)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0


def _before(one: _Clause, other: _Clause) -> bool:
    """Upstream's order of clauses; it is none in the strict sense, so how it is used (below) matters."""
    if one.quality > other.quality or (one.type != "*" and other.type == "*"):
        return True
    return one.subtype != "*" and other.subtype == "*"


def _clauses(accept: str) -> list[_Clause]:
    """Best first: by insertion, as Go sorts what is short."""
    found: list[_Clause] = []
    for text in accept.split(","):
        clause = _clause(text)
        if clause is None:
            continue
        place = len(found)
        while place and _before(clause, found[place - 1]):
            place -= 1
        found.insert(place, clause)
    return found


def _matches(clause: _Clause, media: str) -> bool:
    if clause.type == "*":
        return clause.subtype == "*"
    kind, _, subtype = media.partition("/")
    return clause.type == kind and clause.subtype in (subtype, "*")


def _route_accepts(accept: str, produced: tuple[str, ...]) -> bool:
    """The first, coarse look, at the route: it knows `*/*` and whole media types, but not `application/*`."""
    medias = {part.split(";", 1)[0].strip() for part in accept.split(",")}
    return "*/*" in medias or not medias.isdisjoint(produced)


def _only(*medias: str) -> ApiError:
    return not_acceptable(f"only the following media types are accepted: {', '.join(medias)}")


Convert = Callable[[dict[str, str], str], tuple[str, str] | None]
"""Form and version for a clause's as, g, v in a media type; None for none such.  The clause may say none of them."""


def _pick(accept: str, convert: Convert, server_version: str = "") -> Accepted | None:
    """The first acceptable form.  server_version: which `sv` is taken.  Plain JSON is always the one object `PLAIN`."""
    protobuf: Accepted | None = None
    for clause in _clauses(accept):
        parameters = dict(clause.parameters)
        if parameters.get("stream", "watch") != "watch" or parameters.get("sv", server_version) != server_version:
            continue
        wanted: dict[str, str] = {key: parameters[key] for key in ("as", "g", "v") if key in parameters}
        for media in _ROUTE:
            form = convert(wanted, media) if _matches(clause, media) else None
            if form is None or (media == YAML and "stream" in parameters):
                continue
            found = Accepted(*form, ENCODINGS[media], media)
            if protobuf is None and media != PROTOBUF:
                return PLAIN if found == PLAIN else found
            if protobuf is not None and media == JSON and form == protobuf[:2]:
                return PLAIN if found == PLAIN else found
            protobuf = protobuf or found
            break
    return protobuf


def _meta_form(protobuf: bool, table: bool, wanted: dict[str, str], media: str) -> tuple[str, str] | None:
    """What answers about resources may be turned into: objects of custom types have no protobuf, their metadata has."""
    if not wanted:
        return ("object", "") if protobuf or media != PROTOBUF else None
    form, version = _FORMS.get(wanted.get("as", "")), wanted.get("v", "")
    if not form or wanted.get("g") != "meta.k8s.io" or version not in _META:
        return None
    return None if form == "table" and (media == PROTOBUF or not table) else (form, version)


def _no_form(wanted: dict[str, str], _: str) -> tuple[str, str] | None:
    return None if wanted else ("object", "")


def negotiate(
    accept: str,
    row: ResourceType | None = None,
    *,
    watch: bool = False,
    collection: bool = False,
    created: bool = False,
) -> Accepted:
    """The form of an answer about resources; raises ApiError 406.

    row: the type, where it is not surely one with a protobuf form, and with columns.  collection: a GET on a collection
    (its route also produces streams).  created: a subresource that is only created, and has no columns.
    """
    if not accept or accept == JSON:
        return PLAIN
    protobuf = row is None or has_protobuf(row)
    table = not created and (row is None or "list" in row.verbs)
    return _negotiated(accept, protobuf, table, watch, watch or collection)


def has_protobuf(row: ResourceType) -> bool:
    """Whether objects of a type can be said in protobuf: built-in ones of Kubernetes can."""
    from kube32_sim.api.protobuf.messages import message_for

    return not row.names_in_list and message_for(row.api_version, row.kind) is not None


@lru_cache(maxsize=512)
def _negotiated(accept: str, protobuf: bool, table: bool, watch: bool, streams: bool) -> Accepted:
    check_route(accept, *(_ROUTE_STREAMS if streams else _ROUTE))
    accepted = _pick(accept, partial(_meta_form, protobuf, table), "v1")
    if accepted is None:
        raise _only(*_ROUTE)
    if watch and accepted.encoding == "yaml":
        raise _only(f"{JSON}{STREAM}", f"{PROTOBUF}{STREAM}")
    return accepted


def check_route(accept: str, *produced: str) -> None:
    """Refuse (406) who takes nothing that a route produces."""
    if accept and not _route_accepts(accept, produced):
        raise not_acceptable(f"406: Not Acceptable\n\nAvailable representations: {', '.join(produced)}", {})


def check_log(accept: str) -> None:
    """Refuse (406) who takes nothing that the route of logs produces, though they are text whatever was asked for."""
    check_route(accept, "text/plain", *_ROUTE)


def stream_type(accepted: Accepted) -> str:
    """The Content-Type of a watch."""
    return f"{PROTOBUF}{STREAM}" if accepted.encoding == "protobuf" else JSON


@lru_cache(maxsize=128)
def error_form(accept: str) -> Accepted:
    """How a Status is encoded: as the client asked for its answer, or else as JSON; never fails."""
    if not accept or accept == JSON:
        return PLAIN
    return _pick(accept, _no_form) or PLAIN


def _discovery_form(wanted: dict[str, str], _: str) -> tuple[str, str] | None:
    if not wanted:
        return "object", ""
    version = wanted.get("v", "")
    fits = wanted.get("as") == "APIGroupDiscoveryList" and wanted.get("g") == "apidiscovery.k8s.io"
    return ("discovery", version) if fits and version in _DISCOVERY_VERSIONS else None


@lru_cache(maxsize=128)
def negotiate_discovery(accept: str, *, aggregated: bool, routed: bool = True) -> Accepted:
    """The form of a discovery answer.

    aggregated: the path (/api, /apis) has the aggregated form too.  routed: it has a route that looks first (/apis and
    /apis/GROUP have none).
    """
    if not accept or accept == JSON:
        return PLAIN
    if routed:
        check_route(accept, *_ROUTE)
    accepted = _pick(accept, _discovery_form if aggregated else _no_form)
    if accepted is None:
        raise _only(*_ROUTE)
    if accepted.form == "discovery":
        suffix = f";g=apidiscovery.k8s.io;v={accepted.version};as=APIGroupDiscoveryList"
        return accepted._replace(content_type=f"{accepted.content_type}{suffix}")
    return accepted


def check_form(accepted: Accepted, row: ResourceType, *, is_list: bool) -> None:
    """Refuse (406) the metadata form of an object for a list and the other way round."""
    if accepted.form == "partial" and is_list:
        what = f"PartialObjectMetadata, but the requested object is a list (*{_go_type(row)}List)"
    elif accepted.form == "partial-list" and not is_list:
        what = f"PartialObjectMetadataList, but the requested object is not a list (*{_go_type(row)})"
    else:
        return
    raise not_acceptable(f"you requested {what}")


def _go_type(row: ResourceType) -> str:
    """The internal type as Go prints it: `core.Pod`, `apps.Deployment`."""
    if row.names_in_list:
        return "unstructured.Unstructured"
    group = "core" if row.group in ("", "events.k8s.io") else row.group.partition(".")[0]
    return f"{group}.{row.kind}"


_BODIES = {"": "json", JSON: "json", YAML: "yaml", PROTOBUF: "protobuf"}
_TOKEN = r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+"
_MEDIA_TYPE = re.compile(
    rf"\s*({_TOKEN}(?:/{_TOKEN})?)\s*((?:;\s*{_TOKEN}\s*=\s*(?:{_TOKEN}|\"(?:[^\"\\\r\n]|\\.)*\")\s*)*);?\s*"
)


@lru_cache(maxsize=128)
def body_media(content_type: str, *, protobuf: bool = True) -> str:
    """What a create, update or delete body is: `json`, `yaml` or `protobuf`; raises ApiError 415.

    protobuf: whether the type has a protobuf form (custom resources have none).
    """
    found = _MEDIA_TYPE.fullmatch(content_type)
    media = _BODIES.get(found[1].lower() if found else content_type)
    if media is None or (media == "protobuf" and not protobuf):
        known = ", ".join(_ROUTE if protobuf else (JSON, YAML))
        raise unsupported_media_type(
            f"the body of the request was in an unknown format - accepted media types include: {known}"
        )
    return media
