"""Memory models in scenarios: which model is asked for what, and which access waits for which."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pytest

from tests.cases import cluster, run, scenario
from yantra import scenario as scenarios
from yantra.base.errors import ConfigError, TraceError
from yantra.base.fields import Number, Section
from yantra.base.records import Record
from yantra.chakra import TraceBuilder
from yantra.compile import compile, compile_without
from yantra.memory import model_of
from yantra.memory.model import Accesses, LatencyAndBandwidth, MemoryModel, Speeds
from yantra.run.simulate import run as run_compiled
from yantra.scenario import RemoteMemory

FOUR = cluster(("ring", 4, 50.0, 100.0))


def offload(trace: TraceBuilder, rank: int) -> None:
    stored = trace.memory_store(8000)
    loaded = trace.memory_load(8000, after=stored)
    trace.memory_load(16, after=loaded)


class Told(MemoryModel):
    """A load takes a byte a nanosecond, a store two."""

    asked: ClassVar[list[tuple[Accesses, Speeds]]] = []
    needs_bandwidth = False

    def access(self, accesses: Accesses, speeds: Speeds) -> Any:
        self.asked.append((accesses, speeds))
        return accesses.bytes * np.where(accesses.is_store, 2.0, 1.0)


class ToldPool(Told):
    sharing = "pool"


class ToldNode(Told):
    sharing = "node"


def test_a_model_is_asked_once_for_the_accesses_that_differ() -> None:
    Told.asked.clear()
    compile(scenario(FOUR, offload, memory=RemoteMemory(kind=Told, latency_ns=3)))
    ((rows, speeds),) = Told.asked
    assert speeds == Speeds(3, 0.0)
    assert rows.bytes.tolist() == [8000, 8000, 16]
    assert rows.is_store.tolist() == [True, False, False]
    assert rows.count.tolist() == [4, 4, 4]


@pytest.mark.parametrize("fold", ["off", "require"])
def test_ranks_with_memories_of_their_own_do_not_wait(fold: Any) -> None:
    done = run(FOUR, offload, memory=RemoteMemory(kind=Told), fold=fold)
    assert done.finish == [16000 + 8000 + 16] * 4


@pytest.mark.parametrize(
    ("memory", "last"),
    [
        (RemoteMemory(kind=ToldPool), 4 * 24016),
        (RemoteMemory(kind=ToldNode, ranks_per_node=2, nodes=2), 2 * 24016),
    ],
)
def test_a_shared_memory_serves_one_access_at_a_time(memory: RemoteMemory, last: int) -> None:
    assert max(run(FOUR, offload, memory=memory).finish) == last


def test_in_an_infinite_memory_nothing_takes_time() -> None:
    assert run(FOUR, offload, memory=RemoteMemory(kind="infinite")).finish == [0] * 4


@pytest.mark.parametrize("name", ["per_npu", "per_node", "pool"])
def test_the_memories_of_the_core_say_the_same_in_python(name: str) -> None:
    native = model_of(name)

    class Again(LatencyAndBandwidth):
        sharing = native.sharing

    nodes = {"ranks_per_node": 3, "nodes": 2} if name == "per_node" else {}
    runs = [
        run(
            FOUR,
            offload,
            memory=RemoteMemory(kind=kind, latency_ns=70, bytes_per_ns=32.0, **nodes),
            fold="off",
        ).columns()
        for kind in (name, Again)
    ]
    assert runs[0] == runs[1]


def test_a_what_if_without_remote_memory_removes_what_a_model_says() -> None:
    model = compile(scenario(FOUR, offload, memory=RemoteMemory(kind=Told)))
    assert run_compiled(compile_without(model, ["remote_memory"])).finish_ns.tolist() == [0] * 4


class Endless(Told):
    def access(self, accesses: Accesses, speeds: Speeds) -> Any:
        return np.full(len(accesses), np.inf)


def test_an_answer_that_is_none_names_the_model_and_the_row() -> None:
    with pytest.raises(ConfigError) as error:
        compile(scenario(FOUR, offload, memory=RemoteMemory(kind=Endless)))
    assert str(error.value) == (
        "cluster.memory.kind: Endless: row 0 (store of 8000 bytes): expected a finite duration "
        "from 0 up; it is inf ns"
    )


class Gain(Record):
    times: float = 2.0


class Faster(LatencyAndBandwidth):
    options = Section(Gain, {"times": ("times", Number(above=0), "as fast")})

    def access(self, accesses: Accesses, speeds: Speeds) -> Any:
        return super().access(accesses, speeds) / self.given.times


TEXT = (
    'workload: {traces: "step.{rank}.et"}\n'
    "cluster:\n"
    "  topology: [{kind: ring, size: 2, bandwidth: 50 GB/s, latency: 1 us}]\n"
    "  memory: {kind: infinite, latency: 3 ns}\n"
)


def test_a_scenario_file_chooses_a_model() -> None:
    read = scenarios.loads(TEXT)
    assert read.memory == RemoteMemory(kind="infinite", latency_ns=3)
    assert scenarios.loads(scenarios.to_yaml(read)) == read


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("kind: infinit", "cluster.memory.kind: no memory model is named 'infinit'"),
        ("kind: infinite, options: {x: 1}", "cluster.memory.options.x: unknown key"),
        ("options: {x: 1}", "cluster.memory.kind: missing"),
        ("kind: infinite, nodes: 2", "cluster.memory.nodes: only"),
        ("kind: pool", "cluster.memory.bandwidth: must be above 0"),
    ],
)
def test_a_wrong_choice_is_named(wrong: str, said: str) -> None:
    with pytest.raises(ConfigError) as error:
        scenarios.loads(TEXT.replace("kind: infinite", wrong))
    assert str(error.value).startswith(said)


def test_options_of_a_kind_stand_beside_it(monkeypatch: pytest.MonkeyPatch) -> None:
    from yantra.memory import models

    monkeypatch.setitem(models._built_in, "faster", "faster_in_a_test")
    module = type("Module", (), {"PLUGIN": Faster})
    monkeypatch.setitem(__import__("sys").modules, "yantra.memory.faster_in_a_test", module)
    chosen = "kind: faster, bandwidth: 4 GB/s, options: {times: 4}"
    read = scenarios.loads(TEXT.replace("kind: infinite", chosen))
    assert model_of(read.memory.kind).given == Gain(times=4.0)
    assert scenarios.loads(scenarios.to_yaml(read)) == read
    with pytest.raises(ConfigError, match=r"^cluster\.memory\.options\.times: must be above 0"):
        scenarios.loads(TEXT.replace("kind: infinite", chosen.replace("4}", "0}")))


class Kneed(Told):
    def access(self, accesses: Accesses, speeds: Speeds) -> Any:
        return np.maximum(accesses.bytes - 8000, 0)


def test_a_difference_of_bytes_may_be_negative() -> None:
    assert run(FOUR, offload, memory=RemoteMemory(kind=Kneed)).finish == [0] * 4


class Ages(Told):
    def access(self, accesses: Accesses, speeds: Speeds) -> Any:
        return np.full(len(accesses), 1e16)


class Breaks(Told):
    def access(self, accesses: Accesses, speeds: Speeds) -> Any:
        return {}["x"]


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        (Ages, "Ages: row 0 (store of 8000 bytes): expected at most 9e+15 ns (104 days); it is "),
        (Breaks, "Breaks failed: KeyError: 'x' (test_memory_models.py, line "),
    ],
)
def test_what_cannot_be_run_names_the_model(kind: type[MemoryModel], said: str) -> None:
    with pytest.raises(ConfigError) as error:
        compile(scenario(FOUR, offload, memory=RemoteMemory(kind=kind)))
    assert str(error.value).startswith(f"cluster.memory.kind: {said}")


def test_an_access_without_a_sign_to_spare_is_refused() -> None:
    def huge(trace: TraceBuilder, rank: int) -> None:
        trace.memory_load(2**63)

    with pytest.raises(TraceError, match=r"tensor_size of an access: expected at most 2\*\*63 - 1"):
        compile(scenario(FOUR, huge, memory=RemoteMemory(kind=Told)))
