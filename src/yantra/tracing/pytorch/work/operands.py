"""An operator's recorded inputs as tensors: shapes, element types, plain values.

Source: PyTorch's ExecutionTraceObserver, and Kineto's "Input Dims", "Input type" and
"Concrete Inputs".
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Any, NamedTuple

from yantra.tracing.pytorch.tensors import Io, dtype_bytes

_TYPES = {
    "float": "fp32", "float32": "fp32", "half": "fp16", "float16": "fp16", "bfloat16": "bf16",
    "nv_bfloat16": "bf16", "double": "fp64", "float64": "fp64", "signed char": "int8",
    "char": "int8", "int8": "int8", "unsigned char": "int8", "byte": "int8", "uint8": "int8",
}  # fmt: skip
_FLOATS = ("fp64", "fp32", "bf16", "fp16", "fp8")


class Tensor(NamedTuple):
    """`width`: bytes of an element, 0 if unknown; `dtype`: "fp32", "bf16", ... or ""."""

    shape: tuple[int, ...]
    width: int
    dtype: str

    @property
    def elements(self) -> int:
        return prod(self.shape)

    @property
    def bytes(self) -> int:
        return self.elements * self.width


class Operands(NamedTuple):
    """By place: a tensor, a list of tensors or None, and the plain value; `outputs` if recorded."""

    name: str
    slots: tuple[Tensor | tuple[Tensor, ...] | None, ...]
    values: tuple[Any, ...]
    outputs: tuple[Tensor, ...] = ()

    def tensor(self, place: int) -> Tensor | None:
        slot = self.slots[place] if 0 <= place < len(self.slots) else None
        return slot if isinstance(slot, Tensor) else None

    def shape(self, place: int) -> tuple[int, ...]:
        found = self.tensor(place)
        return () if found is None else found.shape

    def value(self, place: int) -> Any:
        return self.values[place] if 0 <= place < len(self.values) else None

    def whole(self, place: int) -> int | None:
        value = self.value(place)
        return value if type(value) is int else None

    def is_true(self, place: int) -> bool:
        return self.value(place) in (True, 1, "True")

    def listed(self, place: int) -> tuple[Tensor, ...]:
        """The tensors of a list; none if there is no list."""
        slot = self.slots[place] if 0 <= place < len(self.slots) else None
        return () if slot is None or isinstance(slot, Tensor) else slot

    def lists(self) -> list[tuple[Tensor, ...]]:
        """All lists with tensors."""
        return [found for place in range(len(self.slots)) if (found := self.listed(place))]

    def tensors(self) -> Iterator[Tensor]:
        """All of them, those of lists too."""
        for slot in self.slots:
            if isinstance(slot, Tensor):
                yield slot
            elif slot is not None:
                yield from slot


def operands(name: str, inputs: Io, outputs: Io | None = None) -> Operands:
    """Decoded inputs; `name` as recorded."""
    return Operands(
        name,
        tuple(_slots(inputs)),
        tuple(inputs.values),
        () if outputs is None else tuple(t for t in _slots(outputs) if isinstance(t, Tensor)),
    )


def _slots(io: Io) -> Iterator[Tensor | tuple[Tensor, ...] | None]:
    for place in range(max(len(io.types), len(io.shapes))):
        kind = io.types[place] if place < len(io.types) else "Tensor()"
        shape = io.shapes[place] if place < len(io.shapes) else []
        value = io.values[place] if place < len(io.values) else None
        yield _slot(str(kind), shape, value)


def _slot(kind: str, shape: Any, value: Any) -> Tensor | tuple[Tensor, ...] | None:
    if not isinstance(shape, list) or "Tensor" not in kind:
        return None
    if kind.startswith("Tensor"):
        return _tensor(shape, kind[7:-1], value)
    kinds = [part.strip() for part in kind[kind.find("[") + 1 : -1].split(",")]
    values = value if isinstance(value, list) else []
    found = []
    for place, one in enumerate(shape):
        own = kinds[place] if place < len(kinds) else ""
        is_tensor = own.startswith("Tensor") and isinstance(one, list)
        made = _tensor(one, own[7:-1], values[place : place + 1]) if is_tensor else None
        if made is not None:
            found.append(made)
    return tuple(found)


def _tensor(shape: list[Any], kind: str, value: Any) -> Tensor | None:
    if not all(type(size) is int and size >= 0 for size in shape):
        return None
    width = dtype_bytes(kind) or _stated_width(value)
    return Tensor(tuple(shape), width, dtype_of(kind))


def _stated_width(value: Any) -> int:
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    stated = value[4] if isinstance(value, list) and len(value) >= 5 else 0
    return stated if type(stated) is int and stated > 0 else 0


def dtype_of(kind: str) -> str:
    """The short name of a recorded element type; "" if none of arithmetic's."""
    plain = kind.lower().removeprefix("c10::").removeprefix("torch.")
    return "fp8" if plain.startswith("float8") else _TYPES.get(plain, "")


def widest(tensors: list[Tensor]) -> Tensor | None:
    """The tensor whose type results have: floating before whole, then wide before narrow."""
    known = [one for one in tensors if one.width]
    by_type = [one for one in known if one.dtype in _FLOATS] or known
    return max(by_type, key=lambda one: (bool(one.shape), one.width), default=None)


def broadcast(tensors: list[Tensor]) -> tuple[int, ...]:
    """The shape that all have together."""
    rank = max((len(one.shape) for one in tensors), default=0)
    made = [1] * rank
    for one in tensors:
        for place, size in enumerate(one.shape, rank - len(one.shape)):
            made[place] = size if made[place] == 1 else made[place]
    return tuple(made)
