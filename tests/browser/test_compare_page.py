"""A comparison in a real browser. Needs Chromium (`apt-get install chromium`), else skipped."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.browser.chromium import Chromium, find_chromium
from tests.browser.saving import saved
from tests.unit.test_compare_page import ran
from yantra.explain import compare, side_by_side

pytestmark = pytest.mark.skipif(
    find_chromium() is None, reason="no Chromium on this machine; apt-get install chromium"
)


LANES = "[...document.querySelectorAll('svg.lane')]"


def test_timelines_of_several_results_zoom_together(tmp_path: Path) -> None:
    runs = [ran(50.0), ran(100.0), ran(25.0)]
    side_by_side(runs).to_report(tmp_path / "c.html")
    with Chromium() as browser:
        page = browser.open(tmp_path / "c.html")
        assert page.evaluate(f"{LANES}.length") == 3 * 4
        widths = f"{LANES}.map(lane => lane.getBoundingClientRect().width)"
        assert page.evaluate(f"new Set({widths}).size") == 1
        boxes = f"new Set({LANES}.map(lane => lane.getAttribute('viewBox')))"
        whole = page.evaluate(f"[...{boxes}]")
        end = "document.getElementById('window').textContent"
        assert page.evaluate(end).startswith("0 ns to ")
        page.evaluate("document.getElementById('in').click()")
        half = page.evaluate(f"[...{boxes}]")
        assert len(half) == 1
        assert float(half[0].split()[2]) == float(whole[0].split()[2]) / 2
        move = "slider => { slider.value = 1000; slider.dispatchEvent(new Event('input')); }"
        page.evaluate(f"({move})(document.getElementById('from'))")
        x, _, width, _ = map(float, page.evaluate(f"[...{boxes}]")[0].split())
        assert x + width == float(whole[0].split()[2])
        page.evaluate("document.getElementById('whole').click()")
        assert page.evaluate(f"[...{boxes}]") == whole
        assert page.evaluate("document.querySelectorAll('button.export').length") > 5
        assert page.evaluate("document.querySelector('#path .bars + .export').textContent") == "SVG"
        assert page.evaluate("document.querySelectorAll('.lanes .bars + .export').length") == 3
        root = ElementTree.fromstring(saved(page, ".lanes .bars + .export"))
        texts = [node.text or "" for node in root.iter() if node.tag.endswith("}text")]
        assert texts[0].startswith("run 1, 64.457 us; shown: 0 ns to ") and texts[1].startswith(
            "rank 0: kernels "
        )
        assert texts[-1] == page.evaluate(
            "document.querySelector('.lanes .legend').lastChild.textContent"
        )
        assert page.problems() == []
        assert [url for url in page.requests() if not url.startswith("file:")] == []
        page.close()


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
