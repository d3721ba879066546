"""Small synthetic traces: every node type, a dependency, every collective.

`compat="upstream"` is upstream's generator byte for byte, which no simulator runs.

Source: MLCommons Chakra, the generator of 2026.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import TYPE_CHECKING, Literal, NamedTuple

from yantra.base.errors import ConfigError, did_you_mean, expected_got
from yantra.base.output import make_folder
from yantra.chakra.schema import (
    AnyValue,
    Attribute,
    CollectiveType,
    Kind,
    Metadata,
    Node,
    NodeType,
)
from yantra.chakra.trace import Trace

if TYPE_CHECKING:
    from pathlib import Path  # costs 3 ms, seldom needed

_COLLECTIVES = (
    CollectiveType.ALL_REDUCE,
    CollectiveType.ALL_TO_ALL,
    CollectiveType.ALL_GATHER,
    CollectiveType.REDUCE_SCATTER,
    CollectiveType.BROADCAST,
    CollectiveType.BARRIER,
)
_VERSION = "1.0.0"


class Sizes(NamedTuple):
    """What generated nodes do: microseconds and bytes."""

    runtime_micros: int = 5
    tensor_bytes: int = 1024
    comm_bytes: int = 65536


class Case(NamedTuple):
    name: str
    traces: list[Trace]

    def write(self, folder: Path) -> None:
        make_folder(folder)
        for rank, trace in enumerate(self.traces):
            trace.write(folder / f"{self.name}.{rank}.et")


Rank = int
Body = Callable[[Sizes, Rank, int], list[Node]]  # nodes of a rank, ids from 0


def generate(
    num_npus: int = 64,
    sizes: Sizes | None = None,
    *,
    only: Collection[str] = (),
    compat: Literal["upstream"] | None = None,
) -> Iterator[Case]:
    """Yield cases in upstream's order, each with `num_npus` traces.

    `only`: names, empty for all. Raises ConfigError for an unknown name and counts out of range.
    """
    sizes = sizes or Sizes()
    _check(num_npus, sizes)
    cases = dict(_cases(upstream=compat == "upstream", ranks=num_npus))
    for name in only:
        if name not in cases:
            raise ConfigError("generate", f"no case is named {name}{did_you_mean(name, cases)}")
    next_id = 0
    for name, body in cases.items():
        ranks = [body(sizes, rank, num_npus) for rank in range(num_npus)]
        if compat == "upstream":
            next_id = _renumber(ranks, next_id)
        if name in only or not only:
            yield Case(name, [Trace(nodes, Metadata(_VERSION)) for nodes in ranks])


def _cases(*, upstream: bool, ranks: int) -> Iterator[tuple[str, Body]]:
    yield "one_metadata_node_all_types", _all_types
    yield "one_remote_mem_load_node", _memory(NodeType.MEM_LOAD)
    yield "one_remote_mem_store_node", _memory(NodeType.MEM_STORE)
    yield "one_comp_node", _one_compute
    yield "two_comp_nodes_independent", _two_independent
    yield "two_comp_nodes_dependent", _two_dependent
    for type in _COLLECTIVES:
        yield type.name, _collective(type)
    if upstream:
        yield "one_comm_send_node", _memory(NodeType.COMM_SEND)
        yield "one_comm_recv_node", _memory(NodeType.COMM_RECV)
    elif ranks > 1:
        yield "send_recv_ring", _ring


def _check(num_npus: int, sizes: Sizes) -> None:
    for name, value in {"num_npus": num_npus, **sizes._asdict()}.items():
        least = 1 if name == "num_npus" else 0
        if not least <= value < 2**63:
            expected = f"a whole number from {least} to 2^63 - 1"
            raise ConfigError(f"generate: {name}", expected_got(expected, value))


def _renumber(ranks: list[list[Node]], next_id: int) -> int:
    for nodes in ranks:
        for node in nodes:
            node.id += next_id
            node.data_deps = [parent + next_id for parent in node.data_deps]
        next_id += len(nodes)
    return next_id


def _node(id: int, type: NodeType, micros: int = 0, name: str = "", **values: AnyValue) -> Node:
    attributes = {"is_cpu_op": False} | values
    return Node(id, name or f"{type.name}_NODE", type, micros, attributes=attributes)


def _memory(type: NodeType) -> Body:
    return lambda sizes, rank, ranks: [_node(0, type, tensor_size=sizes.tensor_bytes)]


def _one_compute(sizes: Sizes, rank: int, ranks: int) -> list[Node]:
    return [_node(0, NodeType.COMP, sizes.runtime_micros)]


def _two_independent(sizes: Sizes, rank: int, ranks: int) -> list[Node]:
    return [_node(id, NodeType.COMP, sizes.runtime_micros) for id in range(2)]


def _two_dependent(sizes: Sizes, rank: int, ranks: int) -> list[Node]:
    first, second = _two_independent(sizes, rank, ranks)
    return [first, second.depends_on(first)]


def _collective(type: CollectiveType) -> Body:
    def body(sizes: Sizes, rank: int, ranks: int) -> list[Node]:
        size = 0 if type is CollectiveType.BARRIER else sizes.comm_bytes
        kind = NodeType.COMM_COLL
        return [_node(0, kind, name=type.name, comm_type=int(type), comm_size=size)]

    return body


def _ring(sizes: Sizes, rank: int, ranks: int) -> list[Node]:
    to, source = (rank + 1) % ranks, (rank - 1) % ranks
    size = sizes.comm_bytes
    send = _node(0, NodeType.COMM_SEND, comm_src=rank, comm_dst=to, comm_size=size, comm_tag=0)
    recv = _node(1, NodeType.COMM_RECV, comm_src=source, comm_dst=rank, comm_size=size, comm_tag=0)
    return [send, recv]


_WHOLE = (9876543210, 1234567890)
_SMALL = (12345, 23456)
_TEXTS = tuple(str(number) for number in range(12345, 12355))
_EVERY_TYPE: dict[str, tuple[AnyValue, AnyValue]] = {
    "double": (1.2345, (1.2345, 2.3456)),
    "float": (1.2345, (1.2345, 2.3456)),
    "int32": (_SMALL[0], _SMALL),
    "int64": (_WHOLE[0], _WHOLE),
    "uint32": (_SMALL[0], _SMALL),
    "uint64": (_WHOLE[0], _WHOLE),
    "sint32": (-_SMALL[0], (_SMALL[0], -_SMALL[1])),
    "sint64": (-_WHOLE[0], (_WHOLE[0], -_WHOLE[1])),
    "fixed32": (_SMALL[0], _SMALL),
    "fixed64": (_WHOLE[0], _WHOLE),
    "sfixed32": (-_SMALL[0], (_SMALL[0], -_SMALL[1])),
    "sfixed64": (-_WHOLE[0], (_WHOLE[0], -_WHOLE[1])),
    "bool": (True, (True, False) * 5),
    "string": (_TEXTS[0], _TEXTS),
    "bytes": (_TEXTS[0].encode(), tuple(text.encode() for text in _TEXTS)),
}
_UNDOCUMENTED = ("fixed32", "fixed64", "sfixed32", "sfixed64", "bytes")


def _all_types(sizes: Sizes, rank: int, ranks: int) -> list[Node]:
    attributes = []
    for name, (scalar, values) in _EVERY_TYPE.items():
        doc = "" if name in _UNDOCUMENTED else name
        attributes.append(Attribute(name, scalar, Kind[name.upper()], doc))
        attributes.append(Attribute(f"{name}_list", values, Kind[f"{name.upper()}_LIST"]))
    return [Node(0, "METADATA_NODE", NodeType.METADATA, attributes=attributes)]
