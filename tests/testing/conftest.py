"""A suite of somebody else's, to be written and run."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.plugin import Suite


@pytest.fixture
def suite(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> Suite:
    entry: Path = tmp_path_factory.mktemp("entry")
    return Suite(pytester, monkeypatch, entry)
