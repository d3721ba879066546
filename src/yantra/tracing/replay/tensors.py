"""Tensors for a replay, of recorded shapes, types and places in storages.

Values are invented: numbers 1, integers 0 (always a valid index), booleans true.

Source: tensor tuples in files of PyTorch's ExecutionTraceObserver.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

_DTYPES = {
    "bool": "bool",
    "signed char": "int8",
    "int8": "int8",
    "unsigned char": "uint8",
    "short": "int16",
    "short int": "int16",
    "int": "int32",
    "long": "int64",
    "long int": "int64",
    "half": "float16",
    "c10::Half": "float16",
    "bfloat16": "bfloat16",
    "c10::BFloat16": "bfloat16",
    "float": "float32",
    "double": "float64",
    "c10::complex<float>": "complex64",
    "c10::complex<double>": "complex128",
    "c10::Float8_e4m3fn": "float8_e4m3fn",
    "c10::Float8_e5m2": "float8_e5m2",
}
_LARGEST = 1 << 40  # bytes; a larger storage means a damaged trace


class CannotReplayError(Exception):
    """Why a call cannot be replayed."""


class Recorded(NamedTuple):
    """A recorded tensor; `offset` and `strides` count elements."""

    storage: tuple[int, str]
    offset: int
    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    item_bytes: int

    @property
    def end(self) -> int:
        last = sum((n - 1) * step for n, step in zip(self.shape, self.strides, strict=True))
        count = 0 if 0 in self.shape else last + 1
        return (self.offset + count) * self.item_bytes


def recorded(value: Any, shape: Any, kind: str, strides: Any = None) -> Recorded | None:
    """Read a `Tensor(...)`; None if undefined. Raises CannotReplayError."""
    name = kind.removeprefix("Tensor(").removesuffix(")")
    if name.startswith("nullptr"):
        return None
    if not name:
        raise CannotReplayError("the profiler does not record the types of a list's tensors")
    if name not in _DTYPES:
        raise CannotReplayError(f"no tensors of type {name}")
    try:
        _, storage, offset, _, item_bytes, device = value[:6]
        shape = _counts(shape)
        steps = _counts(strides) if strides is not None and len(strides) == len(shape) else None
        tensor = Recorded(
            (int(storage), str(device)),
            _count(offset),
            _DTYPES[name],
            shape,
            steps if steps is not None else _contiguous(shape),
            _count(item_bytes),
        )
    except (TypeError, ValueError, IndexError):
        raise CannotReplayError("a tensor is not recorded as PyTorch does") from None
    if not 0 <= tensor.end <= _LARGEST:
        raise CannotReplayError(f"a tensor of {tensor.end} bytes")
    return tensor


class Pool:
    """Storages shared by the calls, as large as their tensors reach."""

    def __init__(self, torch: Any, device: str) -> None:
        self._torch, self._device = torch, device
        self._bytes: dict[tuple[int, str], int] = {}
        self._storages: dict[tuple[int, str], Any] = {}

    @property
    def bytes(self) -> int:
        return sum(self._bytes.values())

    def reserve(self, tensors: Iterable[Recorded]) -> None:
        """Make room; call it for all before the first `tensor`."""
        for tensor in tensors:
            self._bytes[tensor.storage] = max(self._bytes.get(tensor.storage, 0), tensor.end)

    def tensor(self, wanted: Recorded) -> Any:
        torch = self._torch
        dtype = getattr(torch, wanted.dtype)
        fresh = wanted.storage not in self._storages
        if fresh:
            size = self._bytes[wanted.storage]
            self._storages[wanted.storage] = torch.UntypedStorage(size, device=self._device)
            count = size // dtype.itemsize
            _fill(self._view(dtype, wanted.storage, 0, (count,), (1,)))
        tensor = self._view(dtype, wanted.storage, wanted.offset, wanted.shape, wanted.strides)
        if not fresh and not dtype.is_floating_point:
            _fill(tensor)
        return tensor

    def _view(
        self,
        dtype: Any,
        storage: tuple[int, str],
        offset: int,
        shape: Sequence[int],
        strides: Sequence[int],
    ) -> Any:
        empty = self._torch.empty(0, dtype=dtype, device=self._device)
        return empty.set_(self._storages[storage], offset, tuple(shape), tuple(strides))


def _fill(tensor: Any) -> None:
    whole = not (tensor.dtype.is_floating_point or tensor.dtype.is_complex)
    tensor.fill_(0 if whole and str(tensor.dtype) != "torch.bool" else 1)


def _counts(numbers: Any) -> tuple[int, ...]:
    return tuple(_count(number) for number in numbers)


def _count(number: Any) -> int:
    if type(number) is not int or number < 0:
        raise ValueError
    return number


def _contiguous(shape: Sequence[int]) -> tuple[int, ...]:
    return tuple(math.prod(max(n, 1) for n in shape[place + 1 :]) for place in range(len(shape)))


def parsed(value: Any, shape: Any, kind: str, strides: Any = None) -> Any:
    if kind.startswith("Tensor("):
        return recorded(value, shape, kind, strides)
    if kind.startswith(("GenericList[", "Tuple[")):
        return _list(value, shape, kind, strides)
    if kind == "None" or value in ("<None>", "<Generator>"):
        return None
    if kind in ("Object", "Capsule", "Stream") or value == "<Object>":
        raise CannotReplayError("an argument is an object, which a trace does not hold")
    return value


def _list(value: Any, shape: Any, kind: str, strides: Any) -> list[Any]:
    kinds = _parts(kind[kind.index("[") + 1 : -1])
    if not isinstance(value, list) or len(value) != len(kinds):
        raise CannotReplayError("a list was cut when it was recorded")
    shapes = shape if isinstance(shape, list) and len(shape) == len(kinds) else [[]] * len(kinds)
    steps = (
        strides if isinstance(strides, list) and len(strides) == len(kinds) else [None] * len(kinds)
    )
    rows = zip(value, shapes, kinds, steps, strict=True)
    return [parsed(*row) for row in rows]


def _parts(text: str) -> list[str]:
    parts, depth, begin = [], 0, 0
    for at, character in enumerate(text):
        if character in "[(<":
            depth += 1
        elif character in "])>":
            depth -= 1
        elif character == "," and depth == 0:
            parts.append(text[begin:at])
            begin = at + 1
    return [*parts, text[begin:]] if text else []
