"""The bounds as one value: what may be set, from where, and that the document tells all of it."""

from __future__ import annotations

import dataclasses
import re

import pytest

from kube32_sim import cli
from kube32_sim.arguments import build_parser
from kube32_sim.cluster import Cluster
from kube32_sim.limits import DEFAULTS, Limits
from kube32_sim.option_fields import flag, taken
from kube32_sim.storage.interface import Compacted
from tests.support.objects import MAPS
from tests.support.servers import CLONE

NAMES = [bound.name for bound in dataclasses.fields(Limits)]
UNITS = {"KiB": 1 << 10, "MiB": 1 << 20, "s": 1, "min": 60}


@pytest.mark.parametrize("name", NAMES)
def test_none_may_be_nothing(name: str) -> None:
    with pytest.raises(ValueError, match=rf"^{flag(name)}: 0 is less than "):
        Limits(**{name: 0})


def test_the_command_line_has_the_same_defaults() -> None:
    values = vars(build_parser().parse_args(["serve"]))
    assert taken(Limits, values) == DEFAULTS
    assert not values.keys() & set(NAMES)


def test_what_cannot_be_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.run(["serve", "--max-watches", "0"])
    assert "--max-watches: 0 is less than 1" in capsys.readouterr().err


async def test_the_history_is_as_long_as_it_was_said() -> None:
    limits = Limits(watch_history_events=5, watch_history_bytes=1 << 20, watch_history_duration=60)
    async with Cluster(port=0, nodes=0, controllers="none", clock="virtual", limits=limits) as cluster:
        for number in range(10):
            await cluster.client.create(MAPS, "default", {"metadata": {"name": f"c{number}"}})
        kept = cluster.store.events_since(("", "configmaps"), cluster.store.oldest(("", "configmaps")))
        assert [event.stored.name for event in kept] == ["c5", "c6", "c7", "c8", "c9"]
        await cluster.advance(61)
        await cluster.client.create(MAPS, "default", {"metadata": {"name": "late"}})
        with pytest.raises(Compacted):
            cluster.store.events_since(("", "configmaps"), kept[-1].revision - 1)


@pytest.mark.parametrize("name", NAMES)
def test_the_document_tells_of_each(name: str) -> None:
    rows = (CLONE / "docs/limits.md").read_text(encoding="utf-8").splitlines()
    (row,) = (row for row in rows if f"`{flag(name)}`" in row)
    number, unit = re.fullmatch(r"([\d.,]+)(?: to \d+)?(?: (\w+))?", row.split("|")[2].strip()).groups()  # type: ignore[union-attr]
    assert float(number.replace(",", "")) * UNITS.get(unit or "", 1) == getattr(DEFAULTS, name)
