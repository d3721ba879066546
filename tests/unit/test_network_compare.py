"""One scenario on every network: rows equal single runs, and networks agree without contention."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from yantra.base.errors import TraceError, UnsupportedError
from yantra.base.trust import allow
from yantra.chakra import CollectiveType, TraceBuilder
from yantra.cli import main
from yantra.network import names
from yantra.result import Result
from yantra.run.networks import Networks, compare
from yantra.run.simulate import run, simulate
from yantra.scenario import Collectives, Dimension, Scenario, Topology, Traces, load
from yantra.scenario.one_collective import collective_on

DIAMOND = "{kind: leaf_spine, leaves: 2, ranks_per_leaf: 2, spines: 1, bandwidth: 10 GB/s,"
FABRIC = f"  fabric: {DIAMOND} latency: 1 us}}\n"
TWICE = '''"""Twice the time alone."""

from yantra.network.model import NetworkModel


class Twice(NetworkModel):
    """Twice the time alone."""

    def delay_ns(self, message):
        return 2 * self.fabric.alone_ns(message)


PLUGIN = Twice
'''

LOSES = '''"""Loses what it is given after the first nine messages, up to three."""

from yantra.network.model import NetworkModel


class Loses(NetworkModel):
    """Loses messages."""

    given_so_far = 0

    def send(self, message):
        self.given_so_far += 1
        if not 9 < self.given_so_far <= 12:
            self.arrive(message, message.sent_ns + self.fabric.alone_ns(message))


PLUGIN = Loses
'''


def _ring(ranks: int, size_bytes: int, bytes_per_ns: float, latency_ns: float) -> Scenario:
    trace = TraceBuilder()
    trace.collective(CollectiveType.ALL_REDUCE, size_bytes)
    ring = Dimension(kind="ring", size=ranks, bytes_per_ns=bytes_per_ns, latency_ns=latency_ns)
    return Scenario(
        workload=Traces(traces=(trace.build(),) * ranks),
        topology=Topology(dimensions=(ring,)),
        collectives=Collectives(all_reduce=("ring",), endpoint_delay_ns=0),
    )


def _file(folder: Path, more: str = "", cluster: str = "") -> Path:
    trace = TraceBuilder()
    trace.collective(CollectiveType.ALL_TO_ALL, 1_000_000)
    trace.collective(CollectiveType.ALL_REDUCE, 3_000_000)
    for rank in range(4):
        trace.build().write(str(folder / f"job.{rank}.et"))
    file = folder / "job.yaml"
    topology = "topology: [{kind: ring, size: 4, bandwidth: 10 GB/s, latency: 1 us}]"
    file.write_text(
        f'workload: {{traces: "job.{{rank}}.et"}}\n'
        "collectives: {all_reduce: [ring], all_to_all: [direct]}\n"
        f"{more}cluster:\n  {topology}\n{cluster}"
    )
    return file


def _times(networks: Networks) -> dict[str, float]:
    return {row.network: row.makespan_ns for row in networks.rows if row.makespan_ns is not None}


@given(
    st.integers(2, 9),
    st.integers(1, 1 << 24),
    st.sampled_from((1.0, 12.5, 50.0)),
    st.integers(0, 5_000),
)
@settings(max_examples=15, deadline=None)
def test_networks_agree_on_a_ring_all_reduce_over_a_ring_where_no_messages_meet(
    ranks: int, size_bytes: int, bytes_per_ns: float, latency_ns: int
) -> None:
    """A tick is a ps, and each of the 2 (n - 1) steps may round once on every network."""
    times = _times(compare(_ring(ranks, size_bytes, bytes_per_ns, latency_ns)))
    grain_ns = 2 * (ranks - 1) * 0.002
    assert times["store_and_forward"] == pytest.approx(times["analytical"], abs=grain_ns)
    assert times["flow"] == pytest.approx(times["analytical"], abs=grain_ns)
    steps_ns = 2 * (ranks - 1) * latency_ns
    assert times["ideal"] == pytest.approx(times["analytical"] - steps_ns, abs=grain_ns)


def test_every_row_is_what_the_run_with_that_network_says(tmp_path: Path) -> None:
    file = _file(tmp_path)
    networks = compare(load(file))
    assert [row.network for row in networks.rows] == sorted(
        set(names()) - {"noc", "external"},
        key=["ideal", "analytical", "store_and_forward", "flow", "packet"].index,
    )
    finest = _times(networks)["packet"]
    assert (networks.finest, networks.chosen, networks.ranks) == ("packet", "analytical", 4)
    for row in networks.rows:
        result = simulate(load(file, settings={"network": row.network}))
        assert row.makespan_ns == result.makespan_ns
        assert row.cost is not None and row.cost.cpu_s >= 0
        assert (row.cost.events, row.cost.messages) == (result.events, result.messages)
        assert row.cost.is_folded == (result.folding is not None)
        assert row.difference == (result.makespan_ns - finest) / finest
    times = _times(networks)
    assert times["analytical"] == times["flow"]
    assert len(set(times.values())) == 4


def test_a_network_that_refuses_is_told_with_its_reason(tmp_path: Path) -> None:
    networks = compare(load(_file(tmp_path, cluster=FABRIC)))
    assert set(_times(networks)) == {"store_and_forward", "flow", "packet"}
    for row in networks.rows:
        if row.cost is None:
            assert row.refused.startswith(
                f"cluster.fabric: the network {row.network} does not run over a fabric; take one of"
            )
            assert (row.makespan_ns, row.difference) == (None, None)


def test_where_no_network_runs_it_the_finest_says_why(tmp_path: Path) -> None:
    scenario = load(_file(tmp_path, cluster=FABRIC))
    with pytest.raises(UnsupportedError, match="ALL_TO_ALL has no algorithm here"):
        compare(scenario.replace(collectives=Collectives(all_reduce=("ring",))))
    (tmp_path / "job.3.et").unlink()
    with pytest.raises(TraceError, match=r"job\.3\.et: no such file"):
        compare(scenario)


def test_the_network_of_the_scenario_keeps_its_options(tmp_path: Path) -> None:
    scenario = load(_file(tmp_path, "network: {kind: ideal, options: {speedup: 4}}\n"))
    networks = compare(scenario)
    assert networks.chosen == "ideal (speedup 4)"
    plain = _times(compare(scenario.replace(network="analytical")))
    times = _times(networks)
    assert times["ideal (speedup 4)"] < plain.pop("ideal")
    assert {name: times[name] for name in plain} == plain


def test_a_network_in_python_comes_last_and_is_not_the_finest(tmp_path: Path) -> None:
    (tmp_path / "twice.py").write_text(TWICE)
    allow(str(tmp_path / "twice.py"))
    networks = compare(load(_file(tmp_path, "network: twice.py\n")))
    assert networks.finest == "packet"
    last = networks.rows[-1]
    assert last.network == networks.chosen
    assert last.makespan_ns == simulate(load(tmp_path / "job.yaml")).makespan_ns


@pytest.mark.parametrize("ranks", [None, 4])
def test_one_all_reduce_takes_its_bytes_over_the_bandwidth_on_the_ideal_network(
    ranks: int | None,
) -> None:
    """2 (n - 1) / n of the bytes leave every rank: Patarasuk and Yuan 2009, theorem 1."""
    scenario = collective_on(
        "hgx-h100",
        CollectiveType.ALL_REDUCE,
        1 << 28,
        ranks,
        {"collectives.endpoint_delay": "0 ns", "stack": "roofline"},
    )
    count = ranks or 8
    assert scenario.topology.ranks == count
    time_ns = _times(compare(scenario))["ideal"]
    bound_ns = 2 * (count - 1) / count * (1 << 28) / scenario.topology.dimensions[0].bytes_per_ns
    assert time_ns == pytest.approx(bound_ns, rel=1e-6)


def test_the_command_prints_the_rows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = str(_file(tmp_path, cluster=FABRIC))
    assert main(["network", "compare", file]) == 0
    said = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in said[2:5]] == ["store_and_forward", "flow", "packet"]
    assert "+0.00 %" in said[4] and said[5] == "difference: from the time on packet"
    assert said[6].startswith("ideal does not run it: cluster.fabric: ")
    assert main(["network", "compare", file, "--json"]) == 0
    form = json.loads(capsys.readouterr().out)
    assert [sorted(row) for row in form["networks"][:2]] == [["network", "refused"]] * 2
    assert form["networks"][4]["difference"] == 0


def test_rows_that_differ_in_more_than_the_network_are_named(
    capsys: pytest.CaptureFixture[str],
) -> None:
    asked = ["network", "compare", "--cluster", "hgx-h100", "--all-reduce", "1MiB", "--ranks", "8"]
    said = "collectives take measured times on analytical, and are messages on the others"
    assert main(asked) == 0
    assert said in capsys.readouterr().out
    assert main([*asked, "--stack", "roofline"]) == 0
    assert "collectives" not in capsys.readouterr().out


def test_a_network_that_loses_messages_comes_to_a_deadlock_and_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "loses.py").write_text(LOSES)
    file = str(_file(tmp_path, "network: loses.py\n"))
    given = "3 messages were given to the network loses and did not arrive"
    lost = f"{given}; yantra contract network checks it"
    plugged = ["--plugin", str(tmp_path / "loses.py")]
    assert main(["network", "compare", file, *plugged]) == 0
    said = capsys.readouterr().out.splitlines()
    (at,) = [at for at, line in enumerate(said) if "deadlock" in line]
    assert said[at].endswith("loses runs it to a deadlock: 4 of 4 ranks cannot finish")
    assert said[at + 1].startswith(lost)
    assert "does not run it" not in "".join(said)
    assert main(["network", "compare", file, "--json", *plugged]) == 0
    last = json.loads(capsys.readouterr().out)["networks"][-1]
    assert sorted(last) == ["deadlock", "network"]
    assert last["deadlock"].splitlines()[1] == lost
    assert main(["run", file, *plugged]) == 3
    assert lost in capsys.readouterr().err


def test_an_all_reduce_goes_by_all_ranks_of_an_infragraph(tmp_path: Path) -> None:
    pod = str(tmp_path / "pod.infragraph.yaml")
    shape = ("leaves=2", "ranks_per_leaf=2", "spines=1", "bandwidth=50GB/s", "latency=1us")
    options = [word for one in shape for word in ("--set", one)]
    assert main(["topology", "show", "leaf_spine", *options, "--infragraph", pod]) == 0
    networks = compare(
        collective_on(
            pod, CollectiveType.ALL_REDUCE, 1 << 20, settings={"collectives.all_reduce": ["ring"]}
        )
    )
    assert networks.ranks == 4
    assert set(_times(networks)) == {"store_and_forward", "flow", "packet"}


WRONG = {
    "": "yantra network compare: expected a FILE, or --all-reduce and --cluster; see",
    "--all-reduce 1MiB": "yantra network compare: expected a FILE, or --all-reduce and --cluster; "
    "--cluster is missing",
    "x.yaml --all-reduce 1MiB": "yantra network compare: expected x.yaml or --all-reduce 1MiB, not",
    "x.yaml --ranks 4": "yantra network compare: --ranks goes with --all-reduce; a file says how",
    "--cluster hgx-h100 --all-reduce 0B": "--all-reduce: expected whole bytes, at least 1, got 0B",
    "--cluster hgx-h100 --all-reduce 5": "--all-reduce: ",
    "--cluster tpu-v5p --all-reduce 1MiB": "--ranks: expected a number, as tpu-v5p has no domains",
    "--cluster hgx-h200x --all-reduce 1MiB": "--cluster: no cluster is named 'hgx-h200x'",
    "--cluster hgx-h100 --all-reduce 1MiB --ranks 12": "--ranks: 12 ranks cannot be had",
}


@pytest.mark.parametrize("line", WRONG)
def test_wrong_lines_say_what_is_expected(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["network", "compare", *line.split()]) == 2
    assert capsys.readouterr().err.startswith(f"error: {WRONG[line]}")


@pytest.mark.parametrize("as_json", [False, True])
def test_an_interrupted_comparison_prints_the_rows_that_are_complete(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    as_json: bool,
) -> None:
    def interrupted(model: Any, **options: Any) -> Result:
        if model.scenario.network == "store_and_forward":
            raise KeyboardInterrupt
        return run(model, **options)

    file = str(_file(tmp_path))
    monkeypatch.setattr("yantra.run.networks.run", interrupted)
    assert main(["network", "compare", file, *(["--json"] if as_json else [])]) == 130
    said = capsys.readouterr().out
    if as_json:
        form = json.loads(said)
        assert form["partial"] and form["not_run"] == ["store_and_forward", "flow", "packet"]
        assert [row["network"] for row in form["networks"]] == ["ideal", "analytical"]
        assert form["finest"] == "analytical"
    else:
        assert "analytical" in said and "\nflow" not in said
        assert said.endswith("interrupted before the end of store_and_forward, flow, packet\n")


def test_a_comparison_that_is_interrupted_before_its_first_row_prints_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: Any, **__: Any) -> Result:
        raise KeyboardInterrupt

    monkeypatch.setattr("yantra.run.networks.run", interrupted)
    assert main(["network", "compare", str(_file(tmp_path))]) == 130
    assert capsys.readouterr().out == ""


def _slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Judge runs of 20,000 events and more at once."""
    monkeypatch.setattr("yantra.run.networks.JUDGED_AFTER_S", 0.0)
    monkeypatch.setattr("yantra.run.simulate.EVENTS_PER_SLICE", 20_000)


def test_a_network_that_takes_too_long_is_left_out_with_an_estimate(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scenario = _ring(4, 1 << 22, 12.5, 500)
    whole = compare(scenario)
    _slow(monkeypatch)
    short = compare(scenario, limit_s=1e-6)
    kept = [row.network for row in short.rows if row.cost]
    assert kept == ["ideal", "analytical", "store_and_forward", "flow"]
    assert (short.finest, short.rows[-1].network) == ("flow", "packet")
    assert 1e-6 < (short.rows[-1].estimate_s or 0.0) < 60.0
    again = compare(scenario, before=short)
    assert _times(again) == _times(whole) and again.finest == "packet"
    assert [row.cost for row in again.rows[:-1]] == [row.cost for row in short.rows[:-1]]


def test_an_estimate_is_by_the_time_that_a_coarser_network_ends_at() -> None:
    from yantra.run.networks import _Limit

    limit = _Limit(60.0, 4_000.0)
    limit.check(0, 5)
    assert limit._begun is not None
    limit._begun -= 10.0
    assert limit.estimate_s(1_000.0) == pytest.approx(40.0, rel=1e-3)
    limit.check(1, 5)  # 50 s by nodes
    with pytest.raises(KeyboardInterrupt):
        limit.check(1, 7)


@pytest.mark.parametrize("answer", ["y", "n"])
def test_a_terminal_is_asked_and_a_pipe_is_told(
    answer: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _slow(monkeypatch)
    line = ["network", "compare", str(_file(tmp_path)), "--time-limit", "1 us"]
    assert main(line) == 0
    assert "packet was left out: about 0 s; --time-limit runs it\n" in capsys.readouterr().out
    assert main([*line, "--json"]) == 0
    last = json.loads(capsys.readouterr().out)["networks"][-1]
    assert sorted(last) == ["estimate_s", "left_out", "network"]
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("yantra.cli.terminal.can_redraw", lambda _: True)
    asked: list[str] = []

    def confirm(text: str, err: bool) -> bool:
        asked.append(text)
        return answer == "y"

    monkeypatch.setattr("click.confirm", confirm)
    assert main(line) == 0
    assert asked == ["would take: packet about 0 s; run it?"]
    assert ("packet was left out" in capsys.readouterr().out) == (answer == "n")
