"""What holds for every named cluster: sources, units, order of speeds, and that it runs."""

from __future__ import annotations

import re
from math import prod

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from yantra import scenario
from yantra.base.errors import ConfigError
from yantra.chakra import CollectiveType, TraceBuilder
from yantra.fabric import clusters
from yantra.fabric.clusters import Cluster
from yantra.kinds.cluster_laws import violations
from yantra.run.simulate import simulate
from yantra.scenario import ASTRA_SIM_RESOURCES, Scenario, Traces

MACHINES = [clusters.load(name) for name in clusters.names()]
every_machine = pytest.mark.parametrize("machine", MACHINES, ids=lambda of: of.name)
SIZE = 1 << 26
COLLECTIVES = (
    CollectiveType.ALL_REDUCE,
    CollectiveType.ALL_GATHER,
    CollectiveType.REDUCE_SCATTER,
    CollectiveType.ALL_TO_ALL,
)


def finish_ns(machine: Cluster, ranks: int, kind: CollectiveType, semantics: str) -> float:
    builder = TraceBuilder()
    builder.collective(kind, SIZE)
    parts = scenario.cluster_parts(machine, ranks, semantics=semantics)
    if semantics == "astra-sim":
        parts["resources"] = ASTRA_SIM_RESOURCES
    workload = Traces(traces=(builder.build(),) * ranks)
    return max(
        map(float, simulate(Scenario(workload=workload, semantics=semantics, **parts)).finish_ns)
    )


@every_machine
def test_every_number_has_a_source_and_is_positive(machine: Cluster) -> None:
    numbers = list(machine.numbers())
    assert len(numbers) >= 12
    for key, number in numbers:
        assert number.value > 0 or key == "device.reserve", key
        assert len(number.source) > 15, key


@every_machine
def test_every_published_or_derived_number_names_a_document(machine: Cluster) -> None:
    titles = dict(machine.sources)
    for key, number in machine.numbers():
        if number.basis != "estimate":
            cited = re.findall(r"\[([^\]]*)\]", number.source)
            assert cited and set(cited) <= set(titles), key


@every_machine
def test_every_document_is_cited(machine: Cluster) -> None:
    cited = " ".join(number.source for _, number in machine.numbers())
    shapes = [level.shapes for level in machine.network if level.shapes is not None]
    cited += " ".join(shape.source for shape in shapes)
    assert [key for key, _ in machine.sources if f"[{key}]" not in cited] == []


@every_machine
def test_a_named_cluster_keeps_the_laws_of_all_clusters(machine: Cluster) -> None:
    assert list(violations(machine)) == []


@every_machine
def test_types_of_as_many_bits_are_as_fast(machine: Cluster) -> None:
    peak = {dtype: number.value for dtype, number in machine.peak}
    assert peak.get("fp16", peak["bf16"]) == peak["bf16"]
    assert machine.peak_flops() == peak[machine.dtype]
    reached = {dtype: number.value for dtype, number in machine.achievable}
    assert reached.get("fp16") == reached.get("bf16")
    assert reached.get("bf16", 0) <= reached.get("fp8", peak["bf16"])


@every_machine
def test_scale_up_is_faster_than_the_host_and_the_host_than_scale_out(machine: Cluster) -> None:
    for speeds in ("nominal", "achievable"):
        rates = [level.device_bytes_per_s(speeds) for level in machine.network]
        if not machine.name.startswith("rtx-"):  # they meet over the host's own links
            assert rates[0] > machine.host_bandwidth.value
        if machine.name != "gaudi3":  # its ports to other nodes are its own, not behind its host
            assert machine.host_bandwidth.value > rates[-1]


@every_machine
def test_memory_is_fast_enough_for_reductions_to_overlap(machine: Cluster) -> None:
    """A reduction reads two bytes and writes one for each that arrives."""
    for level in machine.network:
        assert 3 * level.device_bytes_per_s("nominal") < machine.memory_bandwidth.value


@every_machine
@pytest.mark.parametrize("semantics", ["yantra", "astra-sim"])
@pytest.mark.parametrize("ranks", [4, 8, 64, 128])
def test_every_collective_runs_and_no_faster_than_its_links(
    machine: Cluster, ranks: int, semantics: str
) -> None:
    """A device sends (n - 1) / n of the data at least once, over its links of all levels."""
    rate = sum(level.device_bytes_per_s("nominal") for level in machine.network) / 1e9
    sent = {CollectiveType.ALL_REDUCE: 2 * SIZE, CollectiveType.ALL_GATHER: ranks * SIZE}
    for kind in COLLECTIVES:
        least = sent.get(kind, SIZE) * (ranks - 1) / ranks / rate
        assert finish_ns(machine, ranks, kind, semantics) > least


@every_machine
@settings(deadline=None)
@given(ranks=st.integers(-5, 40_000) | st.integers(0, 10**15))
def test_any_number_of_ranks_fits_or_is_refused_with_numbers_that_do(
    machine: Cluster, ranks: int
) -> None:
    try:
        topology = machine.scenario_parts(ranks)["topology"]
    except ConfigError as error:
        nearest = [int(number) for number in error.problem.rpartition(": ")[2].split(" and ")]
        assert ranks not in nearest
        for number in nearest:
            assert machine.scenario_parts(number)
    else:
        assert prod(dimension["size"] for dimension in topology) == ranks
        assert ranks == 1 or all(dimension["size"] > 1 for dimension in topology)


@pytest.mark.parametrize("name", ["dgx-a100-80gb", "hgx-h100", "gb200-nvl72", "mi300x"])
def test_an_all_reduce_over_two_domains_takes_longer_than_in_one(name: str) -> None:
    machine = clusters.load(name)
    members = machine.network[0].members
    assert members is not None
    domain = int(members.value)
    kind = CollectiveType.ALL_REDUCE
    within, across = (finish_ns(machine, ranks, kind, "yantra") for ranks in (domain, 2 * domain))
    assert across > within


PUBLISHED = [
    # cluster, what of it, how many devices, the sum, as published, relative rounding
    ("dgx-a100-40gb", "memory_gib", 8, 320, 0),
    ("dgx-a100-80gb", "memory_gib", 8, 640, 0),
    ("dgx-a100-80gb", "fp16", 8, 5e15 / 2, 0.002),  # "5 petaFLOPS AI", with sparsity
    ("dgx-a100-80gb", "int8", 8, 10e15 / 2, 0.002),  # "10 petaOPS INT8", with sparsity
    ("dgx-a100-80gb", "scale_up", 8, 4.8e12 / 2, 0),  # NVSwitch, both directions
    ("hgx-h100", "memory_gib", 8, 640, 0),
    ("hgx-h100", "fp8", 8, 32e15 / 2, 0.02),  # "32 petaFLOPS FP8", with sparsity
    ("hgx-h100", "scale_up", 8, 7.2e12 / 2, 0),
    ("hgx-h200", "memory_gib", 8, 1128, 0),  # DGX H200: 1,128 GB
    ("hgx-h200", "fp8", 8, 32e15 / 2, 0.02),
    ("hgx-h200", "scale_up", 8, 7.2e12 / 2, 0),
    ("gb200-nvl72", "fp4", 72, 1440e15 / 2, 0),
    ("gb200-nvl72", "fp8", 72, 720e15 / 2, 0),
    ("gb200-nvl72", "bf16", 72, 360e15 / 2, 0),
    ("gb200-nvl72", "tf32", 72, 180e15 / 2, 0),
    ("gb200-nvl72", "fp64", 72, 2880e12, 0),
    ("gb200-nvl72", "memory_gib", 72, 13.4e3, 0.002),
    ("gb200-nvl72", "memory_bandwidth", 72, 576e12, 0),
    ("gb200-nvl72", "scale_up", 72, 130e12 / 2, 0.004),
    ("mi300x", "memory_gib", 8, 1536, 0),  # 1.5 TB
    ("mi300x", "bf16", 8, 10.4e15, 0.01),
    ("mi300x", "fp8", 8, 20.9e15, 0.002),
    ("mi300x", "scale_up", 1, 896e9 / 2, 0),
    ("tpu-v4", "bf16", 4096, 1.1e18, 0.03),
    ("tpu-v4", "scale_up", 1, 2400e9 / 8, 0),
    ("tpu-v5p", "scale_up", 1, 4800e9 / 8, 0),
]


@pytest.mark.parametrize(("name", "what", "devices", "published", "rounding"), PUBLISHED)
def test_the_parts_sum_to_what_is_published_of_the_whole(
    name: str, what: str, devices: int, published: float, rounding: float
) -> None:
    machine = clusters.load(name)
    of_one = {dtype: number.value for dtype, number in machine.peak} | {
        "memory_gib": machine.memory_bytes / 2**30,
        "memory_bandwidth": machine.memory_bandwidth.value,
        "scale_up": machine.network[0].device_bytes_per_s("nominal"),
    }
    assert devices * of_one[what] == pytest.approx(published, rel=rounding or 1e-12)
