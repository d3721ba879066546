"""The tutorials of ASTRA-sim 2.0: one collective, three nodes, an MLP on 32 accelerators, exactly.

    python examples/papers/astra_sim2_tutorials.py [FOLDER]

Hand-overs of 10 ns, 4 chunks one at a time, a local memory of 50 GB/s. The runs of the MLP covered
the first dimension only, which was the default of the code at that time; the traces say so. Those
of one byte are labelled one mebibyte on the slides, whose release did not find their size.

Source: slides of the tutorials at Hot Interconnects and MICRO 2024, astra-sim.github.io.
"""

from __future__ import annotations

import figure
from comparison import Row, show
from network import MIB, Block, topology

import yantra
from yantra import chakra
from yantra.scenario import ASTRA_SIM_RESOURCES

RING = [Block("ring", 8, 50, "ring", 500)]
MESH = [Block("fully_connected", 8, 50, "direct", 500)]
DGX_H100 = [Block("switch", 8, 450, "ring", 500), Block("switch", 4, 50, "ring", 500)]
TPU_V4 = [
    Block("ring", 2, 50, "ring", 500),
    Block("ring", 4, 50, "ring", 500),
    Block("ring", 4, 50, "ring", 50),
]

# Of each layer of the MLP: us of its forward and input-gradient kernels, us of its weight-gradient
# kernel, bytes of activations gathered and of input gradients reduced.
MLP = [
    (32291, 12864, 37632),
    (7488, 3648, 65536),
    (7488, 3456, 65536),
    (14144, 10368, 147456),
    (7488, 3648, 65536),
    (9984, 3456, 65536),
]


def one_all_reduce(size_bytes: int) -> chakra.Trace:
    step = chakra.TraceBuilder()
    step.collective("all_reduce", size_bytes)
    return step.build()


def three_nodes() -> chakra.Trace:
    """Return an all-reduce, and behind it an all-gather beside a kernel."""
    step = chakra.TraceBuilder()
    first = step.collective("all_reduce", MIB)
    step.collective("all_gather", 2 * MIB, after=first)
    step.compute(duration_micros=50, after=first)
    return step.build()


def mlp(dimensions: int) -> chakra.Trace:
    """Return one step of the MLP under model parallelism, over the first dimension."""
    step = chakra.TraceBuilder()
    involved = [True] + [False] * (dimensions - 1)
    last: list[chakra.Node] = []
    for us, _, size_bytes in MLP:
        kernel = step.compute(duration_micros=us, after=last)
        last = [step.collective("all_gather", size_bytes, involved_dim=involved, after=kernel)]
    for us, weights_us, size_bytes in reversed(MLP[1:]):
        kernel = step.compute(duration_micros=us, after=last)
        reduced = step.collective("all_reduce", size_bytes, involved_dim=involved, after=kernel)
        last = [step.compute(duration_micros=weights_us, after=kernel), reduced]
    kernel = step.compute(duration_micros=MLP[0][0], after=last)
    step.compute(duration_micros=MLP[0][1], after=kernel)
    return step.build()


def cycles(blocks: list[Block], trace: chakra.Trace) -> float:
    """Return the cycles (ns) of a step that every rank takes."""
    fabric = topology(blocks)
    algorithms = tuple(block.algorithm for block in blocks)
    scenario = yantra.Scenario(
        workload=yantra.Traces(traces=(trace,) * fabric.ranks),
        topology=fabric,
        device=yantra.Device(memory_bytes_per_s=50e9),
        collectives=yantra.Collectives(
            all_reduce=algorithms,
            all_gather=algorithms,
            chunks=4,
            endpoint_delay_ns=10,
            local_reduction_delay_ns=0,
        ),
        resources=ASTRA_SIM_RESOURCES,
        semantics="astra-sim",
    )
    return yantra.simulate(scenario).makespan_ns


def main() -> int:
    """Compare all runs; not one cycle may differ."""
    runs = [
        ("all-reduce, ring", 117_780, RING, one_all_reduce(MIB)),
        ("three nodes, ring", 405_520, RING, three_nodes()),
        ("one byte, ring", 28_600, RING, one_all_reduce(1)),
        ("one byte, full mesh", 4_120, MESH, one_all_reduce(1)),
        ("MLP, DGX-H100", 195_382_276, DGX_H100, mlp(2)),
        ("MLP, TPUv4", 195_226_804, TPU_V4, mlp(3)),
    ]
    rows = [Row(case, said, cycles(blocks, trace), 0.0) for case, said, blocks, trace in runs]
    panel = figure.bars(
        "every rank",
        "cycles",
        [row.case for row in rows],
        [row.published for row in rows],
        [row.ours for row in rows],
        logarithmic=True,
    )
    title = "Tutorials of ASTRA-sim 2.0: cycles"
    return show("astra_sim2_tutorials", title, "cycles", rows, [panel])


if __name__ == "__main__":
    raise SystemExit(main())
