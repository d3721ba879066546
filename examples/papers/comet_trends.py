"""COMET's three trends for a Transformer of a trillion parameters on 1024 accelerators.

    python examples/papers/comet_trends.py [FOLDER]

How much a device holds when MP x DP = 1024 with ZeRO; which split is best where memory is what it
is; how much MP8_DP128 gains, which needs 264 GB, when a device has expanded memory of some
bandwidth; and how far named clusters are apart at their best plans.

Layers are those of COMET's text workload, scaled from MP128_DP8 to other splits: a rank has
1024 x MP tokens and 24576 / MP columns. Layer norms are left out: the artifact counts them as
products. Devices are 80 GB at 2039 GB/s with 624 TFLOP/s, in pods of 8 with 300 GB/s, 31.25 GB/s
between pods. A split fits with the activations of one layer on top, the rest being computed again.
Of the traffic of MP8_DP128 as much is local as of its memory.

Source: Kadiyala et al., "COMET: a comprehensive cluster design methodology for distributed deep
learning training" (arXiv 2211.16648); layers of the artifact dkadiyala3/comet-astrasim, 519f0d5.
The footprints are 2, 2 and 12 bytes a parameter, as the paper counts them; a layer keeps tokens x
width x (10 + 24 / MP) bytes (Korthikanti et al., MLSys 2023, without the core of attention).
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from itertools import pairwise

import figure
from comparison import Row, show
from network import Block, topology

import yantra
from yantra.explore import Space, explore
from yantra.explore.study.first_estimates import footprint, hybrid_bandwidth
from yantra.workloads.importers.comet import Roofline, read
from yantra.workloads.importers.text import Settings, from_layers

PARAMETERS, DEVICES, POD, BLOCKS = 1e12, 1024, 8, 2
PEAK, LOCAL, CAPACITY_GB = 624e12, 2039.0, 80.0
WIDTH, TOKENS = 24576, 1024  # tokens of a rank for each MP rank: 512 sequences of 2048 in all
EXPANDED = (10, 30, 100, 200, 400, 800, 1600, 3200)  # GB/s
CLUSTERS = ("dgx-a100-80gb", "hgx-h100", "hgx-b200", "mi300x", "tpu-v4", "tpu-v5p")
ZERO = {64: (250.0, 74.2, 44.9, 15.6), 32: (500.0, 136.7, 76.2, 15.6),
        16: (1000.0, 261.7, 138.7, 15.6), 8: (2000.0, 511.7, 263.7, 15.6),
        4: (4000.0, 1011.7, 513.7, 15.6)}  # fmt: skip
"""GB of a device without activations, by MP, at ZeRO stages 0 to 3."""
CEILING = 1.4
WITHIN = 4e-3  # the table has one digit behind the point


def text(mp: int) -> Iterator[str]:
    """Yield the text workload of a split: two blocks of the layers."""
    tokens, columns = TOKENS * mp, WIDTH // mp
    whole = 2 * tokens * WIDTH
    products = {
        "Q": (tokens, WIDTH, columns, "NONE", "ALLREDUCE"),
        "K": (tokens, WIDTH, columns, "NONE", "NONE"),
        "V": (tokens, WIDTH, columns, "NONE", "NONE"),
        "QK": (16384, 192, 1024, "NONE", "NONE"),
        "Softmax": (16384, 1024, 192, "NONE", "NONE"),
        "Concat": (tokens, columns, WIDTH, "ALLREDUCE", "ALLGATHER"),
        "XW1": (tokens, WIDTH, 4 * columns, "NONE", "NONE"),
        "XW2": (tokens, 4 * columns, WIDTH, "ALLREDUCE", "ALLREDUCE"),
    }
    last = BLOCKS * len(products) - 1
    yield (
        f"HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: {mp} checkpoints: 2 0 "
        f"{len(products)} checkpoint_initiates: 2 {last} {len(products) - 1}"
    )
    yield str(last + 1)
    sizes = {"NONE": 0, "ALLREDUCE": whole, "ALLGATHER": whole // mp}
    for block in range(1, BLOCKS + 1):
        for name, (m, k, n, forward, gradient) in products.items():
            work = f"{2 * m * k * n} {2 * (m * k + k * n + m * n)} 7"
            weights = f"ALLREDUCE {2 * k * n}" if m == tokens else "NONE 0"
            passes = (f"{forward} {sizes[forward]}", f"{gradient} {sizes[gradient]}", weights)
            yield f"{name}{block} -1 {' '.join(f'{work} {one}' for one in passes)} 10"


def step_ns(mp: int, gb_per_s: float) -> float:
    """Return the time of a step at a split, with memory of some bandwidth."""
    sizes = [size for size in (POD, mp // POD, DEVICES // mp) if size > 1]
    blocks = [
        Block("switch", size, 300 if at == 0 else 31.25, "halving_doubling")
        for at, size in enumerate(sizes)
    ]
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "transformer.txt")
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join(text(mp)) + "\n")
        layers = read(path, Roofline(PEAK, gb_per_s * 1e9))
    dimensions = (POD, DEVICES // POD)
    workload = from_layers(layers, DEVICES, dimensions, Settings(1, "ns", "none"), "COMET")
    algorithms = tuple(block.algorithm for block in blocks)
    scenario = yantra.Scenario(
        workload=yantra.Templates(workload=workload),
        topology=topology(blocks),
        device=yantra.Device(memory_bytes_per_s=LOCAL * 1e9),
        collectives=yantra.Collectives(
            all_reduce=algorithms, all_gather=algorithms, reduce_scatter=algorithms, chunks=64
        ),
    )
    return yantra.simulate(scenario).makespan_ns


def need_gb(mp: int) -> float:
    activations = TOKENS * mp * WIDTH * (10 + 24 / mp)
    return (footprint(PARAMETERS, mp, DEVICES // mp, 2).total + activations) / 1e9


def gains(best_ns: float) -> list[float]:
    share = CAPACITY_GB / need_gb(8)
    return [best_ns / step_ns(8, hybrid_bandwidth(share, LOCAL, one)) for one in EXPANDED]


def seconds_on(clusters: tuple[str, ...]) -> dict[str, float]:
    space = Space(model="gpt-1t", global_batch=512, ranks=[DEVICES], clusters=clusters)
    found = explore(space).trials.values("step_time")
    return {name: time for name, time in zip(clusters, found, strict=True) if time is not None}


def told(times: dict[int, float], gain: list[float], seconds: dict[str, float]) -> Iterator[str]:
    """Yield the trends in words."""
    for mp, time in times.items():
        word = "fits" if need_gb(mp) < CAPACITY_GB else "does not fit"
        yield f"MP{mp}_DP{DEVICES // mp}: {time / 1e9:.3f} s, {need_gb(mp):.1f} GB, {word}"
    for one, times_as_fast in zip(EXPANDED, gain, strict=True):
        yield f"MP8_DP128 with {one} GB/s of expanded memory: {times_as_fast:.3f} x"
    for name, time in sorted(seconds.items(), key=lambda pair: pair[1]):
        yield f"{name}: {time:.3f} s, {time / min(seconds.values()):.2f} x"


def main() -> int:
    """Compare the footprints, and show the trends; status 1 where one does not hold."""
    rows = []
    for mp, expected in ZERO.items():
        for stage, gb in enumerate(expected):
            ours = footprint(PARAMETERS, mp, DEVICES // mp, stage).total / 1e9
            rows.append(Row(f"MP{mp}_DP{DEVICES // mp}, ZeRO-{stage}", gb, ours, WITHIN))
    times = {mp: step_ns(mp, LOCAL) for mp in (64, 32, 16, 8)}
    fits = [mp for mp in times if need_gb(mp) < CAPACITY_GB]
    best = min(fits, key=times.__getitem__)
    gain = gains(times[best])
    panel = figure.curves(
        f"MP8_DP128 with expanded memory, against MP{best}_DP{DEVICES // best}",
        "times as fast",
        "GB/s of expanded memory",
        [figure.Curve("gain", tuple(map(float, EXPANDED)), (), tuple(gain))],
    )
    status = show("comet_trends", "COMET: memory of Transformer-1T", "GB", rows, [panel])
    print("\n".join(told(times, gain, seconds_on(CLUSTERS))))
    rises = all(one <= following for one, following in pairwise(gain))
    saturates = gain[-1] / gain[-2] < 1.05 < gain[1] / gain[0]
    holds = fits == [64] and rises and gain[0] < 1 < gain[-1] <= CEILING and saturates
    print("the trends hold" if holds else "a trend does not hold")
    return status or int(not holds)


if __name__ == "__main__":
    raise SystemExit(main())
