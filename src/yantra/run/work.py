"""A run's size before it starts, and what exceeds the memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from yantra import _core
from yantra.base import memory
from yantra.base.errors import UnsupportedError
from yantra.base.units import format_size
from yantra.compile import Model

if TYPE_CHECKING:
    from collections.abc import Sequence

_MOST_QUEUES = 2**32 - 1
_SURELY_FREE = 16 * 2**20  # bytes; asking the system costs as much as a small run
_SHOWN = (("trillion", 1e12), ("billion", 1e9), ("million", 1e6), ("thousand", 1e3))
_EXACT_BELOW = 10_000
_MANY_MESSAGES = 50_000_000  # a minute or more of a small machine


class Work(NamedTuple):
    """Estimates for all ranks; folding reduces them.

    `memory_bytes`: the least beyond what is loaded.
    """

    events: int
    messages: int
    bytes_moved: int
    chunks: int
    memory_bytes: int

    def text(self) -> str:
        return (
            f"about {_about(self.events)} events and {_about(self.messages)} messages of "
            f"{format_size(self.bytes_moved)} unless folded, {_about(self.chunks)} chunks at once; "
            f"at least {format_size(self.memory_bytes)} of memory"
        )


def estimate(model: Model, ranks: Sequence[int] = ()) -> Work:
    return _of(_native(model, ranks))


def long_work(model: Model) -> str:
    messages = estimate(model).messages
    if messages < _MANY_MESSAGES:
        return ""
    return f"all {model.ranks} ranks are run, about {_about(messages)} messages"


def check_work(model: Model, ranks: Sequence[int] = ()) -> Work:
    """The same; raises UnsupportedError above the memory."""
    native = _native(model, ranks)
    work = _of(native)
    if native.queues_in_a_rank > _MOST_QUEUES:
        raise UnsupportedError(
            f"collectives.queues_per_dimension: a rank has {native.queues_in_a_rank:.3g} queues; "
            f"the core counts {_MOST_QUEUES}"
        )
    if work.memory_bytes > _SURELY_FREE or memory.is_limited():
        allowed = memory.limit()
        if work.memory_bytes > allowed.bytes:
            raise UnsupportedError(
                f"memory: {_need(native)}, more than {allowed.describe()}; use fewer "
                f"collectives.chunks or queues, or allow more with {memory.WHERE}"
            )
    memory.note(lambda: _need(native))
    return work


def _native(model: Model, ranks: Sequence[int]) -> _core.Work:
    return _core.work_of(model.native, list(ranks)) if ranks else model.work


def _need(native: _core.Work) -> str:
    size = format_size(round(native.bytes_needed))
    return f"the run keeps {_what(native)}: at least {size}"


def _of(native: _core.Work) -> Work:
    return Work(
        events=round(native.events),
        messages=round(native.messages),
        bytes_moved=round(native.bytes_moved),
        chunks=round(native.chunks),
        memory_bytes=round(native.bytes_needed),
    )


def _what(native: _core.Work) -> str:
    return (
        f"{_about(native.nodes)} nodes, {_about(native.chunks)} chunks at once and "
        f"{_about(native.queues)} queues"
    )


def _about(number: float) -> str:
    if number < _EXACT_BELOW:
        return f"{number:.0f}"
    name, factor = next((one for one in _SHOWN if number >= one[1]), _SHOWN[-1])
    return f"{number / factor:.3g} {name}"
