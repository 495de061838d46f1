"""The pictures of docs/ui.md: `python -m tests.ui.screenshots` takes them anew, of a simulator that it starts.

With the clock standing still and names that are drawn from a seed, they are the same every time.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

import yaml

from tests.support.http import Http
from tests.support.servers import CLONE, running_server
from tests.support.webdriver import Browser, running_browser

PICTURES = CLONE / "docs" / "pictures"
SIZE = (1240, 860)
OPTIONS = ("--nodes", "esp32-s3=3,esp32-s3-psram8=2,linux=1", "--clock", "virtual", "--seed", "1")
CLOCK = "/apis/sim.kube32.io/v1alpha1/clocks/cluster"
ASKED = """\
apiVersion: v1
kind: Pod
metadata: {name: camera}
spec:
  containers:
  - name: camera
    image: camera:2
    resources:
      requests: {memory: 64Ki, esp32.io/psram: 4Mi}
"""


def furnish(api: Http) -> None:
    """Something to be seen: pods, one that waits, a board that is off and lost."""
    for name in ("blinky", "oversized-pod"):
        for document in yaml.safe_load_all((CLONE / f"manifests/{name}.yaml").read_text(encoding="utf-8")):
            api.post(_path(document), document)
    api.post(f"{CLOCK}/advance", {"spec": {"duration": "30s"}})
    api("PATCH", "/api/v1/nodes/esp32-s3-1", {"metadata": {"annotations": {"sim.kube32.io/fault": "stopped"}}})
    api.post(f"{CLOCK}/advance", {"spec": {"duration": "60s"}})


def _path(document: dict[str, Any]) -> str:
    group = document["apiVersion"]
    return f"/{'apis' if '/' in group else 'api'}/{group}/namespaces/default/{document['kind'].lower()}s"


def take(browser: Browser, url: str, theme: str) -> bytes:
    browser.emulate(prefers_color_scheme=theme, prefers_reduced_motion="reduce")
    browser.open(f"{url}/ui/")
    browser.wait("document.body.dataset.connection === 'live' && document.querySelectorAll('#waiting li').length === 1")
    browser.run("document.querySelector('#manifest').value = arguments[0]", ASKED)
    browser.click("#preview-form button")
    browser.wait("document.querySelector('#preview-told').innerText !== 'Asking …'")
    browser.run(
        "document.activeElement.blur(); document.querySelector('#placements details')?.setAttribute('open', '')"
    )
    browser.run("scrollTo(0, 0)")
    return browser.screenshot()


def main(folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary:
        here = Path(temporary)
        with running_server(here, *OPTIONS) as server, running_browser(here / "profile", *SIZE) as browser:
            api = server.http()
            furnish(api)
            for theme in ("light", "dark"):
                (folder / f"ui-{theme}.png").write_bytes(take(browser, server.url, theme))
            api.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else PICTURES)
