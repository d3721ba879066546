"""The matrix of `nvidia-smi topo -m`: GPUs behind switches, with NICs and without."""

from __future__ import annotations

from tests.nvidia_topology import matrix
from yantra.collectives.nccl import topology

FORM = "text"


def seeds() -> list[bytes]:
    return [matrix(*one).encode() for one in ((8, 8, 18), (4, 2, 12), (2, 0, 6))]


def read(data: bytes) -> object:
    found = topology.parse(data.decode(errors="replace"), "topo.txt")
    return [found.nvlinks(), len(found.nics)]
