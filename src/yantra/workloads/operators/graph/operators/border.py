"""A tensor at the border of two stages, whole on every tp rank or a part on each.

Sliced: ranks send one tp-th of a whole tensor, and the next stage gathers, so that links between
stages carry each byte once. Scattered: a stage's last layer works as with sequence parallelism, so
its result is in parts.

Sources: Narayanan et al., "Efficient large-scale language model training on GPU clusters using
Megatron-LM", SC 2021, section 4.1 (sliced); Isaev et al., "Calculon", SC 2023 (scattered, there
`p2p_rs_ag`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from yantra.workloads.operators.graph.graph import Gradient, Graph, Use
from yantra.workloads.operators.graph.tensor import Placement, Tensor


def message(g: Graph) -> Placement:
    if g.setting.messages == "whole":
        return g.tokens()
    return g.split(g.tokens(), "tokens", "tp")


def gathered(g: Graph, x: Tensor, *, for_last: bool = False) -> Tensor:
    if for_last and g.setting.messages == "scattered":
        return x
    return _placed(g, x, "received", g.tokens())


def scattered(g: Graph, x: Tensor) -> Tensor:
    return _placed(g, x, "sent", message(g))


@contextmanager
def before_last(g: Graph, x: Tensor | None) -> Iterator[Tensor | None]:
    whole = g.setting
    if whole.messages == "scattered" and x is not None:
        x = scattered(g, x)
        g.setting = whole._replace(sequence_parallel=True)
    try:
        yield x
    finally:
        g.setting = whole


def _placed(g: Graph, x: Tensor, name: str, where: Placement) -> Tensor:
    if x.placement.dual() == where or message(g) == g.tokens():
        return x
    with g.unit("border"):
        y = g.tensor(name, dict(x.sizes), where, x.width)
        g.add(name, (Use(x, where),), (y,), (), (Gradient((), (0,), gives=((0, where),)),))
    return y
