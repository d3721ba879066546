"""A mixture of experts: a router sends every token to `top_k` of `experts` feed-forward blocks.

Tokens are permuted by expert and exchanged over `ep`; `etp` may split experts too. Expert weights
have replicas of their own (domain `expert`). (Shazeer et al., 2017; GShard, 2020; DeepSeekMoE,
2024; parallel folding: Liu et al., 2025.) Routing is balanced, or `zipf:a` gives expert e the share
1 / (e + 1)^a.

Experts in rows of another width: NVIDIA, Nemotron 3, 2025 (LatentMoE).

Low-latency kernels (DeepEP, 2025: `low_latency_dispatch`) send a token to each expert as 16 bytes,
the row in FP8 and an fp32 scale per 128 elements, add up 16-bit results, and need no permutations.
"""

from __future__ import annotations

from yantra.base.errors import ConfigError
from yantra.workloads.models.blocks.block import Block
from yantra.workloads.models.blocks.cache import Cache
from yantra.workloads.models.blocks.mlp import MLP, swiglu
from yantra.workloads.operators.graph import Gradient, Graph, Placement, Setting, Tensor, Use
from yantra.workloads.operators.graph.operators.elementwise import elementwise, settle, view
from yantra.workloads.operators.graph.operators.exchange import exchange
from yantra.workloads.operators.graph.operators.linear import linear
from yantra.workloads.operators.operations import Operation


class MoE(Block):
    """`shared` experts of `shared_intermediate` columns (`intermediate` if None) see all tokens.

    Routing to `top_groups` of `groups` nodes limits where tokens go, not how many. `shared_gate`
    multiplies shared results by a number per token. `bias`: routed products have biases. Routed
    experts may work in rows of width `latent`, into which tokens are projected before sending, and
    the sum back.
    """

    experts: int
    top_k: int
    intermediate: int
    gated: bool = True
    shared: int = 0
    shared_intermediate: int | None = None
    router_bias: bool = False
    shared_gate: bool = False
    bias: bool = False
    latent: int = 0
    groups: int | None = None
    top_groups: int | None = None

    def build(self, g: Graph, x: Tensor | None) -> Tensor:
        assert x is not None
        tp = g.setting.ways("tp")
        if g.setting.training or tp == 1 or x.placement.dimension_of("tp"):
            return self._run(g, x)
        if g.setting.ways("ep") * g.setting.ways("etp") == tp:
            return self._run(g, x, in_place=True)
        with g.scope("moe"):
            share = settle(g, x, "chunk", x.placement.dual().sharding("tokens", "tp"))
        made = self._run(g, share, whole=True)
        with g.scope("moe"):
            return settle(g, made, "whole", x.placement.dual())

    def caches(self) -> tuple[Cache, ...] | None:
        return ()

    def _run(self, g: Graph, x: Tensor, *, in_place: bool = False, whole: bool = False) -> Tensor:
        with g.scope("moe"):
            (scores,) = linear(
                g, x, "router", {"experts": self.experts}, bias=self.router_bias, precise=True
            )
            chosen = {"tokens": x.size("tokens"), "chosen": self.top_k}
            shares = elementwise(
                g, "top_k", [scores], flops=2 * self.experts // self.top_k, kind="routing",
                sizes=chosen, saves_output=True,
            )  # fmt: skip
            rows = linear(g, x, "latent_down", {"hidden": self.latent})[0] if self.latent else x
            routed = (self._in_place if in_place else self._experts)(g, rows, shares)
            if self.latent:
                routed = settle(g, routed, "latent", x.placement.dual())
                (routed,) = linear(g, routed, "latent_up", {"hidden": x.sizes[-1][1]})
            if not self.shared:
                return routed
            beside = self._shared(g, x, whole=whole)
            return elementwise(
                g, "add_shared", [routed, beside], flops=1, kind="residual",
                placement=routed.placement if in_place and not self.latent else x.placement.dual(),
                costless_gradient=(0, 1),
            )  # fmt: skip

    def _shared(self, g: Graph, x: Tensor, *, whole: bool) -> Tensor:
        columns = self.shared * (self.shared_intermediate or self.intermediate)
        with g.scope("shared"):
            made = MLP(intermediate=columns, gated=self.gated).run(g, x, whole=whole)
            if not self.shared_gate:
                return made
            (gate,) = linear(g, x, "gate", {"gate": 1})
            return gated(g, made, gate)

    def _experts(self, g: Graph, x: Tensor, shares: Tensor) -> Tensor:
        setting = g.setting
        hidden = x.sizes[-1][1]
        etp = setting.ways("etp")
        slots = self._slots(g.local(x) // hidden, setting)
        rows, busiest = expert_rows(setting, slots, self.experts)
        where = g.split(Placement(), "slots", "etp")
        sizes = {"slots": slots * etp, "hidden": hidden}
        direct = setting.low_latency and setting.ways("ep") > 1
        if direct:
            sent = view(g, [x], "permute", sizes, where)
        else:
            sent = elementwise(
                g, "permute", [x], flops=0, kind="permute", placement=where, sizes=sizes
            )
        there = exchange(
            g, sent, "dispatch", "ep", rows=rows * etp, busiest=busiest * etp,
            row_bytes=low_latency_bytes(hidden) if direct else None,
        )  # fmt: skip
        done = settle(g, self._products(g, there), "experts.sum", where)
        back = exchange(g, done, "combine", "ep", rows=slots * etp, busiest=busiest * etp)
        if direct:
            return view(g, [back, shares], "unpermute", dict(x.sizes), x.placement.dual())
        return elementwise(
            g, "unpermute", [back, shares], flops=2 * self.top_k, kind="permute", saves=(0,),
            sizes=dict(x.sizes), placement=x.placement.dual(),
        )  # fmt: skip

    def _in_place(self, g: Graph, x: Tensor, shares: Tensor) -> Tensor:
        hidden = x.sizes[-1][1]
        rows = -(-self._slots(x.size("tokens"), g.setting) // g.setting.ways("ep"))
        sizes = {"slots": rows, "hidden": hidden}
        sent = elementwise(
            g, "permute", [x], flops=0, kind="permute", placement=Placement(), sizes=sizes
        )
        done = self._products(g, sent)
        out = g.tensor("unpermute", dict(x.sizes), g.partial(x.placement.dual(), "tp"), x.width)
        add = Operation(
            "", "permute", "forward", "",
            vector_flops=2 * rows * hidden, bytes_read=g.bytes(done) + g.bytes(shares),
            bytes_written=g.bytes(out),
        )  # fmt: skip
        uses = (Use(done, done.placement), Use(shares, shares.placement))
        g.add("unpermute", uses, (out,), (add,))
        return out

    def _products(self, g: Graph, there: Tensor) -> Tensor:
        ep = g.setting.ways("ep")
        if self.experts % ep:
            raise ConfigError("ep", f"{self.experts} experts cannot be split over {ep} ranks")
        hidden = there.sizes[-1][1]
        local = self.experts // ep
        parts = ("gate", "up") if self.gated else ("up",)
        sizes = self._sizes(g.setting)
        with g.scope("experts"):
            made = linear(
                g, there, "up", dict.fromkeys(parts, self.intermediate),
                split="out", axis="etp", domain="expert", copies=local, sizes=sizes, bias=self.bias,
                product="gate_up" if self.gated else "up",
            )  # fmt: skip
            active = (
                swiglu(g, *made, biased=self.bias)
                if self.gated
                else elementwise(g, "gelu", [made[0]], flops=8, saves=(0,), biased=self.bias)
            )
            (done,) = linear(
                g, active, "down", {"hidden": hidden},
                split="in", axis="etp", domain="expert", copies=local, sizes=sizes, bias=self.bias,
            )  # fmt: skip
        return done

    def _sizes(self, setting: Setting) -> tuple[tuple[str, int], ...]:
        skew = skew_of(setting.routing) if setting.ways("ep") == 1 else 0.0
        return (
            ("inner", self.intermediate // setting.ways("etp")),
            ("experts", self.experts),
            ("top_k", self.top_k),
            ("skew", round(100 * skew)),
        )

    def _slots(self, tokens: int, setting: Setting) -> int:
        pairs = tokens * self.top_k
        if setting.capacity_factor is None:
            return pairs
        capacity = -(-round(pairs * setting.capacity_factor) // self.experts)
        return capacity * self.experts


def gated(g: Graph, x: Tensor, gate: Tensor) -> Tensor:
    out = g.tensor("gated", dict(x.sizes), x.placement, x.width)
    count, size = g.local(x), g.bytes(x)
    where = x.placement.dual()
    rows = Placement(tuple(pair for pair in where.shards if pair[0] == "tokens"))
    uses = (Use(x, x.placement), Use(gate, rows))
    of_gate = g.bytes(gate, rows)
    kernel = Operation(
        "", "elementwise", "forward", "",
        vector_flops=count, bytes_read=size + of_gate, bytes_written=size,
    )  # fmt: skip
    back = kernel._replace(
        name="dgrad", phase="dgrad", vector_flops=3 * count, bytes_read=2 * size + of_gate,
        bytes_written=size + of_gate,
    )  # fmt: skip
    gives = ((0, where), (1, g.partial(rows, *(x.placement.axes() - rows.axes()))))
    g.add("gated", uses, (out,), (kernel,), (Gradient((back,), (0,), uses, gives),))
    return out


def skew_of(routing: str) -> float:
    """The exponent of `zipf:a`, 0 of `uniform`."""
    return 0.0 if routing == "uniform" else float(routing.removeprefix("zipf:"))


def low_latency_bytes(hidden: int) -> int:
    return 16 + hidden + 4 * -(-hidden // 128)


def expert_rows(setting: Setting, slots: int, experts: int) -> tuple[int, int]:
    """Rows that reach this rank's experts, and the most that reach any rank's."""
    ep = setting.ways("ep")
    total = slots * ep
    if setting.routing == "uniform" or ep == 1:
        return slots, slots
    exponent = skew_of(setting.routing)
    shares = [1 / (expert + 1) ** exponent for expert in range(experts)]
    local = experts // ep
    per_rank = [sum(shares[rank * local : (rank + 1) * local]) for rank in range(ep)]
    exact = [total * share / sum(shares) for share in per_rank]
    rows = [int(value) for value in exact]
    by_remainder = sorted(range(ep), key=lambda rank: (rows[rank] - exact[rank], rank))
    for rank in by_remainder[: total - sum(rows)]:
        rows[rank] += 1
    return rows[setting.expert_rank], max(rows)
