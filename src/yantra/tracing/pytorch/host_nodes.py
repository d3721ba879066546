"""A node of a host trace."""

from __future__ import annotations

from msgspec import Raw, Struct

from yantra.tracing.pytorch.linked import Attr

ROOT_NAMES = frozenset(
    f"[pytorch|profiler|execution_{kind}|{scope}]"
    for kind in ("graph", "trace")
    for scope in ("process", "thread")
)


class HostNode(Struct, gc=False):
    """A node; `parent` is a host id. 0 means none in `rf_id`, `fw_tid`."""

    id: int
    name: str
    parent: int
    attrs: list[Attr]
    inputs: Raw
    outputs: Raw
    rf_id: int = 0
    tid: int = 0
    fw_tid: int = 0
    seq_id: int = -1
    scope: int = 0

    @property
    def is_root(self) -> bool:
        return self.name in ROOT_NAMES
