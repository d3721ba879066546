"""`TemplateBuilder`: a long trace made of copies of short ones.

A training step repeats the same few passes for every micro-batch. Each pass is built once, as a
block; `stamp` copies it with new ids, tied to what came before. Nodes of copies are written when
the file is asked for; for a run they are put together from the blocks, without a file.
"""

from __future__ import annotations

from collections.abc import Iterable

from yantra import _core
from yantra.base.errors import TraceError
from yantra.chakra.schema import Metadata
from yantra.chakra.trace import Trace

Edge = tuple[int, int, bool]
"""(position in the block, id of an earlier node, whether it is a control dependency)."""


class Copies:
    """A long trace made of copies, to which nothing is added any more."""

    def __init__(self, native: _core.Stamper) -> None:
        """Take over what was stamped."""
        self._native = native

    def to_bytes(self) -> bytes:
        """Return the content of the .et file."""
        return self._native.bytes()

    def graph(self, *, kernels: bool = False) -> _core.Graph | None:
        """Return what decoding the bytes would give; None where only that can tell.

        `kernels` is that of `yantra.chakra.graphs.read_graph`.
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
        """Add a copy of `block`; return the id of its first node, from which the others count.

        The nodes of a block have the ids 0, 1, ... in this order and depend on earlier ones. Each
        edge adds a dependency of a node of the copy on a node already here. Attributes `microbatch`
        become `microbatch` unless that is None; `tag_base` is added to each `comm_tag`. Raises
        TraceError for a block or an edge that does not fit; nothing is added then.
        """
        try:
            native = [_core.StampEdge(*edge) for edge in edges]
            return self._native.stamp(block.native, native, microbatch, tag_base)
        except (ValueError, TypeError) as error:
            reason = error if isinstance(error, ValueError) else "numbers from 0 to 2^63 - 1 only"
            raise TraceError(f"stamp: {reason}") from None

    def to_bytes(self) -> bytes:
        """Return the content of the .et file."""
        return self._native.bytes()

    def build(self) -> Trace:
        """Make the trace; the builder can go on and build a longer one."""
        return Trace.from_bytes(self.to_bytes())

    def __len__(self) -> int:
        return len(self._native)

    def __repr__(self) -> str:
        return f"<TemplateBuilder with {len(self)} nodes>"
