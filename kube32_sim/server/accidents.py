"""A request on which the simulator itself fails: how that is told in the log."""

from __future__ import annotations

import logging
import sys
import traceback

from aiohttp import web

from kube32_sim.api.confidential import is_about_secrets


def tell_accident(log: logging.Logger, request: web.BaseRequest) -> None:
    """Log the exception that is being handled; about Secrets and tokens without its message, which may quote them."""
    what = f"{request.method} {request.rel_url.raw_path} failed"
    kind, _, trace = sys.exc_info()
    if kind is None or not is_about_secrets(request.path):
        log.exception("%s", what)
        return
    frames = "".join(traceback.format_tb(trace))
    log.error("%s\nTraceback (most recent call last):\n%s%s: <message not shown>", what, frames, kind.__name__)
