"""Scenarios as tests of pytest: each document of a `*.scenario.yaml` is one."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from kube32_sim.durations import format_duration
from kube32_sim.options import CommandError
from kube32_sim.scenarios.reading import read
from kube32_sim.scenarios.running import Report, run
from kube32_sim.scenarios.steps import Scenario
from kube32_sim.terminal import printable


class ScenarioFailed(Exception):
    """A step did not go as expected."""

    def __init__(self, report: Report) -> None:
        super().__init__(report.scenario.name)
        self.report = report

    def lines(self) -> Iterator[str]:
        """What was done, and what was otherwise in the end."""
        for one in self.report.outcomes:
            after = f"+{format_duration(round(one.after, 3))}"
            yield printable(f"{after:>9}  {'FAILED' if one.problem else 'ok':<6}  {one.step.text}")
            for line in one.problem.splitlines():
                yield printable(f"{' ' * 19}{line}")


class ScenarioFile(pytest.File):
    def collect(self) -> Iterator[pytest.Item]:
        try:
            found = read(self.path)
        except CommandError as error:
            raise self.CollectError(str(error)) from None
        for scenario in found:
            yield ScenarioItem.from_parent(self, name=scenario.name, scenario=scenario)


class ScenarioItem(pytest.Item):
    def __init__(self, *, scenario: Scenario, **more: Any) -> None:
        super().__init__(**more)
        self._scenario = scenario

    def runtest(self) -> None:
        report = asyncio.run(run(self._scenario))
        if report.failed:
            raise ScenarioFailed(report)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        if isinstance(excinfo.value, ScenarioFailed):
            return "\n".join(excinfo.value.lines())
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Any, int | None, str]:
        return self.path, None, self.name
