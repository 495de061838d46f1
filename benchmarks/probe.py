"""Somebody else: asks for one path again and again, one request at a time, from a process of its own.

`python -m benchmarks.probe PORT SECONDS PATH` prints p50 and p99 in seconds, and how many requests that were.
"""

from __future__ import annotations

import sys
import time

import uvloop

from benchmarks.load import Load, connect, request


async def probe(port: int, seconds: float, path: str) -> Load:
    end = time.perf_counter() + seconds
    wanted = request("GET", path)
    return await (await connect(port, [lambda _: wanted if time.perf_counter() < end else None])).run()


def main(port: str, seconds: str, path: str) -> None:
    load = uvloop.run(probe(int(port), float(seconds), path))
    print(load.quantile(0.5), load.quantile(0.99), load.count)


if __name__ == "__main__":
    main(*sys.argv[1:])
