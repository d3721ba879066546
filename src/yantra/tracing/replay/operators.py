"""Calls an operator again: its schema's function, with new arguments.

Only those that compute (`computing.py`) or that the user names.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from yantra.tracing.replay import computing
from yantra.tracing.replay.calls import Call, Io
from yantra.tracing.replay.tensors import CannotReplayError, Pool, Recorded, parsed

_NAME = re.compile(r"^([\w]+)::([\w]+)(?:\.([\w]+))?\(")
NOT_LISTED = "is not one of the operators that compute"
"""Why an operator of the trace is not called."""

_DEVICE = ("Device", "Optional[Device]", "Device?")
_ASIDE = {"profiler": "it belongs to the profiler", "record_function": "it belongs to the profiler"}


class Prepared:
    """A repeatable call and the tensors it needs."""

    def __init__(self, torch: Any, call: Call, device: str, also: Sequence[str] = ()) -> None:
        """Find the operator, computing or in `also`. Raises CannotReplayError."""
        self.call = call
        self._torch, self._device = torch, device
        self.function = _function(torch, call.schema, also)
        self._arguments = list(self.function._schema.arguments)
        if len(call.inputs.values) > len(self._arguments):
            raise CannotReplayError("its schema has changed since it was recorded")
        self._values = list(_values(call.inputs))
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


def _function(torch: Any, schema: str, also: Sequence[str]) -> Any:
    name = _NAME.match(schema)
    if name is None:
        raise CannotReplayError("no schema" if not schema else "a schema of another form")
    space, operator, overload = name.groups()
    if space in _ASIDE:
        raise CannotReplayError(_ASIDE[space])
    computes = space == computing.SPACE and operator in computing.NAMES
    if not computes and f"{space}::{operator}" not in also:
        raise CannotReplayError(f"{space}::{operator} {NOT_LISTED}")
    try:
        packet = getattr(getattr(torch.ops, space), operator)
        function = getattr(packet, overload or "default")
    except (AttributeError, RuntimeError):
        function = None
    if not hasattr(function, "_schema"):
        raise CannotReplayError(
            f"this PyTorch has no {space}::{operator}{'.' + overload if overload else ''}"
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
