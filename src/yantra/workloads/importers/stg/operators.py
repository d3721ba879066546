"""The operators of the sheets: the shard each makes, and its operations as STG counts them;
`units.py` turns them into FLOP.

Source: astra-sim/stage@9ec6c02.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from yantra.base.errors import ConfigError
from yantra.workloads.importers.stg.expressions import Expression, Shape, number, volume
from yantra.workloads.importers.stg.tensors import WHOLE, Spec

PLACEHOLDER, IDENTITY, SHADOW, EINSUM, ADD = "T", "I", "S", "M", "A"
ELEMENTWISE, ELEMENTWISE2, RESHAPE, BROADCAST = "E", "E2", "R", "B"
SLICE, CONCATENATE, CUSTOM = "SLICE", "C", "CUSTOM"

CODES = {
    PLACEHOLDER: "a weight or an input",
    IDENTITY: "the same tensor, where its sharding changes",
    SHADOW: "a tensor received from another stage",
    EINSUM: "a product such as bsm,mn->bsn",
    ADD: "a sum of two tensors",
    ELEMENTWISE: "some operations per element",
    ELEMENTWISE2: "some operations per element of two tensors",
    RESHAPE: "the same elements in another shape",
    BROADCAST: "one size multiplied, as in 3*Head/KVHead",
    SLICE: "one size replaced, as in 3:Head/tp",
    CONCATENATE: "two tensors joined along an axis",
    CUSTOM: "operations given by a formula",
}


class Output(NamedTuple):
    shape: Shape
    hidden: Shape
    operations: Expression


@lru_cache(maxsize=4096)
def output(spec: Spec) -> Output:
    if spec.code in (PLACEHOLDER, IDENTITY, SHADOW):
        return Output(spec.x1_shape, spec.x1_hidden, number(0))
    if spec.code == EINSUM:
        return _einsum(spec)
    if spec.code in (ADD, ELEMENTWISE2):
        _need_equal(spec, "x2_shape", spec.x2_shape, spec.x1_shape)
    if spec.code in (ADD, ELEMENTWISE, ELEMENTWISE2):
        return Output(spec.x1_shape, spec.x1_hidden, volume(spec.x1_shape) * spec.amount)
    if spec.code == RESHAPE:
        shape, hidden = _second(spec)
        _need_equal(spec, "x2_shape", (volume(shape),), (volume(spec.x1_shape),))
        return Output(shape, hidden, volume(shape))
    if spec.code == CUSTOM:
        return Output(*_second(spec), spec.amount)
    axis = _axis(spec)
    sizes = list(spec.x1_shape)
    if spec.code == BROADCAST:
        sizes[axis] = sizes[axis] * spec.amount
    elif spec.code == SLICE:
        sizes[axis] = spec.amount
    elif spec.code == CONCATENATE:
        other = list(_second(spec)[0])
        if len(other) != len(sizes):
            raise _wrong(spec, "x2_shape", f"{len(sizes)} sizes", _text(tuple(other)))
        sizes[axis], other[axis] = sizes[axis] + other[axis], sizes[axis] + other[axis]
        _need_equal(spec, "x2_shape", tuple(other), tuple(sizes))
    return Output(tuple(sizes), spec.x1_hidden, volume(tuple(sizes)))


def _einsum(spec: Spec) -> Output:
    inputs, _, result = spec.equation.partition("->")
    first, _, second = inputs.partition(",")
    x2_shape = _second(spec)[0]
    for column, letters, shape in (("x1", first, spec.x1_shape), ("x2", second, x2_shape)):
        if len(letters) != len(shape):
            raise _wrong(spec, f"{column}_shape", f"{len(letters)} sizes", _text(shape))
    for column, hidden in (("x1_hidden", spec.x1_hidden), ("x2_hidden", spec.x2_hidden)):
        if hidden != WHOLE:
            raise _wrong(spec, column, "1, as a product needs whole inputs", _text(hidden or ()))
    sizes = dict(zip(first, spec.x1_shape, strict=True))
    for letter, size in zip(second, x2_shape, strict=True):
        if sizes.setdefault(letter, size) is not size:
            raise _wrong(spec, "x2_shape", f"{sizes[letter]} for the letter {letter}", str(size))
    shape = tuple(sizes[letter] for letter in result)
    contracted = tuple(sizes[letter] for letter in first if letter not in result)
    return Output(shape, contracted or WHOLE, volume(shape) * volume(contracted))


def _second(spec: Spec) -> tuple[Shape, Shape]:
    if spec.x2_shape is None or spec.x2_hidden is None:
        raise ConfigError(spec.where, "x2_shape and x2_hidden: expected sizes, got nothing")
    return spec.x2_shape, spec.x2_hidden


def _axis(spec: Spec) -> int:
    sizes = len(spec.x1_shape)
    if not -sizes <= spec.axis < sizes:
        raise _wrong(spec, "op_attr", f"an axis of 0 to {sizes - 1}", str(spec.axis))
    return spec.axis % sizes


def _need_equal(spec: Spec, column: str, got: Shape | None, expected: Shape) -> None:
    if got != expected:
        raise _wrong(spec, column, _text(expected), "nothing" if got is None else _text(got))


def _wrong(spec: Spec, column: str, expected: str, got: str) -> ConfigError:
    return ConfigError(f"{spec.where}, column {column}", f"expected {expected}, got {got}")


def _text(shape: Shape) -> str:
    return ", ".join(map(str, shape)) or "nothing"
