"""Every scheduler keeps the contract, each law catches its own offender, scenarios choose one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.cases import ALL_REDUCE, cluster, scenario
from yantra.base.errors import ConfigError
from yantra.base.fields import Plugin, Section, Whole
from yantra.base.records import Record
from yantra.chakra import TraceBuilder
from yantra.compile import compile
from yantra.kinds.scheduler_laws import CASES, chain, main, violations
from yantra.run import live
from yantra.run.simulate import simulate
from yantra.scenario import ASTRA_SIM_RESOURCES, Collectives, RemoteMemory, Scenario, to_yaml
from yantra.scenario.text import loads
from yantra.scenario.types import ChakraFiles
from yantra.schedulers import schedulers
from yantra.schedulers.scheduler import COLLECTIVE, COMPUTE, MEMORY, SEND, Nodes, Scheduler

PAIR = cluster(("ring", 2, 50.0, 500.0))


class Few(Scheduler):
    def priorities(self, nodes: Nodes) -> Any:
        return nodes.ps[1:]


class Broken(Scheduler):
    def priorities(self, nodes: Nodes) -> Any:
        return nodes.ps / 2


class Huge(Scheduler):
    def priorities(self, nodes: Nodes) -> Any:
        return np.full(len(nodes), 2**63, np.uint64)


class Raises(Scheduler):
    def priorities(self, nodes: Nodes) -> Any:
        return nodes.nothing  # type: ignore[attr-defined]


class Writes(Scheduler):
    def priorities(self, nodes: Nodes) -> Any:
        nodes.ps[0] = 0
        return nodes.ps


class Remembers(Scheduler):
    asked = 0

    def priorities(self, nodes: Nodes) -> Any:
        self.asked += 1
        return nodes.ps * self.asked


class Class(Scheduler):
    asked = 0

    def priorities(self, nodes: Nodes) -> Any:
        Class.asked += 1
        return nodes.ps % (Class.asked // 2 + 1)


class FewCollectives(Scheduler):
    orders_collectives = True

    def priorities(self, nodes: Nodes) -> Any:
        return nodes.ps

    def collective_priorities(self, nodes: Nodes) -> Any:
        return nodes.ps[nodes.kind == COLLECTIVE]


class LastFirst(Scheduler):
    def priorities(self, nodes: Nodes) -> Any:
        return np.arange(len(nodes))


@pytest.mark.parametrize("name", schedulers.names())
def test_every_scheduler_keeps_every_law(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([name]) == 0
    assert capsys.readouterr().out.startswith("every law holds for chain on 2 ranks, ")


@pytest.mark.parametrize(
    ("kind", "law"),
    [
        (Few, "every_node_has_a_priority: it: priorities: expected 5 whole numbers, one for each"),
        (Broken, "every_node_has_a_priority: it: priorities: expected whole numbers, got float64"),
        (Huge, "every_node_has_a_priority: it: priorities: expected at most 2**63 - 1, got 92233"),
        (Raises, "every_node_has_a_priority: it: priorities raises AttributeError: "),
        (Writes, "every_node_has_a_priority: it: priorities raises ValueError: "),
        (Remembers, "the_same_is_said_twice: asked again, it answers differently"),
        (Class, "the_same_is_said_twice: "),
        (FewCollectives, "it: collective_priorities: expected 5 whole numbers, one for each node"),
    ],
)
def test_a_scheduler_that_breaks_a_law_is_caught_by_its_name(
    kind: type[Scheduler], law: str
) -> None:
    assert law in next(violations(kind))


def test_a_scheduler_sees_the_nodes_of_a_job() -> None:
    seen: list[Nodes] = []

    class Sees(Scheduler):
        def priorities(self, nodes: Nodes) -> Any:
            seen.append(nodes)
            return nodes.ps

    def write(trace: TraceBuilder, rank: int) -> None:
        first = trace.compute(duration_micros=3)
        reduced = trace.collective(ALL_REDUCE, 5000, after=first)
        trace.memory_load(700, after=first)
        if rank == 0:
            trace.send(1, 50, after=reduced)
        else:
            trace.recv(0, 50, after=reduced)

    memory = RemoteMemory(kind="per_npu", latency_ns=20, bytes_per_ns=7.0)
    compile(scenario(PAIR, write, memory=memory, scheduler=Sees))
    nodes = seen[0]
    assert nodes.kind.tolist() == [COMPUTE, COLLECTIVE, MEMORY, SEND]
    assert nodes.ps.tolist() == [3_000_000, 600_000, 120_000, 501_000]
    assert nodes.bytes.tolist() == [0, 5000, 700, 50]
    assert nodes.child_begin.tolist() == [0, 2, 3, 3, 3]
    assert nodes.child.tolist() == [1, 2, 3]
    assert [nodes.slots[slot] for slot in nodes.slot] == [1] * 4
    assert nodes.longest_to_end().tolist() == [4_101_000, 1_101_000, 120_000, 501_000]
    assert len(seen) == 2
    assert all(not part.flags.writeable for part in (nodes.id, nodes.ps, nodes.child))


def race(trace: TraceBuilder, rank: int) -> None:
    for micros in (1, 5):
        trace.compute(duration_micros=micros)


def starts(case: Scenario) -> list[float]:
    return [float(start) for start in simulate(case).nodes.as_dict()["start_ns"][:2]]


def test_a_file_a_name_and_a_class_are_one_order(tmp_path: Path) -> None:
    text = "import numpy as np\nfrom yantra.schedulers.scheduler import Scheduler\n"
    text += "class Mine(Scheduler):\n    def priorities(self, nodes):\n"
    text += "        return np.arange(len(nodes))\nPLUGIN = Mine\n"
    file = tmp_path / "mine.py"
    file.write_text(text)
    assert starts(scenario(PAIR, race)) == [0, 1000]
    for kind in (LastFirst, str(file)):
        assert starts(scenario(PAIR, race, scheduler=kind)) == [5000, 0]


def test_a_choice_with_options_is_written_and_read_back(tmp_path: Path) -> None:
    text = "from yantra.base.fields import Section, Whole\nfrom yantra.base.records import Record\n"
    text += "from yantra.schedulers.scheduler import Scheduler\n"
    text += "class Options(Record):\n    of: int = 3\n"
    text += "class Mine(Scheduler):\n"
    text += "    options = Section(Options, {'of': ('of', Whole(at_least=1), 'modulo')})\n"
    text += "    def priorities(self, nodes):\n        return nodes.ps % self.given.of\n"
    file = tmp_path / "mine.py"
    file.write_text(text + "PLUGIN = Mine\n")
    chosen = Plugin(kind=str(file), options=(("of", 7),))
    case = scenario(PAIR, race, scheduler=chosen)  # naming it in Python allows it
    again = case.replace(workload=ChakraFiles(prefix="t"))
    assert loads(to_yaml(again)) == again
    assert "scheduler" not in to_yaml(again.replace(scheduler="in_order"))
    with pytest.raises(ConfigError, match=r"scheduler\.options\.of: .*at least 1"):
        case.replace(scheduler=Plugin(kind=str(file), options=(("of", 0),)))


class Limit(Record):
    most: int = 1


class Limited(Scheduler):
    options = Section(Limit, {"most": ("most", Whole(at_least=1), "of nothing")})

    def priorities(self, nodes: Nodes) -> Any:
        return np.arange(len(nodes)) * self.given.most


def test_options_reach_the_scheduler() -> None:
    chosen = Plugin(kind=Limited, options=(("most", 4),))
    assert starts(scenario(PAIR, race, scheduler=chosen)) == [5000, 0]


@pytest.mark.parametrize(
    ("parts", "problem"),
    [
        (
            {"scheduler": "critical"},
            "no scheduler is named 'critical'; .*did you mean 'critical_",
        ),
        (
            {
                "scheduler": "critical_path",
                "semantics": "astra-sim",
                "resources": ASTRA_SIM_RESOURCES,
            },
            "^scheduler: only in_order with semantics astra-sim, .*; got critical_path$",
        ),
        (
            {
                "scheduler": "earliest_needed",
                "collectives": Collectives(all_reduce=("ring",), priority="fifo"),
            },
            "^collectives.priority: expected none, as the scheduler earliest_needed says which",
        ),
        ({"scheduler": Broken}, "^scheduler: Broken: priorities: expected whole numbers"),
    ],
)
def test_what_cannot_be_is_refused(parts: dict[str, Any], problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        compile(scenario(PAIR, race, **parts))


def test_in_order_is_for_both_semantics() -> None:
    parts = {"semantics": "astra-sim", "resources": ASTRA_SIM_RESOURCES}
    assert starts(scenario(PAIR, race, scheduler="in_order", **parts)) == [0, 1000]


def test_an_order_of_collectives_is_what_a_trace_would_state() -> None:
    """Two large all-reduces of two groups share the links; that of the higher priority is first."""

    class Largest(Scheduler):
        orders_collectives = True

        def priorities(self, nodes: Nodes) -> Any:
            return np.zeros(len(nodes), np.int64)

        def collective_priorities(self, nodes: Nodes) -> Any:
            return nodes.bytes.astype(np.int64)

    def write(trace: TraceBuilder, rank: int, stated: bool) -> None:
        for size in (1 << 20, 3 << 20, 2 << 20):
            node = trace.collective(ALL_REDUCE, size, group="1" if size == 3 << 20 else None)
            if stated:
                node["comm_priority"] = size >> 20

    def finish(stated: bool, **parts: Any) -> list[int]:
        policies = Collectives(all_reduce=("ring",), chunks=4, priority=parts.pop("priority"))
        case = scenario(
            PAIR,
            lambda trace, rank: write(trace, rank, stated),
            groups=((1, (0, 1)),),
            collectives=policies,
            **parts,
        )
        return [int(end * 1000) for end in simulate(case).nodes.as_dict()["end_ns"]]

    asked = finish(False, scheduler=Largest, priority="lifo")
    assert asked == finish(True, priority="explicit")


def test_jobs_that_arrive_are_scheduled_each_and_the_first_goes_first() -> None:
    builder = TraceBuilder()
    builder.compute(duration_micros=1)
    last = builder.compute(duration_micros=5)
    builder.compute(duration_micros=100, cpu=True, after=last)
    run = live.start(scenario(PAIR, chain, scheduler=LastFirst), {"job": {0: builder.build()}})
    first, second = run.submit("job"), run.submit("job")
    run.finish()
    own_ns = 1000 * (5 + 1 + 3 + 2 + 8)
    assert first.ended_ns == own_ns + 5000 + 100_000
    assert second.ended_ns == first.ended_ns + 100_000


def test_every_job_of_the_contract_is_seen() -> None:
    assert all(case.nodes() for case in CASES)
