"""The page of a served trace in a real browser: pictures, the values under the pointer, no network.

Needs Chromium (`apt-get install chromium`), else the test is skipped.
"""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.browser.charts import inked, place, shown, told
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
            drawn = inked(page, f"#{name}")
            assert len(drawn) == (3 if name.endswith("curve") else 2), name
            assert min(drawn) > 60, name
            texts = texts_of(saved(page, f"#{name} .export:last-child"))
            assert "-0" not in texts and len(set(texts)) >= len(texts) - 1, name  # both axes at 0
        limits = texts_of(saved(page, "#ttft-curve .export:last-child"))
        assert str(PROMISES[0]) in limits
        colours = "new Set([...document.querySelectorAll('#spent .bar rect')].map(one => "
        assert page.evaluate(f"{colours}getComputedStyle(one).fill)).size") >= 3
        assert page.problems() == []
        assert [url for url in page.requests() if not url.startswith("file:")] == []


def texts_of(picture: str) -> list[str]:
    return [
        one.text or "" for one in ElementTree.fromstring(picture).iter() if one.tag[-4:] == "text"
    ]


def test_the_pointer_and_keys_read_the_share_within_a_time(page_file: Path) -> None:
    with Chromium() as browser:
        page = browser.open(page_file)
        low, high = shown(page, "#ttft-curve")
        shares = []
        for at in (0.2, 0.5, 0.8, 0.99):
            page.mouse("mouseMoved", *place(page, "#ttft-curve", low * (high / low) ** at, 0.5))
            said = told(page)
            assert said.startswith("within ") and "as predicted: " in said
            shares.append(float(said.split("as predicted: ")[1].split(" %")[0]))
        assert shares == sorted(shares) and shares[-1] > 99
        page.evaluate("document.querySelector('#ttft-curve .plot').focus()")
        before = told(page)
        page.key("ArrowLeft")
        assert told(page) not in ("", before)
        page.key("Escape")
        assert told(page) == ""


def test_a_chart_zooms_by_drag_buttons_and_keys_and_shows_all_again(page_file: Path) -> None:
    with Chromium() as browser:
        page = browser.open(page_file)
        box = "#running-load"
        whole = shown(page, box)
        middle = whole[1] / 2
        page.drag(place(page, box, middle / 2, 2.0), place(page, box, middle, 2.0))
        near = shown(page, box)
        assert near == pytest.approx([middle / 2, middle], rel=0.02)
        page.evaluate(f"document.querySelector('{box} .export:nth-child(2)').click()")
        assert shown(page, box)[1] > near[1]
        page.evaluate(f"document.querySelector('{box} .plot').focus()")
        page.key("0")
        assert shown(page, box) == whole
        page.key("+")
        assert shown(page, box) == pytest.approx([middle / 2, 1.5 * middle], rel=1e-6)
        page.key("-")
        assert shown(page, box) == whole


def test_pictures_and_tables_are_saved(page_file: Path) -> None:
    with Chromium() as browser:
        page = browser.open(page_file)
        root = ElementTree.fromstring(saved(page, "#ttft-curve .export:last-child"))
        assert root.tag.endswith("}svg")
        assert saved(page, "#times .export").startswith("measure,mean,p50,p90,p95,p99,most\r\n")
