"""Attributes of nodes: what an operation and an element count.

`stg` writes upstream's counts: multiply-accumulates, elements, the output alone. `yantra` writes
what a simulator divides by FLOP/s and bytes/s: two operations per multiply-accumulate, bytes of all
inputs and the output, and a collective's size at its place in a chain.

Source: astra-sim/stage@9ec6c02 for `stg`.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import cache
from math import prod
from typing import Literal

from yantra.base.errors import ConfigError, did_you_mean
from yantra.chakra import Attribute, CollectiveType, Kind
from yantra.workloads.importers.stg import operators
from yantra.workloads.importers.stg.expressions import Expression, Shape
from yantra.workloads.importers.stg.nodes import Step
from yantra.workloads.importers.stg.tensors import Spec, Tensor

Units = Literal["yantra", "stg"]
Attributes = tuple[Attribute, ...]

DTYPE_BYTES = {"fp64": 8, "fp32": 4, "tf32": 4, "bf16": 2, "fp16": 2, "fp8": 1, "int8": 1}

_CLASSES = {
    operators.EINSUM: "gemm",
    operators.RESHAPE: "copy",
    operators.BROADCAST: "copy",
    operators.SLICE: "copy",
    operators.CONCATENATE: "copy",
    operators.CUSTOM: "custom",
}


class Values:
    def __init__(self, symbols: Mapping[str, int]) -> None:
        self.symbols = symbols
        self.exact = cache(self._exact)
        self.elements = cache(self._elements)

    def _exact(self, expression: Expression) -> Fraction:
        try:
            return expression.evaluate(self.symbols)
        except KeyError as error:
            name = str(error.args[0])
            hint = did_you_mean(name, self.symbols)
            raise ConfigError(str(expression), f"the symbol {name} has no value{hint}") from None
        except ZeroDivisionError:
            raise ConfigError(str(expression), "division by 0") from None

    def _elements(self, shape: Shape) -> int:
        return int(prod(map(self.exact, shape), start=Fraction(1)))

    def is_zero(self, expression: Expression) -> bool:
        """Whether a number of operations is 0."""
        return not self.exact(expression)


class StgUnits:
    def __init__(self, values: Values) -> None:
        self._values = values
        self._known: dict[tuple[object, ...], Attributes] = {}

    def compute(self, tensor: Tensor) -> Attributes:
        key = (id(tensor.spec),)
        if key not in self._known:
            made = operators.output(tensor.spec)
            self._known[key] = (
                Attribute("num_ops", int(self._values.exact(made.operations))),
                Attribute("tensor_size", self._values.elements(made.shape)),
                Attribute("op_type", tensor.spec.code),
            )
        return self._known[key]

    def move(self, moved: Tensor, step: Step) -> Attributes:
        type_ = step.collective and step.collective.type
        key = id(moved.spec), type_
        if key not in self._known:
            shape = operators.output(moved.spec).shape
            self._known[key] = _movement(self._values.elements(shape), type_)
        return self._known[key]


class YantraUnits:
    """FLOP and bytes."""

    def __init__(self, values: Values, dtype: str, gradient_dtype: str) -> None:
        self._values = values
        self._dtypes = dtype, gradient_dtype
        self._known: dict[tuple[object, ...], Attributes] = {}

    def compute(self, tensor: Tensor) -> Attributes:
        inputs = [other for other in (tensor.x1, tensor.x2) if other is not None]
        key = (
            id(tensor.spec),
            tensor.weight_gradient,
            tuple(other.weight_gradient for other in inputs),
            tuple((id(other.spec), other.weight_gradient) for other in tensor.also),
        )
        if key not in self._known:
            self._known[key] = self._computation(tensor)
        return self._known[key]

    def _computation(self, tensor: Tensor) -> Attributes:
        spec, made = tensor.spec, operators.output(tensor.spec)
        for size in made.shape:
            self._need_whole(size, spec)
        count = self._values.exact(made.operations)
        is_gemm = spec.code == operators.EINSUM
        flops = max(1, int(count * (2 if is_gemm else 1)))
        written = self._bytes(tensor, made.shape)
        read = self._read(tensor, written)
        numbers = {
            "num_ops": flops,
            "tensor_size": read + written,
            "bytes_read": read,
            "bytes_written": written,
            "flops_tensor": flops if is_gemm else 0,
            "flops_vector": 0 if is_gemm else flops,
        }
        texts = {
            "op_type": spec.code,
            "op_class": _CLASSES.get(spec.code, "elementwise"),
            "phase": _phase(tensor),
            "dtype": self._dtype(tensor),
        }
        attributes = [Attribute(name, value) for name, value in (numbers | texts).items()]
        return (*attributes, Attribute("is_cpu_op", False))

    def _read(self, tensor: Tensor, written: int) -> int:
        spec = tensor.spec
        second = None if spec.code in (operators.RESHAPE, operators.CUSTOM) else spec.x2_shape
        parts = [(tensor.x1, spec.x1_shape), (tensor.x2, second)]
        parts += [(other, operators.output(other.spec).shape) for other in tensor.also]
        read = sum(
            self._bytes(origin, shape)
            for origin, shape in parts
            if origin is not None and shape is not None
        )
        return min(read, written) if spec.code == operators.SLICE else read

    def move(self, moved: Tensor, step: Step) -> Attributes:
        type_ = step.collective and step.collective.type
        before = step.chain[: step.place]
        key = id(moved.spec), moved.weight_gradient, before, type_
        if key not in self._known:
            size = Fraction(self._bytes(moved, operators.output(moved.spec).shape))
            for earlier in before:
                ranks = self._values.symbols[earlier.axis]
                if earlier.type is CollectiveType.ALL_GATHER:
                    size *= ranks
                elif earlier.type is CollectiveType.REDUCE_SCATTER:
                    size /= ranks
            self._known[key] = _movement(int(size), type_)
        return self._known[key]

    def _dtype(self, tensor: Tensor) -> str:
        return self._dtypes[tensor.weight_gradient]

    def _bytes(self, tensor: Tensor, shape: Shape) -> int:
        return self._values.elements(shape) * DTYPE_BYTES[self._dtype(tensor)]

    def _need_whole(self, size: Expression, spec: Spec) -> None:
        value = self._values.exact(size)
        if value.denominator != 1:
            problem = f"the size {size} is {value}; expected the ranks to divide it evenly"
            raise ConfigError(spec.where or "sizes", problem)


def _phase(tensor: Tensor) -> str:
    if not tensor.backward:
        return "forward"
    if tensor.name.endswith("@1"):
        return "optimizer"
    return "wgrad" if tensor.weight_gradient else "dgrad"


def _movement(size: int, type_: CollectiveType | None) -> Attributes:
    attributes = [Attribute("comm_size", size)]
    if type_ is not None:
        attributes.append(Attribute("comm_type", int(type_)))
    return (*attributes, Attribute("is_cpu_op", 0, Kind.INT32))
