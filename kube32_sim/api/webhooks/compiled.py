"""The webhooks of a configuration, made ready once per revision of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from kube32_sim.api.dynamic_admission.matching import Matching, of_webhook

if TYPE_CHECKING:  # what is behind takes time, and few webhooks have conditions
    from kube32_sim.api.policies.conditions import Conditions

JsonObject = dict[str, Any]

VERSIONS = ("v1", "v1beta1")
"""Of AdmissionReview, that are spoken."""
HARMLESS = ("None", "NoneOnDryRun")
"""Side effects with which a webhook is called in a dry run too."""
DEFAULT_SECONDS = 10


@dataclass(frozen=True)
class Webhook:
    """key: the name of its configuration and its own, which no other has.  client: its clientConfig.

    version: of AdmissionReview, "" for none that is spoken.  timeout: seconds.  ignores: its failures do not matter.
    again: it wants to be asked again when others have changed the object since.  dry_run: it may be called in one.
    """

    key: tuple[str, str]
    name: str
    client: JsonObject
    matching: Matching
    version: str
    timeout: int
    ignores: bool
    again: bool
    dry_run: bool
    given_conditions: Sequence[JsonObject]

    @cached_property
    def conditions(self) -> Conditions | None:
        """None where there are none.  Compiled when first asked for."""
        if not self.given_conditions:
            return None
        from kube32_sim.api.policies.conditions import Conditions

        return Conditions(self.given_conditions, ignore=self.ignores)


def webhooks_of(configuration: JsonObject) -> list[Webhook]:
    """The webhooks of a configuration with its defaults, in their order."""
    where = configuration["metadata"]["name"]
    return [_webhook(where, each) for each in configuration.get("webhooks") or ()]


def _webhook(where: str, webhook: JsonObject) -> Webhook:
    name = webhook["name"]
    spoken = (each for each in webhook.get("admissionReviewVersions") or () if each in VERSIONS)
    return Webhook(
        (where, name),
        name,
        webhook.get("clientConfig") or {},
        of_webhook(webhook),
        next(spoken, ""),
        webhook.get("timeoutSeconds", DEFAULT_SECONDS),
        webhook.get("failurePolicy") == "Ignore",
        webhook.get("reinvocationPolicy") == "IfNeeded",
        webhook.get("sideEffects") in HARMLESS,
        webhook.get("matchConditions") or (),
    )
