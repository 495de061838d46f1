"""How commands answer on standard output: an object as JSON or YAML, or text."""

from __future__ import annotations

import json
import sys
from typing import Any

from kube32_sim.options import CommandError


def check_output() -> None:
    """CommandError where nobody can read an answer, before anything is done for it."""
    if sys.stdout is None:
        raise CommandError("standard output is closed: there is nowhere to answer to")


def as_document(value: Any, output: str) -> str:
    """output: json or yaml, as `-o` has them.  Ends with a newline."""
    if output == "json":
        return json.dumps(value, indent=4) + "\n"
    import yaml

    return str(yaml.safe_dump(value, sort_keys=False))


def say(text: str) -> None:
    """Write it at once.  Raises BrokenPipeError where nobody reads."""
    check_output()
    sys.stdout.write(text)
    sys.stdout.flush()
