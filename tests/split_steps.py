"""Training steps split over tensors, experts and replicas, in the form of converted recordings."""

from __future__ import annotations

from math import prod
from typing import NamedTuple

from yantra.chakra import CollectiveType, Metadata, Node, NodeType, Trace
from yantra.chakra.schema import Attribute, IOInfo
from yantra.tracing.inspect.groups import Groups
from yantra.tracing.inspect.rank_traces import RankTrace

Shape = tuple[int, ...]
SEQUENCE, BATCH, WIDTH, FFN, HEADS, HEAD, EXPERTS, CAPACITY = 20, 3, 48, 112, 8, 6, 8, 7
TOKENS = SEQUENCE * BATCH
X = (SEQUENCE, BATCH, WIDTH)


class Split(NamedTuple):
    """`ep` 0: no experts. `sequence`: activations between tensors' regions are split, too."""

    dp: int = 1
    tp: int = 1
    ep: int = 0
    layers: int = 4
    sequence: bool = False
    uneven: bool = False

    @property
    def ranks(self) -> int:
        return self.dp * self.tp

    def groups(self) -> dict[str, list[tuple[int, ...]]]:
        """By kind; ranks of one group of tensors are neighbours."""
        tp, dp, ep = self.tp, self.dp, self.ep
        found = {
            "tp": [tuple(range(d * tp, d * tp + tp)) for d in range(dp)],
            "dp": [tuple(range(t, dp * tp, tp)) for t in range(tp)],
        }
        if ep:
            found["ep"] = [one[at : at + ep] for one in found["dp"] for at in range(0, dp, ep)]
            found["edp"] = [one[at::ep] for one in found["dp"] for at in range(ep)]
        return {kind: [one for one in some if len(one) > 1] for kind, some in found.items()}

    def named(self) -> Groups:
        every = (one for kind in self.groups().values() for one in kind)
        return {str(at): one for at, one in enumerate(dict.fromkeys(every), start=1)}

    def job(self) -> list[RankTrace]:
        return [
            RankTrace(rank, f"{rank}.et", _Rank(self, rank).trace()) for rank in range(self.ranks)
        ]


class _Rank:
    def __init__(self, step: Split, rank: int) -> None:
        self.step, self.rank = step, rank
        self.nodes: list[Node] = []
        self.names = {members: name for name, members in step.named().items()}

    def add(self, name: str, *shapes: Shape, to: Shape = (), ops: int = 0) -> None:
        id = len(self.nodes)
        made = Node(id, name, NodeType.COMP, 10, [id - 1] if id else [], [], start_micros=10 * id)
        made.attributes = [Attribute("is_cpu_op", True), Attribute("thread", 7)]
        made.attributes += [Attribute("num_ops", ops)] if ops else []
        types = str(["Tensor(float)"] * len(shapes))
        made.inputs = IOInfo("[]", str([list(one) for one in shapes]), types)
        made.outputs = IOInfo("[]", str([list(to)]), "['Tensor(float)']") if to else None
        self.nodes.append(made)

    def product(self, left: Shape, right: Shape) -> None:
        name, ops = ("aten::bmm" if len(left) == 3 else "aten::mm"), 2 * prod(left) * right[-1]
        self.add(name, left, right, to=(*left[:-1], right[-1]), ops=ops)

    def view(self, before: Shape, after: Shape) -> None:
        self.add("aten::view", before, to=after)

    def collective(self, kind: str, type: CollectiveType, size: int, *shapes: Shape) -> None:
        group = next((one for one in self.step.groups()[kind] if self.rank in one), None)
        if group is None:
            return
        self.add(f"gloo:{type.name.lower()}", *shapes)
        made = self.nodes[-1]
        made.type = NodeType.COMM_COLL
        made.attributes = [
            Attribute("is_cpu_op", False), Attribute("comm_type", type),
            Attribute("comm_size", 4 * size), Attribute("pg_name", self.names[group]),
        ]  # fmt: skip

    def trace(self) -> Trace:
        weights: list[Shape] = []
        experts: list[Shape] = []
        for _ in range(self.step.layers):
            self.attention()
            if self.step.ep:
                self.experts()
                here = EXPERTS // self.step.ep
                experts += [(here, WIDTH, FFN), (here, FFN, WIDTH)]
            else:
                self.mlp()
                weights += [(FFN // self.step.tp, WIDTH), (WIDTH, FFN // self.step.tp)]
            weights.append((3 * WIDTH // self.step.tp, WIDTH))
        for one in experts:
            self.add("torch::autograd::AccumulateGrad", one)
        self.sum(weights, "dp")
        self.sum(experts, "edp")
        for one in (*weights, *experts):
            self.add("aten::add_", one, one)
        about = (Attribute("rank", self.rank), Attribute("world_size", self.step.ranks),
                 Attribute("complete_order", True))  # fmt: skip
        return Trace(self.nodes, Metadata(attributes=about))

    def enter(self) -> None:
        share = (SEQUENCE // self.step.tp, BATCH, WIDTH)
        if self.step.sequence:
            self.add("aten::native_layer_norm", share, (WIDTH,), to=share)
            self.collective("tp", CollectiveType.ALL_GATHER, prod(share), X, share)

    def leave(self) -> None:
        share = (SEQUENCE // self.step.tp, BATCH, WIDTH)
        self.view((TOKENS, WIDTH), X)
        if self.step.sequence:
            self.collective("tp", CollectiveType.REDUCE_SCATTER, prod(X), share, X)
        else:
            self.collective("tp", CollectiveType.ALL_REDUCE, prod(X), X)

    def attention(self) -> None:
        heads, mine = HEADS // self.step.tp, WIDTH // self.step.tp
        self.enter()
        self.product((TOKENS, WIDTH), (WIDTH, 3 * mine))
        self.view((TOKENS, 3 * mine), (SEQUENCE, BATCH, 3, heads, HEAD))
        self.add("aten::scaled_dot_product_attention", *[(BATCH, heads, SEQUENCE, HEAD)] * 3)
        self.view((SEQUENCE, BATCH, heads, HEAD), (SEQUENCE, BATCH, mine))
        self.product((TOKENS, mine), (mine, WIDTH))
        self.leave()

    def mlp(self) -> None:
        mine = FFN // self.step.tp
        self.enter()
        self.product((TOKENS, WIDTH), (WIDTH, mine))
        self.add("aten::gelu", (TOKENS, mine), to=(TOKENS, mine))
        self.product((TOKENS, mine), (mine, WIDTH))
        self.leave()
        self.product((TOKENS, WIDTH), (WIDTH, mine))  # backward, of `down` and of `up`
        self.product((WIDTH, TOKENS), (TOKENS, mine))
        self.product((TOKENS, mine), (mine, WIDTH))
        self.leave()

    def experts(self) -> None:
        ep, here = self.step.ep, EXPERTS // self.step.ep
        sent = (EXPERTS * CAPACITY, WIDTH)
        self.product((TOKENS, WIDTH), (WIDTH, EXPERTS))
        self.exchange(sent)
        self.view(sent, (ep, here, CAPACITY, WIDTH))
        self.view((here, ep, CAPACITY, WIDTH), (here, ep * CAPACITY, WIDTH))
        self.product((here, ep * CAPACITY, WIDTH), (here, WIDTH, FFN))
        self.product((here, ep * CAPACITY, FFN), (here, FFN, WIDTH))
        self.exchange(sent)

    def exchange(self, sent: Shape) -> None:
        more = 4 * self.rank if self.step.uneven else 0
        self.collective("ep", CollectiveType.ALL_TO_ALL, prod(sent) + more, sent, sent)

    def sum(self, weights: list[Shape], kind: str) -> None:
        sizes = [(prod(one),) for one in weights]
        for one, flat in zip(weights, sizes, strict=True):
            self.add("aten::reshape", one, to=flat)
        if sizes:
            total = (sum(size for (size,) in sizes),)
            self.add("aten::cat", *sizes, to=total)
            self.collective(kind, CollectiveType.ALL_REDUCE, total[0], total)
