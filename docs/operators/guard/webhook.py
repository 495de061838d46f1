"""Admission webhooks without a framework: an HTTPS server that answers AdmissionReviews.

    python docs/operators/guard/webhook.py

Containers that say nothing of memory are given a request for some; images must have a tag, and not `latest`. It makes
itself a certificate, listens on a free port, and then writes webhooks.yaml into the cluster with its address.
"""

from __future__ import annotations

import asyncio
import base64
import json
import ssl
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml
from aiohttp import web
from certificate import ADDRESS, write_certificate
from kubernetes import client, config

CONFIGURATIONS = Path(__file__).with_name("webhooks.yaml")
MEMORY = "24Ki"

Answer = dict[str, Any]


def mutate(pod: dict[str, Any]) -> Answer:
    """A JSON patch, base64-encoded as the API wants it."""
    operations = []
    for number, container in enumerate(pod["spec"]["containers"]):
        resources = container.get("resources") or {}
        if "memory" not in resources.get("requests", {}) and "memory" not in resources.get("limits", {}):
            value = {**resources, "requests": {**resources.get("requests", {}), "memory": MEMORY}}
            operations.append({"op": "add", "path": f"/spec/containers/{number}/resources", "value": value})
    if not operations:
        return {"allowed": True}
    patch = base64.b64encode(json.dumps(operations).encode()).decode()
    return {"allowed": True, "patchType": "JSONPatch", "patch": patch}


def validate(pod: dict[str, Any]) -> Answer:
    images = [container["image"] for container in pod["spec"]["containers"]]
    untagged = [image for image in images if tag(image) in ("", "latest")]
    if untagged:
        return {"allowed": False, "status": {"code": 422, "message": f"say which version of {', '.join(untagged)}"}}
    return {"allowed": True, "warnings": [f"{image} is no release" for image in images if tag(image).endswith("-dev")]}


def tag(image: str) -> str:
    return image.rpartition("/")[2].partition(":")[2]


def answering(decide: Callable[[dict[str, Any]], Answer]) -> Callable[[web.Request], Any]:
    async def handle(request: web.Request) -> web.Response:
        review = await request.json()
        asked = review["request"]
        response = {"uid": asked["uid"], **decide(asked["object"])}
        return web.json_response({"apiVersion": review["apiVersion"], "kind": review["kind"], "response": response})

    return handle


def register(base: str, certificate: Path) -> None:
    """Write the configurations, with where to call and whom to trust; again at every start, as both are new then."""
    bundle = base64.b64encode(certificate.read_bytes()).decode()
    admission = client.AdmissionregistrationV1Api()
    writers = {
        "MutatingWebhookConfiguration": admission.patch_mutating_webhook_configuration,
        "ValidatingWebhookConfiguration": admission.patch_validating_webhook_configuration,
    }
    options = {"field_manager": "guard", "force": True, "_content_type": "application/apply-patch+yaml"}
    for body in yaml.safe_load_all(CONFIGURATIONS.read_text(encoding="utf-8")):
        for webhook in body["webhooks"]:
            webhook["clientConfig"] = {"url": base + webhook["clientConfig"]["url"], "caBundle": bundle}
        writers[body["kind"]](body["metadata"]["name"], body, **options)


async def main() -> None:
    config.load_kube_config()
    app = web.Application()
    app.router.add_post("/mutate", answering(mutate))
    app.router.add_post("/validate", answering(validate))
    runner = web.AppRunner(app)
    await runner.setup()
    with tempfile.TemporaryDirectory() as directory:
        certificate, key = write_certificate(Path(directory))
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(certificate, key)
        await web.TCPSite(runner, ADDRESS, 0, ssl_context=context).start()
        base = f"https://{ADDRESS}:{runner.addresses[0][1]}"
        await asyncio.to_thread(register, base, certificate)
    print(f"guarding at {base}", flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main())
