"""How numbers of ranks fit named clusters, and the parts of a scenario they get."""

from __future__ import annotations

from math import prod
from typing import Any

import pytest

from yantra import scenario
from yantra.base.errors import ConfigError
from yantra.base.fields import kind_of
from yantra.fabric import clusters
from yantra.fabric.clusters.fit import slice_shape
from yantra.scenario import Device, Dimension, RemoteMemory
from yantra.scenario.named import parts_at


def sizes(name: str, ranks: int) -> list[int]:
    return [
        dimension["size"] for dimension in clusters.load(name).scenario_parts(ranks)["topology"]
    ]


@pytest.mark.parametrize(
    ("name", "ranks", "expected"),
    [
        ("hgx-h100", 2, [2]),
        ("hgx-h100", 5, [5]),
        ("hgx-h100", 8, [8]),
        ("hgx-h100", 16, [8, 2]),
        ("hgx-h100", 131072, [8, 16384]),
        ("gb200-nvl72", 70, [70]),
        ("gb200-nvl72", 72, [72]),
        ("gb200-nvl72", 128, [64, 2]),
        ("gb200-nvl72", 144, [72, 2]),
        ("gb200-nvl72", 1000, [40, 25]),
        ("tpu-v4", 4, [2, 2]),
        ("tpu-v4", 16, [2, 2, 4]),
        ("tpu-v4", 4096, [16, 16, 16]),
        ("tpu-v4", 8192, [16, 16, 16, 2]),
        ("tpu-v5p", 6144, [16, 16, 24]),
        ("tpu-v5p", 8960, [8, 20, 28, 2]),
    ],
)
def test_ranks_fill_the_levels_from_the_inside(name: str, ranks: int, expected: list[int]) -> None:
    assert prod(sizes(name, ranks)) == ranks
    assert sizes(name, ranks) == expected


# Google Cloud documentation, TPU v5p, table of configurations
@pytest.mark.parametrize(
    "shape",
    [
        (2, 2, 1),
        (2, 2, 2),
        (2, 4, 4),
        (4, 4, 4),
        (4, 4, 8),
        (4, 8, 8),
        (8, 8, 8),
        (8, 8, 16),
        (8, 16, 16),
        (16, 16, 16),
        (16, 16, 24),
    ],
)
def test_slices_have_the_documented_shapes(shape: tuple[int, ...]) -> None:
    for name in ("tpu-v4", "tpu-v5p"):
        shapes = clusters.load(name).network[0].shapes
        assert shapes is not None
        if prod(shape) <= shapes.most.value:
            assert slice_shape(shapes, prod(shape)) == shape


@pytest.mark.parametrize(
    ("name", "ranks", "nearest"),
    [
        ("hgx-h100", 12, "8 and 16"),
        ("hgx-h100", 0, "1"),
        ("hgx-h100", -3, "1"),
        ("gb200-nvl72", 73, "72 and 80"),
        ("tpu-v4", 3, "1 and 4"),
        ("tpu-v4", 40, "32 and 64"),
        ("tpu-v5p", 6145, "6144 and 6272"),
    ],
)
def test_what_does_not_fit_is_refused_with_the_nearest(name: str, ranks: int, nearest: str) -> None:
    with pytest.raises(ConfigError, match=f"nearest possible: {nearest}$") as raised:
        clusters.load(name).scenario_parts(ranks)
    assert raised.value.where == "ranks"
    for number in nearest.split(" and "):
        assert prod(sizes(name, int(number))) == int(number)


def test_the_refusal_says_what_fits() -> None:
    with pytest.raises(ConfigError) as raised:
        clusters.load("hgx-h100").scenario_parts(12)
    assert str(raised.value) == (
        "ranks: 12 ranks cannot be had on hgx-h100 (NVLink: 2 to 8 in one domain, or equal "
        "domains of 8); nearest possible: 8 and 16"
    )


def test_a_node_is_one_switch_of_all_links_of_a_device() -> None:
    parts = parts_at("hgx-h100", 16, speeds="nominal")
    assert parts["topology"].dimensions == (
        Dimension(kind="switch", size=8, bytes_per_ns=18 * 25.0, latency_ns=300.0),
        Dimension(kind="switch", size=2, bytes_per_ns=50.0, latency_ns=1350.0),
    )
    assert parts["device"] == Device(
        peak_flops=989.4e12, memory_bytes_per_s=3.35e12, compute="roofline"
    )
    assert parts["memory"] == RemoteMemory(kind="per_npu", latency_ns=1000, bytes_per_ns=64.0)
    assert parts["collectives"].all_reduce == ("ring", "halving_doubling")
    assert parts["collectives"].chunks is None  # as many as suit the size


def test_a_fully_connected_node_has_one_link_to_each_other_device() -> None:
    (node,) = parts_at("mi300x", 8, speeds="nominal")["topology"].dimensions
    assert (node.kind, node.bytes_per_ns) == ("fully_connected", 64.0)


def test_a_torus_has_both_links_of_a_dimension_and_a_mesh_one() -> None:
    cube = parts_at("tpu-v4", 64, speeds="nominal")["topology"].dimensions
    assert [(d.kind, d.size, d.bytes_per_ns) for d in cube] == [("ring", 4, 100.0)] * 3
    tray = parts_at("tpu-v4", 4, speeds="nominal")["topology"].dimensions
    assert [(d.kind, d.size, d.bytes_per_ns) for d in tray] == [("mesh", 2, 50.0)] * 2


def test_links_have_the_rate_that_software_reaches_unless_asked_otherwise() -> None:
    achieved, nominal = (
        parts_at("dgx-a100-80gb", 8, speeds=speeds)["topology"].dimensions[0]
        for speeds in ("achievable", "nominal")
    )
    assert (achieved.bytes_per_ns, nominal.bytes_per_ns) == (12 * 20.0, 12 * 25.0)


@pytest.mark.parametrize(("nodes", "algorithm"), [(4, "halving_doubling"), (6, "pat")])
def test_a_level_gets_the_first_algorithm_it_prefers_that_runs_there(
    nodes: int, algorithm: str
) -> None:
    parts = scenario.cluster_parts("hgx-h200", 8 * nodes)
    assert parts["collectives"].all_reduce == ("ring", algorithm)


def test_algorithms_are_spelled_as_the_semantics_wants() -> None:
    parts = clusters.load("hgx-h200").scenario_parts(32, semantics="astra-sim")
    assert parts["collectives"]["all_reduce"] == ["ring", "halvingDoubling"]
    assert parts["collectives"]["all_to_all"] == ["direct1", "direct1"]


def test_chunks_begin_in_different_dimensions_only_where_those_are_alike() -> None:
    def order(ranks: int) -> Any:
        return clusters.load("tpu-v4").scenario_parts(ranks)["collectives"]["inter_dimension"]

    assert (order(64), order(8192)) == ("round_robin", "ascending")


@pytest.mark.parametrize("dtype", ["bf16", "fp8", "fp64"])
def test_the_roofline_has_the_rate_of_the_dtype(dtype: str) -> None:
    machine = clusters.load("hgx-h100")
    nominal = parts_at(machine, 8, dtype, speeds="nominal")["device"]
    assert nominal.peak_flops == dict(machine.peak)[dtype].value == machine.peak_flops(dtype)
    reached = scenario.cluster_parts(machine, 8, dtype, stack="roofline")["device"]
    rates = {name: rate.value for name, rate in (*machine.peak, *machine.achievable)}
    assert reached == nominal.replace(peak_flops=rates[dtype], compute=reached.compute)
    assert kind_of(reached.compute) == kind_of(nominal.compute) == "roofline"
    if dtype == "fp8":  # attention and norms of such a job run in 16 bits
        options = {"dtype": "fp8", "products": "fp8"}
        assert dict(reached.compute.options) == options | rates
        peaks = {name: rate.value for name, rate in machine.peak}
        assert dict(nominal.compute.options) == options | peaks


def test_a_dtype_without_a_rate_is_refused() -> None:
    with pytest.raises(ConfigError) as raised:
        clusters.load("dgx-a100-40gb").scenario_parts(8, "fp8")
    assert str(raised.value) == (
        "dtype: expected a dtype with a peak rate on dgx-a100-40gb (fp64, fp32, tf32, bf16, fp16, "
        'int8), got "fp8"'
    )


def test_an_unknown_speed_is_refused() -> None:
    expected = r'^speeds: expected one of achievable, nominal, measured, got "x"'
    with pytest.raises(ConfigError, match=expected):
        clusters.load("mi300x").scenario_parts(8, speeds="x")  # type: ignore[arg-type]


def test_memory_is_that_of_one_device() -> None:
    assert clusters.load("dgx-a100-40gb").memory_bytes == 40 * 2**30
    assert clusters.load("tpu-v5p").memory_bytes == 95 * 2**30
