"""A comparison in a real browser. Needs Chromium (`apt-get install chromium`), else skipped."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.browser.charts import place, told
from tests.browser.chromium import Chromium, find_chromium
from tests.browser.saving import saved
from tests.unit.test_compare_page import ran
from yantra.explain import compare, side_by_side

pytestmark = pytest.mark.skipif(
    find_chromium() is None, reason="no Chromium on this machine; apt-get install chromium"
)


CHARTS = "[0, 1, 2].map((at) => document.getElementById(`lanes-${at}`).plot)"


def test_timelines_of_several_results_have_one_scale_and_zoom_together(tmp_path: Path) -> None:
    runs = [ran(50.0), ran(100.0), ran(25.0)]
    side_by_side(runs).to_report(tmp_path / "c.html")
    with Chromium() as browser:
        page = browser.open(tmp_path / "c.html")
        ends = f"{CHARTS}.map((u) => [u.scales.x.min, u.scales.x.max])"
        longest = max(run.makespan_ns for run in runs)
        assert page.evaluate(ends) == [[0, longest]] * 3
        page.evaluate("document.querySelector('#lanes-1 .plot').focus()")
        page.key("+")
        page.settle()
        assert (
            page.evaluate(ends)
            == [[pytest.approx(longest / 4), pytest.approx(longest * 3 / 4)]] * 3
        )
        page.key("0")
        page.settle()
        assert page.evaluate(ends) == [[0, longest]] * 3
        root = ElementTree.fromstring(saved(page, "#lanes-0 .export:last-child"))
        texts = [node.text for node in root.iter() if node.tag.endswith("}text")]
        assert {"rank 0", "rank 3", "time", "60 us"} <= set(texts)
        assert page.problems() == []
        assert [url for url in page.requests() if not url.startswith("file:")] == []
        page.close()


@pytest.mark.parametrize("width", [390, 1366])
def test_a_timeline_is_inked_as_long_as_ranks_work_and_tells_it(tmp_path: Path, width: int) -> None:
    run = ran(50.0)
    side_by_side([run, ran(100.0), ran(25.0)]).to_report(tmp_path / "c.html")
    with Chromium() as browser:
        page = browser.open(tmp_path / "c.html", width=width)
        page.mouse("mouseMoved", *place(page, "#lanes-0", 25_000, 4))
        words = told(page).splitlines()
        assert words[0].startswith("at 2") and words[1] == "rank 0: collectives"
        assert words[4] == "rank 3: kernels"
        page.mouse("mouseMoved", *place(page, "#lanes-0", run.makespan_ns + 5_000, 4))
        assert told(page).splitlines()[1] == "rank 0: past its end"
        root = ElementTree.fromstring(saved(page, "#lanes-0 .export:last-child"))
        boxes = [node.attrib for node in root.iter() if node.tag.endswith("}rect")][1:]
        wide = {box["fill"]: 0.0 for box in boxes}
        for box in boxes:
            wide[box["fill"]] += float(box["width"])
        kernels, collectives = wide.values()
        pixels = page.evaluate("document.querySelector('#lanes-0').plot.bbox.width")
        longest = ran(25.0).makespan_ns
        assert kernels == pytest.approx(pixels * 90_000 / longest, rel=0.01)
        nodes = run.nodes
        sums = sum(end - start for start, end, kind in zip(
            nodes.values("start_ns"), nodes.values("end_ns"), nodes.values("type"), strict=True
        ) if kind.startswith("COMM_COLL"))  # fmt: skip
        assert collectives == pytest.approx(pixels * sums / longest, rel=0.01)
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
