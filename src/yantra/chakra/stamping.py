"""`TemplateBuilder`: a long trace of copies of short ones.

Each pass of a step is built once, as a block; `stamp` copies it with new ids, tied to earlier
nodes.
"""

from __future__ import annotations

from collections.abc import Iterable

from yantra import _core
from yantra.base.errors import TraceError
from yantra.chakra.schema import Metadata
from yantra.chakra.trace import Trace

Edge = tuple[int, int, bool]
"""(position in the block, id of an earlier node, is a control dependency)."""


class Copies:
    def __init__(self, native: _core.Stamper) -> None:
        self._native = native

    def to_bytes(self) -> bytes:
        return self._native.bytes()

    def graph(self, *, kernels: bool = False) -> _core.Graph | None:
        """What decoding the bytes would give; None where only that can tell.

        `kernels` as in `yantra.chakra.graphs.read_graph`.
        """
        return self._native.graph(kernels)

    def __len__(self) -> int:
        return len(self._native)

    def __repr__(self) -> str:
        return f"<Copies with {len(self)} nodes>"


class TemplateBuilder:
    """Collects copies of blocks; ids count from 0 in the order of stamping.

    >>> from yantra.chakra import CollectiveType, TraceBuilder
    >>> layer = TraceBuilder()
    >>> _ = layer.collective(CollectiveType.ALL_REDUCE, 8, after=layer.compute(num_ops=9))
    >>> step = TemplateBuilder()
    >>> first = step.stamp(layer.build())
    >>> step.stamp(layer.build(), [(0, first + 1, False)])
    2
    >>> step.build()
    <Trace of 4 nodes: 2 COMP, 2 COMM_COLL>
    """

    def __init__(self, metadata: Metadata | None = None) -> None:
        self._native = _core.Stamper(Trace(metadata=metadata).native)

    def stamp(
        self,
        block: Trace,
        edges: Iterable[Edge] = (),
        *,
        microbatch: int | None = None,
        tag_base: int = 0,
    ) -> int:
        """Add a copy of `block`; return its first node's id.

        A block's nodes have ids 0, 1, ... and depend on earlier ones. An edge makes a node of the
        copy depend on one already here. `microbatch` replaces attributes of that name unless None;
        `tag_base` is added to each `comm_tag`. Raises TraceError, adding nothing, for a block or
        edge that does not fit.
        """
        try:
            native = [_core.StampEdge(*edge) for edge in edges]
            return self._native.stamp(block.native, native, microbatch, tag_base)
        except (ValueError, TypeError) as error:
            reason = error if isinstance(error, ValueError) else "numbers from 0 to 2^63 - 1 only"
            raise TraceError(f"stamp: {reason}") from None

    def to_bytes(self) -> bytes:
        """Content of the .et file."""
        return self._native.bytes()

    def build(self) -> Trace:
        """Make the trace; the builder can go on."""
        return Trace.from_bytes(self.to_bytes())

    def __len__(self) -> int:
        return len(self._native)

    def __repr__(self) -> str:
        return f"<TemplateBuilder with {len(self)} nodes>"
