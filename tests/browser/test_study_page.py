"""The page of a study in a real browser: drawn, narrow screens without sideways scrolling, dark.

Needs Chromium (`apt-get install chromium`); without it the test is skipped and says so.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.browser.chromium import Chromium, find_chromium
from yantra.explore.next_dollar import next_dollar
from yantra.explore.odds import odds_of
from yantra.explore.study import run_study
from yantra.explore.study_file import read_study
from yantra.explore.study_page import study_page

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
    """Run the study in a folder and return its page."""
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
        assert page.evaluate(
            "[...document.querySelectorAll('svg.study circle')]"
            ".every(dot => dot.getBoundingClientRect().width > 4)"
        )
        assert page.evaluate("document.querySelectorAll('svg.study circle').length") == 4
        nameless = "[...document.querySelectorAll('button')].filter(one => !one.textContent.trim())"
        assert page.evaluate(f"{nameless}.length") == 0
        assert page.problems() == []
        assert [url for url in page.requests() if not url.startswith("file:")] == []
        page.close()
