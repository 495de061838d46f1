"""docs/operators/kubeconfig.sh: who one is with the file that it writes, and when it writes none."""

from __future__ import annotations

import subprocess
from pathlib import Path

import yaml

from tests.support.documents import user_environment
from tests.support.kubectl import Kubectl
from tests.support.operators import OPERATORS

SCRIPT = OPERATORS / "kubeconfig.sh"


def asked(admin: Path, home: Path, *arguments: str) -> tuple[int, str]:
    """Its exit code and stderr; it runs in `home`."""
    done = subprocess.run(
        ["sh", str(SCRIPT), *arguments],
        check=False,
        capture_output=True,
        text=True,
        cwd=home,
        env=user_environment(home, admin),
        timeout=60,
    )
    return done.returncode, done.stderr


def test_one_is_the_account_and_nobody_else(admin: Kubectl) -> None:
    before = admin.kubeconfig.read_text()
    assert asked(admin.kubeconfig, admin.home, "-n", "kube-public", "default", "it") == (0, "")
    made = admin.home / "it"
    assert made.stat().st_mode & 0o777 == 0o600
    access = yaml.safe_load(made.read_text())
    assert [user["name"] for user in access["users"]] == ["default"]
    assert [context["context"]["namespace"] for context in access["contexts"]] == ["kube-public"]
    name = "-o=jsonpath={.status.userInfo.username}"
    assert Kubectl(made, admin.home)("auth", "whoami", name) == "system:serviceaccount:kube-public:default"
    assert admin.kubeconfig.read_text() == before


def test_no_file_of_an_account_that_is_not_there(admin: Kubectl) -> None:
    refused = asked(admin.kubeconfig, admin.home, "nobody", "it")
    assert refused == (1, 'error: failed to create token: serviceaccounts "nobody" not found\n')
    assert not list(admin.home.glob("it*"))


def test_no_file_for_a_server_to_which_kubectl_sends_no_token(admin: Kubectl) -> None:
    access = yaml.safe_load(admin.kubeconfig.read_text())
    access["clusters"][0]["cluster"] = {"server": "http://127.0.0.1:1"}
    plain = admin.home / "plain"
    plain.write_text(yaml.safe_dump(access))
    code, told = asked(plain, admin.home, "default", "it")
    assert (code, told.endswith("start the simulator with --tls-self-signed\n")) == (1, True), told
    assert not list(admin.home.glob("it*"))
