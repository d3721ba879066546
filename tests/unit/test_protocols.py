"""NCCL's protocols on the wire: lines and steps, by closed forms; without one nothing changes."""

from __future__ import annotations

from pathlib import Path

import pytest

from yantra.base.errors import ConfigError
from yantra.chakra import CollectiveType
from yantra.collectives import find
from yantra.collectives.lower import lower
from yantra.collectives.protocols import LINES, on_the_wire
from yantra.collectives.schedule import Kind
from yantra.run.simulate import simulate
from yantra.scenario import Scenario, loads, to_yaml
from yantra.scenario.one_collective import of_all_ranks
from yantra.scenario.types import Templates

SIZE, RANKS, RATE, LATENCY, D = 960_000, 4, 50, 500, 10
TEXT = """
workload: {{traces: "none.{{rank}}.et"}}
cluster:
  topology: [{{kind: {kind}, size: {ranks}, bandwidth: {rate} GB/s, latency: {latency} ns}}]
{fabric}collectives: {{{collective}: [{name}], endpoint_delay: {d} ns{more}}}
network: {network}
"""
NVSWITCH = "  fabric: {kind: switch, ranks: 4, bandwidth: 50 GB/s, latency: 500 ns}\n"


def scenario_of(
    name: str,
    more: str,
    collective: str = "all_reduce",
    network: str = "analytical",
    fabric: str = "",
    size: int = SIZE,
) -> Scenario:
    text = TEXT.format(
        kind="ring", ranks=RANKS, rate=RATE, latency=LATENCY, d=D, name=name, more=more,
        collective=collective, network=network, fabric=fabric,
    )  # fmt: skip
    workload = of_all_ranks(CollectiveType[collective.upper()], size, RANKS)
    return loads(text).replace(workload=Templates(workload=workload))


def lines(part: float, protocol: str) -> float:
    line = LINES[protocol]  # type: ignore[index]
    return -(-part // line.data) * line.bytes


@pytest.mark.parametrize("network", ["analytical", "flow", "store_and_forward"])
@pytest.mark.parametrize("protocol", LINES)
@pytest.mark.parametrize("step", [None, 0, 700])
@pytest.mark.parametrize("size", [64, 4096, SIZE, 10**7 + 4])
def test_a_ring_takes_its_lines_and_steps_to_the_tick(
    network: str, protocol: str, step: int | None, size: int
) -> None:
    more = f", protocol: {{kind: {protocol}{'' if step is None else f', step: {step} ns'}}}"
    result = simulate(scenario_of("ring", more, network=network, size=size))
    sent = lines(-(-size // RANKS), protocol)
    waits = LINES[protocol].step_ns if step is None else step  # type: ignore[index]
    hop = LATENCY + sent / RATE + D + waits
    assert result.makespan_ns == pytest.approx(D + 2 * (RANKS - 1) * hop, abs=0.02)
    assert sum(use.bytes for use in result.dimension_uses) == 2 * (RANKS - 1) * RANKS * sent


@pytest.mark.parametrize("protocol", LINES)
def test_switches_wait_for_no_step(protocol: str) -> None:
    more = f", protocol: {{kind: {protocol}}}"
    result = simulate(scenario_of("nvls", more, network="flow", fabric=NVSWITCH))
    part = lines(SIZE // RANKS, protocol)
    form = 4 * LATENCY + 2 * (RANKS + 1) * part / RATE + 3 * D
    form += 2 * LINES[protocol].step_ns  # type: ignore[index]
    assert result.makespan_ns == pytest.approx(form, abs=0.02)


@pytest.mark.parametrize(
    "name", ["ring", "direct", "halving_doubling", "double_binary_tree", "pat"]
)
def test_simple_without_a_step_is_no_protocol(name: str) -> None:
    plain = simulate(scenario_of(name, "")).makespan_ns
    assert (
        simulate(scenario_of(name, ", protocol: {kind: simple, step: 0 ns}")).makespan_ns == plain
    )


def test_what_positions_add_and_hold_is_what_it_was() -> None:
    plain = lower(find("double_binary_tree").schedule(Kind.ALL_REDUCE, 6))
    made = on_the_wire(plain, "ll128")
    assert (made.final_num, made.final_den) == (plain.final_num, plain.final_den)
    for before, after in zip(plain.ops, made.ops, strict=True):
        assert [op for op in after if op.kind == "local"] == [
            op for op in before if op.kind == "local"
        ]
    sent = sum(size for *_, size in plain.messages(120 * 64))
    assert sum(size for *_, size in made.messages(120 * 64)) == sent * 128 // 120


def test_an_all_to_all_of_unequal_counts_has_lines_too(tmp_path: Path) -> None:
    (tmp_path / "counts.csv").write_text("0,4,0,0\n0,0,4,0\n0,0,0,4\n4,0,0,0\n")
    counted = f", counts: {{file: {tmp_path / 'counts.csv'}}}"
    times = {
        kind: simulate(
            scenario_of("direct", f"{counted}, protocol: {{kind: {kind}}}", "all_to_all")
        ).makespan_ns
        for kind in LINES
    }
    data = times["simple"] - LATENCY - 2 * D - 2800
    assert times["ll"] == pytest.approx(LATENCY + 2 * D + 2 * data, abs=1)
    assert times["ll128"] == pytest.approx(LATENCY + 2 * D + 1300 + data * 128 / 120, abs=3)


def test_a_protocol_is_read_written_and_refused_where_it_cannot_be() -> None:
    def text(more: str) -> str:
        return TEXT.format(
            kind="ring", ranks=4, rate=50, latency=500, d=10, name="ring", collective="all_reduce",
            network="analytical", fabric="", more=more,
        )  # fmt: skip

    given = loads(text(", protocol: {kind: ll, step: 1 us}"))
    assert loads(to_yaml(given)) == given
    for more, told in (
        (", protocol: {kind: ll256}", "collectives.protocol.kind: .*ll128"),
        (", protocol: {step: 1 us}", "collectives.protocol.kind: missing"),
        (
            ", protocol: {kind: ll}, shared_bus: {l: 1 ns, o: 1 ns, g: 1 ns, big_g: 1 ns/B}",
            "collectives.protocol: not with shared_bus",
        ),
    ):
        with pytest.raises(ConfigError, match=told):
            loads(text(more))
    with pytest.raises(ConfigError):
        loads(text(", protocol: {kind: ll}") + "semantics: astra-sim\n")
