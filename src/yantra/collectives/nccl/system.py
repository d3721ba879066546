"""What NCCL's tuner knows of a communicator: its ranks, and the graphs that NCCL found for it.

Graphs are what `NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=GRAPH` prints ("Pattern 4, ..., nChannels 16, bw
24.000000/24.000000, type NVL/PXN, sameChannels 1"). Trade-off: Yantra does not search them itself,
so a system needs such lines. Source: NCCL 2.30.7, src/graph/search.cc, `ncclTopoPrintGraph`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from yantra.base.records import Record
from yantra.collectives.nccl.constants import AnyGpu, Cpu, Gpu


class Graph(Record):
    """The channels of one algorithm.

    `intra` and `inter` are GB/s (1e9) per channel inside a node and between nodes; `nvlink` is
    whether paths inside a node are NVLink (else PCI); `inter_latency_us` is that of the network
    adapter; `same_channels` is whether all channels take the same path.
    """

    channels: int
    intra: float
    inter: float
    nvlink: bool = True
    inter_latency_us: float = 0.0
    same_channels: bool = True


class System(Record):
    """A communicator: ranks, nodes, GPUs, CPUs and the graphs by algorithm.

    `channels` are those of the communicator, by default the ring's. `ll128` is whether NCCL has
    LL128 on: paths in a node up to NVLink, between nodes up to PXB (Hopper on: PXN). `nvls` and
    `collnet` are whether NVLink SHARP and CollNet (in-network reduction) are on; `heads` is how
    many ranks of a node have an adapter of CollNet, by default all. `plain_tree` is a tree
    of which all traffic enters and leaves at one GPU (pattern 3). `x86` is the CPU's architecture.
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
        """The GPU, where it is NVIDIA's."""
        assert not self.is_amd
        return cast("Gpu", self.gpu)

    @property
    def local(self) -> float:
        """Ranks per node."""
        return self.ranks / self.nodes

    @property
    def all_channels(self) -> int:
        """Channels of the communicator."""
        return self.channels or self.graphs["Ring"].channels
