"""Other sizes of batch, sequence or width: shapes, operations, bytes and times of each operator.

A size in a shape is told by its number. Where a number stands for two things, one of which changes,
nothing says which a shape means, and the setting is refused. Operations and bytes are counted again
by the rules that count them when a recording is converted. Times follow them beyond what an
operator takes at least: on the host what one that only looks takes, on a device a launch.
"""

from __future__ import annotations

from fractions import Fraction
from math import prod
from statistics import median

from yantra.base.errors import UnsupportedError
from yantra.chakra import Node
from yantra.chakra.schema import IOInfo
from yantra.tracing.pytorch.tensors import Io
from yantra.tracing.pytorch.work.assign import work_of
from yantra.tracing.pytorch.work.law import Work
from yantra.tracing.pytorch.work.operands import operands
from yantra.tracing.rescale.model import WIDTHS, Sizes, flat_shapes, parsed, sizes_of, with_shapes
from yantra.tracing.rescale.recording import Recording, group_of, is_communication, value, whole
from yantra.tracing.rescale.split import own_elements, scaled

_LAUNCH_US = 2
_LOOKS = ("aten::view", "aten::as_strided", "aten::t", "aten::transpose", "aten::expand")
_ALIGNED = 8  # bytes of a bucket, the last one's aside: whole elements of every type
_COUNTS = ("num_ops", "tensor_size")
NAMES = ("micro_batch", "sequence", "width")


def with_size(job: Recording, name: str, text: str) -> None:
    """Change `name`, one of NAMES, on every rank."""
    replicas = job.replicas(name)
    for rank in job.ranks:
        nodes = job.nodes[rank]
        sizes = sizes_of(nodes, replicas.names, job.where)
        new = _numbers(sizes, name, text, job.where)
        _check(nodes, sizes, name, new, job.where)
        old_total = sum(map(prod, sizes.parameters))
        new_total = sum(prod(new.get(one, one) for one in shape) for shape in sizes.parameters)
        resized(nodes, new, job.where)
        share_out(nodes, replicas.names, Fraction(new_total, old_total))


def _numbers(sizes: Sizes, name: str, text: str, where: str) -> dict[int, int]:
    """The sizes that change, old to new."""
    if name == "width":
        new = value(name, text, sizes.width)
        factor = Fraction(new, sizes.width)
        scaled = {one for shape in sizes.parameters for one in shape if one % sizes.width == 0}
        scaled |= {sizes.heads, sizes.batch * sizes.heads} - {0}
    elif name == "sequence":
        if not sizes.sequence:
            raise UnsupportedError(
                f"{where}: sequence: batches have two sizes, so there are no sequences"
            )
        factor = Fraction(value(name, text, sizes.sequence), sizes.sequence)
        scaled = {sizes.sequence, sizes.tokens}
    else:
        factor = Fraction(value(name, text, sizes.batch), sizes.batch)
        scaled = {sizes.batch, sizes.tokens, sizes.batch * sizes.heads} - {0}
    if name != "width":  # as of q, k and v together
        folds = {one // sizes.width for shape in sizes.parameters for one in shape}
        told = {one for shape in sizes.parameters for one in shape} | {sizes.head, sizes.heads}
        told |= {sizes.batch, sizes.sequence, sizes.tokens} | sizes.flat
        scaled |= {one * fold for one in scaled for fold in folds - {0}} - told
    made = {old: old * factor for old in sorted(scaled)}
    odd = next((old for old, one in made.items() if one.denominator != 1), None)
    if odd is not None:
        raise UnsupportedError(f"{where}: {name}: {odd} x {float(factor):g} is no whole number")
    return {old: int(one) for old, one in made.items()}


def _check(nodes: list[Node], sizes: Sizes, name: str, new: dict[int, int], where: str) -> None:
    parts = {
        "the batch": {sizes.batch},
        "the sequences": {sizes.sequence},
        "the tokens of a batch": {sizes.tokens},
        "a size of the model": {one for shape in sizes.parameters for one in shape},
        "the heads": {sizes.heads},
        "the size of a head": {sizes.head},
        "the heads of a batch": {sizes.batch * sizes.heads},
    }
    changed = {
        "width": ("a size of the model", "the heads", "the heads of a batch"),
        "sequence": ("the sequences", "the tokens of a batch"),
        "micro_batch": ("the batch", "the tokens of a batch", "the heads of a batch"),
    }[name]
    if name == "width":
        parts["a size of the model"] -= new.keys()
    for what, numbers in parts.items():
        clash = sorted((numbers - {0, 1}) & new.keys())
        if clash and (what not in changed or (name == "width" and what == "a size of the model")):
            raise UnsupportedError(
                f"{where}: {name}: {clash[0]} is a size that changes and also {what}, so what a "
                "shape means is not determined; record with sizes that differ"
            )
    units = {
        "width": {sizes.width, sizes.heads},
        "sequence": {sizes.sequence},
        "micro_batch": {sizes.batch},
    }[name] - {0, 1}
    known = set[int]().union(*parts.values()) | new.keys() | sizes.flat
    for node in nodes if units else ():
        for shape in flat_shapes(node):
            odd = next((one for one in shape if _is_odd(one, units, known)), None)
            if odd is not None:
                raise UnsupportedError(
                    f"{where}: {name}: {node.label} has a size of {odd}, and whether it changes "
                    "is not determined"
                )


def _is_odd(size: int, units: set[int], known: set[int]) -> bool:
    return size > 0 and size not in known and any(size % unit == 0 for unit in units)


def resized(nodes: list[Node], new: dict[int, int], where: str) -> None:
    """Put other sizes, old to new, into shapes, and count work, bytes and times by them."""
    _Rank(nodes, new, where).run()


class _Rank:
    def __init__(self, nodes: list[Node], new: dict[int, int], where: str) -> None:
        self.nodes, self.new, self.where = nodes, new, where
        looks = [
            node.duration_micros for node in nodes if node.name in _LOOKS and not node.get("part")
        ]
        self.least = {True: int(median(looks)) if looks else 0, False: _LAUNCH_US}
        self.by_id = {node.id: node for node in nodes}
        self.known: dict[tuple[str, IOInfo, IOInfo | None], _Change] = {}

    def run(self) -> None:
        last: dict[tuple[object, str], Fraction] = {}  # of the operator that a slice goes on with
        for node in self.nodes:
            place = (tuple(node.ctrl_deps), node.name)
            if node.get("part"):
                self._take(node, last.get(place, Fraction(1)))
            elif node.inputs is not None:
                change = self._change(node)
                if is_communication(node):
                    self._communicate(node, change)
                else:
                    last[place] = change.time
                    self._count(node, change)
                    self._take(node, change.time)
                node.inputs, node.outputs = change.inputs, change.outputs

    def _change(self, node: Node) -> _Change:
        above = self.by_id.get(node.ctrl_deps[0]) if node.ctrl_deps else None
        name = node.name if node.get("is_cpu_op") or above is None else above.name
        inputs = node.inputs or IOInfo()
        key = name, inputs, node.outputs
        if key not in self.known:
            self.known[key] = _Change(name, inputs, node.outputs, self.new)
        return self.known[key]

    def _count(self, node: Node, change: _Change) -> None:
        for name, ratio in zip(_COUNTS, (change.flops, change.bytes), strict=True):
            item = node.attribute(name)
            if item is not None and isinstance(item.value, int):
                made = item.value * ratio
                node.set(name, max(round(made), min(item.value, 1)), item.kind)
        for name, (old, new) in change.sides.items():
            item = node.attribute(name)
            if item is not None and item.value == old:
                node.set(name, new, item.kind)

    def _communicate(self, node: Node, change: _Change) -> None:
        own = own_elements(node)
        made = whole(node, "comm_size") * (scaled(self.new, own) if own else change.elements)
        if made.denominator != 1:
            raise UnsupportedError(f"{self.where}: {node.label}: its bytes do not divide")
        node.set("comm_size", int(made))

    def _take(self, node: Node, ratio: Fraction) -> None:
        least = self.least[bool(node.get("is_cpu_op"))]
        took = node.duration_micros
        if ratio == 1 or took <= least:
            return
        node.duration_micros = max(0, round(least + (took - least) * ratio))
        exact = node.attribute("duration_ns")
        if exact is not None and isinstance(exact.value, int):
            node.set("duration_ns", node.duration_micros * 1000, exact.kind)


class _Change:
    """An operator's ratios of new to old: operations, bytes, time; `sides`: m, n, k, ..."""

    def __init__(
        self, name: str, inputs: IOInfo, outputs: IOInfo | None, new: dict[int, int]
    ) -> None:
        self.inputs = with_shapes(inputs, new)
        self.outputs = outputs and with_shapes(outputs, new)
        before, after = _elements(inputs), _elements(self.inputs)
        self.elements = Fraction(after, before) if before else Fraction(1)
        self.flops = self.bytes = self.time = Fraction(1)
        self.sides: dict[str, tuple[int, int]] = {}
        old, made = _work(name, inputs, outputs), _work(name, self.inputs, self.outputs)
        if old is None or made is None:
            return
        self.flops = _ratio(made.flops, old.flops)
        self.bytes = _ratio(made.bytes, old.bytes)
        self.time = self.flops if old.sizes else self.bytes
        both = zip(old.sizes, made.sizes, strict=False)
        self.sides = {name: (one, other) for (name, one), (_, other) in both}


def _ratio(new: int, old: int) -> Fraction:
    return Fraction(new, old) if old else Fraction(1)


def _elements(given: IOInfo) -> int:
    return sum(prod(shape) for shape in flat_shapes(Node(0, inputs=given)))


def _work(name: str, inputs: IOInfo, outputs: IOInfo | None) -> Work | None:
    return work_of(operands(name, _io(inputs), _io(outputs)))


def _io(given: IOInfo | None) -> Io:
    return Io() if given is None else Io(*(parsed(text) for text in given))


def share_out(nodes: list[Node], names: list[str], ratio: Fraction) -> None:
    """Scale the sums of gradients, exactly in all: buckets keep their shares."""
    sums = [node for node in nodes if is_communication(node) and group_of(node) in names]
    before = after = 0
    flat: dict[int, int] = {}  # elements of buckets, old to new
    for node in sums:
        size = whole(node, "comm_size")
        made = int((before + size) * ratio) // _ALIGNED * _ALIGNED - after
        if node is sums[-1]:
            made = int((before + size) * ratio) - after
        before, after = before + size, after + made
        node.set("comm_size", made)
        flat |= {size // bytes: made // bytes for bytes in WIDTHS if size % bytes == 0}
    for node in nodes if ratio != 1 else ():
        if any(len(shape) == 1 and shape[0] in flat for shape in flat_shapes(node)):
            assert node.inputs is not None
            node.inputs = with_shapes(node.inputs, flat)
