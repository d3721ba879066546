"""The numbers in shapes that change with how tensors or experts are split.

Laws: a product whose output is summed over the ranks contracts over what is split; any other
product contracts over what is whole. A gather's and a scatter's tensors differ in what is split.
A view keeps its elements, a joined list their sum. Numbers follow from these, one from another;
one that would have to change and to stay is refused.

Sources: Shoeybi et al., Megatron-LM (2019); Korthikanti et al., sequence parallelism (2022).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from math import prod
from typing import NamedTuple

from yantra.base.errors import UnsupportedError
from yantra.chakra import CollectiveType, Node, NodeType
from yantra.tracing.rescale.model import ATTENTION, WIDTHS, Shape, flat_shapes, parsed
from yantra.tracing.rescale.recording import group_of, whole

_PRODUCTS = ("aten::mm", "aten::addmm", "aten::bmm", "aten::baddbmm")
_VIEWS = ("aten::view", "aten::_unsafe_view", "aten::reshape", "aten::_reshape_alias",
          "aten::flatten", "aten::unflatten")  # fmt: skip
_JOINS = ("aten::cat", "aten::concat")
_SUMS = (CollectiveType.ALL_REDUCE, CollectiveType.REDUCE_SCATTER)
_SHARES = (CollectiveType.ALL_GATHER, CollectiveType.REDUCE_SCATTER)


class _View(NamedTuple):
    before: Shape
    after: Shape
    label: str


class Numbers:
    """`factors`: what changes, old number to its factor; `fixed`: what stays, and why."""

    def __init__(self, setting: str, where: str) -> None:
        self.setting, self.where = setting, where
        self.factors: dict[int, Fraction] = {}
        self.fixed: dict[int, str] = {}

    def change(self, number: int, factor: Fraction) -> None:
        if number > 1 and self.factors.setdefault(number, factor) != factor:
            raise self._refused(number, "changes in two ways")

    def keep(self, numbers: Iterable[int], why: str) -> None:
        for number in numbers:
            if number > 1:
                self.fixed.setdefault(number, why)

    def new(self) -> dict[int, int]:
        """Old numbers to new. Raises UnsupportedError if one is told to stay or does not divide."""
        made = {}
        for number, factor in sorted(self.factors.items()):
            if number in self.fixed and factor != 1:
                raise self._refused(number, f"is split and also {self.fixed[number]}")
            scaled = number * factor
            if scaled.denominator != 1:
                raise UnsupportedError(
                    f"{self.where}: {self.setting}: {number} x {float(factor):g} is no whole number"
                )
            made[number] = int(scaled)
        return made

    def factor(self, shape: Iterable[int]) -> Fraction:
        return prod((self.factors.get(one, Fraction(1)) for one in shape), start=Fraction(1))

    def follow(self, nodes: Sequence[Node]) -> None:
        """What views and joins of these nodes tell. Raises UnsupportedError where a view does not
        keep its elements.
        """
        views = {one[:2]: one for node in nodes if (one := _view(node))}
        left: list[_View] = list(views.values())
        count = -1
        while count != len(self.factors) + len(self.fixed):
            count = len(self.factors) + len(self.fixed)
            for one in left:
                self._balance(one)
        for one in left:
            if self.factor(one.before) != self.factor(one.after):
                raise UnsupportedError(
                    f"{self.where}: {self.setting}: {one.label} makes {list(one.after)} of "
                    f"{list(one.before)}, and which of these numbers change is not determined; "
                    "record with sizes that differ"
                )
        for node in nodes:
            self._join(node)

    def _balance(self, view: _View) -> None:
        before, after = (Counter(one for one in shape if one > 1) for shape in view[:2])
        sides = before - after, after - before
        for side, other in (sides, sides[::-1]):
            unknown = [one for one in side if one not in self.factors and one not in self.fixed]
            unsure = [one for one in other if one not in self.factors and one not in self.fixed]
            if len(unknown) != 1 or unsure or side[unknown[0]] != 1:
                continue
            known = self.factor(side.elements())
            factor = self.factor(other.elements()) / known
            if factor != 1:
                self.change(unknown[0], factor)
            elif known == 1:
                self.keep(unknown, "of tensors that are whole")

    def _join(self, node: Node) -> None:
        if node.name not in _JOINS or node.outputs is None or node.inputs is None:
            return
        parts = flat_shapes(node)
        made = flat_shapes(Node(0, inputs=node.outputs))
        if len(made) != 1 or any(len(part) != 1 for part in parts):
            return
        total = made[0][0]
        if total != sum(part[0] for part in parts) or total in self.fixed:
            return
        new = sum(part[0] * self.factors.get(part[0], Fraction(1)) for part in parts)
        if new != total:
            self.change(total, Fraction(new) / total)

    def _refused(self, number: int, why: str) -> UnsupportedError:
        return UnsupportedError(
            f"{self.where}: {self.setting}: {number} {why}, so what a shape means is not "
            "determined; record with sizes that differ"
        )


def of_tensors(numbers: Numbers, nodes: Sequence[Node], names: Sequence[str], degree: int,
               new: int) -> None:  # fmt: skip
    """What the collectives of groups `names`, of `degree` ranks, say is split."""
    factor = Fraction(degree, new)
    products: list[Node] = []
    numbers.keep((_head(node) for node in nodes), "the size of a head")
    for node in nodes:
        if node.type != NodeType.COMM_COLL:
            products += [node] if node.name in _PRODUCTS or node.name == "aten::embedding" else []
            continue
        if group_of(node) not in names:
            continue
        kind, shapes = whole(node, "comm_type"), [one for one in flat_shapes(node) if one]
        largest = max(shapes, key=prod, default=())
        if kind in _SHARES:
            _shares(numbers, shapes, degree, factor)
        numbers.keep(largest, "a size of what all ranks have")
        summed = [one for one in products if kind in _SUMS and _made(one) == prod(largest)]
        if summed:
            numbers.change(_contracted(summed[-1]), factor)
        for one in products:
            if one not in summed and one.name != "aten::embedding":
                numbers.keep([_contracted(one)], "what a product sums that is whole")
        products = []
    if not numbers.factors:
        raise UnsupportedError(
            f"{numbers.where}: {numbers.setting}: no product or gather with recorded shapes is "
            "before a collective of the tensors' groups, so what is split is not determined; "
            "record with shapes (record_shapes=True)"
        )


def _shares(numbers: Numbers, shapes: Sequence[Shape], degree: int, factor: Fraction) -> None:
    for one in shapes:
        for other in shapes:
            if len(one) == len(other):
                apart = [(a, b) for a, b in zip(one, other, strict=True) if a != b]
                if len(apart) == 1 and apart[0][0] * degree == apart[0][1]:
                    numbers.change(apart[0][0], factor)


def _head(node: Node) -> int:
    shapes = flat_shapes(node) if ATTENTION in node.name else []
    return shapes[0][-1] if shapes and len(shapes[0]) == 4 else 0


def _made(node: Node) -> int:
    shapes = flat_shapes(node)
    if node.name == "aten::embedding":
        return prod(shapes[1]) * shapes[0][-1] if len(shapes) > 1 else 0
    left, right = shapes[-2:] if len(shapes) > 1 else ((0,), (0,))
    return prod(left[:-1]) * right[-1]


def _contracted(node: Node) -> int:
    shapes = flat_shapes(node)
    return shapes[0][0] if node.name == "aten::embedding" else shapes[-2][-1] if shapes[1:] else 0


def _view(node: Node) -> _View | None:
    """Of a view: its shapes before and after; () is a number."""
    if node.name not in _VIEWS or node.inputs is None:
        return None
    before = flat_shapes(node)[:1]
    told = flat_shapes(Node(0, inputs=node.outputs)) if node.outputs is not None else []
    if not told:
        values = parsed(node.inputs.values)
        sizes = values[1] if len(values) > 1 else None
        if isinstance(sizes, list) and all(type(one) is int and one >= 0 for one in sizes):
            told = [tuple(sizes)]
    if not before or not told or prod(before[0]) != prod(told[0]):
        return None
    return _View(before[0], told[0], node.label)


def own_elements(node: Node) -> Shape:
    """The tensor that a collective's bytes count."""
    size, shapes = whole(node, "comm_size"), flat_shapes(node)
    return next((one for width in WIDTHS for one in shapes if prod(one) * width == size), ())


def scaled(numbers: Mapping[int, int], shape: Shape) -> Fraction:
    return Fraction(prod(numbers.get(one, one) for one in shape), max(prod(shape), 1))
