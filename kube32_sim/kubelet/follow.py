"""How a board deals with an API server that may be away: follow objects whatever breaks, try things and carry on."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

from kube32_sim.api.errors import ApiError
from kube32_sim.client import Client, Resource, Unreachable, WatchEvent
from kube32_sim.clock import Clock

JsonObject = dict[str, Any]

FIRST_PAUSE = 0.25
LONGEST_PAUSE = 10.0

log = logging.getLogger(__name__)


async def follow(
    client: Client,
    clock: Clock,
    resource: Resource,
    field_selector: str,
    on_list: Callable[[list[JsonObject]], Awaitable[None]],
    on_event: Callable[[WatchEvent], None],
    *,
    heartbeats: bool = True,
) -> None:
    """Hand over all objects of a selection, then every change, for ever.

    `on_list` gets the whole truth, at first and whenever changes may have been missed; it may raise what a client
    raises, and is called again then.  A stream that the server ends is taken up where it ended.  Failures are waited
    out, twice as long each time.  heartbeats: as `Client.watch` has it.
    """
    revision, pause = "", FIRST_PAUSE
    while True:
        try:
            if not revision:
                result = await client.list(resource, field_selector=field_selector)
                await on_list(result.items)
                revision = result.resource_version
            started = clock.now()
            stream = client.watch(
                resource, resource_version=revision, field_selector=field_selector, heartbeats=heartbeats
            )
            revision = await _watch(stream, resource, revision, on_event)
            if clock.now() - started >= 1.0:
                pause = FIRST_PAUSE
        except (ApiError, Unreachable) as error:
            log.debug("following %s (%s): %s", resource.plural, field_selector, error)
            revision = ""
        except Exception:
            log.exception("following %s (%s) failed", resource.plural, field_selector)
            revision = ""
        await clock.sleep(pause)
        pause = min(LONGEST_PAUSE, pause * 2)


async def _watch(
    stream: AbstractAsyncContextManager[AsyncIterator[WatchEvent]],
    resource: Resource,
    revision: str,
    on_event: Callable[[WatchEvent], None],
) -> str:
    """One stream; answers the revision to go on from, "" where only a new list helps."""
    async with stream as events:
        async for event in events:
            if event.type == "ERROR":
                log.debug("watch of %s ended: %s", resource.plural, event.object.get("message"))
                return ""
            revision = event.object["metadata"]["resourceVersion"]
            if event.type != "BOOKMARK":
                on_event(event)
    return revision


async def attempt(work: Callable[[], Awaitable[None]], what: str) -> bool:
    """Whether it went well.  A failure of any kind is logged and otherwise left to the caller's next try."""
    try:
        await work()
    except (ApiError, Unreachable) as error:
        log.debug("%s: %s", what, error)
        return False
    except Exception:
        log.exception("%s failed", what)
        return False
    return True
