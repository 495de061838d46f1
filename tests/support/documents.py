"""Documents whose examples are run: their fenced blocks, and their output without what differs from run to run."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.support.kubectl import kubectl_binary
from tests.support.servers import CLONE, command_environment


@dataclass(frozen=True)
class Command:
    """A line after `$ ` in a block of the kind `console`, and the output printed below it."""

    text: str
    output: str


def blocks(document: str, kind: str) -> list[str]:
    """The contents of the fenced blocks of a kind, such as `console`."""
    return re.findall(rf"^```{kind}\n(.*?)^```$", document, re.M | re.S)


def commands(document: str) -> list[Command]:
    found = []
    for block in blocks(document, "console"):
        for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
            text, _, output = part.partition("\n")
            found.append(Command(text, output))
    return found


def user_environment(home: Path, kubeconfig: Path) -> dict[str, str]:
    """The environment of a user who has kubectl and reads a document."""
    path = os.pathsep.join((str(Path(kubectl_binary()).parent), os.environ["PATH"]))
    return command_environment(HOME=str(home), PATH=path, KUBECONFIG=str(kubeconfig))


def run(command: str, environment: dict[str, str]) -> str:
    """What it prints in a terminal, started in the clone.  What run.py would prepare is there already."""
    command = command.replace("python3 run.py", f"{sys.executable} -m kube32_sim")
    done = subprocess.run(
        ["sh", "-c", command],
        check=False,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=CLONE,
        env=environment,
        timeout=60,
    )
    assert done.returncode == 0, f"{command}: {done.returncode}\n{done.stdout}"
    return done.stdout


def timeless(output: str) -> str:
    """Without ages, generated parts of names, the widths of columns, and lines that only say what is waited for."""
    output = re.sub(r"^Waiting for .*\n", "", output, flags=re.M)
    output = re.sub(r"(?<!-)\b(\d+[smh])+\b", "<age>", output)  # after a hyphen it ends a name
    output = re.sub(r"(-[0-9a-z]{8,10})?-[bcdfghjklmnpqrstvwxz2456789]{5}\b", "-<generated>", output)
    return "\n".join(re.sub(r" {2,}", "  ", line).strip() for line in output.strip().splitlines())
