"""Who may call: token files and their errors, unknown and missing tokens, tokens of ServiceAccounts."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from kube32_sim.client import Resource
from kube32_sim.cluster import Cluster
from kube32_sim.options import OptionError, ServeOptions
from kube32_sim.server.authentication import TokenFileError, read_tokens
from kube32_sim.server.token_lines import LineError, records
from tests.support.wire import Answer, connected

ACCOUNTS = Resource("", "v1", "serviceaccounts")
TOKENS = """# who may call
root,admin,1,"system:masters"

dev-token, dev , 2, "developers, testers"
nobody-token,nobody,3
"""


def written(directory: Path, text: str | bytes) -> Path:
    path = directory / "tokens.csv"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def options(tokens: Path) -> ServeOptions:
    return ServeOptions(
        port=0, nodes=0, controllers="none", authorization_mode="AlwaysAllow", token_file=tokens, clock="virtual"
    )


@pytest_asyncio.fixture
async def guarded(tmp_path: Path) -> AsyncIterator[Cluster]:
    """A server that asks for tokens, on a virtual clock."""
    async with Cluster(options(written(tmp_path, TOKENS))) as cluster:
        yield cluster


async def ask(cluster: Cluster, path: str, authorization: str = "", method: str = "GET", body: object = None) -> Answer:
    headers = {"Authorization": authorization} if authorization else {}
    async with connected(cluster.port) as wire:
        return await wire(method, path, body, **headers)


def test_a_token_file(tmp_path: Path) -> None:
    tokens = read_tokens(written(tmp_path, TOKENS))
    assert set(tokens) == {b"root", b"dev-token", b"nobody-token"}
    assert tokens[b"root"].groups == ("system:masters", "system:authenticated")
    assert tokens[b"dev-token"].groups == ("developers", "testers", "system:authenticated")
    assert (tokens[b"nobody-token"].name, tokens[b"nobody-token"].uid) == ("nobody", "3")


def test_a_token_file_as_windows_writes_it(tmp_path: Path) -> None:
    text = b"\xef\xbb\xbf" + TOKENS.replace("# who may call\n", "").replace("\n", "\r\n").encode()
    assert set(read_tokens(written(tmp_path, text))) == {b"root", b"dev-token", b"nobody-token"}


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("a,b,c\nonly-a-token\n", "line 2: expected token,user,uid"),
        ("\n\na,b,c\n,user,1\n", "line 4: expected token,user,uid"),
        ("a,,1", "line 1: expected token,user,uid"),
        ('t1,ann,1,"dev\nt2,bob,2,"system:masters,ops"\n', "line 1: a quote"),
        ("a,b," + "c" * 200_000, "line 1: field larger than field limit"),
        ("", "no tokens in it"),
        ("# nothing\n", "no tokens in it"),
        (b"a,b,\xff", "no UTF-8 text"),
    ],
)
def test_a_bad_token_file_is_named_with_its_line(tmp_path: Path, text: str | bytes, where: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(TokenFileError) as caught:
        read_tokens(path)
    assert str(caught.value).startswith(f"--token-file {path}")
    assert where in str(caught.value)


@pytest.mark.parametrize(
    ("line", "fields"),
    [
        ("a,b,1", ["a", "b", "1"]),
        ('a,b,1,"x,y"', ["a", "b", "1", "x,y"]),
        ('a, b, 1, "x, y"\r', ["a", "b", "1", "x, y"]),
        ('"a","b ""c""",1', ["a", 'b "c"', "1"]),
        ('a,b,"",""', ["a", "b", "", ""]),
        ("a,b,", ["a", "b", ""]),
        ("a,b, 1\t", ["a", "b", "1\t"]),
        ("ä,ö,1,ü\u200dx", ["ä", "ö", "1", "ü\u200dx"]),
        ('# a "comment', None),
        (" # another", None),
        (" \t", None),
        ('a,b,1,"x', "a quote"),
        ('a,b,1,x"', "a quote"),
        ('a,b,1,x"y', "a quote"),
        ('a,b,1,"x"y', "a quote"),
        ('a,b,1,"x" ,z', "a quote"),
        ('a,b,1,\t"x,y"', "a quote"),
        ('a,b,1,"x""', "a quote"),
        ('a,b"c",1,"x,y"', "a quote"),
        ("a,b,1," + '"' * 99_999, "a quote"),
        ("a,b," + "c" * 200_000, "field larger than field limit"),
        ("a,b\tc,1", "a tab in a field"),
        ("a\rb,c,1", "control characters in it"),
        ('a,b,1,"x\x00"', "control characters in it"),
        ("a,b,1,x\x1b[2J", "control characters in it"),
        ("a,b,1,x\u2028y", "control characters in it"),
        ("a,b,1,x\x85y", "control characters in it"),
    ],
)
def test_lines_of_a_token_file(line: str, fields: list[str] | str | None) -> None:
    text = f"\n{line}\nnext,user,2\n"
    if isinstance(fields, str):
        with pytest.raises(LineError, match=f"^line 2: {fields}"):
            list(records(text))
    else:
        assert list(records(text)) == [*([(2, fields)] if fields else []), (3, ["next", "user", "2"])]


def test_groups_without_quotes_are_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    tokens = read_tokens(written(tmp_path, "t,ann,1,dev,ops\n"))
    assert tokens[b"t"].groups == ("dev", "system:authenticated")
    assert "line 1: what stands behind the groups is ignored" in caplog.text


def test_a_token_file_that_is_not_there(tmp_path: Path) -> None:
    for path, why in ((tmp_path / "none", "No such file"), (tmp_path, "Is a directory")):
        with pytest.raises(TokenFileError, match=why):
            read_tokens(path)


async def test_a_known_token_opens_everything(guarded: Cluster) -> None:
    for given in ("Bearer root", "bearer root", "Bearer  nobody-token "):
        assert (await ask(guarded, "/api/v1/nodes", given)).status == 200


@pytest.mark.parametrize("token", ["wrong", "root2", "roo", "é", "a.b.c", "....", "e30.e30.e30"])
async def test_an_unknown_token_is_401(guarded: Cluster, token: str) -> None:
    for path in ("/api/v1/nodes", "/healthz", "/nowhere"):
        answer = await ask(guarded, path, f"Bearer {token}")
        assert (answer.status, answer.json()["reason"]) == (401, "Unauthorized")


@pytest.mark.parametrize("authorization", ["", "Basic cm9vdDpyb290", "Bearer", "root"])
async def test_without_a_token_one_may_only_look_at_health_and_version(guarded: Cluster, authorization: str) -> None:
    for path in ("/healthz", "/readyz", "/livez", "/version"):
        assert (await ask(guarded, path, authorization)).status == 200
    for path in (
        "/api",
        "/apis",
        "/metrics",
        "/openapi/v3",
        "/nowhere",
        "/version/../api/v1/secrets",
        "/healthz/../api",
    ):
        answer = await ask(guarded, path, authorization)
        assert answer.status == 403, path
    refused = (await ask(guarded, "/api/v1/namespaces/default/pods/p/log", authorization)).json()
    who = 'pods "p" is forbidden: User "system:anonymous" cannot get resource "pods/log" in API group ""'
    assert refused["message"] == f'{who} in the namespace "default"'
    assert (await ask(guarded, "/api/v1/pods?watch=1", authorization)).status == 403
    assert (await ask(guarded, "/api/v1/namespaces", authorization, "POST", {})).status == 403


async def test_a_service_account_may_call_until_its_token_ends(guarded: Cluster) -> None:
    await guarded.client.create(ACCOUNTS, "default", {"metadata": {"name": "robot"}})
    path = "/api/v1/namespaces/default/serviceaccounts/robot/token"
    made = await ask(guarded, path, "Bearer root", "POST", {"spec": {"expirationSeconds": 600}})
    token = made.json()["status"]["token"]
    me = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
    review = await ask(guarded, me, f"Bearer {token}", "POST", {})
    assert review.json()["status"]["userInfo"]["username"] == "system:serviceaccount:default:robot"
    assert (await ask(guarded, "/api/v1/nodes", f"Bearer {token[:-2]}")).status == 401
    head, claims, signature = token.split(".")
    assert (await ask(guarded, "/api/v1/nodes", f"Bearer {head}.{claims}e30.{signature}")).status == 401
    await guarded.clock.advance(599)  # type: ignore[attr-defined]
    assert (await ask(guarded, "/api/v1/nodes", f"Bearer {token}")).status == 200
    await guarded.clock.advance(2)  # type: ignore[attr-defined]
    assert (await ask(guarded, "/api/v1/nodes", f"Bearer {token}")).status == 401


async def test_a_token_ends_with_its_service_account(guarded: Cluster) -> None:
    path = "/api/v1/namespaces/default/serviceaccounts/robot/token"
    await guarded.client.create(ACCOUNTS, "default", {"metadata": {"name": "robot"}})
    token = (await ask(guarded, path, "Bearer root", "POST", {})).json()["status"]["token"]
    assert (await ask(guarded, "/api/v1/nodes", f"Bearer {token}")).status == 200
    await guarded.client.delete(ACCOUNTS, "default", "robot")
    assert (await ask(guarded, "/api/v1/nodes", f"Bearer {token}")).status == 401
    await guarded.client.create(ACCOUNTS, "default", {"metadata": {"name": "robot"}})
    assert (await ask(guarded, "/api/v1/nodes", f"Bearer {token}")).status == 401


@pytest.mark.parametrize("kind", ["ServiceAccount", "Namespace", ""])
async def test_a_token_is_bound_to_nothing_strange(guarded: Cluster, kind: str) -> None:
    path = "/api/v1/namespaces/default/serviceaccounts/robot/token"
    await guarded.client.create(ACCOUNTS, "default", {"metadata": {"name": "robot"}})
    reference = {"apiVersion": "v1", "kind": kind, "name": "x", "uid": "y"}
    spec = {"boundObjectRef": reference}
    refused = await ask(guarded, path, "Bearer root", "POST", {"spec": spec})
    assert (refused.status, refused.json()["message"]) == (400, f"cannot bind token to object of type /v1, Kind={kind}")
    reference |= {"kind": "Secret", "uid": ""}
    await guarded.client.create(Resource("", "v1", "secrets"), "default", {"metadata": {"name": "x"}})
    token = (await ask(guarded, path, "Bearer root", "POST", {"spec": spec})).json()["status"]["token"]
    assert (await ask(guarded, "/api/v1/nodes", f"Bearer {token}")).status == 200


@pytest.mark.parametrize(
    ("method", "path", "what", "where"),
    [
        ("GET", "/api/v1/namespaces/a", 'namespaces "a": get "namespaces"', ' in the namespace "a"'),
        (
            "PUT",
            "/api/v1/namespaces/a/finalize",
            'namespaces "a": update "namespaces/finalize"',
            ' in the namespace "a"',
        ),
        ("GET", "/api/v1/nodes?fieldSelector=metadata.name%3Dn", 'nodes "n": list "nodes"', " at the cluster scope"),
        ("GET", "/api/v1/nodes?fieldSelector=what", 'nodes: list "nodes"', " at the cluster scope"),
        ("DELETE", "/api/v1/nodes?fieldSelector=x%3Dn", 'nodes: deletecollection "nodes"', " at the cluster scope"),
    ],
)
async def test_what_anonymous_callers_are_told(guarded: Cluster, method: str, path: str, what: str, where: str) -> None:
    about, _, asked = what.partition(": ")
    verb, _, resource = asked.partition(" ")
    refused = await ask(guarded, path, "", method)
    message = f'{about} is forbidden: User "system:anonymous" cannot {verb} resource {resource} in API group ""{where}'
    assert (refused.status, refused.json()["message"]) == (403, message)


async def test_without_a_token_file_everybody_is_an_administrator(bare: Cluster) -> None:
    for given in ("", "Bearer whatever", "Basic x"):
        assert (await ask(bare, "/api/v1/nodes", given)).status == 200


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.org"])
def test_an_open_server_is_not_offered_to_other_machines(tmp_path: Path, host: str) -> None:
    with pytest.raises(OptionError, match="--allow-anonymous"):
        ServeOptions(host=host)
    ServeOptions(host=host, allow_anonymous=True)
    ServeOptions(host=host, token_file=written(tmp_path, TOKENS))


async def whoami(cluster: Cluster, **headers: str) -> dict[str, object]:
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    async with connected(cluster.port) as wire:
        answer = await wire("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", review, **headers)
    info = answer.json()["status"]["userInfo"] if answer.status == 201 else {}
    return {"code": answer.status, **info}


async def test_an_administrator_may_act_as_somebody_else(guarded: Cluster) -> None:
    as_ann = {
        "Authorization": "Bearer root",
        "Impersonate-User": "ann",
        "Impersonate-Group": "devs",
        "Impersonate-Extra-team%2Fx": "y",
    }
    assert await whoami(guarded, **as_ann) == {
        "code": 201,
        "username": "ann",
        "groups": ["devs", "system:authenticated"],
        "extra": {"team/x": ["y"]},
    }
    account = await whoami(
        guarded, Authorization="Bearer root", **{"Impersonate-User": "system:serviceaccount:kube-system:sa"}
    )
    assert account["groups"] == ["system:serviceaccounts", "system:serviceaccounts:kube-system", "system:authenticated"]


async def test_who_acts_as_nobody_may_do_nothing(guarded: Cluster) -> None:
    assert await whoami(guarded, Authorization="Bearer root", **{"Impersonate-User": "system:anonymous"}) == {
        "code": 403
    }


async def test_groups_without_a_user_and_strangers_are_refused(guarded: Cluster) -> None:
    assert await whoami(guarded, Authorization="Bearer root", **{"Impersonate-Group": "devs"}) == {"code": 400}
    assert await whoami(guarded, **{"Impersonate-User": "admin"}) == {"code": 403}


@pytest.mark.parametrize("header", ["Impersonate-Uid", "Impersonate-Extra-team"])
async def test_parts_of_a_user_without_a_user_are_refused(guarded: Cluster, header: str) -> None:
    assert await whoami(guarded, Authorization="Bearer root", **{header: "x"}) == {"code": 400}
