"""The report in a real browser. Needs Chromium (`apt-get install chromium`), else skipped."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from tests.browser.charts import inked, shown, told
from tests.browser.chromium import Chromium, Page, find_chromium
from tests.browser.saving import saved, share_that_differs
from tests.reports import EVIL, forget, many, packets, shared, step, uneven
from yantra.export.report import html

pytestmark = pytest.mark.skipif(
    find_chromium() is None, reason="no Chromium on this machine; apt-get install chromium"
)

SHIFT = 8
TEXTS = 0.03  # the share of a timeline's pixels whose smoothed texts may differ
MADE = {
    "uneven": uneven,
    "queueing": lambda: uneven("store_and_forward"),
    "step": step,
    "many": many,
    "shared": shared,
    "packets": packets,
}


@pytest.fixture(scope="module")
def browser() -> Iterator[Chromium]:
    with Chromium() as running:
        yield running
    forget()


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("reports")
    written = {name: folder / f"{name}.html" for name in MADE}
    for name, path in written.items():
        path.write_text(html(MADE[name]()))
    return written


@pytest.fixture
def opened(browser: Chromium, files: dict[str, Path]) -> Iterator[Any]:
    pages: list[Page] = []

    def open_page(name: str, **options: Any) -> Page:
        pages.append(browser.open(files[name], **options))
        assert pages[-1].evaluate("document.documentElement.dataset.ready") == "yes"
        pages[-1].settle()
        return pages[-1]

    yield open_page
    for page in pages:
        assert page.problems() == []
        assert [url for url in page.requests() if not url.startswith("file:")] == []
        page.close()


def view(page: Page) -> str:
    page.settle()
    text: str = page.evaluate("document.getElementById('timeline-status').textContent")
    return text


def box(page: Page, query: str) -> dict[str, float]:
    page.evaluate(f"document.querySelector('{query}').scrollIntoView({{block: 'center'}})")
    page.settle()
    found: dict[str, float] = page.evaluate(
        f"document.querySelector('{query}').getBoundingClientRect().toJSON()"
    )
    return found


def press(page: Page, query: str) -> None:
    at = box(page, query)
    page.click(at["x"] + at["width"] / 2, at["y"] + at["height"] / 2)


def details(page: Page) -> str:
    text: str = page.evaluate("document.getElementById('details').innerText")
    return text


def row(page: Page, label: str) -> float:
    at = box(page, "#timeline-canvas")
    tops = {"compute": 0, "collectives": 1}
    return at["y"] + 26 + 24 + 22 + 8 + 19 * tops[label]


def search(page: Page, text: str) -> str:
    press(page, "#search")
    page.evaluate("document.getElementById('search').value = ''")
    page.call("Input.insertText", text=text)
    page.settle()
    found: str = page.evaluate("document.getElementById('search-found').textContent")
    return found


@pytest.mark.parametrize("name", MADE)
def test_every_section_is_there_and_every_picture_is_drawn(opened: Any, name: str) -> None:
    page = opened(name)
    titles = page.evaluate("[...document.querySelectorAll('h2')].map(e => e.textContent)")
    assert ("Power" in titles) == (name == "step")
    assert [title for title in titles if title != "Power"] == [
        "Where the time goes",
        "What would help",
        "Timeline",
        "Critical path",
        "Communication",
        "Network",
        *(["Packets"] if name == "packets" else []),
        "Roofline",
        "Memory",
        "Ranks",
        "Scenario",
    ]
    assert page.evaluate("document.querySelectorAll('#topology svg path').length") > 0
    drawn = "filter(e => !e.querySelector('svg, canvas'))"
    empty = f"[...document.querySelectorAll('.chart')].{drawn}.length"
    assert page.evaluate(empty) == 0
    inked = """(() => {
        const canvas = document.getElementById('timeline-canvas');
        const {data} = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
        const colours = new Set();
        for (let at = 0; at < data.length; at += 4)
            colours.add(data[at] << 16 | data[at + 1] << 8 | data[at + 2]);
        return colours.size;
    })()"""
    assert page.evaluate(inked) > 20


def test_it_is_ready_and_answers_soon(opened: Any) -> None:
    page = opened("step")
    ready = "performance.getEntriesByType('navigation')[0].domInteractive"
    assert page.evaluate(ready) < 10_000  # far above what it takes, for a busy machine


def test_buttons_zoom_and_fit(opened: Any) -> None:
    page = opened("step")
    whole = view(page)
    press(page, "#zoom-in")
    near = view(page)
    assert near != whole
    press(page, "#zoom-out")
    assert view(page) == whole
    press(page, "#zoom-in")
    press(page, "#zoom-fit")
    assert view(page) == whole


def test_the_wheel_zooms_once_the_timeline_has_the_focus(opened: Any) -> None:
    page = opened("step")
    whole = view(page)
    at = box(page, "#timeline-canvas")
    place = {"x": at["x"] + 600, "y": at["y"] + 100}
    page.mouse("mouseWheel", **place, deltaX=0, deltaY=-300)
    assert view(page) == whole
    page.evaluate("document.getElementById('timeline-canvas').focus({preventScroll: true})")
    at = box(page, "#timeline-canvas")
    page.mouse("mouseWheel", x=at["x"] + 600, y=at["y"] + 100, deltaX=0, deltaY=-300)
    assert view(page) != whole


def test_keys_zoom_move_and_fit(opened: Any) -> None:
    page = opened("step")
    whole = view(page)
    page.evaluate("document.getElementById('timeline-canvas').focus()")
    page.key("+")
    near = view(page)
    page.key("ArrowRight")
    right = view(page)
    assert len({whole, near, right}) == 3
    page.key("ArrowLeft")
    assert view(page) == near
    page.key("0")
    assert view(page) == whole


def test_dragging_moves_and_dragging_with_shift_zooms(opened: Any) -> None:
    page = opened("step")
    at = box(page, "#timeline-canvas")
    left, right = (at["x"] + 400, at["y"] + 100), (at["x"] + 700, at["y"] + 100)
    page.drag(left, right, modifiers=SHIFT)
    near = view(page)
    assert "0 ns to" not in near
    page.drag(right, left)
    assert view(page) not in (near, "")


def test_a_click_on_a_node_tells_what_it_is_and_what_it_waited_for(opened: Any) -> None:
    page = opened("uneven")
    at = box(page, "#timeline-canvas")
    page.click(at["x"] + 190, row(page, "compute"))
    told = details(page)
    assert EVIL in told
    for text in ("COMP", "5.000 us", "num_ops", "nothing: it started with the run"):
        assert text in told
    page.key("n")
    assert "tail" in details(page)
    press(page, ".waited .to-node")
    assert "comm_size" in details(page)
    assert "wire: all_gather, rank 3 to rank 0" in details(page)


def test_a_click_on_the_critical_path_leads_to_its_node(opened: Any) -> None:
    page = opened("uneven")
    at = box(page, "#timeline-canvas")
    page.click(at["x"] + 190, at["y"] + 38)
    assert "on rank 5" in details(page)
    press(page, "#path tbody .to-node")
    assert "on rank 5" in details(page)


def test_search_finds_nodes_by_name_and_id_and_steps_through_them(opened: Any) -> None:
    page = opened("uneven")
    classes = page.evaluate("JSON.parse(document.getElementById('page-data').textContent)")["page"]
    shown = len(classes["timeline"]["classes"])
    assert search(page, "TAIL") == f"{shown} found"
    press(page, "#search-next")
    assert "tail" in details(page)
    assert page.evaluate("document.getElementById('search-found').textContent").startswith("1 of")
    assert search(page, "no such name") == "none found"
    assert page.evaluate("document.getElementById('search-next').disabled")
    assert search(page, "0") != "none found"


def test_receives_wait_without_a_row_and_are_found_all_the_same(opened: Any) -> None:
    page = opened("step")
    texts = ElementTree.fromstring(saved(page, "#timeline .export")).itertext()
    assert {"collectives", "sends"} <= set(texts)
    assert search(page, "receive") != "none found"
    press(page, "#search-next")
    told = details(page)
    assert "COMM_RECV" in told
    page.evaluate("document.getElementById('timeline-canvas').focus()")
    page.key("n")
    assert details(page) == told


def test_any_rank_is_shown_as_its_class_with_its_own_group(opened: Any) -> None:
    page = opened("step")
    at = box(page, "#timeline-canvas")
    search(page, "all_gather")
    press(page, "#search-next")
    before = details(page)
    assert "on rank 0 of" in before
    page.evaluate(
        "(() => { const box = document.getElementById('rank'); box.value = 6;"
        " box.dispatchEvent(new Event('change')); })()"
    )
    after = details(page)
    assert "on rank 6 of" in after
    assert "\n6, 7" in after and "\n0, 1" in before
    assert at["width"] > 0


def test_the_page_knows_the_members_of_every_group(opened: Any) -> None:
    page, result = opened("step"), step()
    box(page, "#timeline-canvas")
    for text in ("all_gather", "reduce", "sum gradient norm"):
        search(page, text)
        press(page, "#search-next")
        told = details(page)
        rank = int(re.search(r"on rank (\d+)", told)[1])  # type: ignore[index]
        found = re.search(r"\ngroup\n\w+ \((\d+)\)\nranks\n([\d, ]+)", told)
        assert found is not None, told
        members = dict(result.model.groups)[int(found[1])]
        assert rank in members
        assert [int(one) for one in found[2].split(", ")] == list(members)


def test_the_theme_follows_the_system_and_the_button(opened: Any) -> None:
    background = "getComputedStyle(document.body).backgroundColor"
    light, dark = opened("uneven"), opened("uneven", dark=True)
    assert light.evaluate(background) == "rgb(255, 255, 255)"
    assert dark.evaluate(background) != "rgb(255, 255, 255)"
    press(dark, "#theme")
    assert dark.evaluate(background) == "rgb(255, 255, 255)"
    press(dark, "#theme")  # as a browser remembers it for all files
    dark.evaluate("localStorage.clear()")


def test_text_stands_out_from_its_ground_in_both_themes(opened: Any) -> None:
    ratio = """(() => {
        const value = (name) => getComputedStyle(document.documentElement).getPropertyValue(name);
        const light = (colour) => {
            const parts = [1, 3, 5].map(at => parseInt(colour.trim().slice(at, at + 2), 16) / 255)
                .map(c => c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
            return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2];
        };
        const against = (a, b) => {
            const [low, high] = [light(value(a)), light(value(b))].sort((x, y) => x - y);
            return (high + 0.05) / (low + 0.05);
        };
        return Math.min(against('--ink', '--paper'), against('--soft', '--paper'),
            against('--soft', '--panel'), against('--link', '--panel'),
            against('--warn-ink', '--warn-paper'));
    })()"""
    for dark in (False, True):
        assert opened("uneven", dark=dark).evaluate(ratio) >= 4.5  # WCAG 2.1, 1.4.3


def test_controls_have_names(opened: Any) -> None:
    unnamed = """[...document.querySelectorAll(
            'button, input, select, canvas:not(.plot *), .plot, svg[role]')]
        .filter(e => !(e.textContent.trim() || e.getAttribute('aria-label') || e.labels?.length))
        .map(e => e.outerHTML)"""
    assert opened("step").evaluate(unnamed) == []


def test_a_table_sorts_and_unfolds(opened: Any) -> None:
    page = opened("step")
    values = (
        "[...document.querySelector('#communication tbody').rows]"
        ".map(row => Number(row.cells[2].dataset.key))"
    )
    press(page, "#communication th:nth-child(3) button")
    sizes = page.evaluate(values)
    assert sizes == sorted(sizes, reverse=True)
    press(page, "#communication th:nth-child(3) button")
    assert page.evaluate(values)[0] == min(sizes)
    hidden = "[...document.querySelectorAll('#path tr.more')].filter(e => !e.offsetParent).length"
    assert page.evaluate(hidden) > 0
    press(page, "#path .show-more")
    assert page.evaluate("document.querySelector('#path .unfolded tr.more').offsetParent !== null")


def test_it_prints_on_white_paper(opened: Any) -> None:
    page = opened("uneven", dark=True)
    assert page.pdf().startswith(b"%PDF")
    assert page.evaluate("document.documentElement.classList.contains('dark')")


def test_131072_ranks_are_eight_classes_and_any_rank_is_found(opened: Any) -> None:
    page = opened("many")
    assert "131,072 in 8 classes" in page.evaluate("document.querySelector('.facts').innerText")
    at = box(page, "#timeline-canvas")
    page.evaluate(
        "(() => { const box = document.getElementById('rank'); box.value = 99992;"
        " box.dispatchEvent(new Event('change')); })()"
    )
    page.click(at["x"] + 200, row(page, "compute"))
    assert "on rank 99992 of ranks 0, 8, 16, 24, ..." in details(page)


@pytest.mark.parametrize("name", ["shared", "queueing"])
def test_a_slider_shows_the_load_of_links_in_a_stretch_of_the_run(opened: Any, name: str) -> None:
    page = opened(name)
    colours = "[...document.querySelectorAll('#topology .link')].map(e => e.classList[1])"
    said = "document.querySelector('.load-time output').textContent"
    slide = """(at => {
        const input = document.getElementById('load-time');
        input.value = at;
        input.dispatchEvent(new Event('input'));
    })"""
    whole = page.evaluate(colours)
    assert page.evaluate(said) == "the whole run" and "load-none" not in whole[-1:]
    page.evaluate(f"{slide}(1)")
    assert page.evaluate(said).startswith("0 ns to ")
    assert set(page.evaluate(colours)) == {"load-none"}, "all ranks compute first"
    page.evaluate(f"{slide}(30)")
    assert set(page.evaluate(colours)) - {"load-none"}
    page.evaluate(f"{slide}(0)")
    assert page.evaluate(colours) == whole


def test_a_table_is_saved_as_csv_with_all_its_rows(opened: Any) -> None:
    page = opened("uneven")
    rows = list(csv.reader(io.StringIO(saved(page, "#ranks .export"))))
    assert rows[0][:3] == ["ranks", "count", "finish"]
    shown = page.evaluate("document.querySelectorAll('#ranks tbody tr').length")
    assert len(rows) == 1 + shown and sum(int(row[1]) for row in rows[1:]) == 8
    texts = page.evaluate(
        "[...document.querySelector('#path tbody').rows].map("
        "row => [...row.cells].map(cell => cell.textContent))"
    )
    assert list(csv.reader(io.StringIO(saved(page, "#path .export"))))[1:] == texts


@pytest.mark.parametrize("chart", ["#roofline", "#memory", "#topology", "#bandwidth"])
def test_a_chart_is_saved_as_svg_that_looks_the_same_alone(opened: Any, chart: str) -> None:
    page = opened("step")
    root = ElementTree.fromstring(saved(page, f"{chart} .export:last-child"))
    assert root.tag == "{http://www.w3.org/2000/svg}svg" and float(root.attrib["width"]) > 100
    assert all("class" not in node.attrib for node in root.iter())
    drawn = [
        node
        for node in root.iterfind(".//*[@stroke]")
        if node.tag.endswith(("line", "path", "circle"))
    ]
    assert len(drawn) >= 4 and all(node.attrib["d"] for node in drawn if "d" in node.attrib)
    looks = (node.attrib["stroke"] + node.attrib["fill"] for node in drawn)
    assert all("rgb" in look or "#" in look for look in looks)


@pytest.mark.parametrize("chart", ["#memory", "#bandwidth > div", "#roofline"])
def test_a_saved_chart_looks_as_on_the_page(
    browser: Chromium, opened: Any, chart: str, tmp_path: Path
) -> None:
    page = opened("step")
    picture = saved(page, f"{chart} .export:last-child")
    assert share_that_differs(browser, page, picture, tmp_path, canvas=f"{chart} canvas") < TEXTS


def test_a_roofline_names_kernels_and_zooms_them_apart(opened: Any) -> None:
    page = opened("step")
    memory, peak = inked(page, "#roofline")
    assert memory > 200 and peak > 20
    page.evaluate("document.querySelector('#roofline .plot').focus()")
    page.key("ArrowRight")
    first = told(page)
    longest = "document.querySelector('#roofline-section tbody td').textContent"
    assert page.evaluate(longest) in first and "FLOP/byte, " in first
    page.key("ArrowRight")
    assert told(page) not in ("", first)
    whole = shown(page, "#roofline")
    page.key("+")
    near = shown(page, "#roofline")
    assert near[1] / near[0] == pytest.approx((whole[1] / whole[0]) ** 0.5, rel=0.02)
    page.key("0")
    assert shown(page, "#roofline") == whole
    texts = {
        node.text
        for node in ElementTree.fromstring(saved(page, "#roofline .export:last-child")).iter()
        if node.tag.endswith("}text")
    }
    assert {"rate of operations", "arithmetic intensity, FLOP per byte", "1 TFLOP/s"} <= texts
    assert any(text and text.startswith("update layers.*") for text in texts)


@pytest.mark.parametrize("width", [390, 1366, 1920])
def test_all_links_of_the_head_are_seen_or_scroll_and_the_title_is_whole(
    opened: Any, width: int
) -> None:
    page = opened("uneven", width=width)
    whole = "(e => e.scrollWidth <= e.clientWidth + 1)(document.querySelector('.bar-top {}'))"
    assert page.evaluate(whole.format("h1"))
    assert page.evaluate(whole.format("nav")) or width < 760


@pytest.mark.parametrize("box", ["#time .bars", "#time .tall", "#communication .bars"])
def test_bars_are_saved_as_svg_with_their_words_and_their_key(opened: Any, box: str) -> None:
    page = opened("step")
    root = ElementTree.fromstring(saved(page, f"{box} + .export"))
    texts = [node.text or "" for node in root.iter() if node.tag.endswith("}text")]
    bars = [node for node in root if node.tag.endswith("}svg")]
    shown = f"document.querySelectorAll('{box} .bar').length"
    assert len(bars) == page.evaluate(shown) > 0
    keys = page.evaluate(
        f"(box => [...(box.matches('.tall') ? box.nextElementSibling.nextElementSibling"
        f" : box.previousElementSibling).children])(document.querySelector('{box}'))"
        ".map(key => key.textContent)"
    )
    assert texts[-len(keys) :] == keys
    filled = {node.attrib["fill"] for bar in bars for node in bar.iter() if node.tag[-4:] == "rect"}
    swatches = {node.attrib["fill"] for node in root if node.tag.endswith("}rect")}
    assert filled and filled <= swatches


def test_every_table_and_every_chart_can_be_saved(opened: Any) -> None:
    page = opened("step")
    tables = "[...document.querySelectorAll('table')]"
    assert page.evaluate(f"{tables}.every(one => one.parentElement.querySelector('.export'))")
    charts = "[...document.querySelectorAll('svg[role=img]:not(.bar), .plot')]"
    assert page.evaluate(f"{charts}.length") >= 4
    assert page.evaluate(f"{charts}.every(one => one.parentElement.querySelector('.export'))")
    canvases = "[...document.querySelectorAll('canvas')].filter(one => !one.closest('.plot'))"
    assert page.evaluate(f"{canvases}.length") == 1
    assert page.evaluate("document.querySelectorAll('#timeline .export').length") == 1


@pytest.mark.parametrize("name", ["step", "uneven"])
def test_the_timeline_is_saved_as_svg_that_looks_as_on_the_page(
    browser: Chromium, opened: Any, name: str, tmp_path: Path
) -> None:
    page = opened(name)
    picture = saved(page, "#timeline .export")
    assert share_that_differs(browser, page, picture, tmp_path) < TEXTS
    root = ElementTree.fromstring(picture)
    texts = [node.text for node in root.iter() if node.tag.endswith("}text")]
    keys = page.evaluate(
        "[...document.getElementById('timeline-legend').children].map(key => key.textContent)"
    )
    assert keys and texts[-len(keys) :] == keys


def test_a_zoomed_timeline_is_saved_as_it_is_seen(
    browser: Chromium, opened: Any, tmp_path: Path
) -> None:
    page = opened("step")
    whole = saved(page, "#timeline .export")
    press(page, "#unfold")
    for _ in range(4):
        press(page, "#zoom-in")
    page.settle()
    zoomed = saved(page, "#timeline .export")
    assert share_that_differs(browser, page, zoomed, tmp_path) < TEXTS
    assert share_that_differs(browser, page, whole, tmp_path) > 0.1


def test_what_would_help_has_the_bound_first(opened: Any) -> None:
    page = opened("step")
    cells = "document.querySelectorAll('#bounds tbody tr')[0].cells"
    bound = step().bound_by
    assert page.evaluate(f"{cells}[1].textContent") == f"{100 * bound.gain:.1f} %"
    assert page.evaluate(f"{cells}[0].textContent") in bound.text


def test_the_memory_chart_has_the_capacity_of_a_device(opened: Any) -> None:
    page = opened("step")
    picture = saved(page, "#memory .export:last-child")
    for text in ("capacity of a device: 80 GiB", "memory of a rank", "time", "20 GiB"):
        assert f">{text}</text>" in picture, text


@pytest.mark.parametrize("name", MADE)
def test_a_phone_scrolls_in_one_direction_alone(opened: Any, name: str) -> None:
    page = opened(name, width=390, height=844)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_packets_have_their_queues_and_rates_over_time(opened: Any) -> None:
    page = opened("packets")
    for chart in ("packet-queues", "packet-rates"):
        curves = inked(page, f"#{chart}")
        legend = page.evaluate(f"document.querySelectorAll('#{chart} .key').length")
        assert len(curves) == legend > 0 and sum(curves) > 100


def test_other_networks_have_no_packets(opened: Any) -> None:
    page = opened("uneven")
    assert page.evaluate("document.getElementById('packets')") is None
