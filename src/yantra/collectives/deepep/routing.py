"""How many copies of a token leave a rank: one for each node, or rank, that has one of its experts.

With k of E experts drawn evenly, a token goes, of G groups, to

    G (1 - C(E - m, k) / C(E, k)),  m = E / G

a share 1 / G its own; with routing limited to some nodes, to all of these. Trade-off: a mean; skew
is `load` in `law`. Source: DeepSeek-AI, "DeepSeek-V3 technical report", arXiv 2412.19437 (2024),
section 3.2.2; DeepEP, https://github.com/deepseek-ai/DeepEP.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float64]
Amount = float | Reals
"""A number, or a column of them."""

SCALES = 128
"""Elements of an FP8 row that share a scale of 4 bytes."""


class Traffic(NamedTuple):
    """Bytes of a rank one way: copied by its kernels, and over either network."""

    copied: Reals
    nvlink: Reals
    rdma: Reals


def row_bytes(hidden: Amount, dtype: str) -> Reals:
    """The bytes of a token's row: `fp8` with its scales, else two an element."""
    hidden = np.asarray(hidden, np.float64)
    return hidden + 4 * np.ceil(hidden / SCALES) if dtype == "fp8" else 2 * hidden


def reached(groups: Amount, top_k: Amount, experts: Amount) -> Reals:
    several, chosen, whole = np.broadcast_arrays(
        *(np.asarray(one, np.float64) for one in (groups, top_k, experts))
    )
    holders = np.minimum(several, whole)  # more hold none
    inside = whole / holders
    none = np.ones(holders.shape)
    for drawn in range(int(chosen.max(initial=0))):
        left = np.maximum(whole - inside - drawn, 0) / np.maximum(whole - drawn, 1)
        none = np.where(drawn < chosen, none * left, none)
    made: Reals = holders * (1 - none)
    return made


def traffic(
    tokens: Amount,
    row: Amount,
    *,
    top_k: Amount,
    experts: Amount,
    ranks: Amount,
    local: Amount,
    limit: Amount = 0.0,
) -> Traffic:
    """The bytes of kernels that send a token once to each node and once to each rank there.

    `row` is a token's bytes; `ranks` share the experts, `local` are a node; a token reaches at most
    `limit` nodes (0: any). NVLink carries traffic in a node, adapters the rest.
    """
    nodes = np.asarray(ranks, np.float64) / local
    to_nodes = reached(nodes, top_k, experts)
    to_ranks = reached(ranks, top_k, experts)
    to_nodes = np.minimum(to_nodes, np.where(np.asarray(limit) > 0, limit, nodes))
    to_ranks = np.minimum(to_ranks, to_nodes * local)
    whole = np.asarray(tokens, np.float64) * row
    return Traffic(
        whole * to_ranks, whole * to_ranks * (1 - 1 / np.asarray(local)),
        whole * to_nodes * (1 - 1 / nodes),
    )  # fmt: skip


def traffic_of_each(
    tokens: Amount, row: Amount, *, top_k: Amount, ranks: Amount, local: Amount
) -> Traffic:
    """The bytes of low-latency kernels, which send a token to each of its experts."""
    whole = np.asarray(tokens, np.float64) * row * top_k
    between = 1 - np.asarray(local, np.float64) / ranks
    return Traffic(whole, whole * (1 - 1 / np.asarray(ranks)) - whole * between, whole * between)
