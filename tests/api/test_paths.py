"""Request paths: what they are about, and that `path_of` is the way back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kube32_sim.api.builtin import builtin_table
from kube32_sim.api.errors import ApiError
from kube32_sim.api.paths import RequestInfo, not_found_is_plain, parse, parse_query, path_of, resolve
from kube32_sim.api.resources import ResourceType

TABLE = builtin_table()


def resource(path: str, method: str = "GET", query: str = "") -> tuple[str, ...]:
    info = parse(method, path, parse_query(query))
    assert info.kind == "resource"
    return info.verb, info.group, info.version, info.namespace, info.plural, info.name, info.subresource


@pytest.mark.parametrize(
    ("path", "wanted"),
    [
        ("/api/v1/pods", ("list", "", "v1", "", "pods", "", "")),
        ("/api/v1/namespaces/d/pods/", ("list", "", "v1", "d", "pods", "", "")),
        ("/api/v1/namespaces/d/configmaps/a%2Eb", ("get", "", "v1", "d", "configmaps", "a.b", "")),
        ("/apis/apps/v1/namespaces/d/deployments/x/scale", ("get", "apps", "v1", "d", "deployments", "x", "scale")),
        ("/api/v1/namespaces", ("list", "", "v1", "", "namespaces", "", "")),
        ("/api/v1/namespaces/d", ("get", "", "v1", "", "namespaces", "d", "")),
        ("/api/v1/namespaces/d/status", ("get", "", "v1", "", "namespaces", "d", "status")),
        ("/api/v1/namespaces/d/finalize", ("get", "", "v1", "", "namespaces", "d", "finalize")),
        ("/api/v1/nodes/n/proxy/a/b", ("get", "", "v1", "", "nodes", "n", "proxy")),
        ("/api/v1/watch/namespaces/d/configmaps/two", ("watch", "", "v1", "d", "configmaps", "two", "")),
        ("/api/v1/watch/namespaces/d", ("watch", "", "v1", "", "namespaces", "d", "")),
        ("/apis/apps/v1/watch/deployments", ("watch", "apps", "v1", "", "deployments", "", "")),
        ("/api/v1/namespaces/d/pods//", ("list", "", "v1", "d", "pods", "", "")),
        ("/api/v1/namespaces/d/pods/p//", ("get", "", "v1", "d", "pods", "p", "")),
        ("/api/v1/namespaces//pods", ("list", "", "v1", "", "pods", "", "")),
        ("/api/v1/namespaces/d/pods//log", ("get", "", "v1", "d", "pods", "", "log")),
    ],
)
def test_resource_paths(path: str, wanted: tuple[str, ...]) -> None:
    assert resource(path) == wanted


@pytest.mark.parametrize(
    ("method", "path", "query", "verb"),
    [
        ("GET", "/api/v1/pods", "watch=1", "watch"),
        ("GET", "/api/v1/pods", "watch=maybe", "watch"),
        ("GET", "/api/v1/pods", "watch", "watch"),
        ("GET", "/api/v1/pods", "watch=false", "list"),
        ("GET", "/api/v1/pods", "watch=0", "list"),
        ("GET", "/api/v1/namespaces/d/pods/p", "watch=1", "get"),
        ("POST", "/api/v1/namespaces/d/pods", "", "create"),
        ("DELETE", "/api/v1/namespaces/d/pods", "", "deletecollection"),
        ("DELETE", "/api/v1/namespaces/d/pods/p", "", "delete"),
        ("PUT", "/api/v1/namespaces/d/pods/p", "", "update"),
        ("PATCH", "/api/v1/namespaces/d/pods/p", "", "patch"),
        ("OPTIONS", "/api/v1/namespaces/d/pods", "", "options"),
    ],
)
def test_verbs(method: str, path: str, query: str, verb: str) -> None:
    assert resource(path, method, query)[0] == verb


@pytest.mark.parametrize(
    ("path", "kind", "rest"),
    [
        ("/api", "discovery", ""),
        ("/apis/", "discovery", ""),
        ("/apis/apps", "discovery", ""),
        ("/apis/apps/v1", "discovery", ""),
        ("/api/v1/", "discovery", ""),
        ("/openapi/v3/apis/apps/v1", "openapi", "v3/apis/apps/v1"),
        ("/livez/ping", "health", "ping"),
        ("/version/", "version", ""),
        ("/metrics", "metrics", ""),
        ("/", "index", ""),
        ("/API/v1", "other", ""),
        ("//api/v1", "other", ""),
        ("/apis//v1/pods", "other", ""),
        ("", "other", ""),
    ],
)
def test_other_paths(path: str, kind: str, rest: str) -> None:
    info = parse("GET", path)
    assert (info.kind, info.rest) == (kind, rest)


def refused(method: str, path: str) -> int:
    with pytest.raises(ApiError) as caught:
        resolve(TABLE, parse(method, path))
    return caught.value.code


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/api/v1/namespaces/d/widgets"),
        ("GET", "/api/v1/widgets/x"),
        ("GET", "/api/v1/namespaces/d/ConfigMaps"),
        ("GET", "/api/v1/Namespaces/d/configmaps"),
        ("GET", "/apis/apps/v9/deployments"),
        ("GET", "/api/v2/pods"),
        ("GET", "/api/v1/pods/x"),
        ("GET", "/api/v1/namespaces/d/nodes"),
        ("GET", "/api/v1/namespaces/d/pods/x/nosuch"),
        ("GET", "/api/v1/namespaces/d/pods/x/status/more"),
        ("POST", "/api/v1/namespaces/d/widgets"),
        ("POST", "/api/v1/bindings"),
        ("GET", "/apis/authorization.k8s.io/v1/subjectaccessreviews/x"),
        ("GET", "/api//v1/pods"),
        ("GET", "/api/v1//pods"),
        ("GET", "/api/v1/pods//log"),
        ("GET", "/api/v1/namespaces/d//pods"),
        ("GET", "/api/v1/namespaces/d/pods//x"),
        ("GET", "/apis/apps//v1/deployments"),
    ],
)
def test_unknown_paths(method: str, path: str) -> None:
    assert refused(method, path) == 404


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/api/v1/namespaces/d/configmaps/a"),
        ("PUT", "/api/v1/namespaces/d/configmaps"),
        ("PATCH", "/api/v1/namespaces/d/configmaps"),
        ("DELETE", "/api/v1/nodes/x/status"),
        ("POST", "/api/v1/namespaces/d/pods/x/status"),
        ("GET", "/api/v1/namespaces/d/pods/x/binding"),
        ("GET", "/api/v1/namespaces/d/pods/x/eviction"),
        ("DELETE", "/api/v1/configmaps"),
        ("POST", "/api/v1/pods"),
        ("DELETE", "/apis/apps/v1/namespaces/d/deployments/x/scale"),
        ("GET", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"),
        ("OPTIONS", "/api/v1/namespaces/d/configmaps"),
        ("HEAD", "/api/v1/namespaces/d/configmaps/a"),
        ("DELETE", "/api/v1/namespaces"),
        ("POST", "/api/v1/watch/configmaps"),
    ],
)
def test_methods_not_allowed(method: str, path: str) -> None:
    assert refused(method, path) == 405


def test_resolve_finds_row_and_subresource() -> None:
    target = resolve(TABLE, parse("POST", "/api/v1/namespaces/d/pods/x/eviction"))
    assert target.row.kind == "Pod"
    assert target.subresource is not None
    assert target.subresource.kind == "Eviction"
    assert resolve(TABLE, parse("GET", "/api/v1/watch/namespaces/d/pods/x")).row.plural == "pods"


@pytest.mark.parametrize(
    ("path", "plain"),
    [
        ("/nosuch", True),
        ("/apis/nosuch.example", True),
        ("/apis/nosuch.example/v1/things", True),
        ("/apis/apps/v9/deployments", False),
        ("/api/v2/pods", False),
        ("/apis/apps/v1/deployments", False),
    ],
)
def test_which_unknown_paths_are_answered_in_plain_text(path: str, plain: bool) -> None:
    assert not_found_is_plain(TABLE, parse("GET", path)) is plain


def test_query_parameters() -> None:
    assert parse_query("labelSelector=a%3Db+c&limit=5&watch&limit=6&&x=") == {
        "labelSelector": ["a=b c"],
        "limit": ["5", "6"],
        "watch": [""],
        "x": [""],
    }
    assert parse_query("") == {}


@pytest.mark.parametrize("row", list(TABLE), ids=lambda row: f"{row.plural}.{row.version}.{row.group}")
def test_path_of_is_the_inverse_of_parse(row: ResourceType) -> None:
    namespace = "ns" if row.namespaced else ""
    info = parse("GET", path_of(row, namespace, "x", "status"))
    assert info == RequestInfo(
        "resource",
        "get",
        info.path,
        "apis" if row.group else "api",
        row.group,
        row.version,
        row.plural,
        namespace,
        "x",
        "status",
    )


@given(st.text(), st.text())
def test_no_path_or_query_is_too_odd(path: str, query: str) -> None:
    info = parse("GET", f"/{path}", parse_query(query))
    assert info.kind


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("/api/v1/namespaces/d/pods/..", "Name parameter invalid: \"..\": may not be '..'"),
        ("/api/v1/namespaces/d/pods/./log", "Name parameter invalid: \".\": may not be '.'"),
        ("/api/v1/nodes/a%25b", "Name parameter invalid: \"a%b\": may not contain '%'"),
        ("/api/v1/namespaces/d/pods//log", "name must be provided"),
        ("/api/v1/namespaces//pods/p", "Namespace parameter required."),
    ],
)
def test_names_that_none_can_have(path: str, message: str) -> None:
    with pytest.raises(ApiError) as caught:
        resolve(TABLE, parse("GET", path))
    assert (caught.value.code, caught.value.message) == (400, message)


@pytest.mark.parametrize("path", ["/api/v1/namespaces/d/configmaps/a", "/api/v1/namespaces/d/configmaps"])
@pytest.mark.parametrize("method", ["DELETE", "POST", "PUT", "PATCH"])
def test_old_watch_paths_only_watch(method: str, path: str) -> None:
    assert refused(method, path.replace("/v1/", "/v1/watch/")) == 405


def test_what_is_wrong_in_a_query_is_left_out() -> None:
    assert parse_query("a=1;b=2&c=%zz&d=%2&%=1&e=%3B&f=+") == {"e": [";"], "f": [" "]}
