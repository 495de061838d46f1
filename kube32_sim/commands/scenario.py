"""`kube32-sim scenario`: files of scenarios in, a report out."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from kube32_sim.api.own import API_VERSION
from kube32_sim.commands.answering import as_document, check_output, say
from kube32_sim.durations import format_duration
from kube32_sim.options import CommandError
from kube32_sim.scenarios.reading import files_of, read
from kube32_sim.scenarios.running import Outcome, Report
from kube32_sim.scenarios.running import run as run_scenario
from kube32_sim.scenarios.steps import Scenario
from kube32_sim.terminal import counted, printable

JsonObject = dict[str, Any]


def run(parsed: argparse.Namespace) -> int:
    """The exit code: 0 where all scenarios went as expected, 1 where one did not; CommandError for wrong files."""
    check_output()
    scenarios = _all(parsed.files)
    if parsed.check:
        _say(f"{counted(len(scenarios), 'scenario')} can be run")
        return 0
    reports = []
    for scenario in scenarios:
        quiet = parsed.quiet or parsed.output
        if not quiet:
            _say(scenario.name)
        report = asyncio.run(run_scenario(scenario, (lambda _: None) if quiet else _tell))
        reports.append(report)
        if parsed.quiet and not parsed.output and report.failed:
            _say(scenario.name)
            for outcome in report.failed:
                _tell(outcome)
    if parsed.junit:
        Path(parsed.junit).write_text(junit(reports), encoding="utf-8")
    failed = [report for report in reports if report.failed]
    if parsed.output:
        _print(parsed.output, reports)
    else:
        _say(_summary(reports, failed))
    return 1 if failed else 0


def _all(paths: Sequence[str]) -> list[Scenario]:
    """Everything that is wrong with any of the files is told at once."""
    found, problems = list[Scenario](), []
    for path in files_of(paths):
        try:
            found += read(path)
        except CommandError as error:
            problems.append(str(error))
    if problems:
        raise CommandError("\n".join(problems))
    return found


def _say(line: str) -> None:
    say(f"{printable(line)}\n")


def _tell(outcome: Outcome) -> None:
    mark = "FAILED" if outcome.problem else "ok"
    _say(f"  {_moment(outcome):>9}  {mark:<6}  {outcome.step.text}")
    for line in outcome.problem.splitlines():
        _say(f"{' ' * 21}{line}")


def _moment(outcome: Outcome) -> str:
    return f"+{format_duration(round(outcome.after, 3))}"


def _summary(reports: Sequence[Report], failed: Sequence[Report]) -> str:
    took = sum(report.took for report in reports)
    if failed:
        names = ", ".join(report.scenario.name for report in failed)
        return f"{len(failed)} of {counted(len(reports), 'scenario')} failed in {took:.1f}s: {names}"
    return f"{counted(len(reports), 'scenario')} passed in {took:.1f}s"


def _print(output: str, reports: Sequence[Report]) -> None:
    obj = {"apiVersion": API_VERSION, "kind": "ScenarioReport", "items": [_item(report) for report in reports]}
    say(as_document(obj, output))


def _item(report: Report) -> JsonObject:
    steps = [
        {"step": one.step.text, "where": one.step.where, "after": one.after, "passed": not one.problem}
        | ({"problem": one.problem} if one.problem else {})
        for one in report.outcomes
    ]
    return {
        "name": report.scenario.name,
        "file": str(report.scenario.path),
        "passed": not report.failed,
        "steps": steps,
        "leftOut": report.left_out,
    }


def junit(reports: Sequence[Report]) -> str:
    """The report as CI systems read it: a case a scenario."""
    from xml.etree import ElementTree

    failures = sum(bool(report.failed) for report in reports)
    took = sum(report.took for report in reports)
    counts = {"tests": str(len(reports)), "failures": str(failures), "errors": "0", "time": f"{took:.3f}"}
    suite = ElementTree.Element("testsuite", {"name": "kube32-sim scenario", **counts})
    for report in reports:
        scenario = report.scenario
        named = {"classname": str(scenario.path), "name": scenario.name, "time": f"{report.took:.3f}"}
        case = ElementTree.SubElement(suite, "testcase", named)
        for line in _failure_lines(report):
            ElementTree.SubElement(case, "failure", {"message": line[0]}).text = line[1]
    ElementTree.indent(suite)
    return ElementTree.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def _failure_lines(report: Report) -> Iterator[tuple[str, str]]:
    for one in report.failed:
        shown = "\n".join(map(printable, one.problem.splitlines()))
        yield printable(f"{one.step.where} {one.step.text}, {_moment(one)}"), shown
