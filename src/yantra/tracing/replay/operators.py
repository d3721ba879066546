"""Calls an operator again: its schema's function, with new arguments."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from yantra.tracing.replay import computing
from yantra.tracing.replay.calls import Call, Io
from yantra.tracing.replay.overloads import overload
from yantra.tracing.replay.tensors import CannotReplayError, Pool, Recorded, parsed

_NAME = re.compile(r"^([\w]+)::([\w]+)(?:\.([\w]+))?\(")
NOT_LISTED = "is not one of the operators that compute"
"""Why an operator of the trace is not called."""

_MOST_TENSORS = 1 << 16  # of a list
_DEVICE = ("Device", "Optional[Device]", "Device?")
_ASIDE = {"profiler": "it belongs to the profiler", "record_function": "it belongs to the profiler"}


class Prepared:
    """A repeatable call and the tensors it needs."""

    def __init__(self, torch: Any, call: Call, device: str, also: Sequence[str] = ()) -> None:
        """Find the operator, computing or in `also`. Raises CannotReplayError."""
        self.call = call
        self._torch, self._device = torch, device
        values = list(_values(call.inputs))
        if call.is_bare:
            self.function = overload(_packet(torch, call.schema, also), call.inputs)
            values = [_apart(value, place) for place, value in enumerate(values)]
        else:
            self.function = _function(torch, call.schema, also)
        self._arguments = list(self.function._schema.arguments)
        if len(values) > len(self._arguments):
            raise CannotReplayError("its schema has changed since it was recorded")
        self._values = values
        self.tensors = [leaf for value in self._values for leaf in _tensors(value)]

    def bound(self, pool: Pool) -> Callable[[], Any]:
        places: list[Any] = []
        names: dict[str, Any] = {}
        for argument, value in zip(self._arguments, self._values, strict=False):
            made = self._made(value, pool)
            if made is not None and str(argument.type) in _DEVICE:
                made = self._torch.device(self._device)
            if argument.kwarg_only:
                names[argument.name] = made
            else:
                places.append(made)
        function = self.function
        return lambda: function(*places, **names)

    def shapes_differ(self, result: Any) -> str:
        try:
            said = [leaf.shape for v in _values(self.call.outputs) for leaf in _tensors(v)]
        except CannotReplayError:
            return ""
        got = [tuple(tensor.shape) for tensor in _results(self._torch, result)]
        return "" if not said or got == said else f"shapes {got}, recorded {said}"

    def _made(self, value: Any, pool: Pool) -> Any:
        if isinstance(value, Recorded):
            return pool.tensor(value)
        if isinstance(value, list):
            return [self._made(part, pool) for part in value]
        return value


def _packet(torch: Any, name: str, also: Sequence[str]) -> Any:
    """All overloads of an operator that may be called."""
    space, _, operator = name.partition("::")
    _check_computes(space, operator, also)
    found = getattr(getattr(torch.ops, space), operator, None)
    if found is None:
        raise CannotReplayError(f"this PyTorch has no {name}")
    return found


def _check_computes(space: str, operator: str, also: Sequence[str]) -> None:
    if space in _ASIDE:
        raise CannotReplayError(_ASIDE[space])
    computes = space == computing.SPACE and operator in computing.NAMES
    if not computes and f"{space}::{operator}" not in also:
        raise CannotReplayError(f"{space}::{operator} {NOT_LISTED}")


def _apart(value: Any, place: int) -> Any:
    """With a storage of the argument's own: the profiler knows none."""
    if isinstance(value, Recorded):
        return value._replace(storage=(place, ""))
    if isinstance(value, list):
        return [_apart(part, (place + 1) * _MOST_TENSORS + at) for at, part in enumerate(value)]
    return value


def _function(torch: Any, schema: str, also: Sequence[str]) -> Any:
    name = _NAME.match(schema)
    if name is None:
        raise CannotReplayError("no schema" if not schema else "a schema of another form")
    space, operator, which = name.groups()
    _check_computes(space, operator, also)
    try:
        packet = getattr(getattr(torch.ops, space), operator)
        function = getattr(packet, which or "default")
    except (AttributeError, RuntimeError):
        function = None
    if not hasattr(function, "_schema"):
        raise CannotReplayError(
            f"this PyTorch has no {space}::{operator}{'.' + which if which else ''}"
        )
    return function


def _values(io: Io) -> Iterator[Any]:
    strides = io.strides if io.strides is not None else [None] * len(io.values)
    if not len(io.values) == len(io.shapes) == len(io.types) == len(strides):
        raise CannotReplayError("its arguments are not recorded whole")
    for value, shape, kind, steps in zip(io.values, io.shapes, io.types, strides, strict=True):
        yield parsed(value, shape, kind, steps)


def _tensors(value: Any) -> Iterator[Recorded]:
    if isinstance(value, Recorded):
        yield value
    elif isinstance(value, list):
        for part in value:
            yield from _tensors(part)


def _results(torch: Any, value: Any) -> Iterator[Any]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _results(torch, part)
