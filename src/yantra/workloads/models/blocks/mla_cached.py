"""Latent attention with a cache, for inference.

Sequences with one new token use the absorbed form: queries are multiplied into the latent space and
results out of it, so cached rows are one key-value head of width kv_lora + qk_rope for all heads: 2
(2 kv_lora + qk_rope) operations per head and pair. As in vLLM, a batch may hold both.

Every tensor-parallel rank keeps and reads all cached rows.

Sources: DeepSeek-AI, DeepSeek-V2, 2024 (arXiv 2405.04434), section 2.1.2 and appendix C; vLLM,
`v1/attention/backends/mla/common.py` and `flashmla_sparse.py` (2025).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from yantra.workloads.operators.graph import Batch, Graph, Placement, Tensor, Use
from yantra.workloads.operators.graph.operators.attention import CORE, store
from yantra.workloads.operators.graph.operators.elementwise import elementwise, view
from yantra.workloads.operators.graph.operators.linear import linear
from yantra.workloads.operators.operations import Operation

if TYPE_CHECKING:
    from yantra.workloads.models.blocks.mla import MLA


def cached_attention(g: Graph, block: MLA, q: Tensor, latent: Tensor, key_rope: Tensor) -> Tensor:
    key_rope = elementwise(g, "k_rope", [key_rope], flops=3, kind="rope")
    store(g, (latent, key_rope))
    prefills, decodes = g.setting.batch.prefills(), g.setting.batch.decodes()
    if block.keys:
        prefills, decodes = prefills._replace(groups=()), g.setting.batch._replace(padding=0)
    parts = []
    if prefills.groups:
        parts.append(_expanded(g, block, q, (latent, key_rope), prefills))
    if decodes.groups:
        parts.append(_absorbed(g, block, q, (latent, key_rope), decodes, not prefills.groups))
    sizes = {"tokens": q.size("tokens"), "q": block.heads * block.v_dim}
    return view(g, parts, "context", sizes, q.placement)


def _expanded(g: Graph, block: MLA, q: Tensor, new: tuple[Tensor, ...], part: Batch) -> Tensor:
    count = part.tokens + part.cached()
    if part.cached():
        new = (*new, _fetched(g, part.cached(), block.kv_lora + block.qk_rope))
    latent = view(g, new, "rows", {"tokens": count, "kv_latent": block.kv_lora}, Placement())
    k, v = linear(
        g, latent, "kv_up",
        {"k": block.heads * block.qk_nope, "v": block.heads * block.v_dim}, split="out",
    )  # fmt: skip
    width = block.qk_nope + block.qk_rope
    k = elementwise(
        g, "keys", [k], flops=0, kind="copy", placement=k.placement,
        sizes={"tokens": count, "k": block.heads * width},
    )  # fmt: skip
    mine = view(g, [q], "q", {"tokens": part.tokens, "q": q.size("q")}, q.placement)
    return _core(g, block, (mine, k, v), part, (width, block.v_dim))


def _absorbed(
    g: Graph, block: MLA, q: Tensor, new: tuple[Tensor, ...], part: Batch, owns: bool
) -> Tensor:
    tokens, heads, row = part.tokens, block.heads, block.kv_lora + block.qk_rope
    local = heads // g.setting.ways("tp")
    by_head = g.split(Placement(), "heads", "tp")
    nope = view(g, [q], "q_nope", {"heads": tokens * heads, "nope": block.qk_nope}, by_head)
    (inside,) = linear(
        g, nope, "q_absorb", {"latent": block.kv_lora}, copies=local,
        weight="own" if owns else "none",
    )  # fmt: skip
    query = view(g, [inside, q], "q", {"tokens": tokens, "q": heads * row}, q.placement)
    rows = view(g, new, "rows", {"tokens": tokens, "row": row}, Placement())
    cached = g.setting.cache_bytes(_rows_read(part, block) * row)
    made = _core(g, block, (query, rows), part, (row, block.kv_lora), cached)
    outside = view(g, [made], "latent", {"heads": tokens * heads, "latent": block.kv_lora}, by_head)
    (values,) = linear(
        g, outside, "v_up", {"v": block.v_dim}, copies=local, weight="own" if owns else "none"
    )
    return view(g, [values], "values", {"tokens": tokens, "q": heads * block.v_dim}, q.placement)


def _rows_read(part: Batch, block: MLA) -> int:
    return part.decodes().cached(block.reach) + part.prefills().cached()


def _fetched(g: Graph, tokens: int, row: int) -> Tensor:
    out = g.tensor("fetch", {"tokens": tokens, "row": row})
    fetch = Operation(
        "", "cache", "forward", "",
        bytes_read=g.setting.cache_bytes(tokens * row), bytes_written=g.bytes(out),
    )  # fmt: skip
    g.add("fetch", (), (out,), (fetch,))
    return out


def _core(
    g: Graph,
    block: MLA,
    inputs: tuple[Tensor, ...],
    part: Batch,
    widths: tuple[int, int],
    cached_bytes: int = 0,
) -> Tensor:
    query = inputs[0]
    sizes = {"tokens": part.tokens, "q": block.heads * widths[1]}
    out = g.tensor("context", sizes, query.placement, query.width)
    pairs = block.heads // g.setting.ways("tp") * part.pairs(block.reach)
    kernel = Operation(
        "", "attention", "forward", "",
        tensor_flops=2 * sum(widths) * pairs,
        bytes_read=sum(map(g.bytes, inputs)) + cached_bytes, bytes_written=g.bytes(out),
    )  # fmt: skip
    g.add("core", tuple(Use(one, one.placement) for one in inputs), (out,), (kernel,), region=CORE)
    return out
