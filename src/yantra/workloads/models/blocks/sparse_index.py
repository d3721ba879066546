"""The index of sparse attention: small heads score every pair, 2 x heads x width operations each,
and a query takes the best.

Sources: DeepSeek-V3.2, 2025 (arXiv 2512.02556), section 2.1; DeepGEMM's `fp8_mqa_logits`;
MiniMax-M3, 2026.
"""

from __future__ import annotations

from yantra.base.records import Record
from yantra.workloads.models.blocks.cache import Cache
from yantra.workloads.operators.graph import Graph, Placement, Tensor, Use
from yantra.workloads.operators.graph.graph import Gradient
from yantra.workloads.operators.graph.operators.elementwise import elementwise, norm
from yantra.workloads.operators.graph.operators.linear import linear
from yantra.workloads.operators.operations import Operation

_PER_SCALE, _SCALE_BYTES = 128, 4


class SparseIndex(Record):
    """`index_heads` of `width`: `weighted`, or normalised and choosing blocks."""

    index_heads: int
    width: int
    weighted: bool = True

    def add(self, g: Graph, x: Tensor, queries: Tensor) -> None:
        with g.scope("index"):
            (q,) = linear(g, queries, "q", {"index_q": self.index_heads * self.width})
            (k,) = linear(g, x, "k", {"index_k": self.width})
            if self.weighted:
                k = norm(g, k, "k_norm", "layer")
                self._scores(g, q, k, *linear(g, x, "weights", {"heads": self.index_heads}))
                return
            q = elementwise(
                g, "q_norm", [q], flops=4, kind="norm", saves=(0,), weights={"weight": self.width}
            )
            self._scores(g, q, norm(g, k, "k_norm", "rms"))

    def _scores(self, g: Graph, q: Tensor, k: Tensor, *weights: Tensor) -> None:
        batch = g.setting.batch
        where = q.placement.dual()
        ways = 1
        for _, axis in where.shards:
            ways *= g.setting.ways(axis)
        keys = Placement()
        beside = tuple(Use(one, one.placement.dual()) for one in weights)
        uses = (Use(q, where), Use(k, keys), *beside)
        pairs = -(-batch.pairs() // ways)
        flops = 2 * self.index_heads * self.width * pairs
        new, cached = (
            0 if g.setting.training else self._bytes(g, rows)
            for rows in (batch.stored, batch.cached())
        )
        read = sum(g.bytes(*use) for use in uses) + cached
        kernel = Operation(
            "", "index", "forward", "",
            tensor_flops=flops, vector_flops=2 * self.index_heads * pairs,
            bytes_read=read, bytes_written=new, dtype=g.setting.dtype,
        )  # fmt: skip
        back = kernel._replace(
            name="dgrad", phase="dgrad", tensor_flops=2 * flops, bytes_written=read,
        )  # fmt: skip
        gives = (
            (0, where),
            (1, g.partial(keys, *(where.axes() - keys.axes()))),
            *((at, use.placement) for at, use in enumerate(beside, 2)),
        )
        g.add("scores", uses, (), (kernel,), (Gradient((back,), (), uses, gives),))

    def cache(self) -> Cache:
        if not self.weighted:
            return Cache(1, self.width)
        return Cache(1, 0, None, self.width + -(-self.width // _PER_SCALE) * _SCALE_BYTES)

    def _bytes(self, g: Graph, rows: int) -> int:
        kept = self.cache()
        return g.setting.cache_bytes(rows * kept.elements) + rows * kept.fixed_bytes
