"""Groups of layers that share pages of KV, as vLLM's hybrid manager makes them.

Layers that keep all tokens, windows or states are groups of equally many layers, each with a block
of its own, so that one pool of equal blocks serves all (vLLM, kv_cache_utils.py,
get_kv_cache_groups).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from yantra.base.text import count
from yantra.workloads.serving.kv_cache import LayerCache

GROUPED = ("full_groups", "window_groups", "window", "state_groups")
"""What the engine calls them."""
_ALIGNED = 16
"""Tokens by which kernels of attention read blocks."""
_FEW_MORE = 1.25
"""Groups take the size of the larger kind of layers where it is less than so much larger."""


class Groups(NamedTuple):
    """Groups of each kind, and their blocks of `block_size` tokens and `block_bytes`."""

    full: int
    windowed: int
    window: int
    states: int
    block_size: int
    block_bytes: int

    @property
    def is_plain(self) -> bool:
        """Whether there is one group that keeps all tokens."""
        return (self.full, self.windowed, self.states) == (1, 0, 0)

    def blocks(self, tokens: Any) -> Any:
        whole = -(-tokens // self.block_size)
        passed = (tokens - self.window) // self.block_size
        held = whole - passed * (passed > 0)
        return self.full * whole + self.windowed * held + self.states

    @classmethod
    def of(cls, options: Mapping[str, float], block_size: int) -> Groups:
        full, windowed, window, states = (int(options.get(name, 0)) for name in GROUPED)
        return cls(full, windowed, window, states, block_size, 0)

    def words(self) -> str:
        """Say which groups there are."""
        parts = {
            f"{count(self.full, 'group')} of all tokens": self.full,
            f"{count(self.windowed, 'group')} of the last {self.window:,}": self.windowed,
            f"{count(self.states, 'group')} of a state": self.states,
        }
        return ", ".join(words for words, number in parts.items() if number)

    def options(self) -> dict[str, float]:
        if self.is_plain:
            return {}
        return {name: float(value) for name, value in zip(GROUPED, self[:4], strict=True)}


def groups_of(layers: Sequence[Sequence[LayerCache]], tp: int, block_size: int) -> Groups | None:
    """None where windows differ, or pages cannot be made equal."""
    kinds = Counter(filter(None, (_kind(layer, tp) for layer in layers)))
    tokens = {kind for kind in kinds if not kind.is_state}
    states = {kind for kind in kinds if kind.is_state}
    windows = {kind.window for kind in tokens} - {0}
    if not kinds or len(windows) > 1 or len({kind.size for kind in tokens}) > 1 or len(states) > 1:
        return None
    page, state = (next((kind.size for kind in some), 0) for some in (tokens, states))
    if page and state > page * block_size:
        block_size = -(-state // (page * _ALIGNED)) * _ALIGNED
    least, most = min(kinds.values()), max(kinds.values())
    each = most if most < least * _FEW_MORE else least
    number = {kind: -(-layers // each) for kind, layers in kinds.items()}
    return Groups(
        full=sum(number[kind] for kind in tokens if not kind.window),
        windowed=sum(number[kind] for kind in tokens if kind.window),
        window=max(windows, default=0),
        states=sum(number[kind] for kind in states),
        block_size=block_size,
        block_bytes=each * max(page * block_size, state),
    )


class _Kind(NamedTuple):
    is_state: bool
    window: int
    size: int
    """Bytes of a token, or of a state."""


def _kind(layer: Iterable[LayerCache], tp: int) -> _Kind | None:
    caches = list(layer)
    if not caches:
        return None
    is_state = all(cache.per_sequence for cache in caches)
    window = max(cache.window or 0 for cache in caches)
    size = sum(cache.rank_bytes(tp) for cache in caches)
    return _Kind(is_state, window, size)
