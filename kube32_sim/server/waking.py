"""A handler that is made when the first request comes: until then its server only listens."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

import orjson
from aiohttp import web

from kube32_sim.api import errors
from kube32_sim.api.errors import ApiError
from kube32_sim.server.answers import answer
from kube32_sim.server.handler import Handler
from kube32_sim.server.refusals import Refusals
from kube32_sim.server.streaming import Streams

log = logging.getLogger(__name__)


class Waking:
    """Stands for a `Handler`.  wake: awaited with every request before the handler is there, and hands it to `use`."""

    wake: Callable[[], Awaitable[object]]

    def __init__(self) -> None:
        self.refusals = Refusals()
        self._handler: Handler | None = None

    @property
    def streams(self) -> Streams | None:
        return self._handler.streams if self._handler is not None else None

    def use(self, handler: Handler) -> None:
        self._handler = handler

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        try:
            await self.wake()
        except asyncio.CancelledError:
            raise
        except ApiError as error:
            return _refused(error)
        except Exception:
            log.exception("the fork cannot begin")
            return _refused(errors.unavailable("the fork cannot begin; the log of the simulator says why"))
        if self._handler is None:
            return _refused(errors.unavailable("the fork is ending"))
        return await self._handler(request)


def _refused(error: ApiError) -> web.Response:
    return answer(orjson.dumps(error.status()), error.code)
