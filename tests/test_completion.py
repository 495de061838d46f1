"""`kube32-sim completion`: what the shells make of its scripts."""

import shutil
import subprocess
from pathlib import Path

import pytest

from kube32_sim import cli
from kube32_sim.arguments import COMMANDS
from kube32_sim.arguments.completion import SHELLS

ASK = """
source "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMP_LINE="$*"; COMP_POINT=${#COMP_LINE}
_shtab_kube32_sim kube32-sim "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD-1]}"
printf '%s\\n' "${COMPREPLY[@]}"
"""


def script(shell: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert cli.run(["completion", shell]) == 0
    return capsys.readouterr().out


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
@pytest.mark.parametrize(
    ("words", "some"),
    [
        (["cl"], {"clock"}),
        ([""], set(COMMANDS)),
        (["clock", ""], {"show", "advance"}),
        (["serve", "--kubec"], {"--kubeconfig"}),
        (["snapshot", "load", "--on-conflict", ""], {"fail", "skip", "replace"}),
        (["completion", ""], set(SHELLS)),
    ],
)
def test_bash_completes_commands_actions_options_and_words(
    words: list[str], some: set[str], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "completion.bash"
    path.write_text(script("bash", capsys), encoding="utf-8")
    arguments = ["bash", "--norc", "-c", ASK, "-", str(path), "kube32-sim", *words]
    done = subprocess.run(arguments, capture_output=True, text=True, check=True, timeout=30)
    assert some <= set(done.stdout.split()), done
    assert not done.stderr


@pytest.mark.parametrize("shell", SHELLS)
def test_every_shell_gets_all_commands(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = script(shell, capsys)
    assert found.endswith("\n")
    assert [name for name in COMMANDS if name not in found] == []


def test_an_unknown_shell_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        cli.run(["completion", "fihs"])
    assert caught.value.code == 2
    assert "did you mean 'fish'?" in capsys.readouterr().err
