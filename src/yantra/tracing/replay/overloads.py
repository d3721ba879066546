"""Which overload of an operator the profiler saw: the one that its arguments fit.

Trade-off: Kineto records no schema. It records every argument, so their number and kinds decide;
two overloads that fit both are the first of PyTorch's own order, outputs given last.
"""

from __future__ import annotations

from typing import Any

from yantra.tracing.replay.calls import Io
from yantra.tracing.replay.tensors import CannotReplayError

_NUMBERS = ("int", "float", "bool", "number", "Scalar", "complex", "SymInt", "SymFloat", "SymBool")
_OUT = "out"


def overload(packet: Any, inputs: Io) -> Any:
    """The overload that recorded arguments fit. Raises CannotReplayError if none does."""
    names = sorted(packet.overloads(), key=lambda name: name == _OUT)
    for name in names:
        function = getattr(packet, name)
        arguments = function._schema.arguments
        rows = zip(arguments, inputs.types, inputs.values, strict=False)
        if len(arguments) == len(inputs.types) and all(_fits(*row) for row in rows):
            return function
    if not inputs.types:
        raise CannotReplayError("its arguments are not recorded (record_shapes=True)")
    raise CannotReplayError("no overload fits the arguments that the profiler recorded")


def _fits(argument: Any, kind: str, value: Any) -> bool:
    wanted = str(argument.type)
    optional = wanted.startswith("Optional[")
    wanted = wanted.removeprefix("Optional[").removesuffix("]") if optional else wanted
    if kind.startswith("Tensor("):
        return wanted == "Tensor"
    if kind.startswith("GenericList["):
        return wanted.startswith("List[") and "Tensor" in wanted
    if kind == "ScalarList":
        return wanted.startswith("List[") and "Tensor" not in wanted and isinstance(value, list)
    if kind == "Scalar":
        is_number = isinstance(value, int | float)
        return (wanted in _NUMBERS and is_number) or (optional and value is None)
    return optional if value is None else wanted == "str" and isinstance(value, str)
