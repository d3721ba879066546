"""The feed-forward network: columns of the first weights and rows of the last over tp."""

from __future__ import annotations

from yantra.workloads.importers.stg.builtin.form import GATHERED, Form
from yantra.workloads.importers.stg.builtin.sketch import Sketch
from yantra.workloads.importers.stg.module import Module
from yantra.workloads.importers.stg.tensors import Tensor

_WHOLE = f"{GATHERED}, Dmodel"
_UP, _DOWN = "Dmodel, Dff/tp", "Dff/tp, Dmodel"


def feed_forward(form: Form) -> Module:
    """x0 -> xdown."""
    shard = f"{form.tokens}, Dmodel"
    sketch = Sketch("feed-forward network")
    x = sketch.take("x0", shard)
    names = ("up", "gate") if form.gated else ("up",)
    w_up = [sketch.weight(f"w{name}", _UP) for name in names]
    w_down = sketch.weight("wdown", _DOWN)
    gathered = sketch.reshard("x_whole", x, _WHOLE)
    up = [
        sketch.product(f"x{name}", "bsm,mf->bsf", gathered, weight)
        for name, weight in zip(names, w_up, strict=True)
    ]
    inner = up[0]
    if form.gated:
        inner = sketch.product("xupgate", "bsf,bsf->bsf", up[0], up[1])
    partial = sketch.product("xdown_partial", "bsf,fm->bsm", inner, w_down)
    out = sketch.reshard("xdown", partial, shard)
    sketch.backward()
    dout_shard = sketch.take("dxdown", shard, gradient_of=out)
    dout = sketch.reshard("dxdown_whole", dout_shard, _WHOLE)
    sketch.product("dwdown", "bsm,bsf->fm", dout, inner, gradient_of=w_down)
    dinner = sketch.product("dinner", "bsm,fm->bsf", dout, w_down, gradient_of=inner)
    dup = [dinner]
    if form.gated:
        dup = [
            sketch.product("dxup", "bsf,bsf->bsf", dinner, up[1], gradient_of=up[0]),
            sketch.product("dxgate", "bsf,bsf->bsf", dinner, up[0], gradient_of=up[1]),
        ]
    again = sketch.reshard("x_again", x, _WHOLE)
    again.backward = False
    for name, gradient, weight in zip(names, dup, w_up, strict=True):
        sketch.product(f"dw{name}", "bsf,bsm->mf", gradient, again, gradient_of=weight)
    _input_gradient(sketch, dup, w_up, shard)
    return sketch.module()


def _input_gradient(sketch: Sketch, dup: list[Tensor], w_up: list[Tensor], shard: str) -> None:
    parts = [
        sketch.product(f"dx_part{n}", "bsf,mf->bsm", gradient, weight)
        for n, (gradient, weight) in enumerate(zip(dup, w_up, strict=True))
    ]
    partial = parts[0]
    if len(parts) > 1:
        partial = sketch.pairwise("dx_sum", *parts, adds=True, partial="1/tp")
    sketch.reshard("dx0", partial, shard)
