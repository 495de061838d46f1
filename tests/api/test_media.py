"""Accept negotiation, and which bodies are taken."""

from __future__ import annotations

import contextlib
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kube32_sim.api import media
from kube32_sim.api.builtin import builtin_table
from kube32_sim.api.errors import ApiError

TABLE_FORM = "application/json;as=Table;v=v1;g=meta.k8s.io"
PARTIAL = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
PROTOBUF = "application/vnd.kubernetes.protobuf"
PROTOBUF_PARTIAL = PARTIAL.replace("application/json", PROTOBUF)
AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
OLD_AGGREGATED = AGGREGATED.replace("v=v2;", "v=v2beta1;")


@pytest.mark.parametrize(
    ("accept", "form", "version", "content_type"),
    [
        ("", "object", "", "application/json"),
        ("*/*", "object", "", "application/json"),
        ("application/json, */*", "object", "", "application/json"),
        ("application/yaml", "object", "", "application/yaml"),
        ("text/html,application/json;q=0.9,*/*;q=0.8", "object", "", "application/json"),
        ("application/json;q=0.1,application/yaml", "object", "", "application/yaml"),
        ("application/vnd.kubernetes.protobuf,application/json", "object", "", "application/json"),
        (f"{TABLE_FORM},application/json", "table", "v1", "application/json"),
        (TABLE_FORM.replace("v=v1", "v=v1beta1"), "table", "v1beta1", "application/json"),
        (f"{TABLE_FORM.replace('v=v1', 'v=v2')},application/json", "object", "", "application/json"),
        (f"{TABLE_FORM.replace('Table', 'Chair')},application/json", "object", "", "application/json"),
        (PARTIAL, "partial", "v1", "application/json"),
        (PARTIAL.replace("Metadata", "MetadataList"), "partial-list", "v1", "application/json"),
        ("application/json;stream=watch", "object", "", "application/json"),
        # Strange headers.
        ("application/yaml;q=x,application/json;q=0.1", "object", "", "application/json"),
        ("application/json;q=0,application/yaml;q=0", "object", "", "application/json"),
        ("application/*,application/yaml", "object", "", "application/yaml"),
        ("application/json ; charset=utf-8", "object", "", "application/json"),
        ("/,application/json/x,,application/yaml", "object", "", "application/yaml"),
        ("application/json;sv=v1", "object", "", "application/json"),
        ("application/json;sv=v2,application/yaml", "object", "", "application/yaml"),
        ('application/json;as="Table";v=v1;g=meta.k8s.io,application/yaml', "object", "", "application/yaml"),
        (f"{TABLE_FORM}=x,application/yaml", "object", "", "application/yaml"),
        # Protobuf, where nothing else will do.
        (PROTOBUF, "object", "", PROTOBUF),
        (f"{PROTOBUF}, */*", "object", "", "application/json"),
        (f"{PROTOBUF},application/yaml", "object", "", PROTOBUF),
        (f"{PROTOBUF};stream=watch", "object", "", PROTOBUF),
        (TABLE_FORM.replace("application/json", PROTOBUF) + ",application/json", "object", "", "application/json"),
        (PROTOBUF_PARTIAL, "partial", "v1", PROTOBUF),
        (f"{PROTOBUF_PARTIAL},{PARTIAL},application/json", "partial", "v1", "application/json"),
        (f"{PROTOBUF_PARTIAL},application/json", "partial", "v1", PROTOBUF),
    ],
)
def test_forms(accept: str, form: str, version: str, content_type: str) -> None:
    accepted = media.negotiate(accept, collection=True)
    assert (accepted.form, accepted.version, accepted.content_type) == (form, version, content_type)
    assert accepted.encoding == content_type.rpartition("/")[2].replace("vnd.kubernetes.", "")


MEDIAS = "application/json, application/yaml, application/vnd.kubernetes.protobuf"
AVAILABLE = f"406: Not Acceptable\n\nAvailable representations: {MEDIAS}"
STREAMS = ", application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch"
ONLY = "only the following media types are accepted: "


@pytest.mark.parametrize(
    ("accept", "collection", "watch", "message"),
    [
        ("text/html", True, False, AVAILABLE + STREAMS),
        ("application/xml, text/csv", True, False, AVAILABLE + STREAMS),
        ("text/html", True, True, AVAILABLE + STREAMS),
        ("image/png", False, False, AVAILABLE),
        ("application/*", False, False, AVAILABLE),
        (
            TABLE_FORM.replace("v=v1", "v=v2"),
            True,
            False,
            ONLY + "application/json, application/yaml, application/vnd.kubernetes.protobuf",
        ),
        ("application/yaml", True, True, ONLY + STREAMS.removeprefix(", ")),
        (TABLE_FORM.replace("application/json", PROTOBUF), True, False, ONLY + MEDIAS),
        (TABLE_FORM.replace("v=v1", "v=v2"), True, True, ONLY + MEDIAS),
        ("application/cbor", False, False, AVAILABLE),
        ("*", False, False, AVAILABLE),
        ("application/json;stream=other", False, False, ONLY + MEDIAS),
    ],
)
def test_what_is_not_acceptable(accept: str, collection: bool, watch: bool, message: str) -> None:
    with pytest.raises(ApiError) as caught:
        media.negotiate(accept, collection=collection, watch=watch)
    assert (caught.value.code, caught.value.message) == (406, message)


def test_custom_types_have_no_protobuf_but_of_their_metadata() -> None:
    row = replace(builtin_table().by_kind("", "v1", "Pod"), names_in_list=True)
    with pytest.raises(ApiError, match="only the following media types are accepted") as caught:
        media.negotiate(PROTOBUF, row)
    assert caught.value.code == 406
    assert media.negotiate(f"{PROTOBUF},application/json", row) is media.PLAIN
    assert media.negotiate(PROTOBUF_PARTIAL, row).encoding == "protobuf"


def test_types_of_our_own_have_no_protobuf() -> None:
    row = builtin_table().by_kind("sim.kube32.io", "v1alpha1", "Clock")
    assert row is not None
    with pytest.raises(ApiError):
        media.negotiate(PROTOBUF, row)


def test_every_type_of_kubernetes_has_protobuf() -> None:
    rows = [row for row in builtin_table() if row.group != "sim.kube32.io"]
    assert [row.kind for row in rows if not media.has_protobuf(row)] == []


def test_errors_go_as_the_answer_would_have() -> None:
    assert media.error_form("application/yaml").encoding == "yaml"
    assert media.error_form(PROTOBUF).encoding == "protobuf"
    for accept in ("", "text/html", "application/json,application/yaml", f"{PROTOBUF},*/*", TABLE_FORM):
        assert media.error_form(accept) is media.PLAIN, accept


def test_discovery_forms() -> None:
    both = f"{AGGREGATED},{OLD_AGGREGATED},application/json"
    accepted = media.negotiate_discovery(both, aggregated=True)
    assert (accepted.form, accepted.version, accepted.content_type) == ("discovery", "v2", AGGREGATED)
    old = media.negotiate_discovery(f"{OLD_AGGREGATED},application/json", aggregated=True)
    assert (old.version, old.content_type) == ("v2beta1", OLD_AGGREGATED)
    assert media.negotiate_discovery(both, aggregated=False) == media.PLAIN
    assert media.negotiate_discovery("", aggregated=True) == media.PLAIN
    with pytest.raises(ApiError):
        media.negotiate_discovery("text/html", aggregated=True)


def test_metadata_forms_fit_what_is_answered() -> None:
    row = builtin_table().by_path("", "v1", "pods")
    assert row is not None
    one, many = media.negotiate(PARTIAL), media.negotiate(PARTIAL.replace("Metadata", "MetadataList"))
    media.check_form(one, row, is_list=False)
    media.check_form(many, row, is_list=True)
    with pytest.raises(ApiError, match=r"requested object is a list \(\*core\.PodList\)"):
        media.check_form(one, row, is_list=True)
    with pytest.raises(ApiError, match=r"requested object is not a list \(\*core\.Pod\)"):
        media.check_form(many, row, is_list=False)


def test_bodies() -> None:
    assert media.body_media("") == "json"
    assert media.body_media("application/json; charset=utf-8") == "json"
    assert media.body_media("application/yaml") == "yaml"
    assert media.body_media("application/vnd.kubernetes.protobuf") == "protobuf"
    for content_type in ("text/plain", "application/xml", "application/cbor"):
        with pytest.raises(ApiError, match="the body of the request was in an unknown format") as caught:
            media.body_media(content_type)
        assert caught.value.code == 415
    with pytest.raises(ApiError):
        media.body_media("application/vnd.kubernetes.protobuf", protobuf=False)


@pytest.mark.parametrize(
    ("content_type", "media_type"),
    [
        ("Application/JSON", "json"),
        ('application/json; charset="utf-8"; a=b;', "json"),
        ("application/yaml;charset=utf-8", "yaml"),
        ("application/json;", "json"),
        ("application/json; charset", ""),
        ("application/json; charset=", ""),
        ("application/json, application/yaml", ""),
        ("application/", ""),
        ("json", ""),
    ],
)
def test_media_types_of_bodies(content_type: str, media_type: str) -> None:
    try:
        assert media.body_media(content_type) == media_type
    except ApiError as error:
        assert (error.code, media_type) == (415, "")  # noqa: PT017


@given(st.text(alphabet="aplicton/json*yml;=q.,10 vgs"))
def test_any_accept_header_is_understood_or_refused(accept: str) -> None:
    with contextlib.suppress(ApiError):
        media.negotiate(accept, collection=True)
    media.error_form(accept)
