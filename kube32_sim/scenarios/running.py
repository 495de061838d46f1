"""Runs a scenario in a private cluster on a virtual clock."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from kube32_sim.api.errors import ApiError
from kube32_sim.blocking.acting import Acts
from kube32_sim.clock import RealClock
from kube32_sim.cluster import Cluster
from kube32_sim.durations import format_duration
from kube32_sim.options import ServeOptions
from kube32_sim.scenarios.steps import Failed, Scenario, Step


@dataclass(frozen=True, slots=True)
class Outcome:
    """Of a step.  after: seconds since the beginning, when it was done.  problem: "" where all went well."""

    step: Step
    after: float
    problem: str = ""


@dataclass(slots=True)
class Report:
    """took: seconds of real time."""

    scenario: Scenario
    outcomes: list[Outcome] = field(default_factory=list)
    took: float = 0.0

    @property
    def failed(self) -> Sequence[Outcome]:
        return [one for one in self.outcomes if one.problem]

    @property
    def left_out(self) -> int:
        """Steps that were not done since one before had failed."""
        return len(self.scenario.steps) - len(self.outcomes)


async def run(scenario: Scenario, told: Callable[[Outcome], object] = id) -> Report:
    """Run it up to the first step that fails.  told: called after each step."""
    report, real = Report(scenario), RealClock()
    begun = real.steady()
    async with Cluster(ServeOptions(port=0, clock="virtual"), **scenario.options) as cluster:
        await cluster.settle()
        acts, start = Acts(cluster), cluster.clock.now()
        for step in scenario.steps:
            problem = await _done(step, acts, start)
            outcome = Outcome(step, round(cluster.clock.now() - start, 6), problem)
            report.outcomes.append(outcome)
            told(outcome)
            if problem:
                break
    report.took = real.steady() - begun
    return report


async def _done(step: Step, acts: Acts, start: float) -> str:
    """What went wrong, or ""."""
    clock = acts.cluster.clock
    if step.at is not None:
        left = start + step.at - clock.now()
        if left < -1e-6:
            passed = format_duration(round(clock.now() - start, 3))
            return f"at: {format_duration(step.at)} has passed already: it is {passed} since the beginning"
        if left > 0:
            await acts.advance(left)
    await acts.settle()
    try:
        await step.action.do(acts)
    except Failed as error:
        return str(error)
    except ApiError as error:
        return f"it was refused: {error.message}"
    except ValueError as error:
        return str(error)
    return ""
