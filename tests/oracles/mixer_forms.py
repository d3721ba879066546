"""Closed forms of what layers compute for a token and a sequence, from the papers; one
multiply-accumulate is two operations. Sources: the modules of the blocks; DeepSeek-V3.2, 2025,
section 2.1; Gated Delta Networks, 2025, section 3.3; Mamba-2, 2024, section 6; Lightning
Attention-2, 2024, section 3.
"""

from __future__ import annotations

from typing import NamedTuple


class Kind(NamedTuple):
    products: int
    whole: int = 0
    added: int = 0

    def __add__(self, other: object) -> Kind:
        assert isinstance(other, Kind)
        return Kind(*(a + b for a, b in zip(tuple(self), tuple(other), strict=True)))

    def times(self, count: int) -> Kind:
        return Kind(*(count * value for value in self))


def seen(tokens: int, window: int = 0, chunk: int = 0) -> int:
    """Pairs of a query and a key under a causal mask."""
    if chunk:
        return sum(min(chunk, tokens - at) * (min(chunk, tokens - at) + 1) // 2
                   for at in range(0, tokens, chunk))  # fmt: skip
    if window and tokens > window:
        return window * (window + 1) // 2 + (tokens - window) * window
    return tokens * (tokens + 1) // 2


def attention(
    s: int, past: int, h: int, a: int, g: int, d: int, v: int = 0, *,
    window: int = 0, chunk: int = 0, gate: int = 0, shared: bool = False,
) -> Kind:  # fmt: skip
    """Grouped queries: `gate` columns beside them; `shared` keys that are values."""
    v = v or d
    products = h * (a * d + g * d + (0 if shared else g * v) + gate) + a * v * h
    pair = 2 * (d + v) * a
    added = past % chunk + 1 if chunk else min(past + 1, window or past + 1)
    return Kind(products, pair * seen(s, window, chunk), pair * added)


def latent(
    s: int, past: int, h: int, a: int, q: int, kv: int, nope: int, rope: int, v: int, *,
    keys: int = 0, index: tuple[int, int] | None = None,
) -> Kind:  # fmt: skip
    """Latent attention; one token is absorbed into the latent rows, and so is all with an index."""
    queries = h * q + q * a * (nope + rope) if q else h * a * (nope + rope)
    products = queries + h * (kv + rope) + kv * a * (nope + v) + a * v * h
    pair = 2 * (nope + rope + v) * a
    added = 2 * (2 * kv + rope) * a * min(past + 1, keys or past + 1)
    whole = pair * seen(s, keys)
    if index:
        heads, width = index
        products += q * heads * width + h * width + h * heads
        whole += 2 * heads * width * seen(s)
        added += 2 * heads * width * (past + 1)
    return Kind(products, whole, added)


def chunks(s: int, size: int) -> list[int]:
    return [min(size, s - at) for at in range(0, s, size)]


def delta(q: int, k: int, v: int) -> int:
    inverse = 2 * q**3 // 3
    return 2 * (2 * q * q * k) + inverse + 2 * q * q * (k + v) + 2 * q * q * v + 3 * (2 * q * k * v)


def gated_delta(s: int, h: int, heads: int, keys: int, k: int, v: int) -> Kind:
    products = h * (2 * keys * k + 2 * heads * v + 2 * heads) + heads * v * h
    return Kind(
        products, heads * sum(delta(q, k, v) for q in chunks(s, 64)), heads * delta(1, k, v)
    )


def kimi_delta(s: int, h: int, heads: int, d: int) -> Kind:
    wide = heads * d
    products = h * (3 * wide + heads) + 2 * (h * d + d * wide) + wide * h
    return Kind(
        products, heads * sum(delta(q, d, d) for q in chunks(s, 64)), heads * delta(1, d, d)
    )


def mamba2(s: int, h: int, heads: int, p: int, n: int, groups: int, size: int) -> Kind:
    inner = heads * p

    def scan(q: int) -> int:
        return 2 * q * q * n * groups + 2 * q * q * inner + 2 * (2 * q * n * inner)

    products = h * (2 * inner + 2 * groups * n + heads) + inner * h
    return Kind(products, sum(scan(q) for q in chunks(s, size)), scan(1))


def mamba1(h: int, inner: int, n: int, steps: int) -> Kind:
    return Kind(h * 2 * inner + inner * (steps + 2 * n) + steps * inner + inner * h)


def lightning(s: int, h: int, heads: int, d: int, size: int) -> Kind:
    def chunk(q: int) -> int:
        return heads * (2 * (2 * q * q * d) + 2 * (2 * q * d * d))

    return Kind(h * 4 * heads * d + heads * d * h, sum(chunk(q) for q in chunks(s, size)), chunk(1))


def convolution(h: int) -> Kind:
    return Kind(h * 3 * h + h * h)


def feed_forward(h: int, f: int, matrices: int = 3) -> Kind:
    return Kind(matrices * h * f)


def mixture(
    h: int, experts: int, chosen: int, f: int, shared: int = 0, *,
    matrices: int = 3, gate: int = 0, rows: int = 0,
) -> Kind:  # fmt: skip
    wide = rows or h
    there = 2 * h * rows
    return Kind(
        h * experts + chosen * matrices * wide * f + matrices * h * shared + gate * h + there
    )
