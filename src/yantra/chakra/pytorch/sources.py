"""What `convert` reads: a linked trace, or a host trace on its own, told apart by their fields."""

from __future__ import annotations

from typing import Any

import msgspec

from yantra.chakra.pytorch import host, json_input, linked_file
from yantra.chakra.pytorch.kineto import KinetoTrace
from yantra.chakra.pytorch.link.join import link
from yantra.chakra.pytorch.linked import Linked
from yantra.errors import TraceError

_WHAT = "linked trace or PyTorch host execution trace"


class _Cat(msgspec.Struct, gc=False):
    cat: Any = None


class _Marks(msgspec.Struct):
    yantra: msgspec.Raw = msgspec.Raw()


class _Nodes(msgspec.Struct):
    nodes: list[_Cat] | None = None


def load(path: str, rank: int = 0) -> Linked:
    """Read the trace of one rank; `rank` is for a host trace, which does not tell its own.

    Raises TraceError when the file is neither.
    """
    data = json_input.load(path)
    if json_input.decode(data, _Marks, path, _WHAT).yantra:
        return linked_file.parse(data, path)
    nodes = json_input.decode(data, _Nodes, path, _WHAT).nodes or []
    if any(node.cat is not None for node in nodes):
        raise TraceError(
            f"{path}: linked by upstream Chakra, which does not keep who waits for whom; link the "
            "host trace and the device trace again with `yantra chakra link`, or convert with "
            "--compat upstream"
        )
    return link(host.parse(data, path), _no_device_trace(), rank=rank, where=path)


def _no_device_trace() -> KinetoTrace:
    return KinetoTrace(cpu=[], calls=[], device=[], syncs=[], forward=[], backward=[])
