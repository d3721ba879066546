"""The Chakra schema (layout 0.0.4, still current) as objects, for building traces.

Source: MLCommons Chakra, protobuf package ChakraProtoMsg.
"""

from __future__ import annotations

import operator
import struct
from collections.abc import Iterable, Iterator, Mapping
from enum import IntEnum
from typing import NamedTuple

from yantra.base.errors import TraceError, did_you_mean


class NodeType(IntEnum):
    """What a node does."""

    INVALID = 0
    """No type; runs refuse it."""
    METADATA = 1
    """About the trace; takes no time."""
    MEM_LOAD = 2
    """Reads remote memory."""
    MEM_STORE = 3
    """Writes remote memory."""
    COMP = 4
    """Computes on device or host."""
    COMM_SEND = 5
    """Sends to a rank."""
    COMM_RECV = 6
    """Receives from a rank."""
    COMM_COLL = 7
    """Takes part in a collective."""


class NodeTraits(NamedTuple):
    word: str
    """What people call it."""
    lane: str
    """Where timelines draw it: compute, collective, send, receive or memory."""
    needs: tuple[str, ...]
    """Attributes that ASTRA-sim reads of every such node."""


NODE_TRAITS: Mapping[NodeType, NodeTraits] = {
    NodeType.COMP: NodeTraits("compute", "compute", ("is_cpu_op", "duration_ns")),
    NodeType.COMM_COLL: NodeTraits(
        "collective", "collective", ("is_cpu_op", "comm_type", "comm_size", "comm_priority")
    ),
    NodeType.COMM_SEND: NodeTraits(
        "send", "send", ("is_cpu_op", "comm_dst", "comm_size", "comm_tag")
    ),
    NodeType.COMM_RECV: NodeTraits(
        "receive", "receive", ("is_cpu_op", "comm_src", "comm_size", "comm_tag")
    ),
    NodeType.MEM_LOAD: NodeTraits("load", "memory", ("is_cpu_op", "tensor_size")),
    NodeType.MEM_STORE: NodeTraits("store", "memory", ("is_cpu_op", "tensor_size")),
}
"""Of all types but INVALID and METADATA, in the order of legends."""


def lane_of(type: int) -> str | None:
    """The lane of a type of node; None for one that does not run."""
    traits = NODE_TRAITS.get(type)  # type: ignore[call-overload]
    return None if traits is None else traits.lane


class CollectiveType(IntEnum):
    """The collective of a COMM_COLL node: values of `comm_type`."""

    ALL_REDUCE = 0
    """All get the sum of all."""
    REDUCE = 1
    """One gets the sum of all."""
    ALL_GATHER = 2
    """All get the parts of all."""
    GATHER = 3
    """One gets the parts of all."""
    SCATTER = 4
    """Each gets its part of one's data."""
    BROADCAST = 5
    """All get one's data."""
    ALL_TO_ALL = 6
    """Each has a part for each other."""
    REDUCE_SCATTER = 7
    """Each gets its part of the sum."""
    REDUCE_SCATTER_BLOCK = 8
    """With parts of one size, as MPI names it."""
    BARRIER = 9
    """None leaves before all entered; no data."""


class Kind(IntEnum):
    """Type of an attribute's value: its field number in the file."""

    NONE = 0
    DOUBLE = 3
    DOUBLE_LIST = 4
    FLOAT = 5
    FLOAT_LIST = 6
    INT32 = 7
    INT32_LIST = 8
    INT64 = 9
    INT64_LIST = 10
    UINT32 = 11
    UINT32_LIST = 12
    UINT64 = 13
    UINT64_LIST = 14
    SINT32 = 15
    SINT32_LIST = 16
    SINT64 = 17
    SINT64_LIST = 18
    FIXED32 = 19
    FIXED32_LIST = 20
    FIXED64 = 21
    FIXED64_LIST = 22
    SFIXED32 = 23
    SFIXED32_LIST = 24
    SFIXED64 = 25
    SFIXED64_LIST = 26
    BOOL = 27
    BOOL_LIST = 28
    STRING = 29
    STRING_LIST = 30
    BYTES = 31
    BYTES_LIST = 32

    @property
    def is_list(self) -> bool:
        """Whether it holds any number of values."""
        return self is not Kind.NONE and self % 2 == 0

    @property
    def element(self) -> Kind:
        """Kind of a list's value; a scalar kind's is itself."""
        return Kind(self - 1) if self.is_list else self


_LONGEST_SHOWN = 60

Scalar = bool | int | float | str | bytes
Value = Scalar | tuple[Scalar, ...] | None
AnyValue = Scalar | Iterable[Scalar] | None

DEFAULT_KINDS: Mapping[str, Kind] = {
    "comm_dst": Kind.INT32,
    "comm_priority": Kind.INT32,
    "comm_size": Kind.INT64,
    "comm_src": Kind.INT32,
    "comm_tag": Kind.INT32,
    "comm_type": Kind.INT64,
    "inputs": Kind.STRING_LIST,
    "involved_dim": Kind.BOOL_LIST,
    "is_cpu_op": Kind.BOOL,
    "num_ops": Kind.INT64,
    "op_type": Kind.STRING,
    "outputs": Kind.STRING_LIST,
    "pg_name": Kind.STRING,
    "tensor_loc": Kind.UINT32,
    "tensor_size": Kind.UINT64,
}
"""Kinds that PyTorch's converter and known generators write."""

INTEGER_RANGES: Mapping[Kind, tuple[int, int]] = {
    Kind.INT32: (-(2**31), 2**31 - 1),
    Kind.INT64: (-(2**63), 2**63 - 1),
    Kind.UINT32: (0, 2**32 - 1),
    Kind.UINT64: (0, 2**64 - 1),
    Kind.SINT32: (-(2**31), 2**31 - 1),
    Kind.SINT64: (-(2**63), 2**63 - 1),
    Kind.FIXED32: (0, 2**32 - 1),
    Kind.FIXED64: (0, 2**64 - 1),
    Kind.SFIXED32: (-(2**31), 2**31 - 1),
    Kind.SFIXED64: (-(2**63), 2**63 - 1),
}


class _AttributeFields(NamedTuple):
    name: str
    value: Value
    kind: Kind
    doc: str


class Attribute(_AttributeFields):
    """A named value of a node.

    Without `kind`: the name's usual one, else int64 for an int, double for a float, ... Lists are
    kept as tuples, FLOAT values as float32.

    >>> Attribute("comm_size", 1 << 20)
    Attribute('comm_size', 1048576, INT64)
    """

    __slots__ = ()

    def __new__(
        cls, name: str, value: AnyValue, kind: Kind | None = None, doc: str = ""
    ) -> Attribute:
        where = f"attribute {name}"
        checked_text(where, "name", name)
        checked_text(where, "doc", doc)
        chosen = _usual_kind(where, name, value) if kind is None else Kind(kind)
        return super().__new__(cls, name, as_kind(where, value, chosen), chosen, doc)

    def __repr__(self) -> str:
        doc = f", doc={self.doc!r}" if self.doc else ""
        return f"Attribute({self.name!r}, {self.value!r}, {self.kind.name}{doc})"


class IOInfo(NamedTuple):
    """Tensors a node reads or writes: three texts, usually Python lists."""

    values: str = ""
    """Tensor ids."""
    shapes: str = ""
    """Shapes."""
    types: str = ""
    """Types."""


class Metadata(NamedTuple):
    """A trace about itself."""

    version: str = ""
    """The writer's schema version."""
    attributes: tuple[Attribute, ...] = ()
    """Other statements."""
    foreign: bytes = b""
    """Raw fields unknown to the schema."""


class Node:
    """An operation; freely changeable until it is in a `Trace`.

    `data_deps`, `ctrl_deps`: ids that must finish first. Times: whole us. Attributes:
    `node["comm_size"] = 4096`, or `node.set` to choose the kind. Of a repeated name the first
    counts.
    """

    __slots__ = (
        "attributes",
        "ctrl_deps",
        "data_deps",
        "duration_micros",
        "foreign",
        "id",
        "inputs",
        "name",
        "outputs",
        "start_micros",
        "type",
    )

    def __init__(
        self,
        id: int,
        name: str = "",
        type: NodeType | int = NodeType.COMP,
        duration_micros: int = 0,
        data_deps: Iterable[int] = (),
        ctrl_deps: Iterable[int] = (),
        attributes: Mapping[str, AnyValue] | Iterable[Attribute] = (),
        *,
        start_micros: int = 0,
        inputs: IOInfo | None = None,
        outputs: IOInfo | None = None,
        foreign: bytes = b"",
    ) -> None:
        self.id = id
        """Number in its trace, below 2^64."""
        self.name = name
        """Its name."""
        self.type = _node_type(type)
        """What it does."""
        self.duration_micros = duration_micros
        """Recorded duration in whole us."""
        self.data_deps = list(data_deps)
        """Ids whose data it needs."""
        self.ctrl_deps = list(ctrl_deps)
        """Ids that must finish first for another reason."""
        self.start_micros = start_micros
        """Recorded start in whole us."""
        self.inputs = inputs
        """What it reads."""
        self.outputs = outputs
        """What it writes."""
        self.attributes: list[Attribute] = (
            [Attribute(name, value) for name, value in attributes.items()]
            if isinstance(attributes, Mapping)
            else list(attributes)
        )
        """Other facts, by name."""
        self.foreign = foreign
        """Raw fields unknown to the schema."""

    @property
    def label(self) -> str:
        """Its name in messages."""
        return f"node {self.id} {self.name!r}"

    def attribute(self, name: str) -> Attribute | None:
        """The attribute that counts for `name`."""
        return next((item for item in self.attributes if item.name == name), None)

    def get(self, name: str, default: Value = None) -> Value:
        """Value of attribute `name`, or `default`."""
        found = self.attribute(name)
        return default if found is None else found.value

    def set(self, name: str, value: AnyValue, kind: Kind | None = None, doc: str = "") -> None:
        """Set `name`, in place if present; `kind` as in `Attribute`."""
        new = Attribute(name, value, kind, doc)
        for place, item in enumerate(self.attributes):
            if item.name == name:
                self.attributes[place] = new
                return
        self.attributes.append(new)

    def depends_on(self, *parents: Node | int, control: bool = False) -> Node:
        """Make this wait for `parents` (nodes or ids); return it."""
        deps = self.ctrl_deps if control else self.data_deps
        deps.extend(parent.id if isinstance(parent, Node) else parent for parent in parents)
        return self

    def __getitem__(self, name: str) -> Value:
        found = self.attribute(name)
        if found is None:
            hint = did_you_mean(name, [item.name for item in self.attributes])
            raise TraceError(f"{self.label}: has no attribute {name}{hint}")
        return found.value

    def __setitem__(self, name: str, value: AnyValue) -> None:
        self.set(name, value)

    def __delitem__(self, name: str) -> None:
        self[name]
        self.attributes = [item for item in self.attributes if item.name != name]

    def __contains__(self, name: object) -> bool:
        return any(item.name == name for item in self.attributes)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Node):
            return NotImplemented
        return all(getattr(self, field) == getattr(other, field) for field in Node.__slots__)

    __hash__ = None  # type: ignore[assignment]  # nodes change

    def __repr__(self) -> str:
        return f"Node({', '.join(self._shown())})"

    def _shown(self) -> Iterator[str]:
        yield f"{self.id}, {_short(self.name)}, {getattr(self.type, 'name', self.type)}"
        for field in ("duration_micros", "data_deps", "ctrl_deps", "start_micros"):
            if value := getattr(self, field):
                yield f"{field}={_short(value)}"
        for side in ("inputs", "outputs"):
            if (value := getattr(self, side)) is not None:
                yield f"{side}={_short(value)}"
        if self.attributes:
            pairs = ", ".join(f"{item.name}={_short(item.value)}" for item in self.attributes)
            yield f"{{{pairs}}}"


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _LONGEST_SHOWN else text[: _LONGEST_SHOWN - 3] + "..."


def whole_number(where: str, field: str, value: object, low: int, high: int) -> int:
    """`value` as an int from `low` to `high`, else TraceError."""
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise TraceError(f"{where}: {field} must be a whole number, got {value!r}") from None
    if not low <= number <= high:
        raise TraceError(f"{where}: {field} must be from {low} to {high}, got {number}")
    return number


def checked_text(where: str, field: str, value: object) -> str:
    """`value` as text for UTF-8, else TraceError."""
    if not isinstance(value, str):
        raise TraceError(f"{where}: {field} must be text, got {value!r}")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise TraceError(f"{where}: {field} {value!r} cannot be written as UTF-8") from None
    return value


def _node_type(value: NodeType | int) -> NodeType | int:
    # A file may have numbers unknown to the schema.
    try:
        return NodeType(value)
    except ValueError:
        return value


def _usual_kind(where: str, name: str, value: AnyValue) -> Kind:
    if name in DEFAULT_KINDS:
        return DEFAULT_KINDS[name]
    if value is None:
        return Kind.NONE
    if isinstance(value, (bool, int, float, str, bytes)):
        return _scalar_kind(value)
    try:
        first = next(iter(value), None)
    except TypeError:
        kind = type(value).__name__
        raise TraceError(f"{where}: a value of type {kind} cannot be stored") from None
    if first is None:
        raise TraceError(f"{where}: an empty list needs a kind, such as Kind.INT64_LIST")
    return Kind(_scalar_kind(first) + 1)


def _scalar_kind(value: object) -> Kind:
    for python_type, kind in (
        (bool, Kind.BOOL),
        (int, Kind.INT64),
        (float, Kind.DOUBLE),
        (str, Kind.STRING),
    ):
        if isinstance(value, python_type):
            return kind
    return Kind.BYTES


def as_kind(where: str, value: AnyValue, kind: Kind) -> Value:
    """`value` as kept for `kind`, else TraceError."""
    if kind is Kind.NONE:
        if value is not None:
            raise TraceError(f"{where}: kind NONE holds no value, got {value!r}")
        return None
    if not kind.is_list:
        return _as_scalar(where, value, kind)
    if value is None or isinstance(value, (bool, int, float, str, bytes)):
        raise TraceError(f"{where}: expected a list of {_plain(kind.element)}, got {value!r}")
    return tuple(_as_scalar(where, item, kind.element) for item in value)


def _as_scalar(where: str, value: object, kind: Kind) -> Scalar:
    if kind in INTEGER_RANGES:
        low, high = INTEGER_RANGES[kind]
        return whole_number(where, _plain(kind), value, low, high)
    if kind in (Kind.DOUBLE, Kind.FLOAT):
        return _as_float(where, value, kind)
    expected = {Kind.BOOL: bool, Kind.STRING: str, Kind.BYTES: bytes}[kind]
    if not isinstance(value, expected):
        raise TraceError(f"{where}: expected {_plain(kind)}, got {value!r}")
    if kind is Kind.STRING:
        checked_text(where, "value", value)
    return value  # type: ignore[return-value]


def _as_float(where: str, value: object, kind: Kind) -> float:
    if isinstance(value, (str, bytes)):
        raise TraceError(f"{where}: expected {_plain(kind)}, got {value!r}")
    try:
        number = float(value)  # type: ignore[arg-type]
        if kind is Kind.FLOAT:
            (number,) = struct.unpack("<f", struct.pack("<f", number))
    except (TypeError, ValueError, OverflowError):
        raise TraceError(f"{where}: expected {_plain(kind)}, got {value!r}") from None
    return number


def _plain(kind: Kind) -> str:
    return kind.name.lower()
