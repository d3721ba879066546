"""An interrupted run keeps what is known: marked as partial, whole files, exit status 130."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from yantra import _core
from yantra.chakra import TraceBuilder
from yantra.cli import main
from yantra.compile import compile
from yantra.result.partial import Partial
from yantra.run import simulate as simulation
from yantra.run.simulate import run
from yantra.scenario import load

RANKS, STEPS = 4, 30


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    """Steps of 50 us of compute and an all-reduce; rank 3 does only the first of them."""
    for rank in range(RANKS):
        builder = TraceBuilder(rank=rank)
        last = None
        for step in range(STEPS):
            after = [] if last is None else [last]
            last = builder.compute(duration_micros=50, name=f"kernel {step}", after=after)
            if rank < 2:
                last = builder.send(
                    rank + 2, 1_000_000, tag=step, name=f"send {step}", after=[last]
                )
            else:
                last = builder.recv(rank - 2, 1_000_000, tag=step, name=f"get {step}", after=[last])
        builder.build().write(str(tmp_path / f"step.{rank}.et"))
    file = tmp_path / "step.yaml"
    file.write_text(
        'workload: {traces: "step.{rank}.et"}\nnetwork: flow\ncluster:\n'
        "  topology: [{kind: ring, size: 4, bandwidth: 10 GB/s, latency: 1 us}]\n"
        "  fabric: {kind: leaf_spine, leaves: 2, ranks_per_leaf: 2, spines: 2,"
        " bandwidth: 10 GB/s, latency: 1 us}\n"
    )
    return file


@pytest.fixture
def interrupted(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    def after(events: int) -> None:
        def in_slices(held: _core.Simulation, _total: int, _progress: object) -> None:
            for _ in range(events):
                if held.run_for(1):
                    break  # folded, it is over after a few
            raise KeyboardInterrupt

        monkeypatch.setattr(simulation, "_run_in_slices", in_slices)

    return after


@pytest.mark.parametrize("network", ["flow", "packet", "store_and_forward", "analytical"])
@pytest.mark.parametrize("fold", ["off", "auto"])
@pytest.mark.parametrize("events", [1, 50, 200])
def test_what_had_ended_is_what_ends_by_then_in_the_whole_run(
    scenario: Path,
    interrupted: Callable[[int], None],
    monkeypatch: pytest.MonkeyPatch,
    network: str,
    fold: str,
    events: int,
) -> None:
    text = scenario.read_text().replace("network: flow", f"network: {network}\nfold: {fold}")
    if network == "analytical":
        text = text[: text.index("  fabric")]
    scenario.write_text(text)
    model = compile(load(scenario))
    whole = run(model)
    interrupted(events)
    with pytest.raises(KeyboardInterrupt) as stop:
        run(model)
    sentence, partial = stop.value.args
    assert isinstance(partial, Partial)
    assert sentence.startswith("the run had come to ")
    assert 0 <= partial.until_ns <= whole.makespan_ns
    known, all_of_it = partial.nodes.as_dict(), whole.nodes.as_dict()
    assert known["name"] == all_of_it["name"]
    for start, end, begun, ended in zip(
        known["start_ns"], known["end_ns"], all_of_it["start_ns"], all_of_it["end_ns"], strict=True
    ):
        assert start == begun or (start is None and begun >= partial.until_ns)
        assert end == ended or (end is None and ended >= partial.until_ns)
    done = sum(end is not None for end in known["end_ns"])
    assert sum(partial.ranks.values("nodes_done")) == done
    assert partial.nodes_done == done or partial.outcome.folded
    assert partial.nodes_of_run == len(known["end_ns"]) or partial.outcome.folded
    for mine, use in zip(partial.dimension_uses, whole.dimension_uses, strict=True):
        assert 0 <= mine.bytes <= use.bytes
        assert max(mine.busy, mine.utilisation) <= 1 + 1e-9 or network == "analytical"


def test_each_form_says_that_it_is_partial(
    scenario: Path,
    tmp_path: Path,
    interrupted: Callable[[int], None],
    capsys: pytest.CaptureFixture[str],
) -> None:
    interrupted(150)
    files = {name: str(tmp_path / f"run.{name}") for name in ("json", "html", "csv", "pftrace")}
    command = ["run", str(scenario), "--fold", "off", "-o", files["json"]]
    more = [
        "--report",
        files["html"],
        "--csv",
        files["csv"],
        "--table",
        "nodes",
        "--trace",
        files["pftrace"],
    ]
    assert main([*command, *more]) == 130
    said = capsys.readouterr()
    assert said.out.startswith("PARTIAL: interrupted when the run had come to ")
    assert "0 of 4 ranks finished" in said.out
    assert "rank up" in said.out
    assert said.err.endswith("error: interrupted\n")
    for name in files:
        assert not Path(files[name]).exists()
    form = json.loads((tmp_path / "run.partial.json").read_text())
    assert (form["format"], form["partial"]) == ("yantra-partial", True)
    assert form["nodes"] == RANKS * 2 * STEPS
    lines = [line.split(",") for line in (tmp_path / "run.partial.csv").read_text().splitlines()]
    ended = [int(line[0]) for line in lines[1:] if line[-1]]
    assert form["tables"]["ranks"]["nodes_done"] == [ended.count(rank) for rank in range(RANKS)]
    page = (tmp_path / "run.partial.html").read_text()
    assert "PARTIAL: interrupted when the run had come to" in page
    assert "run.pftrace is not written; it needs a whole run" in said.err
    assert main(["run", str(tmp_path / "run.partial.json")]) == 2
    assert "the partial result of an interrupted run" in capsys.readouterr().err
    interrupted(150)
    assert main([*command[:4], "--json", "--csv", files["csv"], "--table", "messages"]) == 130
    said = capsys.readouterr()
    assert json.loads(said.out) == form
    assert "the table messages needs a whole run" in said.err


def test_progress_comes_once_for_a_slice_of_events(scenario: Path) -> None:
    class Held:
        nodes_done = 0

        def __init__(self) -> None:
            self.left = 2_500_000

        def run_for(self, events: int) -> bool:
            self.left -= events
            return self.left <= 0

    simulation._run_in_slices(Held(), 7, None)  # type: ignore[arg-type]
    calls: list[tuple[int, int]] = []
    simulation._run_in_slices(Held(), 7, lambda *done: calls.append(done))  # type: ignore[arg-type]
    assert calls == [(0, 7)] * 2


def test_jobs_that_are_interrupted_say_which_have_ended(
    scenario: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from yantra.run import live, together
    from yantra.scenario.jobs import load as load_jobs

    (tmp_path / "jobs.yaml").write_text(
        "jobs:\n- {scenario: step.yaml}\n- {scenario: step.yaml, name: late, at: 1 s}\n"
        "cluster:\n  topology: [{kind: ring, size: 8, bandwidth: 10 GB/s, latency: 1 us}]\n"
        "network: flow\n"
    )
    jobs = load_jobs(str(tmp_path / "jobs.yaml"))
    ends = live.LiveRun.finish
    runs = []

    def stops_in_the(number: int) -> str:
        def finish(self: live.LiveRun) -> object:
            runs.append(self)
            if len(runs) < number:
                return ends(self)
            while self.now_ns < 1e9:
                self._simulation.run_for(1)
            raise KeyboardInterrupt

        runs.clear()
        monkeypatch.setattr(live.LiveRun, "finish", finish)
        with pytest.raises(KeyboardInterrupt) as stop:
            together.simulate(jobs)
        return str(stop.value.args[0])

    said = stops_in_the(1)
    assert said.startswith("the run had come to 1.000 s: step ended at ")
    assert said.endswith("late was under way since 1.000 s")
    said = stops_in_the(3)
    assert said.startswith("the jobs took together: step ")
    assert said.endswith("alone not known")
    assert said.count("alone") == 2
