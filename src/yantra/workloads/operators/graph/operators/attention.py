"""The attention core: softmax(Q K^T) V over the heads of one rank.

| part | counted as | |---|---| | forward | 2 (d_qk + d_v) operations per head and pair of tokens |
| backward | twice that, and once more Q K^T where the fused kernel recomputes it | | fused
(FlashAttention, Dao et al., 2022) | reads Q, K, V, writes O, keeps a number per row | | unfused |
scores, softmax, dropout and context are kernels; scores go through memory |

Context parallelism: `p2p` (Liu et al., Ring Attention, 2023), `all_gather` (Llama 3, section
3.3.2), `a2a` (Jacobs et al., DeepSpeed Ulysses, 2023).
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import NamedTuple

from yantra.workloads.operators.graph.batch import EVERYTHING, Batch, Reach, Sequences
from yantra.workloads.operators.graph.graph import Gradient, Graph, Use
from yantra.workloads.operators.graph.operators.elementwise import elementwise, settle
from yantra.workloads.operators.graph.tensor import Placement, Tensor
from yantra.workloads.operators.operations import Operation, Phase

CORE = "attention_core"
"""The region that selective recomputation repeats."""


class Heads(NamedTuple):
    """`chunked`: a query sees its chunk of `window` tokens, not the last `window`. `chosen`: it
    sees `window` tokens anywhere.
    """

    query: int
    kv: int
    qk_width: int
    v_width: int
    causal: bool = True
    window: int | None = None
    chunked: bool = False
    chosen: bool = False

    @property
    def reach(self) -> Reach:
        return Reach(self.causal, self.window, self.chunked)


def attention(g: Graph, q: Tensor, k: Tensor, v: Tensor, heads: Heads) -> Tensor:
    """Add the core; `q`, `k` and `v` have dimensions tokens and heads x width."""
    fused = g.setting.flash_attention or not g.setting.training
    if heads.causal and not g.setting.training:
        store(g, (k, v))
    if g.setting.ways("cp") > 1 and g.setting.cp_kind == "p2p":
        return _ring(g, q, k, v, heads)
    out = (_fused if fused else _unfused)(g, q, k, v, heads)
    return settle(g, out, "context.tokens", q.placement.dual())


def _query_placement(g: Graph, q: Tensor) -> Placement:
    dimension = q.sizes[-1][0]
    if g.setting.ways("cp") > 1 and g.setting.cp_kind == "a2a":
        return q.placement.dual().without("cp").sharding(dimension, "cp")
    return q.placement.dual()


def _key_placement(g: Graph, k: Tensor) -> Placement:
    if g.setting.ways("cp") > 1 and g.setting.cp_kind == "a2a":
        return k.placement.dual().without("cp").sharding(k.sizes[-1][0], "cp")
    return k.placement.dual().without("cp")


def _flops(
    g: Graph, q: Tensor, placement: Placement, heads: Heads, part: Batch | None = None
) -> tuple[int, int]:
    ways = prod(g.setting.ways(axis) for _, axis in placement.shards)
    batch = g.setting.batch if part is None else part
    pairs = -(-heads.query * batch.pairs(heads.reach) // ways)
    return 2 * heads.qk_width * pairs, 2 * (heads.qk_width + heads.v_width) * pairs


def _sizes(
    g: Graph, q: Placement, k: Placement, heads: Heads, part: Batch | None = None
) -> tuple[tuple[str, int], ...]:
    batch = g.setting.batch if part is None else part
    number = max(batch.sequences, 1)
    return (
        ("batch", number),
        ("queries", max(batch.stored // number // _ways_of_tokens(g, q), 1)),
        ("keys", max(batch.context // number // _ways_of_tokens(g, k), 1)),
        ("heads", max(heads.query // _ways_of_heads(g, q), 1)),
        ("kv_heads", max(heads.kv // _ways_of_heads(g, k), 1)),
        ("head_dim", heads.qk_width),
        ("value_dim", heads.v_width),
        ("window", heads.window or 0),
        ("cache_bits", 0 if g.setting.training else g.setting.cache_bytes(8)),
    )


def _ways_of_tokens(g: Graph, where: Placement) -> int:
    return prod(g.setting.ways(axis) for name, axis in where.shards if name == "tokens")


def _ways_of_heads(g: Graph, where: Placement) -> int:
    return prod(g.setting.ways(axis) for name, axis in where.shards if name != "tokens")


def _output(g: Graph, q: Tensor, placement: Placement, heads: Heads) -> Tensor:
    dimension = q.sizes[-1][0]
    sizes = {**dict(q.sizes[:-1]), dimension: heads.query * heads.v_width}
    return g.tensor("context", sizes, placement, q.width)


def _statistics(g: Graph, out: Tensor, heads: Heads) -> int:
    # one fp32 number per row and head, for the fused backward
    return 4 * g.local(out) // heads.v_width if g.setting.training else 0


def _fused(g: Graph, q: Tensor, k: Tensor, v: Tensor, heads: Heads) -> Tensor:
    placement = _query_placement(g, q)
    out = _output(g, q, placement, heads)
    uses = (
        Use(q, placement),
        Use(k, _key_placement(g, k)),
        Use(v, _key_placement(g, v)),
    )
    scores, core = _flops(g, q, placement, heads)
    cached = _cache_bytes(g, k, v, heads)
    read = sum(g.bytes(*use) for use in uses) + cached
    keeps = _statistics(g, out, heads)
    sizes = _sizes(g, placement, uses[1].placement, heads)
    forward = Operation(
        "", "attention", "forward", "",
        tensor_flops=core, bytes_read=read, bytes_written=g.bytes(out) + keeps,
        dtype=g.setting.precise_dtype, sizes=sizes,
    )  # fmt: skip
    backward = Operation(
        "dgrad", "attention", "dgrad", "",
        tensor_flops=2 * core + scores, repeated_flops=scores,
        bytes_read=read + 2 * g.bytes(out) + keeps,
        bytes_written=sum(g.bytes(*use) for use in uses),
        dtype=g.setting.precise_dtype, sizes=sizes,
    )  # fmt: skip
    gives = (
        (0, placement),
        *((at, g.partial(uses[at].placement, *_gathered(g, uses[at]))) for at in (1, 2)),
    )
    needs = (*uses, Use(out, out.placement))
    gradients = (Gradient((backward,), (0,), needs, gives),)
    kernels = _apart(g, forward, uses, out, heads) or (forward,)
    g.add("core", uses, (out,), kernels, gradients, keeps=keeps, region=CORE)
    return out


def _apart(
    g: Graph, whole: Operation, uses: tuple[Use, ...], out: Tensor, heads: Heads
) -> tuple[Operation, ...]:
    batch = g.setting.batch
    decodes, prompts = batch.decodes(), batch.prefills()
    if g.setting.training or not (decodes.groups and prompts.groups):
        return ()
    made: list[Operation] = []
    for name, groups in (("decode", decodes.groups), *_kinds_of(prompts)):
        part = batch._replace(groups=groups, padding=0)
        own = sum(g.bytes(*use) for use in uses) * part.tokens // batch.tokens
        made.append(
            whole._replace(
                name=name,
                after=(len(made) - 1,) if made else (),
                tensor_flops=_flops(g, uses[0].tensor, uses[0].placement, heads, part)[1],
                bytes_read=own + _cache_bytes(g, uses[1].tensor, uses[2].tensor, heads, part),
                bytes_written=g.bytes(out) * part.tokens // batch.tokens,
                sizes=_sizes(g, uses[0].placement, uses[1].placement, heads, part),
            )
        )
    return tuple(made)


def _kinds_of(prompts: Batch) -> list[tuple[str, tuple[Sequences, ...]]]:
    kinds: dict[tuple[int, int], list[Sequences]] = {}
    for group in prompts.groups:
        kinds.setdefault((group.new, group.past), []).append(group)
    return [(f"prompt{at}", tuple(groups)) for at, groups in enumerate(kinds.values())]


def _gathered(g: Graph, use: Use) -> tuple[str, ...]:
    before, after = use.tensor.placement.axes(), use.placement.axes()
    return tuple(axis for axis in ("cp",) if axis in before - after)


def store(g: Graph, kept: tuple[Tensor, ...]) -> None:
    batch = g.setting.batch
    elements = sum(g.local(tensor) for tensor in kept)
    write = Operation(
        "", "cache", "forward", "",
        bytes_read=sum(map(g.bytes, kept)),
        bytes_written=g.setting.cache_bytes(elements // batch.tokens * batch.stored),
    )  # fmt: skip
    g.add("cache", tuple(Use(tensor, tensor.placement) for tensor in kept), (), (write,))


def _cache_bytes(g: Graph, k: Tensor, v: Tensor, heads: Heads, part: Batch | None = None) -> int:
    batch = g.setting.batch if part is None else part
    rows = batch.cached(heads.reach)
    if heads.chosen:
        rows = batch.decodes().cached(heads.reach) + batch.prefills().cached()
    per_token = (g.local(k) + g.local(v)) // g.setting.batch.tokens
    return g.setting.cache_bytes(per_token * rows)


def _unfused(g: Graph, q: Tensor, k: Tensor, v: Tensor, heads: Heads) -> Tensor:
    placement = _query_placement(g, q)
    kv = tuple(_key_placement(g, tensor) for tensor in (k, v))
    scores_flops, core = _flops(g, q, placement, heads)
    full = {"pairs": g.setting.batch.pairs(Reach(causal=False)), "heads": heads.query}
    where = _scores_placement(placement, q)
    scores = g.tensor("scores", full, where, q.width)
    told = dict(_sizes(g, placement, kv[0], heads))
    batch = told["batch"] * told["heads"]
    shape = (batch, told["queries"], told["keys"], heads.qk_width)
    _product(g, "scores", (Use(q, placement), Use(k, kv[0])), scores, scores_flops, shape)
    weights = elementwise(
        g, "softmax", [scores], flops=5, kind="softmax", keeps_per_element=0, region=CORE,
        saves_output=True,
    )  # fmt: skip
    if g.setting.dropout and g.setting.training:
        weights = elementwise(
            g, "dropout", [weights], flops=1, keeps_per_element=1, backward_flops=1, region=CORE
        )
    out = _output(g, q, placement, heads)
    shape = (batch, told["queries"], heads.v_width, told["keys"])
    _product(g, "context", (Use(weights, where), Use(v, kv[1])), out, core - scores_flops, shape)
    return out


def _scores_placement(placement: Placement, q: Tensor) -> Placement:
    names = {"tokens": "pairs", q.sizes[-1][0]: "heads"}
    return Placement(tuple((names[dimension], axis) for dimension, axis in placement.shards))


def _product(
    g: Graph, name: str, uses: tuple[Use, Use], out: Tensor, flops: int, shape: tuple[int, ...]
) -> None:
    sizes = [g.bytes(*use) for use in uses]
    made = g.bytes(out)
    forward = Operation(
        "", "attention", "forward", "",
        tensor_flops=flops, bytes_read=sum(sizes), bytes_written=made, shape=shape,
        dtype=g.setting.precise_dtype,
    )  # fmt: skip
    backward = Operation(
        "dgrad", "attention", "dgrad", "",
        tensor_flops=2 * flops, bytes_read=2 * made + sum(sizes), bytes_written=sum(sizes),
        shape=shape, dtype=g.setting.precise_dtype,
    )  # fmt: skip
    gives = tuple((at, g.partial(use.placement, *_gathered(g, use))) for at, use in enumerate(uses))
    gradient = Gradient((backward,), (0,), uses, gives)
    g.add(name, uses, (out,), (forward,), (gradient,), region=CORE)


def _ring(g: Graph, q: Tensor, k: Tensor, v: Tensor, heads: Heads) -> Tensor:
    placement = q.placement.dual()
    out = _output(g, q, placement, heads)
    uses = (Use(q, placement), Use(k, k.placement.dual()), Use(v, v.placement.dual()))
    steps = g.setting.ways("cp")
    pairs = g.setting.batch.ring_pairs(heads.reach, steps)
    local_heads = heads.query // g.setting.ways("tp")
    keeps = _statistics(g, out, heads)
    message = g.bytes(k) + g.bytes(v)
    rows = g.bytes(q) + g.bytes(out)
    forward, backward = [], []
    for step, sizes in enumerate(_sizes_of_steps(g, uses, heads, steps)):
        scores = 2 * heads.qk_width * local_heads * pairs[step]
        core = scores + 2 * heads.v_width * local_heads * pairs[step]
        whole = Operation(
            f"step{step}", "attention", "forward", "",
            tensor_flops=core, bytes_read=rows + message, bytes_written=g.bytes(out) + keeps,
            dtype=g.setting.precise_dtype, sizes=sizes,
        )  # fmt: skip
        again = whole._replace(
            name=f"dgrad.step{step}", phase="dgrad", tensor_flops=2 * core + scores,
            repeated_flops=scores, bytes_read=2 * rows + message + keeps,
            bytes_written=g.bytes(q) + message,
        )  # fmt: skip
        forward.append(whole)
        backward.append(again)
    gives = tuple((at, use.placement) for at, use in enumerate(uses))
    needs = (*uses, Use(out, placement))
    added = _sum("dgrad.add", "dgrad", g.bytes(q) * _part(heads) // 4 + message, q.width)
    gradient = Gradient(_backward_ring(backward, message, added), (0,), needs, gives)
    parts = g.bytes(out) * (4 + (steps - 1) * _part(heads)) // 4
    program = _forward_ring(forward, message, _sum("combine", "forward", parts, q.width))
    g.add("core", uses, (out,), program, (gradient,), keeps=keeps, region=CORE)
    return out


def _part(heads: Heads) -> int:
    return 3 if heads.reach == EVERYTHING else 4


def _sizes_of_steps(
    g: Graph, uses: tuple[Use, Use, Use], heads: Heads, steps: int
) -> Iterator[tuple[tuple[str, int], ...]]:
    own = _sizes(g, uses[0].placement, uses[1].placement, heads)
    yield own
    zigzag = heads.reach == EVERYTHING and g.setting.batch.causality == "exact"
    half = max(dict(own)["queries"] // 2, 1)
    others = tuple((name, half if name == "queries" else size) for name, size in own)
    yield from [others if zigzag else own] * (steps - 1)


def _sum(name: str, phase: Phase, size: int, width: int) -> Operation:
    return Operation(
        name, "elementwise", phase, "",
        vector_flops=2 * size // width, bytes_read=2 * size, bytes_written=size,
    )  # fmt: skip


def _message(
    name: str, phase: Phase, peer: str, size: int, tag: int, after: tuple[int, ...] = ()
) -> Operation:
    kind = name.rstrip("0123456789")
    return Operation(name, kind, phase, "", after, size_bytes=size, peer=peer, tag=tag)


def _forward_ring(
    steps: list[Operation], message: int, combine: Operation
) -> tuple[Operation, ...]:
    program: list[Operation] = []
    arrived: tuple[int, ...] = ()
    computed: tuple[int, ...] = ()
    for at, step in enumerate(steps):
        waits = (*computed, *arrived)
        if at + 1 < len(steps):
            program.append(_message(f"send{at}", "forward", "cp+1", message, at, arrived))
            program.append(_message(f"recv{at}", "forward", "cp-1", message, at))
            arrived = (len(program) - 1,)
        computed = (len(program),)
        program.append(step._replace(after=waits))
    program.append(combine._replace(after=computed))
    return tuple(program)


def _backward_ring(steps: list[Operation], message: int, added: Operation) -> tuple[Operation, ...]:
    program: list[Operation] = []
    arrived: tuple[int, ...] = ()
    computed: tuple[int, ...] = ()
    sums: tuple[int, ...] = ()
    last = len(steps) - 1
    for at, step in enumerate(steps):
        waits = (*computed, *arrived)
        if at < last:
            program.append(_message(f"send{at}", "dgrad", "cp+1", message, 2 * at, arrived))
            program.append(_message(f"recv{at}", "dgrad", "cp-1", message, 2 * at))
            arrived = (len(program) - 1,)
        if at > 0:
            tag = 2 * at - 1
            program.append(_message(f"send{last + at}", "dgrad", "cp+1", message, tag, computed))
            program.append(_message(f"recv{last + at}", "dgrad", "cp-1", message, tag))
            sums = (len(program) - 1,)
        computed = (len(program),)
        program.append(step._replace(after=waits))
        if at > 0:
            program.append(added._replace(name=f"{added.name}{at}", after=(*computed, *sums)))
            computed = (len(program) - 1,)
    return tuple(program)
