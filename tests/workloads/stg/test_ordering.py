"""One order for all ranks: it follows the data, and ends the deadlocks of upstream's graphs."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import identities
from yantra.astra_sim.network import bytes_per_ns
from yantra.base.errors import DeadlockError
from yantra.run.simulate import simulate
from yantra.scenario import (
    ASTRA_SIM_RESOURCES,
    Collectives,
    Device,
    Dimension,
    Resources,
    Scenario,
    Templates,
    Topology,
)
from yantra.scenario.types import DeviceOf
from yantra.workloads.importers.stg import Settings, from_stg
from yantra.workloads.templates import Workload

SMALL = {"dmodel": 64, "dff": 128, "head": 8, "kvhead": 4, "dvocal": 96, "seq": 64, "batch": 8}
HANGING = Settings(  # gpt_8_tponly_dp2tp2pp2 of the reference runs
    model_type="gpt",
    dp=2,
    tp=2,
    pp=2,
    num_stacks=4,
    batch=8,
    micro_batch=2,
    dmodel=1024,
    dff=4096,
    head=16,
    kvhead=16,
    tpsp=False,
    units="stg",
)


def on_a_ring(workload: Workload) -> Scenario:
    """The store-and-forward 50 GB/s ring of the reference runs."""
    dimension = Dimension(
        kind="ring", size=workload.ranks, bytes_per_ns=bytes_per_ns(50), latency_ns=500.0
    )
    kinds = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all")
    return Scenario(
        semantics="astra-sim",
        workload=Templates(workload=workload),
        topology=Topology(dimensions=(dimension,)),
        network="store_and_forward",
        device=Device(compute="roofline", peak_flops=900e12, memory_bytes_per_s=3350e9),
        collectives=Collectives(chunks=4, **dict.fromkeys(kinds, ("ring",))),
        resources=ASTRA_SIM_RESOURCES,
    )


def in_one_order(workload: Workload) -> Workload:
    return Workload(
        grids=workload.grids,
        groups=workload.groups,
        classes=workload.classes,
        templates={name: workload.template(name, "serial") for name in workload.templates},
        sections={"ordering": "streams"},
    )


def test_a_graph_as_upstream_deadlocks_and_names_the_collectives() -> None:
    workload = from_stg(HANGING)
    with pytest.raises(DeadlockError) as caught:
        simulate(on_a_ring(workload))
    assert "8 of 8 ranks cannot finish" in str(caught.value)
    assert "mb3.transformer.3._sharded_grad: all_reduce over dp" in str(caught.value)
    assert "out_emb.w@1: all_reduce over dp" in str(caught.value)


def test_the_same_graph_in_one_order_runs() -> None:
    identities.hold(simulate(on_a_ring(in_one_order(from_stg(HANGING))), record=True))


def test_in_our_units_one_order_is_the_rule() -> None:
    workload = from_stg(HANGING.replace(units="yantra"))
    assert workload.ordering == "serial"
    identities.hold(simulate(on_a_ring(workload), record=True))


def test_ranks_of_a_group_that_are_not_equally_fast_enter_its_collectives_in_one_order() -> None:
    given = Settings(model_type="moe", dp=2, tp=2, sp=2, num_stacks=1, experts=4, **SMALL)
    slow = DeviceOf(
        ranks=(0, 1),
        device=Device(compute="roofline", peak_flops=100e9, memory_bytes_per_s=2e12),
    )
    many = on_a_ring(from_stg(given)).replace(
        semantics="yantra", network="analytical", devices=(slow,), resources=Resources()
    )
    identities.hold(simulate(many, record=True))
    as_upstream = Templates(workload=from_stg(given.replace(units="stg")))
    with pytest.raises(DeadlockError, match="in whose place rank"):
        simulate(many.replace(workload=as_upstream))


@settings(max_examples=50)
@given(
    kind=st.sampled_from(("gpt", "llama", "moe", "prefilling")),
    dp=st.sampled_from((1, 2)),
    tp=st.sampled_from((1, 2)),
    sp=st.sampled_from((1, 2)),
    pp=st.integers(1, 3),
    weight_sharded=st.booleans(),
)
def test_the_order_of_the_file_follows_the_data_and_never_hangs(kind: str, **plan: int) -> None:
    workload = from_stg(Settings(model_type=kind, num_stacks=3, **SMALL, **plan))  # type: ignore[arg-type]
    for name in workload.templates:
        seen: set[int] = set()
        for node in workload.template(name):
            assert seen.issuperset(node.data_deps)
            seen.add(node.id)
    if workload.ranks > 1:
        simulate(on_a_ring(workload))
