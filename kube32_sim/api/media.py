"""Which form an answer takes: `Accept` negotiated as a real API server does, and what bodies are accepted.

Answers are JSON or YAML.  Protobuf is named where upstream's messages name it, but a client that accepts nothing else
is refused (406); no Kubernetes client does that by default.  Encoding is the server's business.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

from kube32_sim.api.errors import ApiError, not_acceptable, unsupported_media_type
from kube32_sim.api.resources import ResourceType

JSON = "application/json"
YAML = "application/yaml"
PROTOBUF = "application/vnd.kubernetes.protobuf"
STREAM = ";stream=watch"

_ROUTE = (JSON, YAML, PROTOBUF)
_ROUTE_STREAMS = (*_ROUTE, f"{JSON}{STREAM}", f"{PROTOBUF}{STREAM}")
_META = frozenset(("v1", "v1beta1"))
_FORMS = {"Table": "table", "PartialObjectMetadata": "partial", "PartialObjectMetadataList": "partial-list"}
_DISCOVERY_VERSIONS = frozenset(("v2", "v2beta1"))


class Accepted(NamedTuple):
    """form: object, table, partial, partial-list or discovery.  version: of the form (`v1`, `v1beta1`; `v2` …).

    yaml: encode as YAML, else JSON.  content_type: for the answer's header.
    """

    form: str = "object"
    version: str = ""
    yaml: bool = False
    content_type: str = JSON


PLAIN = Accepted()
_PLAIN_YAML = Accepted(yaml=True, content_type=YAML)


class _Clause(NamedTuple):
    media: str
    parameters: tuple[tuple[str, str], ...]
    quality: float


def _clause(text: str) -> _Clause | None:
    media, *rest = text.split(";")
    parameters = []
    quality = 1.0
    for item in rest:
        key, _, value = item.strip().partition("=")
        if key == "q":
            try:
                quality = float(value)
            except ValueError:
                quality = 1.0
        elif key:
            parameters.append((key, value.strip('"')))
    media = media.strip()
    return _Clause(media, tuple(parameters), quality) if media else None


def _specificity(clause: _Clause) -> int:
    if clause.media == "*/*":
        return 0
    return 1 if clause.media.endswith("/*") else 2


def _clauses(accept: str) -> list[_Clause]:
    """Best first: by quality, then by how much they say; otherwise in the order given."""
    found = [clause for text in accept.split(",") if (clause := _clause(text))]
    return sorted(found, key=lambda clause: (-clause.quality, -_specificity(clause)))


def _matches(clause: _Clause, media: str) -> bool:
    return clause.media in (media, "*/*") or (clause.media == "application/*" and media.startswith("application/"))


def _route_accepts(accept: str, produced: tuple[str, ...]) -> bool:
    """The first, coarse look, at the route: it knows `*/*` and whole media types, but not `application/*`."""
    medias = {part.split(";", 1)[0].strip() for part in accept.split(",")}
    return "*/*" in medias or not medias.isdisjoint(produced)


def _only(*medias: str) -> ApiError:
    return not_acceptable(f"only the following media types are accepted: {', '.join(medias)}")


Convert = Callable[[dict[str, str]], tuple[str, str] | None]


def _pick(accept: str, convert: Convert) -> Accepted | None:
    """The first acceptable form; `convert` says form and version for a clause's as, g, v, or None for none such.

    Plain JSON is always the one object `PLAIN`.
    """
    for clause in _clauses(accept):
        parameters = dict(clause.parameters)
        if parameters.get("stream", "") not in ("", "watch") or parameters.get("sv"):
            continue
        wanted: dict[str, str] = {key: parameters[key] for key in ("as", "g", "v") if key in parameters}
        form = convert(wanted) if wanted else ("object", "")
        if form is None:
            continue
        for media in (JSON, YAML):
            if _matches(clause, media) and not (media == YAML and "stream" in parameters):
                accepted = Accepted(*form, media == YAML, media)
                return PLAIN if accepted == PLAIN else accepted
    return None


def _meta_form(wanted: dict[str, str]) -> tuple[str, str] | None:
    form, version = _FORMS.get(wanted.get("as", "")), wanted.get("v", "")
    return (form, version) if form and wanted.get("g") == "meta.k8s.io" and version in _META else None


def _no_form(_: dict[str, str]) -> tuple[str, str] | None:
    return None


@lru_cache(maxsize=512)
def negotiate(
    accept: str,
    *,
    watch: bool = False,
    collection: bool = False,
    table_allowed: bool = True,
    also: tuple[str, ...] = (),
) -> Accepted:
    """The form of an answer about resources; raises ApiError 406.

    collection: a GET on a collection (its route also produces streams).  table_allowed: Table and
    PartialObjectMetadata forms may be asked for.  also: further media types of the route, such as text/plain for logs.
    """
    if not accept or accept == JSON:
        return PLAIN
    produced = _ROUTE_STREAMS if watch or collection else _ROUTE
    if not _route_accepts(accept, (*produced, *also)):
        listed = ", ".join((*produced, *also))
        raise not_acceptable(f"406: Not Acceptable\n\nAvailable representations: {listed}", {})
    accepted = _pick(accept, _meta_form if table_allowed else _no_form)
    if accepted is None and also and _route_accepts(accept, also):
        return PLAIN
    if accepted is None or (watch and accepted.yaml):
        raise _refusal(accept, watch=watch)
    return accepted


def _refusal(accept: str, *, watch: bool) -> ApiError:
    if watch:
        return _only(f"{JSON}{STREAM}", f"{PROTOBUF}{STREAM}")
    if all(clause.media == PROTOBUF for clause in _clauses(accept)):
        return _only(JSON, YAML)
    return _only(*_ROUTE)


@lru_cache(maxsize=128)
def error_form(accept: str, *, route: bool = False) -> Accepted:
    """How a Status is encoded: YAML only for clients that ask for it; never fails.

    route: the failure is the route's own (no such path, method or representation): always JSON.
    """
    if route or YAML not in accept:
        return PLAIN
    accepted = _pick(accept, _no_form)
    return _PLAIN_YAML if accepted is not None and accepted.yaml else PLAIN


def _discovery_form(wanted: dict[str, str]) -> tuple[str, str] | None:
    version = wanted.get("v", "")
    fits = wanted.get("as") == "APIGroupDiscoveryList" and wanted.get("g") == "apidiscovery.k8s.io"
    return ("discovery", version) if fits and version in _DISCOVERY_VERSIONS else None


@lru_cache(maxsize=128)
def negotiate_discovery(accept: str, *, aggregated: bool) -> Accepted:
    """The form of a discovery answer; `aggregated`: the path (/api, /apis) has the aggregated form too."""
    if not accept or accept == JSON:
        return PLAIN
    if not _route_accepts(accept, _ROUTE):
        raise not_acceptable(f"406: Not Acceptable\n\nAvailable representations: {', '.join(_ROUTE)}", {})
    accepted = _pick(accept, _discovery_form if aggregated else _no_form)
    if accepted is None:
        raise _refusal(accept, watch=False)
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


@lru_cache(maxsize=128)
def body_media(content_type: str, *, protobuf: bool = True) -> str:
    """What a create, update or delete body is: `json`, `yaml` or `protobuf`; raises ApiError 415.

    protobuf: whether the type has a protobuf form (custom resources have none).
    """
    media = _BODIES.get(content_type.partition(";")[0].strip().lower())
    if media is None or (media == "protobuf" and not protobuf):
        known = ", ".join(_ROUTE if protobuf else (JSON, YAML))
        raise unsupported_media_type(
            f"the body of the request was in an unknown format - accepted media types include: {known}"
        )
    return media
