"""The page of a comparison in a real browser: it is drawn, sorts, and turns dark.

Needs Chromium (`apt-get install chromium`); without it the tests are skipped and say so.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.browser.chromium import Chromium, find_chromium
from tests.unit.test_compare_page import ran
from yantra.explain import compare

pytestmark = pytest.mark.skipif(
    find_chromium() is None, reason="no Chromium on this machine; apt-get install chromium"
)


def test_a_comparison_is_drawn_sorts_and_turns_dark(tmp_path: Path) -> None:
    compare(ran(50.0), ran(100.0)).to_report(tmp_path / "c.html")
    with Chromium() as browser:
        page = browser.open(tmp_path / "c.html")
        bars = "[...document.querySelectorAll('svg.bar')].map(bar => bar.getBoundingClientRect())"
        assert page.evaluate(f"{bars}.every(box => box.width > 100 && box.height > 5)")
        assert page.evaluate(
            "[...document.querySelectorAll('svg.bar rect')]"
            ".every(box => getComputedStyle(box).fill !== 'rgb(0, 0, 0)')"
        )
        first = "document.querySelector('table tbody td').textContent"
        click = "document.querySelector('table thead th:last-child button').click()"
        seen = []
        for _ in range(2):
            page.evaluate(click)
            seen.append(page.evaluate(first))
        assert seen[0] != seen[1]
        page.evaluate("document.getElementById('theme').click()")
        assert page.evaluate("document.documentElement.classList.contains('dark')")
        assert page.problems() == []
        assert [url for url in page.requests() if not url.startswith("file:")] == []
        page.close()
