"""The same with kopf, for a type of its own: Blinkies are completed and checked before they are stored.

    kopf run --standalone --namespace default docs/operators/guard/kopf_guard.py

kopf listens, writes both configurations, and empties them when it ends; it wants to be given a certificate, or to make
one with the packages of `kopf[dev]`.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import kopf
from certificate import ADDRESS, write_certificate

BLINKIES = ("example.com", "v1", "blinkies")
FASTEST = 0.2
MOST_BOARDS = 10


@kopf.on.startup()
def configure(settings: kopf.OperatorSettings, memo: kopf.Memo, **_: Any) -> None:
    memo.directory = tempfile.TemporaryDirectory()
    certificate, key = write_certificate(Path(memo.directory.name))
    settings.admission.server = kopf.WebhookServer(
        addr=ADDRESS, host=ADDRESS, certfile=certificate, pkeyfile=key, cafile=certificate
    )
    settings.admission.managed = "kopf-guard.example.com"


@kopf.on.cleanup()
def clean_up(memo: kopf.Memo, **_: Any) -> None:
    memo.directory.cleanup()


@kopf.on.mutate(*BLINKIES)
def slow_down(spec: kopf.Spec, patch: kopf.Patch, warnings: list[str], **_: Any) -> None:
    if spec["period"] < FASTEST:
        warnings.append(f"nobody sees a LED that blinks faster than every {FASTEST} s")
        patch.spec["period"] = FASTEST


@kopf.on.validate(*BLINKIES, operations=["CREATE", "UPDATE"])
def not_too_many(spec: kopf.Spec, userinfo: kopf.UserInfo, **_: Any) -> None:
    if spec["boards"] > MOST_BOARDS:
        raise kopf.AdmissionError(f"{userinfo['username']} may have {MOST_BOARDS} boards at most", code=403)
