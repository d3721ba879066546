"""Recorded host work at another length: nodes of the CPU that are no delay, all by one factor.

Trade-off: one factor for all operators, which is what a machine with another CPU changes first;
delays keep their time, as nobody knows what they wait for.
"""

from __future__ import annotations

from collections.abc import Iterable

from yantra.base.errors import ConfigError, expected_got
from yantra.chakra.schema import Node, NodeType
from yantra.chakra.trace import Trace

_DELAY = "delay"
_MOST = 1000.0
_NO_METADATA = b"\0"  # a trace begins with its metadata: an empty message's length


def factor_of(text: str, where: str) -> float:
    """The factor of `0.8` or `x0.8`. Raises ConfigError."""
    try:
        found = float(text.removeprefix("x"))
    except ValueError:
        found = -1.0
    if not 0 <= found <= _MOST:
        raise ConfigError(where, expected_got(f"a factor from 0 to {_MOST:g}, such as x0.8", text))
    return found


def scaled(pieces: Iterable[bytes], factor: float) -> Iterable[bytes]:
    """The content of an .et file, in pieces of whole nodes, with its host work `factor` times as
    long.
    """
    if factor == 1:
        yield from pieces
        return
    metadata, layout = b"", None
    for piece in pieces:
        trace = Trace.from_bytes(metadata + piece, layout=layout)
        yield of_trace(trace, factor).to_bytes()[len(metadata) :]
        metadata, layout = _NO_METADATA, "0.0.4"


def of_trace(trace: Trace, factor: float) -> Trace:
    """A trace with its host work `factor` times as long."""
    if factor == 1:
        return trace
    nodes = list(trace)
    for node in nodes:
        if node.type == NodeType.COMP and node.name != _DELAY and node.get("is_cpu_op"):
            _scale(node, factor)
    return Trace(nodes, trace.metadata)


def _scale(node: Node, factor: float) -> None:
    exact = node.attribute("duration_ns")
    ns = exact.value if exact is not None and isinstance(exact.value, int) else None
    made = round((node.duration_micros * 1000 if ns is None else ns) * factor)
    node.duration_micros = round(made / 1000)
    if exact is not None and ns is not None:
        node.set("duration_ns", made, exact.kind)
