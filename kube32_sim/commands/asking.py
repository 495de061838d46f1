"""How commands ask a simulator: what keeps an answer away is told in a line."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from kube32_sim.api.errors import ApiError
from kube32_sim.client import Client, Unreachable
from kube32_sim.http_client import HttpClient
from kube32_sim.kubeconfig import Access
from kube32_sim.options import CommandError

T = TypeVar("T")
ANSWER_SECONDS = 60.0


def ask(
    access: Access,
    work: Callable[[Client], Coroutine[Any, Any, T]],
    in_words: Callable[[ApiError], str] = lambda error: "",
    *,
    timeout: float | None = ANSWER_SECONDS,
) -> T:
    """The answer of a work with a client.  Raises CommandError where there is none.

    in_words: what a refusal means to this command; "" where the server's own words tell it.  timeout: seconds that each
    answer may take; None for those that take as long as they like.
    """
    return asyncio.run(_asked(access, work, in_words, timeout))


async def _asked(
    access: Access,
    work: Callable[[Client], Coroutine[Any, Any, T]],
    in_words: Callable[[ApiError], str],
    timeout: float | None,
) -> T:
    async with HttpClient(access, timeout=timeout) as client:
        try:
            return await work(client)
        except Unreachable as error:
            raise CommandError(f"cannot reach the simulator: {error}") from error
        except ApiError as error:
            raise CommandError(in_words(error) or f"{access.server}: {error.message}") from error
