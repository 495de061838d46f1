"""The parts in which objects are sent: all of them, in order, each made while the simulator looks at the one before."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson
import pytest

from kube32_sim.api.errors import ApiError
from kube32_sim.options import CommandError
from kube32_sim.snapshot import loading
from kube32_sim.snapshot.loading import Loaded, Options, load
from kube32_sim.snapshot.reading import Objects, Source
from tests.snapshot.loads import config_map
from tests.support.waiting import eventually

JsonObject = dict[str, Any]


class Lines(list[bytes]):
    """taken: how many of them were put into parts."""

    taken = 0

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice):
            self.taken = place.stop
        return super().__getitem__(place)


class Simulator:
    """Answers parts.  wrong: the line at which it finds something, counted from 0.  sent: the specs that came."""

    def __init__(self, lines: Lines, wrong: int = -1) -> None:
        self.sent: list[JsonObject] = []
        self.ahead: list[int] = []
        """How many lines were put into the next part while one was looked at."""
        self._lines, self._wrong = lines, wrong

    async def ask(
        self, method: str, path: str, query: Mapping[str, str] | None = None, *, body: JsonObject | None = None
    ) -> JsonObject:
        assert body is not None
        spec = body["spec"]
        first = sum(len(other["lines"].splitlines()) for other in self.sent)
        self.sent.append(spec)
        after = first + len(spec["lines"].splitlines())
        if after < len(self._lines):
            await eventually(lambda: self._lines.taken > after, "the next part is made")
            self.ahead.append(self._lines.taken - after)
        if first <= self._wrong < after:
            cause = {"field": f"spec.lines[{self._wrong}].data", "message": "is wrong"}
            raise ApiError(422, "Invalid", "", {"causes": [cause]})
        return {"status": {"loaded": after}}


@pytest.fixture
def lines(monkeypatch: pytest.MonkeyPatch) -> Lines:
    """Seven, of which three make a part."""
    made = Lines(orjson.dumps(config_map(f"c-{number}")) for number in range(7))
    monkeypatch.setattr(loading, "PART", 4 * len(made[0]))
    return made


async def send(simulator: Simulator, lines: Lines) -> Loaded:
    objects = Objects(lines, [Source("a.jsonl", number) for number, _ in enumerate(lines, 1)], {"complete": True})
    return await load(simulator, "test", objects, Options("Skip"), lambda sent: None)


async def test_a_part_is_made_while_the_one_before_is_looked_at(lines: Lines) -> None:
    simulator = Simulator(lines)
    assert (await send(simulator, lines)).loaded == 7
    assert simulator.ahead == [3, 1]
    assert [spec["part"] for spec in simulator.sent] == [0, 1, 2]
    assert [spec["more"] for spec in simulator.sent] == [True, True, False]
    assert "\n".join(spec["lines"] for spec in simulator.sent).encode().split(b"\n") == lines
    *parts, last = simulator.sent
    assert (last["onConflict"], last["complete"]) == ("Skip", True)
    assert all("onConflict" not in part for part in parts)


async def test_nothing_is_stored_where_an_earlier_part_had_a_problem(lines: Lines) -> None:
    simulator = Simulator(lines, wrong=4)
    with pytest.raises(CommandError, match=r"a.jsonl, line 5: data: is wrong\nnothing was loaded"):
        await send(simulator, lines)
    assert [spec["more"] for spec in simulator.sent] == [True, True, True]


async def test_files_with_nothing_in_them_are_one_part() -> None:
    lines = Lines()
    simulator = Simulator(lines)
    assert (await send(simulator, lines)).loaded == 0
    assert [spec["lines"] for spec in simulator.sent] == [""]
