"""The page of a served trace in a real browser: pictures, the values under the pointer, no network.

Needs Chromium (`apt-get install chromium`), else the test is skipped.
"""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.browser.chromium import Chromium, find_chromium
from tests.browser.saving import saved
from tests.serving.fleets import served, with_ends
from yantra.serving.measures import Objective
from yantra.serving.page import write_page

pytestmark = pytest.mark.skipif(
    find_chromium() is None, reason="no Chromium on this machine; apt-get install chromium"
)
PROMISES = (Objective("ttft", 99.0, 0.25), Objective("tpot", 99.0, 0.025))
PICTURES = ("ttft-curve", "tpot-curve", "e2e-curve", "waiting-load", "running-load",
            "kv_tokens-load", "batch_tokens-load")  # fmt: skip
CURVES = "[...document.querySelectorAll('#{} path.curve')].map(one => one.getTotalLength())"


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("served") / "serve.html"
    write_page(with_ends(served(rate=60.0, replicas=2, num_blocks=250)), path, PROMISES)
    return path


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [390, 1280])
def test_every_picture_is_drawn_and_fits(page_file: Path, dark: bool, width: int) -> None:
    with Chromium() as browser:
        page = browser.open(page_file, dark=dark, width=width)
        assert page.evaluate("document.documentElement.dataset.ready") == "yes"
        assert page.evaluate("document.documentElement.scrollWidth") == width
        for name in PICTURES:
            lengths = page.evaluate(CURVES.format(name))
            assert len(lengths) == (3 if name.endswith("curve") else 2), name
            assert min(lengths) > 100, name
            texts = f"[...document.querySelectorAll('#{name} svg text')]"
            shown = page.evaluate(f"{texts}.map(one => one.textContent).filter(one => one != '0')")
            assert "-0" not in shown and len(set(shown)) == len(shown), name
        marks = "[...document.querySelectorAll('#ttft-curve .limit')].length"
        assert page.evaluate(marks) == 1
        colours = "new Set([...document.querySelectorAll('#spent .bar rect')].map(one => "
        assert page.evaluate(f"{colours}getComputedStyle(one).fill)).size") >= 3
        assert page.problems() == []
        assert [url for url in page.requests() if not url.startswith("file:")] == []


def test_the_pointer_reads_the_share_within_a_time(page_file: Path) -> None:
    with Chromium() as browser:
        page = browser.open(page_file)
        page.evaluate("document.getElementById('attainment').scrollIntoView()")
        box = page.evaluate(
            "(() => { const box = document.querySelector('#ttft-curve svg')"
            ".getBoundingClientRect(); return [box.left, box.top, box.right, box.bottom]; })()"
        )
        y = (box[1] + box[3]) / 2
        shares = []
        for at in (0.2, 0.5, 0.8, 0.99):
            page.mouse("mouseMoved", box[0] + at * (box[2] - box[0]), y)
            page.settle()
            told = page.evaluate("document.querySelector('.tooltip').textContent")
            assert told.startswith("within ") and "as predicted: " in told
            shares.append(float(told.split("as predicted: ")[1].split(" %")[0]))
        assert shares == sorted(shares) and shares[-1] > 99


def test_pictures_and_tables_are_saved(page_file: Path) -> None:
    with Chromium() as browser:
        page = browser.open(page_file)
        root = ElementTree.fromstring(saved(page, "#ttft-curve .export"))
        assert root.tag.endswith("}svg")
        assert saved(page, "#times .export").startswith("measure,mean,p50,p90,p95,p99,most\r\n")
