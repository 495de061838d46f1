"""What others can see: files, addresses, headers of answers; and tokens that are compared without telling anything."""

from __future__ import annotations

import asyncio
import logging
import os
import stat
from pathlib import Path

import pytest

from kube32_sim.cluster import Cluster
from kube32_sim.kubeconfig import Access, find_access, write_kubeconfig
from kube32_sim.options import OptionError, ServeOptions
from kube32_sim.registry.tokens import Tokens
from kube32_sim.server.authentication import read_tokens, token_to_show
from kube32_sim.server.browsers import NO_PAGE
from kube32_sim.server.exposure import check_exposure
from tests.support.wire import Wire

TOKENS = 'root,admin,1,"system:masters"\nother,ann,2\nroot,eve,3\n'


def tokens_in(directory: Path, mode: int) -> Path:
    path = directory / "tokens.csv"
    path.write_text(TOKENS)
    path.chmod(mode)
    return path


# files


@pytest.mark.parametrize(("mode", "warned"), [(0o600, False), (0o640, False), (0o644, True), (0o666, True)])
def test_a_token_file_that_everybody_can_read_is_warned_of(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, mode: int, warned: bool
) -> None:
    path = tokens_in(tmp_path, mode)
    read_tokens(path)
    told = f"--token-file {path}: every user of this machine can read it; `chmod 600` keeps its secrets"
    assert (told in caplog.messages) is warned


def test_the_same_token_twice_is_warned_of_and_the_last_counts(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tokens_in(tmp_path, 0o600)
    assert read_tokens(path)[b"root"].name == "eve"
    assert caplog.messages == [f"--token-file {path}, line 3: the token of admin again"]


def test_who_administers_nothing_is_told_so(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "tokens.csv"
    for tokens, mode, told in (
        ("t,ann,1\nu,ben,2,devs\n", "RBAC", True),
        ("t,ann,1\nu,ben,2,devs\n", "", False),
        ("t,ann,1\nu,ben,2,devs\n", "AlwaysAllow,RBAC", False),
        ('t,ann,1\nu,ben,2,"devs,system:masters"\n', "RBAC", False),
    ):
        path.write_text(tokens)
        path.chmod(0o600)
        caplog.clear()
        shown = token_to_show(read_tokens(path), ServeOptions(token_file=path, authorization_mode=mode))
        assert shown == (b"u" if "masters" in tokens else b"t")
        expected = f"--token-file {path}: nobody there is in the group system:masters: with --authorization-mode=RBAC"
        assert [message.startswith(expected) for message in caplog.messages] == [True] * told
        assert all(message.endswith("the kubeconfig is ann's") for message in caplog.messages)


def test_a_kubeconfig_is_its_owners_whatever_was_there_before(tmp_path: Path) -> None:
    access = Access("http://127.0.0.1:1", token="secret")
    path = write_kubeconfig(tmp_path / "made" / "config", access)
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    path.chmod(0o666)
    before = path.stat().st_ino
    write_kubeconfig(path, access)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert path.stat().st_ino != before  # who had opened the old one reads nothing new


def test_what_a_link_leads_to_is_replaced_and_not_written_into(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.touch(mode=0o644)
    path = tmp_path / "config"
    path.symlink_to(victim)
    with victim.open() as reader:  # who has it open already sees nothing of what it becomes
        write_kubeconfig(path, Access("http://127.0.0.1:1", token="secret"))
        assert reader.read() == ""
    assert (path.is_symlink(), stat.S_IMODE(victim.stat().st_mode)) == (True, 0o600)
    assert "secret" in victim.read_text()


def test_a_kubeconfig_is_never_readable_while_it_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    replace = os.replace

    def looked_at(source: str, target: Path) -> None:
        seen.append(stat.S_IMODE(os.stat(source).st_mode))
        replace(source, target)

    monkeypatch.setattr(os, "replace", looked_at)
    before = os.umask(0)
    try:
        write_kubeconfig(tmp_path / "config", Access("http://127.0.0.1:1", token="secret"))
    finally:
        os.umask(before)
    assert seen == [0o600]


def test_secrets_are_not_shown_with_what_holds_them() -> None:
    access = Access("http://x", token="marker-1", client_key=b"marker-2", password="marker-3")
    assert "marker" not in repr(access)


def test_a_password_in_a_url_is_not_a_part_of_the_address() -> None:
    access = find_access("https://ann:mark%40er@sim.example.com:6443/base", "", {})
    assert (access.server, access.username) == ("https://sim.example.com:6443/base", "ann")
    assert access.password == "mark@er"
    assert find_access("sim.example.com", "", {}) == Access("http://sim.example.com")


# tokens


def test_tokens_are_compared_by_digest_only(tmp_path: Path) -> None:
    tokens = Tokens(read_tokens(tokens_in(tmp_path, 0o600)), lambda: 0.0, None)  # type: ignore[arg-type]
    assert not any(b"root" in digest or b"other" in digest for digest in tokens._users)
    found = [tokens.known(token) for token in ("other", "othe", "other2", "OTHER", "", "\udce9", "x" * 60_000)]
    assert [known.user.name if known and known.user else None for known in found] == ["ann", *[None] * 6]
    again = Tokens({b"other": read_tokens(tmp_path / "tokens.csv")[b"other"]}, lambda: 0.0, None)  # type: ignore[arg-type]
    assert not set(again._users) & set(tokens._users)  # another key in each process


# addresses


def test_a_name_that_leads_elsewhere_is_refused() -> None:
    options = ServeOptions(host="localhost")
    check_exposure(options, ["127.0.0.1", "::1"])
    with pytest.raises(OptionError, match=r"--host: localhost is 192\.0\.2\.1 here, which other machines reach"):
        check_exposure(options, ["127.0.0.1", "192.0.2.1"])


def test_what_others_reach_is_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    check_exposure(ServeOptions(host="0.0.0.0", allow_anonymous=True), ["0.0.0.0"])
    check_exposure(ServeOptions(host="0.0.0.0", token_file=tmp_path), ["0.0.0.0"])
    check_exposure(ServeOptions(host="0.0.0.0", tls_self_signed=True), ["0.0.0.0"])
    check_exposure(ServeOptions(), ["127.0.0.1"])
    assert [message.partition(" ")[0] for message in caplog.messages] == ["everybody", "who"]


async def test_an_open_server_on_every_address_warns(caplog: pytest.LogCaptureFixture) -> None:
    options = ServeOptions(host="127.0.0.1", port=0, nodes=0, controllers="none")
    caplog.set_level(logging.WARNING)
    async with Cluster(options):
        await asyncio.to_thread(lambda: None)
    assert caplog.messages == []


# answers


@pytest.mark.parametrize(
    "path",
    [
        "/", "/api", "/apis/apps/v1", "/healthz", "/readyz?verbose", "/metrics", "/version", "/openapi/v2", "/nowhere",
        "/openid/v1/jwks", "/api/v1/namespaces", "/api/v1/namespaces/nobody", "/api/v1/namespaces/default/pods/p/log",
        "/favicon.ico",
    ],
)  # fmt: skip
async def test_no_answer_is_a_page(wire: Wire, path: str) -> None:
    answer = await wire("GET", path)
    assert answer.header("Content-Security-Policy") == NO_PAGE
    assert answer.header("X-Content-Type-Options") == "nosniff"
    assert {"cache-control", "server"} & set(answer.headers) == {"cache-control"}
    assert "html" not in answer.header("Content-Type")
    assert not [name for name in answer.headers if name.startswith("access-control-")]


async def test_refusals_and_streams_are_no_pages_either(wire: Wire) -> None:
    refused = await wire("GET", "/api", Host="evil.example", Origin="http://evil.example")
    assert (refused.status, refused.header("Content-Security-Policy")) == (403, NO_PAGE)
    await wire.ask("GET", "/api/v1/namespaces?watch=1")
    assert (await wire.begin()).header("X-Content-Type-Options") == "nosniff"


@pytest.mark.parametrize("junk", [b"<script>x</script>\r\n\r\n", b"GET /<b>x HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"])
async def test_what_is_no_request_gets_no_page(wire: Wire, junk: bytes) -> None:
    await wire.send(junk)
    answer = await wire.answer()
    assert (answer.status, answer.header("Content-Security-Policy")) == (400, NO_PAGE)
    assert answer.header("Content-Type").startswith(("text/plain", "application/json"))
