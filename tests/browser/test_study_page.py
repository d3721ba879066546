"""A study in a real browser. Needs Chromium (`apt-get install chromium`), else skipped."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.browser.charts import inked, place, told
from tests.browser.chromium import Chromium, find_chromium
from tests.browser.saving import saved
from yantra.explore.answers.next_dollar import next_dollar
from yantra.explore.answers.odds import odds_of
from yantra.explore.pages.study_page import study_page
from yantra.explore.study.point import write_reports
from yantra.explore.study.study import run_study
from yantra.explore.study.study_file import read_study

pytestmark = pytest.mark.skipif(
    find_chromium() is None, reason="no Chromium on this machine; apt-get install chromium"
)
STUDY = """
model: llama3-8b
global_batch: 16
sequence: 1024
clusters: [hgx-h100, dgx-a100-80gb]
ranks: [4, 8]
objectives: [step_time, ranks]
"""


def study_html(folder: Path) -> str:
    path = folder / "study.yaml"
    path.write_text(STUDY)
    study = read_study(str(path))
    finished = run_study(study, str(folder / "out"))
    return study_page(study, finished, next_dollar(study, 0), odds_of(study, finished))


@pytest.mark.parametrize("dark", [False, True])
def test_a_study_is_drawn_and_fits_a_narrow_screen(tmp_path: Path, dark: bool) -> None:
    page_file = tmp_path / "study.html"
    page_file.write_text(study_html(tmp_path))
    with Chromium() as browser:
        page = browser.open(page_file, dark=dark, width=390, height=800)
        assert page.evaluate("document.documentElement.scrollWidth") == 390
        front, behind = inked(page, "#picture")
        assert front > 120 and behind > 100  # two points of each, and a line
        nameless = "[...document.querySelectorAll('button')].filter(one => !one.textContent.trim())"
        assert page.evaluate(f"{nameless}.length") == 0
        root = ElementTree.fromstring(saved(page, "#picture .export:last-child"))
        texts = [node.text for node in root.iter() if node.tag.endswith("}text")]
        assert {"step time", "ranks", "hgx-h100, 8 ranks"} <= set(texts)
        assert page.problems() == []
        assert [url for url in page.requests() if not url.startswith("file:")] == []
        page.close()


def test_filters_hold_for_table_and_picture_and_a_point_tells_its_plan(tmp_path: Path) -> None:
    path = tmp_path / "study.yaml"
    path.write_text(STUDY)
    study = read_study(str(path))
    finished = run_study(study)
    page_file = tmp_path / "study.html"
    runs = write_reports(study, finished, finished.front, str(page_file))
    odds = odds_of(study, finished)
    page_file.write_text(study_page(study, finished, next_dollar(study, 0), odds, runs))
    shown = "[...document.querySelectorAll('#trials tbody tr')].filter(row => !row.hidden).length"
    dots = (
        "document.querySelector('#picture').plot.data.slice(1)"
        ".flat().filter(one => one !== null).length"
    )
    choose = (
        "(() => {{ const one = document.querySelector('#filter-{}'); one.value = '{}';"
        "one.dispatchEvent(new Event('change')); return 1; }})()"
    )
    with Chromium() as browser:
        page = browser.open(page_file, dark=False, width=1000, height=800)
        assert page.evaluate(shown) == 4 and page.evaluate(dots) == 4
        page.evaluate(choose.format("cluster", "hgx-h100"))
        assert page.evaluate(shown) == 2 and page.evaluate(dots) == 2
        page.evaluate(choose.format("trials", "on the front"))
        front = [n for n in finished.front if finished.trials[n]["cluster"] == "hgx-h100"]
        assert page.evaluate(shown) == len(front)
        page.evaluate(choose.format("trials", "not feasible"))
        assert page.evaluate(shown) == 0 and page.evaluate(dots) == 0
        page.evaluate(choose.format("trials", ""))
        best = finished.trials[front[0]]
        at = place(page, "#picture", best["step_time"], best["ranks"])
        page.mouse("mouseMoved", *at)
        assert f"trial {front[0]}:" in told(page) and "tp=" in told(page)
        assert page.problems() == []
        page.evaluate("document.querySelector('#picture .plot').focus()")
        page.key("Enter")
        page.until("document.querySelector('#timeline') !== null")
        assert page.problems() == []
        page.close()
