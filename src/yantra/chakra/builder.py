"""`TraceBuilder`: writes a trace operation by operation."""

from __future__ import annotations

from collections.abc import Iterable

from yantra.base.errors import ConfigError, TraceError, did_you_mean, expected_got
from yantra.chakra.schema import Attribute, CollectiveType, Metadata, Node, NodeType
from yantra.chakra.trace import Trace

After = Node | int | Iterable[Node | int]


class TraceBuilder:
    """Collects nodes with ascending ids; `build()` makes the trace.

    Methods that add a node return it, to be another's `after`, to get attributes, or to wait:
    `node.depends_on(other)`.

    >>> step = TraceBuilder()
    >>> forward = step.compute("forward", num_ops=10**12, tensor_size=2**30)
    >>> _ = step.collective(CollectiveType.ALL_REDUCE, 2**20, after=forward)
    >>> step.build()
    <Trace of 2 nodes: 1 COMP, 1 COMM_COLL>
    """

    def __init__(
        self,
        *,
        rank: int | None = None,
        first_id: int = 0,
        version: str = "",
        attributes: Iterable[Attribute] = (),
    ) -> None:
        """`rank`: own end of sends and receives, or None."""
        self.rank = rank
        """The trace's rank, or None."""
        self.metadata = Metadata(version, tuple(attributes))
        """What the trace says about itself."""
        self.nodes: list[Node] = []
        """Nodes so far, in order."""
        self._next_id = first_id
        self._ids: set[int] = set()

    def add(self, node: Node, after: After = ()) -> Node:
        """Add a node; later ids are above its own."""
        if node.id in self._ids:
            raise TraceError(f"{node.label}: the id is taken by another node of this trace")
        self._ids.add(node.id)
        self._next_id = max(self._next_id, node.id + 1)
        self.nodes.append(node)
        return node.depends_on(*([after] if isinstance(after, (Node, int)) else after))

    def compute(
        self,
        name: str = "",
        *,
        duration_micros: int = 0,
        num_ops: int | None = None,
        tensor_size: int | None = None,
        cpu: bool = False,
        after: After = (),
    ) -> Node:
        """Add a computation, by duration or by operations and bytes moved."""
        return self._new(
            NodeType.COMP,
            name or "compute",
            after,
            duration_micros,
            is_cpu_op=cpu,
            num_ops=num_ops,
            tensor_size=tensor_size,
        )

    def collective(
        self,
        type: CollectiveType | str,
        size_bytes: int,
        *,
        name: str = "",
        group: str | None = None,
        involved_dim: Iterable[bool] | None = None,
        priority: int | None = None,
        duration_micros: int = 0,
        after: After = (),
    ) -> Node:
        """Add a collective of `size_bytes` per rank, over all or `group`.

        `type` is a `CollectiveType` or its name ("all_reduce"); else ConfigError.
        """
        kind = _collective_type(type)
        return self._new(
            NodeType.COMM_COLL,
            name or kind.name.lower(),
            after,
            duration_micros,
            is_cpu_op=False,
            comm_type=int(kind),
            comm_size=size_bytes,
            pg_name=group,
            involved_dim=None if involved_dim is None else tuple(involved_dim),
            comm_priority=priority,
        )

    def send(
        self,
        to: int,
        size_bytes: int,
        *,
        tag: int = 0,
        name: str = "",
        group: str | None = None,
        after: After = (),
    ) -> Node:
        """Add a send; the receive needs the same tag and size.

        A rank sends one at a time per `group`.
        """
        return self._new(
            NodeType.COMM_SEND,
            name or f"send to {to}",
            after,
            is_cpu_op=False,
            comm_src=self.rank,
            comm_dst=to,
            comm_size=size_bytes,
            comm_tag=tag,
            pg_name=group,
        )

    def recv(
        self, source: int, size_bytes: int, *, tag: int = 0, name: str = "", after: After = ()
    ) -> Node:
        """Add a receive from rank `source`."""
        return self._new(
            NodeType.COMM_RECV,
            name or f"receive from {source}",
            after,
            is_cpu_op=False,
            comm_src=source,
            comm_dst=self.rank,
            comm_size=size_bytes,
            comm_tag=tag,
        )

    def memory_load(self, size_bytes: int, *, name: str = "", after: After = ()) -> Node:
        """Add a load from remote memory."""
        return self._new(
            NodeType.MEM_LOAD, name or "load", after, is_cpu_op=False, tensor_size=size_bytes
        )

    def memory_store(self, size_bytes: int, *, name: str = "", after: After = ()) -> Node:
        """Add a store to remote memory."""
        return self._new(
            NodeType.MEM_STORE, name or "store", after, is_cpu_op=False, tensor_size=size_bytes
        )

    def build(self) -> Trace:
        """Make the trace; the builder can go on."""
        return Trace(self.nodes, self.metadata)

    def __repr__(self) -> str:
        return f"<TraceBuilder with {len(self.nodes)} nodes>"

    def _new(
        self,
        type: NodeType,
        name: str,
        after: After,
        duration_micros: int = 0,
        **attributes: bool | int | str | tuple[bool, ...] | None,
    ) -> Node:
        given = {key: value for key, value in attributes.items() if value is not None}
        node = Node(self._next_id, name, type, duration_micros, attributes=given)
        return self.add(node, after)


def _collective_type(type: CollectiveType | str) -> CollectiveType:
    try:
        return CollectiveType[type.upper()] if isinstance(type, str) else CollectiveType(type)
    except (KeyError, ValueError):
        names = [known.name.lower() for known in CollectiveType]
        problem = expected_got(f"one of {', '.join(names)}", type)
        raise ConfigError("type", problem + did_you_mean(str(type), names)) from None
