"""How long a dispatch or combine takes: what its SMs copy, NVLink and the adapters carry at once.

For T tokens of h elements, rows of w bytes, d copies a token (`routing`), and S SMs, in us:

    normal       a + b h + p-norm(T (q + d (o + w / r)) / S, X / (reach link), R / (reach' adapter))
    elastic      the same without q and o: what is done for each token and for each copy
    low_latency  a + e E + p-norm(T k w / (min(E, 132) r), X / (reach link), R / (reach' adapter))

X and R are bytes over NVLink and adapters, E all experts, p = 8; for N > 1 nodes `a` has further c
+ g log2 N. a, b, q, o, r, e are fitted per GPU and direction, NVLink's reach by normal kernels
once, adapters' by low-latency kernels over 2, 4 and 8 nodes.

Source: DeepEP, csrc/kernels/internode.cu.

All wait for the busiest rank, with `load` times the mean.
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

_BLOCKED = (1.0, 1.0, 0.75, 0.6825, 0.6553, 0.6399, 0.6302, 0.6234, 0.6184)
_BLOCKED_MANY = 0.5858
_UNITS = 132.0  # experts copied at once: one for each SM of an H100


class Constants(NamedTuple):
    """`a`, `c` and `g` in us, `b` in us per 1,000 elements, `q` and `o` in ns, `r` in GB/s of an SM
    (low_latency: of an expert), `e` in ns per expert; `reach` and `adapter_reach` are shares of
    what a link and an adapter have; `relay`, `sync` (us) and `blocking` are of normal kernels over
    nodes.
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
    relay: float = 1.0
    sync: float = 0.0
    blocking: float = 0.0


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
    nodes = of.ranks / of.local
    over = (nodes > 1) & (kernels == "normal")
    if kernels == "low_latency":
        copying = sent.copied / (given.r * np.minimum(of.experts, _UNITS))
    else:
        own = sent.copied / given.r
        if kernels == "normal":
            row = row_bytes(of.hidden, dtype)
            own = own + of.tokens * given.q + sent.copied / row * given.o
        copying = own / of.sms * np.where(over, given.relay, 1.0)
    linked = sent.nvlink / (given.reach * of.link)
    left = np.where(over, unblocked(nodes - 1) ** given.blocking, 1.0)
    sent_far = sent.rdma / (given.adapter_reach * of.adapter * left)
    stages = (copying, linked, sent_far)
    moved = sum((1e-3 * of.load * stage) ** POWER for stage in stages) ** (1 / POWER)
    steps = np.log2(np.maximum(nodes, 1))
    far = np.where(nodes > 1, given.c + given.g * steps, 0.0)
    far = np.where(over, given.sync * steps, far)
    made: Reals = given.a + given.b * of.hidden / 1e3 + given.e * of.experts / 1e3 + far + moved
    return made


def unblocked(others: Reals) -> Reals:
    known = np.arange(len(_BLOCKED))
    beyond = (_BLOCKED[-1] - _BLOCKED_MANY) * known[-1] / np.maximum(others, known[-1])
    near = np.interp(others, known, _BLOCKED)
    made: Reals = np.where(others > known[-1], _BLOCKED_MANY + beyond, near)
    return made
