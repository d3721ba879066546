"""A mixture of experts: a router sends every token to `top_k` of `experts` feed-forward blocks.

Steps of one rank: router, permutation of its tokens by expert, all-to-all to the experts' ranks
(`ep`), products of the local experts, all-to-all back, weighted sum. Experts may be split over
`etp` besides. Shared experts see every token and are split like a dense block. Expert weights
belong to the domain `expert`: their replicas are other than those of dense weights.
(Shazeer et al., 2017; GShard, 2020; DeepSeekMoE, 2024; parallel folding: Liu et al., 2025.)

Routing is balanced by default; `zipf:a` gives expert e the share 1 / (e + 1)^a.
"""

from __future__ import annotations

from yantra.errors import ConfigError
from yantra.workloads.blocks.block import Block
from yantra.workloads.blocks.mlp import MLP, swiglu
from yantra.workloads.graph import Graph, Placement, Setting, Tensor
from yantra.workloads.graph.operators.elementwise import elementwise, settle
from yantra.workloads.graph.operators.exchange import exchange
from yantra.workloads.graph.operators.linear import linear


class MoE(Block):
    """`shared` experts of `shared_intermediate` columns (`intermediate` if None) see all tokens.

    Routing to `top_groups` of `groups` nodes limits where tokens go, not how many.
    """

    experts: int
    top_k: int
    intermediate: int
    gated: bool = True
    shared: int = 0
    shared_intermediate: int | None = None
    router_bias: bool = False
    groups: int | None = None
    top_groups: int | None = None

    def build(self, g: Graph, x: Tensor | None) -> Tensor:
        assert x is not None
        with g.scope("moe"):
            (scores,) = linear(g, x, "router", {"experts": self.experts}, bias=self.router_bias)
            chosen = {"tokens": x.size("tokens"), "chosen": self.top_k}
            shares = elementwise(
                g, "top_k", [scores], flops=2 * self.experts // self.top_k, kind="routing",
                sizes=chosen, saves_output=True,
            )  # fmt: skip
            routed = self._experts(g, x, shares)
            if not self.shared:
                return routed
            columns = self.shared * (self.shared_intermediate or self.intermediate)
            with g.scope("shared"):
                beside = MLP(intermediate=columns, gated=self.gated).build(g, x)
            return elementwise(
                g, "add_shared", [routed, beside], flops=1, kind="residual",
                placement=x.placement.dual(), costless_gradient=(0, 1),
            )  # fmt: skip

    def _experts(self, g: Graph, x: Tensor, shares: Tensor) -> Tensor:
        setting = g.setting
        hidden = x.sizes[-1][1]
        ep, etp = setting.ways("ep"), setting.ways("etp")
        if self.experts % ep:
            raise ConfigError("ep", f"{self.experts} experts cannot be split over {ep} ranks")
        slots = self._slots(g.local(x) // hidden, setting)
        rows, busiest = expert_rows(setting, slots, self.experts)
        where = g.split(Placement(), "slots", "etp")
        sent = elementwise(
            g, "permute", [x], flops=0, kind="permute", placement=where,
            sizes={"slots": slots * etp, "hidden": hidden},
        )  # fmt: skip
        there = exchange(g, sent, "dispatch", "ep", rows=rows * etp, busiest=busiest * etp)
        local = self.experts // ep
        parts = ("gate", "up") if self.gated else ("up",)
        with g.scope("experts"):
            made = linear(
                g, there, "up", dict.fromkeys(parts, self.intermediate),
                split="out", axis="etp", domain="expert", copies=local,
            )  # fmt: skip
            active = (
                swiglu(g, *made)
                if self.gated
                else elementwise(g, "gelu", [made[0]], flops=8, saves=(0,))
            )
            (done,) = linear(
                g, active, "down", {"hidden": hidden},
                split="in", axis="etp", domain="expert", copies=local,
            )  # fmt: skip
        done = settle(g, done, "experts.sum", where)
        back = exchange(g, done, "combine", "ep", rows=slots * etp, busiest=busiest * etp)
        return elementwise(
            g, "unpermute", [back, shares], flops=2 * self.top_k, kind="permute", saves=(0,),
            sizes=dict(x.sizes), placement=x.placement.dual(),
        )  # fmt: skip

    def _slots(self, tokens: int, setting: Setting) -> int:
        """Return how many rows leave a rank: top_k a token, or a capacity for every expert."""
        pairs = tokens * self.top_k
        if setting.capacity_factor is None:
            return pairs
        capacity = -(-round(pairs * setting.capacity_factor) // self.experts)
        return capacity * self.experts


def expert_rows(setting: Setting, slots: int, experts: int) -> tuple[int, int]:
    """Return the rows that reach this rank's experts, and the most that reach any rank's.

    Every rank of the group sends `slots` rows; all rows arrive (largest remainders).
    """
    ep = setting.ways("ep")
    total = slots * ep
    if setting.routing == "uniform" or ep == 1:
        return slots, slots
    exponent = float(setting.routing.removeprefix("zipf:"))
    shares = [1 / (expert + 1) ** exponent for expert in range(experts)]
    local = experts // ep
    per_rank = [sum(shares[rank * local : (rank + 1) * local]) for rank in range(ep)]
    exact = [total * share / sum(shares) for share in per_rank]
    rows = [int(value) for value in exact]
    by_remainder = sorted(range(ep), key=lambda rank: (rows[rank] - exact[rank], rank))
    for rank in by_remainder[: total - sum(rows)]:
        rows[rank] += 1
    return rows[setting.expert_rank], max(rows)
