"""A rank's time is fully accounted for, whatever it runs and wherever."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.clusters import dimension, scenario
from yantra.chakra import CollectiveType, NodeType, TraceBuilder
from yantra.export.astra_sim_log import lines
from yantra.result.bound import union_length
from yantra.result.parts import NAMES as PARTS
from yantra.result.tables import breakdown
from yantra.run.simulate import simulate
from yantra.scenario import ASTRA_SIM_RESOURCES, RemoteMemory, Resources, Scenario

RANKS = 4
COMMUNICATION = (NodeType.COMM_SEND, NodeType.COMM_RECV, NodeType.COMM_COLL)
OPERATIONS = ("compute", "cpu", "load", "all_reduce", "all_gather", "exchange")


def _add(trace: TraceBuilder, rank: int, operation: str, amount: int, after: list[int]) -> None:
    if operation == "compute":
        trace.compute(duration_micros=amount, after=after)
    elif operation == "cpu":
        trace.compute(duration_micros=amount, cpu=True, after=after)
    elif operation == "load":
        trace.memory_load(1000 * amount + 1, after=after)
    elif operation == "exchange":
        partner = rank ^ 1
        trace.send(partner, 1000 * amount + 1, after=after)
        trace.recv(partner, 1000 * amount + 1, after=after)
    else:
        kind = CollectiveType[operation.upper()]
        trace.collective(kind, 1000 * amount + RANKS, after=after)


@st.composite
def scenarios(draw: st.DrawFn) -> Scenario:
    """Communication is in one order everywhere, or it could wait for itself."""
    operations = draw(st.lists(st.sampled_from(OPERATIONS), min_size=1, max_size=7))
    waits = [draw(st.booleans()) for _ in operations]
    amounts = [draw(st.integers(1, 300)) for _ in operations]
    traces = []
    for rank in range(RANKS):
        trace = TraceBuilder(rank=rank)
        for operation, amount, wait in zip(operations, amounts, waits, strict=True):
            slower = draw(st.integers(0, 5)) if operation in ("compute", "cpu") else 0
            after = [trace.nodes[-1].id] if wait and trace.nodes else []
            if operation in ("all_reduce", "all_gather", "exchange"):
                after += [node.id for node in trace.nodes if node.type in COMMUNICATION]
            _add(trace, rank, operation, amount + slower, after)
        traces.append(trace)
    astra_sim = draw(st.booleans())
    return scenario(
        traces,
        dimension(draw(st.sampled_from(["ring", "fully_connected", "switch"])), RANKS),
        memory=RemoteMemory(kind="pool", latency_ns=100, bytes_per_ns=10.0),
        network=draw(st.sampled_from(["analytical", "store_and_forward"])),
        semantics="astra-sim" if astra_sim else "yantra",
        resources=ASTRA_SIM_RESOURCES if astra_sim else Resources(),
    )


@given(scenarios())
def test_the_parts_of_a_ranks_time_add_up_to_its_finish(question: Scenario) -> None:
    result = simulate(question)
    for rank in range(RANKS):
        assert sum(breakdown(result.model, result.outcome, rank)) == result.outcome.finish[rank]
    total = sum(result.ranks[f"{part}_ns"] for part in PARTS)
    assert (abs(total - result.finish_ns) < 1e-3).all()


@given(scenarios())
def test_a_rank_finishes_when_its_last_node_ends(question: Scenario) -> None:
    result = simulate(question)
    for rank in range(RANKS):
        mine = result.nodes["rank"] == rank
        assert result.nodes["end_ns"][mine].max() == result.finish_ns[rank]
        assert (result.nodes["start_ns"][mine] <= result.nodes["end_ns"][mine]).all()


@given(scenarios())
def test_communication_is_exposed_no_longer_than_it_runs(question: Scenario) -> None:
    ranks = simulate(question).ranks
    assert (ranks["exposed_communication_ns"] <= ranks["communication_ns"]).all()


@given(scenarios())
def test_links_carry_what_their_dimension_carried(question: Scenario) -> None:
    result = simulate(question)
    if question.network == "store_and_forward":
        assert sum(result.links.values("bytes")) == result.dimension_uses[0].bytes
        assert all(0 <= busy <= 1 for busy in result.links.values("busy"))
        use = result.dimension_uses[0]
        whole_ns = question.semantics == "astra-sim"  # its links truncate how long they are busy
        assert whole_ns or use.utilisation <= use.busy + 1e-5


@given(scenarios())
def test_every_rank_finishes_once_in_the_log_of_astra_sim(question: Scenario) -> None:
    result = simulate(question)
    told = [line.message.split(",")[0] for line in lines(result) if " finished, " in line.message]
    assert told == [f"sys[{rank}] finished" for rank in result.finish_order]


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 10))))
def test_a_union_counts_every_moment_once(pairs: list[tuple[int, int]]) -> None:
    intervals = [(start, start + length) for start, length in pairs]
    moments = {moment for start, end in intervals for moment in range(start, end)}
    assert union_length(intervals) == len(moments)
