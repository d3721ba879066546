"""What people read: small tables that fit 80 columns."""

from __future__ import annotations

from tests.clusters import dimension, scenario
from yantra.chakra import CollectiveType, TraceBuilder
from yantra.result import Result
from yantra.run.simulate import simulate
from yantra.scenario import RemoteMemory


def _compute(micros: list[int]) -> Result:
    traces = []
    for duration in micros:
        trace = TraceBuilder()
        trace.compute(duration_micros=duration)
        traces.append(trace)
    return simulate(scenario(traces, dimension(size=len(micros))))


def _first_column(result: Result) -> list[str]:
    return [line.split()[0] for line in _ranks(result).splitlines()[1:]]


def _ranks(result: Result) -> str:
    return result.summary().split("\n\n")[1]


def test_ranks_that_did_the_same_share_a_row() -> None:
    assert _first_column(_compute([5, 5, 5, 7, 5])) == ["0-2", "3", "4"]


def test_many_different_ranks_are_told_by_their_least_median_and_most() -> None:
    table = _ranks(_compute(list(range(1, 18))))
    rows = [line.split() for line in table.splitlines()[1:]]
    assert [row[:2] for row in rows] == [["min", "1000"], ["median", "9000"], ["max", "17000"]]


def test_times_are_given_in_a_unit_that_suits_the_run() -> None:
    assert _ranks(_compute([1, 2])).startswith("rank (ns)  finish")
    assert _ranks(_compute([5000, 2])).startswith("rank (us)")
    assert _ranks(_compute([500_000, 2])).startswith("rank (ms)")
    assert "500.000" in _compute([500_000, 2]).summary()


def test_a_summary_fits_80_columns_with_every_part_of_a_long_run_in_it() -> None:
    traces = []
    for rank in range(8):
        trace = TraceBuilder()
        node = trace.compute("kernel", duration_micros=9_999_000 + rank)
        node = trace.collective(CollectiveType.ALL_REDUCE, (1 << 30) + 1, after=node)
        node = trace.memory_load(1 << 30, after=node)
        trace.compute("host", duration_micros=9_000_000, cpu=True, after=node)
        traces.append(trace)
    memory = RemoteMemory(kind="per_npu", latency_ns=1, bytes_per_ns=0.1)
    result = simulate(scenario(traces, dimension("fully_connected", 8), memory=memory))
    text = result.summary()
    assert all(part in text for part in ("compute", "exposed comm", "memory", "host", "idle"))
    assert max(map(len, text.splitlines())) <= 80


def test_the_notebook_form_escapes_and_has_the_same_cells() -> None:
    result = _compute([1, 2])
    page = result._repr_html_()
    assert page.count("<table>") == 2 and page.count("<rect") == 2
    assert "<th>rank (ns)</th><th>finish</th>" in page
    assert "<td>0: Ring 2</td>" in page
    assert (
        "<br>bound by compute: with kernels that take no time it would be 100.0 % shorter" in page
    )
