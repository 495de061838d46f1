"""`forks`: branches of the cluster with servers of their own; `registry/forks` answers (docs/forks.md)."""

from __future__ import annotations

from kube32_sim.api.own.parts import META, JsonObject, kind, list_of, number, own, part, reference, text


def definitions() -> dict[str, JsonObject]:
    asked = part("How a fork is to be served.", {"port": number("Where it listens; 0: at any port that is free.")})
    status = part(
        "Where a fork is, and from which moment it goes on.",
        {
            "server": text("Its address; it is called as the original is, with the same credentials."),
            "revision": text("The resourceVersion up to which both have the same past."),
            "forkedAt": reference(f"{META}.MicroTime", "What time it was then, by both clocks."),
        },
    )
    fork = kind(
        "Fork",
        "A branch of the cluster on a virtual clock. What happens on either side is not seen on the other.",
        spec=own("ForkSpec", "How it is to be served."),
        status=own("ForkStatus", "Where it is."),
    )
    return {"Fork": fork, "ForkList": list_of("Fork"), "ForkSpec": asked, "ForkStatus": status}
