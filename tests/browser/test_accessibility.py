"""Every page that Yantra makes: nothing that axe-core finds, no message, no scrolling sideways, and
all that a pointer reaches is reached by keys.

By default those that no other test opens, once; `-m slow`: all at every width, light and dark, by
axe-core.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest

from tests.browser.axe import NEEDS, find_axe, violations
from tests.browser.chromium import Chromium, Page, find_chromium
from tests.browser.pages import ADDRESSES, PAGES, written
from tests.browser.test_ui_page import TIME, serving
from yantra.ui.server import Server

pytestmark = pytest.mark.skipif(
    find_chromium() is None, reason="no Chromium; apt-get install chromium"
)
VIEWS = list(product((390, 1366, 1920), (False, True)))
_ALL = [*PAGES, *(f"ui/{name}" for name in ADDRESSES)]
_LATER = {"uneven", "step", "shared", "packets", "study", "compared", "served", "modes", "ui/"}
_ONCE = [(name, *VIEWS[at % 6]) for at, name in enumerate(n for n in _ALL if n not in _LATER)]
_REST = [(name, *view) for name in _ALL for view in VIEWS if (name, *view) not in _ONCE]
# What keys reach, one at a time; a group of radio buttons would be one.
_STOPS = """[...document.querySelectorAll(
    'a[href], button, input, select, textarea, summary, [tabindex="0"]')].filter((one) =>
    !one.disabled && one.tabIndex >= 0 && one.checkVisibility({visibilityProperty: true}))"""
_SEEN = """(() => {
  const one = document.activeElement;
  if (one === document.body) return null;
  globalThis.stops ??= new Map();
  if (!stops.has(one)) stops.set(one, stops.size);
  const look = getComputedStyle(one);
  return [stops.get(one), look.outlineStyle !== 'none' || look.boxShadow !== 'none'];
})()"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("pages")


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving() as running:
        yield running


@pytest.fixture
def place(name: str, folder: Path, request: pytest.FixtureRequest) -> Path | str:
    """A page's file, or its address."""
    if name in PAGES:
        return written(folder, name)
    address: str = request.getfixturevalue("server").address
    return address + name.removeprefix("ui/")


@pytest.fixture(scope="module")
def browser() -> Iterator[Chromium]:
    with Chromium() as running:
        yield running


def opened(browser: Chromium, place: Path | str, width: int, *, dark: bool) -> Page:
    page = browser.open(place, width=width, dark=dark)
    if isinstance(place, str):
        page.until(TIME)
        page.until("!document.getElementById('answer').hasAttribute('aria-busy')")
        if page.evaluate("document.getElementById('plan') !== null"):
            page.evaluate("document.getElementById('plan').click()")
            page.until("document.documentElement.dataset.plans")
        page.evaluate(
            "Promise.all(document.getAnimations().map((one) => one.finished)).then(() => 0)"
        )
    return page


def check(browser: Chromium, place: Path | str, width: int, *, dark: bool) -> None:
    page = opened(browser, place, width, dark=dark)
    assert page.evaluate("document.documentElement.dataset.ready") == "yes"
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    if find_axe() is not None:
        assert violations(page) == []
    assert page.problems() == []
    page.close()


@pytest.mark.parametrize(("name", "width", "dark"), _ONCE)
def test_a_page_is_whole_once(browser: Chromium, place: Path | str, width: int, dark: bool) -> None:
    check(browser, place, width, dark=dark)


@pytest.mark.slow
@pytest.mark.skipif(find_axe() is None, reason=NEEDS)
@pytest.mark.parametrize(("name", "width", "dark"), _REST)
def test_a_page_is_whole_at_every_width_and_in_every_colour(
    browser: Chromium, place: Path | str, width: int, dark: bool
) -> None:
    check(browser, place, width, dark=dark)


@pytest.mark.slow
@pytest.mark.parametrize("name", _ALL)
def test_keys_reach_all_controls_and_show_where_they_are(
    browser: Chromium, place: Path | str
) -> None:
    page = opened(browser, place, 1366, dark=False)
    reach_all(page)
    page.close()


def reach_all(page: Page) -> None:
    page.evaluate("(scrollTo(0, 0), document.activeElement.blur(), 0)")
    wanted = page.evaluate(f"{_STOPS}.length")
    seen: set[int] = set()
    for _ in range(wanted + 2):
        for kind in ("keyDown", "keyUp"):
            page.call(
                "Input.dispatchKeyEvent", type=kind, key="Tab", code="Tab", windowsVirtualKeyCode=9
            )
        at = page.evaluate(_SEEN)
        if at is None:
            break
        assert at[1], page.evaluate("document.activeElement.outerHTML")[:200]
        seen.add(at[0])
    missed = page.evaluate(
        f"{_STOPS}.filter((one) => !stops.has(one)).map((one) => one.outerHTML.slice(0, 120))"
    )
    assert missed == [] and len(seen) >= wanted
