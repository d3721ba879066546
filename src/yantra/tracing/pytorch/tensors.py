"""Sizes of tensors in recorded inputs and outputs: [tensor id, storage id, offset, elements, bytes
per element, device].

Source: files of PyTorch's ExecutionTraceObserver.
"""

from __future__ import annotations

from typing import Any

import msgspec

from yantra.tracing.pytorch.linked import Operator

_FIELDS = 5  # up to bytes per element; more in later schemas

# Bytes per element of the profiler's and torch.dtype's names, in lower case.
_BYTES = {
    "bool": 1, "byte": 1, "char": 1, "uint8": 1, "int8": 1, "unsigned char": 1, "signed char": 1,
    "float8_e4m3fn": 1, "float8_e5m2": 1, "float8_e4m3fnuz": 1, "float8_e5m2fnuz": 1,
    "short": 2, "int16": 2, "uint16": 2, "half": 2, "float16": 2, "bfloat16": 2,
    "c10::half": 2, "c10::bfloat16": 2, "nv_bfloat16": 2,
    "c10::float8_e4m3fn": 1, "c10::float8_e5m2": 1, "c10::float8_e4m3fnuz": 1,
    "c10::float8_e5m2fnuz": 1,
    "int": 4, "int32": 4, "uint32": 4, "float": 4, "float32": 4,
    "long": 8, "long int": 8, "int64": 8, "uint64": 8, "double": 8, "float64": 8,
    "complexfloat": 8, "complex64": 8, "complexdouble": 16, "complex128": 16,
}  # fmt: skip


class Io(msgspec.Struct, gc=False):
    """An operator's decoded values, shapes and types."""

    values: list[Any] = []
    shapes: list[Any] = []
    types: list[Any] = []


_DECODER = msgspec.json.Decoder(Io)


def decoded(raw: msgspec.Raw) -> Io:
    try:
        return _DECODER.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return Io()


def dtype_bytes(name: str) -> int | None:
    return _BYTES.get(name.lower().removeprefix("torch."))


def value_bytes(value: Any, type: Any) -> int:
    if not isinstance(type, str) or "Tensor" not in type:
        return 0
    total = 0
    pending = [value]
    while pending:
        item = pending.pop()
        if not isinstance(item, list):
            continue
        size = _tensor_bytes(item)
        if size is None:
            pending += item
        else:
            total += size
    return total


def input_bytes(operator: Operator, first: int = 0, end: int | None = None) -> int:
    return _bytes(decoded(operator.inputs), first, end)


def output_bytes(operator: Operator) -> int:
    return _bytes(decoded(operator.outputs), 0, None)


def _bytes(io: Io, first: int, end: int | None) -> int:
    pairs = zip(io.values[first:end], io.types[first:end], strict=False)
    return sum(value_bytes(value, type) for value, type in pairs)


def _tensor_bytes(item: list[Any]) -> int | None:
    if len(item) < _FIELDS or not all(type(field) is int for field in item[:_FIELDS]):
        return None
    elements, width = item[3], item[4]
    return int(max(0, elements) * max(0, width))
