"""Scenarios: YAML files that say what happens to a cluster when, and what has to be so then (docs/scenarios.md).

`reading` checks a file and makes a `Scenario` of it, `steps` has what a step can be, `running` runs it
on a virtual clock.
"""
