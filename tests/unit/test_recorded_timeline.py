"""What a run reports of recorded traces before it begins: serialised streams, and delays."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from tests.cases import cluster, collectives
from yantra import simulate
from yantra.chakra import Attribute, Kind, Metadata, Node, NodeType, Trace
from yantra.cli import main
from yantra.compile import compile
from yantra.compile.recorded import tell
from yantra.scenario import ASTRA_SIM_RESOURCES, Resources, Scenario, Traces
from yantra.tracing.recorded import ONE_EACH, Recorded, Slots, recorded

ORDERED = Metadata(attributes=(Attribute("complete_order", True, Kind.BOOL),))
NAMES = ("work", "delay")


def comp(id: int, micros: int, deps: list[int], *, cpu: bool = False, name: str = "k") -> Node:
    is_cpu = (Attribute("is_cpu_op", cpu, Kind.BOOL),)
    return Node(id, name, NodeType.COMP, micros, tuple(deps), attributes=is_cpu)


def trace(*nodes: Node, ordered: bool = True) -> Trace:
    return Trace(nodes, ORDERED if ordered else None)


def two_streams(second: int = 60) -> Trace:
    return trace(comp(0, 10, [], cpu=True), comp(1, 100, [0]), comp(2, second, [0]))


def asked(one: Trace, **fields: object) -> Scenario:
    usual = {
        "workload": Traces(traces=(one, one)),
        "topology": cluster(("ring", 2, 50.0, 500.0)),
        "collectives": collectives(),
        "semantics": "astra-sim",
        "resources": ASTRA_SIM_RESOURCES,
    }
    return Scenario(**{**usual, **fields})  # type: ignore[arg-type]


def of(one: Trace, slots: Slots = ONE_EACH) -> Recorded:
    return recorded(one.graph(), slots)


def random_trace(random: Random) -> Trace:
    return trace(
        *(
            comp(
                id,
                random.randint(1, 30),
                random.sample(range(id), random.randint(0, min(2, id))),
                cpu=random.random() < 0.4,
                name=random.choice(NAMES),
            )
            for id in range(random.randint(1, 40))
        )
    )


# ------------------------------------------------------------------------------ laws


@pytest.mark.parametrize("seed", range(30))
def test_the_figure_of_the_warning_is_what_the_replay_takes(seed: int) -> None:
    one = random_trace(Random(seed))
    found = of(one)
    assert simulate(asked(one)).makespan_ns == found.in_slots_us * 1000
    exact = simulate(asked(one, replay_only=True))
    assert exact.makespan_ns == found.length_us * 1000
    own = asked(one, semantics="yantra", resources=Resources())
    assert simulate(own).makespan_ns == found.length_us * 1000


@pytest.mark.parametrize("seed", range(30))
def test_delays_are_those_of_a_longest_path(seed: int) -> None:
    one = random_trace(Random(seed))
    possible = delays_of_longest_paths(one)
    path = simulate(asked(one, replay_only=True), record=True).critical_path
    of_the_run = sum(step.length_ns for step in path.steps if step.name == "delay")
    assert of(one).delay_us in possible
    assert of_the_run / 1000 in possible


def delays_of_longest_paths(one: Trace) -> set[int]:
    end: dict[int, int] = {}
    sums: dict[int, set[int]] = {}
    for node in one:
        start = max((end[dep] for dep in node.data_deps), default=0)
        before = [sums[dep] for dep in node.data_deps if end[dep] == start] or [{0}]
        own = node.duration_micros if node.name == "delay" else 0
        end[node.id] = start + node.duration_micros
        sums[node.id] = {own + sum_ for some in before for sum_ in some}
    return set().union(*(sums[id] for id in end if end[id] == max(end.values())))


@pytest.mark.parametrize("seed", range(30))
def test_nothing_is_serialised_where_there_are_slots_enough(seed: int) -> None:
    found = of(random_trace(Random(seed)), Slots())
    assert found.in_slots_us == found.length_us and not found.is_serialised


def test_delays_and_the_rest_of_a_chain_add_up_to_its_length() -> None:
    chain = trace(*(comp(id, 7, [id - 1] if id else [], name=NAMES[id % 2]) for id in range(9)))
    assert (of(chain).delay_us, of(chain).length_us) == (4 * 7, 9 * 7)


@pytest.mark.parametrize("seed", range(30))
def test_what_never_overlaps_is_never_serialised(seed: int) -> None:
    found = of(random_trace(Random(seed)))
    if not any(us for us, _ in found.overlaps.values()):
        assert found.in_slots_us == found.length_us


# ------------------------------------------------------------------------------ worked cases


def test_two_streams_take_the_sum_of_their_times_on_one_slot() -> None:
    found = of(two_streams())
    assert (found.length_us, found.in_slots_us) == (110, 170)
    assert found.overlaps["streams"] == (60, 2)
    assert found.overlaps["CPU threads"] == (0, 1)


def test_a_run_tells_it_first_and_in_its_result() -> None:
    result = simulate(asked(two_streams()))
    (warning,) = result.warnings
    assert "streams overlap for 60 us (up to 2 at once)" in warning.replace(".000", "")
    assert "170.000 us for 110.000 us recorded, 1.55 times as long" in warning
    assert '"replay-only": 1' in warning and "semantics: yantra" in warning
    assert result.makespan_ns == 170_000


@pytest.mark.parametrize(
    "fields",
    [
        {"replay_only": True},
        {"semantics": "yantra", "resources": Resources()},
        {"semantics": "yantra", "resources": Resources(compute_streams=2)},
    ],
)
def test_what_serialises_nothing_is_not_warned_of(fields: dict[str, object]) -> None:
    assert simulate(asked(two_streams(), **fields)).warnings == []


def test_slots_of_the_scenario_are_named() -> None:
    limits = Resources(compute_streams=1)
    (warning,) = compile(asked(two_streams(), semantics="yantra", resources=limits)).warnings
    assert "a rank has the slots 1 for compute" in warning


def test_no_warning_where_nothing_overlaps() -> None:
    chain = trace(comp(0, 10, [], cpu=True), comp(1, 100, [0]), comp(2, 60, [1]))
    assert simulate(asked(chain)).warnings == []


def test_a_replay_that_is_hardly_longer_is_not_told() -> None:
    assert simulate(asked(two_streams(second=1))).warnings == []


def test_traces_without_an_order_of_their_own_mean_the_slots() -> None:
    one = trace(comp(0, 100, []), comp(1, 60, []), ordered=False)
    assert simulate(asked(one)).warnings == []


def test_many_delays_are_told_with_their_share() -> None:
    one = trace(comp(0, 59, []), comp(1, 41, [0], name="delay"))
    (warning,) = simulate(asked(one)).warnings
    assert "41 % of the recorded 100.000 us is delays" in warning


def test_of_two_that_end_at_once_the_delay_does_not_count() -> None:
    one = trace(comp(0, 50, []), comp(1, 50, [], name="delay"), comp(2, 50, [0, 1]))
    assert of(one).delay_us == 0


def test_the_worst_of_several_traces_is_told_with_their_number() -> None:
    both = Traces(traces=(two_streams(), two_streams(100)))
    scenario = asked(two_streams(), workload=both)
    (warning,) = compile(scenario).warnings
    assert warning.startswith("trace of rank 1, and 1 more trace: ")
    assert "1.91 times" in warning


def test_nodes_on_a_cycle_do_not_count() -> None:
    one = trace(comp(0, 5, []), comp(1, 9, [2]), comp(2, 9, [1]))
    assert of(one).length_us == of(one).in_slots_us == 5


def test_a_trace_without_nodes_takes_no_time() -> None:
    found = of(trace())
    assert (found.length_us, found.times_as_long, found.delay_share) == (0, 1.0, 0.0)


def test_it_is_asked_of_graphs_alone() -> None:
    model = compile(asked(two_streams()))
    assert tell(model.scenario, model.graphs) == model.warnings


def test_the_command_warns_on_standard_error_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for rank in range(2):
        two_streams().write(tmp_path / f"job.{rank}.et")
    (tmp_path / "scenario.yaml").write_text(
        f'semantics: astra-sim\nworkload: {{traces: "{tmp_path}/job.{{rank}}.et"}}\n'
        "cluster: {topology: [{kind: ring, size: 2, bandwidth: 50 GB/s, latency: 500 ns}]}\n"
        "resources: {cpu_slots: 1, compute_streams: 1, communication: one_slot, copy_engines: 0}\n"
    )
    assert main(["run", str(tmp_path / "scenario.yaml")]) == 0
    told = capsys.readouterr()
    assert told.err.startswith("warning: ") and "1.55 times as long" in told.err
    assert "1.55 times as long" not in told.out
