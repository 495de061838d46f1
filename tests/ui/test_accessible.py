"""The page for people who do not see it, do not use a mouse, or do not want things to move."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import pytest

from kube32_sim.server import pages
from tests.support import clients
from tests.support.fake_api import FakeApi
from tests.support.http import Http
from tests.support.webdriver import Browser
from tests.ui.conftest import opened
from tests.ui.test_following import node

COLOURS = (pages.FOLDER / "colours.css").read_text(encoding="utf-8")
TEXTS = ("text", "soft", "accent", "good", "waiting", "bad")
"""Colours of text, on each of the three grounds."""
SHAPES = ("edge", "bar", "bar-full", "good", "waiting", "bad", "done", "focus")
"""Colours of what has a meaning and is no text."""


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing(page: Browser, api: Http, theme: str) -> None:
    clients.node()  # fetches axe-core, where that is to be done
    vast = {"name": "c", "image": "i", "resources": {"requests": {"memory": "100Gi"}}}
    body = {"metadata": {"name": "vast"}, "spec": {"containers": [vast]}}
    api.post("/api/v1/namespaces/default/pods", body)
    page.emulate(prefers_color_scheme=theme, prefers_reduced_motion="reduce")
    page.wait("document.querySelector('#waiting').innerText.includes('vast')")
    page.run((clients.NODE / "node_modules/axe-core/axe.min.js").read_text(encoding="utf-8"))
    found = page.run_async("return (await axe.run(document, { resultTypes: ['violations'] })).violations")
    told = {one["id"]: [where["html"][:200] for where in one["nodes"]] for one in found}
    assert told == {}


def pairs() -> dict[str, tuple[str, str]]:
    return {name: (light, dark) for name, light, dark in re.findall(r"--([\w-]+): light-dark\((\S+), (\S+)\)", COLOURS)}


def luminance(colour: str) -> float:
    """As WCAG 2 defines it, of #rrggbb."""
    channels = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    brighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (brighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
def test_colours_keep_their_contrast(theme: int) -> None:
    colours = {name: found[theme] for name, found in pairs().items()}
    grounds = {name: colours[name] for name in ("ground", "raised", "sunken")}
    low = {
        (name, ground): round(contrast(colours[name], colour), 2)
        for names, least in ((TEXTS, 4.5), (SHAPES, 3.0))
        for name in names
        for ground, colour in grounds.items()
        if contrast(colours[name], colour) < least
    }
    assert low == {}
    assert contrast(colours["on-accent"], colours["accent"]) >= 4.5
    assert contrast(colours["raised"], colours["bad"]) >= 4.5, "problems"
    assert contrast(colours["raised"], colours["text"]) >= 4.5, "a button under the mouse"


def test_only_one_file_names_colours() -> None:
    others = (pages.FOLDER / "page.css").read_text(encoding="utf-8")
    assert not re.search(r"#[0-9a-fA-F]{3,8}\b(?![^;{]*\{)|rgb\(|hsl\(", others)


def walk(page: Browser, most: int = 60) -> list[str]:
    """Names of what Tab comes to, until it comes round."""
    seen: list[str] = []
    for _ in range(most):
        page.press("Tab")
        if page.run("return document.activeElement === document.body"):
            break
        seen.append(page.focused())
    return seen


def test_everything_is_reached_by_keyboard_and_all_boards_are_one_stop(page: Browser) -> None:
    stops = walk(page)
    assert stops == [
        "Skip to boards", "Skip to preview", "+1 s", "+10 s", "+1 m", "+330 s", "Advance by", "Advance",
        "Theme: system", "Filter boards by name, label or pod", "Which boards", "esp32-s3-0", "Switch off esp32-s3-0",
        "Cut off esp32-s3-0", "Manifest, YAML or JSON", "Rules", "Preview",
    ]  # fmt: skip


def test_arrows_go_from_board_to_board(page: Browser) -> None:
    page.run("document.querySelector('#boards .board').focus()")
    seen = []
    for key in ("ArrowRight", "ArrowRight", "ArrowLeft", "End", "Home", "ArrowLeft"):
        page.press(key)
        seen.append(page.focused())
    assert seen == ["esp32-s3-1", "esp32-s3-psram8-0", "esp32-s3-1", "linux-0", "esp32-s3-0", "esp32-s3-0"]
    page.press("ArrowRight")
    page.press("Tab")
    assert page.focused() == "Switch off esp32-s3-1"
    page.press("Shift", "Tab")
    page.press("Shift", "Tab")
    assert page.focused() == "Which boards"


def test_what_has_the_focus_is_seen_to_have_it(page: Browser) -> None:
    for _ in range(12):
        page.press("Tab")
        style = page.run("const s = getComputedStyle(document.activeElement); return [s.outlineStyle, s.outlineWidth]")
        assert style == ["solid", "2px"], page.focused()


def test_the_focus_stays_where_it_is_while_things_change(browser: Browser, fake: FakeApi) -> None:
    fake.objects["nodes"] = [node("b"), node("c")]
    opened(browser, fake.url)
    browser.wait("document.querySelectorAll('#boards h3').length === 2")
    browser.run("document.querySelectorAll('#boards .board')[1].focus()")
    fake.send("nodes", "ADDED", node("a", 11))
    browser.wait("document.querySelectorAll('#boards h3').length === 3")
    assert browser.focused() == "c"


def test_there_are_landmarks_and_one_order_of_headings(page: Browser) -> None:
    levels = page.run("return [...document.querySelectorAll('h1, h2, h3')].filter((e) => e.offsetParent)"
                      ".map((e) => Number(e.tagName[1]))")  # fmt: skip
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in itertools.pairwise(levels))
    assert page.run("return document.querySelectorAll('main').length") == 1
    unnamed = page.run(
        "return [...document.querySelectorAll('section')].filter((e) => !e.ariaLabelledByElements?.length).length"
    )
    assert unnamed == 0


def test_who_listens_is_told_in_a_few_words_and_not_of_every_change(browser: Browser, fake: FakeApi) -> None:
    fake.objects["nodes"] = [node("a")]
    opened(browser, fake.url)
    browser.run("""window.told = [];
        new MutationObserver(() => window.told.push(document.querySelector('#spoken').textContent))
            .observe(document.querySelector('#spoken'), { childList: true });""")
    for number in range(50):
        fake.send("nodes", "ADDED", node(f"n{number}", 100 + number))
    browser.wait("document.querySelector('#spoken').textContent.startsWith('51 of 51 boards ready')")
    assert len(browser.run("return window.told")) == 1
    assert browser.run("return document.querySelector('#boards').closest('[aria-live], [role=status]')") is None


def test_nothing_moves_for_who_wants_that(page: Browser) -> None:
    moves = "getComputedStyle(e).transitionDuration !== '0s'"
    moving = f"return [...document.querySelectorAll('*')].filter((e) => {moves}).length"
    assert page.run(moving) > 0
    page.emulate(prefers_reduced_motion="reduce")
    assert page.run(moving) == 0


def test_light_and_dark_follow_the_system_or_the_choice(page: Browser) -> None:
    ground = "return getComputedStyle(document.body).backgroundColor"
    page.emulate(prefers_color_scheme="light")
    light = page.run(ground)
    page.emulate(prefers_color_scheme="dark")
    dark = page.run(ground)
    assert light != dark
    page.click("#theme")
    assert (page.text("#theme"), page.run(ground)) == ("Theme: light", light)
    page.click("#theme")
    assert (page.text("#theme"), page.run(ground)) == ("Theme: dark", dark)
    page.open(page.url)
    page.wait("document.querySelector('#theme').innerText === 'Theme: dark'")
    page.click("#theme")
    assert page.text("#theme") == "Theme: system"


def test_nothing_sticks_out_of_a_narrow_window(page: Browser) -> None:
    page.devtools("Emulation.setDeviceMetricsOverride", width=360, height=800, deviceScaleFactor=1, mobile=False)
    try:
        assert page.run("return document.documentElement.scrollWidth") <= 360
    finally:
        page.devtools("Emulation.clearDeviceMetricsOverride")


def test_axe_is_pinned() -> None:
    lock = Path(clients.NODE / "package-lock.json").read_text(encoding="utf-8")
    assert re.search(r'"node_modules/axe-core": \{\s+"version": "[\d.]+",\s+"(resolved|integrity)"', lock)
