"""The page of `yantra ui` in a real browser: controls run the step."""

from __future__ import annotations

import csv
import io
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Thread

import pytest

from tests.browser.chromium import Chromium, Page, find_chromium
from yantra.ui.controls import NUMBERS
from yantra.ui.server import Server

pytestmark = pytest.mark.skipif(
    find_chromium() is None, reason="no Chromium on this machine; apt-get install chromium"
)
TIME = "(document.querySelector('#answer .makespan')?.textContent ?? '')"


@contextmanager
def serving() -> Iterator[Server]:
    with Server(0) as running:
        thread = Thread(target=running.serve_forever, daemon=True)
        thread.start()
        yield running
        running.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving() as running:
        yield running


@pytest.fixture
def page(server: Server) -> Iterator[Page]:
    with Chromium() as browser:
        opened = browser.open(server.address)
        opened.until(TIME)
        yield opened
        found = [one for one in opened.problems() if "400 (Bad Request)" not in one]
        assert found == []
        own = [url for url in opened.requests() if url.startswith(server.address)]
        assert own == opened.requests()


def change(page: Page, name: str, value: str) -> None:
    before = page.evaluate("document.documentElement.dataset.runs")
    page.evaluate(
        f"{{const e = document.getElementById('controls').elements['{name}']; e.value = '{value}';"
        "e.dispatchEvent(new Event('input', {bubbles: true}))}"
    )
    page.until(f"document.documentElement.dataset.runs !== '{before}'")


def test_the_best_plans_are_saved_as_csv_and_printed_without_controls(page: Page) -> None:
    page.evaluate("document.getElementById('plan').click()")
    page.until("document.documentElement.dataset.plans")
    page.evaluate(
        "globalThis.kept = []; const old = URL.createObjectURL;"
        "URL.createObjectURL = blob => { kept.push(blob); return old.call(URL, blob) };"
        "HTMLAnchorElement.prototype.click = () => {}; 0"
    )
    page.evaluate("document.querySelector('#best .export').click()")
    page.until("kept.length > 0")
    rows = list(csv.reader(io.StringIO(page.evaluate("kept[0].text()"))))
    assert rows[0][:5] == ["time", "90 %", "wins", "MFU", "tokens/s"] and len(rows) > 1
    assert all(len(row) == len(rows[0]) for row in rows)
    page.call("Emulation.setEmulatedMedia", media="print")
    visible = (
        "[...document.querySelectorAll('button, [type=range], a')].filter(e => e.checkVisibility())"
    )
    assert page.evaluate(f"{visible}.map(e => e.textContent)") == []
    assert page.evaluate("document.getElementById('controls').checkVisibility()")


def test_a_change_runs_the_step_again(page: Page) -> None:
    before = page.evaluate(TIME)
    change(page, "cluster", "hgx-b200")
    after = page.evaluate(TIME)
    assert after and after != before
    assert "hgx-b200" in page.evaluate("document.getElementById('answer').textContent")


def test_a_slider_sets_its_number_and_a_number_moves_its_slider(page: Page) -> None:
    slider = "document.querySelector('input[data-sets=ranks]')"
    before = page.evaluate("document.documentElement.dataset.runs")
    page.evaluate(
        f"{slider}.value = 4; {slider}.dispatchEvent(new Event('input', {{bubbles: true}}))"
    )
    page.until(f"document.documentElement.dataset.runs !== '{before}'")
    assert page.evaluate("document.getElementById('controls').elements.ranks.value") == "16"
    assert "16 ranks" in page.evaluate("document.getElementById('answer').textContent")
    change(page, "ranks", "64")
    assert page.evaluate(f"[{slider}.value, {slider}.getAttribute('aria-valuetext')]") == [
        "6",
        "64",
    ]


def test_every_number_has_a_slider_that_reaches_what_it_begins_with(page: Page) -> None:
    for name, value in NUMBERS.items():
        number = page.evaluate(f"2 ** document.querySelector('input[data-sets={name}]').value")
        assert not value or number == int(value), name


def test_a_wrong_control_is_said_at_the_control(page: Page) -> None:
    change(page, "tp", "0")
    told = page.evaluate("document.getElementById('wrong-tp').textContent")
    assert told.startswith("workload.plan.tp: expected a whole number of at least 1, got 0")
    change(page, "tp", "3")
    assert page.evaluate("document.getElementById('wrong-tp').textContent") == ""
    told = page.evaluate("document.getElementById('wrong-ranks').textContent")
    assert told.startswith("workload.plan.ranks: 8 is no multiple of tp x cp x pp = 3")
    controls = "document.getElementById('controls').elements"
    assert page.evaluate(f"{controls}.ranks.getAttribute('aria-invalid')") == "true"
    assert page.evaluate("document.getElementById('status').textContent") == "No answer: see ranks."
    assert page.evaluate(TIME) == ""
    change(page, "tp", "4")
    assert page.evaluate(f"{controls}.ranks.getAttribute('aria-invalid')") == "false"
    assert page.evaluate(TIME) != ""


def test_the_question_is_in_the_address_and_its_answer_comes_by_itself(
    page: Page, server: Server
) -> None:
    first = page.evaluate(TIME)
    change(page, "stack", "roofline")
    change(page, "price", "2.50 USD/h")
    second, address = page.evaluate(TIME), page.evaluate("location.href")
    assert second != first and "stack=roofline" in address
    assert "2.5 USD/h" in page.evaluate("document.getElementById('answer').textContent")
    sent = page._browser.open(address)
    sent.until(TIME)
    assert sent.evaluate(TIME) == second
    assert sent.evaluate("document.getElementById('controls').elements.price.value") == "2.50 USD/h"
    sent.evaluate("location.reload()")
    sent.until(f"{TIME} === {second!r}")
    assert sent.evaluate("location.href") == address
    page.evaluate("history.go(-2)")
    page.until(f"{TIME} === {first!r}")
    value = "document.getElementById('controls').elements.stack.value"
    assert page.evaluate(value) == "unknown"


def test_links_to_sections_leave_the_question_in_the_address(page: Page) -> None:
    address = page.evaluate("location.href")
    page.evaluate("document.querySelector('nav a[href=\\'#plans\\']').click()")
    assert page.evaluate("location.href") == address
    assert page.evaluate("document.activeElement.id") == "plans"


def test_an_own_cluster_begins_with_a_known_one_and_is_in_the_address(page: Page) -> None:
    box = "document.getElementById('at-own_cluster')"
    assert not page.evaluate(f"{box}.checkVisibility()")
    change(page, "stack", "roofline")
    change(page, "cluster", "own")
    said = page.evaluate("document.getElementById('wrong-own_cluster').textContent")
    assert said == "own_cluster: empty; expected the file of a cluster"
    before = page.evaluate("document.documentElement.dataset.runs")
    page.evaluate(f"{box}.querySelector('button').click()")
    page.until(f"document.documentElement.dataset.runs !== '{before}'")
    known = page.evaluate(TIME)
    assert known and "own-cluster" in page.evaluate("document.querySelector('#answer').textContent")
    page.evaluate(
        "{const e = document.getElementById('controls').elements.own_cluster;"
        "e.value = e.value.replace('3.35 TB/s', '1 TB/s');"
        "e.dispatchEvent(new Event('input', {bubbles: true}))}"
    )
    page.until(f"{TIME} !== '' && {TIME} !== {known!r}")
    sent = page._browser.open(page.evaluate("location.href"))
    sent.until(TIME)
    assert sent.evaluate(TIME) == page.evaluate(TIME)


def test_a_running_question_dims_the_old_answer_and_can_be_stopped(page: Page) -> None:
    answer = "document.getElementById('answer')"
    dimmed = f"[{answer}.classList.contains('old'), {answer}.getAttribute('aria-busy')]"
    assert page.evaluate(dimmed) == [False, None]
    old = page.evaluate(TIME)
    page.evaluate(
        "globalThis.fetched = fetch; globalThis.fetch = (path, how) => new Promise((_, fail) =>"
        "how.signal.addEventListener('abort', () => fail(new Error('aborted')))); 0"
    )
    page.evaluate(
        "{const e = document.getElementById('controls').elements.ranks; e.value = '16';"
        "e.dispatchEvent(new Event('input', {bubbles: true}))}"
    )
    page.until(f"{answer}.classList.contains('old')")
    assert page.evaluate(dimmed) == [True, "true"] and page.evaluate(TIME) == old
    page.until(f"getComputedStyle({answer}).opacity < 0.5")
    page.evaluate("document.getElementById('stop').click()")
    page.until("document.getElementById('status').textContent.startsWith('Stopped.')")
    assert page.evaluate(f"{answer}.classList.contains('old')")
    page.evaluate("globalThis.fetch = globalThis.fetched; 0")
    change(page, "ranks", "8")
    assert page.evaluate(dimmed) == [False, None] and page.evaluate(TIME) == old


def test_the_answer_has_pictures_that_say_what_they_show(page: Page) -> None:
    change(page, "pp", "2")
    shown = "[...document.querySelectorAll('.picture')].map(e => e.getAttribute('aria-label'))"
    assert page.evaluate(shown) == [
        "Where the time goes",
        "Memory of a device",
        "The step over time",
    ]
    wide = "[...document.querySelectorAll('.picture svg')].filter(e => e.clientWidth > 100).length"
    assert page.evaluate(wide) >= 6
    titles = "[...document.querySelectorAll('.picture.step title')].map(e => e.textContent)"
    assert any(text.startswith("forward of micro-batch 0: ") for text in page.evaluate(titles))
    filled = (
        "[...document.querySelectorAll('.picture rect')]"
        ".filter(e => getComputedStyle(e).fill === 'rgb(0, 0, 0)').length"
    )
    assert page.evaluate(filled) == 0
    bare = "[...document.querySelectorAll('#controls label, .facts div')].filter(e => !e.title)"
    assert page.evaluate(f"{bare}.length") == 0


def test_a_plan_that_was_found_sets_the_controls(page: Page) -> None:
    page.evaluate("document.getElementById('plan').click()")
    page.until("document.documentElement.dataset.plans")
    best = page.evaluate("document.querySelector('#best tbody tr').cells[1].textContent")
    before = page.evaluate("document.documentElement.dataset.runs")
    page.evaluate("document.querySelector('#best .use').click()")
    page.until(f"document.documentElement.dataset.runs !== '{before}'")
    assert page.evaluate(TIME) == best


def test_a_search_is_stopped_by_its_button_and_by_leaving_the_page(
    page: Page, server: Server
) -> None:
    def busy() -> int:
        return sum(bool(one.is_busy) for one in server.workers.processes)

    change(page, "global_batch", "1024")
    change(page, "ranks", "256")
    assert page.evaluate("document.getElementById('stop').disabled")
    for leave in (False, True):
        page.evaluate("document.getElementById('plan').click()")
        page.until("!document.getElementById('stop').disabled")
        eventually(lambda: busy() == 1)
        if leave:
            page.evaluate("location.href = 'about:blank'; 0")
        else:
            page.evaluate("document.getElementById('stop').click()")
            page.until("document.querySelector('#best [role=alert]')?.textContent === 'Stopped.'")
            assert page.evaluate("document.getElementById('stop').disabled")
        eventually(lambda: busy() == 0)


def eventually(holds: Callable[[], bool], seconds: float = 20.0) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_the_link_opens_the_report_of_the_run(page: Page, server: Server) -> None:
    path = page.evaluate("document.querySelector('#answer a').getAttribute('href')")
    report = page._browser.open(server.address + path.lstrip("/"))
    assert report.evaluate("document.documentElement.dataset.ready") == "yes"
    assert report.evaluate("document.querySelector('.makespan').textContent") == page.evaluate(TIME)
    assert report.problems() == []


@pytest.mark.parametrize("dark", [False, True])
def test_a_phone_shows_it_and_every_control_has_a_name(server: Server, dark: bool) -> None:
    with Chromium() as browser:
        page = browser.open(server.address, width=390, height=844, dark=dark)
        page.until(TIME)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        unnamed = (
            "[...document.querySelectorAll('button, input, select')]"
            ".filter(e => !(e.textContent.trim() || e.labels?.length || e.ariaLabel)).length"
        )
        assert page.evaluate(unnamed) == 0


@pytest.mark.parametrize(
    ("path", "control", "value", "empty", "words"),
    [
        ("serve", "rate", "30", "ttft", ["TTFT", "30", "rests on: measured", "vllm"]),
        ("rl", "mode", "sync-split", "train", ["samples", "generation", "8 generate, 8 train"]),
    ],
)
def test_serving_and_post_training_have_pages_whose_address_holds_the_question(
    server: Server, path: str, control: str, value: str, empty: str, words: list[str]
) -> None:
    with Chromium() as browser:
        page = browser.open(f"{server.address}{path}")
        page.until(TIME)
        first = page.evaluate(TIME)
        change(page, control, value)
        change(page, empty, "")
        page.until("!document.getElementById('answer').hasAttribute('aria-busy')")
        second, address = page.evaluate(TIME), page.evaluate("location.href")
        assert second != first and f"{control}={value}" in address
        shown = page.evaluate("document.querySelector('#run').textContent")
        shown += page.evaluate("document.querySelector('#job [name=rate]')?.value ?? ''")
        for word in words:
            assert word in shown, word
        assert " in 90 of 100 such jobs)" in shown
        sent = browser.open(address)
        sent.until(TIME)
        assert sent.evaluate(TIME) == second
        assert sent.evaluate(f"document.getElementById('controls').elements.{empty}.value") == ""
        report = sent.evaluate("document.querySelector('#answer .open a').href")
        opened = browser.open(report)
        assert opened.evaluate("document.documentElement.dataset.ready") == "yes"
        assert opened.evaluate("document.querySelectorAll('.plot canvas').length") > 0
        for one in (page, sent, opened):
            assert one.problems() == []


def test_a_wrong_control_of_serving_is_said_at_the_control(server: Server) -> None:
    with Chromium() as browser:
        page = browser.open(f"{server.address}serve")
        page.until(TIME)
        change(page, "rate", "none")
        told = page.evaluate("document.getElementById('wrong-rate').textContent")
        assert told.startswith("rate: expected requests a second, such as 10, got ")
        assert page.evaluate(TIME) == ""
