"""docs/commands.md, made of the parser and of the definitions of our own types: `python -m tests.support.reference`."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from typing import Any

from kube32_sim.api.own import API_VERSION, PREFIX, definitions
from kube32_sim.arguments import COMMANDS, PROGRAM, build_parser
from tests.support.servers import CLONE

PAGE = CLONE / "docs/commands.md"
HEAD = """# All commands and all types of the simulator's own

This page is made from the code; [reference.md](reference.md) explains. `kube32-sim COMMAND --help` says the same.

"""


def made() -> str:
    """The page."""
    os.environ.pop(PROGRAM, None)
    lines = [*_commands(), "## Types", "", f"All are of `{API_VERSION}`.", "", *_types()]
    return HEAD + "\n".join(lines).rstrip() + "\n"


def _commands() -> Iterator[str]:
    (commands,) = (one for one in build_parser()._actions if isinstance(one, argparse._SubParsersAction))
    for name in COMMANDS:
        yield from _command(f"kube32-sim {name}", commands.choices[name], "##")


def _command(title: str, parser: argparse.ArgumentParser, heading: str) -> Iterator[str]:
    """A command, its positional arguments and options, and its actions."""
    yield from (f"{heading} `{title}`", "", _cell(parser.description or ""), "")
    actions = [one for one in parser._actions if isinstance(one, argparse._SubParsersAction)]
    if not actions:
        yield from ("```text", " ".join(parser.format_usage().split()).removeprefix("usage: "), "```", "")
    others = (argparse._SubParsersAction, argparse._HelpAction)
    rows = [_row(one) for one in parser._actions if not isinstance(one, others)]
    if rows:
        yield from ("| argument | default | what it does |", "| --- | --- | --- |", *rows, "")
    for action in actions:
        for name, one in action.choices.items():
            yield from _command(f"{title} {name}", one, heading + "#")


def _row(action: argparse.Action) -> str:
    text = str(action.help or "") % {"default": action.default}
    what, _, default = text.removesuffix(")").partition(" (default: ")
    if not default:
        what = text
    value = "" if action.nargs == 0 else f" {action.metavar or action.dest.upper()}"
    names = [f"`{name}`" for name in action.option_strings[:-1]]
    last = f"{action.option_strings[-1]}{value}" if action.option_strings else str(action.metavar or action.dest)
    shown = ", ".join([*names, f"`{last}`"])
    return f"| {shown} | {f'`{default}`' if default else ''} | {_cell(what)} |"


def _types() -> Iterator[str]:
    found = definitions()
    for key, definition in found.items():
        name = key.removeprefix(f"{PREFIX}.")
        if "x-kubernetes-group-version-kind" not in definition or name.endswith("List"):
            continue
        yield from (f"### {name}", "", _cell(definition["description"]), "")
        yield from ("| field | type | what it says |", "| --- | --- | --- |")
        for part in ("spec", "status"):
            if part in definition["properties"]:
                yield from _fields(part, definition["properties"][part], found, ())
        yield ""


def _fields(path: str, schema: dict[str, Any], found: dict[str, Any], seen: tuple[str, ...]) -> Iterator[str]:
    """A field and all that it has in it, as far as that is ours."""
    about, target = schema.get("description", ""), _target(schema)
    if target in seen:
        return
    own = found.get(target, schema)
    items = own.get("items", {})
    inner = found.get(_target(items), items)
    many = "items" in own
    yield f"| `{path}` | {_kind(own, target, items)} | {_cell(about)} |"
    properties = (inner if many else own).get("properties", {})
    for name, one in properties.items():
        more = (*seen, target, _target(items))
        yield from _fields(f"{path}[].{name}" if many else f"{path}.{name}", one, found, tuple(filter(None, more)))


def _target(schema: dict[str, Any]) -> str:
    return str(schema.get("$ref", "")).rpartition("/")[2]


def _kind(schema: dict[str, Any], target: str, items: dict[str, Any]) -> str:
    if target and not target.startswith(PREFIX):
        return target.rpartition(".")[2]
    kind = schema.get("type", "object")
    named = next((one for one in kind if one != "null"), "object") if isinstance(kind, list) else kind
    if named != "array":
        return str(named)
    inner = _target(items).rpartition(".")[2]
    return f"list of {inner or _kind(items, '', items.get('items', {}))}"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "&#124;")


if __name__ == "__main__":
    PAGE.write_text(made(), encoding="utf-8")
