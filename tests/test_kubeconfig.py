"""Kubeconfigs: the one written can be read by us and by the official client, and nobody's own is overwritten."""

import base64
import os
import stat
from pathlib import Path

import pytest
import yaml

from kube32_sim.kubeconfig import (
    Access,
    KubeconfigError,
    find_access,
    find_servers,
    full_path,
    read_access,
    write_kubeconfig,
)
from kube32_sim.options import OptionError


def test_what_is_written_reads_back(tmp_path: Path) -> None:
    access = Access("https://127.0.0.1:6443", token="secret", ca=b"-----BEGIN CERTIFICATE-----\n")
    path = write_kubeconfig(tmp_path / "deep" / "config", access)
    assert read_access([path]) == access
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert os.listdir(path.parent) == ["config"]


def test_the_official_client_reads_it(tmp_path: Path) -> None:
    from kubernetes import config

    path = write_kubeconfig(tmp_path / "config", Access("http://127.0.0.1:1234", token="secret"))
    client = config.new_client_from_config(str(path))
    assert client.configuration.host == "http://127.0.0.1:1234"


@pytest.mark.parametrize(("server", "told"), [("http://127.0.0.1:1", True), ("https://127.0.0.1:1", None)])
def test_clients_are_told_that_there_is_no_tls(tmp_path: Path, server: str, told: bool | None) -> None:
    """Node's client refuses a server without TLS otherwise."""
    document = yaml.safe_load(write_kubeconfig(tmp_path / "config", Access(server)).read_text())
    assert document["clusters"][0]["cluster"].get("insecure-skip-tls-verify") is told


def test_a_home_folder_is_expanded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert write_kubeconfig(Path("~/.kube/kube32-sim"), Access("http://x")) == tmp_path / ".kube" / "kube32-sim"


def test_its_own_file_is_overwritten(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    write_kubeconfig(tmp_path / "config", Access("http://127.0.0.1:1"))
    write_kubeconfig(tmp_path / "config", Access("http://127.0.0.1:1", token="other"))
    assert caplog.messages == []
    write_kubeconfig(tmp_path / "config", Access("http://127.0.0.1:2"))
    assert read_access([tmp_path / "config"]).server == "http://127.0.0.1:2"
    (message,) = caplog.messages
    assert message.startswith(f"{tmp_path / 'config'} pointed to http://127.0.0.1:1 before")


def test_the_full_path_is_answered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert write_kubeconfig(Path("./deep/config"), Access("http://x")) == tmp_path / "deep" / "config"


def test_the_way_there_is_told_without_detours(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "target")
    assert write_kubeconfig(tmp_path / "a" / ".." / "new", Access("http://x")) == tmp_path / "new"
    assert full_path(tmp_path / "a" / ".." / "link") == tmp_path / "link"


def test_an_empty_file_is_overwritten(tmp_path: Path) -> None:
    (tmp_path / "config").touch()
    write_kubeconfig(tmp_path / "config", Access("http://127.0.0.1:2"))
    assert read_access([tmp_path / "config"]).server == "http://127.0.0.1:2"


@pytest.mark.parametrize(
    "text", ["clusters: [{name: production, cluster: {server: 'https://prod'}}]", "- a list", "just: [broken"]
)
def test_anything_else_is_left_alone(tmp_path: Path, text: str) -> None:
    path = tmp_path / "config"
    path.write_text(text)
    with pytest.raises(KubeconfigError, match=str(path)):
        write_kubeconfig(path, Access("http://127.0.0.1:2"))
    assert path.read_text() == text


def test_where_it_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(KubeconfigError, match="cannot write the kubeconfig"):
        write_kubeconfig(tmp_path / "file" / "config", Access("http://127.0.0.1:2"))


def config(server: str, name: str = "c") -> dict[str, object]:
    return {
        "current-context": name,
        "clusters": [{"name": name, "cluster": {"server": server}}],
        "users": [{"name": name, "user": {"token": f"token-of-{name}"}}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
    }


def write(path: Path, document: object) -> Path:
    path.write_text(yaml.safe_dump(document))
    return path


def test_the_order_in_which_a_server_is_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".kube").mkdir()
    write(tmp_path / ".kube" / "kube32-sim", config("http://default"))
    one, other = write(tmp_path / "one", config("http://one")), write(tmp_path / "other", config("http://other"))
    environ = {"KUBECONFIG": str(other)}
    assert find_access("http://given", str(one), environ).server == "http://given"
    assert find_access("127.0.0.1:6443", "", environ).server == "http://127.0.0.1:6443"
    assert find_access("", str(one), environ).server == "http://one"
    assert find_access("", "", environ).server == "http://other"
    assert find_access("", "", {}).server == "http://default"


def test_several_files_are_merged(tmp_path: Path) -> None:
    first = write(tmp_path / "first", {"current-context": "b"})
    second = write(tmp_path / "second", config("http://b", "b"))
    third = write(tmp_path / "third", config("http://another-b", "b"))
    environ = {"KUBECONFIG": os.pathsep.join(str(path) for path in (first, tmp_path / "missing", second, third))}
    assert find_access("", "", environ) == Access("http://b", token="token-of-b")


def test_files_named_in_it_belong_to_its_folder(tmp_path: Path) -> None:
    document = config("https://x")
    document["clusters"] = [{"name": "c", "cluster": {"server": "https://x", "certificate-authority": "ca.pem"}}]
    document["users"] = [
        {"name": "c", "user": {"tokenFile": "token", "client-certificate-data": base64.b64encode(b"C").decode()}}
    ]
    (tmp_path / "ca.pem").write_bytes(b"CA")
    (tmp_path / "token").write_text("secret\n")
    assert read_access([write(tmp_path / "config", document)]) == Access(
        "https://x", token="secret", ca=b"CA", client_certificate=b"C"
    )


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"current-context": ""}, "has no current-context"),
        ({"current-context": "missing"}, "has no context 'missing'"),
        ({"clusters": []}, "has no cluster 'c'"),
        ({"clusters": "many"}, "clusters is no list"),
        ({"clusters": [{"name": "c", "cluster": {}}]}, "has no server"),
        ({"users": [{"name": "c", "user": {"exec": {"command": "login"}}}]}, "uses exec for credentials"),
        ({"users": [{"name": "c", "user": {"tokenFile": "missing"}}]}, "cannot read tokenFile"),
        ({"users": [{"name": "c", "user": {"as": "somebody"}}]}, "uses as to act as somebody else"),
        ({"users": [{"name": "c", "user": {"token": [1]}}]}, "token is no text"),
        ({"users": [{"name": "c", "user": {"username": "a:b", "password": "x"}}]}, "username has a colon"),
        ({"clusters": [{"name": "c", "cluster": {"server": "http://x", "proxy-url": "y"}}]}, "uses proxy-url"),
        (
            {"clusters": [{"name": "c", "cluster": {"server": "https://x", "insecure-skip-tls-verify": "false"}}]},
            "insecure-skip-tls-verify is neither true nor false",
        ),
        ({"contexts": [{"name": "c", "context": {"cluster": ["c"]}}]}, "is no name of a cluster"),
        ({"contexts": [{"name": "c", "context": {"cluster": "c", "namespace": 7}}]}, "namespace is no text"),
        (
            {"users": [{"name": "c", "user": {"client-key-data": "%"}}]},
            "client-key-data in the kubeconfig is not base64",
        ),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, change: dict[str, object], complaint: str) -> None:
    path = write(tmp_path / "config", config("http://x") | change)
    with pytest.raises(KubeconfigError, match=complaint):
        read_access([path])


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(KubeconfigError, match=f"cannot read the kubeconfig {tmp_path}/none: No such file"):
        find_access("", str(tmp_path / "none"))


def test_several_servers_of_one_cluster(tmp_path: Path) -> None:
    one, other = (write(tmp_path / name, config(f"http://{name}")) for name in ("one", "other"))

    def found(servers: list[str], kubeconfigs: list[str]) -> list[str]:
        return [access.server for access in find_servers(servers, kubeconfigs, {"KUBECONFIG": str(one)})]

    assert found(["a:1,http://b", "c"], []) == ["http://a:1", "http://b", "http://c"]
    assert found(["a,http://b/", "b, a"], []) == ["http://a", "http://b/"]
    assert found([], [str(other), str(one)]) == ["http://other", "http://one"]
    assert found([], []) == found([""], [""]) == ["http://one"]
    with pytest.raises(OptionError, match=r"^--server: 'a,,b' has an empty address"):
        found(["a,,b"], [])
