"""A decoder fuzzed by coverage: `python -m tests.support.guided NAME CORPUS [option of libFuzzer…]`.

A process of its own, which libFuzzer ends.  It needs the package atheris (`pip install -e .[fuzz]`).
"""

from __future__ import annotations

import sys
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["kube32_sim.api", "kube32_sim.durations", "kube32_sim.registry.reading"]):
    from tests.support.decoders import SEEDS, tried


def main() -> None:
    _, name, corpus, *options = sys.argv
    for number, seed in enumerate(SEEDS[name]):
        (Path(corpus) / f"seed-{number}").write_bytes(seed)
    atheris.Setup([name, corpus, *options], lambda data: tried(name, data))
    atheris.Fuzz()


if __name__ == "__main__":
    main()
