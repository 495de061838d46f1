"""`faultscenarios`: faults of the API that were asked for; `registry/fault_scenarios` keeps them (docs/faults.md)."""

from __future__ import annotations

from kube32_sim.api.own.parts import META, JsonObject, flag, kind, list_of, number, own, part, reference, text

_DURATION = "As Go writes durations (500ms, 15s, 1m30s), or a number of seconds."


def _words(description: str) -> JsonObject:
    return {"description": description, "items": {"type": "string"}, "type": ["array", "null"]}


def _several(name: str, description: str) -> JsonObject:
    return {"description": description, "items": own(name, description), "type": ["array", "null"]}


def definitions() -> dict[str, JsonObject]:
    scenario = kind(
        "FaultScenario",
        "Faults of the API, for clients to be tried with: there is at most one, named cluster. Nothing keeps it.",
        spec=own("FaultScenarioSpec", "Which faults."),
        status=own("FaultScenarioStatus", "What they did."),
    )
    spec = part(
        "Rules, and the seed of their chance: the same requests in the same order meet the same faults.",
        {
            "seed": number("Of all chance. 0 unless given."),
            "rules": _several("FaultRule", "Looked at in their order, up to the first that fails the request."),
        },
    )
    return {
        "FaultScenario": scenario,
        "FaultScenarioList": list_of("FaultScenario"),
        "FaultScenarioSpec": spec,
        **_rule(),
        **_status(),
    }


def _rule() -> dict[str, JsonObject]:
    chance = {
        "description": "Of each request that matches, from 0 to 1. 1 unless given.",
        "format": "double",
        "type": ["number", "null"],
    }
    rule = part(
        "One fault, and which requests it is for.",
        {
            "name": text("Of the rule, as answers and the transcript tell it: a DNS label. Required."),
            "match": own("FaultMatch", "Which requests; all that the effect can be of unless given."),
            "probability": chance,
            "every": number("Every so manieth request that matches, instead of a probability."),
            "times": number("It happens so often and no more."),
            "effect": own("FaultEffect", "What happens. Required."),
        },
    )
    match = part(
        "Requests by what they ask for and who asks; what is not given matches all. In names * stands for anything.",
        {
            "verbs": _words("Such as get, list, watch, create, update, patch, delete, deletecollection."),
            "groups": _words('API groups; "" is the core group.'),
            "resources": _words("Such as pods, pods/status, */scale or *; pods alone is without its subresources."),
            "namespaces": _words("Of the objects."),
            "names": _words("Of the objects, as the URL has them: a create has none."),
            "userAgents": _words("As the header User-Agent has them, such as kubectl/*."),
            "users": _words("Names of who asks, such as system:serviceaccount:default:*."),
            "from": text(f"How long after the scenario was set, by the cluster's clock, it begins. {_DURATION}"),
            "until": text(f"The same of its end. {_DURATION}"),
            "first": number("Only so many of the requests that match."),
        },
    )
    effect = part(
        "What happens to a request: a delay, a failure, or what becomes of its watch.",
        {
            "status": number("It is answered with 409, 410, 429, 500, 503 or 504."),
            "retryAfter": number("Seconds in the header Retry-After of a 429 (1 unless given) or 503 (none)."),
            "reset": flag("Its connection is reset, without an answer."),
            "when": text("Before the work (the default), or After: a write happens and its answer is lost."),
            "latency": text(f"Its answer is so late, in real time. {_DURATION}"),
            "latencyMost": text(f"Or between latency and this, by chance. {_DURATION}"),
            "watch": own("FaultWatch", "What becomes of a watch."),
        },
    )
    watch = part(
        "What becomes of a watch that has begun.",
        {
            "afterEvents": number("It ends after so many events, bookmarks not counted."),
            "after": text(f"It ends after this time, in real time. {_DURATION}"),
            "ending": text("How: Close (the default), Reset, or Expired, an ERROR event of 410."),
            "dropBookmarks": flag("No bookmarks are sent, but for that which ends the initial events."),
        },
    )
    return {"FaultRule": rule, "FaultMatch": match, "FaultEffect": effect, "FaultWatch": watch}


def _status() -> dict[str, JsonObject]:
    status = part(
        "What the faults did since the scenario was set.",
        {
            "since": reference(f"{META}.MicroTime", "When it was set."),
            "requests": number("How many requests were looked at."),
            "rules": _several("FaultRuleStatus", "The same of each rule."),
            "transcript": _several("FaultMet", "The latest faults that happened, the first first."),
            "forgotten": number("How many happened before those in the transcript."),
        },
    )
    counts = part(
        "What one rule did.",
        {
            "name": text("Of the rule."),
            "matched": number("How many requests were of those it is for."),
            "hit": number("To how many it happened."),
        },
    )
    met = part(
        "One fault that happened.",
        {
            "n": number("Which of the requests that were looked at."),
            "time": reference(f"{META}.MicroTime", "When, by the cluster's clock."),
            "verb": text("Of the request."),
            "path": text("Of the request."),
            "userAgent": text("Who sent it."),
            "rule": text("Whose fault it is."),
            "effect": text("What happened: 429, reset after, latency 120ms, watch Close after 3 events."),
        },
    )
    return {"FaultScenarioStatus": status, "FaultRuleStatus": counts, "FaultMet": met}
