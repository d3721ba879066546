"""How many copies of a token leave a rank: one for each node, or rank, that has one of its experts.

A token goes to k of E experts. With experts drawn evenly a group that holds m of them has none of
its k with probability C(E - m, k) / C(E, k), so of G groups it goes to

    G (1 - C(E - m, k) / C(E, k)),  m = E / G

and of those a share 1 / G is the group that it comes from. Routing that is limited to a number of
nodes goes to all of these. Trade-off: the mean of all tokens; who has more is a matter of `load` in
`law`. Source: DeepSeek-AI, "DeepSeek-V3 technical report", arXiv 2412.19437 (2024), section 3.2.2;
DeepEP, https://github.com/deepseek-ai/DeepEP.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float64]
Amount = float | Reals
"""A number, or a column of them."""

SCALES = 128
"""Elements of a row in FP8 that share a scale of 4 bytes."""


class Traffic(NamedTuple):
    """Bytes of a rank in one direction: what its kernels copy, and what leaves over either network.

    `copied` counts copies that stay in the rank, as the kernels move these, too.
    """

    copied: Reals
    nvlink: Reals
    rdma: Reals


def row_bytes(hidden: Amount, dtype: str) -> Reals:
    """Return the bytes of a token's row: in `fp8` with its scales, else two an element."""
    hidden = np.asarray(hidden, np.float64)
    return hidden + 4 * np.ceil(hidden / SCALES) if dtype == "fp8" else 2 * hidden


def reached(groups: Amount, top_k: Amount, experts: Amount) -> Reals:
    """Return how many of so many groups of experts a token goes to, on average."""
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
    """Return the bytes of kernels that send a token once to each node and once to each rank there.

    `row` are the bytes of a token, `ranks` share the experts, `local` of them are a node, and
    `limit` is the number of nodes that routing is limited to, 0 for any. Traffic between the ranks
    of a node passes NVLink, that between nodes the adapters of the rank.
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
    """Return the bytes of kernels of low latency, which send a token to each of its experts."""
    whole = np.asarray(tokens, np.float64) * row * top_k
    between = 1 - np.asarray(local, np.float64) / ranks
    return Traffic(whole, whole * (1 - 1 / np.asarray(ranks)) - whole * between, whole * between)
