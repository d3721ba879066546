"""The documentation's site in a browser, opened as files; axe-core finds nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.browser.axe import NEEDS, find_axe, violations
from tests.browser.chromium import Chromium, Page, find_chromium
from tests.docs_site import NEEDS_MKDOCS, built

pytestmark = [
    pytest.mark.skipif(find_chromium() is None, reason="no Chromium; apt-get install chromium"),
    NEEDS_MKDOCS,
]
KINDS = (
    "index.html",
    "start/choose-a-cluster.html",
    "tutorial/1-first-run.html",
    "gallery/index.html",
    "guides/add-a-topology.html",
    "reference/scenario.html",
    "commands/run.html",
    "api/yantra.html",
    "api/yantra.scenario.html",
    "internals/GLOSSARY.html",
)
_QUERY = "document.querySelector('[data-md-component=search-query]')"
_TRIES = 5
_FADED_MS = 450  # colours of the theme change slowly


@pytest.fixture(scope="session")
def site(shared_folder: Path) -> Path:
    found = built(shared_folder)
    assert found.failure == ""
    return found.folder


def opened(browser: Chromium, path: Path, scheme: str = "default", width: int = 1280) -> Page:
    page = browser.open(path, ready="document.readyState === 'complete'", width=width)
    page.evaluate(f"document.body.setAttribute('data-md-color-scheme', '{scheme}')")
    page.evaluate(f"new Promise(done => setTimeout(done, {_FADED_MS}))")
    return page


def _search(page: Page, words: str) -> None:
    """Type words until they are answered: the theme drops what is typed before it listens."""
    page.evaluate(f"{_QUERY}.focus()")
    for _ in range(_TRIES):
        page.evaluate(f"{_QUERY}.value = '', {_QUERY}.dispatchEvent(new KeyboardEvent('keyup'))")
        page.call("Input.insertText", text=words)
        page.evaluate(f"{_QUERY}.dispatchEvent(new KeyboardEvent('keyup'))")
        try:
            page.until("document.querySelectorAll('.md-search-result__item a').length > 1", 10)
        except AssertionError:
            continue
        return
    raise AssertionError(f"{words!r} was not answered; {page.problems()}")


def test_a_search_finds_pages_without_a_server(site: Path) -> None:
    with Chromium() as browser:
        page = opened(browser, site / "reference" / "scenario.html")
        _search(page, "pipeline bubble")
        links = "[...document.querySelectorAll('.md-search-result__item a')].map(one => one.href)"
        assert all(link.startswith(site.as_uri()) for link in page.evaluate(links))
        assert page.problems() == []
        assert [url for url in page.requests() if not url.startswith(("file:", "data:"))] == []


@pytest.mark.skipif(find_axe() is None, reason=NEEDS)
@pytest.mark.parametrize("scheme", ["default", "slate"])
def test_a_page_of_each_kind_has_no_violation(site: Path, scheme: str) -> None:
    with Chromium() as browser:
        for name in KINDS:
            page = opened(browser, site / name, scheme)
            assert violations(page) == [], name
            page.close()


@pytest.mark.slow
@pytest.mark.skipif(find_axe() is None, reason=NEEDS)
@pytest.mark.parametrize("scheme", ["default", "slate"])
@pytest.mark.parametrize("width", [390, 1366, 1920])
def test_a_page_of_each_kind_is_whole_at_every_width(site: Path, scheme: str, width: int) -> None:
    with Chromium() as browser:
        for name in KINDS:
            page = opened(browser, site / name, scheme, width)
            assert page.evaluate("document.documentElement.scrollWidth") <= width, name
            assert page.problems() == [], name  # before axe-core, which asks for style sheets
            assert violations(page) == [], name
            page.close()
