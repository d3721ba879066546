"""axe-core finds nothing on any page that Yantra makes, light and dark."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.browser.axe import NEEDS, find_axe, violations
from tests.browser.chromium import Chromium, find_chromium
from tests.browser.test_study_page import study_html
from tests.browser.test_ui_page import TIME, serving
from tests.reports import packets, shared, step, uneven
from tests.serving.fleets import served, with_ends
from tests.serving.test_page import PROMISES
from tests.unit.test_compare_page import ran
from yantra.explain import side_by_side
from yantra.export.report import html
from yantra.serving.page import write_page

pytestmark = [
    pytest.mark.skipif(find_chromium() is None, reason="no Chromium; apt-get install chromium"),
    pytest.mark.skipif(find_axe() is None, reason=NEEDS),
]
SCHEMES = pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("pages")
    made = {one.__name__: html(one()) for one in (uneven, step, shared, packets)}
    made["study"] = study_html(folder)
    for name, text in made.items():
        (folder / f"{name}.html").write_text(text)
    side_by_side([ran(50.0), ran(100.0), ran(25.0)]).to_report(folder / "compared.html")
    side_by_side([ran(50.0, record=False), ran(25.0)]).to_report(folder / "lacking.html")
    write_page(with_ends(served(rate=60.0)), folder / "served.html", PROMISES)
    (folder / "warned.html").write_text(html(step(), ["a file has changed"]))
    return sorted(folder.glob("*.html"))


@SCHEMES
@pytest.mark.parametrize("width", [390, 1366])
def test_a_page_has_no_violation(pages: list[Path], dark: bool, width: int) -> None:
    with Chromium() as browser:
        for path in pages:
            page = browser.open(path, dark=dark, width=width)
            assert violations(page) == [], path.name
            page.close()


@SCHEMES
def test_the_page_of_controls_has_no_violation(dark: bool) -> None:
    with serving() as server, Chromium() as browser:
        page = browser.open(server.address, dark=dark)
        page.until(TIME)
        page.evaluate("document.getElementById('plan').click()")
        page.until("document.documentElement.dataset.plans")
        assert violations(page) == []
