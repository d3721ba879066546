"""The page of a served trace: its curves are the run's, its bars add up, it needs nothing else."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from tests.serving.fleets import served, with_ends
from yantra.cli import main
from yantra.serving.curves import LOAD, kv_room, load, within
from yantra.serving.fleet import PS
from yantra.serving.measures import Objective, column, kept
from yantra.serving.page import page, write_page

TIGHT = {"num_blocks": 250, "max_num_seqs": 64}
PROMISES = (Objective("ttft", 99.0, 0.5), Objective("tpot", 99.0, 0.025))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("measure", ["ttft", "tpot", "e2e"])
def test_a_curve_has_exactly_the_share_within_each_of_its_times(measure: str, seed: int) -> None:
    values = column(served(seed=seed, count=1200).ran, measure)
    curve = within(values)
    assert 2 < len(curve.at_ns) <= 500
    assert (np.diff(curve.at_ns) >= 0).all() and (np.diff(curve.values) > 0).all()
    assert curve.values[-1] == 1.0
    for ns, share in zip(curve.at_ns, curve.values, strict=True):
        # times of the curve are whole ns
        assert (values < (ns - 0.6) / 1e9).mean() < share <= (values <= (ns + 0.6) / 1e9).mean()


def test_equal_times_are_one_step() -> None:
    curve = within(np.array([2.0, 1.0, 2.0, 2.0]))
    assert curve.at_ns.tolist() == [1_000_000_000, 2_000_000_000]
    assert curve.values.tolist() == [0.25, 1.0]


@pytest.mark.parametrize("measure", list(LOAD))
@pytest.mark.parametrize("replicas", [1, 3, 9])
def test_load_is_that_of_the_samples_and_ends_at_nothing(measure: str, replicas: int) -> None:
    one = served(replicas=replicas, rate=30.0 * replicas, **TIGHT)
    ran = one.sampled()
    curves = load(ran, one.fleet, measure)
    assert len(curves) == (replicas if replicas < 9 else 1)
    times = np.rint((ran.column("sample_time") - ran.column("arrival").min()) / 1000)
    values, of = ran.column(f"sample_{measure}"), ran.column("sample_replica")
    for ns in (0.0, *np.quantile(times, [0.1, 0.37, 0.5, 0.93]), times.max()):
        latest = [values[(times <= ns) & (of == at)][-1:].sum() for at in range(replicas)]
        shown = [curve.values[curve.at_ns <= ns][-1:].sum() for curve in curves]
        assert shown == (latest if replicas < 9 else [sum(latest)])
    if measure != "kv_tokens":  # prefixes stay
        assert [int(curve.values[-1]) for curve in curves] == [0] * len(curves)
    assert all((curve.values >= 0).all() for curve in curves)


def test_running_and_kv_stay_within_seats_and_room() -> None:
    one = served(rate=60.0, **TIGHT)
    ran = one.sampled()
    assert kv_room(one.fleet) == 250 * 16
    assert ran.column("sample_kv_tokens").max() <= 250 * 16
    assert 1 < ran.column("sample_running").max() <= 64


def test_samples_change_nothing() -> None:
    one = served(**TIGHT)
    sampled = one.sampled()
    for name in ("first_token", "finish", "spent", "behind"):
        assert (sampled.column(name) == one.ran.column(name)).all()
    with_samples = served(**TIGHT, samples=True)
    assert with_samples.sampled() is with_samples.ran


def test_parts_of_every_request_add_up_to_its_time() -> None:
    ran = served(rate=60.0, **TIGHT).ran
    whole = ran.column("finish") - ran.column("arrival")
    assert (ran.column("spent").reshape(len(ran.requests), -1)[:, 1:].sum(axis=1) == whole).all()
    assert ran.behind_s.sum(axis=1) == pytest.approx(ran.queue_s)


def test_bars_add_up_and_are_of_all_requests() -> None:
    text = page(served(rate=60.0, **TIGHT))
    spent = text.partition('id="spent"')[2].partition("<section")[0]
    bars = re.findall(r"<svg.*?</svg>", spent, re.DOTALL)
    assert len(bars) == 5
    for bar in bars:
        widths = [float(width) for width in re.findall(r'width="([\d.]+)%"', bar)]
        assert sum(widths) == pytest.approx(100, abs=0.01)
    bands = re.findall(r"<small> ([\d,]+) requests?, ", spent)
    assert sum(int(size.replace(",", "")) for size in bands) == 300


def test_the_head_says_the_share_that_keeps_the_promises() -> None:
    one = served(rate=60.0, **TIGHT)
    share = kept(one.ran, PROMISES).mean()
    text = page(one, PROMISES)
    assert f'<span class="makespan">{share:.1%}</span>' in text
    assert "TTFT p99 500.000 ms" in text and "goodput" in text
    assert "no KV free" in text


def test_requests_that_waited_longest_come_first() -> None:
    one = served(rate=60.0, **TIGHT)
    table = page(one).partition('id="longest"')[2].partition("</table>")[0]
    first = re.findall(r'<td class="number" data-key="(\d+)">', table)[0]
    assert int(first) == int(one.ran.queue_s.argmax())


def test_shares_of_replicas_are_worked_time_over_the_run() -> None:
    one = served(replicas=2, rate=10.0)
    text = page(one).partition('id="replicas"')[2].partition("</section>")[0]
    busy = one.ran.column("replica_worked") / PS / one.ran.makespan_s
    assert [f"{share:.1%}" in text for share in busy] == [True, True]
    assert (busy < 1).all()


def test_an_interval_has_its_ends_beside_each_value() -> None:
    one = with_ends(served())
    low, high = one.interval("ttft", 99.0) or (0.0, 0.0)
    assert low < one.ttft.at(99.0) < high
    text = page(one)
    assert "with the shortest iterations of 90 in 100" in text
    assert "between which 90 of 100 such runs are" in text
    assert "between which 90 of 100" not in page(served())


def test_an_overloaded_run_says_so_instead() -> None:
    one = served(count=1500, rate=400.0, **TIGHT)
    assert one.is_overloaded
    assert "requests come faster than they leave" in page(one)


def test_the_file_needs_nothing_but_itself(tmp_path: Path) -> None:
    write_page(served(prefill="1x", decode="1x"), tmp_path / "serve.html")
    text = (tmp_path / "serve.html").read_text().partition('<script type="module">')[0]
    assert "default-src &#x27;none&#x27;" in text
    assert not re.findall(r"<(?:link|img|iframe)\b|src=|@import|url\(", text)
    assert "waits for decode" in text


def test_the_command_writes_a_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report = tmp_path / "serve.html"
    command = (
        "serve", "--cost", "5 ms, 20 us, 0.1 us", "--ttft", "p99 1 s", "--report", str(report),
        "--requests", "poisson:rate=20/s,count=100,isl=1024,osl=16,seed=1",
    )  # fmt: skip
    assert main(command) == 0
    assert "goodput" in capsys.readouterr().out
    assert report.read_text().startswith("<!doctype html>")
