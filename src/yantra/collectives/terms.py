"""How long a collective of NCCL takes: the best of its algorithms and protocols, as measured.

    T(n, S) = min over terms of  latency + step x hops(n) + wire(n, S) / bandwidth

LL sends a flag with every 4 bytes, LL128 one with every 120, Simple waits for whole slices.
Algorithms differ, unfitted, by:

| in a node | hops | wire | | --- | --- | --- | | Ring | n - 1, of an all-reduce twice | (n - 1) / n
S, of an all-reduce twice, + S / 2 n | | Sends (all-to-all) | n - 1 | (n - 1) / n S + S / 2 n | |
NVLS, the switches add | none | S (1 + 1 / n): each link has all of it and its own share again | |
**over nodes** | | | | Tree | log2(nodes) | as a ring's in a node | | NVLSTree | log2(nodes) | 2
(nodes - 1) / nodes S | | Ring | nodes, of an all-reduce twice as much, in crossings with 8 ranks a
node | the same | | Sends | half of log2(nodes) | (n - local) / n S |

S is in bytes as in nccl-tests: all ranks' together for an all-gather, else one's. Over nodes the
bandwidth is that of the node's adapters, or of its links if less. Beyond 8 ranks of a node, or the
most measured, hops grow with the logarithm, as trees and switches spare the chain.

**Other links** (`Faster`). The launch stays, steps scale with latency, the wire with 1 / bandwidth,
over nodes at most what links in the node reach.

Trade-off: a term is what runs where it is best, though NCCL's tuner may err. Sources: Hu et al.,
"Demystifying NCCL", arXiv 2507.04786 (2025), for the protocols; NCCL 2.30.7, src/graph/tuning.cc,
for hops and the weight of crossings.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from yantra.collectives.nccl.constants import NETWORK, NVLINK, PROTOCOLS, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    Reals = NDArray[np.float64]

FACTORS = {"all_reduce": 2.0, "all_gather": 1.0, "reduce_scatter": 1.0, "all_to_all": 1.0}
"""Bytes on the wire of a rank, as multiples of (n - 1) / n S; nccl-tests, PERFORMANCE.md."""

ALGORITHMS = ("Ring", "Tree", "NVLS", "NVLSTree", "Sends")
_OWN_PART = 0.5  # bytes sent in the time of a rank's own part; see above
USUAL_LOCAL = 8
"""Ranks of a node that a ring's crossings are counted with."""


class Term(NamedTuple):
    """An algorithm with a protocol: microseconds, and bytes per microsecond."""

    algorithm: str
    protocol: str
    latency_us: float
    step_us: float
    bytes_per_us: float

    @property
    def name(self) -> str:
        """Both names: `Ring LL128`."""
        return f"{self.algorithm} {self.protocol}"


class Points(NamedTuple):
    """Collectives of one kind, in a node or over nodes: columns of equal length.

    `most` ranks of a node (at most 8) have hops counted one by one; `once` is the share sent of an
    all-to-all's bytes over nodes.
    """

    kind: str
    ranks: Reals
    nodes: Reals
    size: Reals
    most: int = USUAL_LOCAL
    once: float = 1.0


class Faster(NamedTuple):
    """Links over the measured ones: factors of bandwidth and latency, in a node and between.

    `most_in_node`: bytes/us that links in the node reach.
    """

    bandwidth: float = 1.0
    latency: float = 1.0
    bandwidth_over: float = 1.0
    latency_over: float = 1.0
    most_in_node: float = float("inf")

    @property
    def is_as_measured(self) -> bool:
        return self[:4] == (1.0, 1.0, 1.0, 1.0)


def points(
    kind: str, ranks: int, nodes: float, sizes: Sequence[float] | Reals, most: int = USUAL_LOCAL,
    once: float = 1.0,
) -> Points:  # fmt: skip
    """One collective of several sizes, in bytes."""
    import numpy as np

    size = np.asarray(sizes, dtype=float)
    whole = np.full(len(size), float(ranks))
    return Points(kind, whole, np.full(len(size), float(nodes)), size, most, once)


def taken(
    terms: Sequence[Term], at: Points, faster: Faster | None = None
) -> tuple[Reals, NDArray[np.intp]]:
    """The microseconds of each collective, and the index of its term."""
    import numpy as np

    numbers = np.array([one[2:] for one in terms])
    numbers[:, 2] = 1.0 / numbers[:, 2]
    found = features(terms, at)
    us = np.einsum("kni,ki->kn", found, numbers)
    best = us.argmin(axis=0)
    rows = np.arange(us.shape[1])
    if faster is None or faster.is_as_measured:
        return us[best, rows], best
    parts = found * numbers[:, None, :]
    for term, part in zip(terms, parts, strict=True):
        part[:, 1] *= _slower_steps(term, at, faster)
        part[:, 2] *= _slower_bytes(term, at, faster)
    kept = (parts[:, :, 0] + parts[:, :, 1])[best, rows]
    us = parts.sum(axis=2)
    best = us.argmin(axis=0)
    return np.maximum(us[best, rows], kept), best


def _slower_steps(term: Term, at: Points, faster: Faster) -> Reals:
    import numpy as np

    over = np.full_like(at.size, faster.latency_over)
    if term.algorithm == "Ring":
        inside = np.maximum(at.ranks / at.nodes - 1.0, 0.0)
        across = _across(term.protocol)
        over = (inside * faster.latency + across * faster.latency_over) / (inside + across)
    return np.where(at.nodes > 1, over, faster.latency)


def _slower_bytes(term: Term, at: Points, faster: Faster) -> Reals:
    import numpy as np

    most = max(faster.most_in_node, term.bytes_per_us)
    within = faster.bandwidth * (most / term.bytes_per_us)
    over = min(faster.bandwidth_over, within)
    return np.where(at.nodes > 1, 1.0 / over, 1.0 / faster.bandwidth)


def features(terms: Sequence[Term], at: Points) -> Reals:
    """Factors of latency, step and inverse bandwidth: (k, n, 3)."""
    import numpy as np

    one = np.ones_like(at.size)
    return np.array(
        [np.stack([one, hops(term, at), wire(term, at)], axis=1) for term in terms], dtype=float
    )


def hops(term: Term, at: Points) -> Reals:
    import numpy as np

    over = at.nodes > 1
    both = 2.0 if at.kind == "all_reduce" else 1.0
    most = min(at.most, USUAL_LOCAL)
    inside = np.minimum(at.ranks, most) - 1.0 + most * np.log(np.maximum(at.ranks / most, 1.0))
    if term.algorithm == "NVLS":
        return np.zeros_like(at.size)
    if term.algorithm in ("Tree", "NVLSTree"):
        return np.log2(at.nodes)
    if term.algorithm == "Sends":
        return np.where(over, 0.5 * np.log2(at.nodes), inside)
    crossings = at.nodes * crossing(term.protocol, at.ranks / at.nodes) * both / 2.0
    return np.where(over, crossings, both * inside)


def crossing(protocol: str, local: Reals) -> Reals:
    """The time of a ring through a node and to the next, relative to 8 ranks a node."""
    across = _across(protocol)
    return (local - 1.0 + across) / (USUAL_LOCAL - 1.0 + across)


def _across(protocol: str) -> float:
    at = PROTOCOLS.index(protocol)
    return NETWORK["Ring"][at] / NVLINK["Ring"][at] * (2.0 if protocol == "Simple" else 1.0)


def wire(term: Term, at: Points) -> Reals:
    """The bytes that a rank sends."""
    import numpy as np

    if term.algorithm == "NVLS":
        return at.size * (1.0 + 1.0 / at.ranks)
    if term.algorithm == "NVLSTree":
        return at.size * 2.0 * (at.nodes - 1.0) / at.nodes
    share = (at.ranks - 1.0) / at.ranks
    if at.kind == "all_to_all":
        leaving = (at.ranks - at.ranks / at.nodes) / at.ranks * at.once
        share = np.where(at.nodes > 1, leaving, share)
    own = np.where(at.nodes > 1, 0.0, _OWN_PART / at.ranks)
    return (FACTORS[at.kind] * share + own) * at.size


def usual(kind: str, over_nodes: bool, switches_add: bool) -> tuple[Term, ...]:
    """The terms of a usual machine, which a fit starts from and is drawn to.

    In a node near medians measured on A100 to GB300; over nodes latencies and hops of NCCL's tuner
    (2.30.7) with 8 ranks a node, and 150 GB/s, LL and LL128 with their shares in a node.
    """
    if not over_nodes:
        name = "Sends" if kind == "all_to_all" else "Ring"
        made = [
            Term(name, "LL", 5.0, 0.7, 1.5e4),
            Term(name, "LL128", 7.0, 0.9, 1e5),
            Term(name, "Simple", 20.0, 1.0, 3e5),
        ]
        if switches_add and kind == "all_reduce":
            made.append(Term("NVLS", "Simple", 35.0, 0.0, 2.25e5))
        return tuple(made)
    rings = (
        Term("Ring", "LL", 7.0, 14.0, 2e4),
        Term("Ring", "LL128", 14.0, 35.0, 1e5),
        Term("Ring", "Simple", 10.0, 100.0, 1.5e5),
    )
    trees = (
        Term("Tree", "LL", 15.0, 10.0, 7.5e3),
        Term("Tree", "LL128", 31.0, 17.0, 6e4),
        Term("Tree", "Simple", 64.0, 28.0, 1.25e5),
    )
    if kind == "all_reduce":
        return (*trees, *rings[1:])
    return (
        tuple(one._replace(algorithm="Sends") for one in trees) if kind == "all_to_all" else rings
    )


__all__ = [
    "ALGORITHMS", "FACTORS", "USUAL_LOCAL", "Faster", "Points", "Protocol", "Term", "crossing",
    "features", "hops", "points", "taken", "usual", "wire",
]  # fmt: skip
