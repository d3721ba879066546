"""A compiled program of XLA (HloProto): what each instruction computes, moves and sends.

Trade-off: only products, convolutions and known library calls have FLOPs; a fusion has those of its
inside and the bytes of its outside.

Source: openxla/xla, hlo.proto, xla_data.proto and shape_util; backend_config of gemm_rewriter.
"""

from __future__ import annotations

import json
from functools import cached_property
from math import prod
from typing import Any

from msgspec import Struct, field

from yantra.base.wire import Span, WireError, fields, numbers, signed
from yantra.tracing.sources import hlo_groups as groups
from yantra.tracing.sources.hlo_groups import Groups

_BITS = {1: 8, 2: 8, 3: 16, 4: 32, 5: 64, 6: 8, 7: 16, 8: 32, 9: 64, 10: 16, 11: 32, 12: 64}
_BITS |= {15: 64, 16: 16, 18: 128, 19: 8, 20: 8, 21: 4, 22: 4, 23: 8, 24: 8, 25: 8, 26: 2, 27: 2}
_BITS |= {28: 8, 29: 8, 30: 1, 31: 1, 32: 4, 33: 8, 13: 0, 14: 0, 17: 0}
COLLECTIVES = (
    "all-reduce",
    "all-gather",
    "reduce-scatter",
    "ragged-all-to-all",
    "all-to-all",
    "collective-permute",
    "collective-broadcast",
)
CONTAINERS = frozenset({"while", "conditional"})
"""Instructions whose events enclose those of their computations."""
_OF_REPLICAS = ("all-reduce", "all-gather", "reduce-scatter")  # with a channel and no flag
_PRODUCTS = ("__cublas$", "__cublaslt", "__triton_gemm", "__onednn$matmul")
_ATTENTION = "te_fused_attn_"
_ATTENDED = (
    "input_batch",
    "attn_heads",
    "q_max_seqlen",
    "kv_max_seqlen",
    "qk_head_dim",
    "v_head_dim",
    "mask_type",
)
_CAUSAL = 2  # masks from here on hide half, TransformerEngine's NVTE_Mask_Type


class Shape(Struct, frozen=True):
    """An array's element type (`xla_data.proto`) and sizes, or a tuple's parts."""

    type: int = 0
    dims: tuple[int, ...] = ()
    parts: tuple[Shape, ...] = ()

    @property
    def elements(self) -> int:
        return prod(self.dims)

    @property
    def bytes(self) -> int:
        """All parts, each rounded up to whole bytes; 0 for types unknown here."""
        if self.parts:
            return sum(part.bytes for part in self.parts)
        return -(-self.elements * _BITS.get(self.type, 0) // 8)

    def first(self) -> Shape:
        return self.parts[0].first() if self.parts else self


class Instruction(Struct, gc=False):
    """An instruction; `operands`, `controls` and `calls` are ids."""

    id: int = 0
    name: str = ""
    opcode: str = ""
    shape: Shape = Shape()
    operands: list[int] = field(default_factory=list)
    controls: list[int] = field(default_factory=list)
    calls: list[int] = field(default_factory=list)
    channel: int = 0
    is_global: bool = False
    target: str = ""
    config: bytes = b""
    dot: Span | None = None
    convolution: Span | None = None
    index: int = 0  # of a tuple's part, or of a parameter
    written: groups.Written = field(default_factory=groups.Written)


class Computation(Struct):
    id: int = 0
    name: str = ""
    root: int = 0
    ids: list[int] = field(default_factory=list)


class Collective(Struct):
    """What an instruction sends: operand and result bytes, and `groups` or `pairs` of partitions.

    `bytes`: all operands, of an all-gather the result. `form`: how groups are written.
    """

    kind: str
    operand_bytes: int
    result_bytes: int
    groups: Groups
    pairs: list[tuple[int, int]]
    form: str

    @property
    def bytes(self) -> int:
        return self.result_bytes if self.kind == "all-gather" else self.operand_bytes


class Program(Struct, dict=True):
    """A module: its instructions by id, and where they run."""

    data: bytes
    id: int = 0
    name: str = ""
    entry: str = ""
    replicas: int = 1
    partitions: int = 1
    devices: list[int] = field(default_factory=list)  # by replica * partitions + partition
    computations: dict[int, Computation] = field(default_factory=dict)
    instructions: dict[int, Instruction] = field(default_factory=dict)

    @cached_property
    def by_name(self) -> dict[str, Instruction]:
        return {one.name: one for one in self.instructions.values()}

    @cached_property
    def home(self) -> dict[int, int]:
        """The computation of an instruction."""
        return {id: one.id for one in self.computations.values() for id in one.ids}

    def operands(self, one: Instruction) -> list[Instruction]:
        return [self.instructions[id] for id in one.operands if id in self.instructions]

    def called(self, one: Instruction) -> list[Instruction]:
        """The instructions of the computations that it calls."""
        found = (self.computations.get(id) for id in one.calls)
        ids = (id for computation in found if computation for id in computation.ids)
        return [self.instructions[id] for id in ids]

    def trips(self, one: Instruction) -> int | None:
        """How often a loop runs, if the compiler knew."""
        known = _json(one.config).get("known_trip_count")
        count = str(known.get("n")) if isinstance(known, dict) else ""
        return int(count) if count.isdecimal() else None

    def bytes(self, one: Instruction) -> int:
        """Bytes of operands and result: what a kernel that fuses all inside must move."""
        return sum(other.shape.bytes for other in self.operands(one)) + one.shape.bytes

    def flops(self, one: Instruction, depth: int = 0) -> int | None:
        """FLOPs of products and convolutions in it, padding included; None: a library unknown here.

        2 x result x contracted sizes; 2 x result x window x input features of a group. Attention
        has two products forward and five backward, half of each under a causal mask.
        """
        if one.opcode == "dot":
            return _product(self, one, *_dot_dims(self.data, one))
        if one.opcode == "convolution":
            return _convolution(self, one, one.target)
        if one.opcode == "custom-call":
            return _library(self, one)
        if one.opcode in ("fusion", "call", "async-start", "map") and depth < _DEEPEST:
            parts = [self.flops(inner, depth + 1) for inner in self.called(one)]
            return None if None in parts else sum(part or 0 for part in parts)
        return 0

    def collective(self, one: Instruction) -> Collective | None:
        """The collective that it is or starts, None if it is none or only ends one."""
        if one.opcode == "async-start":
            inner = (self.collective(other) for other in self.called(one))
            return next((found for found in inner if found), None)
        kind = next((kind for kind in COLLECTIVES if one.opcode.startswith(kind)), None)
        if kind is None or one.opcode.endswith("-done"):
            return None
        operands = sum(other.shape.bytes for other in self.operands(one))
        result = one.shape
        if one.opcode.endswith("-start") and len(result.parts) > 1 and kind != "all-reduce":
            result = result.parts[1]
        ids, form = groups.read(self.data, one.written)
        pairs = groups.pairs(self.data, one.written)
        global_ids = self._global(kind, one, ids)
        return Collective(kind, operands, result.bytes, global_ids, pairs, form)

    def _global(self, kind: str, one: Instruction, ids: Groups) -> Groups:
        """Groups of replica * partitions + partition, from ids of replicas or partitions."""
        replicas, partitions = range(self.replicas), range(self.partitions)
        count = self.partitions
        if one.channel and one.is_global:
            return ids or [list(range(self.replicas * count))]
        if one.channel and kind not in _OF_REPLICAS:
            said = ids or [list(partitions)]
            return [[r * count + part for part in group] for r in replicas for group in said]
        said = ids or [list(replicas)]
        if one.channel:
            return [[r * count + part for r in group for part in partitions] for group in said]
        return [[r * count + part for r in group] for part in partitions for group in said]


_DEEPEST = 16  # computations inside each other


def read(data: bytes) -> Program | None:
    """Read a HloProto; None if it has no module. Raises WireError."""
    for number, begin, end in fields(data):
        if number == 1 and end >= 0:
            return _module(data, begin, end)
    return None


def _module(data: bytes, begin: int, end: int) -> Program:
    program = Program(data)
    for number, value, stop in fields(data, begin, end):
        if number == 1:
            program.name = _text(data, value, stop)
        elif number == 2:
            program.entry = _text(data, value, stop)
        elif number == 3 and stop >= 0:
            _computation(program, value, stop)
        elif number == 5:
            program.id = signed(value)
        elif number == 15 and stop >= 0:
            _assignment(program, value, stop)
    return program


def _assignment(program: Program, begin: int, end: int) -> None:
    rows = []
    for number, value, stop in fields(program.data, begin, end):
        if number == 1:
            program.replicas = value
        elif number == 2:
            program.partitions = value
        elif number == 3 and stop >= 0:  # a partition's devices, by replica
            inner = fields(program.data, value, stop)
            rows.append([id for n, *span in inner if n == 1 for id in _ids(program.data, *span)])
    if program.replicas * program.partitions > groups.MOST:
        raise WireError(begin, f"{program.replicas} x {program.partitions} devices")
    if all(len(row) == program.replicas for row in rows):
        program.devices = [row[r] for r in range(program.replicas) for row in rows]


def _computation(program: Program, begin: int, end: int) -> None:
    made = Computation()
    for number, value, stop in fields(program.data, begin, end):
        if number == 1:
            made.name = _text(program.data, value, stop)
        elif number == 2 and stop >= 0:
            one = _instruction(program.data, value, stop)
            program.instructions[one.id] = one
            made.ids.append(one.id)
        elif number == 5:
            made.id = signed(value)
        elif number == 6:
            made.root = signed(value)
    program.computations[made.id] = made


_TEXTS = {1: "name", 2: "opcode", 28: "target"}
_LISTS = {36: "operands", 37: "controls", 38: "calls"}


def _instruction(data: bytes, begin: int, end: int) -> Instruction:
    one = Instruction()
    for number, value, stop in fields(data, begin, end):
        if number in _TEXTS:
            setattr(one, _TEXTS[number], _text(data, value, stop))
        elif number in _LISTS:
            getattr(one, _LISTS[number]).extend(_ids(data, value, stop))
        elif number == 3:
            one.shape = _shape(data, value, stop)
        elif number in (9, 13):  # a parameter's number, a tuple's part
            one.index = value
        elif number == 16:
            one.convolution = value, stop
        elif number == 26:
            one.channel = signed(value)
        elif number == 30:
            one.dot = value, stop
        elif number == 35:
            one.id = signed(value)
        elif number == 43:
            one.config = data[value:stop]
        elif number == 71:
            one.is_global = bool(value)
        elif number in groups.FIELDS and stop >= 0:
            one.written.setdefault(number, []).append((value, stop))
    return one


def _shape(data: bytes, begin: int, end: int) -> Shape:
    type, dims, parts = 0, [], []
    for number, value, stop in fields(data, begin, end):
        if number == 2:
            type = value
        elif number == 3:
            dims += [max(0, signed(size)) for size in numbers(data, value, stop)]
        elif number == 4:
            parts.append(_shape(data, value, stop))
    return Shape(type, tuple(dims), tuple(parts))


def _ids(data: bytes, begin: int, end: int) -> list[int]:
    return [signed(value) for value in numbers(data, begin, end)]


def _text(data: bytes, begin: int, end: int) -> str:
    return data[begin:end].decode(errors="replace") if end >= 0 else ""


def _json(data: bytes) -> dict[str, Any]:
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _dot_dims(data: bytes, one: Instruction) -> tuple[list[int], list[int]]:
    left: list[int] = []
    right: list[int] = []
    for number, value, stop in fields(data, *one.dot) if one.dot else ():
        if number in (1, 2):
            (left if number == 1 else right).extend(numbers(data, value, stop))
    return left, right


def _product(program: Program, one: Instruction, left: list[int], right: list[int]) -> int | None:
    operands = program.operands(one)
    for place, dims in enumerate((left, right)):
        sizes = operands[place].shape.dims if place < len(operands) else ()
        if dims and all(dim < len(sizes) for dim in dims):
            return 2 * one.shape.first().elements * prod(sizes[dim] for dim in dims)
    return 2 * one.shape.first().elements if not left and not right else None


def _convolution(program: Program, one: Instruction, target: str) -> int | None:
    operands = program.operands(one)
    if one.convolution is None or len(operands) < 2:
        return None
    first, second, result = operands[0].shape, operands[1].shape, one.shape.first()
    image, kernel = result, second
    if "BackwardInput" in target:
        image = first
    elif "BackwardFilter" in target:
        image, kernel = second, result
    found = fields(program.data, *one.convolution)
    output = next((value for number, value, _ in found if number == 4), 0)
    if output >= len(kernel.dims) or not kernel.dims[output]:
        return None
    return 2 * image.elements * (kernel.elements // kernel.dims[output])


def _library(program: Program, one: Instruction) -> int | None:
    target = one.target
    if target.startswith(_PRODUCTS):
        config = _json(one.config)
        inner = config.get("gemm_backend_config")
        dims = (inner if isinstance(inner, dict) else config).get("dot_dimension_numbers")
        said = dims if isinstance(dims, dict) else {}
        sides = (said.get(f"{side}_contracting_dimensions") or () for side in ("lhs", "rhs"))
        left, right = ([int(n) for n in side if str(n).isdecimal()] for side in sides)
        return _product(program, one, left, right) if left or right else None
    if target.startswith("__cudnn$conv"):
        return _convolution(program, one, target)
    if target.startswith(_ATTENTION):
        return _attention(one)
    return 0 if target in _NOTHING else None


_NOTHING = frozenset({"Sharding", "SPMDFullToShardShape", "SPMDShardToFullShape", "AllocateBuffer"})


def _attention(one: Instruction) -> int | None:
    """From the attributes that TransformerEngine writes into the call."""
    text = one.config.decode(errors="replace").strip("{} \n")
    said = dict(part.strip().split(" = ", 1) for part in text.split(", ") if " = " in part)
    found = [said.get(name, "").split(" ")[0] for name in _ATTENDED]
    if not all(size.isdecimal() for size in found):
        return None
    *sizes, keys, values, mask = map(int, found)
    wide = 3 * keys + 2 * values if "backward" in one.target else keys + values
    total = 2 * prod(sizes) * wide
    return total // 2 if mask >= _CAUSAL else total
