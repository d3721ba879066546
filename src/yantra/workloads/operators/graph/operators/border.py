"""A tensor at the border of two stages, whole on every tp rank or a part on each.

Sliced messages: a rank sends one tp-th of the tensor, all of which is on it, and the ranks of the
next stage gather the parts, so that links between stages carry each byte once. Scattered ones: the
last layer of a stage works as with sequence parallelism, so that its result is in parts already.
The gradient goes back the same way. Both pay with collectives over tp, whose links are faster.

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
    """Return where a tensor is when it crosses a border."""
    if g.setting.messages == "whole":
        return g.tokens()
    return g.split(g.tokens(), "tokens", "tp")


def gathered(g: Graph, x: Tensor, *, for_last: bool = False) -> Tensor:
    """Return a tensor that came over a border as the first layer, or the only one, takes it."""
    if for_last and g.setting.messages == "scattered":
        return x
    return _placed(g, x, "received", g.tokens())


def scattered(g: Graph, x: Tensor) -> Tensor:
    """Return what goes over a border of the tensor that the last layer gives."""
    return _placed(g, x, "sent", message(g))


@contextmanager
def before_last(g: Graph, x: Tensor | None) -> Iterator[Tensor | None]:
    """Give the last layer of a stage its input, in parts where it works on parts."""
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
