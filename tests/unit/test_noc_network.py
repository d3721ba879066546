"""The network `noc`: a cycle is a flit's time on a link, 0.25 ns with 16 B at 64 GB/s; F flits over
H routers take 5 H + 2 + F - 1.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from yantra import chakra
from yantra.cli import main
from yantra.compile import compile
from yantra.run.simulate import run
from yantra.scenario import load

CYCLE_NS = 0.25


def _dimension(kind: str, size: int, latency: str = "0.25 ns", bandwidth: str = "64 GB/s") -> str:
    return f"{{kind: {kind}, size: {size}, bandwidth: {bandwidth}, latency: {latency}}}"


def _scenario(folder: Path, dimensions: list[str], network: str, traces: list[bytes]) -> Path:
    for rank, trace in enumerate(traces):
        (folder / f"step.{rank}.et").write_bytes(trace)
    path = folder / "step.yaml"
    rings = ", ".join("ring" for _ in dimensions)
    path.write_text(
        'workload: {traces: "step.{rank}.et"}\n'
        f"cluster:\n  topology: [{', '.join(dimensions)}]\n"
        f"collectives: {{all_reduce: [{rings}], chunks: 1}}\n"
        f"network: {network}\n"
    )
    return path


def _message(ranks: int, source: int, destination: int, size: int) -> list[bytes]:
    builders = [chakra.TraceBuilder(rank=rank) for rank in range(ranks)]
    builders[source].send(destination, size)
    builders[destination].recv(source, size)
    return [builder.build().to_bytes() for builder in builders]


def _all_reduce(ranks: int, size: int) -> list[bytes]:
    builder = chakra.TraceBuilder()
    builder.collective(chakra.CollectiveType.ALL_REDUCE, size)
    return [builder.build().to_bytes()] * ranks


def _run(path: Path, **more: Any) -> Any:
    return run(compile(load(path)), **more)


SHAPES = {
    "mesh": ([_dimension("mesh", 4), _dimension("mesh", 4)], 16, 6),
    "torus": ([_dimension("ring", 4), _dimension("ring", 4)], 16, 2),
    "ring": ([_dimension("ring", 6)], 6, 1),
    "both": ([_dimension("ring", 3), _dimension("mesh", 2)], 6, 2),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("size", [1, 16, 17, 64, 4096])
@pytest.mark.parametrize("record", [False, True])
def test_a_message_alone_takes_the_closed_form(
    tmp_path: Path, shape: str, size: int, record: bool
) -> None:
    dimensions, ranks, hops = SHAPES[shape]
    path = _scenario(tmp_path, dimensions, "noc", _message(ranks, 0, ranks - 1, size))
    flits = -(-size // 16)
    cycles = 5 * (hops + 1) + 2 + flits - 1
    assert _run(path, record=record).makespan_ns == cycles * CYCLE_NS


def test_a_router_of_one_stage_and_longer_links_count_in_cycles(tmp_path: Path) -> None:
    traces = _message(4, 0, 3, 1024)
    fast = "{kind: noc, options: {router: one_stage}}"
    path = _scenario(tmp_path, [_dimension("mesh", 4)], fast, traces)
    assert _run(path).makespan_ns == (2 * 4 + 2 + 63) * CYCLE_NS
    path = _scenario(tmp_path, [_dimension("mesh", 4, "0.6 ns")], fast, traces)
    assert _run(path).makespan_ns == (2 * 4 + 2 + 63 + 3 * 2) * CYCLE_NS
    wide = "{kind: noc, options: {router: one_stage, flit: 64 B}}"
    path = _scenario(tmp_path, [_dimension("mesh", 4, "1 ns")], wide, traces)
    assert _run(path).makespan_ns == (2 * 4 + 2 + 15) * 1.0


@pytest.mark.parametrize(
    ("kind", "ranks", "size"), [("ring", 4, 2**18), ("ring", 8, 2**16), ("ring", 2, 4096)]
)
def test_a_ring_all_reduce_takes_ten_cycles_a_step_more_than_flows(
    tmp_path: Path, kind: str, ranks: int, size: int
) -> None:
    traces = _all_reduce(ranks, size)
    found = _run(_scenario(tmp_path, [_dimension(kind, ranks)], "noc", traces)).makespan_ns
    flow = _run(_scenario(tmp_path, [_dimension(kind, ranks)], "flow", traces)).makespan_ns
    assert found - flow == pytest.approx(2 * (ranks - 1) * 10 * CYCLE_NS)


def test_a_wafer_reduces_over_rows_and_columns(tmp_path: Path) -> None:
    wafer = [_dimension("mesh", 4), _dimension("mesh", 4)]
    traces = _all_reduce(16, 2**16)
    flow = _run(_scenario(tmp_path, wafer, "flow", traces)).makespan_ns
    for routing in ("xy", "west_first", "adaptive"):
        network = f"{{kind: noc, options: {{routing: {routing}}}}}"
        path = _scenario(tmp_path, wafer, network, traces)
        result = _run(path)
        assert flow < result.makespan_ns < 1.2 * flow
        assert result.makespan_ns == _run(path, record=True).makespan_ns


def test_links_carry_what_messages_need(tmp_path: Path) -> None:
    wafer = [_dimension("mesh", 4), _dimension("mesh", 4)]
    path = _scenario(tmp_path, wafer, "noc", _message(16, 1, 14, 1000))
    links = _run(path).links
    ends = sorted(zip(links["source"], links["destination"], strict=True))
    assert ends == [(1, 2), (2, 6), (6, 10), (10, 14)]
    assert set(links["bytes"]) == {63 * 16}  # whole flits
    assert set(links["messages"]) == {16}  # packets of four flits


REFUSED = [
    ([_dimension("switch", 4)], "noc", "neither a ring nor a mesh"),
    ([_dimension("ring", 4, "500 ns")], "noc", "buffer_flits of 1001 or more"),
    ([_dimension("ring", 2), _dimension("mesh", 2, bandwidth="32 GB/s")], "noc", "one clock"),
    ([_dimension("ring", 4)], "{kind: noc, options: {vcs: 1}}", "take vcs 2 or more"),
    ([_dimension("ring", 4)], "{kind: noc, options: {routing: west_first}}", "two dimensions"),
    ([_dimension("ring", 4)], "{kind: noc, options: {vcs: 2.5}}", "vcs: a whole number"),
]


@pytest.mark.parametrize(("dimensions", "network", "said"), REFUSED)
def test_what_is_no_chip_is_refused(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    dimensions: list[str],
    network: str,
    said: str,
) -> None:
    path = _scenario(tmp_path, dimensions, network, _all_reduce(4, 1024))
    assert main(["run", str(path)]) == 3
    assert said in capsys.readouterr().err


def test_it_is_compared_where_it_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    traces = _all_reduce(4, 1024)
    path = str(_scenario(tmp_path, [_dimension("ring", 4)], "noc", traces))
    assert main(["network", "compare", path]) == 0
    assert "difference: from the time on noc" in capsys.readouterr().out
    assert main(["network", "compare", path, "--set", "network=flow"]) == 0
    assert "noc" not in capsys.readouterr().out


def test_a_recorded_run_has_what_every_link_carried_and_when(tmp_path: Path) -> None:
    chip = [_dimension("mesh", 4), _dimension("ring", 4)]
    path = _scenario(tmp_path, chip, "noc", _all_reduce(16, 2**14))
    result = _run(path, record=True)
    total = sum(result.links["bytes"])
    assert result.makespan_ns == _run(path).makespan_ns
    crossings = result.recording.link_flows
    assert sum(crossings["bytes"]) == total
    held = zip(crossings["start_ns"], crossings["end_ns"], crossings["bytes"], strict=True)
    for start, end, carried in held:
        assert end - start >= carried / 16 * CYCLE_NS - 1e-9  # a flit a cycle at most
        assert 0 <= start < end <= result.makespan_ns
    for table in (result.recording.link_utilisation(10), result.recording.utilisation(10)):
        assert sum(table["bytes"]) == total
        assert max(table["utilisation"]) <= 1.0 + 1e-9


def test_the_report_shows_a_run_on_chip(tmp_path: Path) -> None:
    path = _scenario(tmp_path, [_dimension("mesh", 4)], "noc", _all_reduce(4, 2**12))
    report = tmp_path / "report.html"
    assert main(["run", str(path), "--report", str(report)]) == 0
    assert "noc" in report.read_text()


def test_ticks_of_a_nanosecond_hold_several_cycles(tmp_path: Path) -> None:
    path = _scenario(tmp_path, [_dimension("ring", 6)], "noc", _message(6, 0, 5, 4096))
    path.write_text(f"semantics: astra-sim\n{path.read_text()}")
    assert _run(path).makespan_ns in (66, 67)  # 267 cycles of 0.25 ns, in whole ns
