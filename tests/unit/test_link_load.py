"""What links carried over time: rates by hand, and the messages behind them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import identities
from tests.reports import packets
from tests.unit.test_flow_network import HEAD, MB, STAR, _over, _scenario
from yantra.base.errors import UnsupportedError
from yantra.chakra import TraceBuilder
from yantra.cli import main
from yantra.compile import compile
from yantra.export.report import html
from yantra.result import Result
from yantra.run.simulate import run
from yantra.scenario import load


def _recorded(folder: Path, posts: list[tuple[int, int, int]], network: str, over: str) -> Result:
    result = run(compile(load(_scenario(folder, posts, network, over))), record=True)
    identities.hold(result)
    return result


def _rates(result: Result) -> dict[tuple[str, str], list[tuple[float, float, float]]]:
    found: dict[tuple[str, str], list[tuple[float, float, float]]] = {}
    for _, _, source, destination, start, end, rate, _ in result.recording.link_rates.rows():
        found.setdefault((str(source), str(destination)), []).append((start, end, rate))  # type: ignore[arg-type]
    return found


def test_a_shared_link_is_full_until_both_are_through_and_their_own_are_half_full(
    tmp_path: Path,
) -> None:
    """0.5 MB and 1 MB to one rank: 5 GB/s each for 100 us, then 10 GB/s for the other 50 us."""
    result = _recorded(tmp_path, [(0, 2, MB // 2), (1, 2, MB)], "flow", _over(STAR))
    half, rest = (2_000.0, 102_000.0), (102_000.0, 152_000.0)
    assert _rates(result) == {
        ("rank 0", "switch 0"): [(*half, 5.0)],
        ("rank 1", "switch 0"): [(*half, 5.0), (*rest, 10.0)],
        ("switch 0", "rank 2"): [(half[0], rest[1], 10.0)],
    }
    table = result.recording.link_utilisation(2)
    first, second = table["utilisation"][:2]  # of rank 0, over 76 us each
    assert (first, second) == pytest.approx((74_000 * 5 / 760_000, 26_000 * 5 / 760_000))


def test_a_link_with_a_queue_carries_whole_messages_one_after_the_other(tmp_path: Path) -> None:
    """Both are at the switch after 101 us; its link to rank 2 is full for 200 us from then on."""
    result = _recorded(tmp_path, [(0, 2, MB), (1, 2, MB)], "store_and_forward", _over(STAR))
    assert _rates(result)["switch 0", "rank 2"] == [(101_000.0, 301_000.0, 10.0)]
    flows = [row[4:] for row in result.recording.link_flows.rows() if row[2] == "switch 0"]
    assert [(row[0], row[1], row[3], row[4], row[5]) for row in flows] == [
        (0, 2, MB, 101_000, 201_000),
        (1, 2, MB, 201_000, 301_000),
    ]


@pytest.mark.parametrize("network", ["flow", "store_and_forward"])
def test_links_of_dimensions_have_rates_too(tmp_path: Path, network: str) -> None:
    result = _recorded(tmp_path, [(0, 1, MB)], network, "")
    assert _rates(result) == {
        ("rank 0", "rank 1"): [
            (1_000.0 if network == "flow" else 0.0, pytest.approx(101_000, abs=1_000), 10.0)
        ]
    }


def test_a_network_without_links_has_no_rates_and_no_flows(tmp_path: Path) -> None:
    result = _recorded(tmp_path, [(0, 1, MB)], "analytical", "")
    assert len(result.recording.link_rates) == len(result.recording.link_flows) == 0


def test_only_the_flows_of_the_links_asked_for_are_told(tmp_path: Path) -> None:
    result = _recorded(tmp_path, [(0, 2, MB), (1, 2, MB)], "flow", _over(STAR))
    names = result.links.values("destination")
    last = names.index(2)
    flows = result.recording.flows_over([last])
    assert (flows.values("sender"), flows.values("link")) == ([0, 1], [last, last])


def test_a_link_that_fails_and_returns_carries_nothing_meanwhile(tmp_path: Path) -> None:
    rows = "50000,0,leaf 0,0 GB/s\n90000,0,leaf 0,10 GB/s\n"
    (tmp_path / "changes.csv").write_text(f"at_ns,from,to,bandwidth\n{rows}")
    fabric = "{kind: leaf_spine, leaves: 2, ranks_per_leaf: 2, spines: 1, bandwidth: 10 GB/s,"
    over = _over(fabric + " latency: 1 us, uplink_bandwidth: 10 GB/s}")
    more = "  link_changes: changes.csv\n  reroute_delay: 10 us\n"
    result = _recorded(tmp_path, [(0, 2, MB)], "flow", over + more)
    expected = [(4_000.0, 50_000.0, 10.0), (90_000.0, 144_000.0, 10.0)]
    assert set(map(tuple, _rates(result).values())) == {tuple(expected)}


def test_a_folded_run_has_the_rates_of_all_links_and_the_flows_of_one_of_each_class(
    tmp_path: Path,
) -> None:
    from tests.clusters import dimension, scenario
    from yantra.chakra import CollectiveType
    from yantra.run.simulate import simulate

    trace = TraceBuilder()
    trace.collective(CollectiveType.ALL_REDUCE, 1 << 20)
    both = [
        simulate(
            scenario([trace] * 4, dimension(), network="store_and_forward", fold=fold), record=True
        )
        for fold in ("require", "off")
    ]
    folded, whole = both
    assert folded.recording.link_rates.as_dict() == whole.recording.link_rates.as_dict()
    identities.hold(folded)
    with pytest.raises(UnsupportedError, match="--fold off"):
        folded.recording.flows_over([0])
    # One link represents all, with what crossed it.
    [one] = set(folded.table("link_flows").values("link"))
    sizes = folded.table("link_flows").values("bytes")
    assert sum(sizes) == folded.links.values("bytes")[one]


def test_the_command_names_the_busiest_links_and_whose_messages_crossed_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    posts = [(0, 2, MB), (1, 2, MB // 2), (3, 2, MB // 4)]
    file = str(_scenario(tmp_path, posts, "flow", _over(STAR)))
    assert main(["run", file, "--hot-links", "2"]) == 0
    said = capsys.readouterr().out.splitlines()
    at = next(number for number, line in enumerate(said) if line.startswith("busiest links"))
    assert [line.split("  ")[0] for line in said[at + 1 : at + 2]] == ["switch 0 to rank 2 (down)"]
    assert [line.strip().split("  ")[0] for line in said[at + 2 : at + 5]] == [
        "rank 0 to rank 2",
        "rank 1 to rank 2",
        "rank 3 to rank 2",
    ]
    # 1.75 MB at 10 GB/s, between 2 us and the end.
    assert "98.9 %" in said[at + 1] and "177.000 us" in said[at + 2]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--json"], "--hot-links prints text"),
        (["--no-record"], "--hot-links needs a recorded run"),
        (["--fold", "require"], "--hot-links runs all ranks"),
        ([], "--hot-links: this network keeps no links; "),
    ],
)
def test_hot_links_are_refused_where_there_are_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], more: list[str], said: str
) -> None:
    file = str(_scenario(tmp_path, [(0, 1, MB)], "analytical", ""))
    assert main(["run", file, "--hot-links", "2", *more]) == 2
    assert said in capsys.readouterr().err


def test_hot_links_of_a_job_that_folds_are_those_of_all_its_ranks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for rank in range(4):
        trace = TraceBuilder(rank=rank)
        trace.collective("all_reduce", MB)
        trace.build().write(str(tmp_path / f"job.{rank}.et"))
    file = tmp_path / "job.yaml"
    topology = "topology: [{kind: ring, size: 4, bandwidth: 10 GB/s, latency: 1 us}]"
    file.write_text(f"{HEAD}network: store_and_forward\ncluster:\n  {topology}\n")
    assert main(["run", str(file), "--hot-links", "4"]) == 0
    said = capsys.readouterr().out
    for rank in range(4):
        assert f"rank {rank} to rank {(rank + 1) % 4} (dimension 0)" in said


def test_a_report_of_more_crossings_than_a_table_may_have_leaves_them_out_and_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert "Who sends over the busiest links</caption>" in html(packets())
    monkeypatch.setattr("yantra.result.link_load._MOST_ROWS", 10)
    page = html(packets())
    assert "Who sends over the busiest links is left out: " in page
    assert "more than the ten million rows that link_flows may have" in page
    assert "Who sends over the busiest links</caption>" not in page
