"""What NCCL's tuner knows of a communicator: its ranks, and the graphs that NCCL found for it.

Source: NCCL 2.30.7, src/graph/search.cc, `ncclTopoPrintGraph`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from yantra.base.records import Record
from yantra.collectives.nccl.constants import AnyGpu, Cpu, Gpu


class Graph(Record):
    """The channels of one algorithm.

    `intra`, `inter`: GB/s (1e9) per channel in a node and between nodes; `nvlink`: in a node (else
    PCI); `inter_latency_us`: the adapter's; `same_channels`: all take one path.
    """

    channels: int
    intra: float
    inter: float
    nvlink: bool = True
    inter_latency_us: float = 0.0
    same_channels: bool = True


class System(Record):
    """A communicator: ranks, nodes, GPUs, CPUs and the graphs by algorithm.

    `channels`: by default the ring's. `ll128`: LL128 is on (in a node up to NVLink, between nodes
    PXB, Hopper on: PXN). `nvls`, `collnet`: NVLink SHARP and CollNet (in-network reduction) are on;
    `heads`: a node's ranks with a CollNet adapter, by default all. `plain_tree`: a tree's traffic
    enters and leaves at one GPU (pattern 3). `x86`: the CPU's architecture.
    """

    ranks: int
    nodes: int
    gpu: AnyGpu
    cpu: Cpu
    graphs: Mapping[str, Graph]
    channels: int = 0
    ll128: bool = True
    nvls: bool = False
    collnet: bool = False
    heads: int = 0
    plain_tree: bool = False
    x86: bool = True

    @property
    def is_amd(self) -> bool:
        """Whether RCCL runs, with the constants of `rccl`."""
        return self.gpu.startswith("mi")

    @property
    def nvidia(self) -> Gpu:
        assert not self.is_amd
        return cast("Gpu", self.gpu)

    @property
    def local(self) -> float:
        return self.ranks / self.nodes

    @property
    def all_channels(self) -> int:
        return self.channels or self.graphs["Ring"].channels
