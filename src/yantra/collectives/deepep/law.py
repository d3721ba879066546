"""How long a dispatch or combine takes: what its SMs copy, NVLink and the adapters carry at once.

For T tokens of h elements, rows of w bytes, d copies a token (`routing`), and S SMs, in us:

    normal       a + b h + p-norm(T (q + d (o + w / r)) / S, X / (reach link), R / (reach' adapter))
    elastic      the same without q and o: what is done for each token and for each copy
    low_latency  a + e E + p-norm(T k w / (min(E, 132) r), X / (reach link), R / (reach' adapter))

X and R are bytes over NVLink and adapters, E all experts, p = 8; for N > 1 nodes `a` has further c
+ g log2 N. a, b, q, o, r, e are fitted per GPU and direction, NVLink's reach by normal kernels
once; adapters' comes from low-latency kernels over 2, 4 and 8 nodes, as nobody published others.

`elastic`, DeepEP's second version, has no published tables: that its SMs only copy, as fast as
before, is assumed, and tested by its published rates. All wait for the busiest rank, with `load`
times the mean.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from yantra.collectives.deepep.routing import (
    Amount,
    Reals,
    Traffic,
    row_bytes,
    traffic,
    traffic_of_each,
)

Direction = Literal["dispatch", "combine"]
Kernels = Literal["normal", "elastic", "low_latency"]
DIRECTIONS: tuple[Direction, ...] = ("dispatch", "combine")

POWER = 8.0
"""How much of the shorter stages shows beside the longest.

Normal kernels are 6.3 % off with 4 and 6.4 % with 12; of elastic kernels' published rates, with
often equal stages, three are 16 to 17 % off with 4.
"""

_UNITS = 132.0  # experts copied at once: one for each SM of an H100


class Constants(NamedTuple):
    """What is fitted for a GPU, a direction and a kind of kernels.

    `a`, `c` and `g` in us, `b` in us per 1,000 elements, `q` and `o` in ns, `r` in GB/s of an SM
    (low_latency: of an expert), `e` in ns per expert; `reach` and `adapter_reach` are shares of
    what a link and an adapter have.
    """

    a: float
    b: float
    q: float
    o: float
    r: float
    e: float
    reach: float
    adapter_reach: float
    c: float
    g: float


class Exchange(NamedTuple):
    """What is sent, as numbers or columns; a token reaches at most `limit` nodes (0: any).

    `link` and `adapter` are a rank's NVLink and adapters one way, in bytes/ns.
    """

    tokens: Reals
    hidden: Reals
    top_k: Reals
    experts: Reals
    ranks: Reals
    local: Reals
    sms: Reals
    link: Reals
    adapter: Reals
    limit: Reals
    load: Reals


def exchange(
    *,
    tokens: Amount,
    hidden: Amount,
    top_k: Amount,
    experts: Amount,
    ranks: Amount,
    local: Amount,
    sms: Amount,
    link: Amount,
    adapter: Amount,
    limit: Amount = 0.0,
    load: Amount = 1.0,
) -> Exchange:
    return Exchange(*(np.asarray(one, np.float64) for one in (
        tokens, hidden, top_k, experts, ranks, local, sms, link, adapter, limit, load
    )))  # fmt: skip


def bytes_of(of: Exchange, dtype: str, kernels: Kernels) -> Traffic:
    """What a rank sends in one direction, before the load of the busiest."""
    row = row_bytes(of.hidden, dtype)
    if kernels == "low_latency":
        message = row + 16 if dtype == "fp8" else row  # with the number of the token
        return traffic_of_each(of.tokens, message, top_k=of.top_k, ranks=of.ranks, local=of.local)
    return traffic(
        of.tokens, row, top_k=of.top_k, experts=of.experts, ranks=of.ranks, local=of.local,
        limit=of.limit,
    )  # fmt: skip


def time_us(given: Constants, of: Exchange, dtype: str, kernels: Kernels) -> Reals:
    sent = bytes_of(of, dtype, kernels)
    if kernels == "low_latency":
        copying = sent.copied / (given.r * np.minimum(of.experts, _UNITS))
    else:
        own = sent.copied / given.r
        if kernels == "normal":
            row = row_bytes(of.hidden, dtype)
            own = own + of.tokens * given.q + sent.copied / row * given.o
        copying = own / of.sms
    linked = sent.nvlink / (given.reach * of.link)
    sent_far = sent.rdma / (given.adapter_reach * of.adapter)
    stages = (copying, linked, sent_far)
    moved = sum((1e-3 * of.load * stage) ** POWER for stage in stages) ** (1 / POWER)
    nodes = of.ranks / of.local
    far = np.where(nodes > 1, given.c + given.g * np.log2(np.maximum(nodes, 1)), 0.0)
    made: Reals = given.a + given.b * of.hidden / 1e3 + given.e * of.experts / 1e3 + far + moved
    return made
