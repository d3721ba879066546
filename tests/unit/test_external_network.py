"""Network programs: equal to the core where they do the same, refused where they do wrong."""

from __future__ import annotations

import os
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import identities
from tests.programs import REFERENCE, REFERENCE_WORDS, answering, program
from yantra.base.errors import ConfigError, UnsupportedError
from yantra.base.fields import Plugin
from yantra.base.trust import allow
from yantra.chakra import TraceBuilder
from yantra.cli import main
from yantra.fabric.graphs.describe import shown
from yantra.fabric.graphs.graph import Graph
from yantra.network.external import Options
from yantra.network.lockstep.conversation import Conversation
from yantra.network.traffic.generator import Flows
from yantra.run.flows import Choice, simulate
from yantra.run.simulate import run
from yantra.run.simulate import simulate as simulate_scenario
from yantra.scenario import Collectives, Dimension, Scenario, Topology, Traces, load

RATES = {"bandwidth": "100 Gb/s", "latency": "1 us"}


def pod() -> Graph:
    sizes = {"leaves": 2, "ranks_per_leaf": 2, "spines": 2}
    return shown("leaf_spine", sizes | RATES).graph


def external(*words: str | Path, **options: object) -> Plugin:
    return Plugin(kind="external", options=(("command", tuple(map(str, words))), *options.items()))


def all_reduce(network: object, fold: str = "auto", size: int = 123_457) -> Scenario:
    trace = TraceBuilder()
    trace.collective("all_reduce", size)
    trace.compute(duration_micros=3)
    trace.collective("all_reduce", size // 7)
    dimensions = (
        Dimension(kind="switch", size=4, bytes_per_ns=100.0, latency_ns=250.0),
        Dimension(kind="ring", size=3, bytes_per_ns=12.5, latency_ns=2000.0),
    )
    return Scenario(
        workload=Traces(traces=(trace.build(),) * 12),
        topology=Topology(dimensions=dimensions),
        network=network,  # type: ignore[arg-type]
        collectives=Collectives(all_reduce=("ring", "ring"), chunks=3, endpoint_delay_ns=5),
        fold=fold,  # type: ignore[arg-type]
    )


def flows(rows: list[tuple[int, int, int, int]]) -> Flows:
    return Flows(*(np.array(column) for column in zip(*rows, strict=True)))


def through(command: tuple[str, ...], rows: list[tuple[int, int, int, int]]) -> list[float]:
    choice = Choice(network="external", program=Options(command=command, timeout_ns=20e9))
    return list(simulate(pod(), flows(rows), choice).end_ns)


ROW = st.tuples(
    st.integers(0, 3), st.integers(0, 3), st.integers(0, 200_000), st.integers(0, 20_000)
).filter(lambda row: row[0] != row[1])


@settings(max_examples=15)
@given(st.lists(ROW, min_size=1, max_size=30))
def test_the_reference_program_equals_the_rung_of_the_core_on_every_flow(
    rows: list[tuple[int, int, int, int]],
) -> None:
    native = simulate(pod(), flows(rows), Choice(network="store_and_forward"))
    ours = np.array(through(REFERENCE_WORDS, rows))
    assert ours == pytest.approx(native.end_ns, rel=1e-12, abs=2e-3)


def test_the_reference_program_equals_the_rung_of_the_core_to_the_tick() -> None:
    ours = simulate_scenario(all_reduce(external(*REFERENCE_WORDS)))
    theirs = simulate_scenario(all_reduce("store_and_forward", fold="off"))
    assert list(ours.finish_ps) == list(theirs.finish_ps)
    assert list(ours.nodes.as_dict()["end_ns"]) == list(theirs.nodes.as_dict()["end_ns"])


def test_sends_end_when_the_last_byte_has_left() -> None:
    traces = [TraceBuilder(rank=rank) for rank in range(12)]
    for source, size in ((1, 40_000), (2, 90_000), (3, 10)):
        traces[source].send(0, size, tag=source, name=f"send {source}")
        traces[0].recv(source, size, tag=source, name=f"receive {source}")
    workload = Traces(traces=tuple(trace.build() for trace in traces))
    ends = []
    for network in (external(*REFERENCE_WORDS), "store_and_forward"):
        scenario = all_reduce(network, fold="off").replace(workload=workload)
        ends.append(simulate_scenario(scenario).nodes.as_dict()["end_ns"])
    assert list(ends[0]) == list(ends[1])


def test_it_counts_what_the_links_carried_and_is_never_folded() -> None:
    result = simulate_scenario(all_reduce(external(*REFERENCE_WORDS)))
    core = simulate_scenario(all_reduce("store_and_forward", fold="off"))
    carried = sum(use.bytes for use in result.dimension_uses)
    assert carried > 0
    assert result.folding is None
    assert "network" in result.not_folded
    assert sum(use.bytes for use in core.dimension_uses) <= carried
    with pytest.raises(UnsupportedError, match="cannot be folded"):
        simulate_scenario(all_reduce(external(*REFERENCE_WORDS), fold="require"))


def test_a_recording_on_a_program_has_a_path_without_gaps() -> None:
    model = simulate_scenario(all_reduce(external(*REFERENCE_WORDS), fold="off")).model
    identities.hold(run(model, record=True))


DELIVERS = "say('arrived 0 500\\ndone 500 never\\n')"
ONE = [(0, 1, 1000, 0)]

WRONG = {
    "garbage": (
        "say(b'\\x00\\xff\\x17hello\\n')",
        "it wrote '\\x00ÿ\\x17hello'; expected a line of ASCII words",
    ),
    "a word that is not of the protocol": (
        "say('hello 1 2\\ndone 5 never\\n')",
        "it wrote 'hello 1 2'; expected 'left MESSAGE TIME', 'arrived MESSAGE TIME' or 'done ...'",
    ),
    "an empty line": (
        "say('\\ndone 5 never\\n')",
        "it wrote ''; expected 'left MESSAGE TIME', 'arrived MESSAGE TIME' or 'done ...'",
    ),
    "too few words": ("say('done 5\\n')", "it wrote 'done 5'; expected 'done CLOCK NEXT'"),
    "a time that is no whole number": (
        "say('arrived 0 1.5\\ndone 5 never\\n')",
        "it wrote 'arrived 0 1.5'; expected whole numbers of at most 18 digits",
    ),
    "a negative time": (
        "say('arrived 0 -5\\ndone 5 never\\n')",
        "it wrote 'arrived 0 -5'; expected whole numbers of at most 18 digits",
    ),
    "a time beyond all": (
        "say('arrived 0 ' + '9' * 19 + '\\ndone 5 never\\n')",
        "it wrote 'arrived 0 9999999999999999999'; expected whole numbers of at most 18 digits",
    ),
    "a line without end": (
        "say('x' * 70000)\ntime.sleep(20)",
        f"it wrote a line of more than 65536 bytes, which begins with '{'x' * 60}...'",
    ),
    "more lines than an answer has": (
        "say('arrived 0 5\\n' * 100000)",
        "it answered 'advance never' with more than 3 lines, the last of them 'arrived 0 5'",
    ),
    "an end before the answer": (
        "sys.exit(7)",
        "it ended before it answered 'advance never' (exit status 7)",
    ),
    "an end in the middle of a line": (
        "say('arrived 0 5\\ndone 1')\nsys.exit(0)",
        "it ended in the middle of a line, 'done 1', before it answered 'advance never' "
        "(exit status 0)",
    ),
    "a crash": (
        "os.kill(os.getpid(), signal.SIGSEGV)",
        "it ended before it answered 'advance never' (killed by SIGSEGV)",
    ),
    "an answer that nobody asked for": (
        "say('arrived 0 500\\ndone 500 never\\ndone 600 never\\n')",
        "it wrote 'done 600 never' without being asked",
    ),
    "a message twice in one answer": (
        "say('arrived 0 500\\narrived 0 500\\ndone 500 never\\n')",
        "it delivers message 0 twice",
    ),
    "a message that left twice": (
        "say('left 0 400\\nleft 0 500\\ndone 400 500\\n')",
        "it lets message 0 leave twice",
    ),
    "a message that nobody sent": (
        "say('arrived 9 500\\ndone 500 never\\n')",
        "it names message 9, which is unknown; the last one is 0",
    ),
    "an arrival before the last byte left": (
        "say('left 0 600\\narrived 0 500\\ndone 500 never\\n')",
        "message 0 arrives at 500 ps, before it leaves at 600 ps",
    ),
    "an arrival that it went past": (
        "say('arrived 0 500\\ndone 800 never\\n')",
        "it went on to 800 ps before it said that message 0 arrived at 500 ps; it must stop there",
    ),
    "a next event in the past": (
        "say('arrived 0 500\\ndone 500 400\\n')",
        "its clock is at 500 ps, and its next event at 400 ps, before that",
    ),
    "a message that never arrives": (
        "say('done 500 never\\n')",
        "it never delivers message 0 of 1000 B from 0 to 1, sent at 0 ps: it says that nothing is "
        "to come",
    ),
    "a stop that tells of nothing": (
        "say('done 500 600\\n')",
        "it stopped at 500 ps after 'advance never' and reported nothing; it stops early "
        "only where a message arrives",
    ),
    "what it says itself": (
        "say('error the fabric has no links\\n')",
        "it says: the fabric has no links",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_a_program_does_wrong_is_told_with_what_was_expected(
    case: str, tmp_path: Path
) -> None:
    answer, said = WRONG[case]
    path = answering(tmp_path, answer)
    with pytest.raises(UnsupportedError) as caught:
        through((path,), ONE)
    assert str(caught.value) == f"the network program {path}: {said}"


def test_an_answer_before_the_question_is_told(tmp_path: Path) -> None:
    path = program(tmp_path, "say('ready 1\\ndone 5 never\\n')\nhear('end')\n")
    with pytest.raises(UnsupportedError, match=r"without being asked|before it had read 'begin'"):
        through((path,), ONE)


GREETINGS = {
    "another version": ("ready 2", "it speaks version 2 of the protocol; expected 1"),
    "no version": ("ready", "it speaks version no version of the protocol; expected 1"),
    "another word": (
        "ready 1 fast",
        "it wrote 'ready 1 fast'; expected 'ready 1' or 'ready 1 overhead'",
    ),
    "no greeting": ("hello", "it wrote 'hello'; expected 'ready 1' as the answer to 'begin'"),
    "a refusal": ("error no rings here", "it says: no rings here"),
}


@pytest.mark.parametrize("case", GREETINGS)
def test_a_program_that_does_not_take_the_fabric_is_told(case: str, tmp_path: Path) -> None:
    answer, said = GREETINGS[case]
    path = program(tmp_path, f"hear('begin')\nsay({answer + chr(10)!r})\nhear('end')\n")
    with pytest.raises(UnsupportedError) as caught:
        through((path,), ONE)
    assert str(caught.value) == f"the network program {path}: {said}"


def test_a_silent_program_is_ended_after_its_timeout_with_all_that_it_started(
    tmp_path: Path,
) -> None:
    pids = tmp_path / "pids"
    path = answering(
        tmp_path,
        f"child = os.fork()\nopen({str(pids)!r}, 'a').write(f'{{os.getpid()}} ')\ntime.sleep(60)",
    )
    began = time.monotonic()
    choice = Choice(network="external", program=Options(command=(path,), timeout_ns=0.3e9))
    with pytest.raises(UnsupportedError) as caught:
        simulate(pod(), flows(ONE), choice)
    assert time.monotonic() - began < 20
    assert str(caught.value) == (
        f"the network program {path}: it did not answer 'advance never' within 0.3 s; if it needs "
        "longer, give it a longer timeout"
    )
    for pid in pids.read_text().split():
        wait_until_gone(int(pid))


def wait_until_gone(pid: int) -> None:
    for _ in range(200):
        state = Path(f"/proc/{pid}/stat")
        if not state.exists() or state.read_text().rpartition(")")[2].split()[0] == "Z":
            return
        time.sleep(0.05)
    pytest.fail(f"process {pid} is still there")


def test_the_end_of_standard_error_is_part_of_the_message(tmp_path: Path) -> None:
    path = answering(
        tmp_path,
        "sys.stderr.write('x' * 100000 + '\\n' + 'no route to host\\n')\n"
        "sys.stderr.flush()\nsys.exit(1)",
    )
    with pytest.raises(UnsupportedError) as caught:
        through((path,), ONE)
    said = str(caught.value)
    assert said.endswith("\n    no route to host")
    assert len(said) < 5_000


def test_a_program_that_writes_much_while_it_is_written_to_blocks_nobody(tmp_path: Path) -> None:
    body = (
        "import threading\n"
        "sys.stderr.write('y' * 300000)\n"
        "sys.stderr.flush()\n"
        "hear('begin')\nsay('ready 1\\n')\n"
        "sys.stderr.write('y' * 300000)\n"
        "sent = []\n"
        "for line in sys.stdin:\n"
        "    word, *words = line.split()\n"
        "    if word == 'send':\n"
        "        sent.append((int(words[0]), words[1]))\n"
        "    elif word == 'advance':\n"
        "        at = max(at for at, _ in sent)\n"
        "        for _, number in sent:\n"
        "            say(f'left {number} {at}\\narrived {number} {at}\\n')\n"
        "        say(f'done {at} never\\n')\n"
    )
    path = program(tmp_path, body)
    rows = [(a, b, 10, 7 * a) for a in range(4) for b in range(4) if a != b] * 2_000
    assert set(through((path,), rows)) == {21.0}


SECOND = {
    "a clock that goes back": (
        "say('arrived 0 500\\ndone 500 900\\n')\nhear('advance')\nsay('done 400 never\\n')",
        "its clock went back from 500 to 400 ps",
    ),
    "a message twice in two answers": (
        "say('arrived 0 500\\ndone 500 900\\n')\nhear('advance')\n"
        "say('arrived 0 900\\ndone 900 never\\n')",
        "it delivers message 0 twice",
    ),
}


@pytest.mark.parametrize("case", SECOND)
def test_what_a_program_does_wrong_later_is_told(case: str, tmp_path: Path) -> None:
    answer, said = SECOND[case]
    path = answering(tmp_path, answer)
    with pytest.raises(UnsupportedError) as caught:
        through((path,), [(0, 1, 1000, 0), (1, 2, 1000, 0)])
    assert str(caught.value) == f"the network program {path}: {said}"


def conversation(path: str) -> Conversation:
    talk = Conversation((path,), pod(), gives_routes=False, timeout_s=20)
    talk.send(0, 0, 1, 1000, ())
    return talk


def test_a_clock_that_overtakes_the_run_is_told(tmp_path: Path) -> None:
    path = answering(tmp_path, "say('done 700 800\\n')")
    with pytest.raises(UnsupportedError, match="its clock overtook: it is at 700 ps after 'adva"):
        conversation(path).advance(600, 0)


def test_a_broken_promise_is_told(tmp_path: Path) -> None:
    path = answering(
        tmp_path,
        "say('done 600 900\\n')\nhear('advance')\nsay('arrived 0 700\\ndone 700 never\\n')",
    )
    talk = conversation(path)
    talk.advance(600, 0)
    with pytest.raises(UnsupportedError) as caught:
        talk.advance(None, 900)
    assert str(caught.value).endswith(
        "it says that message 0 arrived at 700 ps, after the run went on to 900 ps; it had said "
        "that nothing comes before 900 ps"
    )


def test_an_arrival_may_be_told_before_it_happens(tmp_path: Path) -> None:
    path = answering(tmp_path, "say('left 0 300\\narrived 0 90000\\ndone 0 never\\n')")
    assert through((path,), ONE) == [90.0]


NOT_THERE = {
    "a name that is nowhere": (
        "no_such_program",
        "no program no_such_program is on PATH; write ./no_such_program if it is a file beside the "
        "scenario",
    ),
    "a path that is nowhere": ("./nowhere", "the program ./nowhere is not there"),
    "a folder": ("./folder", "the program ./folder is a folder"),
    "a file that may not be run": (
        "./plain",
        "the program ./plain may not be run; chmod +x ./plain allows it",
    ),
}


@pytest.mark.parametrize("case", NOT_THERE)
def test_a_program_that_cannot_be_started_is_a_mistake_of_the_scenario(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "plain").write_text("text")
    command, problem = NOT_THERE[case]
    with pytest.raises(ConfigError) as caught:
        simulate_scenario(all_reduce(external(command)))
    assert str(caught.value) == f"network.options.command: {problem}"
    assert caught.value.exit_code == 2


def test_a_script_without_its_first_line_is_a_mistake_of_the_scenario(tmp_path: Path) -> None:
    path = tmp_path / "script"
    path.write_text("print('ready 1')\n")
    path.chmod(0o755)
    with pytest.raises(ConfigError) as caught:
        simulate_scenario(all_reduce(external(path)))
    assert str(caught.value) == (
        f"network.options.command: the system cannot start {path}: Exec format error; a script "
        "begins with a line like #!/usr/bin/env python3"
    )


def test_external_alone_says_that_it_needs_a_program() -> None:
    with pytest.raises(ConfigError, match=r"network\.options\.command: missing"):
        simulate_scenario(all_reduce("external"))


def test_a_path_starts_from_the_folder_of_the_scenario(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = tmp_path / "job"
    job.mkdir()
    os.link(REFERENCE, job / "sim.py") if os.stat(REFERENCE).st_dev == os.stat(job).st_dev else (
        job / "sim.py"
    ).symlink_to(REFERENCE)
    trace = TraceBuilder()
    trace.collective("all_reduce", 1000)
    for rank in range(2):
        trace.build().write(str(job / f"step.{rank}.et"))
    (job / "step.yaml").write_text(
        'workload: {traces: "step.{rank}.et"}\n'
        "cluster:\n"
        "  topology: [{kind: ring, size: 2, bandwidth: 50 GB/s, latency: 1 us}]\n"
        "collectives: {all_reduce: [ring]}\n"
        "network: {kind: external, options: {command: ./sim.py, timeout: 30 s}}\n"
    )
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match=r"job/sim\.py is not trusted, so the program .*sim\.py"):
        load("job/step.yaml")
    allow("job/sim.py")
    scenario = load("job/step.yaml")
    assert dict(scenario.network.options)["command"] == ("job/sim.py",)  # type: ignore[union-attr]
    assert simulate_scenario(scenario).makespan_ns > 2000


def test_flows_on_a_program_are_a_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    listed = tmp_path / "flows.csv"
    listed.write_text("src,dst,bytes,start_ns\n0,1,100000,0\n2,1,50000,100\n")
    fabric = ["--topology", "leaf_spine", "--set", "leaves=2", "--set", "ranks_per_leaf=2"]
    fabric += ["--set", "spines=2", "--set", "bandwidth=100Gb/s", "--set", "latency=1us"]
    words = ["network", "flows", str(listed), *fabric, "--network"]
    assert main([*words, "store_and_forward"]) == 0
    core = capsys.readouterr().out.splitlines()[0]
    assert main([*words, "external", "--command", str(REFERENCE)]) == 0
    assert capsys.readouterr().out.splitlines()[0] == core
    for options, problem in (
        (["flow", "--command", "x"], "--command: goes with the network external; this is flow"),
        (["external"], "--command: missing; the network external is a program, so give one"),
        (["external", "--command", "'"], "--command: No closing quotation in '"),
        (["external", "--command", "./none"], "--command: the program ./none is not there"),
        (
            ["external", "--command", str(REFERENCE), "--external", "routes=mine"],
            '--external.options.routes: expected one of given, own, got "mine"',
        ),
        (
            ["external", "--command", str(REFERENCE), "--external", "timeout"],
            '--external: expected routes=own or timeout=5min, got "timeout"',
        ),
    ):
        assert main([*words, *options]) == 2
        assert capsys.readouterr().err == f"error: {problem}\n"


def test_a_run_that_counts_nanoseconds_is_refused() -> None:
    scenario = all_reduce(external(*REFERENCE_WORDS), fold="off").replace(semantics="astra-sim")
    with pytest.raises(ConfigError, match="external counts picoseconds; take semantics: yantra"):
        simulate_scenario(scenario)
